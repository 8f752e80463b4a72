"""The reader of ffield files: what it accepts, and the message for everything it refuses."""

import ffields
import pytest
from ffields import angle, atom, bond, hydrogen_bond, off_diagonal, torsion
from published import CASES, FILES
from reading import reader, refused

from taichimd.core.errors import ParameterFileError, UnitsMismatchError
from taichimd.forcefields.library import find
from taichimd.forcefields.reaxff import columns
from taichimd.forcefields.reaxff.ffield import is_ffield, is_ffield_file, read_ffield

FULL = {
    "off_diagonals": [off_diagonal("1 2", D=0.5)],
    "angles": [angle("1 2 1")],
    "torsions": [torsion("0 1 2 0")],
    "hydrogen_bonds": [hydrogen_bond("2 1 2")],
}


@pytest.fixture
def ffield(tmp_path):
    return reader(tmp_path, "a.ffield", read_ffield)


def test_every_number_has_its_name(ffield):
    file = ffield(ffields.text(**FULL))
    assert file.general == ffields.GENERAL
    assert file.names == ("H", "Si")
    assert file.atoms[0].values == atom(1.0, **ffields.HYDROGEN)
    assert file.atoms[1].values == atom(2.0, **ffields.SILICON)
    assert [one.types for one in file.bonds] == [(1, 1), (1, 2), (2, 2)]
    for found, written in zip(file.bonds, ffields.BONDS, strict=True):
        assert found.values == bond(written)[1]
    assert (file.off_diagonals[0].types, file.off_diagonals[0]["D"]) == ((1, 2), 0.5)
    assert (file.angles[0].types, file.angles[0].values) == ((1, 2, 1), angle("")[1])
    assert (file.torsions[0].types, file.torsions[0].values) == ((0, 1, 2, 0), torsion("")[1])
    assert (file.hydrogen_bonds[0].types, file.hydrogen_bonds[0].values) == ((2, 1, 2), hydrogen_bond("")[1])
    assert not file.lg


def test_lg_is_told_by_its_rows(ffield):
    file = ffield(ffields.text(lg=True, off_diagonals=[off_diagonal("2 1", C_lg=7.0)]))
    assert file.lg
    assert (file.atoms[1]["C_lg"], file.atoms[1]["R_lg"]) == (2.0 + 0.01 * 32, 2.0 + 0.01 * 33)
    assert file.off_diagonals[0]["C_lg"] == 7.0
    one_atom = {"H": atom(1.0, **ffields.HYDROGEN)}
    assert not ffield(ffields.text(atoms=one_atom, bonds=[bond("1 1")])).lg


def test_lines_say_where_entries_begin(ffield):
    lines = ffields.text(**FULL).split("\n")
    file = ffield("\n".join(lines))
    for entry in (*file.bonds, *file.off_diagonals, *file.angles, *file.torsions, *file.hydrogen_bonds):
        assert lines[entry.line - 1].startswith(" ".join(map(str, entry.types)))


def test_names_are_symbols_in_any_case_or_labels(ffield):
    atoms = {"h": atom(1.0), "SI": atom(2.0), "X": atom(3.0), "x": atom(4.0)}
    assert ffield(ffields.text(atoms=atoms)).names == ("H", "Si", "X", "x")


def test_what_may_be_left_out_or_added(ffield):
    """Unused columns at the end of a row, blank rows, comments without a mark, text after the last row."""
    lines = ffields.text(**FULL).split("\n")
    torsion_line = next(at for at, line in enumerate(lines) if line.startswith("0 1 2 0"))
    lines[torsion_line] = " ".join(lines[torsion_line].split()[:-2])
    lines[torsion_line:torsion_line] = ["", "! a comment"]
    lines[1] = "39 general parameters"
    file = ffield("\n".join([*lines, "", "notes of the author"]))
    assert file.torsions[0]["p_cot1"] == torsion("")[1]["p_cot1"]
    assert (file.torsions[0]["unused_6"], file.torsions[0]["unused_7"]) == (0.0, 0.0)
    assert len(ffield(ffields.text(general={"unused_40": 1.0})).general) == 40


def test_the_title_is_a_header(ffield):
    title = "DATE: 2026-11-25 UNITS: real CITATION: a paper (2008) COMMENT: more DOI: 10.1/x ELEMENTS: H Si"
    header = ffield(ffields.text(title=title)).header
    assert (header.date, header.units, header.citation, header.doi) == (
        "2026-11-25",
        "real",
        "a paper (2008)",
        "10.1/x",
    )
    assert (header.elements, header.notes) == (("H", "Si"), ("more",))
    assert ffield(ffields.text()).header.notes == ("two elements",)
    with pytest.raises(UnitsMismatchError, match=r"line 1 says UNITS: metal, expected real: kcal/mol"):
        ffield(ffields.text(title="UNITS: metal"))


