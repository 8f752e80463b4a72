"""ReaxFF from Python: loading, results, terms, time step, restarts, sums, and what is refused."""

import shutil

import ase.io
import numpy as np
import pytest
from ase.calculators.calculator import PropertyNotImplementedError, SCFError
from reaxff_doors import hydroxyl, soft_oxygen, water

from taichimd import (
    BerendsenNPT,
    Bussi,
    Engine,
    Langevin,
    LennardJones,
    ReaxFF,
    Simulation,
    TaichiMD,
    TrajectoryFile,
    load_forcefield,
    relax,
)
from taichimd.core.errors import ChargeError, PropertyError, SettingsError, StructureError
from taichimd.core.units import FS
from taichimd.forcefields.contribution import Contribution
from taichimd.forcefields.library import find
from taichimd.forcefields.reaxff.arrays import TERMS
from taichimd.program.energy_terms import energy_terms

ENSEMBLES = {
    "nve": lambda: None,
    "bussi": lambda: Bussi(300.0, coupling_time=20.0),
    "langevin": lambda: Langevin(300.0, coupling_time=20.0),
    "npt-berendsen": lambda: BerendsenNPT(300.0, coupling_time=20.0),
}
LIGHT = LennardJones(
    pairs={
        ("O", "O"): {"epsilon": 0.01, "sigma": 2.0, "cutoff": 6.0},
        ("H", "H"): {"epsilon": 0.001, "sigma": 1.0, "cutoff": 6.0},
    }
)


@pytest.fixture(scope="module")
def calculated():
    """Two molecules with their results."""
    atoms = water()
    atoms.calc = TaichiMD("H2O.ffield", backend="cpu")
    atoms.get_potential_energy()
    return atoms


@pytest.mark.parametrize("name", ["ffield.water", "ffield-bio", "ffield.reax.cho", "water.ff"])
def test_a_file_of_any_name_is_known_by_its_content(tmp_path, name):
    shutil.copy(find("H2O.ffield"), tmp_path / name)
    found = load_forcefield(tmp_path / name)
    assert (found.name, found.elements) == (f"ReaxFF {name}", ("H", "O"))
    assert found.fingerprint(["H", "O"]) == ReaxFF("H2O.ffield").fingerprint(["O", "H"])


def test_charges_are_a_result_of_the_calculator(calculated):
    charges = calculated.get_charges()
    assert charges.shape == (6,)
    assert abs(charges.sum()) < 1e-12
    assert (charges[calculated.symbols == "O"] < -0.5).all()
    assert (charges[calculated.symbols == "H"] > 0.2).all()
    assert calculated.calc.results["charges"] is not charges


def test_other_force_fields_have_no_charges():
    atoms = water()
    atoms.calc = TaichiMD(LIGHT, backend="cpu")
    with pytest.raises(PropertyError, match="Lennard-Jones has no charges"):
        atoms.get_charges()
    assert issubclass(PropertyError, PropertyNotImplementedError)


def test_the_twelve_terms_add_up_to_the_energy(calculated):
    terms = calculated.calc.get_energy_terms(calculated)
    assert list(terms) == list(TERMS)
    assert len(terms) == 12
    assert sum(terms.values()) == pytest.approx(calculated.get_potential_energy(), abs=1e-12)
    assert terms["bond"] < -20.0
    assert terms["Coulomb"] < 0.0 < terms["polarisation"]


