"""Monte Carlo samples the ensembles that it says: exact results, the same bits after a restart."""

from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import AxilrodTeller, LennardJones
from taichimd.core import units
from taichimd.core.errors import SettingsError, StructureError
from taichimd.estimators.average import average_of
from taichimd.forcefields.triple_energies import EnergyTiles
from taichimd.sampling.chain import MonteCarlo
from taichimd.sampling.conditions import outside
from taichimd.sampling.metropolis import exponential
from taichimd.sampling.rates import Rate
from taichimd.sampling.sweep import ChainGroup

NOTHING = LennardJones(epsilon=0.0, sigma=1.0, cutoff=1.0)
ARGON = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="energy-shifted")
TRIPLES = AxilrodTeller(nu=45.69, cutoff=5.0)
GAS_PRESSURE = 0.01


def gas(monkeypatch, function=lambda system: 0.0, n=5, **options):
    """Monte Carlo of an energy that a test gives as a function of the system, at next to no cost."""
    if options.get("pressure", GAS_PRESSURE):
        # Positions do not matter.
        monkeypatch.setattr(ChainGroup, "_displace", lambda *given: None)
    atoms = Atoms(f"Ar{n}", positions=np.random.default_rng(1).random((n, 3)) * 13, cell=[13] * 3, pbc=True)
    given = {
        "temperature": 300.0,
        "pressure": GAS_PRESSURE,
        "move": 0.02,
        "volume_move": 0.8,
        "backend": "cpu",
        "kind": "all",
    }
    chain = MonteCarlo(atoms, NOTHING, **given | options)
    monkeypatch.setattr(chain.group.systems, "energies", lambda known=None: [(function(chain.system), None)])
    return chain


def series(chain, sweeps, value):
    found = []
    for _ in range(sweeps):
        chain.advance(1)
        found.append(value(chain))
    return average_of(np.array(found))


def test_volume_of_the_ideal_gas_is_that_of_one_particle_more(monkeypatch):
    found = series(gas(monkeypatch), 3000, lambda chain: chain.volume)
    each = units.KB * 300.0 / (GAS_PRESSURE * units.GPA)
    assert found.error < 0.04 * found.value
    assert abs(found.value - 6 * each) < 4 * found.error
    # N in the place of N + 1 would be seen.
    assert abs(found.value - 5 * each) > 4 * found.error


@pytest.mark.long
def test_volume_with_an_energy_that_falls_with_it(monkeypatch):
    # E = c (V0/V)^3 as of all triples at fixed scaled coordinates; <V> is a quotient of integrals.
    kt, p, v0, c = units.KB * 300.0, GAS_PRESSURE * units.GPA, 13.0**3, 0.2
    v = np.linspace(1.0, 40 * kt / p, 400_001)
    weight = np.exp(5 * np.log(v / v0) - (c * (v0 / v) ** 3 + p * v) / kt)
    chain = gas(monkeypatch, lambda system: c * (v0 / system.volume) ** 3, volume_move=0.6)
    found = series(chain, 3000, lambda chain: chain.volume)
    exact = (v * weight).sum() / weight.sum()
    assert exact > 1.1 * 6 * kt / p
    assert abs(found.value - exact) < 4 * found.error
    assert found.error < 0.04 * exact


@pytest.mark.long
def test_energy_of_a_harmonic_well(monkeypatch):
    stiffness = 0.3
    chain = gas(
        monkeypatch, lambda of: 0.5 * stiffness * (of.positions() ** 2).sum(), 2, pressure=None, move=0.4
    )
    chain.set_state(positions=np.eye(3)[:2] * 0.2)
    found = series(chain, 4000, lambda chain: chain.energy)
    assert abs(found.value - 3 * chain.temperature * units.KB) < 4 * found.error
    assert found.error < 0.05 * found.value


def around_a_fixed_atom(cell=8.0, points=60):
    """Energy of a free argon atom at points of the periodic cell of a fixed one."""
    x = (np.arange(points) + 0.5) / points * cell - 0.5 * cell
    grids = np.meshgrid(x, x, x, indexing="ij")
    energy, end = np.zeros_like(grids[0]), (3.4**2 / 36.0) ** 3
    for image in np.ndindex(3, 3, 3):
        r2 = sum((axis + (k - 1) * cell) ** 2 for axis, k in zip(grids, image, strict=True))
        s6 = (3.4**2 / r2) ** 3
        energy += np.where(r2 < 36.0, 4 * 0.0104 * (s6 * (s6 - 1) - end * (end - 1)), 0.0)
    return energy


