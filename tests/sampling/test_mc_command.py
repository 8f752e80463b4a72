"""`taichimd mc`: files, restarts byte for byte, a stop, mistakes."""

import json
import os
import signal
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase.build import bulk

from taichimd.core.seeds import derived_seed
from taichimd.sampling.chain import MonteCarlo
from taichimd.sampling.prepare import prepare_mc

OWN = """
from taichimd import LennardJones

argon = LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="energy-shifted")
"""
MC = "mc ar.extxyz --potential own.py:argon --temperature 80 --move 0.03 --every 10 --backend cpu "
FILES = ("thermo.csv", "trajectory.extxyz")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    ase.io.write("ar.extxyz", bulk("Ar", cubic=True, a=5.4) * 2)
    (tmp_path / "own.py").write_text(OWN)


def report(name="taichimd-mc"):
    return json.loads(open(f"{name}/run.json").read())


def table(name="taichimd-mc"):
    return np.genfromtxt(f"{name}/thermo.csv", delimiter=",", names=True)


def same_bytes(one, other):
    return all(open(f"{one}/{name}", "rb").read() == open(f"{other}/{name}", "rb").read() for name in FILES)


def test_files_say_the_same(call):
    npt = "--ensemble npt --pressure 0.05 --sweeps 200 --equilibration 80 --frames-every 40"
    code, out, err = call(MC + npt)
    assert (code, err) == (0, "")
    assert "280 sweeps, moves: single, npt, 80 K, 0.05 GPa" in " ".join(out.split())
    rows, found, frames = table(), report(), ase.io.read("taichimd-mc/trajectory.extxyz", ":")
    np.testing.assert_array_equal(rows["sweep"], np.arange(0, 281, 10))
    assert [frame.info["step"] for frame in frames] == list(range(0, 281, 40))
    for frame in frames:
        row = rows[rows["sweep"] == frame.info["step"]]
        assert frame.get_potential_energy() == row["potential_eV"]
        assert frame.get_volume() == pytest.approx(row["volume_A3"].item(), rel=1e-12)
        assert "time_ps" not in frame.info
        assert not frame.has("momenta")
    production = found["production"]
    assert production["first_sweep"] > 80
    kept = rows["sweep"] >= production["first_sweep"]
    assert (production["last_sweep"], production["rows"], production["every"]) == (280, kept.sum(), 10)
    assert production["method"].endswith("MSER (White 1997) after the equilibration, sweep 80")
    assert f"sweeps {production['first_sweep']} to 280" in out
    for name, mean in found["averages"].items():
        assert mean["mean"] == pytest.approx(rows[name][kept].mean())
        assert (mean["error"] is None) == (mean["independent_samples"] < 10)
        assert mean["error"] is not None or f"{name.split('_')[0]}: no error:" in " ".join(out.split())
    assert found["exit_reason"] == "finished"
    assert found["moves"]["tried"] == 200 * 32
    assert found["moves"]["acceptance"] == rows["acceptance"][-1]
    assert found["energy_check"]["comparisons"] >= 2
    assert found["energy_check"]["largest_difference_eV"] == 0.0
    assert rows["move_A"][0] == 0.03 != rows["move_A"][-1] == found["moves"]["size"]
    # Pressures of the virial agree with the one that is held, as far as so short a run can tell.
    assert abs(rows["pressure_GPa"][kept].mean() - 0.05) < 0.1


def test_a_restart_has_the_bytes_of_an_uncut_run(call):
    more = "--ensemble npt --equilibration 30 "
    assert call(MC + more + "--sweeps 70 --output straight")[0] == 0
    assert call(MC + more + "--sweeps 15 --output cut")[0] == 0
    assert call("mc --trust --restart cut --sweeps 55")[0] == 0
    assert same_bytes("straight", "cut")
    assert [(one["first_step"], one["last_step"]) for one in report("cut")["segments"]] == [
        (0, 45),
        (45, 100),
    ]
    code, _, err = call("mc --trust --restart cut")
    assert (code, err.count("\n")) == (2, 1)
    assert "is complete: say how far to continue with --sweeps" in err


