"""EDIP of one element and several: files written here, against LAMMPS, by differences, and mistakes."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, make_supercell
from edip_files import NUMBERS, alloy, edip_file

from taichimd import validate
from taichimd.core.errors import MissingParameterError, ParameterFileError
from taichimd.forcefields.formats.edip import FIELDS
from taichimd.forcefields.load import load_forcefield
from taichimd.lammps.reference import lammps_evaluate
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine
from tests.program.test_heat_current import assert_current_is_slope


def structures(elements):
    """Crystal hot, alloy triclinic, cluster, dense liquid, dimers inside and outside the cutoff."""
    rng = np.random.default_rng(8)

    def mixed(atoms, displaced):
        atoms.symbols[:] = rng.choice(elements, len(atoms))
        # A structure has all elements, so that all have the same kernels.
        atoms.symbols[: len(elements)] = elements
        atoms.positions += displaced * rng.standard_normal((len(atoms), 3))
        return atoms

    cluster = [(0, 0, 0), (2.3, 0.1, 0), (-0.6, 2.2, 0.2), (0.4, -0.7, 2.25), (1.9, 2, 0.9)]
    skewed = make_supercell(bulk("Si", "diamond", a=4.7), [[2, 1, 0], [0, 2, 1], [0, 0, 2]])
    liquid = Atoms("Si8", rng.uniform(0, 4.6, (8, 3)), cell=[4.6] * 3, pbc=True)
    pair = (elements[0], elements[-1])
    return {
        "crystal": mixed(bulk("Si", "diamond", a=5.0, cubic=True), 0.12),
        "skewed": mixed(skewed, 0.1),
        "cluster": mixed(Atoms("Si5", 0.9 * np.array(cluster)), 0.05),
        "liquid": mixed(liquid, 0.0),
        "dimer inside": Atoms(pair, [(0, 0, 0), (1.9, 0.4, 0.3)]),
        "dimer outside": Atoms(pair, [(0, 0, 0), (2.9, 0.4, 0.9)]),
    }


@pytest.mark.lammps
@pytest.mark.parametrize("elements", [("Si", "C"), pytest.param(("Si",), marks=pytest.mark.long)])
def test_every_column_agrees_with_lammps(elements, tmp_path):
    path = edip_file(tmp_path, elements)
    forcefield = load_forcefield(str(path))
    for name, atoms in structures(elements).items():
        ours = Engine(atoms, forcefield, backend="cpu").evaluate()
        theirs = lammps_evaluate(atoms, "edip/multi", (f'* * "{path}" {{elements}}',))
        assert ours.energy == pytest.approx(theirs.energy, rel=1e-10, abs=1e-13), name
        largest = max(1.0, np.abs(theirs.forces).max())
        np.testing.assert_allclose(ours.forces, theirs.forces, rtol=0, atol=1e-11 * largest, err_msg=name)
        virial = ours.virials.sum(axis=0)
        np.testing.assert_allclose(
            0.5 * (virial + virial.T), theirs.virial, rtol=1e-9, atol=1e-9 * largest, err_msg=name
        )


def test_the_heat_current_is_the_slope_of_the_energy_moment(tmp_path):
    atoms = alloy(repeat=(1, 1, 1))
    atoms.pbc = False
    assert_current_is_slope(load_forcefield(str(edip_file(tmp_path))), atoms)


@pytest.mark.long
@pytest.mark.parametrize("elements", [("Si", "C"), ("Si",)])
def test_derivatives_and_ends(elements, tmp_path):
    forcefield = load_forcefield(str(edip_file(tmp_path, elements)))
    report = check_forcefield(forcefield, sorted(elements), clusters=3)
    assert report.ok, str(report)
    assert all("end at zero" in str(end) for end in report.ends)


QUICK = ("forces", "virial", "cutoff-energy", "third-law")


@pytest.mark.parametrize("only", [QUICK, pytest.param(None, marks=[pytest.mark.long, pytest.mark.lammps])])
def test_a_file_gets_a_certificate(only, tmp_path):
    found = validate(str(edip_file(tmp_path, ("Si",))), quick=True, only=only, backend="cpu")
    assert found.failed == []
    not_run = {one.name for one in found.outcomes if one.status == "not run"}
    assert not_run <= {"cuda", "runtimes"}
    assert found.structure["formula"] == "Si64"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("A", -1.0, "a number that is not negative"),
        ("cutoffC", 3.5, "a number below cutoffA"),
        ("cutoffA", 2000.0, "1000 angstrom or less"),
        ("alpha", 0.0, "a positive number: without it the energy jumps"),
        ("sigma", 0.0, "a positive number: without it the energy jumps"),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(field, value, expected, tmp_path):
    path = edip_file(tmp_path, ("Si",), **{field: value})
    with pytest.raises(ParameterFileError, match=rf"line 2: field '{field}' of entry .*expected {expected}"):
        load_forcefield(str(path))


LINE = " ".join(str(NUMBERS[name]) for name in FIELDS)
CHANGED = {
    "a number missing": (f"Si Si Si {LINE.rsplit(' ', 1)[0]}\n", "'u4' is missing"),
    "one word": (
        "Si\n",
        "the entry that began on line 1 has 1 word, expected 3 elements",
    ),
    "one number more": (f"Si Si Si {LINE} 3\n", "line 1: '3' is one word too many"),
    "an entry twice": (f"Si Si Si {LINE}\nSi Si Si {LINE}\n", "line 2: second entry"),
    "nan": (f"Si Si Si nan {LINE.split(' ', 1)[1]}\n", "line 1: field 'A' is 'nan'"),
    "other units": (f"# UNITS: real\nSi Si Si {LINE}\n", "real"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_mistakes_are_one_line(name, tmp_path):
    text, expected = CHANGED[name]
    path = tmp_path / "x.edip"
    path.write_text(text)
    with pytest.raises(ParameterFileError, match=expected) as caught:
        load_forcefield(str(path))
    assert "\n" not in str(caught.value)


def test_two_entries_of_one_angle_must_agree(tmp_path):
    path = edip_file(tmp_path)
    lines = path.read_text().splitlines()
    changed = [line.replace(line.split()[9], "9.0") if line.startswith("Si C Si") else line for line in lines]
    path.write_text("\n".join(changed))
    with pytest.raises(ParameterFileError, match=r"\(Si, (C, Si|Si, C)\).* describe one angle, but \w+ is"):
        load_forcefield(str(path))


def test_an_element_that_the_file_lacks_is_named(tmp_path):
    forcefield = load_forcefield(str(edip_file(tmp_path, ("Si",))))
    with pytest.raises(MissingParameterError, match=r"no parameters for Ge; it defines: Si"):
        Engine(bulk("Ge"), forcefield, backend="cpu")
