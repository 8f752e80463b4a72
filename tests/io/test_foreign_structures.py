"""Structures of other programs: nothing is guessed in silence. The right value, a note, or one line."""

import warnings

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.io import write

from taichimd import Simulation, TaichiMD, relax
from taichimd.core.errors import SettingsError, StructureError
from taichimd.io.frames import read_frames
from taichimd.io.structures import has_velocities, read_noted, read_structure, remarks
from tests.support.structure_files import CIF, EXTXYZ, GRO, LAMMPS_DATA, PDB, POSCAR, RES


def energy(atoms, potential):
    atoms.calc = TaichiMD(potential)
    return atoms.get_potential_energy()


@pytest.fixture
def read(tmp_path):
    """Write a file and read it: atoms and notes."""

    def done(name, text, **options):
        (tmp_path / name).write_text(text)
        return read_noted(tmp_path / name, **options)

    return done


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("0.0 0.0 0.0 1.0", "0.0 0.0 0.0 0.5\nGe1 Ge 0.0 0.0 0.0 0.5"), "Si1 has the occupancy 0.5 of Si"),
        (("0.0 0.0 0.0 1.0", "0.0 0.0 0.0 0.9"), "site Si1 has the occupancy 0.9 of Si; expected 1"),
        (("0.0 0.0 0.0 1.0", "0.0 0.0 0.0 often"), "the occupancy of site Si1 is 'often'"),
        (("Si1 Si4+", "Q1 Q"), "site Q1 has the type symbol 'Q', which is not an element"),
        (("Si1 Si4+", "Du X"), "site Du is a dummy"),
        (("Si1 Si4+", "O1 OH"), "site O1 has the type symbol 'OH', which is not an element"),
        (("data_silicon", "Dear colleague,"), "cannot be read"),
        (("_atom_site_fract_x", "_atom_site_other"), "no data block has symbols and coordinates"),
        ((" 0.0 0.0 0.0 1.0", " 0.0 ? 0.0 1.0"), r"_atom_site_fract_y of site Si1 is '\?'; expected"),
    ],
)
def test_a_cif_site_that_is_not_one_whole_atom_is_refused(read, changed, message):
    with pytest.raises(StructureError, match=message):
        read("a.cif", CIF.replace(*changed))


def test_cif_sites(read):
    atoms, notes = read("a.cif", CIF)
    assert (atoms.get_chemical_formula(), notes, atoms.pbc.all()) == ("Si8", [], True)
    upper = CIF.replace("Si1 Si4+", "SI1 SI4+").replace(" 1.0\n", " 1.0000(3)\n")
    assert read("a.cif", upper)[0].get_chemical_formula() == "Si8"
    labels = CIF.replace("_atom_site_type_symbol\n", "").replace("Si1 Si4+", "Si1")
    assert read("a.cif", labels)[0].get_chemical_formula() == "Si8"
    with pytest.raises(StructureError, match=r"site SI1 can be Si or S; add a column _atom_site_type_symbol"):
        read("a.cif", labels.replace("Si1", "SI1"))
    heavy = CIF.replace("Si1 Si4+", "D1 D")
    assert read("a.cif", heavy)[0].get_masses() == pytest.approx(np.full(8, 2.014), abs=1e-3)


def test_cif_disorder_and_dummies(read):
    two = CIF.replace("_occupancy", "_occupancy\n_atom_site_disorder_group")
    two = two.replace("0.0 0.0 0.0 1.0", "0.0 0.0 0.0 1.0 1\nC1 C 0.5 0.5 0.5 1.0 2")
    with pytest.raises(StructureError, match=r"alternative disorder groups \(1, 2\); keep one of these"):
        read("a.cif", two)
    dummy = CIF.replace("_occupancy", "_occupancy\n_atom_site_calc_flag").replace(" 1.0\n", " 1.0 dum\n")
    with pytest.raises(StructureError, match="site Si1 is a dummy"):
        read("a.cif", dummy)


def test_cif_hydrogens_without_a_place(read):
    for count, noted in ((0, False), (2, True)):
        text = CIF.replace("_occupancy", "_occupancy\n_atom_site_attached_hydrogens")
        _, notes = read("a.cif", text.replace(" 1.0\n", f" 1.0 {count}\n"))
        assert any("hydrogen atoms without a place" in note for note in notes) == noted


