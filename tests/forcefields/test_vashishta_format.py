"""The reader of `.vashishta` files: what it accepts, and the message for everything it refuses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import reader, refused

from taichimd.core.errors import ParameterFileError, UnitsMismatchError
from taichimd.forcefields.formats.vashishta import FIELDS, SIGNED, read_vashishta

TEXT = "163.859 9 1.6 -0.8 999 44.2357 4.43 61.5 10 5.0365 1 2.6 0.5 -0.3333"
NUMBERS = dict(zip(FIELDS, TEXT.split(), strict=True))


def entry(elements="Si Si Si", **changes) -> str:
    """One line."""
    return f"{elements} {' '.join((NUMBERS | changes).values())}\n"


@pytest.fixture
def vashishta(tmp_path):
    return reader(tmp_path, "Si.vashishta", read_vashishta)


def test_values_by_name(vashishta):
    file = vashishta("# DATE: 2026-11-21 UNITS: metal CITATION: x\n" + entry())
    found = file.entries["Si", "Si", "Si"]
    assert [getattr(found, field) for field in FIELDS] == [float(word) for word in TEXT.split()]
    assert (file.elements, file.header.date) == (("Si",), "2026-11-21")


@pytest.mark.parametrize(
    "text",
    [
        entry().replace(" ", "\n"),
        entry().replace(" ", " # 1 2\n"),
        "\n# c\n\t" + entry(eta="9.0", C="+5.0E-01"),
    ],
    ids=["one word a line", "comments between words", "number forms"],
)
def test_layouts_mean_the_same(vashishta, text):
    assert vashishta(text).entries == vashishta(entry()).entries


def test_unused_numbers_may_be_zero(vashishta):
    nothing = dict.fromkeys(FIELDS, "0")
    for elements in ("Si O Si", "Si O O"):
        (found,) = vashishta(entry(elements, **nothing)).entries.values()
        assert found.rc == found.r0 == 0.0
    angle = nothing | {"B": "3", "costheta0": "-0.5"}
    assert vashishta(entry("Si O Si", **angle)).entries["Si", "O", "Si"].B == 3.0
    # Screening lengths of terms without strength.
    assert vashishta(entry(lambda1="0", Zi="0", lambda4="0", D="0")).entries


def test_what_a_mixed_entry_says_of_pairs_is_not_looked_at(vashishta):
    assert vashishta(entry("Si O Si", r0="12", lambda1="0")).entries


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "# header\nSi Si Si 163 9 1.6 -0.8\n 999 44 4.43 0 ten 5 1 2.6 0 0\n",
            "line 3: field 'rc' is 'ten', expected a number (in the entry that began on line 2)",
        ),
        (entry(H="nan"), "line 1: field 'H' is 'nan', expected a finite number"),
        (entry(W="1d3"), "line 1: field 'W' is '1d3', expected a number: write the exponent with e"),
        (
            entry() + "C C C 3 1\n 0 # the rest is gone\n",
            "line 3: field 'Zj' is missing, the entry that began on line 2 has 6 words, "
            "expected 3 elements and 14 numbers",
        ),
        (
            entry("Si Si"),
            "line 1: field 'element k (second neighbour)' is '163.859', expected a chemical symbol: "
            "an entry is 3 elements and 14 numbers",
        ),
        (entry().strip() + " 0\n", "line 1: '0' is one word too many, an entry is 3 elements and 14 numbers"),
        (
            entry() + "\n" + entry(H="1"),
            "line 3: second entry for (Si, Si, Si), the first is on line 1; keep one of them",
        ),
        ("# only comments\n", "has no entry, expected LAMMPS's vashishta format: three elements and 14"),
    ],
)
def test_refuses(vashishta, text, expected):
    assert refused(vashishta, text).startswith(expected)


FAR = "a positive number: an entry with j = k says how far the "


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        *(({f: "-1"}, f, "a number that is not negative") for f in FIELDS if f not in SIGNED),
        ({"costheta0": "109.47"}, "costheta0", "a cosine, between -1 and 1"),
        ({"r0": "10.5"}, "r0", "at most rc, 10: three-body terms end within the two-body term"),
        ({"rc": "2.5"}, "r0", "at most rc, 2.5: three-body terms end within the two-body term"),
        ({"lambda1": "0"}, "lambda1", "a positive screening length"),
        ({"lambda4": "0"}, "lambda4", "a positive screening length"),
        ({"rc": "0"}, "rc", FAR + "pair i-j reaches"),
        ({"r0": "0"}, "r0", FAR + "angles of i-j reach"),
    ],
)
def test_impossible_values(vashishta, changes, field, expected):
    value = (NUMBERS | changes)[field]
    assert refused(vashishta, entry(**changes)) == (
        f"line 1: field '{field}' of entry (Si, Si, Si) is {value}, expected {expected}"
    )


def test_other_units_are_refused(vashishta):
    text = "# UNITS: real\n" + entry()
    assert refused(vashishta, text, UnitsMismatchError).startswith("line 1 says UNITS: real")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 120), st.integers(0, 30), st.text("Si 3.e-#\n\r:x\0é", max_size=12))
def test_damaged_files_give_a_value_or_our_error(tmp_path_factory, start, length, damage):
    data = ("# DATE: 1 UNITS: metal\n" + entry()).encode()
    path = tmp_path_factory.getbasetemp() / "damaged.vashishta"
    path.write_bytes(data[:start] + damage.encode() + data[start + length :])
    try:
        read_vashishta(path)
    except ParameterFileError as error:
        assert "\n" not in str(error)  # noqa: PT017
