"""External potentials in engines, runs, relaxations and batches."""

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.constraints import FixAtoms
from springs import Broken, HarmonicCrystal, K, Sites, SpringCalculator, copper

import taichimd
from taichimd import (
    Batch,
    Engine,
    Langevin,
    MartynaTobiasKlein,
    NoseHoover,
    Simulation,
    StochasticCellRescaling,
    TaichiMD,
    evaluate_many,
    from_ase,
    load_forcefield,
    relax,
)  # fmt: skip
from taichimd.core.errors import EvaluationError, PropertyError, SettingsError
from taichimd.core.units import FS
from taichimd.testing import rattled, silicon_triclinic, with_velocities

NATIVE = "Si.sw"
ENSEMBLES = {
    "NVE": lambda: None,
    "Langevin": lambda: Langevin(500, 50.0),
    "Nose-Hoover": lambda: NoseHoover(500, 50.0),
    "cell rescaling": lambda: StochasticCellRescaling(500, 50.0),
    "MTK": lambda: MartynaTobiasKlein(500, 50.0),
}


def silicon():
    return with_velocities(rattled(bulk("Si", cubic=True), 0.1), 600, 1)


def external():
    return from_ase(TaichiMD(NATIVE))


def test_energy_forces_and_stress_are_those_of_the_native_force_field():
    atoms = silicon_triclinic()
    native, found = (Engine(atoms, load_forcefield(p)).evaluate() for p in (NATIVE, external()))
    assert found.energy == pytest.approx(native.energy, abs=1e-9)
    np.testing.assert_allclose(found.energies, native.energies, atol=1e-9)
    np.testing.assert_allclose(found.forces, native.forces, atol=1e-9)
    np.testing.assert_allclose(found.stress, native.stress, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    ["NVE", *(pytest.param(name, marks=pytest.mark.long) for name in list(ENSEMBLES)[1:-1])],
)
def test_a_trajectory_is_that_of_the_native_force_field(name):
    runs = [Simulation(silicon(), p, timestep=1.0, ensemble=ENSEMBLES[name]()) for p in (NATIVE, external())]
    for run in runs:
        run.run(30, every=7)
    native, found = runs
    np.testing.assert_allclose(found.positions(), native.positions(), atol=1e-9)
    np.testing.assert_allclose(found.velocities(), native.velocities(), atol=1e-9)
    np.testing.assert_allclose(found.engine.cell, native.engine.cell, atol=1e-9)
    assert found.thermo().pressure == pytest.approx(native.thermo().pressure, abs=1e-7)
    assert (found.thermo().conserved is None) == (native.thermo().conserved is None)


def test_the_oscillator_has_its_period():
    atoms, crystal = copper()
    engine = Engine(atoms, Sites(crystal.positions))
    d = atoms.positions - crystal.positions
    step, n = 1.0 * FS, 200
    engine.advance(n, step)
    # Velocity Verlet has cos(w n) with 2 sin(w/2) = omega dt.
    w = 2.0 * np.arcsin(0.5 * step * np.sqrt(K / engine.masses))
    np.testing.assert_allclose(engine.positions() - crystal.positions, d * np.cos(n * w)[:, None], atol=1e-12)


def test_each_step_asks_once():
    atoms, crystal = copper()
    springs = Sites(crystal.positions)
    engine = Engine(with_velocities(atoms, 300, 1), springs)
    engine.forces()
    engine.advance(25, 1.0 * FS)
    engine.thermo()
    assert springs.calls == 26


@pytest.mark.parametrize("name", ["Langevin", "MTK"])
def test_a_saved_run_goes_on_with_the_same_bits(name, tmp_path):
    crystal = copper(2)[1]
    potential = HarmonicCrystal(crystal, 3.0)
    whole, part = (
        Simulation(
            with_velocities(crystal.copy(), 300, 1), potential, timestep=2.0, ensemble=ENSEMBLES[name]()
        )
        for _ in range(2)
    )
    whole.run(20)
    part.run(12)
    part.save(tmp_path / "checkpoint.npz")
    again = Simulation.load(tmp_path / "checkpoint.npz", potential)
    again.run(8)
    np.testing.assert_array_equal(again.positions(), whole.positions())
    np.testing.assert_array_equal(again.velocities(), whole.velocities())


