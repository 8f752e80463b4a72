"""Processes that a command starts import what it does, and nothing of the current folder."""

import subprocess
import sys

import pytest

from taichimd.core.processes import same_module, same_python

PLANTED = "open('planted', 'w').close()\nraise SystemExit(5)\n"


@pytest.mark.parametrize("name", ["numpy.py", "json.py", "taichimd.py"])
def test_modules_of_the_current_folder_are_not_imported(name, tmp_path):
    (tmp_path / name).write_text(PLANTED)
    command = [*same_module("taichimd"), "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("taichimd ")
    assert not (tmp_path / "planted").exists()


def test_a_process_imports_from_the_same_places():
    command = same_python("print(sys.path)")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sys.path)
