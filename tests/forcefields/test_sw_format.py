"""The reader of `.sw` files: what it accepts, and the message for everything it refuses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import reader, refused

from taichimd.core.errors import ParameterFileError, UnitsMismatchError
from taichimd.forcefields.formats.sw import FIELDS, read_sw

NUMBERS = dict(zip(FIELDS, "2.1683 2.0951 1.8 21 1.2 -0.3333 7.0496 0.6022 4 0 0".split(), strict=True))


def entry(elements="Si Si Si", **changes) -> str:
    """One line; `lam` stands for lambda."""
    if "lam" in changes:
        changes["lambda"] = changes.pop("lam")
    return f"{elements} {' '.join((NUMBERS | changes).values())}\n"


@pytest.fixture
def sw(tmp_path):
    return reader(tmp_path, "Si.sw", read_sw)


def test_values_by_name(sw):
    file = sw("# DATE: 2026-11-21 UNITS: metal CITATION: x\n" + entry(tol="1e-3"))
    found = file.entries["Si", "Si", "Si"]
    values = [found.epsilon, found.sigma, found.a, found.lam, found.gamma, found.costheta0]
    values += [found.A, found.B, found.p, found.q, found.tol]
    assert values == [2.1683, 2.0951, 1.8, 21.0, 1.2, -0.3333, 7.0496, 0.6022, 4.0, 0.0, 1e-3]
    assert (file.elements, file.header.date) == (("Si",), "2026-11-21")


@pytest.mark.parametrize(
    "text",
    [
        entry().replace(" ", "\n"),
        entry().replace(" ", " # 1 2\n"),
        "\n# c\n\t" + entry(p="4.0", q="-0.0E+00"),
    ],
    ids=["one word a line", "comments between words", "number forms"],
)
def test_layouts_mean_the_same(sw, text):
    assert sw(text).entries == sw(entry()).entries


@pytest.mark.parametrize(
    ("changes", "cutoff"),
    [
        ({}, 3.77118),
        ({"tol": "1e-3"}, 3.4678832103),
        ({"tol": "1e-6", "gamma": "0.7"}, 3.6650261236),
        ({"tol": "0.01"}, 3.3162348155),
        ({"tol": "0.5"}, 3.3162348155),
        ({"tol": "0.5", "gamma": "0"}, 3.77118),
    ],
)
def test_tol_shortens_the_cutoff_as_lammps_does(sw, changes, cutoff):
    """Numbers: where the energy of two atoms became zero in LAMMPS (22 Jul 2025), found by bisection."""
    file = sw(entry(**changes))
    found = file.entries["Si", "Si", "Si"]
    assert found.cutoff == pytest.approx(cutoff, abs=1e-9)
    assert found.end == pytest.approx(3.77118, rel=1e-12)


def test_unused_numbers_may_be_zero(sw):
    zeros = dict.fromkeys(("sigma", "a", "gamma", "A", "B", "p", "q", "tol"), "0")
    assert sw(entry("Si C Si", **zeros)).entries["Si", "C", "Si"].cutoff == 0.0
    nothing = dict.fromkeys(FIELDS, "0")
    assert sw(entry("Si C C", **nothing)).entries["Si", "C", "C"].cutoff == 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "# header\nSi Si Si 2.1 2.0 1.8\n 21 1.2 abc 7 0.6 4 0 0\n",
            "line 3: field 'costheta0' is 'abc', expected a number (in the entry that began on line 2)",
        ),
        (entry(A="nan"), "line 1: field 'A' is 'nan', expected a finite number"),
        (
            entry(lam="2.1d1"),
            "line 1: field 'lambda' is '2.1d1', expected a number: write the exponent with e",
        ),
        (
            entry().rsplit(" ", 1)[0] + "\n" + entry("C C C"),
            "line 2: field 'tol' is 'C', expected a number (in the entry that began on line 1)",
        ),
        (
            entry() + "C C C 3 1\n 0 # the rest is gone\n",
            "line 3: field 'lambda' is missing, the entry that began on line 2 has 6 words, "
            "expected 3 elements and 11 numbers",
        ),
        ("Si Si", "line 1: field 'element k (second neighbour)' is missing, the entry that began on line 1"),
        (
            entry("Si Si"),
            "line 1: field 'element k (second neighbour)' is '2.1683', expected a chemical symbol: "
            "an entry is 3 elements and 11 numbers",
        ),
        (entry().strip() + " 0\n", "line 1: '0' is one word too many, an entry is 3 elements and 11 numbers"),
        (
            entry() + "\n" + entry(A="1"),
            "line 3: second entry for (Si, Si, Si), the first is on line 1; keep one of them",
        ),
        ("# only comments\n", "has no entry, expected LAMMPS's sw format: three elements and 11 numbers"),
    ],
)
def test_refuses(sw, text, expected):
    assert refused(sw, text).startswith(expected)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        *((field, "-1", "a number that is not negative") for field in FIELDS if field != "costheta0"),
        ("costheta0", "109.47", "a cosine, between -1 and 1"),
        ("sigma", "0", "a positive number: an entry with j = k says how far the pair i-j reaches"),
        ("a", "0", "a positive number: an entry with j = k says how far the pair i-j reaches"),
    ],
)
def test_impossible_values(sw, field, value, expected):
    text = entry(**{field: value})
    assert (
        refused(sw, text) == f"line 1: field '{field}' of entry (Si, Si, Si) is {value}, expected {expected}"
    )


def test_other_units_are_refused(sw):
    assert refused(sw, "# UNITS: real\n" + entry(), UnitsMismatchError).startswith("line 1 says UNITS: real")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 90), st.integers(0, 30), st.text("Si 3.e-#\n\r:x\0é", max_size=12))
def test_damaged_files_give_a_value_or_our_error(tmp_path_factory, start, length, damage):
    data = ("# DATE: 1 UNITS: metal\n" + entry()).encode()
    path = tmp_path_factory.getbasetemp() / "damaged.sw"
    path.write_bytes(data[:start] + damage.encode() + data[start + length :])
    try:
        read_sw(path)
    except ParameterFileError as error:
        assert "\n" not in str(error)  # noqa: PT017