def test_fixed_atoms_stay_and_observers_see_all_reports(tmp_path):
    atoms, crystal = copper()
    atoms.set_constraint(FixAtoms([1]))
    run = Simulation(with_velocities(atoms, 300, 1), Sites(crystal.positions), timestep=1.0)
    rows = taichimd.ThermoTable(tmp_path / "thermo.csv")
    run.run(20, every=5, observers=[rows])
    np.testing.assert_array_equal(run.positions()[1], atoms.positions[1])
    assert len((tmp_path / "thermo.csv").read_text().splitlines()) == 6


def test_a_relaxation_with_its_cell_is_that_of_the_native_force_field():
    atoms = rattled(bulk("Si", a=5.5, cubic=True), 0.05)
    native, found = (relax(atoms, p, fmax=1e-3, cell="full") for p in (NATIVE, external()))
    assert found.converged
    assert found.energy == pytest.approx(native.energy, abs=1e-6)
    np.testing.assert_allclose(found.atoms.cell.array, native.atoms.cell.array, atol=1e-4)


def test_systems_of_a_batch_have_their_own_cells_and_sizes():
    systems = [rattled(bulk("Cu", a=a, cubic=True).repeat(k), 0.05) for a, k in ((3.6, 1), (3.7, (2, 1, 1)))]
    systems.append(molecule("CH4"))
    found = evaluate_many(systems, from_ase(EMT()))
    for atoms, one in zip(systems, found, strict=True):
        alone = atoms.copy()
        alone.calc = EMT()
        assert one.energy == pytest.approx(alone.get_potential_energy(), abs=1e-9)
        np.testing.assert_allclose(one.forces, alone.get_forces(), atol=1e-9)
        assert (one.stress is None) == (not atoms.pbc.any())
        if one.stress is not None:
            np.testing.assert_allclose(one.stress, alone.get_stress(), atol=1e-9)


@pytest.mark.parametrize("name", ["NVE", "MTK"])
def test_a_batch_has_the_bits_of_each_system_alone(name):
    crystals = [bulk("Cu", a=a, cubic=True) for a in (3.6, 3.65)]
    potential = HarmonicCrystal(crystals[0], 2.9)
    starts = [with_velocities(one, 300, k) for k, one in enumerate(crystals)]
    ensemble = ENSEMBLES[name]()
    alone = [Engine(one, potential, ensemble=ensemble) for one in starts]
    together = Batch(starts, potential, ensembles=ensemble)
    for one in (*alone, together):
        one.advance(15, 2.0 * FS)
    for own, member in zip(alone, together.members, strict=True):
        np.testing.assert_array_equal(member.positions(), own.positions())
        np.testing.assert_array_equal(member.cell, own.cell)


def test_relaxations_of_a_list_converge_to_the_sites():
    atoms, crystal = copper()
    found = relax([atoms, rattled(crystal.copy(), 0.1, seed=3)], Sites(crystal.positions), fmax=1e-4)
    for one in found:
        assert one.converged
        np.testing.assert_allclose(one.atoms.positions, crystal.positions, atol=1e-4)


def test_a_sum_with_a_compiled_potential_adds_up():
    atoms, crystal = copper()
    weak = taichimd.LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.0)
    whole = Engine(atoms, [Sites(crystal.positions), weak]).evaluate()
    parts = [Engine(atoms, load_forcefield(p)).evaluate() for p in (Sites(crystal.positions), weak)]
    np.testing.assert_allclose(whole.forces, sum(one.forces for one in parts), atol=1e-12)
    assert whole.energy == pytest.approx(sum(one.energy for one in parts), abs=1e-12)


# Bad input.


def run_of(change, ensemble=None):
    """A run whose calculator is changed from its fourth evaluation on."""
    atoms, crystal = copper()

    def later(calculator, seen):
        if calculator.calls > 3:
            change(calculator, seen)

    calculator = SpringCalculator(crystal.positions, later)
    return Simulation(with_velocities(atoms, 300, 1), from_ase(calculator), timestep=1.0, ensemble=ensemble)


def wrong_shape(calculator, atoms):
    calculator.results["forces"] = calculator.results["forces"][:2]


def nan_force(calculator, atoms):
    calculator.results["forces"][1, 2] = np.nan


def nan_energy(calculator, atoms):
    calculator.results["energy"] = float("nan")