def test_cif_with_several_blocks(read):
    text = CIF + CIF.replace("data_silicon", "data_large").replace("5.431", "6.0")
    atoms, notes = read("a.cif", text)
    assert atoms.cell[0, 0] == 6.0
    assert "2 data blocks with a structure (silicon, large); large is used" in notes[0]
    atoms, notes = read("a.cif", text, frame=0)
    assert (atoms.cell[0, 0], notes) == (5.431, [])
    with pytest.raises(StructureError, match="has 2 frames; from_frame = 2: expected -2 to 1"):
        read("a.cif", text, frame=2)


def test_partial_occupancy_in_other_formats(tmp_path, read):
    atoms = bulk("Si")
    atoms.info["occupancy"] = {"0": {"Si": 0.5, "Ge": 0.5}, "1": {"Si": 1.0}}
    for name in ("a.extxyz", "a.traj", "a.json"):
        write(tmp_path / name, atoms)
        if name != "a.json":  # keeps no info
            with pytest.raises(
                StructureError, match=r"site 0 is occupied by Si 0.5 and Ge 0.5; expected one"
            ):
                read_structure(tmp_path / name)
    with pytest.raises(StructureError, match=r"line 5: site Si has the occupancy 0\.5"):
        read("a.res", RES.replace("0.0 0.0 0.0 1.0", "0.0 0.0 0.0 10.5"))
    column = EXTXYZ.replace("mass:R:1", "occupancy:R:1").replace("28.085 0.0 -", "0.5 0.0 -")
    with pytest.raises(StructureError, match=r"atom 0 \(Si\) has the occupancy 28.085"):
        read("a.extxyz", column)


CASTEP = """%BLOCK LATTICE_CART
5.43 0 0
0 5.43 0
0 0 5.43
%ENDBLOCK LATTICE_CART
%BLOCK POSITIONS_FRAC
Si 0.0 0.0 0.0 MIXTURE:(1 0.5)
Ge 0.0 0.0 0.0 MIXTURE:(1 0.5)
%ENDBLOCK POSITIONS_FRAC
"""


def test_castep_mixtures(read):
    with pytest.raises(StructureError, match=r"line 7: Si shares its site with other elements \(MIXTURE\)"):
        read("a.cell", CASTEP)
    whole = CASTEP.replace(" MIXTURE:(1 0.5)", "").replace("Ge 0.0", "Ge 0.5") + "! no MIXTURE\n"
    assert read("a.cell", whole)[0].get_chemical_formula() == "GeSi"


MOLECULE = """heavy


  2  1  0  0  0  0            999 V2000
    0.0000    0.0000    0.0000 O   0  0  0  0  0  0
    0.9600    0.0000    0.0000 H   0  0  0  0  0  0
  1  2  1  0
M  END
"""


@pytest.mark.parametrize("name", ["a.mol", "a.sdf"])
def test_isotopes_of_a_molecule_are_said(read, name):
    assert read(name, MOLECULE)[1] == []
    for plain, heavy in (("M  END", "M  ISO  1   2   2\nM  END"), ("H   0", "H   1")):
        assert read(name, MOLECULE.replace(plain, heavy))[1] == [
            f"isotopes of {name} are not used: elements have their mean masses"
        ]


@pytest.mark.parametrize("door", [Simulation, lambda atoms, potential: relax(atoms, potential), energy])
def test_partly_occupied_sites_are_refused_in_python(door):
    atoms = bulk("Si", cubic=True)
    atoms.info["occupancy"] = {"0": {"Si": 0.5, "Ge": 0.5}}
    with pytest.raises(
        StructureError, match=r"site 0 is occupied by Si 0\.5 and Ge 0\.5; .* delete atoms.info"
    ):
        door(atoms, "Si.sw")


def test_pdb_alternate_locations(read):
    atoms, notes = read("a.pdb", PDB)
    assert atoms.get_chemical_formula() == "H2O"
    assert atoms.positions[0].tolist() == [1.0, 1.0, 1.0]
    assert atoms.pbc.all()
    assert notes == [
        "a.pdb has alternate locations; the locations of highest occupancy are kept (A), atoms left out: 3"
    ]
    flipped = PDB.replace("0.60", "0.30")
    assert read("a.pdb", flipped)[0].positions[0].tolist() == [1.3, 1.0, 1.0]


