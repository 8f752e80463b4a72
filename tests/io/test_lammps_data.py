"""LAMMPS data files as LAMMPS writes them, and as people do."""

import ase.io
import numpy as np
import pytest
from ase import Atoms, units

from taichimd.core.errors import StructureError
from taichimd.io.frames import read_frames
from taichimd.io.structures import read_noted
from tests.support.structure_files import LAMMPS_DATA, LAMMPS_DUMP


@pytest.fixture
def read(tmp_path):
    def done(text, name="a.data", **options):
        (tmp_path / name).write_text(text)
        return read_noted(tmp_path / name, **options)

    return done


def test_velocities_have_the_stated_units(read):
    atoms, notes = read(LAMMPS_DATA)
    np.testing.assert_allclose(
        atoms.get_velocities(), np.diag([1e-3, 2e-3, -3e-3]) / units.fs, rtol=1e-12, atol=1e-15
    )
    assert not any("units" in note for note in notes)
    metal, _ = read(LAMMPS_DATA, units="metal")
    np.testing.assert_allclose(1000 * metal.get_velocities(), atoms.get_velocities(), rtol=1e-12, atol=1e-15)
    silent = LAMMPS_DATA.replace(", units = real", "")
    atoms, notes = read(silent)
    np.testing.assert_allclose(atoms.get_velocities(), metal.get_velocities())
    assert "a.data does not state its LAMMPS units; metal was assumed" in notes[0]
    assert not any("units" in note for note in read(silent, units="real")[1])


def test_reduced_units_are_refused(read):
    with pytest.raises(StructureError, match="units lj are ratios"):
        read(LAMMPS_DATA.replace("units = real", "units = lj"))
    bohr, _ = read(LAMMPS_DATA, units="electron")
    assert bohr.cell[0, 0] == pytest.approx(10 * units.Bohr)


def test_elements_order_images_and_cell(read):
    atoms, notes = read(LAMMPS_DATA)
    assert atoms.get_chemical_symbols() == ["O", "H", "H"]
    assert atoms.get_masses().tolist() == [15.9994, 2.014102, 2.014102]
    assert "H of 2.0141 amu (2)" in notes[0]
    assert atoms.cell[:].tolist() == [[10, 0, 0], [1, 11, 0], [0.5, -0.5, 12]]
    assert atoms.positions[0].tolist() == [1.5, 0.5, 13.0]
    assert atoms.get_initial_charges().tolist() == [-0.8, 0.4, 0.4]


@pytest.mark.parametrize(
    ("masses", "symbol"),
    [("1 14.003242 # C\n2 1.008", "C"), ("1 17.999 # O\n2 1.008", "O"), ("1 29.973770\n2 1.008 # H", "Si")],
)
def test_isotopes_keep_their_element(read, masses, symbol):
    text = LAMMPS_DATA.replace("1 15.9994 # O\n2 2.014102 # D", masses)
    assert read(text)[0].get_chemical_symbols()[0] == symbol


def test_a_mass_of_no_element_names_the_line(read):
    with pytest.raises(StructureError, match=r"a\.data, line 13: the mass 17.5 differs by more than 0.3"):
        read(LAMMPS_DATA.replace("15.9994 # O", "17.5"))


@pytest.mark.parametrize(
    ("style", "line"),
    [
        ("charge", "{id} {type} {q} {x}"),
        ("molecular", "{id} 1 {type} {x}"),
        ("full", "{id} 1 {type} {q} {x} 0 0 0"),
        ("bond", "{id} 1 {type} {x}"),
        ("atomic", "{id} {type} {x}"),
        ("dipole", "{id} {type} {q} {x} 0 0 1"),
    ],
)
def test_atom_styles(read, style, line):
    rows = [line.format(id=k, type=1 + (k > 1), q=0.1 * k, x=f"{k}.0 1.0 2.0") for k in (1, 2, 3)]
    start, _, end = LAMMPS_DATA.partition("Atoms # charge")
    text = (
        start + f"Atoms # {style}\n\n" + "\n".join(rows) + "\n\nVelocities" + end.partition("Velocities")[2]
    )
    atoms, _ = read(text)
    assert atoms.positions.tolist() == [[k, 1.0, 2.0] for k in (1, 2, 3)]
    assert atoms.get_chemical_symbols() == ["O", "H", "H"]
    bare = text.replace(f"Atoms # {style}", "Atoms")
    if style != "atomic":
        with pytest.raises(StructureError, match=r"line 18: .* Atoms # charge, or give --atom-style"):
            read(bare)
    assert np.array_equal(read(bare, atom_style=style)[0].positions, atoms.positions)


