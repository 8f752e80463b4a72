"""Baths of groups of atoms: equations, ledgers, the same bits however the work is organised."""

import json

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.constraints import FixAtoms
from scipy import stats

from taichimd import (
    Berendsen,
    Bussi,
    Langevin,
    NoseHoover,
    Simulation,
    Source,
    StochasticCellRescaling,
    ThermoTable,
    testing,
)
from taichimd.core import units
from taichimd.core.errors import BlowUpError, SettingsError, TaichimdWarning
from taichimd.ensembles.groups.given import group_baths, of_record
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.io.thermo import read_thermo
from taichimd.lammps.reference import MVV2E, lammps_nve
from taichimd.system.groups import Groups

SMOOTH = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
HOT, COLD, THIRD = np.arange(0, 30), np.arange(60, 100), np.arange(40, 55)


def argon():
    """108 atoms of two masses, without net momentum."""
    atoms = bulk("Ar", cubic=True, a=5.3).repeat(3)
    atoms.set_masses(np.where(np.arange(108) % 3, 39.9, 83.8))
    return testing.with_velocities(atoms, 80.0, 2)


def gas(n=27):
    """Atoms too far from each other to meet, of three masses: what changes is the work of the baths."""
    atoms = Atoms(["Ar", "Kr", "Xe"] * (n // 3), np.array(list(np.ndindex(n // 9, 3, 3))) * 500.0)
    return testing.with_velocities(atoms, 300.0, 3)


def started(acting, atoms=None, **options):
    return Simulation(
        argon() if atoms is None else atoms, SMOOTH, acting=acting, **{"timestep": 4.0, **options}
    )


def relative(masses, velocities, group):
    """Mass, velocity of the centre of mass, and kinetic energy relative to it."""
    m, v = masses[group, None], velocities[group]
    centre = (m * v).sum(axis=0) / m.sum()
    return m, centre, 0.5 * (m * (v - centre) ** 2).sum()


# What is refused: one line each.


@pytest.mark.parametrize(
    ("acting", "words"),
    [
        ([Langevin(300.0, on=[])], "group1 is empty: it has no atom"),
        ([Langevin(300.0, on=np.zeros(108, bool))], "group1 is empty"),
        ([Langevin(300.0, on=[1, 2]), Bussi(300.0, on=[2, 3])], "atom 2 is in two baths, group1 and group2"),
        (
            [Bussi(300.0, on=[5])],
            "group group1 has one atom, which has no velocity relative to its own centre",
        ),
        ([Source(0.1, on=[5])], "Source has nothing to rescale; use Langevin, or more atoms"),
        ([Langevin(300.0, on="warm")], "there is no group 'warm'; known groups: hot"),
        ([Langevin(300.0, on=np.ones(7, bool))], "a mask of 7 values, expected one for each of 108 atoms"),
        ([Langevin(300.0, on=[108])], "there is no atom 108 among 108"),
        ([Langevin(300.0, on=[0.5])], "a mask of True and False, or numbers of atoms"),
        ([Langevin(300.0)], "Langevin in acting has no group: give on=..."),
        ([StochasticCellRescaling(300.0, on=[1])], "expected a thermostat or a Source with its group"),
        (Langevin(300.0, on=[1]), "expected a list, such as"),
        ([Bussi(300.0, on="hot"), Langevin(300.0, on="hot")], "two baths are called hot"),
    ],
)
def test_a_wrong_bath_is_refused_in_one_line(acting, words):
    with pytest.raises(SettingsError) as caught:
        group_baths(acting, Groups(argon(), {"hot": HOT}))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["all", "hot wire", "5"])
def test_a_group_has_a_name_that_can_be_part_of_a_column(name):
    with pytest.raises(SettingsError, match="group "):
        Groups(argon(), {name: HOT})


@pytest.mark.parametrize("value", [np.nan, "much", True])
def test_a_power_is_a_number(value):
    with pytest.raises(SettingsError, match="expected a finite number"):
        Source(value)


def test_baths_of_groups_go_with_nve_alone():
    with pytest.raises(SettingsError, match="nvt-bussi has a thermostat of all atoms"):
        started([Langevin(300.0, on=HOT)], ensemble=Bussi(300.0))
    with pytest.raises(SettingsError, match="give a bath of a group as acting"):
        Simulation(argon(), SMOOTH, ensemble=Langevin(300.0, on=HOT))


def test_fixed_atoms_are_left_out_and_it_is_said():
    fixed = np.zeros(108, bool)
    fixed[:10] = True
    (bath,), remarks = group_baths([Bussi(300.0, on=HOT)], Groups(argon(), None, fixed), fixed)
    assert bath.atoms.tolist() == list(range(10, 30))
    assert remarks == ["the bath group1 leaves 10 fixed atoms out, of 30"]
    with pytest.raises(SettingsError, match="all its atoms are fixed"):
        group_baths([Bussi(300.0, on=range(10))], Groups(argon(), None, fixed), fixed)


def test_a_record_makes_the_same_bath():
    given = [
        NoseHoover(60.0, 80.0, final_temperature=90.0, ramp=(0, 50), on=[31, 32, 33, 40, 35]),
        Source(0.2, on=HOT),
    ]
    for bath in group_baths(given, Groups(argon()))[0]:
        record = json.loads(json.dumps(bath.record()))
        assert of_record(record).record() == bath.record()
        assert of_record(record).what == bath.what


# Ledgers.

MIXED = [
    [Langevin(100.0, on=HOT), Bussi(30.0, coupling_time=50.0, on=COLD), NoseHoover(60.0, on=THIRD)],
    [Langevin(100.0, on=HOT), Langevin(30.0, seed=2, on=COLD)],
    [Source(0.1, on=HOT), Source(-0.1, on=COLD), Berendsen(70.0, coupling_time=50.0, on=THIRD)],
    [
        Source(0.1, on=HOT, correction=False),
        Source(-0.1, on=COLD, correction=False),
        NoseHoover(60.0, on=THIRD),
    ],
]


@pytest.mark.parametrize("acting", MIXED)
def test_the_conserved_energy_counts_the_heat_of_every_bath(acting):
    """Its scatter falls as the square of the time step, while much more heat goes in and out."""
    scatter = []
    for timestep in (6.0, 3.0):
        simulation = started(acting, timestep=timestep)
        conserved = []
        for _ in range(20):
            simulation.run(int(60 / timestep), report_first=False)
            now = simulation.thermo()
            conserved.append(now.conserved)
            assert now.conserved == pytest.approx(
                now.potential + now.kinetic - sum(simulation.heats().values()), abs=1e-12
            )
        scatter.append(np.std(conserved))
        assert np.ptp(conserved) < 0.05 * max(abs(heat) for heat in simulation.heats().values())
    assert scatter[1] < 0.5 * scatter[0]


def test_baths_about_the_centre_of_mass_keep_every_momentum():
    simulation = started([Bussi(200.0, on=HOT), NoseHoover(50.0, on=COLD), Source(2.0, on=THIRD)])
    simulation.run(100)
    momentum = simulation.engine.masses @ simulation.velocities()
    assert abs(momentum).max() < 1e-10


# Equations.


def test_langevin_of_a_group_of_all_atoms_has_the_bits_of_the_ensemble():
    one = started([Langevin(100.0, coupling_time=50.0, seed=5, on=range(108))])
    other = Simulation(argon(), SMOOTH, timestep=4.0, ensemble=Langevin(100.0, coupling_time=50.0, seed=5))
    one.run(30)
    other.run(30)
    np.testing.assert_array_equal(one.positions(), other.positions())
    np.testing.assert_array_equal(one.velocities(), other.velocities())
    assert one.thermo().conserved == other.thermo().conserved
    assert one.thermo().temperature == other.thermo().temperature


@pytest.mark.parametrize("kind", [Bussi, Berendsen, NoseHoover])
def test_a_bath_of_all_atoms_does_what_the_ensemble_does(kind):
    """To rounding: the velocity of the centre of mass, which it leaves alone, is 0 to rounding alone."""
    one = started([kind(100.0, coupling_time=50.0, on=range(108))])
    other = Simulation(argon(), SMOOTH, timestep=4.0, ensemble=kind(100.0, coupling_time=50.0))
    one.run(30)
    other.run(30)
    np.testing.assert_allclose(one.positions(), other.positions(), rtol=0, atol=1e-10)
    assert one.thermo().conserved == pytest.approx(other.thermo().conserved, abs=1e-10)


def test_two_baths_with_one_seed_have_noise_of_their_own():
    simulation = started([Bussi(300.0, on=range(12)), Bussi(300.0, on=range(12, 24))], gas())
    v = np.tile(simulation.velocities()[:3], (9, 1))
    simulation.engine.set_state(velocities=v)
    simulation.run(5)
    heats = list(simulation.heats().values())
    assert heats[0] != pytest.approx(heats[1], rel=1e-3)


def test_kinetic_energy_of_a_group_relative_to_its_centre_is_gamma_distributed():
    """Shape N_f/2 with N_f = 3 N_g - 3, and the centre of mass keeps its velocity."""
    simulation = started([Bussi(250.0, coupling_time=10.0, seed=11, on=range(12))], gas(), timestep=10.0)
    masses, group = simulation.engine.masses, np.arange(12)
    first = relative(masses, simulation.velocities(), group)[1]
    x = []
    for _ in range(800):
        simulation.engine.advance(4, 10.0 * units.FS)
        _, centre, kinetic = relative(masses, simulation.velocities(), group)
        x.append(kinetic / (units.KB * 250.0))
    np.testing.assert_allclose(centre, first, rtol=0, atol=1e-9)
    assert stats.kstest(x, stats.gamma(16.5).cdf).pvalue > 1e-3
    assert stats.kstest(x, stats.gamma(18.0).cdf).pvalue < 1e-6


def test_berendsen_follows_its_equation_along_a_ramp():
    bath = Berendsen(300.0, coupling_time=40.0, final_temperature=600.0, ramp=(0, 10), on=range(5, 20))
    simulation = started([bath], gas())
    masses, group = simulation.engine.masses, np.arange(5, 20)
    kinetic = relative(masses, simulation.velocities(), group)[2]
    heat = 0.0
    for step in range(1, 13):
        target = 0.5 * 42 * units.KB * (300.0 + 30.0 * min(step, 10))
        new = kinetic * (1.0 + 0.1 * (target / kinetic - 1.0))
        heat, kinetic = heat + new - kinetic, new
        simulation.engine.advance(1, 4.0 * units.FS)
        assert relative(masses, simulation.velocities(), group)[2] == pytest.approx(kinetic, rel=1e-8)
        assert simulation.heats() == pytest.approx({"group1": heat}, abs=1e-9)


def test_a_chain_of_a_group_of_free_atoms_keeps_its_energy():
    simulation = started([NoseHoover(200.0, coupling_time=50.0, on=range(3, 15))], gas(), timestep=1.0)
    first = simulation.thermo()
    simulation.run(300)
    last = simulation.thermo()
    assert abs(last.kinetic - first.kinetic) > 0.05
    assert last.conserved == pytest.approx(first.conserved, abs=1e-4)


def test_constant_power_is_what_its_equations_say():
    """Energy by P dt in each step, momentum not at all; positions by eHEX's formula, one step later."""
    simulation = started([Source(200.0, on=HOT), Source(-20.0, on=COLD)])
    masses, dt = simulation.engine.masses, 4.0 * units.FS
    x, v, f = simulation.positions(), simulation.velocities(), simulation.forces()
    for _ in range(3):
        simulation.engine.advance(1, dt)
        half = v + 0.5 * dt * f / masses[:, None]
        x = x + dt * half
        np.testing.assert_allclose(simulation.positions(), x, rtol=0, atol=1e-12)
        f = simulation.forces()
        before = half + 0.5 * dt * f / masses[:, None]
        v = before.copy()
        correction = np.zeros_like(x)
        for power, group in ((200.0, HOT), (-20.0, COLD)):
            p = power / (1000.0 * units.FS)
            m, centre, kinetic = relative(masses, before, group)
            u, pull = before[group] - centre, f[group]
            v[group] = centre + np.sqrt(1.0 + p * dt / kinetic) * u
            eta = m * p / (2.0 * kinetic) * u
            eps = eta / (m * kinetic) * (p / 48.0 + (pull * u).sum() / 6.0)
            eps -= p / (12.0 * kinetic) * (pull / m - pull.sum(axis=0) / m.sum())
            correction[group] = dt**3 * eps
            assert relative(masses, v, group)[2] - kinetic == pytest.approx(p * dt, rel=1e-12)
        np.testing.assert_allclose(simulation.velocities(), v, rtol=0, atol=1e-11)
        assert abs(correction).max() > 1e-7
        x = x - correction
    assert simulation.heats() == pytest.approx({"group1": 200.0 * 0.012, "group2": -20.0 * 0.012}, rel=1e-12)


@pytest.mark.lammps
@pytest.mark.parametrize("correction", [True, False])
def test_constant_power_agrees_with_lammps_digit_for_digit(correction):
    """Six steps of two groups of a random structure with a drift; LAMMPS corrects positions sooner."""
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.5).repeat(4), 0.2, 1)
    atoms = testing.with_velocities(atoms, 120.0, 4)
    atoms.set_velocities(atoms.get_velocities() + 0.01)
    dt, power, style = 4.0 * units.FS, 15.0, "" if correction else " hex"
    flux = float(power / (1000.0 * units.FS) / np.sqrt(MVV2E))
    fixes = (
        "group hot id 1:60",
        f"fix h hot ehex 1 {flux!r}{style}",
        "group cold id 101:160",
        f"fix c cold ehex 1 {-flux!r}{style}",
    )
    force = f"1 1 {testing.ARGON['epsilon']!r} {testing.ARGON['sigma']!r}"
    theirs = lammps_nve(atoms, "lj/smooth/linear 6.0", (force,), n_steps=6, timestep=dt, more=fixes)
    groups = {"hot": np.arange(60), "cold": np.arange(100, 160)}
    acting = [
        Source(sign * power, on=name, correction=correction) for name, sign in (("hot", 1), ("cold", -1))
    ]
    ours = Simulation(atoms, SMOOTH, groups=groups, acting=acting)
    ours.engine.advance(6, dt)
    np.testing.assert_allclose(ours.velocities(), theirs.velocities, rtol=0, atol=2e-12)
    x, v, f, m = ours.positions(), ours.velocities(), ours.forces(), ours.engine.masses
    for name, p in (("hot", flux * np.sqrt(MVV2E)), ("cold", -flux * np.sqrt(MVV2E))):
        group = groups[name]
        _, centre, kinetic = relative(m, v, group)
        kinetic, scale = kinetic - p * dt, np.sqrt(kinetic / (kinetic - p * dt))
        u, pull = (v[group] - centre) / scale, f[group]
        eps = p / (2.0 * kinetic**2) * u * (p / 48.0 + (pull * u).sum() / 6.0)
        eps -= p / (12.0 * kinetic) * (pull / m[group, None] - pull.sum(axis=0) / m[group].sum())
        x[group] -= dt**3 * eps * correction
        assert abs(dt**3 * eps).max() > 1e-8
    np.testing.assert_allclose(x, theirs.positions, rtol=0, atol=1e-11)


