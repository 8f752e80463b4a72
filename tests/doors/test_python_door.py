"""A simulation from Python: results, checkpoints, copies."""

import copy
import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.constraints import FixAtoms
from fake_engine import fake  # noqa: F401  (a fixture)

from taichimd import NVE, Bussi, Langevin, Simulation, StochasticCellRescaling
from taichimd.core.errors import BlowUpError, CheckpointError, OutputError, PropertyError, SettingsError
from taichimd.core.units import GPA
from taichimd.io.checkpoint import read_checkpoint, write_checkpoint

OTHERS = [
    None,
    Langevin(600.0, coupling_time=50.0, seed=3),
    Langevin(600.0, final_temperature=300.0, ramp=(0, 30)),
    StochasticCellRescaling(
        500.0, pressure=1.0, bulk_modulus=98.0, control="orthorhombic", axes="xy", period=5
    ),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def silicon():
    atoms = bulk("Si", cubic=True)
    atoms.rattle(0.05, seed=1)
    return atoms


def test_results_are_those_of_the_calculator():
    from taichimd import TaichiMD

    simulation = Simulation(silicon(), "Si.sw", temperature=900)
    simulation.run(5)
    atoms = simulation.atoms()
    assert atoms.get_potential_energy() == simulation.energy() == simulation.thermo().potential
    assert atoms.get_potential_energy(force_consistent=True) == simulation.energy()
    assert np.array_equal(atoms.get_forces(), simulation.forces())
    assert np.array_equal(atoms.get_stress(), simulation.stress())
    found = atoms.copy()
    found.calc = TaichiMD("Si.sw")
    assert found.get_potential_energy() == pytest.approx(simulation.energy(), rel=1e-12)
    np.testing.assert_allclose(found.get_forces(), simulation.forces(), atol=1e-10)
    np.testing.assert_allclose(found.get_stress(), simulation.stress(), atol=1e-12)
    # Pressures are in GPa, stresses in ASE's unit and without the kinetic part.
    thermo, pressures = simulation.thermo(), simulation.engine.pressures()
    assert thermo.pressure == pytest.approx(pressures[:3].mean(), rel=1e-12)
    kinetic = 2.0 * thermo.kinetic / (3.0 * thermo.volume)
    assert thermo.pressure * GPA == pytest.approx(kinetic - simulation.stress()[:3].mean(), rel=1e-9)


def test_an_engine_is_not_copied_either():
    with pytest.raises(SettingsError, match=r"Engine cannot be copied or pickled, .* set_state"):
        copy.deepcopy(Simulation(silicon(), "Si.sw").engine)


def test_a_stress_without_a_volume_is_refused():
    simulation = Simulation(Atoms("Si2", [[0, 0, 0], [2.3, 0, 0]]), "Si.sw")
    with pytest.raises(PropertyError, match="stress needs a cell"):
        simulation.stress()
    with pytest.raises(Exception, match="stress"):
        simulation.atoms().get_stress()
    assert simulation.atoms().get_potential_energy() == simulation.energy()


def test_atoms_are_there_after_an_explosion():
    simulation = Simulation(silicon(), "Si.sw", timestep=400.0, temperature=5000)
    with pytest.raises(BlowUpError):
        simulation.run(100)
    assert len(simulation.atoms()) == 8


@pytest.mark.parametrize("ensemble", OTHERS)
def test_a_loaded_simulation_goes_on_bit_for_bit(ensemble):
    one = Simulation(silicon(), "Si.sw", timestep=0.5, temperature=900, seed=4, ensemble=ensemble)
    one.run(20)
    one.save("point.npz")
    one.run(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two = Simulation.load("point.npz")
    assert (two.step, two.timestep, two.engine.ensemble) == (20, 0.5, one.engine.ensemble)
    two.run(20)
    assert two.time_ps == one.time_ps == 0.02
    for name in ("positions", "velocities", "forces"):
        assert getattr(one, name)().tobytes() == getattr(two, name)().tobytes()
    assert one.engine.cell.tobytes() == two.engine.cell.tobytes()
    assert one.thermo().conserved == two.thermo().conserved
    two.save("again.npz")
    assert read_checkpoint("again.npz").settings == read_checkpoint("point.npz").settings


@pytest.mark.parametrize("ensemble", OTHERS)
def test_the_command_line_goes_on_from_a_saved_simulation(call, ensemble):
    one = Simulation(silicon(), "Si.sw", timestep=0.5, temperature=900, seed=4, ensemble=ensemble)
    one.run(20)
    one.save("point.npz")
    one.run(20)
    code, out, err = call("run --restart point.npz --steps 20 --output o")
    assert code == 0, err
    assert "begins again" not in out
    assert read_checkpoint("o/checkpoint.npz").positions.tobytes() == one.positions().tobytes()
    two = Simulation.load("o")
    assert two.step == 40
    assert two.positions().tobytes() == one.positions().tobytes()
    frame = ase.io.read("point.npz", format="taichimd-checkpoint")
    assert frame.get_forces().shape == (8, 3)
    assert call("run point.npz --potential Si.sw --steps 5 --output new")[0] == 0


@pytest.mark.usefixtures("fake")
class TestCheckpoints:
    """What does not depend on the engine."""

    def make(self, **more):
        atoms = Atoms("Si8", np.indices((2, 2, 2)).reshape(3, -1).T * 2.0 + 0.1, cell=[4] * 3, pbc=True)
        atoms.set_constraint(more.pop("constraint", None))
        return Simulation(atoms, more.pop("forcefield", "springs"), **more)

    def test_masses_and_fixed_atoms_are_kept(self):
        self.make(constraint=FixAtoms([1, 2])).save("point.npz")
        found = Simulation.load("point.npz")
        assert found.engine.fixed.nonzero()[0].tolist() == [1, 2]
        assert found.atoms().constraints[0].get_indices().tolist() == [1, 2]

    def test_a_force_field_object_is_given_again(self, fake):  # noqa: F811
        from taichimd.forcefields.load import load_forcefield

        own = load_forcefield("springs")
        self.make(forcefield=own).save("point.npz")
        with pytest.raises(
            SettingsError, match=r"point\.npz does not name its potential file: give the force"
        ):
            Simulation.load("point.npz")
        assert Simulation.load("point.npz", own).step == 0

    def test_another_potential_is_refused(self):
        self.make().save("point.npz")
        Path("strong").write_text("7.0")
        with pytest.raises(CheckpointError, match="with a different potential than"):
            Simulation.load("point.npz", "strong")

    def test_another_ensemble_and_time_step_go_on(self):
        self.make(timestep=2.0).save("point.npz")
        found = Simulation.load("point.npz", ensemble=Bussi(500.0, coupling_time=70.0), timestep=1.0)
        assert (found.engine.ensemble, found.timestep) == (Bussi(500.0, coupling_time=70.0), 1.0)
        found.save("point.npz")
        settings = read_checkpoint("point.npz").settings
        assert (settings["ensemble"], settings["coupling_time"], settings["timestep"]) == (
            "nvt-bussi",
            70.0,
            1.0,
        )

    def test_a_new_bath_begins_a_new_account(self):
        """A checkpoint of a run knows the first conserved energy; it is not that of another bath."""
        self.make().save("point.npz")
        before = replace(read_checkpoint("point.npz"), step=5, first_total=1.5)
        write_checkpoint(Path("point.npz"), before)
        Simulation.load("point.npz").save("same.npz")
        Simulation.load("point.npz", ensemble=Bussi(300.0)).save("other.npz")
        accounts = [read_checkpoint(name) for name in ("same.npz", "other.npz")]
        assert [(a.first_total, a.counted_from) for a in accounts] == [(1.5, 0), (None, 6)]
        Simulation.load("other.npz", ensemble=NVE()).save("back.npz")
        assert read_checkpoint("back.npz").settings["ensemble"] == "nve"

    def test_what_a_run_observes_ends_with_a_warning(self):
        self.make().save("point.npz")
        observed = replace(read_checkpoint("point.npz"), observed={"sums": np.zeros(3)})
        write_checkpoint(Path("point.npz"), observed)
        with pytest.warns(UserWarning, match="not in Python"):
            Simulation.load("point.npz")

    def test_what_changes_is_a_warning(self):
        simulation = self.make(ensemble=Langevin(300.0))
        simulation.run(3)
        simulation.save("point.npz")
        with pytest.warns(UserWarning, match="centre of mass"):
            Simulation.load("point.npz", ensemble=Bussi(300.0))

    def test_a_state_that_is_not_finite_replaces_nothing(self):
        simulation = self.make()
        simulation.save("point.npz")
        before = open("point.npz", "rb").read()
        simulation.engine._x[0] = np.nan
        with pytest.raises(OutputError, match="no checkpoint was written"):
            simulation.save("point.npz")
        assert open("point.npz", "rb").read() == before

    def test_an_engine_is_saved_too(self):
        simulation = self.make()
        Simulation.from_engine(simulation.engine).save("point.npz")
        assert read_checkpoint("point.npz").settings["potential"] is None

    def test_a_missing_file_is_one_line(self):
        with pytest.raises(CheckpointError, match=r"nothing\.npz does not exist"):
            Simulation.load("nothing.npz")

    @pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_copies_are_refused(self, take):
        simulation = self.make()
        with pytest.raises(SettingsError, match=r"use save\(path\) and Simulation\.load\(path\)"):
            take(simulation)

    def test_observers_see_where_the_run_ends(self):
        simulation = self.make()
        simulation.run(7)
        assert simulation.last_step == 7
        simulation.run(5)
        assert simulation.last_step == 12
