"""Numbers, encodings and layouts of parameter files: what counts as a number, and what a refusal says."""

import re

import pytest
from reading import reader, refused

from taichimd import AxilrodTeller, LennardJones, load_forcefield
from taichimd.core.errors import ParameterFileError, SettingsError
from taichimd.core.scalars import digits
from taichimd.forcefields import library
from taichimd.forcefields.formats.atm import read_atm
from taichimd.forcefields.formats.lj import read_lj
from taichimd.forcefields.formats.sw import read_sw
from taichimd.forcefields.formats.tersoff import read_tersoff
from taichimd.forcefields.formats.vashishta import read_vashishta
from taichimd.forcefields.reaxff.ffield import read_ffield

TERSOFF = "Si Si Si  3 1 1.3258 4.8381 2.0417 0 22.956 0.33675 1.3258 95.373 3 0.2 3.2394 3264.7\n"
READERS = {
    "Si.tersoff": (read_tersoff, TERSOFF, "3.2394"),
    "Si.sw": (read_sw, "Si Si Si 2.1683 2.0951 1.8 21 1.2 -0.333 7.0495 0.6022 4 0 0\n", "7.0495"),
    "X.vashishta": (read_vashishta, "Si Si Si 1.5 7 1 1 5 2 3 1 6 4 1 2.6 0 -0.5\n", "1.5"),
    "Ar.lj": (read_lj, "truncation truncated\nAr Ar 0.0103408 3.4 8.5\n", "0.0103408"),
    "Ar.atm": (read_atm, "cutoff 8.5\nAr Ar Ar 45.6878\n", "45.6878"),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("\u0663", "expected a number in plain digits, such as 3.0"),
        ("\uff13.0", "expected a number in plain digits"),
        ("1_0", "expected a number"),
        ("3,5", "expected a number"),
        ("0x1p3", "expected a number"),
        ("nan", "expected a finite number"),
        ("-inf", "expected a finite number"),
        ("1e400", "expected a finite number"),
        ("1.5d0", "write the exponent with e, 1.5e0"),
        ("1e300", "expected 0 or a number between 1e-50 and 1e+50"),
        ("1e-300", "expected 0 or a number between 1e-50 and 1e+50"),
        ("1" * 5000, "expected a finite number"),
    ],
)
def test_only_plain_numbers_of_usual_size_count(tmp_path, name, word, says):
    read, text, number = READERS[name]
    message = refused(reader(tmp_path, name, read), text.replace(number, word))
    assert message.startswith(f"line {1 + text[: text.index(number)].count(chr(10))}: field '")
    assert says in message
    assert len(message) < 200


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("Si.tersoff", " 3 0.2 ", " 1e6 0.2 ", r"'R' .* is 1e\+06, expected R \+ D of 1000 angstrom"),
        ("Si.sw", "2.0951", "1e6", r"'sigma' .* is 1e\+06, expected a sigma, the cutoff, of 1000"),
        ("X.vashishta", "6 4 1 2.6", "1e6 4 1 2.6", "field 'rc' .* 1e\\+06, expected 1000 angstrom or less"),
        ("Ar.lj", "8.5", "1e6", "field 'cutoff' is 1e\\+06, expected 1000 angstrom or less"),
        ("Ar.lj", "8.5", "-8.5", "field 'cutoff' is -8.5, expected a positive distance"),
        ("Ar.lj", "8.5", "0", "field 'cutoff' is 0, expected a positive distance"),
        ("Ar.atm", "8.5", "1e6", "field 'cutoff' is 1e\\+06, expected a positive length in angstrom, 10"),
        ("Ar.atm", "8.5", "0", "field 'cutoff' is 0, expected a positive length"),
    ],
)  # fmt: skip
def test_lengths_that_are_no_cutoffs_are_refused(tmp_path, name, old, new, says):
    read, text, _ = READERS[name]
    message = refused(reader(tmp_path, name, read), text.replace(old, new))
    assert message.startswith("line ")
    assert re.search(says, message), message


def test_python_refuses_such_a_cutoff_too():
    with pytest.raises(
        SettingsError, match=r"cutoff is 1e\+06 angstrom, expected 1000 or less; check its unit"
    ):
        LennardJones(epsilon=0.01, sigma=3.4, cutoff=1e6)
    with pytest.raises(SettingsError, match="expected a positive length, 1000 or less"):
        AxilrodTeller(nu=45.0, cutoff=1e6)


@pytest.mark.parametrize("word", ["1e300", "\u0663", "1_0", "-1", "9" * 30])
def test_counts_of_an_ffield_file_are_plain_whole_numbers(tmp_path, word):
    text = library.find("H2O.ffield").read_text()
    lines = text.split("\n")
    lines[1] = lines[1].replace(lines[1].split()[0], word)
    file = tmp_path / "x.ffield"
    file.write_text("\n".join(lines))
    with pytest.raises(ParameterFileError, match=r"x\.ffield line 2: ") as caught:
        read_ffield(file)
    assert "\n" not in str(caught.value)