@pytest.mark.parametrize("lengths", ["    1.000    1.000    1.000", "    0.000    0.000    0.000"])
def test_pdb_without_a_cell(read, lengths):
    atoms, notes = read("a.pdb", PDB.replace("   12.000   12.000   12.000", lengths))
    assert not atoms.pbc.any()
    assert "means no cell: not periodic" in " ".join(notes)
    atoms, notes = read("a.pdb", PDB.partition("\n")[2])
    assert not atoms.pbc.any()
    assert "no record CRYST1, so the structure is not periodic" in " ".join(notes)


def test_pdb_models_elements_and_occupancies(read):
    models = "MODEL 1\n" + PDB.replace("END\n", "ENDMDL\n")
    models += "MODEL 2\n" + PDB.partition("\n")[2].replace("  1.000   1.000\n", "").replace(
        "END\n", "ENDMDL\nEND\n"
    )
    atoms, notes = read("a.pdb", models)
    assert (len(atoms), atoms.cell[0, 0]) == (3, 12.0)
    assert notes[0] == "a.pdb has 2 models; the last is used (--from-frame selects a different one)"
    lines = [line[:76] for line in PDB.splitlines()]
    atoms, notes = read("a.pdb", "\n".join(lines).replace(" H1 ", " CA "))
    assert "taken from their names: O as O, CA as Ca" in notes[-1]
    single = PDB.splitlines()[:4]
    atoms, notes = read("a.pdb", "\n".join(line[:16] + " " + line[17:] for line in single))
    assert "3 atoms of a.pdb have an occupancy below 1 (the first: O, 0.6)" in notes[0]
    heavy, _ = read("a.pdb", PDB.replace("           H", "           D"))
    assert heavy.get_masses()[1] == pytest.approx(2.014, abs=1e-3)


def test_masses_and_velocities_of_gpumd(read):
    atoms, notes = read("a.extxyz", EXTXYZ.replace("28.085", "29.974"))
    assert atoms.get_masses().tolist() == [29.974, 29.974]
    assert "Si of 29.974 amu (2)" in notes[0]
    assert not has_velocities(atoms)
    assert "'vel' has no agreed unit" in remarks(atoms)[0]
    atoms, notes = read("a.extxyz", EXTXYZ, units="real")
    np.testing.assert_allclose(atoms.get_velocities()[0], [0.001 / units.fs, 0, 0], rtol=1e-12)
    assert (notes, remarks(atoms)) == ([], [])
    for name in ("velocity", "velocities", "velo"):
        atoms, _ = read("a.extxyz", EXTXYZ.replace("vel:R", f"{name}:R"), units="metal")
        np.testing.assert_allclose(atoms.get_velocities()[0, 0], 1e-6 / units.fs, rtol=1e-12)
        assert repr(name) in remarks(read("a.extxyz", EXTXYZ.replace("vel:R", f"{name}:R"))[0])[0]
    for name in ("momentum", "q", "frozen"):
        _, notes = read("a.extxyz", EXTXYZ.replace("vel:R", f"{name}:R"))
        assert notes == [f"columns of a.extxyz that are not used: {name}"]
    with pytest.raises(StructureError, match="the column mass holds no number"):
        read("a.extxyz", EXTXYZ.replace("mass:R:1:vel:R:3", "mass:R:2:vel:R:2"))


def test_deuterium_and_tritium(read):
    atoms, notes = read("a.xyz", "3\nwater\nO 0 0 0\nD 1 0 0\nT 0 1 0\n")
    assert atoms.get_chemical_formula() == "H2O"
    np.testing.assert_allclose(atoms.get_masses(), [15.999, 2.014, 3.016], atol=1e-3)
    assert notes[0] == "D and T in a.xyz are hydrogen with the masses 2.014 and 3.016: 2 atoms"
    atoms, _ = read("a.xyz", "1\nProperties=pos:R:3:species:S:1:mass:R:1\n0 0 0 D 2.5\n")
    assert atoms.get_masses().tolist() == [2.5]


def test_a_trajectory_of_heavy_water(tmp_path):
    frame = "3\nProperties=species:S:1:pos:R:3\nO 0 0 0\nD 1 0 {z}\nD 0 1 0\n"
    (tmp_path / "a.xyz").write_text(frame.format(z=0) + frame.format(z=0.5))
    frames = read_frames(tmp_path / "a.xyz")
    assert frames.symbols.tolist() == ["O", "H", "H"]
    np.testing.assert_allclose(frames.masses, [15.999, 2.014, 2.014], atol=1e-3)
    assert frames.positions[:, 1, 2].tolist() == [0, 0.5]