@pytest.mark.parametrize(("kind", "samples", "sweeps"), [("all", 2000, 1), ("single", 3000, 2)])
def test_energy_beside_a_fixed_atom_and_detailed_balance(kind, samples, sweeps):
    """At twice the temperature the energy would be 17 % off, six errors of single moves."""
    energy, temperature = around_a_fixed_atom(), 150.0
    weight = np.exp(-energy / (units.KB * temperature))
    atoms = Atoms("Ar2", positions=[[0, 0, 0], [4.0, 4.0, 4.0]], cell=[8.0] * 3, pbc=True)
    held = np.array([True, False])
    options = {"temperature": temperature, "move": 1.5, "backend": "cpu", "seed": 3}
    chain = MonteCarlo(atoms, ARGON, kind=kind, fixed=held, **options)
    seen = []
    for _ in range(samples):
        chain.advance(sweeps)
        seen.append(chain.energy)
    np.testing.assert_array_equal(chain.positions()[0], 0.0)
    found = average_of(np.array(seen))
    exact = (energy * weight).sum() / weight.sum()
    assert abs(found.value - exact) < 4 * found.error
    assert found.error < (0.035 if kind == "single" else 0.07) * abs(exact)
    states = np.searchsorted(np.quantile(seen, [0.25, 0.5, 0.75]), seen)
    transitions = np.zeros((4, 4))
    np.add.at(transitions, (states[:-1], states[1:]), 1)
    there, back = transitions[np.triu_indices(4, 1)], transitions.T[np.triu_indices(4, 1)]
    assert there.min() > 20
    assert (abs(there - back) < 4 * np.sqrt(there + back)).all()


@pytest.mark.parametrize("pressure", [None, 0.05])
def test_a_restart_has_the_bits_of_an_uncut_chain(pressure):
    atoms = bulk("Ar", cubic=True, a=5.4) * 2
    options = {"temperature": 80.0, "pressure": pressure, "move": 0.03, "equilibration": 60}
    options |= {"kind": "all", "backend": "cpu"}
    straight = MonteCarlo(atoms, [ARGON], **options)
    straight.advance(45)
    positions, cell, step, chain = straight.positions(), straight.cell, straight.step, straight.bath_state()
    straight.advance(45)
    cut = MonteCarlo(atoms, [ARGON], **options)
    cut.set_state(positions=positions, cell=cell, step=step, bath=chain)
    for part in (7, 8, 30):
        cut.advance(part)
        cut.thermo()
    np.testing.assert_array_equal(cut.positions(), straight.positions())
    np.testing.assert_array_equal(cut.cell, straight.cell)
    assert cut.bath_state() == straight.bath_state()
    assert straight.compare() == 0.0
    assert 0 < straight.moves.accepted < straight.moves.tried == 30


def vessel(n, side):
    """Atoms near the points of a lattice, in a cubic cell without periodicity."""
    points = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), -1).reshape(-1, 3)[:n]
    return Atoms(f"Ar{n}", positions=3.7 * points + 3.0, cell=[side] * 3)


@pytest.mark.parametrize("pressure", [None, 0.05])
def test_a_restart_of_all_triples_has_the_bits_of_an_uncut_chain(pressure):
    options = {"temperature": 80.0, "move": 0.05, "pressure": pressure, "volume_move": 0.2, "backend": "cpu"}
    options["kind"] = "all"
    straight, cut = (
        MonteCarlo(vessel(27, 15.0), ARGON + AxilrodTeller(nu=45.69), **options) for _ in range(2)
    )
    straight.advance(8)
    state = {"positions": straight.positions(), "cell": straight.cell, "step": 8}
    cut.set_state(**state, bath=straight.bath_state())
    straight.advance(12)
    for part in (5, 7):
        # A row of the table has the virial, and so a full evaluation.
        assert cut.thermo().potential == cut.energy
        cut.advance(part)
        assert abs(cut.compare()) < 1e-13
    np.testing.assert_array_equal(cut.positions(), straight.positions())
    np.testing.assert_array_equal(cut.cell, straight.cell)
    assert cut.bath_state() == straight.bath_state()
    assert 0 < straight.moves.accepted < 20
    assert bool(pressure) == (straight.volume_moves.accepted > 0)


def test_volume_moves_compute_no_triples(monkeypatch):
    chain = MonteCarlo(
        vessel(27, 15.0), ARGON + AxilrodTeller(nu=45.69), temperature=80.0, pressure=0.05, move=0.01,
        volume_move=0.05, kind="all", backend="cpu",
    )  # fmt: skip
    energies = []
    place = EnergyTiles.place
    monkeypatch.setattr(EnergyTiles, "place", lambda *given: energies.append(place(*given)))
    chain.advance(15)
    # Lists that grow repeat one or two.
    assert 1 + 15 <= len(energies) < 20
    assert chain.volume_moves.accepted > 3
    assert abs(chain.compare()) < 1e-13