def changed(old, new, **parts):
    whole = ffields.text(**(FULL | parts))
    assert whole.count(old) >= 1, old
    return whole.replace(old, new, 1)


def without_line(start):
    return "\n".join(line for line in ffields.text(**FULL).split("\n") if not line.startswith(start))


def without_section(name):
    lines = ffields.text(**FULL).split("\n")
    at = next(at for at, line in enumerate(lines) if line.endswith(f"! {name}"))
    return "\n".join(lines[:at] + lines[at + 2 :])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("1.008", "1.0o8"), "field 'mass, column 4' is '1.0o8', expected a number (atom 1)"),
        (
            changed("1.008", "nan"),
            "line 46: field 'mass, column 4' is 'nan', expected a finite number (atom 1)",
        ),
        (changed("1.008", "1e999"), "is '1e999', expected a finite number"),
        (
            changed("10.01 ! p_boc2", "x ! p_boc2"),
            "line 4: field 'p_boc2, column 1' is 'x', expected a number",
        ),
        (changed("39 ! g", "38 ! g"), "line 2: 38 general parameters, expected 39"),
        (changed("39 ! g", "-1 ! g"), "line 2: expected the number of general parameters, found '-1'"),
        (changed("39 ! g", "forty ! g"), "line 2: expected the number of general parameters, found 'forty'"),
        (
            changed("39 ! g", "40 ! g"),
            "line 43: expected the number of atoms, found 'comment'; line 2 says 40 general parameters",
        ),
        (
            changed("2 ! atoms", "1 ! atoms"),
            "line 50: expected the number of bonds, found 'Si'; line 42 says 1 atoms",
        ),
        (changed("2 ! atoms", "3 ! atoms"), "atom 3 has 0 numbers here, expected 8"),
        (changed("2 ! atoms", "0 ! atoms"), "line 45: 0 atoms, expected one or more"),
        (
            changed("3 ! bonds", "2 ! bonds"),
            "found a row of 10 numbers; line 54 says 2 bonds, which does not fit",
        ),
        (changed("3 ! bonds", "4 ! bonds"), "bond 4 has 0 numbers here, expected 8"),
        (changed("1 ! angles", "2 ! angles"), "line 66: angle 2 has 0 numbers here, expected 7"),
        (changed("1 ! angles", "0 ! angles"), "expected the number of torsions, found a row of 10 numbers"),
        (
            changed("1 ! hydrogen bonds", "0 ! hydrogen bonds"),
            "line 69: numbers after the last of the hydrogen bonds; line 68 says 0",
        ),
        (
            changed("1 ! hydrogen bonds", "2 ! hydrogen bonds"),
            "ends on line 69, expected hydrogen bond 2 (line",
        ),
        (changed("Si 2.0", "H 2.0"), "line 50: H occurs twice, first on line 46; keep one of them"),
        (changed("Si 2.0", "h 2.0"), "H occurs twice"),
        (changed("Si 2.0", "14 2.0"), "column 1 of atom 2 is '14', expected the name of an atom"),
        (changed("\n1 2 3.0", "\n1 3 3.0"), "column 2 of bond 2 is '3', expected the number of an atom"),
        (changed("\n1 2 3.0", "\n1 0 3.0"), "is '0', expected the number of an atom of this file, 1 to 2"),
        (changed("\n1 2 3.0", "\n1 -2 3.0"), "is '-2', expected the number of an atom of this file, 1 to 2"),
        (
            changed("\n1 2 3.0", "\n1 2.0 3.0"),
            "is '2.0', expected the number of an atom of this file, 1 to 2",
        ),
        (
            changed("\n1 2 0.5", "\nH 2 0.5"),
            "column 1 of off-diagonal 1 is 'H', expected the number of an atom",
        ),
        (changed("\n1 2 1 4", "\n1 0 1 4"), "column 2 of angle 1 is '0', expected the number of an atom"),
        (changed("\n0 1 2 0", "\n0 0 2 0"), "column 2 of torsion 1 is '0', expected the number of an atom"),
        (changed("\n0 1 2 0", "\n0 1 -2 0"), "column 3 of torsion 1 is '-2', expected the number of an atom"),
        (changed("\n2 1 2 1.5", "\n2 0 2 1.5"), "column 2 of hydrogen bond 1 is '0'"),
        (changed("\n2 1 2 1.5 ", "\n2 1 2 "), "hydrogen bond 1 has 3 numbers here, expected 4 (r0, p_hb1"),
        (changed("\n2 1 2 1.5 ", "\n2 1 2 1.5 1 "), "hydrogen bond 1 has 5 numbers here, expected 4"),
        (changed("\n1 2 0.5", "\n1 2", lg=True), "off-diagonal 1 has 5 numbers here, expected 7"),
        (without_line(" 1 ! angles"), "expected the number of angles, found a row of 10 numbers"),
        (
            without_section("hydrogen bonds"),
            "expected the number of hydrogen bonds: the file is cut off or a s",
        ),
        (without_section("angles"), "angle 1 has 8 numbers here, expected 7"),
        ("title\n", "ends on line 1, expected the number of general parameters: the file is cut off"),
    ],
)
def test_refused(ffield, text, message):
    assert message in refused(ffield, text)