def test_each_of_several_chains_has_the_bytes_that_it_has_alone(call):
    code, out, _ = call(MC + "--temperature 80,95 --replicas 2 --sweeps 30 --equilibration 10")
    assert code == 0
    assert "40 sweeps of 4 chains, moves: single, nvt, 80, 95 K" in " ".join(out.split())
    first, second, third, last = (
        "taichimd-mc/000-80K-replica1",
        "taichimd-mc/001-95K-replica1",
        "taichimd-mc/002-80K-replica2",
        "taichimd-mc/003-95K-replica2",
    )
    assert sorted(os.listdir("taichimd-mc")) == [name.split("/")[1] for name in (first, second, third, last)]
    seed = derived_seed(1, {"chain": 3})
    assert report(last)["settings"]["seed"] == seed
    assert call(MC + f"--temperature 95 --seed {seed} --sweeps 30 --equilibration 10 --output alone")[0] == 0
    assert same_bytes(last, "alone")
    assert not same_bytes(second, "alone")
    assert report(last)["exchanges"]["tried"] == 0
    assert call(f"mc --trust --restart {last} --sweeps 20")[0] == 0
    assert call("mc --trust --restart alone --sweeps 20")[0] == 0
    assert same_bytes(last, "alone")
    code, _, err = call("mc --trust --restart taichimd-mc --sweeps 5")
    assert (code, err.count("\n")) == (2, 1)
    assert "are of sweeps 40 and 60; expected one sweep" in err
    assert "alone holds an earlier run" in call(MC + "--temperature 80,90 --sweeps 1 --output alone")[2]


def test_a_restart_of_chains_that_exchange_has_the_bytes_of_an_uncut_run(call):
    more = MC + "--temperature 80,81,82 --exchange 5 --ensemble npt --pressure 0.05 --equilibration 0 "
    code, out, _ = call(more + "--sweeps 80 --output straight")
    assert code == 0
    assert "every 5 sweeps, of neighbouring temperatures" in out
    assert call(more + "--sweeps 35 --output cut")[0] == 0
    assert call("mc --trust --restart cut --sweeps 45")[0] == 0
    for name in ("000-80K", "001-81K", "002-82K"):
        assert same_bytes(f"straight/{name}", f"cut/{name}")
        assert report(f"straight/{name}")["exchanges"] == report(f"cut/{name}")["exchanges"]
    first, second = (report(f"straight/{name}")["exchanges"] for name in ("000-80K", "001-81K"))
    assert (first["tried"], second["tried"]) == (8, 7)
    assert 0 < first["accepted"] + second["accepted"] <= 15
    code, _, err = call("mc --trust --restart cut --sweeps 5 --temperature 90,91,92")
    assert (code, err.count("\n")) == (2, 1)
    assert "restart = cut: its chains keep their saved settings; leave out --temperature" in err
    assert call("mc --trust --restart cut/001-81K --sweeps 5")[0] == 0
    assert "this chain continues alone, without exchanges" in report("cut/001-81K")["notes"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_with_a_checkpoint(call, monkeypatch, number, code):
    advance = MonteCarlo.advance

    def interrupted(chain, *args):
        if chain.step == 20:
            os.kill(os.getpid(), number)
        return advance(chain, *args)

    with monkeypatch.context() as patched:
        patched.setattr(MonteCarlo, "advance", interrupted)
        found, out, _ = call(MC + "--sweeps 60 --equilibration 0")
    assert found == code
    assert "taichimd mc --restart taichimd-mc/checkpoint.npz --trust" in out
    assert report()["exit_reason"] == f"stopped by {number.name}"
    assert call("mc --trust --restart taichimd-mc --quiet") == (0, "", "")
    assert (report()["last_step"], table()["sweep"][-1]) == (60, 60)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--sweeps 0", "sweeps = 0: expected a whole number above 0"),
        ("--equilibration -1 --sweeps 1", "equilibration = -1: expected a whole number, 0 or more (sweeps)"),
        ("", "the length of the run is not given: expected --sweeps N"),
        (
            "--sweeps 1 --pressure 1",
            "pressure = 1: the ensemble nvt has no pressure; expected ensemble = npt",
        ),
        ("--sweeps 1 --ensemble nve", "ensemble = 'nve': expected nvt or npt"),
        ("--sweeps 1 --moves two", "moves = 'two': expected"),
        ("--sweeps 1 --move 0", "move = 0.0: expected a number above 0 (Å)"),
        (
            "--sweeps 1 --temperature 80,0",
            "temperature = '80,0': expected a number above 0 (K), or several such as 80,90",
        ),
        ("--sweeps 1 --temperature 80,80", "expected each once; --replicas repeats them"),
        ("--sweeps 1 --exchange 5", "exchange = 5: expected several temperatures"),
        ("--sweeps 1 --replicas 0", "replicas = 0: expected a whole number above 0"),
        ("--restart nowhere.npz", "checkpoint nowhere.npz does not exist"),
    ],
)
def test_mistakes_are_one_line(call, options, words):
    code, out, err = call(MC + options)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert not os.path.exists("taichimd-mc")


