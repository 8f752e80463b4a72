"""EAM files as people have them: what is read, what is refused, and that nothing is misread."""

import re

import numpy as np
import pytest

from taichimd.core.errors import ParameterFileError, SettingsError, UnitsMismatchError
from taichimd.forcefields.eam import EmbeddedAtom
from taichimd.forcefields.formats.funcfl import mixed, read_funcfl
from taichimd.forcefields.formats.setfl import read_setfl
from taichimd.forcefields.load import load_forcefield
from taichimd.forcefields.tabulated import Tabulated, table
from tests.support.eam_files import COPPER, CUTOFF, NICKEL, Layout, factor, funcfl, rphi, small

HEAD = 5


def setfl(tmp_path, lines, name="x.eam.alloy"):
    path = tmp_path / name
    path.write_text("\n".join(lines) if isinstance(lines, list) else lines)
    return path


def same(found, wanted):
    assert found.elements == wanted.elements
    assert found.cutoff == wanted.cutoff
    for name in ("embedding", "density", "rphi"):
        assert getattr(found, name).keys() == getattr(wanted, name).keys()
        for key, values in getattr(found, name).items():
            np.testing.assert_array_equal(values, getattr(wanted, name)[key], err_msg=f"{name} {key}")


def test_tables_of_an_alloy(tmp_path):
    found = read_setfl(small().write(tmp_path / "x.eam.alloy"))
    r = np.arange(14) * found.dr
    np.testing.assert_array_equal(found.density["Ni", "Cu"], COPPER.density(r))
    np.testing.assert_array_equal(found.rphi["Cu", "Ni"], rphi(COPPER, NICKEL, r))
    np.testing.assert_array_equal(found.embedding["Ni"], NICKEL.embedding(np.arange(12) * 0.8))
    assert found.header.citation == "of no paper"
    assert found.header.valid_range == "tests only"
    assert found.remarks == ()


def test_a_density_of_finnis_sinclair_form_is_made_by_the_element_of_its_section(tmp_path):
    found = read_setfl(small(finnis_sinclair=True).write(tmp_path / "x.eam.fs"), finnis_sinclair=True)
    r = np.arange(14) * found.dr
    np.testing.assert_array_equal(found.density["Cu", "Ni"], NICKEL.density(r, factor(COPPER, NICKEL)))
    np.testing.assert_array_equal(found.density["Ni", "Cu"], COPPER.density(r, factor(NICKEL, COPPER)))


ACCEPTED = {
    "one value a line": lambda of: small(per_line=1).lines(),
    "all values on one line": lambda of: small(per_line=100).lines(),
    "tabs and leading blanks": lambda of: [
        *of[:HEAD],
        *("  " + line.replace(" ", "\t") for line in of[HEAD:]),
    ],
    "CRLF": lambda of: "\r\n".join(of) + "\r\n",
    "no line end at the end": lambda of: "\n".join(of),
    "exponents of four digits": lambda of: [re.sub(r"e([+-])(\d\d)\b", r"E\g<1>00\2", line) for line in of],
    "exponents with D": lambda of: [*of[:HEAD], *(line.replace("e", "D") for line in of[HEAD:])],
    "text after the end": lambda of: [*of, "polynomial 1 2 3", "", ""],
    "blank and comment lines": lambda of: [*of[:7], "", "# a remark", *of[7:]],
    "a comment behind numbers": lambda of: [*of[:7], of[7] + " # of copper", *of[8:]],
    "more words on line 5": lambda of: [*of[:4], of[4] + " 60.0", *of[5:]],
    "no lattice": lambda of: [line.replace(" 3.6 fcc", "") for line in of],
    "arrays that run on": lambda of: run_on(of),
}


def run_on(lines):
    """All values of an element, and all pairs, without a new line for each array."""
    found, words = lines[:HEAD], []
    for line in lines[HEAD:]:
        if line.endswith("fcc"):
            found += [" ".join(words[k : k + 6]) for k in range(0, len(words), 6)] + [line]
            words = []
        else:
            words += line.split()
    return found + [" ".join(words[k : k + 6]) for k in range(0, len(words), 6)]


@pytest.mark.parametrize("name", ACCEPTED)
def test_other_ways_to_write_the_same_tables_are_read_alike(name, tmp_path):
    wanted = read_setfl(small().write(tmp_path / "plain.eam.alloy"))
    same(read_setfl(setfl(tmp_path, ACCEPTED[name](small().lines()))), wanted)


