"""A restart and `kappa` with another potential than before, or with one that was not recorded."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from ase import Atoms
from fake_engine import FakeEngine

from taichimd.core.errors import OutputError
from taichimd.io.checkpoint import read_checkpoint, write_checkpoint
from taichimd.transport import kappa
from taichimd.transport.runs import RunSamples
from taichimd.transport.settings import KappaSettings

HELPER = """
import os
from taichimd.core.runtime import ti

CHARGE = 0.5
OUTSIDE = float(os.environ.get("MY_CHARGE", "1.0"))


@ti.func
def strength(p):
    return p.k * OUTSIDE
"""
USER = """
import my_helper
from my_helper import strength
from taichimd import load_forcefield, triplet_potential


@triplet_potential(params={"k": "eV"})
def angle(r_ij, r_ik, cos_jik, p):
    return strength(p) * cos_jik, 0.0, 0.0, strength(p)


potential = load_forcefield("pairs.lj") + angle(k=my_helper.CHARGE, cutoff=3.0)
"""
PAIRS = "mixing none\ntruncation truncated\nAr Ar 0.3 2.5 6.0\n"
FILES = {"pot/my_file.py": USER, "pot/my_helper.py": HELPER, "pairs.lj": PAIRS}
SPEC = "pot/my_file.py:potential"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Files of a potential in an empty folder, and an engine that needs no kernels."""

    class Engine(FakeEngine):
        def __init__(self, atoms, forcefield, **options):
            super().__init__(atoms, SimpleNamespace(strength=5.0, charged=False), **options)

    module = ModuleType("taichimd.program.engine")
    module.Engine = Engine
    monkeypatch.setitem(__import__("sys").modules, "taichimd.program.engine", module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.delenv("MY_CHARGE", raising=False)
    (tmp_path / "pot").mkdir()
    for name, text in FILES.items():
        Path(name).write_text(text)
    positions = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]]) + 0.03
    Atoms("Ar4", positions, cell=[8, 8, 8], pbc=True).write("s.extxyz")
    return tmp_path


def edit(name, old, new):
    assert old in FILES[name]
    Path(name).write_text(FILES[name].replace(old, new))


RUN = f"run s.extxyz --potential {SPEC} --steps 10 --every 5 --output out"
EDITS = [
    ("pairs.lj", "0.3", "0.4", "pairs.lj pair Ar-Ar: epsilon 0.3 (now 0.4)"),
    ("pot/my_helper.py", "CHARGE = 0.5", "CHARGE = 0.6", "angle triplet Ar-Ar-Ar: k 0.5 (now 0.6)"),
    ("pot/my_helper.py", "return p.k", "return 2.0 * p.k", "my_helper.strength has changed"),
    ("pot/my_file.py", "0.0, 0.0", "0.0, 0.1", "my_file.angle has changed"),
]


@pytest.mark.parametrize(("name", "old", "new", "told"), EDITS)
def test_a_restart_with_another_potential_says_what_differs(call, name, old, new, told):
    assert call(RUN)[0] == 0
    edit(name, old, new)
    code, _, error = call(f"run --restart out/checkpoint.npz --steps 5 --potential {SPEC}")
    assert code == 2
    assert len(error.splitlines()) == 1
    assert "was made with a different potential than" in error
    assert f"pot/my_file.py:potential: {told}; give the same one, or start a new run" in error


def test_a_restart_in_another_environment_is_refused(call, monkeypatch):
    assert call(RUN)[0] == 0
    monkeypatch.setenv("MY_CHARGE", "1.5")
    assert (
        "my_helper.OUTSIDE 1.0 (now 1.5)"
        in call(f"run --restart out/checkpoint.npz --steps 5 --potential {SPEC}")[2]
    )


def test_a_restart_goes_on_after_a_comment(call):
    assert call(RUN)[0] == 0
    for name in ("pot/my_file.py", "pot/my_helper.py"):
        Path(name).write_text("# a remark\n" + FILES[name])
    Path("pairs.lj").write_text("# a remark\n" + PAIRS)
    code, out, error = call(f"run --restart out/checkpoint.npz --steps 5 --potential {SPEC}")
    assert (code, error) == (0, "")
    assert "earlier version" not in out