@pytest.mark.parametrize(
    ("name", "text", "symbols", "noted"),
    [
        ("a.pdb", PDB, "OHH", "the locations of highest occupancy are kept"),
        ("a.pdb", PDB.replace("   12.000" * 3, "    1.000" * 3), "OHH", "means no cell: not periodic"),
        ("a.xyz", "1\n\n14 0 0 0\n1\n\n14 0 0 1\n", ["Si"], "14 as Si"),
        ("a.xyz", "1\n\nCA 0 0 0\n", ["Ca"], "names in a.xyz were taken as elements: CA as Ca"),
        ("a.gro", GRO, "OHH", "taken from the names of atoms: OW as O"),
        ("a.data", LAMMPS_DATA.replace("15.9994 # O", "14.003242 # C"), "CHH", ""),
    ],
)
def test_a_trajectory_is_read_as_a_structure_is(tmp_path, name, text, symbols, noted):
    (tmp_path / name).write_text(text)
    frames, (atoms, _) = read_frames(tmp_path / name), read_noted(tmp_path / name)
    assert frames.symbols.tolist() == list(symbols) == atoms.get_chemical_symbols()
    np.testing.assert_allclose(frames.masses, atoms.get_masses())
    np.testing.assert_allclose(frames.positions[-1], atoms.positions)
    np.testing.assert_allclose(frames.cells[-1], atoms.cell[:])
    assert frames.pbc.tolist() == atoms.pbc.tolist()
    assert noted in " ".join(frames.notes)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.cif", CIF.replace("0.0 0.0 0.0 1.0", "0.0 0.0 0.0 0.5"), "Si1 has the occupancy 0.5 of Si"),
        ("a.cell", CASTEP, "shares its site with other elements"),
        ("a.xyz", "1\nAtoms. Timestep: 0\n1 0 0 0\n", "LAMMPS wrote numbers of atom types"),
        ("a.extxyz", "1\nProperties=species:S:1:pos:R:3:occupancy:R:1\nSi 0 0 0 0.5\n", "occupancy 0.5"),
    ],
)
def test_a_trajectory_is_refused_as_a_structure_is(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    for read_any in (read_frames, read_noted):
        with pytest.raises(StructureError, match=message):
            read_any(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nAtoms. Timestep: 0\n1 0 0 0\n", "LAMMPS wrote numbers of atom types instead of elements"),
        ("1\n\nSi1 0 0 0\n", "line 3: cannot be read: 'Si1' is not an element"),
        ("2\n\nSi 0 0 0\nX 2 0 0\n", "the element of atom 1 is not known"),
        ("1\n\n119 0 0 0\n", "line 3: cannot be read: 119 is not an atomic number"),
        ("2\n\nSi 0 0 0\n", "the frame at line 1 has 1 atoms; expected 2"),
        ("1\n\nSi 0 0\n", "line 3: cannot be read: 'Si 0 0' is not an element with x, y and z"),
        ('1\npbc="T T T"\nSi 0 0 0\n', "periodic along cell vector a, which has no length"),
        ("1\n\nSi 0 0 inf\n", "the position of atom 0 is not a finite number"),
    ],
)
def test_an_xyz_file_is_refused_with_the_line(read, text, message):
    with pytest.raises(StructureError, match=message):
        read("a.xyz", text)


def test_what_an_xyz_file_leaves_open_is_noted(read):
    cell = 'a.xyz has no cell, so the structure is not periodic; write Lattice="..." if it is'
    assert read("a.xyz", "1\n\nSi 0 0 0\n")[1] == [cell]
    for stated in ('pbc="F F F"', 'Lattice="9 0 0 0 9 0 0 0 9"'):
        assert read("a.xyz", f"1\n{stated}\nSi 0 0 0\n")[1] == []
    assert "numbers in a.xyz were taken as atomic numbers: 14 as Si" in read("a.xyz", "1\n\n14 0 0 0\n")[1][0]
    assert read("a.xyz", "1\n\nCA 0 0 0\n")[1] == ["names in a.xyz were taken as elements: CA as Ca", cell]
    _, notes = read("a.xyz", "1\n\nSi 0 0 0\n1\n\nSi 0 0 1\n")
    assert notes == ["a.xyz has 2 frames; the last is used (--from-frame selects a different one)", cell]
    assert read("a.xyz", "1\n\nSi 0 0 0\n1\n\nSi 0 0 1\n", frame=0) == (Atoms("Si"), [cell])