@pytest.mark.parametrize(("per_line", "last"), [(5, 2), (4, 4)])
def test_one_value_too_many_on_the_last_line_of_an_array_is_dropped_and_told(per_line, last, tmp_path):
    lines = small(per_line=per_line).lines()
    # F of the first element has 12 values: its last line is the third.
    assert len(lines[HEAD + 3].split()) == last
    lines[HEAD + 3] += " 7.0"
    found = read_setfl(setfl(tmp_path, lines))
    same(found, read_setfl(small().write(tmp_path / "plain.eam.alloy")))
    assert found.remarks == ("values beyond the end of an array were dropped on line 9",)


def test_names_that_are_missing_come_from_the_atomic_numbers(tmp_path):
    lines = small(metals=(COPPER,)).lines()
    lines[3], lines[5] = "1", "29 63.5 3.6 fcc"
    found = read_setfl(setfl(tmp_path, lines))
    assert found.elements == ("Cu",)
    assert "atomic numbers" in found.remarks[0]


def _insert(lines, at, line):
    return [*lines[:at], line, *lines[at:]]


def _first(change):
    """A change of the first line of numbers."""
    return lambda of: [*of[: HEAD + 1], change(of[HEAD + 1]), *of[HEAD + 2 :]]


def _line(number, text):
    """Another text on a line."""
    return lambda of: [*of[: number - 1], text, *of[number:]]