def test_a_sink_that_takes_more_than_there_is_ends_the_run():
    simulation = started([Source(-10.0, on=HOT)])
    with pytest.raises(BlowUpError) as caught:
        simulation.run(100)
    words = str(caught.value)
    step = caught.value.step
    assert words.startswith(f"at step {step} the source group1 of -10 eV/ps finds a kinetic energy of ")
    assert "eV in its 30 atoms relative to their centre of mass, which is too little for one step" in words
    assert 0 < step < 100
    again = started([Source(-10.0, on=HOT)])
    again.run(step - 1)
    masses, velocities = again.engine.masses, again.velocities()
    assert relative(masses, velocities, HOT)[2] < 2.0 * 10.0 * 0.004
    with pytest.raises(BlowUpError, match=f"at step {step} the source"):
        again.run(1)


# The same bits.


@pytest.mark.long
@pytest.mark.parametrize("acting", [MIXED[0], MIXED[2]])
def test_splits_restarts_and_batches_have_the_same_bits(acting, tmp_path):
    whole, parts = started(acting), started(acting)
    whole.run(60)
    for steps in (7, 20):
        parts.run(steps)
    parts.save(tmp_path / "checkpoint.npz")
    parts = Simulation.load(tmp_path / "checkpoint.npz", SMOOTH)
    parts.run(33)
    both = Simulation([argon().repeat((1, 1, 2)), argon()], SMOOTH, timestep=4.0, acting=[MIXED[0], acting])
    both.run(60)
    for one in (parts, both[1]):
        np.testing.assert_array_equal(one.positions(), whole.positions())
        np.testing.assert_array_equal(one.velocities(), whole.velocities())
        assert one.heats() == whole.heats()
        assert one.thermo().conserved == whole.thermo().conserved


