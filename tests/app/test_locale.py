"""Names of files and a terminal in an encoding that is not UTF-8: it works, or one line says what to do."""

import os
import subprocess
import sys

import pytest
from ase.build import bulk

ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
"""Python reads and writes names in ASCII; with LC_ALL=C alone it takes UTF-8."""
RUN = "--potential Ar.lj --steps 4 --temperature 30 --backend cpu"


@pytest.fixture
def folder(tmp_path):
    """A folder whose name has no letter of ASCII alone, with a structure in it."""
    place = tmp_path / "ünï"
    place.mkdir()
    for name in ("ä.xyz", "a.xyz"):
        bulk("Ar", cubic=True, a=5.4).write(place / name, format="extxyz")
    return place


def taichimd(line, where, **environment):
    """Exit code, standard output and standard error of a command, as bytes."""
    command = [sys.executable, "-m", "taichimd", *line.split()]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=where, capture_output=True, env=os.environ | paths | environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}])
def test_names_are_read_and_written(environment, folder):
    code, out, error = taichimd(f"run ünï/ä.xyz {RUN} --output ünï/ö", folder.parent, **environment)
    assert (code, error) == (0, b"")
    assert (folder / "ö" / "run.json").exists()
    assert "ünï/ö/".encode(environment.get("PYTHONIOENCODING", "utf-8")) in out


@pytest.mark.long
def test_a_folder_that_the_locale_cannot_read_holds_a_run_and_its_restart(folder):
    assert taichimd(f"run a.xyz {RUN} --output out", folder, **ASCII)[::2] == (0, b"")
    # Elsewhere the name is what it is.
    for environment in (ASCII, {"PYTHONUTF8": "1"}):
        assert taichimd("run --restart out --steps 2", folder, **environment)[::2] == (0, b"")


EACH = """
import sys
from taichimd.__main__ import main

for line in sys.stdin:
    try:
        main(line.split())
    except SystemExit as end:
        print(f"exit code {end.code}", file=sys.stderr)
"""


def test_a_name_that_the_locale_cannot_write_is_one_line(folder):
    place = folder.parent
    for name, structure in (("structure", "ünï/ä.xyz"), ("folder", "a.xyz")):
        (place / f"{name}.toml").write_text(
            f'[system]\nstructure = "{structure}"\n[potential]\nfile = "Ar.lj"\n'
            '[output]\nfolder = "ünï/out"\n',
            encoding="utf-8",
        )
    (folder / "a.xyz").rename(place / "a.xyz")
    said = {
        "run ünï/ä.xyz --potential Ar.lj": b"these bytes are no text in the encoding of the locale, ascii",
        "run structure.toml --steps 4": b"\\xfcn\\xef/\\xe4.xyz: the encoding of the locale, ascii, cannot",
        "run folder.toml --steps 4": b"\\xfcn\\xef/out: the encoding of the locale, ascii, cannot",
    }
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", EACH], cwd=place, capture_output=True, env=os.environ | paths | ASCII,
        input="\n".join(said).encode(),
    )  # fmt: skip
    lines = done.stderr.splitlines()
    assert lines[1::2] == [b"exit code 2"] * 3
    for line, expected in zip(lines[::2], said.values(), strict=True):
        assert expected in line
        assert b"PYTHONUTF8=1" in line
