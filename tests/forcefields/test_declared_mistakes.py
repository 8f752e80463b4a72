"""Mistakes in a user's own function: one line with file, line and what to do, whatever the runtime says."""

import re
import subprocess
import sys

import pytest
from ase.build import bulk

from taichimd import TaichiMD, load_forcefield
from taichimd.cli.app import main
from taichimd.core.errors import ParameterFileError, SettingsError
from taichimd.forcefields.declare import pair_potential
from taichimd.forcefields.source import PAIR as OF_PAIRS
from taichimd.forcefields.source import check_function

TOP = """import math

import numpy as np

import taichimd.math as ours
from taichimd import ManyBody, each_atom, neighbour_sum, pair_forces, pair_potential, triplet_potential
from taichimd.math import exp

TABLE = np.array([1.0, 2.0])


def decides(x):
    if x > 1.0:
        x = 2.0
    return x


"""
HEAD = TOP.count("\n")
PARAMS = 'params={"k": "eV"}'
END = "\n\npotential = mine(k=1.0, cutoff=4.0)\n"


def function(body, decorator=f"@pair_potential({PARAMS})", head="def mine(r, p):"):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{decorator}\n{head}\n{lines}{END}"


def derived(body):
    return function(body, f"@pair_potential({PARAMS}, derive=True)")


def triplet(body, arguments="r_ij, r_ik, cos_jik, p"):
    return function(body, f"@triplet_potential({PARAMS})", f"def mine({arguments}):")


def passes(density="p.k * exp(-r)", mine="mine", atom="-mine.density, -1.0", forces="0.0, 0.0, 0.0"):
    return f"""@neighbour_sum("density")
def density(r, p, mine, theirs):
    return {density}


@each_atom("slope")
def embedding({mine}):
    return {atom}


@pair_forces
def bonds(r, p, mine, theirs):
    return {forces}


parts = [density, embedding, bonds]
potential = ManyBody("glue", parts, arrays=("density", "slope"), {PARAMS})(k=1.0, cutoff=4.0)
"""


@pytest.fixture
def complaint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def of(text, command="check own.py:potential --elements Si"):
        (tmp_path / "own.py").write_text(TOP + text)
        with pytest.raises(SystemExit) as caught:
            main(command.split())
        captured = capsys.readouterr()
        assert caught.value.code == 2, captured.out
        assert captured.err.startswith("error: ")
        assert captured.err.count("\n") == 1
        assert len(captured.err) < 500
        assert captured.err.count("own.py") <= 1
        assert "taichimd.core" not in captured.err
        assert "ParameterFileError" not in captured.err
        return captured.err

    return of


