"""The contract of external potentials, and the test of it that users run; nothing is compiled."""

from dataclasses import replace

import numpy as np
import pytest
from ase.calculators.emt import EMT
from springs import Broken, HarmonicCrystal, Sites, copper

import taichimd
from taichimd.core.errors import ParameterFileError, SettingsError
from taichimd.forcefields.load import load_forcefield
from taichimd.testing import assert_conforms, silicon_triclinic


def test_a_harmonic_crystal_conforms():
    atoms, crystal = copper()
    assert_conforms(HarmonicCrystal(crystal, 3.0), atoms)


def test_springs_to_sites_conform_as_an_outer_field():
    atoms, crystal = copper()
    springs = Sites(crystal.positions)
    assert_conforms(springs, atoms, translation=False)
    with pytest.raises(
        AssertionError, match=r"springs to sites: the energy changes by .* after a translation"
    ):
        assert_conforms(springs, atoms)


def test_an_ase_calculator_conforms():
    assert_conforms(taichimd.from_ase(EMT()), copper()[0])


def wrong_shape(found, x):
    return replace(found, forces=found.forces[:-1])


def nan_force(found, x):
    forces = found.forces.copy()
    forces[2, 1] = np.nan
    return replace(found, forces=forces)


def nan_energy(found, x):
    return replace(found, energy=np.nan)


def no_energy(found, x):
    return replace(found, energy="low")


def no_virial(found, x):
    return replace(found, virial=None)


def dictionary(found, x):
    return vars(found)


def moved(found, x):
    x[0] += 1.0
    return found


def fails(found, x):
    raise ZeroDivisionError("no charge\nno field")


def scaled_force(found, x):
    return replace(found, forces=1.01 * found.forces)


def scaled_virial(found, x):
    return replace(found, virial=-found.virial)


def wrong_energies(found, x):
    return replace(found, energies=np.ones(len(x)))


class Drifting:
    """A result that depends on how often it was asked for."""

    calls = 0

    def __call__(self, found, x):
        self.calls += 1
        return replace(found, energy=found.energy + 1e-3 * self.calls)


MISTAKES = {
    "forces of a wrong shape": (wrong_shape, r"broken: the force has the shape \(3, 3\), expected \(4, 3\)"),
    "a force that is not finite": (nan_force, r"broken: the force of atom 2 \(Cu\) is \[.*nan.*\] eV/"),
    "an energy that is not finite": (nan_energy, "broken: the energy is nan eV, expected finite numbers"),
    "an energy of a wrong type": (no_energy, "broken: the energy is of type str, expected a number"),
    "no virial": (no_virial, "broken gave no virial, which its has_virial promises"),
    "a dictionary": (dictionary, "broken returned a dict, expected a taichimd.PotentialResult"),
    "moved atoms": (moved, "broken changed the positions that it was given; expected it to leave"),
    "an exception": (fails, "broken failed: ZeroDivisionError: no charge no field$"),
    "wrong forces": (scaled_force, r"broken: the [xyz] component of the force on atom \d is .* minus the"),
    "a virial of the wrong sign": (scaled_virial, "broken: the xx component of the virial is .* to strain"),
    "wrong energies of atoms": (wrong_energies, "broken: the energies of the atoms add up to 4 eV, the"),
    "another energy each time": (Drifting(), "broken: the energy changes by .* the same structure"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_that_says_what_and_where(mistake):
    change, message = MISTAKES[mistake]
    with pytest.raises(AssertionError, match=message) as raised:
        assert_conforms(Broken(change), copper()[0])
    assert "\n" not in str(raised.value)


def test_what_is_no_external_potential_is_named():
    with pytest.raises(
        AssertionError, match="EMT is no external potential: it needs name, has_virial and eval"
    ):
        assert_conforms(EMT(), copper()[0])
    with pytest.raises(
        ParameterFileError, match=r"potential is a EMT.* is given as taichimd.from_ase\(calculator\)"
    ):
        load_forcefield(EMT())
    for nonsense in ("EMT", EMT, None):
        with pytest.raises(SettingsError, match="expected an ASE calculator, got"):
            taichimd.from_ase(nonsense)


def test_the_adapter_turns_stress_into_virial_with_the_cell_in_rows():
    atoms = silicon_triclinic()
    native = taichimd.TaichiMD("Si.tersoff")
    found = taichimd.from_ase(native).evaluate(
        atoms.positions.copy(), atoms.numbers.copy(), atoms.cell.array.copy(), atoms.pbc.copy(), virial=True
    )
    assert found.energy == native.get_potential_energy(atoms)
    np.testing.assert_array_equal(found.forces, native.get_forces(atoms))
    np.testing.assert_allclose(found.virial, native.get_per_atom_virial(atoms).sum(axis=0), atol=1e-9)


def test_a_record_has_no_cutoff_and_a_fingerprint_of_class_and_name():
    springs, others = Sites(np.zeros((1, 3))), Sites(np.zeros((1, 3)), name="other springs")
    record = load_forcefield(springs).describe(["Cu"])
    assert record["cutoff_A"] is None
    assert record["elements"] == "any"
    assert record["terms"][0]["function"] == "springs:Sites"
    assert record["fingerprint"] == load_forcefield(springs).fingerprint(["Cu"])
    assert record["fingerprint"] != load_forcefield(others).fingerprint(["Cu"])


def test_the_name_of_an_ase_calculator_has_its_parameters():
    from ase.calculators.lj import LennardJones

    assert "sigma=3.4, " in taichimd.from_ase(LennardJones(sigma=3.4)).name


def test_a_stress_is_not_asked_for_if_the_user_says_so():
    found = taichimd.from_ase(EMT(), stress=False)
    assert not found.has_virial
    assert_conforms(found, copper()[0])


def test_a_file_may_hold_an_external_potential(tmp_path):
    file = tmp_path / "emt.py"
    file.write_text(
        "from ase.calculators.emt import EMT\nfrom taichimd import from_ase\ncopper = from_ase(EMT())\n"
    )
    found = load_forcefield(f"{file}:copper")
    assert found.external
    assert found.describe(["Cu"])["python_files"].keys() == {str(file)}
