"""Job files that are damaged, foreign or meant otherwise: one line each."""

import os

import pytest

from taichimd.core.errors import SettingsError
from taichimd.core.names import hint
from taichimd.forcefields.spec import read_options
from taichimd.settings.axes import values_of
from taichimd.settings.config import make_settings
from taichimd.settings.job_file import read_toml

BASE = b'structure = "a.xyz"\npotential = "Ar.lj"\n'


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (b"seed = " + b"9" * 5000, "a number of thousands of digits"),
        (b"seed = 0x" + b"f" * 5000, "seed = a number of thousands of digits: expected a whole number"),
        (b"seed = " + b"[" * 5000 + b"]" * 5000, "brackets nested too deeply"),
        (b"steps = 1\nsteps = 2", "is not valid TOML: Cannot overwrite a value"),
        (bytes(range(256)), "is not valid TOML|is not text: byte"),
        (b"\xff\xfe", "is not text: byte 40 is not UTF-8"),
        (b"#" * 2_000_000, "is larger than 1,000,000 bytes"),
    ],
)
def test_what_is_no_job_file(tmp_path, more, said):
    file = tmp_path / "job.toml"
    file.write_bytes(BASE + more)
    with pytest.raises(SettingsError, match=said) as caught:
        make_settings({}, file)
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)
    file.write_bytes(BASE)
    make_settings({}, file)


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path, tmp_path / "pipe.toml"):
        with pytest.raises(SettingsError, match="is a folder or a device, expected a TOML file"):
            read_toml(path)
    with pytest.raises(SettingsError, match="does not exist"):
        read_toml(tmp_path / "none.toml")


@pytest.mark.parametrize("key", ["structure", "potential", "output", "restart"])
def test_a_null_character_is_in_no_name(tmp_path, key):
    file = tmp_path / "job.toml"
    file.write_text(f'{key} = "a\\u0000b"\n')
    with pytest.raises(SettingsError, match=rf"{key} = .*a\\x00b.*: \\0 ends a name"):
        make_settings({}, file)


def test_an_unknown_name_has_a_suggestion_wherever_it_stands():
    with pytest.raises(
        SettingsError, match="'temprature' is not a setting of a run; did you mean 'temperature'"
    ):
        values_of("temprature", "300")
    with pytest.raises(SettingsError, match="unknown key 'temprature'; did you mean 'temperature'"):
        make_settings({"temprature": 300})
    assert hint("Frames-Every", ["frames_every", "every"]) == "did you mean 'frames_every'?"
    assert hint("NVT-langvin", ["nvt-langevin"]) == "did you mean 'nvt-langevin'?"
    assert hint("x", ["one", "two"], "keys") == "known keys: one, two"


@pytest.mark.parametrize("text", ["1٣", "1_000", "１２"])
def test_numbers_have_plain_digits(text, call):
    for option in ("seed", "temperature", "timestep", "pressure"):
        with pytest.raises(SettingsError, match=f"{option} = '{text}': expected"):
            values_of(option, text)
    with pytest.raises(SettingsError, match=f"tolerance = '{text}': expected a number"):
        read_options("H2O.ffield", f"tolerance={text}", {"tolerance": 1e-6})
    for words in (
        f"run a.xyz --steps {text}",
        f"run a.xyz --temperature {text}",
        f"run a.xyz --replicas {text}",
        f"run a.xyz --timestep {text}",
        f"sweep job.toml --seeds {text}",
        f"build silicon --cells {text}",
        f"run a.xyz --potential Si.sw:x={text} --pressure {text}",
        f"mc a.xyz --potential Si.sw --sweeps {text} --temperature 300",
        f"mc a.xyz --potential Si.sw --sweeps 3 --temperature 300,{text}",
    ):
        code, _, error = call(words)
        assert code == 2
        assert error.count("\n") == 1
        assert text in error, words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run a.xyz --ensemble NVT-langvin", "did you mean 'nvt-langevin'?"),
        ("run a.xyz --ensemble nvt-langvin", "did you mean 'nvt-langevin'?"),
        ("run a.xyz --frames extxzy", "did you mean 'extxyz'?"),
        ("mc a.xyz --potential Si.sw --moves singel", "did you mean 'single'?"),
        ("relax a.xyz --potential Si.sw --cell isotopic", "did you mean 'isotropic'?"),
        ("run a.xyz --potential Si.sw --backend cdua", "did you mean 'cuda'?"),
    ],
)
def test_a_wrong_word_of_a_choice_has_a_suggestion(words, said, call):
    code, _, error = call(words)
    assert code == 2
    assert said in error
    assert error.count("\n") == 1


def test_a_word_that_several_choices_begin_with_has_no_suggestion(call):
    code, _, error = call("run a.xyz --ensemble NVT")
    assert code == 2
    assert error.count("\n") == 1
    assert "ensemble = 'NVT': expected nve, nvt-langevin" in error
    assert "did you mean" not in error


def test_a_name_that_the_locale_cannot_read_is_said_so(call):
    code, _, error = call("run a.xyz --output \udcc3\udcbc/out")
    assert code == 2
    assert error.startswith(
        "error: \\udcc3\\udcbc/out: these bytes are no text in the encoding of the locale, "
    )
    assert error.count("\n") == 1