REFUSED = {
    "a value too many on a line of its own": (lambda of: _insert(of, 9, "7.0"), "too many"),
    "the same with one value a line": (
        lambda of: _insert(small(per_line=1).lines(), HEAD + 13, "7.0"),
        r"line \d+: .*too many",
    ),
    "the same in a file of one element": (
        lambda of: _insert(small(metals=(COPPER,), per_line=1).lines(), HEAD + 13, "7.0"),
        "line 47: .*follows the last array",
    ),
    "the same in the middle of an array": (
        lambda of: _insert(of, HEAD + 2, "7.0"),
        "line 10: F of Cu, which begins on line 7, .*different numbers of values",
    ),
    "the same with one array a line": (
        lambda of: _insert(small(metals=(COPPER,), per_line=100).lines(), HEAD + 2, "7.0"),
        "line 9: f of Cu, which begins on line 8, .*different numbers of values",
    ),
    "tables after the last array": (lambda of: [*of, "1.0 2.0"], "line 29: '1.0' follows .*ADP"),
    "an exponent without E": (_first(lambda x: x.replace("e", "", 1)), "line 7: field 'F of Cu'"),
    "a comma": (_first(lambda x: x.replace(" ", ", ", 1)), "line 7: field 'F of Cu'"),
    "a sign that is no minus": (_first(lambda x: "\u2212" + x), "line 7: field 'F of Cu'"),
    "NaN": (_first(lambda x: "nan " + x.split(" ", 1)[1]), "line 7: .*finite number"),
    "a count with a point": (_line(5, "12.0 0.8 14 0.4 5"), "line 5: field 'nrho'"),
    "an atomic number with a point": (_line(6, "29.0 60 3.6 fcc"), "line 6: .*the line of Cu"),
    "a header of Z alone": (_line(6, "29"), "line 6: .*the line of Cu"),
    "a value missing at the end": (lambda of: [*of[:-1], of[-1].rsplit(" ", 1)[0]], "ends in r phi of Ni-Ni"),
    "more names than elements": (_line(4, "1 Cu Ni"), "line 4 says 1 elements and names 2"),
    "lower case": (_line(4, "2 cu Ni"), "line 4: element 'cu'.*such as Cu"),
    "an element twice": (_line(4, "2 Cu Cu"), "line 4 names Cu twice"),
    "no names and one atomic number": (_line(4, "2"), "line 13: second element of atomic number 1; line 4"),
    "a short line 5": (_line(5, "12 0.8 14"), "line 5 has 3 words"),
    "a spacing of zero": (_line(5, "12 0.0 14 0.4 5"), "line 5: field 'drho'"),
    "the end after the head": (lambda of: of[:5], "has 5 lines, expected three comment lines"),
    "three lines": (lambda of: of[:3], "has 3 lines"),
    "no number on line 4": (_line(4, "Cu Ni"), "line 4: 'Cu'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_misread_is_refused_in_one_line(name, tmp_path):
    change, expected = REFUSED[name]
    path = setfl(tmp_path, change(small().lines()))
    with pytest.raises(ParameterFileError, match=expected) as caught:
        read_setfl(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_units_of_another_kind_are_refused(tmp_path):
    lines = small().lines()
    lines[0] = lines[0].replace("metal", "real")
    with pytest.raises(UnitsMismatchError, match="line 1 says UNITS: real"):
        read_setfl(setfl(tmp_path, lines))


def test_an_element_that_the_file_lacks_is_named(tmp_path):
    forcefield = load_forcefield(str(small().write(tmp_path / "x.eam.alloy")))
    with pytest.raises(Exception, match="no parameters for Al; it defines: Cu, Ni"):
        forcefield.bind(["Al"])


def test_ends_of_tables_are_told(tmp_path):
    short = Layout(nr=249)  # the last point is one spacing before the cutoff, where all is 0 but for 1e-10
    forcefield = load_forcefield(str(short.write(tmp_path / "short.eam.alloy")))
    assert any("tables end at 4.97992 angstrom, before the cutoff of 5" in line for line in forcefield.about)
    cut = Layout(nr=250, cutoff=3.0)
    told = load_forcefield(str(cut.write(tmp_path / "cut.eam.alloy"))).about
    assert any("jumps by" in line for line in told)
    assert "range of cut.eam.alloy: tests only" in told


def test_a_table_that_ends_before_its_cutoff_with_a_value_is_refused(tmp_path):
    path = Layout(nr=200).write(tmp_path / "x.eam.alloy")
    with pytest.raises(
        SettingsError, match=r"the table '\w+' ends at 3.9\d+ angstrom .* before the cutoff of 5"
    ):
        load_forcefield(str(path))


def test_funcfl_files_are_mixed_on_the_coarser_grid(tmp_path):
    copper = setfl(tmp_path, funcfl(COPPER, Layout(nr=300, dr=CUTOFF / 299)), "Cu.eam")
    nickel = setfl(tmp_path, funcfl(NICKEL, Layout(nrho=100, drho=0.09), 28), "Ni.eam")
    found = mixed([read_funcfl(copper), read_funcfl(nickel)])
    assert found.elements == ("Cu", "Ni")
    assert (found.drho, found.dr) == (0.09, CUTOFF / 249)
    # The largest range of densities is 199 * 0.05; the last point is left out.
    assert len(found.embedding["Cu"]) == round(199 * 0.05 / 0.09)
    assert len(found.density["Cu", "Cu"]) == 249
    r = np.arange(249) * found.dr
    np.testing.assert_allclose(found.density["Cu", "Ni"], NICKEL.density(r), atol=1e-5)
    np.testing.assert_allclose(
        found.rphi["Cu", "Ni"][20:], rphi(COPPER, NICKEL, r)[20:], rtol=2e-3, atol=1e-6
    )
    forcefield = load_forcefield([str(copper), str(nickel)])
    assert forcefield.elements == ("Cu", "Ni")
    assert len(forcefield.contributions) == 1


FUNCFL_ACCEPTED = {
    "one value a line": lambda of: funcfl(COPPER, small(per_line=1)),
    "exponents with D": lambda of: [*of[:3], *(line.replace("e", "D") for line in of[3:])],
    "blank and comment lines": lambda of: [*of[:5], "", "# a remark", *of[5:]],
    "text after the end": lambda of: [*of, "", "polynomial 1 2 3"],
    "arrays that run on": lambda of: [*of[:3], " ".join(of[3:])],
}
FUNCFL_REFUSED = {
    "two comment lines": (lambda of: ["more", *of], r"line 2: .*the element"),
    "a short line 3": (_line(3, "12 0.8 14"), "line 3 has 3 words"),
    "a value missing at the end": (lambda of: [*of[:-1], of[-1].rsplit(" ", 1)[0]], "ends in f"),
    "a value too many on a line of its own": (lambda of: _insert(of, 6, "7.0"), r"too many|expected"),
    "the same with one value a line": (
        lambda of: _insert(funcfl(COPPER, small(per_line=1)), 15, "7.0"),
        "line 44: .*follows the last array",
    ),
    "NaN": (lambda of: [*of[:3], "nan " + of[3].split(" ", 1)[1], *of[4:]], "line 4: .*finite number"),
    "a comma": (lambda of: [*of[:3], of[3].replace(" ", ", ", 1), *of[4:]], "line 4: field 'F'"),
}


@pytest.mark.parametrize("name", FUNCFL_ACCEPTED)
def test_other_ways_to_write_a_funcfl_file_are_read_alike(name, tmp_path):
    wanted = read_funcfl(setfl(tmp_path, funcfl(COPPER, small()), "plain.eam"))
    found = read_funcfl(setfl(tmp_path, FUNCFL_ACCEPTED[name](funcfl(COPPER, small())), "x.eam"))
    for array in ("embedding", "charge", "density"):
        np.testing.assert_array_equal(getattr(found, array), getattr(wanted, array), err_msg=array)


@pytest.mark.parametrize("name", FUNCFL_REFUSED)
def test_a_funcfl_file_that_would_be_misread_is_refused_in_one_line(name, tmp_path):
    change, expected = FUNCFL_REFUSED[name]
    path = setfl(tmp_path, change(funcfl(COPPER, small())), "x.eam")
    with pytest.raises(ParameterFileError, match=expected) as caught:
        read_funcfl(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_mistakes_with_funcfl_files(tmp_path):
    copper = setfl(tmp_path, funcfl(COPPER), "Cu.eam")
    again = setfl(tmp_path, funcfl(COPPER), "Cu2.eam")
    with pytest.raises(ParameterFileError, match="both files of Cu"):
        EmbeddedAtom(copper, again)
    alloy = Layout().write(tmp_path / "x.eam.alloy")
    with pytest.raises(ParameterFileError, match=r"expected one \.eam\.alloy or \.eam\.fs file"):
        EmbeddedAtom(copper, alloy)
    wrong = setfl(tmp_path, Layout().lines(), "alloy.eam")
    with pytest.raises(ParameterFileError, match=r"setfl.*call it \.eam\.alloy"):
        EmbeddedAtom(wrong)
    with pytest.raises(ParameterFileError, match=r"bad\.eam line 2: .*atomic number"):
        EmbeddedAtom(setfl(tmp_path, ["c", "x y", "5 1 5 1 1", "1"], "bad.eam"))


def test_a_curve_is_the_cubic_of_the_sheet():
    x = np.linspace(0.0, 2.0, 21)
    curve = table("f", x, np.exp)
    assert isinstance(curve, Tabulated)
    assert curve.error < 1e-4
    value, slope = curve(np.array([0.1, 0.55, 1.0, 2.5, -0.1]))
    assert value[[0, 2]] == pytest.approx(np.exp([0.1, 1.0]), rel=1e-15)
    assert value[1] == pytest.approx(np.exp(0.55), abs=1e-6)
    assert slope[1] == pytest.approx(np.exp(0.55), abs=1e-4)
    # Beyond the last point a straight line with the slope of the last piece.
    last = curve(2.0)[1]
    assert last == pytest.approx(np.exp(2.0), rel=1e-4)
    assert value[3] == pytest.approx(np.exp(2.0) + 0.5 * last)
    assert slope[3] == pytest.approx(last)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (([0.0, 1.0], [1.0, 2.0]), "has 2 points, expected 5 or more"),
        (([0, 1, 2, 3, 4], [1, 2, np.nan, 4, 5]), "value number 3 is nan"),
        (([0, 1, 2, 3, 5], [1, 2, 3, 4, 5]), "r number 4 is 3, expected equally spaced"),
        (([0, 1, 2, 3, 4], [1, 2, 3]), "of the same length"),
        (([0, 1, 2, 3, 4],), "values are missing"),
        (([0, 1, 2, 3, 4], "abcde"), "values are not numbers"),
    ],
)
def test_mistakes_in_a_curve(given, expected):
    with pytest.raises(SettingsError, match=rf"table 'f'.*{expected}"):
        table("f", *given)


def test_a_curve_of_a_file(tmp_path):
    (tmp_path / "f.txt").write_text("# r f\n0 1\n1 2\n2 3\n3 4\n4 5\n")
    assert table("f", tmp_path / "f.txt").values.tolist() == [1, 2, 3, 4, 5]
    (tmp_path / "g.txt").write_text("0 1\n1 2 3\n")
    with pytest.raises(ParameterFileError, match="line 2 has 3 words"):
        table("f", tmp_path / "g.txt")