def test_frames_of_other_formats_are_said(tmp_path):
    write(tmp_path / "a.traj", [bulk("Si"), bulk("Ge")])
    atoms, notes = read_noted(tmp_path / "a.traj")
    assert atoms.symbols[0] == "Ge"
    assert notes == ["a.traj has several frames; the last is used (--from-frame selects a different one)"]
    assert read_noted(tmp_path / "a.traj", 0)[1] == []


def test_poscar(read):
    atoms, notes = read("POSCAR", POSCAR)
    np.testing.assert_allclose(
        atoms.get_velocities()[1], np.array([1e-3, -2e-3, 3e-3]) / units.fs, rtol=1e-12
    )
    assert (notes, atoms.constraints[0].index.tolist()) == ([], [0])
    assert not has_velocities(read("POSCAR", POSCAR.replace("0.001 -0.002 0.003", "0.0 0.0 0.0"))[0])
    atoms, notes = read("POSCAR", POSCAR.replace("T T T\n\n", "T T T\nDirect\n"))
    assert not has_velocities(atoms)
    assert notes == ["velocities of POSCAR in units of the cell (Direct) are not used"]
    with pytest.raises(
        StructureError, match=r"line 10: flag '.FALSE.' of selective dynamics; expected T or F"
    ):
        read("POSCAR", POSCAR.replace("F F F", ".FALSE. .FALSE. .FALSE."))
    free = POSCAR.replace("Selective dynamics\n", "")
    unused = "POSCAR has numbers or flags after the coordinates of atoms; they are not used"
    for text, said in (
        (free, [f"{unused} without a line Selective dynamics"]),
        (
            free.replace("F F F", "1.0 -2e3").replace(" T T T", ""),
            [f"{unused} without a line Selective dynamics"],
        ),
        (free.replace("F F F", "Si").replace("T T T", "Si2"), []),
        (POSCAR.replace("F F F", "F F F 0.5"), [unused]),
    ):
        assert read("POSCAR", text)[1] == said
    _, notes = read("POSCAR", POSCAR.replace("silicon", "Si").replace("Si\n2", "2"))
    assert "POSCAR has no line of elements" in notes[0]


def test_gro(read):
    atoms, notes = read("a.gro", GRO)
    assert atoms.get_velocities()[0, 0] == pytest.approx(0.1227 * units.nm / (1000 * units.fs))
    assert "taken from the names of atoms: OW as O, HW1 as H, HW2 as H" in notes[0]
    with pytest.raises(StructureError, match="line 2 says '3' atoms, and 2 come before the line of the box"):
        read("a.gro", GRO.rsplit("\n", 2)[0] + "\n")


def test_cfg_velocities_are_not_taken(tmp_path):
    atoms = bulk("Si", cubic=True)
    atoms.set_velocities(np.ones((8, 3)))
    write(tmp_path / "a.cfg", atoms)
    atoms, notes = read_noted(tmp_path / "a.cfg")
    assert not has_velocities(atoms)
    assert "velocities of AtomEye CFG have no agreed unit" in notes[0]


def test_charges_are_remarked():
    atoms = bulk("Si")
    assert remarks(atoms) == []
    atoms.set_initial_charges([0.5, -0.5])
    assert "charges of the structure are not used" in remarks(atoms)[0]


def test_options_of_lammps_files_are_refused_elsewhere(read):
    with pytest.raises(SettingsError, match=r"input_units = real is for .*a\.cif is not such a file"):
        read("a.cif", CIF, units="real")
    with pytest.raises(SettingsError, match="atom_style = charge"):
        read("a.xyz", "1\n\nSi 0 0 0\n", atom_style="charge")


def test_notes_are_warnings_in_python(tmp_path):
    (tmp_path / "a.xyz").write_text("1\n\nD 0 0 0\n")
    with pytest.warns(UserWarning, match="D and T in a.xyz"):
        read_structure(tmp_path / "a.xyz")
    (tmp_path / "a.xyz").write_text('1\npbc="F F F"\nH 0 0 0\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_structure(tmp_path / "a.xyz")
