"""The readers of parameter files: what they accept, and the message for everything they refuse."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import reader, refused

from taichimd import load_forcefield
from taichimd.core.errors import MissingParameterError, ParameterFileError, UnitsMismatchError
from taichimd.forcefields.formats.header import read_header
from taichimd.forcefields.formats.lj import read_lj
from taichimd.forcefields.formats.tersoff import FIELDS, read_tersoff

NUMBERS = dict(
    zip(
        FIELDS,
        "3 1 1.3258 4.8381 2.0417 0 22.956 0.33675 1.3258 95.373 3 0.2 3.2394 3264.7".split(),
        strict=True,
    )
)


def entry(elements="Si Si Si", **changes) -> str:
    return f"{elements} {' '.join((NUMBERS | changes).values())}\n"


@pytest.fixture
def tersoff(tmp_path):
    return reader(tmp_path, "Si.tersoff", read_tersoff)


@pytest.fixture
def lj(tmp_path):
    return reader(tmp_path, "Ar.lj", read_lj)


# Header


def test_header_reads_the_first_line_and_the_keys_below(tersoff):
    header = tersoff(
        "# DATE: 2026-11-21 UNITS: metal CONTRIBUTOR: A. Body, a@b.c "
        "CITATION: J. Tersoff, PRB 37, 6991 (1988)\n"
        "# ELEMENTS: Si, C\n\n# DOI: 10.1103/PhysRevB.37.6991\n# FITTED-TO: energies\n# RANGE: below 1000 K\n"
        "# NOTE: one, UNITS: real in a note is text\n# NOTE: two\n# a comment\n"
        + entry()
        + "# NOTE: too late\n"
    ).header
    assert header.date == "2026-11-21"
    assert header.units == "metal"
    assert header.contributor == "A. Body, a@b.c"
    assert header.citation == "J. Tersoff, PRB 37, 6991 (1988)"
    assert header.elements == ("Si", "C")
    assert header.doi == "10.1103/PhysRevB.37.6991"
    assert header.fitted_to == "energies"
    assert header.valid_range == "below 1000 K"
    assert header.notes == ("one, UNITS: real in a note is text", "two")


def test_file_without_units_is_taken_as_metal(tersoff):
    header = tersoff(entry()).header
    assert (header.units, header.date, header.elements, header.notes) == ("metal", None, (), ())


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ("# DATE: 2007-10-25 UNITS: real CITATION: x", "", 1),
        ("# silicon, UNITS: real", "", 1),
        ("# silicon", "# UNITS: real", 2),
        ("# silicon", "# DATE: 2007-10-25 UNITS: real", 2),
    ],
)
def test_other_units_are_refused(tersoff, first, second, line):
    assert refused(tersoff, f"{first}\n{second}\n{entry()}", UnitsMismatchError) == (
        f"line {line} says UNITS: real, expected metal: eV and angstrom; convert the numbers and then the tag"
    )


def test_units_without_a_value_are_refused(tersoff):
    assert refused(tersoff, f"# UNITS:\n{entry()}", UnitsMismatchError).startswith(
        "line 1 says UNITS: without a value, expected metal"
    )


def test_read_header_reads_only_the_header(tmp_path):
    path = tmp_path / "x.lj"
    path.write_text("# DATE: 2026-01-01 UNITS: metal\nnot a number\n")
    assert read_header(path).date == "2026-01-01"


# Files that are no parameter file


def test_unreadable_files(tersoff, tmp_path):
    for text in ("", " \n\n"):
        assert refused(tersoff, text) == "is empty, expected a parameter file"
    assert refused(tersoff, b"\x00\x01\x02") == "is not a text file, expected a parameter file"
    assert refused(tersoff, "# only comments\n").startswith("has no entry, expected LAMMPS's tersoff format")
    with pytest.raises(
        ParameterFileError, match=r"gone\.tersoff: no such file; give the path of a parameter file$"
    ):
        read_tersoff(tmp_path / "gone.tersoff")
    with pytest.raises(ParameterFileError, match=r"is a folder, expected a parameter file$"):
        read_tersoff(tmp_path)


# Tersoff: accepted


def test_tersoff_values_by_name(tersoff):
    file = tersoff(entry())
    assert file.elements == ("Si",)
    assert file.path == tersoff.path
    found = file.entries["Si", "Si", "Si"]
    assert {field: getattr(found, field) for field in FIELDS} == {k: float(v) for k, v in NUMBERS.items()}
    assert found.cutoff == 3.2


@pytest.mark.parametrize(
    "text",
    [
        entry().replace(" ", "\n"),
        entry().replace(" ", " # comment 1 2\n"),
        "\n\n# c\n  " + entry().replace(" ", "\t").rstrip("\n"),
        entry().replace("\n", "\r\n"),
        entry(m="3.0", A="+3.2647E+03", costheta0="-.0", D=".2"),
        "\ufeff" + entry(),
    ],
    ids=["one word a line", "comments between words", "tabs, no last newline", "dos", "number forms", "bom"],
)
def test_tersoff_layouts_mean_the_same(tersoff, text):
    assert tersoff(text).entries == tersoff(entry()).entries


SPACES = {"blank": " ", "blanks": "   ", "tab": "\t", "line": "\n", "continued": " \n\t"}
COMMENTS = {"none": ("", ""), "before": ("# by someone\n\n", ""), "behind": ("", " # 1988\n# end")}
ENDS = ("\n", "\r\n")
SPELLINGS = {
    "plain": {},
    "exponents": {"A": "3.2647e3", "B": "9.5373E1", "lambda1": "32394.0E-4"},
    "signs": {"A": "+3264.7", "costheta0": "-0", "c": "+4.8381"},
    "zeros": {"m": "3.000", "gamma": "01", "R": "3.", "D": ".2"},
    "fortran-like": {"A": "0.32647E+04", "n": "0.22956e+02"},
}


@pytest.mark.parametrize("comment", COMMENTS)
@pytest.mark.parametrize("space", SPACES)
def test_tersoff_files_of_other_programs_mean_the_same(tersoff, space, comment):
    """Published files differ in layout and in how numbers are written: 150 variants of one entry."""
    plain = tersoff(entry()).entries
    before, behind = COMMENTS[comment]
    for spelling in SPELLINGS.values():
        for end in ENDS:
            text = before + entry(**spelling).rstrip("\n").replace(" ", SPACES[space]) + behind + "\n"
            found = tersoff(text.replace("\n", end).encode()).entries
            assert found == plain, (spelling, end)


def test_tersoff_comment_in_latin1_is_read(tersoff):
    assert tersoff("# Käsmann\n".encode("latin-1") + entry().encode()).elements == ("Si",)


def test_tersoff_unused_two_body_part_may_be_zero(tersoff):
    zeros = dict.fromkeys(("n", "beta", "lambda2", "B", "lambda1", "A"), "0")
    file = tersoff(entry("Si Si C", **zeros) + entry("C Si Si", m="1", lambda3="-1.5"))
    assert file.elements == ("C", "Si")
    assert list(file.entries) == [("Si", "Si", "C"), ("C", "Si", "Si")]
    assert file.entries["C", "Si", "Si"].lambda3 == -1.5


# Tersoff: refused


def test_tersoff_word_that_is_no_number(tersoff):
    text = "# header\nSi Si Si 3 1 1.3258 4.8381 2.0417 0\n  22.956 0.33675 abc 95.373 3 0.2 3.2394 3264.7\n"
    assert refused(tersoff, text) == (
        "line 3: field 'lambda2' is 'abc', expected a number (in the entry that began on line 2)"
    )


def test_tersoff_bad_numbers(tersoff):
    for word in ("nan", "inf", "-Infinity", "1e999"):
        assert refused(tersoff, entry(B=word)) == f"line 1: field 'B' is '{word}', expected a finite number"
    for word in ("1_000", "0x10", "1,5", "--1", "1e", "e5", "x" * 40):
        assert refused(tersoff, entry(B=word)) == f"line 1: field 'B' is '{word}', expected a number"
    assert refused(tersoff, entry(beta="1.5d-7")) == (
        "line 1: field 'beta' is '1.5d-7', expected a number: write the exponent with e, 1.5e-7"
    )
    assert refused(tersoff, entry(B="y" * 99)).startswith(f"line 1: field 'B' is '{'y' * 40}...', expected")


def test_tersoff_missing_number_is_noticed_at_the_next_entry(tersoff):
    short = entry().rsplit(" ", 1)[0] + "\n"
    assert refused(tersoff, short + entry("C C C")) == (
        "line 2: field 'A' is 'C', expected a number (in the entry that began on line 1)"
    )


def test_tersoff_unfinished_last_entry(tersoff):
    assert refused(tersoff, entry() + "C C C 3 1\n 0 # the rest is gone\n") == (
        "line 3: field 'c' is missing, the entry that began on line 2 has 6 words, "
        "expected 3 elements and 14 numbers"
    )
    assert "field 'element k (third body)' is missing" in refused(tersoff, "Si Si")


def test_tersoff_number_instead_of_element(tersoff):
    assert refused(tersoff, entry("Si Si")) == (
        "line 1: field 'element k (third body)' is '3', expected a chemical symbol: "
        "an entry is 3 elements and 14 numbers"
    )


def test_tersoff_word_too_many(tersoff):
    assert refused(tersoff, entry().strip() + " 14 14 .95 14\n") == (
        "line 1: '14' is one word too many, an entry is 3 elements and 14 numbers "
        "(tersoff/mod and tersoff/zbl files have other columns: call them .tersoff.mod, .tersoff.zbl)"
    )


def test_tersoff_duplicate_entry(tersoff):
    assert refused(tersoff, entry() + "\n" + entry(A="1")) == (
        "line 3: second entry for (Si, Si, Si), the first is on line 1; keep one of them"
    )


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("m", "2", "1 or 3"),
        ("m", "1.5", "1 or 3"),
        *(
            (field, "-1", "a number that is not negative")
            for field in ("gamma", "c", "d", "n", "beta", "R", "D")
        ),
        *((field, "-1", "a number that is not negative") for field in ("lambda1", "lambda2", "A", "B")),
        ("d", "0", "a positive number: the angular function divides by d"),
        ("D", "3.5", "at most R = 3: the cutoff region starts at R - D"),
        ("n", "0", "a positive number: the bond order has the exponent 1/(2n)"),
    ],
)
def test_tersoff_impossible_values(tersoff, field, value, expected):
    assert refused(tersoff, entry(**{field: value})) == (
        f"line 1: field '{field}' of entry (Si, Si, Si) is {value}, expected {expected}"
    )


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 200), st.integers(0, 30), st.text("Si 3.e-#\n\r:x\0é", max_size=12) | st.binary(max_size=8)
)
def test_damaged_files_give_a_value_or_our_error(tmp_path_factory, start, length, damage):
    texts = ("# DATE: 1 UNITS: metal\n" + entry(), "# UNITS: metal\nmixing none\n" + ARGON)
    for text, read in zip(texts, (read_tersoff, read_lj), strict=True):
        data = text.encode()
        patch = damage if isinstance(damage, bytes) else damage.encode()
        path = tmp_path_factory.getbasetemp() / "damaged"
        path.write_bytes(data[:start] + patch + data[start + length :])
        try:
            read(path)
        except ParameterFileError as error:
            assert "\n" not in str(error)  # noqa: PT017


# Lennard-Jones

ARGON = "truncation truncated\nAr Ar 0.01 3.0 8.0\n"


def test_lj_reads_directives_and_rows(lj):
    file = lj("# UNITS: metal\nmixing none # c\n" + ARGON + "Kr Ar 0.02 3.5 9\n")
    assert (file.mixing, file.truncation, file.elements) == ("none", "truncated", ("Ar", "Kr"))
    assert list(file.pairs) == [("Ar", "Ar"), ("Ar", "Kr")]
    assert vars(file.pairs["Ar", "Ar"]) == {"epsilon": 0.01, "sigma": 3.0, "cutoff": 8.0}


@pytest.mark.parametrize(
    ("mixing", "sigma", "cutoff"), [("lorentz-berthelot", 7.5, 13.0), ("geometric", 6.0, 12.0)]
)
def test_lj_mixes_unlike_pairs_without_a_row(lj, mixing, sigma, cutoff):
    rows = "Ar Ar 0.01 3.0 8.0\nKr Kr 0.04 12.0 18.0\n"
    assert ("Ar", "Kr") not in lj(f"mixing {mixing}\ntruncation force-shifted\n{rows}").pairs
    mixed = load_forcefield(lj.path).terms[0].table.row(("Kr", "Ar"))
    assert mixed == pytest.approx({"epsilon": 0.02, "sigma": sigma, "cutoff": cutoff}, rel=1e-15)
    lj(f"mixing {mixing}\ntruncation force-shifted\n{rows}Ar Kr 1 2 3\n")
    assert load_forcefield(lj.path).terms[0].table.row(("Kr", "Ar"))["epsilon"] == 1.0


def test_lj_missing_pair_without_a_rule(lj):
    assert lj(ARGON + "Kr Kr 0.02 3.5 9\n").mixing == "none"
    with pytest.raises(MissingParameterError, match=r"Ar\.lj has no pair \(Ar, Kr\), \(Kr, Ar\); it defines"):
        load_forcefield(lj.path).bind(["Ar", "Kr"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ARGON + "Ar Kr 1 2 3\nKr Ar 1 2 3\n",
            "line 4: second row for Ar-Kr, the first is on line 3; keep one",
        ),
        (
            "Ar Ar 0.01 3 8\n",
            "has no truncation line, expected one of: truncation truncated, energy-shifted or",
        ),
        ("truncation truncated\n", "has no row, expected at least one of: element element epsilon(eV)"),
        (
            "truncation shifted\n",
            "line 1: field 'truncation' is 'shifted', expected truncated, energy-shifted or",
        ),
        ("mixing\n", "line 1: mixing has 0 values, expected one of lorentz-berthelot, geometric or none"),
        ("mixing none none\n", "line 1: mixing has 2 values, expected one of"),
        (
            "mixing none\n\nmixing none\n",
            "line 3: second mixing line, the first is on line 1; keep one of them",
        ),
        ("mixng none\n", "line 1: 'mixng' is unknown, did you mean 'mixing'?"),
        ("hello\n", "line 1: 'hello' is unknown, expected mixing, truncation, or a row element element"),
        ("Ar Ar 0.01 3\n", "line 1: 4 words, expected 5: element element epsilon(eV) sigma(angstrom)"),
        ("Ar Ar 0.01 3 8 9\n", "line 1: 6 words, expected 5"),
        ("AR Ar 0.01 3 8\n", "line 1: field 'element 1' is 'AR', expected a chemical symbol such as Ar"),
        ("Ar Qq 0.01 3 8\n", "line 1: field 'element 2' is 'Qq', expected a chemical symbol: species are"),
        ("Ar 0.01 3 8\n", "line 1: field 'element 2' is '0.01', expected a chemical symbol"),
        ("Ar Ar 0.01 3 8A\n", "line 1: field 'cutoff' is '8A', expected a number"),
        ("Ar Ar nan 3 8\n", "line 1: field 'epsilon' is 'nan', expected a finite number"),
        ("Ar Ar -1 3 8\n", "line 1: field 'epsilon' is -1, expected an energy in eV that is not negative"),
        ("Ar Ar 1 0 8\n", "line 1: field 'sigma' is 0, expected a positive distance in angstrom"),
        ("Ar Ar 1 3 -8\n", "line 1: field 'cutoff' is -8, expected a positive distance in angstrom"),
    ],
)
def test_lj_refuses(lj, text, expected):
    assert refused(lj, text).startswith(expected)


def test_lj_other_units_are_refused(lj):
    assert refused(lj, "# UNITS: lj\n" + ARGON, UnitsMismatchError).startswith(
        "line 1 says UNITS: lj, expected metal"
    )