AT_DECLARATION = {
    "only u": (function("return p.k * exp(-r)"), 3, "returns 1 value, expected u, du/dr, or .* derive=True"),
    "nothing": (function("return"), 3, "returns nothing, expected u, du/dr"),
    "no return": (function("u = p.k * exp(-r)"), 2, "one return, at its end"),
    "two returns": (function("if r > 2.0:\n    return 0.0, 0.0\nreturn p.k, r"), 4, "one return"),
    "only r": (function("return r, 1.0", head="def mine(r):"), 2, r"takes 1 argument \(r\), expected 2: r"),
    "any number": (function("return r, 1.0", head="def mine(*a):"), 2, "takes 1 argument .*expected 2: r"),
    "p and r": (passes(mine="r, mine, p"), 7, r"takes 3 arguments .*, expected 2: mine, p"),
    "one of two": (passes(atom="mine.density"), 8, "returns 1 value, expected u, slope"),
    "no forces": (passes(forces="None"), 13, "returns nothing, expected u, dU_i/dr, dU_j/dr"),
    "two sums": (passes(density="1.0, 2.0"), 3, "returns 2 values, expected the number to sum"),
    "number of nobody": (passes(forces="mine.densty, 0.0, 0.0"), 13, "mine has no 'densty'; did you mean"),
    "number of later": (passes(density="theirs.slope"), 3, "reads theirs.slope, which no earlier pass has"),
    "parameter of nobody": (function("return p.q * r, p.k"), 3, "p has no 'q'; it has k, cutoff"),
    "the same, derived": (derived("return p.q * r"), 3, "p has no 'q'; it has k, cutoff"),
    "endless": (function("u = 0.0\nwhile True:\n    u += r\nreturn u, r"), 4, "never ends: .* no break"),
    "recursion": (function("return mine(r, p), 1.0"), 3, "calls itself"),
    "a cut fraction": (function("u = 0\nif r < 2.0:\n    u = 1.5 * p.k\nreturn u, r"), 3, "line .* lose its"),
    "number and list": (function("u = r\nu = [r, r]\nreturn u, r"), 4, "begins as a number and cannot"),
    "lambda": (f"mine = pair_potential({PARAMS})(lambda r, p: (r, r)){END}", 1, "write .* with def"),
    "triplet": (triplet("return p.k, 0.0"), 3, "returns 2 values, expected h, dh/dr_ij, dh/dr_ik, dh/dcos"),
    "triplet of two": (triplet("return p.k", "r_ij, r_ik, p"), 2, "takes 3 arguments .* 4: r_ij, r_ik, cos"),
    "both, derived": (derived("return p.k * exp(-r), -p.k"), 3, "returns 2 values, expected u$"),
    "NumPy, derived": (derived("return p.k * np.exp(-r)"), 3, "mine: cannot derive it .* taichimd.math"),
    "undefined, derived": (derived("return p.k * absent"), 3, "cannot derive it .*absent"),
    "branch, derived": (derived("return r if r < 2.0 else 1.0"), 3, "cannot derive it .*truth value"),
    "infinite, derived": (derived("return p.k / (r - r)"), 3, "cannot derive it .* a real number"),
    "no names": ("@each_atom\ndef mine(a):\n    return 1.0, 2.0\n", 1, "takes names of arrays, as @each"),
}  # fmt: skip
WHEN_COMPILED = {
    "undefined": (function("return p.k * absent, 0.0"), 3, "absent"),
    "undefined on a path": (function("if r < 2.0:\n    u = 1.0\nreturn u, r"), 5, '"u" is not defined'),
    "NumPy": (function("return p.k * np.exp(-r), 0.0"), 3, "np.exp is not for .* exp from taichimd.math"),
    "math": (function("return p.k * math.exp(-r), 0.0"), 3, "math.exp is not for numbers of the device"),
    "only u by a name": (function("both = exp(-r)\nreturn both"), 4, "returns 1 value, expected u, du/dr"),
    "a vector": (function("return [r, r], 1.0"), 3, "returns a list as u, expected a real number"),
    "None": (function("return None, 1.0"), 3, "returns nothing as u"),
    "text": (function("return 'a', 1.0"), 3, "returns a str as u"),
    "comparison": (function("return r > 1.0, 1.0"), 3, "returns true or false as u"),
    "whole": (function("u = 0\nif r < 2.0:\n    u = 1\nreturn u, 1.0"), 6, "a whole number as u.* 0.0"),
    "array": (function("return TABLE, 1.0"), 3, "returns a ndarray as u"),
    "parameters": (function("return p, 1.0"), 3, "returns all parameters as u"),
    "try": (function("try:\n    u = r\nexcept ValueError:\n    u = r\nreturn u, r"), 3, "Try"),
    "function inside": (function("def f(x):\n    return x\nreturn f(r), r"), 3, "Function definition"),
    "index": (function("return r[0], r"), 3, r"`return r\[0\], r` cannot be done"),
    "array at a place": (function("return TABLE[int(r)], r"), 3, "cannot be compiled"),
    "too many for exp": (function("return exp(r, r), r"), 3, "Too many arguments"),
    "text for exp": (function("return exp('a'), r"), 3, "cannot be compiled: .*str"),
    "sum by a name": (passes(density="[r, r]"), 3, "returns 2 values, expected the number to sum"),
    "each by a name": (passes(atom="exp(mine.density)"), 8, "returns 1 value, expected u, slope"),
}  # fmt: skip


@pytest.mark.both
@pytest.mark.parametrize("name", [*AT_DECLARATION, *WHEN_COMPILED])
def test_a_mistake_is_one_line_with_its_place(complaint, name):
    text, line, words = (AT_DECLARATION | WHEN_COMPILED)[name]
    err = complaint(text)
    assert f"own.py line {HEAD + line}: " in err
    assert re.search(words, err.rstrip()), err