def test_a_sum_with_another_potential(calculated):
    atoms, bare = calculated.copy(), calculated.copy()
    atoms.calc = TaichiMD(["H2O.ffield", LIGHT], backend="cpu")
    bare.calc = TaichiMD(LIGHT, backend="cpu")
    for name in ("get_potential_energy", "get_forces", "get_stress"):
        parts = getattr(calculated, name)() + getattr(bare, name)()
        np.testing.assert_allclose(getattr(atoms, name)(), parts, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(atoms.get_charges(), calculated.get_charges())
    terms = energy_terms(bare, load_forcefield(["H2O.ffield", LIGHT]), backend="cpu")
    assert list(terms) == [*TERMS, "Lennard-Jones"]
    assert terms["Lennard-Jones"] == bare.get_potential_energy() != 0.0


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_a_restart_has_the_bits_of_a_straight_run(tmp_path, ensemble):
    def begun():
        atoms = water((5, 2, 2))
        return Simulation(atoms, "H2O.ffield", ensemble=ENSEMBLES[ensemble](), backend="cpu", seed=3)

    straight, cut, file = begun(), begun(), tmp_path / "checkpoint.npz"
    straight.run(20)
    cut.run(10)
    cut.save(file)
    again = Simulation.load(file)
    (evaluator,) = again.engine.device.evaluators
    assert evaluator.charges.statistics().mean_iterations == 0.0  # nothing was solved yet
    again.run(10)
    for what in ("positions", "velocities", "forces"):
        np.testing.assert_array_equal(getattr(again, what)(), getattr(straight, what)())
    for name, numbers in straight.engine.atom_states().items():
        np.testing.assert_array_equal(again.engine.atom_states()[name], numbers)
    for what in ("potential", "kinetic", "conserved", "charge_iterations"):
        assert getattr(again.thermo(), what) == getattr(straight.thermo(), what)
    np.testing.assert_array_equal(again.engine.cell, straight.engine.cell)
    moved = straight.engine.cell != water((5, 2, 2)).cell.array
    assert moved.any() == (ensemble == "npt-berendsen")


def test_a_restart_of_an_extended_lagrangian(tmp_path):
    """Auxiliary charges are in checkpoints, and options; the next step is one iteration from them."""
    forcefield = "H2O.ffield:charges=extended-lagrangian,matrix_precision=float32"
    straight = Simulation(water((5, 2, 2)), forcefield, backend="cpu", seed=3)
    cut = Simulation(water((5, 2, 2)), forcefield, backend="cpu", seed=3)
    straight.run(20)
    cut.run(10)
    cut.save(tmp_path / "checkpoint.npz")
    again = Simulation.load(tmp_path / "checkpoint.npz")
    again.run(10)
    np.testing.assert_array_equal(again.positions(), straight.positions())
    np.testing.assert_array_equal(again.forces(), straight.forces())
    assert again.energy_terms() == straight.energy_terms()
    assert sum(again.energy_terms().values()) == pytest.approx(again.energy(), rel=1e-12)
    assert again.thermo().charge_iterations == straight.thermo().charge_iterations == 1


def test_a_calculator_begins_with_the_last_charges():
    """So charges depend on what was asked before, within the tolerance."""
    atoms = water()
    atoms.calc = TaichiMD(ReaxFF("H2O.ffield", charge_tolerance=1e-8), backend="cpu")
    atoms.get_potential_energy()
    (evaluator,) = atoms.calc.engine.device.evaluators
    (cold,) = evaluator.charge_iterations()
    atoms.positions[0, 0] += 0.001
    energy = atoms.get_potential_energy()
    assert evaluator.charge_iterations()[0] < cold
    fresh = water()
    fresh.positions[0, 0] += 0.001
    fresh.calc = TaichiMD(ReaxFF("H2O.ffield", charge_tolerance=1e-8), backend="cpu")
    assert fresh.get_potential_energy() == pytest.approx(energy, rel=1e-9)
    np.testing.assert_allclose(fresh.get_charges(), atoms.get_charges(), rtol=0, atol=1e-7)


def test_names_of_options_that_are_none():
    for options in ({"charges": "fixed"}, {"matrix_precision": "float16"}, {"constants": "si"}):
        (name,) = options
        with pytest.raises(SettingsError, match=f"{name} is '{options[name]}', expected one of"):
            ReaxFF("H2O.ffield", **options)


def test_frames_have_charges_and_no_history_of_the_solver(tmp_path):
    simulation = Simulation(water(), "H2O.ffield", backend="cpu")
    for name in ("frames.extxyz", "frames.traj"):
        with TrajectoryFile(tmp_path / name) as frames:
            simulation.run(2, observers=[frames])
        frame = ase.io.read(tmp_path / name, -1)
        np.testing.assert_array_equal(frame.get_charges(), simulation.engine.atom_values()["charges"])
        assert not [key for key in (*frame.arrays, *frame.info) if "charge" in key]
    np.testing.assert_array_equal(simulation.atoms().get_charges(), frame.get_charges())


def test_time_step_of_a_quarter_femtosecond_unless_given():
    assert Simulation(water(), "H2O.ffield", backend="cpu").timestep == 0.25
    assert Simulation(water(), ["H2O.ffield", LIGHT], backend="cpu").timestep == 0.25
    assert Simulation(water(), LIGHT, backend="cpu").timestep == 1.0
    with pytest.warns(
        UserWarning, match=r"time step of 0\.6 fs: ReaxFF H2O\.ffield with hydrogen needs 0\.5"
    ):
        assert Simulation(water(), "H2O.ffield", backend="cpu", timestep=0.6).timestep == 0.6
    assert not ReaxFF("H2O.ffield").remarks_on_timestep(0.5, ["H", "O"])
    assert not ReaxFF("H2O.ffield").remarks_on_timestep(0.6, ["O"])


def test_relaxation_with_fixed_and_moving_cell(calculated):
    found = relax(calculated, "H2O.ffield", backend="cpu", fmax=0.05)
    assert found.converged
    assert found.energy < calculated.get_potential_energy()
    assert found.fmax < 0.05
    assert found.atoms.get_charges().shape == (6,)
    free = relax(calculated, "H2O.ffield", backend="cpu", fmax=0.05, smax=0.05, cell="isotropic")
    assert free.converged
    assert free.energy < found.energy
    assert free.volume != calculated.get_volume()


@pytest.mark.parametrize("apart", [0.1, 0.5])
def test_atoms_very_close_to_each_other_have_finite_results(apart):
    atoms = hydroxyl(apart)
    atoms.calc = TaichiMD("H2O.ffield", backend="cpu")
    assert atoms.get_potential_energy() > 0.0 or apart > 0.4
    assert np.isfinite(atoms.get_forces()).all()
    assert abs(atoms.get_charges()).max() < 1.0


def test_overlapping_atoms_are_named():
    with pytest.raises(StructureError, match=r"atoms 0 and 1 .* are 0\.01 angstrom apart"):
        Engine(hydroxyl(0.01), ReaxFF("H2O.ffield"), backend="cpu").evaluate()


def test_charges_that_are_not_found(tmp_path):
    """At 0.1 angstrom, in a run that comes there, in a relaxation; an engine continues from elsewhere."""
    file = soft_oxygen(tmp_path)
    told = r"residual .* charge_tolerance 1\.0e-06.*atoms are too close.*look for overlapping atoms"
    atoms = hydroxyl(0.1)
    atoms.calc = TaichiMD(file, backend="cpu")
    with pytest.raises(SCFError, match=told) as caught:
        atoms.get_potential_energy()
    assert isinstance(caught.value, ChargeError)
    atoms.positions[1, 2] = 1.6
    energy = atoms.get_potential_energy()
    with pytest.raises(ChargeError, match=told):
        relax(hydroxyl(1.4), file, backend="cpu")
    engine = Engine(hydroxyl(1.6, speed=0.06), load_forcefield(file), backend="cpu")
    with pytest.raises(ChargeError, match=told):
        engine.advance(100, 0.25 * FS)
    engine.set_state(positions=hydroxyl(1.6).positions)
    # From another guess, so within the tolerance of the charges.
    assert engine.evaluate().energy == pytest.approx(energy, rel=1e-9)


def test_too_few_iterations_name_residual_and_tolerance():
    engine = Engine(water(), ReaxFF("H2O.ffield"), backend="cpu")
    (evaluator,) = engine.device.evaluators
    evaluator.charges.progress.most = 1
    told = r"did not converge: residual .* after 1 iterations, charge_tolerance is 1\.0e-06; raise charge_tol"
    with pytest.raises(ChargeError, match=told):
        engine.evaluate()


def test_what_is_refused(calculated):
    forcefield = ReaxFF("H2O.ffield")
    refused = {
        "precision is 'mixed'": {"precision": "mixed"},
        "precision is 'float32'": {"precision": "float32"},
        'decomposition "tuple"': {"decomposition": "tuple"},
        "has no heat current": {"driving_force": (1e-4, 0.0, 0.0), "ensemble": Bussi(300.0)},
    }
    for told, options in refused.items():
        with pytest.raises((SettingsError, PropertyError), match=told):
            Engine(water(), forcefield, backend="cpu", **options)
    with pytest.raises(SettingsError, match="only one potential of a sum can have charges"):
        Engine(water(), [forcefield, forcefield], backend="cpu")
    with pytest.raises(SettingsError, match="needs neighbour lists"):
        Contribution("water", forcefield.terms, enumeration="all-pairs")
    for heat_current in (calculated.calc.get_heat_current, calculated.calc.engine.heat_current):
        with pytest.raises(PropertyError, match="no local heat current is derived"):
            heat_current()
