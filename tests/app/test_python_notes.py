"""What the command line notes, Python warns of."""

import warnings

import numpy as np
import pytest
from ase import units
from ase.build import bulk

from taichimd import NVE, BerendsenNPT, Force, Langevin, NoseHoover, Simulation, relax
from taichimd.app import driver
from taichimd.app.notes import of_system
from taichimd.core.errors import StructureError, TaichimdWarning
from taichimd.forcefields.load import load_forcefield
from taichimd.relaxation import relax as relaxation
from taichimd.sampling.chain import MonteCarlo


@pytest.fixture
def argon():
    atoms = bulk("Ar", cubic=True, a=5.4)
    atoms.rattle(0.01, seed=1)
    return atoms


def notes(atoms, ensemble=None, **more):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Simulation(atoms, "Ar.lj", ensemble=ensemble, **more)
    # Libraries may be older than the NumPy that deprecates what they do.
    seen = [one for one in seen if not issubclass(one.category, DeprecationWarning)]
    assert all(issubclass(one.category, TaichimdWarning) for one in seen)
    assert all(one.filename == __file__ for one in seen)
    return [str(one.message) for one in seen]


def test_nothing_is_said_of_what_is_usual(argon):
    assert notes(argon, Langevin(temperature=30.0, coupling_time=100.0)) == []


def test_a_system_at_rest(argon):
    argon.set_momenta(np.zeros((4, 3)))
    (said,) = notes(argon, Langevin(temperature=30.0, coupling_time=100.0))
    assert said.startswith("velocities of the structure are 0 K, and are used: all atoms start at rest; ")
    assert "momenta" in said
    del argon.arrays["momenta"]
    assert notes(argon) == []


def test_charges_are_not_used_unless_a_field_acts_on_them(argon):
    argon.set_initial_charges([0.1, -0.1, 0.1, -0.1])
    assert [one[:38] for one in notes(argon)] == ["charges of the structure are not used:"]
    assert notes(argon, acting=[Force(field=(0, 0, 0.1))]) == []


def test_a_moving_centre_of_mass(argon):
    argon.set_velocities(np.random.default_rng(1).normal(0.01, 0.01, (4, 3)))
    (said,) = notes(argon, NoseHoover(temperature=30.0, coupling_time=100.0))
    assert said.startswith("the centre of mass moves, with ")
    assert notes(argon, Langevin(temperature=30.0, coupling_time=100.0)) == [], "noise moves it anyway"


def test_a_time_step_in_picoseconds_and_a_barostat_with_a_vacuum(argon):
    argon.pbc = [True, True, False]
    said = notes(argon, timestep=0.001)
    assert any("LAMMPS's metal units count ps" in one for one in said)
    ensemble = BerendsenNPT(temperature=30.0, pressure=0.0)
    assert any(
        "periodic along xy" in one for one in of_system(argon, load_forcefield("Ar.lj"), ensemble, 1.0)
    )
    assert of_system(argon, load_forcefield("Ar.lj"), NVE(), 1.0) == []


def test_overlapping_atoms_at_every_entrance(argon, monkeypatch):
    argon.positions[1] = argon.positions[0] + [0.5, 0, 0]
    (said,) = notes(argon)
    assert said.startswith("atoms 0 (Ar) and 1 (Ar), counted from 0, are 0.5 Å apart")
    with pytest.warns(TaichimdWarning, match="Å apart"):
        MonteCarlo(argon, "Ar.lj", temperature=30.0)

    def compiling(*_, **__):
        raise StructureError("kernels compile here")

    monkeypatch.setattr(relaxation, "_check", compiling)
    for given, named in ((argon, ""), ([argon, argon], r"system 1 \(counted from 0\): ")):
        with (
            pytest.warns(TaichimdWarning, match=f"^{named}atoms 0 .* Å apart"),
            pytest.raises(StructureError, match="kernels compile here"),
        ):
            relax(given, "Ar.lj")


@pytest.mark.parametrize("command", ["run {} --steps 5", "mc {} --temperature 30 --sweeps 5"])
def test_two_atoms_at_one_place_stop_a_command_before_it_compiles(command, argon, tmp_path, call):
    argon.positions[1] = argon.positions[0]
    argon.write(tmp_path / "ar.xyz", format="extxyz")
    code, _, error = call(f"{command.format(tmp_path / 'ar.xyz')} --potential Ar.lj --output {tmp_path}/out")
    assert code == 2
    assert "atoms 0 (Ar) and 1 (Ar), counted from 0, are at one place" in error
    assert not (tmp_path / "out").exists()


def test_a_run_tells_of_an_overlap_before_it_compiles(argon, tmp_path, call, monkeypatch):
    def compiling(*_):
        raise StructureError("kernels compile here")

    monkeypatch.setattr(driver, "compiled", compiling)
    argon.positions[1] = argon.positions[0] + [0.5, 0, 0]
    argon.set_velocities(np.full((4, 3), 0.1 / units.fs))
    argon.write(tmp_path / "ar.xyz", format="extxyz")
    code, said, error = call(f"run {tmp_path}/ar.xyz --potential Ar.lj --steps 5 --output {tmp_path}/out")
    assert (code, error) == (2, "error: kernels compile here\n")
    assert "note: atoms 0 (Ar) and 1 (Ar), counted from 0, are 0.5 Å apart" in " ".join(said.split())