def test_a_file_of_a_million_elements_ends_in_one_line(tmp_path):
    lines = library.find("H2O.ffield").read_text().split("\n")
    at = next(k for k, line in enumerate(lines) if "Nr of atoms" in line or line.split()[:1] == ["2"])
    lines[at] = "1000000 ! atoms"
    file = tmp_path / "x.ffield"
    file.write_text("\n".join(lines))
    with pytest.raises(ParameterFileError, match=r"x\.ffield .*1000000") as caught:
        read_ffield(file)
    assert len(str(caught.value)) < 400


def test_the_message_has_the_digits_that_differ(tmp_path):
    message = refused(
        reader(tmp_path, "Si.tersoff", read_tersoff), TERSOFF.replace(" 3 1 ", " 3.00000000001 1 ")
    )
    assert message == "line 1: field 'm' of entry (Si, Si, Si) is 3.00000000001, expected 1 or 3"
    assert [digits(x) for x in (3.0, 3.00000000001, 1e-7, -0.5, 1 / 3)] == [
        "3", "3.00000000001", "1e-07", "-0.5", "0.3333333333333333",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("AlCu.adp", "an embedded-atom potential with angles"),
        ("library.meam", "a modified embedded-atom potential"),
        ("Ta06A.snapcoeff", "a SNAP potential"), ("C.nep", "a neuroevolution potential"),
        ("nep.txt", "a neuroevolution potential"), ("gp_iter6.xml", "an XML file"),
        ("Cu.yace", "an atomic cluster"),
        ("CH.airebo", "a REBO or AIREBO"),
        ("m.pth", "a machine-learned"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("exists", [True, False])
def test_a_format_that_is_not_supported_is_named(tmp_path, monkeypatch, name, what, exists):
    monkeypatch.chdir(tmp_path)
    if exists:
        (tmp_path / name).write_text("1 2 3\n")
    with pytest.raises(ParameterFileError) as caught:
        load_forcefield(name)
    message = str(caught.value)
    assert message.startswith(f"{name}: {what}")
    assert "in a format that is not supported; supported are .tersoff, .sw, " in message
    assert "\n" not in message


def _layouts():
    """Ways to write one entry of a Tersoff file that mean the same."""
    words = TERSOFF.split()
    one = " ".join(words)
    second = TERSOFF.replace("Si Si Si", "Ge Ge Ge")
    yield from (
        sep.join(words) + "\n" for sep in ("\n", "\t", "   ", "\r\n", "\r", " # c\n", "\n\n", "\n#\n", "\f ")
    )
    yield from (
        f"{begin}{one}\n" for begin in ("\n\n", "# c\n", "#\n#\n", "  ", "\t", "\ufeff", "# \u00e4\n", "##\n")
    )
    yield from (
        f"{one}{end}" for end in ("", "\n\n\n", " # c\n", "#c\n", "   \n", "\n# c\n", "\r\n", "\t\n", "\n#")
    )
    yield from (" ".join(words[:k]) + "\n" + " ".join(words[k:]) + "\n" for k in (3, 4, 9, 10, 16))
    yield TERSOFF.replace("0.2 ", ".2 ")
    yield TERSOFF.replace(" 3 ", " 3. ").replace(" 0 ", " 0.0 ")
    yield TERSOFF.replace("3264.7", "3.2647e3")
    yield TERSOFF.replace("3264.7", "+3.2647E+03")
    yield TERSOFF.replace("95.373", "0095.3730")
    yield TERSOFF.replace(" 0 ", " -0 ")
    yield second + TERSOFF


LAYOUTS = list(_layouts())


@pytest.mark.parametrize("text", LAYOUTS, ids=range(len(LAYOUTS)))
def test_layouts_of_a_tersoff_file_mean_the_same(tmp_path, text):
    read = reader(tmp_path, "Si.tersoff", read_tersoff)
    expected = read(TERSOFF).entries
    found = read(text).entries
    assert {key: found[key] for key in expected} == expected


def test_there_are_38_layouts():
    assert len(LAYOUTS) == 38


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\0" + TERSOFF.encode(), "is not a text file"),
        (TERSOFF.encode("utf-16"), "is not a text file"),
        (TERSOFF.encode() + b"\xff\xfe", "line 2: "),
        (b"x" * 2_000_000, "line 1 has 2,000,000 characters, expected 1,000,000 at most"),
        (b"Si " * 100_000, "line 1: "),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(tmp_path, data, says):
    message = refused(reader(tmp_path, "Si.tersoff", read_tersoff), data)
    assert says in message
    assert len(message) < 300