@pytest.mark.long
def test_walls_hold_the_ideal_gas():
    # As with periodicity, with atoms that meet the walls.
    options = {"move": 3.0, "volume_move": 0.9, "kind": "all", "backend": "cpu"}
    chain = MonteCarlo(vessel(5, 13.0), NOTHING, temperature=300.0, pressure=GAS_PRESSURE, **options)
    found = series(chain, 1200, lambda chain: chain.volume)
    assert abs(found.value - 6 * units.KB * 300.0 / (GAS_PRESSURE * units.GPA)) < 4 * found.error
    assert found.error < 0.07 * found.value
    assert chain.moves.acceptance < 0.9
    assert not len(outside(chain.positions(), chain.cell))
    assert chain.thermo().pressure == pytest.approx(5 * units.KB * 300.0 / chain.volume / units.GPA)


CELLS = {
    "one cell": (2, True),
    "eight cells": (3, True),
    "slab": (2, (True, False, True)),
    "open": (3, False),
}


def single(atoms, forcefield, **options):
    given = {"temperature": 80.0, "move": 0.5, "backend": "cpu", "kind": "single", "seed": 4}
    return MonteCarlo(atoms, forcefield, **given | options)


def rattled_argon(cells, pbc):
    atoms = bulk("Ar", cubic=True, a=5.4) * cells
    atoms.pbc = pbc
    atoms.rattle(0.1, seed=2)
    return atoms


@pytest.mark.parametrize("forcefield", [ARGON, ARGON + TRIPLES], ids=["pairs", "triples"])
@pytest.mark.parametrize("cells", CELLS)
def test_the_energy_of_single_moves_is_that_of_a_full_evaluation(cells, forcefield):
    chain = single(rattled_argon(*CELLS[cells]), forcefield)
    chain.advance(12)
    assert 20 < chain.moves.accepted < 0.5 * chain.moves.tried == 6 * chain.n_atoms
    assert abs(chain.compare()) < 1e-12
    before = chain.energy
    chain.advance(1)
    assert chain.energy != before


@pytest.mark.parametrize("forcefield", [ARGON, ARGON + TRIPLES], ids=["pairs", "triples"])
def test_single_moves_are_those_of_full_evaluations(forcefield):
    # In one cell no move leaves it: the same trial moves in the same order, decided in both ways.
    chain, full = (single(rattled_argon(*CELLS["one cell"]), forcefield) for _ in range(2))
    full.group.singles = None
    for one in (chain, full):
        one.advance(4)
    np.testing.assert_array_equal(chain.positions(), full.positions())
    assert chain.moves == full.moves
    assert chain.energy == pytest.approx(full.energy, abs=1e-13)


