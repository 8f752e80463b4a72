"""The fingerprint of a potential: what changes it, what does not, and what restarts and kappa make of it."""

import itertools
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from bits import other_runtime_installed
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse, morse_derived

from taichimd.core.errors import SettingsError
from taichimd.forcefields.code import code_of
from taichimd.forcefields.declare import pair_potential
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.io.potential import differences

HELPER = """
import os
import numpy as np
from taichimd.core.runtime import ti

CHARGE = 0.5
DEPTHS = {"Si": {"depth": 0.3}}
SETTINGS = np.array([1.0, 2.0])
FROM_OUTSIDE = float(os.environ.get("MY_CHARGE", "1.0"))


@ti.func
def screened(r):
    return 1.0 / (r * r)
"""
USER = """
import my_helper
from my_helper import screened as tail
from taichimd import LennardJones, StillingerWeber, Tersoff, pair_potential, triplet_potential
from taichimd.core.math import exp

SCALE = 2.0


def make(factor):
    @pair_potential(params={"depth": "eV"}, reference="a letter to a friend")
    def made(r, p):
        x = p.depth * my_helper.CHARGE * tail(r) * factor * my_helper.FROM_OUTSIDE
        return SCALE * x, -2.0 * SCALE * x / r

    return made


potential = make(3.0)(table=my_helper.DEPTHS, cutoff=4.0)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write()
    return tmp_path


def write(user=USER, helper=HELPER, where="."):
    os.makedirs(where, exist_ok=True)
    Path(where, "my_file.py").write_text(user)
    Path(where, "my_helper.py").write_text(helper)


def fingerprint(species=("Si",), spec="my_file.py:potential"):
    return load_forcefield(spec).fingerprint(species)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE = 2.0\n", "# a remark\nSCALE = 2.0  # doubled\n"),
        ("SCALE = 2.0\n", 'SCALE = 2.00\n\n\ndef unused(x):\n    return 7 * x\n\n\nOTHER = "text"\n'),
        ("    def made(r, p):\n", '    def made(r, p):\n        """What it is."""\n\n        # why\n'),
        ("a letter to a friend", "an article"),
        ("        x = p.depth * my_helper.CHARGE", "        x = (p.depth) * my_helper.CHARGE"),
    ],
)
def test_what_is_not_computed_does_not_count(old, new):
    before = fingerprint()
    assert old in USER
    write(USER.replace(old, new))
    assert fingerprint() == before
    write(USER, HELPER + "\n\ndef unused():\n    return 1\n")
    assert fingerprint() == before


@pytest.mark.parametrize(
    ("where", "old", "new", "told"),
    [
        ("user", "SCALE = 2.0", "SCALE = 2.5", "my_file.SCALE 2.0 (now 2.5)"),
        ("user", "make(3.0)", "make(3.5)", "my_file.make.<locals>.made: factor 3.0 (now 3.5)"),
        ("user", "-2.0 * SCALE", "-2.1 * SCALE", "my_file.make.<locals>.made has changed"),
        ("user", "cutoff=4.0", "cutoff=4.5", "made pair Si-Si: cutoff 4.0 (now 4.5)"),
        ("helper", "1.0 / (r * r)", "1.0 / (r * r * r)", "my_helper.screened has changed"),
        ("helper", "CHARGE = 0.5", "CHARGE = 0.6", "my_helper.CHARGE 0.5 (now 0.6)"),
        ("helper", '"depth": 0.3', '"depth": 0.30000000000000004', "depth 0.3 (now 0.30000000000000004)"),
    ],
)
def test_what_is_computed_counts_wherever_it_stands(where, old, new, told):
    before = load_forcefield("my_file.py:potential").describe(["Si"])
    texts = {"user": USER, "helper": HELPER}
    assert old in texts[where]
    texts[where] = texts[where].replace(old, new)
    write(**texts)
    now = load_forcefield("my_file.py:potential").describe(["Si"])
    assert now["fingerprint"] != before["fingerprint"]
    assert differences(before, now).endswith(told)


def test_a_value_from_the_environment_counts(monkeypatch):
    before = fingerprint()
    monkeypatch.setenv("MY_CHARGE", "1.25")
    now = load_forcefield("my_file.py:potential").describe(["Si"])
    assert now["fingerprint"] != before
    assert now["terms"][0]["code"]["my_helper.FROM_OUTSIDE"] == "1.25"


def test_rows_of_other_elements_do_not_count():
    def at(depth):
        rows = {"Ar": {"epsilon": 0.01, "sigma": 3.4}, "Kr": {"epsilon": depth, "sigma": 3.6}}
        return LennardJones(cutoff=8.0, pairs=rows)

    assert at(0.014).fingerprint(["Ar"]) == at(0.015).fingerprint(["Ar"])
    assert at(0.014).fingerprint(["Ar", "Kr"]) != at(0.015).fingerprint(["Ar", "Kr"])
    assert at(0.014).fingerprint(["Ar"]) != at(0.014).fingerprint(["Kr"])


def test_two_sums_of_another_depth_are_told_apart():
    one, other = (LennardJones(e, 2.5, 6.0) + angle(**ANGLE_VALUES) for e in (0.3, 0.9))
    assert one.fingerprint(["Ar"]) != other.fingerprint(["Ar"])
    assert one.describe() != other.describe()
    told = differences(one.describe(["Ar"]), other.describe(["Ar"]))
    assert told == "Lennard-Jones pair Ar-Ar: epsilon 0.3 (now 0.9)"


def test_neither_names_nor_the_order_of_a_sum_count():
    one, other = morse(**MORSE_VALUES), angle(**ANGLE_VALUES)
    assert (one + other).fingerprint(["Si"]) == (other + one).fingerprint(["Si"])
    plain, named = (LennardJones(0.3, 2.5, 6.0, name=name) for name in ("a", "b"))
    assert plain.fingerprint(["Ar"]) == named.fingerprint(["Ar"])
    shifted = LennardJones(0.3, 2.5, 6.0, truncation="force-shifted")
    assert plain.fingerprint(["Ar"]) != shifted.fingerprint(["Ar"])


def test_the_second_parameter_file_of_a_sum_counts():
    text = Path(load_forcefield("Si.tersoff").source).read_text()
    Path("bonds.tersoff").write_text(text)
    Path("pairs.lj").write_text("mixing none\ntruncation truncated\nSi Si 0.3 2.5 6.0\n")
    Path("my_file.py").write_text(
        "from taichimd import Tersoff, load_forcefield\n"
        "potential = Tersoff('bonds.tersoff') + load_forcefield('pairs.lj')\n"
    )
    before = load_forcefield("my_file.py:potential").describe(["Si"])
    Path("pairs.lj").write_text("mixing none\ntruncation truncated\nSi Si 0.4 2.5 6.0\n")
    now = load_forcefield("my_file.py:potential").describe(["Si"])
    assert [term["source"] for term in now["terms"]] == ["bonds.tersoff", "pairs.lj"]
    assert now["fingerprint"] != before["fingerprint"]
    assert differences(before, now) == "pairs.lj pair Si-Si: epsilon 0.3 (now 0.4)"
    assert before["terms"][1]["source_sha256"] != now["terms"][1]["source_sha256"]


def test_a_derived_potential_counts_by_what_was_derived():
    def at(power):
        text = USER.split("def make")[0] + (
            "@pair_potential(params={'a': 'eV'}, derive=True)\n"
            f"def steep(r, p):\n    return p.a * (my_helper.CHARGE / r) ** {power}\n\n\n"
            "potential = steep(a=0.1, cutoff=4.0)\n"
        )
        write(text)
        return fingerprint()

    first = at(6)
    assert at(6) == first != at(8)
    write(
        Path("my_file.py").read_text().replace("** 8", "** 6"), HELPER.replace("CHARGE = 0.5", "CHARGE = 0.6")
    )
    assert fingerprint() != first


def test_functions_without_a_source_count_by_their_bytecode():
    def at(factor):
        names = {"pair_potential": pair_potential}
        exec(
            "def host(x):\n    '''About it.'''\n    return x * K\n"
            f"K = {factor}\n",
            names,
        )  # fmt: skip
        return code_of(names["host"]).digest

    assert at(2.0) == at(2.0) != at(3.0)


def test_containers_and_objects_count_by_what_they_hold():
    def at(value):
        def function(r):
            return r * value.a[0]

        return code_of(function).digest

    one, same, other = (SimpleNamespace(a=np.array([x, 1.0])) for x in (0.5, 0.5, 0.7))
    assert at(one) == at(same) != at(other)

    def keyed(value):
        def function(r):
            return r * value["a"]

        return code_of(function).digest

    assert keyed({"a": 1.0, "b": {2, 3}}) == keyed({"b": {3, 2}, "a": 1.0}) != keyed({"a": 1.0, "b": {4}})


def test_recursion_ends():
    def down(n):
        return 1 if n == 0 else n * down(n - 1)

    assert code_of(down).digest == code_of(down).digest


SHOW = """
from taichimd import load_forcefield
print(load_forcefield({spec!r}).fingerprint(["Si"]), load_forcefield("Si.sw").fingerprint(["Si"]))
"""


def test_it_is_the_same_in_any_process_and_folder_and_under_both_runtimes(folder):
    write(where="elsewhere/deep")
    found = set()
    other = "quadrants" if other_runtime_installed() else "taichi"
    runs = [("my_file.py:potential", "1", "taichi"), ("elsewhere/deep/my_file.py:potential", "2", other)]
    for spec, seed, runtime in runs:
        more = {"PYTHONHASHSEED": seed, "TAICHIMD_RUNTIME": runtime}
        done = subprocess.run(
            [sys.executable, "-c", SHOW.format(spec=spec)],
            capture_output=True, text=True, check=True, env=os.environ | more,
        )  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1
    assert found.pop().split()[0] == fingerprint()


# The record.


def test_a_sum_records_each_term_apart():
    both = LennardJones(0.3, 2.5, 6.0, truncation="force-shifted") + angle(**ANGLE_VALUES)
    pair, triplet = both.describe(["Si"])["terms"]
    assert (pair["kind"], pair["name"], pair["truncation"]) == ("pair", "Lennard-Jones", "force-shifted")
    assert pair["parameters"] == {"Si-Si": {"epsilon": 0.3, "sigma": 2.5, "cutoff": 6.0}}
    assert pair["units"] == {"epsilon": "eV", "sigma": "Å", "cutoff": "Å"}
    assert pair["doi"] == "10.1098/rspa.1924.0082"
    assert (triplet["kind"], triplet["truncation"], triplet["cutoff_A"]) == ("triplet", None, 3.6)
    assert triplet["parameters"] == {"Si-Si-Si": ANGLE_VALUES}
    assert triplet["function"] == "declared:angle"
    assert triplet["source"].endswith("declared.py")
    assert len(triplet["source_sha256"]) == 64


def test_a_single_potential_records_what_it_was_given():
    record = LennardJones(0.3, 2.5, 6.0, truncation="energy-shifted").describe()
    (term,) = record["terms"]
    assert term["parameters"] == {"*-*": {"epsilon": 0.3, "sigma": 2.5, "cutoff": 6.0}}
    assert (term["truncation"], term["mixing"]) == ("energy-shifted", "lorentz-berthelot")
    assert "fingerprint" not in record


def test_mixed_rows_are_recorded_as_they_are_computed():
    rows = {"Ar": {"epsilon": 0.01, "sigma": 3.4}, "Kr": {"epsilon": 0.04, "sigma": 3.6, "cutoff": 9.0}}
    record = LennardJones(cutoff=8.0, pairs=rows).describe(["Kr", "Ar"])
    found = record["terms"][0]["parameters"]
    assert list(found) == ["Ar-Ar", "Ar-Kr", "Kr-Kr"]
    assert found["Ar-Kr"] == {"epsilon": 0.02, "sigma": 3.5, "cutoff": 8.5}
    assert record["species"] == ["Ar", "Kr"]


def test_a_shipped_file_is_recorded_with_its_doi_and_digest():
    pair, body = load_forcefield("Si.sw").describe(["Si"])["terms"]
    assert pair["doi"] == body["doi"] == "10.1103/PhysRevB.31.5262"
    assert pair["source_sha256"] == body["source_sha256"]
    assert pair["parameters"]["Si-Si"]["attraction"] == 7.049556277 * 2.1683
    assert body["kind"] == "angle"
    assert set(body["units"]) == set(body["parameters"]["Si-Si-Si"])


def test_a_record_stays_while_its_file_is_edited():
    """Whoever edits while a run compiles changes neither its kernels nor its record."""
    forcefield = load_forcefield("my_file.py:potential")
    before = forcefield.describe(["Si"])
    write(USER.replace("-2.0 * SCALE", "-2.1 * SCALE"))
    assert forcefield.describe(["Si"]) == before


@pytest.mark.parametrize("enumeration", ["neighbours", "all-pairs"])
def test_a_sum_with_all_pairs_is_refused(enumeration):
    pairs = LennardJones(0.3, 2.5, 6.0, enumeration="all-pairs")
    for one, other in itertools.permutations((pairs, angle(**ANGLE_VALUES, enumeration=enumeration))):
        with pytest.raises(SettingsError, match='has the enumeration "all-pairs"; give it') as found:
            _ = one + other
        assert "\n" not in str(found.value)


def test_a_triplet_is_not_shifted():
    with pytest.raises(SettingsError, match="a triplet term is not shifted; leave it out"):
        angle(**ANGLE_VALUES, truncation="force-shifted")


# Modules beside a user's file.


def test_modules_of_one_name_in_two_folders_are_not_mixed_up(folder):
    for where, charge in (("one", 0.7), ("two", 0.8)):
        write(helper=HELPER.replace("CHARGE = 0.5", f"CHARGE = {charge}"), where=where)
    path, modules = list(sys.path), set(sys.modules)
    codes = [
        load_forcefield(f"{where}/my_file.py:potential").describe(["Si"])["terms"][0]["code"]
        for where in ("one", "two", "one")
    ]
    assert [code["my_helper.CHARGE"] for code in codes] == ["0.7", "0.8", "0.7"]
    assert sys.path == path
    assert set(sys.modules) - modules <= {"taichimd_user_my_file"}
    assert not list(folder.rglob("__pycache__"))


def test_a_module_of_the_same_name_that_is_in_use_stays(folder, monkeypatch):
    write(where="mine")
    own = SimpleNamespace(__file__=str(folder / "other" / "my_helper.py"), __name__="my_helper")
    monkeypatch.setitem(sys.modules, "my_helper", own)
    code = load_forcefield("mine/my_file.py:potential").describe(["Si"])["terms"][0]["code"]
    assert code["my_helper.CHARGE"] == "0.5"
    assert sys.modules["my_helper"] is own


def test_the_path_is_as_before_where_a_file_fails():
    path = list(sys.path)
    Path("my_file.py").write_text("import my_helper\nraise RuntimeError('no')\n")
    with pytest.raises(Exception, match=r"my_file\.py line 2: RuntimeError: no"):
        load_forcefield("my_file.py:potential")
    assert sys.path == path
    assert "my_helper" not in sys.modules


def test_helpers_compile_once_the_file_is_loaded(folder, monkeypatch):
    from ase import Atoms

    from taichimd.program.engine import Engine

    forcefield = load_forcefield("my_file.py:potential")
    monkeypatch.chdir("/")
    found = Engine(Atoms("Si2", [[0, 0, 0], [0, 0, 2.0]]), forcefield).evaluate()
    assert found.energy == pytest.approx(2.0 * 0.3 * 0.5 / 4.0 * 3.0, rel=1e-14)


def test_the_derived_twin_is_recorded_by_its_author():
    (term,) = morse_derived(**MORSE_VALUES).describe(["Si"])["terms"]
    assert term["function"] == "declared:morse_derived"
    assert "derived.morse_derived" in term["code"]