def test_a_helper_of_another_file_is_not_derived(complaint, tmp_path):
    """SymPy takes the place of `taichimd.math` in the file of the potential alone."""
    helper = "from taichimd.math import exp\n\n\ndef decay(x):\n    return exp(-x)\n"
    (tmp_path / "helper_of_own.py").write_text(helper)
    err = complaint("from helper_of_own import decay\n\n\n" + derived("return p.k * decay(r)"))
    assert f"own.py line {HEAD + 6}: mine: cannot derive it, because it calls a compiled function, or " in err
    assert "write that function without @ti.func in this file" in err


@pytest.mark.both
def test_a_plain_helper_that_decides_is_refused(complaint):
    """Python would decide once, for all distances: the energy would be wrong without a word."""
    err = complaint(function("return decides(r), 0.0"))
    assert f"own.py line {HEAD - 4}: decides decides by a number" in err
    assert ".func" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n    pass\n", f"own.py line {HEAD + 1}: SyntaxError: invalid syntax"),
        ("potential = 1 / 0\n", f"own.py line {HEAD + 1}: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)\n", f"own.py line {HEAD + 1} ends the program while the file is read"),
        (function("return r, 1.0").replace("k=1.0", "k='a'"), "mine: k = 'a', expected a number"),
        (function("return r, 1.0").replace("mine(k=1.0, cutoff=4.0)", "mine"), "declared potential without"),
        ("potential = ManyBody('glue', [], arrays=(), params={})(cutoff=3.0)\n", "glue has no pass"),
        (f"potential = ManyBody('glue', [exp], arrays=(), {PARAMS})\n", "is not a pass; decorate it with"),
        (f"potential = ManyBody('glue', [1], arrays='a', {PARAMS})\n", "arrays and state are lists of"),
        (function("return r, 1.0", "@pair_potential(params=3)"), "params is of type int, expected the unit"),
        (function("return r, 1.0", "@pair_potential(params={'a b': 'eV'})"), "'a b' is not a name"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_line(complaint, text, words):
    assert words in complaint(text)


@pytest.mark.parametrize(
    "command",
    ["energy si.xyz --potential own.py:potential", "run si.xyz --potential own.py:potential --steps 1"],
)
def test_every_command_says_it_in_one_line(complaint, tmp_path, command):
    bulk("Si").write(tmp_path / "si.xyz")
    err = complaint(function("return p.k * np.exp(-r), 0.0"), command)
    assert f"own.py line {HEAD + 3}: mine cannot be compiled: np.exp" in err


@pytest.mark.both
def test_python_raises_the_same_line(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(TOP + function("return p.k * absent, 0.0"))
    silicon = bulk("Si")
    silicon.calc = TaichiMD(load_forcefield(f"{file}:potential"))
    with pytest.raises(ParameterFileError, match=rf"own.py line {HEAD + 3}: mine .*absent") as caught:
        silicon.get_potential_energy()
    assert "\n" not in str(caught.value)

    with pytest.raises(SettingsError, match=r"test_declared_mistakes.py line \d+: spring takes 1 argument"):

        @pair_potential(params={"k": "eV"})
        def spring(r):
            return r, 1.0


@pytest.mark.both
def test_whole_literals_are_numbers():
    @pair_potential(params={"k": "eV"})
    def flat(r, p):
        return 1, 0

    silicon = bulk("Si")
    silicon.calc = TaichiMD(flat(k=1.0, cutoff=2.5))
    assert silicon.get_potential_energy() == 4.0


def test_a_function_made_without_source_is_not_judged_by_its_text():
    space = {}
    exec("def f(r, p):\n    return r", space)
    assert check_function(space["f"], OF_PAIRS) is None


def test_the_runtime_does_not_warn_of_what_the_error_says(tmp_path):
    (tmp_path / "own.py").write_text(TOP + function("return p.k * np.exp(-r), 0.0"))
    line = [sys.executable, "-m", "taichimd", "check", "own.py:potential"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