def test_labels_and_general_cells(read):
    text = """title

2 atoms
1 atom types
0.0 5.0 0.0 avec
-5.0 0.0 0.0 bvec
0.0 0.0 5.0 cvec # general
0 0 0 abc origin

Atom Type Labels

1 Si

Masses

Si 28.085 # silicon

Atoms # atomic

1 Si 0.0 0.0 0.0
2 1 1.3 1.3 1.3
"""
    atoms, _ = read(text)
    assert atoms.get_chemical_symbols() == ["Si", "Si"]
    assert atoms.cell[:].tolist() == [[0, 5, 0], [-5, 0, 0], [0, 0, 5]]
    no_masses = text.replace("Masses\n\nSi 28.085 # silicon\n", "")
    assert read(no_masses)[0].get_chemical_symbols() == ["Si", "Si"]
    no_labels = text.replace("Atom Type Labels\n\n1 Si\n", "").replace("2 1 1.3", "2 Si 1.3")
    assert read(no_labels)[0].get_chemical_symbols() == ["Si", "Si"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2 2 0.4 1.96 1.0", "2 2 0.4 1.96 l.0", "line 18: 'l.0' is not a number"),
        ("2 2 0.4 1.96 1.0", "2 2 0.4 1.96 ٣", "line 18: '٣' is not a number"),
        ("2 2 0.4 1.96", "2 7 0.4 1.96", "line 18: the atom type 7 has no mass in the section Masses"),
        ("2 2 0.4 1.96", "1 2 0.4 1.96", "two lines of the section Atoms have the number 1"),
        ("1.0 1.0 0 0 0 #", "1.0 1.0 0 0 #", "line 18: 8 columns; expected 6 of the atom style charge, or 9"),
        ("1.0 1.0 0 0 0 #", "1.0 1.0 0 0 0.5 #", "line 18: '0.5' is not a whole number"),
        ("3 2 0.4 0.76 1.92 1.0 0 0 0\n", "", "says 3 atoms, its section Atoms has 2 lines"),
        ("2 0.0 0.002 0.0\n", "", "the section Velocities has none for atom 2"),
        ("0.0 10.0 xlo", "10.0 0.0 xlo", "xhi = 0 is not above xlo = 10"),
        ("0.0 11.0 ylo", "11.0 ylo", "line 7: 1 numbers before ylo yhi; expected 2"),
        ("Atoms # charge", "Atoms # hybrid", "atom style 'hybrid' is not read; expected one of atomic"),
        ("1 15.9994 # O", "1 15.9994 amu # O", "line 13: '1 15.9994 amu' in Masses"),
        ("Velocities", "Masses", "line 22: a second section Masses"),
    ],
)
def test_a_mistake_is_one_line_with_its_number(read, old, new, message):
    assert old in LAMMPS_DATA
    with pytest.raises(StructureError, match=message) as caught:
        read(LAMMPS_DATA.replace(old, new))
    assert "\n" not in str(caught.value)


def test_bonds_are_said_not_to_be_used(read):
    assert "sections of a.data that are not used: Bonds" in read(LAMMPS_DATA + "\nBonds\n\n1 1 1 2\n")[1][0]


def test_a_dump_as_a_structure(read):
    atoms, notes = read(LAMMPS_DUMP, "a.lammpstrj")
    assert atoms.get_chemical_symbols() == ["Si", "Si"]
    assert atoms.pbc.tolist() == [True, True, False]
    assert atoms.positions[0].tolist() == [0.5, 1, 1]
    np.testing.assert_allclose(atoms.get_velocities()[1, 0], 1e-3 / units.fs, rtol=1e-12)
    assert notes == []
    metal, notes = read(LAMMPS_DUMP.replace("ITEM: UNITS\nreal\n", ""), "a.lammpstrj")
    np.testing.assert_allclose(metal.get_velocities()[1, 0], 1e-6 / units.fs, rtol=1e-12)
    assert "does not state its LAMMPS units; metal was assumed" in notes[0]
    second = LAMMPS_DUMP.replace("\n100\n", "\n200\n").replace("0.5 1 1", "0.7 1 1")
    atoms, notes = read(LAMMPS_DUMP + second, "a.lammpstrj")
    assert atoms.positions[0, 0] == 0.7
    assert "a.lammpstrj has 2 frames; the last is used" in notes[0]
    assert read(LAMMPS_DUMP + second, "a.lammpstrj", frame=-2)[0].positions[0, 0] == 0.5
    with pytest.raises(StructureError, match="has 2 frames; from_frame = 5"):
        read(LAMMPS_DUMP + second, "a.lammpstrj", frame=5)


def test_types_of_a_dump_are_not_elements(read):
    text = LAMMPS_DUMP.replace(" element", "").replace(" 1 Si ", " 1 ")
    with pytest.raises(StructureError, match=r"has atom types \(1\) and no elements; .* dump_modify"):
        read(text, "a.lammpstrj")
    masses = (
        text.replace("type x", "type mass x")
        .replace(" 1 2.35", " 1 28.085 2.35")
        .replace(" 1 0.5", " 1 28.085 0.5")
    )
    assert read(masses, "a.lammpstrj")[0].get_chemical_symbols() == ["Si", "Si"]
    with pytest.raises(StructureError, match="units lj"):
        read(LAMMPS_DUMP.replace("real", "lj"), "a.lammpstrj")


def test_units_of_a_data_file_may_be_given_for_its_analysis(tmp_path):
    """The note about assumed units names --input-units, so an analysis must take it."""
    (tmp_path / "a.data").write_text(LAMMPS_DATA.replace(", units = real", ""))
    real, metal = read_frames(tmp_path / "a.data", units="real"), read_frames(tmp_path / "a.data")
    np.testing.assert_allclose(real.velocities, 1000.0 * metal.velocities, rtol=1e-12, atol=1e-15)
    assert any("give --input-units" in note for note in metal.notes)
    assert not any("units" in note for note in real.notes)


@pytest.mark.parametrize("name", ["a.extxyz", "a.traj"])
def test_dummy_atoms_are_refused_in_an_analysis_as_in_a_run(tmp_path, name):
    atoms = Atoms("ArX", [[0.0, 0, 0], [3.0, 0, 0]], cell=[9.0] * 3, pbc=True)
    ase.io.write(tmp_path / name, [atoms, atoms])
    for reader in (read_noted, read_frames):
        with pytest.raises(StructureError, match=r"the element of atom 1 is not known \(a dummy, X\)"):
            reader(tmp_path / name)
