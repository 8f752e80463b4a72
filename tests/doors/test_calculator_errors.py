"""Settings and errors of the ASE calculator."""

import re

import numpy as np
import pytest
from argon_systems import argon, crystal, record_evaluations
from ase import Atoms
from ase.build import bulk
from ase.calculators import calculator as ase_calculator

from taichimd import Simulation, TaichiMD, relax
from taichimd.core.errors import (
    BackendError,
    MissingParameterError,
    ParameterFileError,
    SettingsError,
    StructureError,
    TaichimdError,
)
from taichimd.program.engine import Engine
from taichimd.transport.kappa import thermal_conductivity
from taichimd.transport.settings import KappaSettings


def test_settings_are_plain_data_and_can_be_changed(monkeypatch):
    calls = record_evaluations(monkeypatch)
    calc = TaichiMD("Si.tersoff")
    assert calc.name == "taichimd"
    assert calc.todict() == {"potential": "Si.tersoff"}
    assert calc.todict(skip_default=False)["precision"] == "float64"
    assert repr(TaichiMD("Si.tersoff", skin=0.5)) == "TaichiMD('Si.tersoff', skin=0.5)"
    assert re.fullmatch(r"TaichiMD\(<[\w-]+>\)", repr(argon())), "a force-field object is named"
    assert isinstance(argon().todict()["potential"], dict), "a force-field object is described"
    atoms = bulk("Si")
    atoms.calc = TaichiMD(**calc.todict())
    atoms.get_forces()
    atoms.calc.set(skin=None)
    atoms.get_forces()
    assert len(calls) == 1, "setting the value it has changes nothing"
    atoms.calc.set(skin=0.4)
    assert not atoms.calc.results
    assert atoms.calc.engine is None
    atoms.get_forces()
    assert len(calls) == 2


def test_bad_settings_leave_the_calculator_as_it_was(tmp_path):
    calc = TaichiMD("Si.tersoff")
    with pytest.raises(SettingsError, match=r"unknown setting 'precison'.*precision"):
        calc.set(precison="float32")
    with pytest.raises(SettingsError, match="precision is 'f16', expected one of float64"):
        TaichiMD("Si.tersoff", precision="f16")
    with pytest.raises(SettingsError, match="skin is -1 angstrom"):
        calc.set(skin=-1)
    with pytest.raises(ParameterFileError) as caught:
        calc.set(potential=tmp_path / "missing.tersoff")
    assert isinstance(caught.value, ase_calculator.CalculatorSetupError)
    assert calc.todict() == {"potential": "Si.tersoff"}
    calc.get_potential_energy(bulk("Si"))


def test_a_missing_potential_is_reported_when_named(tmp_path):
    with pytest.raises(ParameterFileError):
        TaichiMD(str(tmp_path / "missing.tersoff"))


def test_no_atoms_to_compute():
    with pytest.raises(StructureError, match="no atoms to compute"):
        argon().get_potential_energy()
    with pytest.raises(StructureError, match="no atoms to compute"):
        argon().calculate()
    with pytest.raises(StructureError, match="no atoms"):
        argon().get_potential_energy(Atoms())


NO_ATOMS = [
    lambda thing: argon().get_per_atom_virial(thing),
    lambda thing: argon().get_heat_current(thing),
    lambda thing: argon().get_stress(thing),
    lambda thing: argon().calculate(thing),
    lambda thing: Engine(thing, argon().forcefield, backend="cpu"),
    lambda thing: Simulation(thing, argon().forcefield, backend="cpu"),
    lambda thing: relax(thing, argon().forcefield, backend="cpu"),
    lambda thing: thermal_conductivity(thing, argon().forcefield, KappaSettings(temperature=50.0)),
]


@pytest.mark.parametrize("door", NO_ATOMS)
@pytest.mark.parametrize("thing", ["x", 5, ["x"]])
def test_something_that_is_no_atoms_is_one_line(door, thing):
    with pytest.raises(
        StructureError, match=r"expected an Atoms object of ASE, got .*; ase\.io\.read"
    ) as caught:
        door(thing)
    assert "\n" not in str(caught.value)