def test_cut_off_anywhere_is_noticed(ffield):
    """But for the last row of comments and the last row's unused columns there is nothing to leave out."""
    lines = ffields.text(**FULL).rstrip().split("\n")
    for length in range(1, len(lines)):
        with pytest.raises(ParameterFileError, match="cut off") as caught:
            ffield("\n".join(lines[:length]) + "\n")
        assert "\n" not in str(caught.value)


def test_an_ffield_file_is_told_by_its_content(tmp_path):
    assert is_ffield(ffields.text())
    assert not is_ffield("")
    for name in ("Si.sw", "Si.tersoff", "SiO2_1990.vashishta", "Ar.lj"):
        assert not is_ffield_file(find(name))
    file = tmp_path / "ffield.reax.mine"
    file.write_text(ffields.text())
    assert is_ffield_file(file)
    broken = tmp_path / "broken.ffield"
    broken.write_text("nothing")
    assert is_ffield_file(broken)


def test_columns_are_those_of_the_paper():
    """Carbon, C-C and O-H-O of the hydrocarbon set, whose file names its columns as the paper does."""
    file = read_ffield(find("CHO.ffield"))
    general, carbon, bond_cc = file.general, file.atoms[0], file.bonds[0]
    names = (
        "p_coa2",
        "p_trip1",
        "p_val6",
        "p_lp1",
        "p_val9",
        "p_pen2",
        "p_tor2",
        "p_cot2",
        "p_vdW1",
        "p_coa3",
    )
    assert [general[name] for name in names] == [
        *(26.5405, -70.1292, 33.8667, 6.0891, 1.0563, 6.9290, 5.7796, 2.1645, 1.5591, 2.6962)
    ]
    names = ("r_sigma", "Val", "mass", "r_vdW", "D", "gamma", "r_pi", "Val_e", "alpha", "gamma_w", "Val_ang")
    assert [carbon[name] for name in names] == [
        *(1.3825, 4.0, 12.0, 1.9133, 0.1853, 0.9, 1.1359, 4.0, 9.7602, 2.1346, 4.0)
    ]
    names = ("p_ovun5", "chi", "eta", "r_pipi", "p_boc4", "p_boc3", "p_boc5", "p_ovun2", "p_val3", "p_val5")
    assert [carbon[name] for name in names] == [
        *(33.2433, 5.8678, 7.0, 1.2104, 8.6991, 34.7289, 13.3894, -2.8983, 2.5, 2.9663)
    ]
    names = ("De_s", "De_p", "De_pp", "p_be1", "p_bo5", "v13corr", "p_bo6", "p_ovun1")
    assert [bond_cc[name] for name in names] == [
        *(156.5953, 100.0397, 80.0, -0.8157, -0.4591, 1.0, 37.7369, 0.4235)
    ]
    names = ("p_be2", "p_bo3", "p_bo4", "p_bo1", "p_bo2", "ovcorr")
    assert [bond_cc[name] for name in names] == [0.4527, -0.1, 9.2605, -0.075, 6.8316, 1.0]
    names = ("D", "r_vdW", "alpha", "r_sigma", "r_pi", "r_pipi")
    assert [file.off_diagonals[2][name] for name in names] == [0.1131, 1.8523, 9.8442, 1.2775, 1.1342, 1.0621]
    names = ("Theta00", "p_val1", "p_val2", "p_coa1", "p_val7", "p_pen1", "p_val4")
    assert [file.angles[7][name] for name in names] == [
        *(77.1171, 39.8746, 2.5403, -24.3902, 1.774, -42.9758, 2.124)
    ]
    names = ("V1", "V2", "V3", "p_tor1", "p_cot1")
    assert [file.torsions[2][name] for name in names] == [-0.177, 30.0252, 0.434, -5.0019, -2.0697]
    names = ("r0", "p_hb1", "p_hb2", "p_hb3")
    assert [file.hydrogen_bonds[0][name] for name in names] == [1.9682, -4.4628, 1.7976, 3.0]


@pytest.mark.lammps
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_published_files_are_read(path):
    file = read_ffield(path)
    assert is_ffield_file(path)
    assert file.lg == (path.name == "ffield.reax.lg")
    assert list(file.general) == list(columns.GENERAL)
    assert file.general["p_boc1"] == 50.0
    assert {"C", "H", "O"} & set(file.names)


@pytest.mark.lammps
def test_other_files_of_lammps_are_none():
    others = [path for path in FILES[0].parent.iterdir() if path not in FILES and path.is_file()]
    assert len(others) > 100
    assert not [path.name for path in others if is_ffield(path.read_text(errors="replace"))]
