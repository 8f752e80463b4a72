import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.constraints import FixAtoms
from ase.io import read, write

from taichimd.core.errors import StructureError
from taichimd.io import xyz
from taichimd.io.structures import has_velocities, read_structure, remarks


@pytest.fixture
def silicon():
    atoms = bulk("Si", cubic=True)
    atoms.rattle(0.05, seed=3)
    return atoms


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.extxyz", {}),
        ("a.cif", {}),
        ("POSCAR", {}),
        ("a.pdb", {}),
        ("a.data", {"format": "lammps-data", "masses": True}),
        ("strange.lmp", {"format": "lammps-data", "masses": True}),
    ],
)
def test_formats_are_read(tmp_path, silicon, name, options):
    write(tmp_path / name, silicon, **options)
    atoms = read_structure(tmp_path / name)
    assert atoms.symbols.get_chemical_formula() == "Si8"
    assert atoms.pbc.all()
    np.testing.assert_allclose(
        atoms.get_all_distances(mic=True), silicon.get_all_distances(mic=True), atol=2e-3
    )
    assert not has_velocities(atoms)


def test_lammps_data_without_elements_says_what_to_add(tmp_path, silicon):
    write(tmp_path / "a.data", silicon, format="lammps-data")
    with pytest.raises(StructureError, match=r"a.data: LAMMPS data without a section Masses.* 1 28\.0855$"):
        read_structure(tmp_path / "a.data")
    write(tmp_path / "b.data", silicon, format="lammps-data", atom_type_labels=True)
    assert read_structure(tmp_path / "b.data").symbols.get_chemical_formula() == "Si8"


def test_lammps_velocities_arrive_in_internal_units(tmp_path, silicon):
    silicon.set_velocities(np.full((8, 3), 0.02))
    write(tmp_path / "v.data", silicon, format="lammps-data", masses=True, velocities=True, units="metal")
    atoms = read_structure(tmp_path / "v.data")
    assert has_velocities(atoms)
    np.testing.assert_allclose(atoms.get_velocities(), 0.02, rtol=1e-6)


def test_last_frame_of_a_trajectory_is_taken(tmp_path, silicon):
    other = silicon.copy()
    other.positions += 0.25
    write(tmp_path / "t.extxyz", [silicon, other])
    np.testing.assert_allclose(read_structure(tmp_path / "t.extxyz").positions, other.positions, atol=1e-7)


def test_positions_are_not_wrapped(tmp_path, silicon):
    silicon.positions[0] -= 20.0
    write(tmp_path / "a.extxyz", silicon)
    np.testing.assert_allclose(read_structure(tmp_path / "a.extxyz").positions, silicon.positions, atol=1e-7)


@pytest.mark.parametrize("name", ["no.extxyz", "no.cif"])
def test_missing_file(tmp_path, name):
    with pytest.raises(StructureError, match=rf"structure file .*{name} does not exist"):
        read_structure(tmp_path / name)


@pytest.mark.parametrize("name", ["e.extxyz", "e.cif", "POSCAR"])
def test_empty_file(tmp_path, name):
    (tmp_path / name).write_text("")
    with pytest.raises(StructureError, match=rf"structure file .*{name} is empty"):
        read_structure(tmp_path / name)


@pytest.mark.parametrize("name", ["g.extxyz", "g.xyz", "g.cif", "POSCAR", "g.data", "g.pdb", "g"])
@pytest.mark.parametrize("content", [b"hello world\nfoo bar\n\n", bytes(range(256))], ids=["text", "binary"])
def test_garbage_file_is_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    unreadable = r"structure file .* (cannot be read|has no atoms|contains no structure)"
    with pytest.raises(StructureError, match=unreadable) as caught:
        read_structure(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "POSCAR",
            "Si\n1.0\n5 0 0\n0 5 0\n0 0 5\nSi\n1\nDirect\n0.2 0.3\n",
            "a line has 2 numbers instead of 3",
        ),
        ("a.xyz", "2\nx\nSi 0 0 0\nSi 1 y 2\n", "line 4: 'y' is not a number"),
        ("a.xyz", "2\nx\nSi 0 0 0\nSi 1 x 2\n", ": 'x' is not a number"),
    ],
)
def test_a_line_without_three_numbers_is_told_in_words(tmp_path, name, text, told):
    (tmp_path / name).write_text(text)
    with pytest.raises(StructureError) as caught:
        read_structure(tmp_path / name)
    assert told in str(caught.value)


def test_folder_instead_of_a_file(tmp_path):
    with pytest.raises(StructureError, match=r"has no checkpoint\.npz; expected a structure file"):
        read_structure(tmp_path)


def test_no_atoms(tmp_path):
    (tmp_path / "z.extxyz").write_text('0\nLattice="5 0 0 0 5 0 0 0 5" Properties=species:S:1:pos:R:3\n')
    with pytest.raises(StructureError, match=r"z\.extxyz (has no atoms|cannot be read)"):
        read_structure(tmp_path / "z.extxyz")


def test_nan_position_names_the_atom(tmp_path):
    (tmp_path / "n.extxyz").write_text("2\nProperties=species:S:1:pos:R:3\nSi 0 0 0\nSi 1 nan 0\n")
    with pytest.raises(StructureError, match="the position of atom 1 is not a finite number"):
        read_structure(tmp_path / "n.extxyz")


def test_placeholder_element(tmp_path):
    write(tmp_path / "x.extxyz", Atoms("SiX", positions=[[0, 0, 0], [2, 0, 0]]))
    with pytest.raises(StructureError, match="the element of atom 1 is not known"):
        read_structure(tmp_path / "x.extxyz")


def test_remarks_name_what_is_not_used(tmp_path, silicon):
    silicon.set_array("vel", np.ones((8, 3)))
    silicon.set_constraint(FixAtoms([0]))
    write(tmp_path / "POSCAR", silicon)
    assert remarks(read_structure(tmp_path / "POSCAR")) == []
    silicon.set_array("momenta", np.ones((8, 3)))
    assert remarks(silicon) == ["the velocities of fixed atoms are set to 0: 1 had others"]
    del silicon.arrays["momenta"]
    silicon.set_constraint()
    write(tmp_path / "v.extxyz", silicon)
    assert "'vel' has no agreed unit" in remarks(read_structure(tmp_path / "v.extxyz"))[0]


def test_velocities_of_a_file(tmp_path, silicon):
    silicon.set_velocities(np.full((8, 3), 0.01 / units.fs))
    write(tmp_path / "v.extxyz", silicon)
    atoms = read_structure(tmp_path / "v.extxyz")
    assert has_velocities(atoms)
    np.testing.assert_allclose(atoms.get_velocities(), 0.01 / units.fs, rtol=1e-6)


@pytest.mark.parametrize("pbc", [True, False, (True, False, True)])
def test_a_plain_frame_is_what_ase_reads(tmp_path, pbc, monkeypatch):
    atoms = Atoms(
        "SiOH", np.random.default_rng(1).normal(size=(3, 3)), cell=[[5, 0, 0], [1, 6, 0], [0, 2, 7]]
    )
    atoms.pbc = pbc
    path = tmp_path / "plain.extxyz"
    write(path, atoms, format="extxyz")
    expected = read(path)
    with monkeypatch.context() as patch:
        patch.setattr(xyz, "_parsed", None)
        found = read_structure(path)
    assert found == expected
    assert found.arrays.keys() == expected.arrays.keys()
    assert (found.info, found.calc, found.constraints) == (expected.info, expected.calc, [])