def test_what_cannot_be_sampled_or_continued_is_one_line(call):
    for line, words in (
        ("mc ar.extxyz --potential Ar.atm --sweeps 5", "Ar.atm alone is unbounded below"),
        ("mc ar.extxyz --sweeps 5", "no potential given: expected taichimd mc STRUCTURE --potential FILE"),
        ("mc --potential own.py:argon --sweeps 5", "no structure given"),
        ("mc ar.extxyz --potential own.py:argon --sweeps 5 --output own.py/o", "a file is in the way"),
    ):
        code, _, err = call(line)
        assert (code, err.count("\n")) == (2, 1)
        assert words in err
    ase.io.write("open.extxyz", ase.Atoms("Ar2", positions=[[0, 0, 0], [4, 0, 0]]))
    code, _, err = call("mc open.extxyz --potential own.py:argon --sweeps 5 --ensemble npt")
    assert code == 2
    assert "ensemble = npt: the structure has no volume; expected" in err


def test_work_that_would_take_days_is_told():
    ase.io.write("drop.extxyz", bulk("Ar", cubic=True, a=5.4) * 6)
    atoms = ase.io.read("drop.extxyz")
    atoms.pbc = False
    ase.io.write("drop.extxyz", atoms)
    (Path() / "all.py").write_text(OWN + "from taichimd import AxilrodTeller\nargon += AxilrodTeller()\n")
    told = {"structure": "drop.extxyz", "potential": "all.py:argon", "backend": "cpu", "equilibration": 1}
    assert not prepare_mc({**told, "sweeps": 10}).notes
    (note,) = prepare_mc({**told, "sweeps": 10**7, "moves": "single"}).notes
    assert "all triples of 864 atoms, 10,000,001 times, would take about" in note


def test_checkpoints_of_the_two_commands_are_told_apart(call):
    assert call("run ar.extxyz --potential own.py:argon --steps 5 --output md --quiet")[0] == 0
    code, _, err = call("mc --trust --restart md --sweeps 5")
    assert (code, err.count("\n")) == (2, 1)
    assert "was written by molecular dynamics; continue with taichimd run --restart" in err
    assert call("mc md --potential own.py:argon --sweeps 5 --quiet")[0] == 0
    code, _, err = call("run --restart taichimd-mc --steps 5")
    assert (code, err.count("\n")) == (2, 1)
    assert "was written by Monte Carlo; continue with taichimd mc --restart" in err
    code, _, err = call("mc ar.extxyz --potential own.py:argon --sweeps 5")
    assert code == 2
    assert "holds an earlier run" in err
    (code, _, err) = call("mc --trust --restart taichimd-mc --sweeps 5 --potential Ar.lj")
    assert code == 2
    assert "was made with a different potential than Ar.lj" in err