def test_run_json_has_each_term_with_what_was_computed(call):
    call(RUN)
    record = json.loads(Path("out/run.json").read_text())["potential"]
    assert [term["kind"] for term in record["terms"]] == ["pair", "triplet"]
    assert record["terms"][0]["parameters"] == {"Ar-Ar": {"epsilon": 0.3, "sigma": 2.5, "cutoff": 6.0}}
    assert record["terms"][0]["source_sha256"] == hashlib.sha256(PAIRS.encode()).hexdigest()
    assert record["terms"][1]["parameters"] == {"Ar-Ar-Ar": {"k": 0.5, "cutoff": 3.0}}
    assert record["source"].endswith("pot/my_file.py")
    assert record["source_sha256"] == hashlib.sha256(USER.encode()).hexdigest()
    saved = read_checkpoint("out/checkpoint.npz")
    assert saved.potential == record
    assert saved.potential_hash == record["fingerprint"]


def test_the_header_shows_each_term_of_a_sum(call):
    out = call(RUN)[1]
    assert "pairs.lj + angle, cutoff 6 Å" in out
    assert "pair pairs.lj, truncated, cutoff 6 Å, pairs.lj" in out
    assert "triplet angle, cutoff 3 Å, " in out


def test_a_checkpoint_of_an_earlier_version_is_refused(call):
    assert call(RUN)[0] == 0
    checkpoint = read_checkpoint("out/checkpoint.npz")
    write_checkpoint(Path("out/checkpoint.npz"), replace(checkpoint, potential_hash="0" * 16, potential={}))
    code, _, error = call(f"run --restart out/checkpoint.npz --steps 5 --potential {SPEC}")
    assert code == 2
    assert "is of an earlier version, which recorded too little of its potential to tell whether" in error
    assert "start a new run from it: taichimd run" in error


def test_a_checkpoint_of_an_earlier_version_can_still_be_read(call):
    """It had no record at all."""
    assert call(RUN)[0] == 0
    with np.load("out/checkpoint.npz") as archive:
        arrays = dict(archive)
    meta = json.loads(str(arrays["meta"]))
    del meta["potential"]
    np.savez("out/checkpoint.npz", **{**arrays, "meta": np.array(json.dumps(meta))})
    assert read_checkpoint("out/checkpoint.npz").potential == {}


# kappa


@pytest.fixture
def go(monkeypatch):
    """`thermal_conductivity` of runs that are noise."""
    numbers = []

    def sample_runs(system, potential, settings, group, *rest):
        numbers.extend(group)
        return [RunSamples(np.random.default_rng(k).normal(size=(101, 6)), 60.0) for k in group]

    monkeypatch.setattr(kappa, "sample_runs", sample_runs)
    atoms = Atoms("Ar4", np.arange(12.0).reshape(4, 3), cell=[8, 8, 8], pbc=True)

    def run(spec=SPEC):
        settings = KappaSettings(60.0, time=500.0, every=5, window=100.0, runs=2)
        return kappa.thermal_conductivity(atoms, spec, settings, folder=Path())

    run.numbers = numbers
    return run


@pytest.mark.parametrize(("name", "old", "new", "told"), EDITS)
def test_kappa_averages_no_runs_of_another_potential(go, name, old, new, told):
    first = go()
    assert go().mean == first.mean
    assert go.numbers == [0, 1]
    edit(name, old, new)
    with pytest.raises(OutputError) as found:
        go()
    assert f"run-01.npz was made with a different potential: {told}; give --overwrite" in str(found.value)


def test_kappa_takes_runs_after_a_comment(go):
    first = go()
    Path("pot/my_file.py").write_text("# a remark\n" + USER)
    assert go().mean == first.mean
    assert go.numbers == [0, 1]


def test_kappa_refuses_runs_without_a_record(go):
    go()
    for file in Path().glob("run-*.npz"):
        with np.load(file) as saved:
            arrays = {key: saved[key] for key in saved.files if key != "potential"}
        np.savez(file, **arrays)
    with pytest.raises(OutputError, match="cannot be read as a finished run; remove it, and it is run again"):
        go()
