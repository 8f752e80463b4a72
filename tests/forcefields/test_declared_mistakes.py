"""Mistakes in a user's own function: one line with file, line and what to do, whatever the runtime says."""

import subprocess
import sys

import pytest

from taichimd.cli.app import main

pytestmark = pytest.mark.runtime("taichi")

TOP = """import numpy as np

from taichimd import pair_potential, triplet_potential
from taichimd.core.math import exp

"""
PAIR = '@pair_potential(params={"k": "eV"})\ndef mine(r, p):\n'
DERIVED = '@pair_potential(params={"k": "eV"}, derive=True)\ndef mine(r, p):\n'
TRIPLET = '@triplet_potential(params={"k": "eV"})\ndef mine(r_ij, r_ik, cos_jik, p):\n'
END = "\n\npotential = mine(k=1.0, cutoff=4.0)\n"


@pytest.fixture
def complaint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def of(function):
        (tmp_path / "own.py").write_text(TOP + function + END)
        with pytest.raises(SystemExit) as caught:
            main(["check", "own.py:potential"])
        captured = capsys.readouterr()
        assert caught.value.code == 2, captured.out
        assert captured.err.startswith("error: ")
        assert captured.err.count("\n") == 1
        assert captured.err.count("own.py") <= 1
        assert "ParameterFileError" not in captured.err
        return captured.err

    return of


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (PAIR + "    if r > 2.0:\n        return 0.0, 0.0\n    return p.k, r\n", ["line 9", "one return"]),
        (PAIR + "    u = p.k * exp(-r)\n", ["own.py line 7", "one return, at its end"]),
        (PAIR + "    return p.k * exp(-r)\n", ["returns 1 value, expected u, du/dr", "derive=True"]),
        (DERIVED + "    return p.k * exp(-r), -p.k\n", ["line 8", "returns 2 values, expected u\n"]),
        (TRIPLET + "    return p.k, 0.0\n", ["returns 2 values, expected h, dh/dr_ij, "]),
        (PAIR + "    u = p.q * r\n    return u, p.k\n", ["own.py line 8", "mine cannot be compiled", "'q'"]),
        (PAIR + "    return p.k * np.exp(-r), 0.0\n", ["own.py line 8", "taichimd.core.math"]),
        (PAIR + "    return p.k * undefined, 0.0\n", ["own.py line 8", "undefined"]),
        (DERIVED + "    return p.k * np.exp(-r)\n", ["mine: cannot derive it", "taichimd.core.math"]),
        (DERIVED + "    return p.q * r\n", ["mine: cannot derive it", "'q'"]),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_mistake_is_one_line_with_its_place(complaint, function, words):
    err = complaint(function)
    for word in words:
        assert word in err


def test_a_function_made_without_source_is_not_judged():
    from taichimd.forcefields.source import check_returns

    space = {}
    exec("def f(r, p):\n    return r", space)
    check_returns(space["f"], 2, derive=False)


def test_the_runtime_does_not_warn_of_what_the_error_says(tmp_path):
    (tmp_path / "own.py").write_text(TOP + PAIR + "    return p.k * np.exp(-r), 0.0\n" + END)
    line = [sys.executable, "-m", "taichimd", "check", "own.py:potential"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