@pytest.mark.parametrize("points", [2, 3])
def test_single_moves_among_all_triples_are_those_of_full_evaluations(points):
    # Of 7 and of 26 others: an odd and an even number.
    sites = 3.75 * np.stack(np.meshgrid(*[np.arange(points)] * 3), axis=-1).reshape(-1, 3)
    atoms = Atoms(f"Ar{points**3}", positions=sites)
    atoms.symbols[1] = "Kr"
    argon = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="energy-shifted")
    everywhere = AxilrodTeller({"Ar": 45.7, ("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.0, "Kr": 137.6})
    held = np.arange(len(atoms)) == 2
    chain, full = (single(atoms, argon + everywhere, fixed=held) for _ in range(2))
    full.group.singles = None
    for one in (chain, full):
        one.advance(4)
    np.testing.assert_array_equal(chain.positions(), full.positions())
    assert chain.moves == full.moves
    assert 0 < chain.moves.accepted < chain.moves.tried == 4 * (len(atoms) - 1)
    assert chain.energy == pytest.approx(full.energy, abs=1e-13)


@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_single_moves_among_all_triples_in_other_precisions(precision):
    chain = single(vessel(27, 15.0), ARGON + AxilrodTeller(nu=45.69), precision=precision)
    chain.advance(4)
    assert 10 < chain.moves.accepted < chain.moves.tried == 4 * 27
    assert abs(chain.compare()) < 1e-6


def test_a_start_with_atoms_that_overlap_is_left():
    atoms = Atoms("Ar4", positions=[[0, 0, 0], [0.5, 0, 0], [4, 0, 0], [0, 4, 0]])
    chain = single(atoms, ARGON + AxilrodTeller(nu=45.69), move=2.0)
    assert chain.energy > 1e6
    chain.advance(200)
    assert chain.energy < 1.0
    assert abs(chain.compare()) < 1e-10


def test_single_moves_of_several_species_and_fixed_atoms():
    atoms = rattled_argon(3, True)
    atoms.symbols[::3] = "Kr"
    pairs = {"Ar": {"epsilon": 0.0104, "sigma": 3.4}, "Kr": {"epsilon": 0.014, "sigma": 3.6}}
    mixture = LennardJones(cutoff=6.0, pairs=pairs) + AxilrodTeller(
        {"Ar": 45.7, "Kr": 137.6, ("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.0},
        cutoff=5.5,
        product_cutoff=5.0,
    )
    chain = single(atoms, mixture, fixed=np.arange(108) % 5 == 0, pressure=None)
    chain.advance(10)
    assert chain.moves.tried == 10 * (108 - 22)
    np.testing.assert_array_equal(chain.positions()[::5], atoms.positions[::5])
    assert abs(chain.compare()) < 1e-12


def test_a_term_that_does_not_say_how_it_changes_is_evaluated():
    chain = single(bulk("Si", cubic=True), "Si.sw", temperature=600.0, move=0.1)
    assert chain.group.singles is None
    chain.advance(2)
    assert (chain.moves.tried, chain.compare()) == (16, 0.0)


def test_volume_moves_with_single_moves_restart_with_the_same_bits():
    atoms, options = rattled_argon(3, True), {"pressure": 0.05, "equilibration": 10, "volume_move": 0.02}
    straight = single(atoms, ARGON + TRIPLES, **options)
    straight.advance(8)
    state = {
        "positions": straight.positions(),
        "cell": straight.cell,
        "step": 8,
        "bath": straight.bath_state(),
    }
    straight.advance(10)
    cut = single(atoms, ARGON + TRIPLES, **options)
    cut.set_state(**state)
    cut.advance(3)
    cut.compare()
    cut.advance(7)
    np.testing.assert_array_equal(cut.positions(), straight.positions())
    assert cut.bath_state() == straight.bath_state()
    assert 0 < straight.volume_moves.accepted


def test_step_sizes_are_tuned_in_the_equilibration_alone():
    chain = MonteCarlo(
        bulk("Ar", cubic=True, a=5.4) * 2, ARGON, temperature=80.0, kind="all", move=0.5, equilibration=240
    )
    chain.advance(240)
    tuned = chain.moves.size
    assert tuned < 0.2
    chain.advance(150)
    assert chain.moves.size == tuned
    assert 0.2 < chain.moves.acceptance < 0.65
    rate = Rate(1.0, tried=10, accepted=10)
    rate.tune(1.2)
    assert (rate.size, rate.tried) == (1.2, 0)


def test_exponential():
    for x in (-0.3, -1e-3, 0.0, 0.2, 0.33):
        assert exponential(x) == pytest.approx(np.exp(x), rel=3e-16)


def test_atoms_on_top_of_each_other_are_rejected(monkeypatch):
    apart = Atoms("Ar2", positions=[[0, 0, 0], [4, 0, 0]])
    chain = MonteCarlo(apart, ARGON, temperature=80.0, kind="all", move=0.1, backend="cpu")
    before, energy = chain.positions(), chain.energy
    kernels = chain.group.kernels

    def onto(state, old, *numbers):
        kernels.displace(state, old, *numbers)
        state.set("pos", np.zeros((2, 3)))

    monkeypatch.setattr(chain.group, "kernels", replace(kernels, displace=onto))
    chain.advance(1)
    assert (chain.moves.accepted, chain.energy) == (0, energy)
    np.testing.assert_array_equal(chain.positions(), before)
    monkeypatch.setattr(chain.group, "kernels", kernels)
    chain.advance(5)
    assert chain.compare() == 0.0


def test_what_cannot_be_sampled_is_refused():
    argon = bulk("Ar", cubic=True, a=5.4) * 2
    pair = {"positions": [[0, 0, 0], [4, 0, 0]]}
    for atoms, kind, words in (
        (Atoms("Ar2", **pair), "all", "the structure has no volume"),
        (Atoms("Ar2", **pair, cell=[9] * 3, pbc=(1, 1, 0)), "all", "is periodic in some directions"),
        (Atoms("Ar2", **pair, cell=[9] * 3), "single", "npt between walls moves all atoms"),
    ):
        with pytest.raises(SettingsError, match=words):
            MonteCarlo(atoms, ARGON, temperature=80.0, pressure=1.0, kind=kind)
    with pytest.raises(StructureError, match=r"atom 1 .* is outside of the cell"):
        MonteCarlo(Atoms("Ar2", **pair, cell=[3] * 3), ARGON, temperature=80.0, pressure=1.0)
    with pytest.raises(SettingsError, match="volume moves would move fixed atoms"):
        MonteCarlo(argon, ARGON, temperature=80.0, pressure=1.0, fixed=np.arange(32) == 0)
    with pytest.raises(SettingsError, match="keeps charges or other states"):
        MonteCarlo(Atoms("OH2", positions=np.eye(3)), "H2O.ffield", temperature=80.0)
    with pytest.raises(SettingsError, match="alone is unbounded below"):
        MonteCarlo(argon, "Ar.atm", temperature=80.0)