def _nan(atoms):
    atoms.positions[1, 2] = np.nan


def _coincident(atoms):
    atoms.positions[1] = atoms.positions[0]


@pytest.mark.parametrize("spoil", [_nan, _coincident], ids=["nan", "coincident"])
@pytest.mark.parametrize("warm", [False, True], ids=["first call", "later call"])
def test_a_bad_structure_is_reported_and_forgotten(spoil, warm):
    atoms = crystal()
    calc = argon()
    expected = argon().get_forces(atoms)
    if warm:
        calc.get_forces(atoms)
    bad = atoms.copy()
    spoil(bad)
    for _ in range(2):
        with pytest.raises(ase_calculator.CalculatorError) as caught:
            calc.get_forces(bad)
        assert isinstance(caught.value, TaichimdError), "every error a user can cause is a TaichimdError"
        assert "\n" not in str(caught.value)
        assert not calc.results
    np.testing.assert_array_equal(calc.get_forces(atoms), expected, err_msg="the calculator must recover")


def test_forces_that_are_not_finite_are_reported(monkeypatch):
    from taichimd.program.engine import Engine

    evaluate = Engine.evaluate

    def broken(self):
        found = evaluate(self)
        found.forces[2, 1] = np.inf
        return found

    monkeypatch.setattr(Engine, "evaluate", broken)
    with pytest.raises(
        ase_calculator.CalculationFailed,
        match=r"force on atom 2 \(Ar\).*no two atoms are closer than 0\.7 angstrom: look at the potential",
    ):
        argon().get_forces(crystal())


def test_an_element_without_parameters():
    with pytest.raises(MissingParameterError, match="Ar") as caught:
        TaichiMD("Si.tersoff").get_potential_energy(crystal())
    assert isinstance(caught.value, ase_calculator.InputError)


def test_nothing_calculated_and_nothing_asked():
    assert argon().get_property("stress", allow_calculation=False) is None
    assert argon().get_property("energy", crystal(), allow_calculation=False) is None


def test_properties_that_do_not_exist():
    with pytest.raises(ase_calculator.PropertyNotImplementedError):
        argon().get_property("dipole")
    with pytest.raises(ase_calculator.PropertyNotImplementedError):
        argon().get_dipole_moment(crystal())


def test_a_backend_that_is_not_there():
    from taichimd.core.runtime import info

    crystal_calc = argon()
    crystal_calc.get_potential_energy(crystal())
    if info()["backend"] != "cpu":
        pytest.skip("needs a process that runs on the CPU")
    crystal_calc.set(backend="cuda")
    with pytest.raises(BackendError, match="cuda") as caught:
        crystal_calc.get_potential_energy(crystal())
    assert isinstance(caught.value, ase_calculator.CalculatorSetupError)


@pytest.mark.parametrize(
    "setting", [{"backend": "gpu"}, {"precision": "double"}, {"skin": -1.0}, {"decomposition": "atom"}]
)
def test_values_that_make_no_sense(setting):
    (value,) = setting.values()
    with pytest.raises(TaichimdError, match=str(value)) as caught:
        TaichiMD("Si.tersoff", **setting).get_potential_energy(bulk("Si"))
    assert isinstance(caught.value, ase_calculator.CalculatorSetupError)
    assert "\n" not in str(caught.value)


def test_velocities_that_are_not_numbers_are_told_before_anything_moves():
    atoms = crystal()
    atoms.set_velocities(np.full((len(atoms), 3), 0.1))
    momenta = atoms.get_momenta()
    momenta[2, 1] = np.nan
    atoms.set_momenta(momenta)
    with pytest.raises(StructureError, match=r"the velocity of atom 2 \(counted from 0\) is \[.*nan"):
        Simulation(atoms, argon().forcefield, backend="cpu")