def fails(calculator, atoms):
    raise RuntimeError("no convergence\nin 100 cycles")


def no_numbers(calculator, atoms):
    calculator.results["forces"] = "none"


class Moves(SpringCalculator):
    """Moves the atoms that it is asked for."""

    def get_forces(self, atoms=None):
        forces = super().get_forces(atoms)
        atoms.positions[0] += 0.1
        return forces


MISTAKES = {
    wrong_shape: r"step 3: SpringCalculator: the force has the shape \(2, 3\), expected \(4, 3\)",
    nan_force: r"step 3: SpringCalculator: the force of atom 1 \(Cu\) is \[.*nan\] eV/angstrom, expected",
    nan_energy: "step 3: SpringCalculator: the energy is nan eV, expected finite numbers",
    fails: "step 3: SpringCalculator failed: RuntimeError: no convergence in 100 cycles$",
    no_numbers: "step 3: SpringCalculator: the force is of type str, expected an array of shape",
}


@pytest.mark.parametrize("change", MISTAKES)
def test_a_mistake_of_a_calculator_names_the_step(change):
    run = run_of(change)
    with pytest.raises(EvaluationError, match=MISTAKES[change]) as raised:
        run.run(10)
    assert "\n" not in str(raised.value)
    assert run.step == 3
    if change is fails:
        assert isinstance(raised.value.__cause__, RuntimeError)


def test_a_calculator_that_moves_the_atoms_is_refused():
    atoms, crystal = copper()
    with pytest.raises(EvaluationError, match="Moves changed the positions that it was given"):
        Simulation(atoms, from_ase(Moves(crystal.positions))).run(1)


def test_without_a_stress_there_is_no_pressure_and_no_barostat():
    run = run_of(lambda calculator, atoms: None)
    run.run(5)
    thermo, engine = run.thermo(), run.engine
    assert (thermo.pressure, thermo.stress, engine.pressures(), engine.evaluate().stress) == (None,) * 4
    with pytest.raises(PropertyError, match="SpringCalculator gives no stress, which a barostat needs"):
        run_of(lambda calculator, atoms: None, MartynaTobiasKlein(300))
    atoms, crystal = copper()
    springs = Sites(crystal.positions)
    with pytest.raises(
        PropertyError, match="springs to sites gives no stress, which a cell that relaxes needs"
    ):
        relax(atoms, springs, cell="full")
    with pytest.raises(PropertyError, match="gives no stress, which a barostat needs"):
        Batch([atoms], springs, ensembles=MartynaTobiasKlein(300))


def test_an_error_in_a_batch_names_the_system():
    atoms, crystal = copper()

    def second_explodes(found, x):
        if x[0, 0] > 50.0:
            raise RuntimeError("too far")
        return found

    far = atoms.copy()
    far.positions += 100.0
    with pytest.raises(
        EvaluationError, match=r"system 1 \(counted from 0\): broken failed: RuntimeError: too far"
    ):
        evaluate_many([atoms, far], Broken(second_explodes, crystal))


def test_what_needs_compiled_terms_refuses_in_one_sentence():
    from taichimd.program.ghosts import check_ghosts_do
    from taichimd.sampling.conditions import check_ensemble

    atoms, crystal = copper()
    forcefield = load_forcefield(HarmonicCrystal(crystal, 3.0))
    with pytest.raises(PropertyError, match="harmonic crystal has no heat current"):
        Engine(atoms, forcefield, driving_force=(0.1, 0.0, 0.0))
    for refuses in (
        lambda: check_ghosts_do(forcefield),
        lambda: check_ensemble(forcefield, atoms, None, None, moves_all=True),
        lambda: taichimd.check_forcefield(forcefield),
    ):
        with pytest.raises(SettingsError, match="harmonic crystal is evaluated by other code"):
            refuses()


def test_a_step_of_a_batch_that_fails_names_system_and_step():
    crystal = copper()[1]
    calls = []

    def later(found, x):
        calls.append(x)
        return wrong(found) if len(calls) == 8 else found

    def wrong(found):
        raise RuntimeError("lost")

    together = Simulation([crystal, crystal.copy()], Broken(later, crystal), timestep=1.0)
    with pytest.raises(EvaluationError, match=r"system 1 \(counted from 0\): step 3: broken failed: "):
        together.run(10)