def test_systems_of_a_batch_have_groups_of_their_own_and_one_whose_sink_fails_stops_alone():
    acting = [[Source(0.5, on=HOT), Source(-0.5, on=COLD)], [Source(-10.0, on=THIRD)]]
    both = Simulation([argon(), argon()], SMOOTH, timestep=4.0, acting=acting)
    with pytest.warns(TaichimdWarning, match=r"system 1 \(.*\): at step .* the source group1 of -10 eV/ps"):
        both.run(60)
    alone = started(acting[0])
    alone.run(60)
    assert list(both.errors) == [1]
    np.testing.assert_array_equal(both[0].positions(), alone.positions())
    assert both[0].heats() == alone.heats()


def test_other_groups_are_no_state_to_go_on_from():
    one, other = started([Langevin(100.0, on=HOT)]), started([Langevin(100.0, on=COLD)])
    with pytest.raises(SettingsError, match="belongs to different groups or settings"):
        other.engine.set_state(bath=one.engine.bath_state())
    with pytest.raises(SettingsError, match="the state has baths of groups"):
        Simulation(argon(), SMOOTH).engine.set_state(bath=one.engine.bath_state())


def test_the_table_has_a_column_for_the_heat_of_each_bath(tmp_path):
    pair = [Source(1.0, on="hot"), Langevin(50.0, on="cold")]
    simulation = started(pair, groups={"hot": HOT, "cold": COLD, "rest": THIRD})
    with ThermoTable(tmp_path / "thermo.csv", every=10) as table:
        simulation.run(20, observers=[table])
    rows = read_thermo(tmp_path / "thermo.csv")
    np.testing.assert_allclose(rows["heat_hot_eV"], [0.0, 0.04, 0.08], rtol=1e-12, atol=1e-15)
    heat = rows["heat_hot_eV"] + rows["heat_cold_eV"]
    np.testing.assert_allclose(rows["conserved_eV"], rows["total_eV"] - heat, rtol=0, atol=1e-12)
    assert "heat_rest_eV" not in rows


@pytest.mark.long
def test_in_a_steady_state_the_heat_of_the_baths_flows_between_them():
    """Power in, power out, and the heat current of the planes between the baths over their length."""
    edge = 5.3
    atoms = bulk("Ar", cubic=True, a=edge).repeat((10, 3, 3))
    plane = np.rint(2.0 * atoms.positions[:, 0] / edge).astype(int)
    atoms.pbc = [False, True, True]
    atoms.constraints = [FixAtoms(np.isin(plane, (0, 1, 18, 19)))]
    atoms = testing.with_velocities(atoms, 48.0, 5)
    baths = [
        Langevin(30.0, coupling_time=1000.0, on=np.isin(plane, (2, 3, 4)), seed=1),
        Langevin(18.0, coupling_time=1000.0, on=np.isin(plane, (15, 16, 17)), seed=2),
    ]
    middle, length = np.isin(plane, range(6, 14)), 8 * edge / 2
    one = started(baths, atoms, timestep=12.0)
    one.run(5000)
    before, currents = one.heats(), []
    for _ in range(3000):
        one.run(10)
        now, v = one.engine.evaluate(), one.velocities()[middle]
        energies = now.energies[middle] + 0.5 * one.engine.masses[middle] * (v**2).sum(axis=1)
        flow = energies[:, None] * v + np.einsum("iab,ib->ia", now.virials[middle], v)
        currents.append(flow[:, 0].sum() / length)
    time = 30_000 * 12.0 * units.FS
    power = {name: (heat - before[name]) / time for name, heat in one.heats().items()}
    through = np.mean(currents)
    assert power["group1"] > 0.0
    assert power["group2"] == pytest.approx(-power["group1"], rel=0.06)
    assert through == pytest.approx(power["group1"], rel=0.06)
