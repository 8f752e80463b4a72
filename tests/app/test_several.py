"""Several runs of one command: folders as of runs alone, restarts, explosions, mistakes."""

import csv
import json
import os
import re
import shutil

import numpy as np
import pytest
from ase.build import bulk
from batch_runs import command, same, stop_at

from taichimd.core import memory
from taichimd.core.seeds import derived_seed

COMMON = ["--potential", "Si.sw", "--steps", "60", "--every", "20", "--frames_every", "30"]
COMMON = [one.replace("_", "-") for one in COMMON]
LANGEVIN = ["--ensemble", "nvt-langevin"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate("AB"):
        atoms = bulk("Si", cubic=True).repeat((1 + seed, 1, 1))
        atoms.rattle(0.03, seed=seed)
        atoms.write(f"{name}.xyz")


def rows_of(folder):
    with open(f"{folder}/batch.csv") as file:
        return list(csv.DictReader(file))


def report_of(folder):
    with open(f"{folder}/run.json") as file:
        return json.load(file)


@pytest.mark.long
def test_each_folder_is_that_of_the_run_alone(capsys):
    observe = ["--observe", "rdf", "--observe-every", "10"]
    more = [*COMMON, *LANGEVIN, *observe, "--terms"]
    assert command("run", "B.xyz", "A.xyz", "--temperature", "900", "--output", "out", *more) == 0
    shown = capsys.readouterr().out
    names = ["000-B", "001-A"]
    assert [row["run"] for row in rows_of("out")] == names
    assert all(name in shown for name in names)
    assert "2 of 8 to 16 atoms, 24 in all, in one launch" in shown
    seed = ["--seed", str(derived_seed(1, {"structure": "B.xyz"}))]
    assert command("run", "B.xyz", "--temperature", "900", "--output", "alone", *seed, *more) == 0
    same("out/000-B", "alone")
    together, alone = report_of("out/000-B"), report_of("alone")
    assert together["batch"] == {"systems": 2, "number": 0, "atoms": 24}
    assert together["energy_drift"] == alone["energy_drift"]
    assert together["means"] == alone["means"]
    assert together["observed"] == alone["observed"]
    assert {key for key in alone if key not in together} == set()
    # Each continues alone, too.
    assert command("run", "--restart", "out/000-B", "--steps", "20", "--quiet") == 0
    assert command("run", "--restart", "alone", "--steps", "20", "--quiet") == 0
    same("out/000-B", "alone")


def test_a_stopped_batch_goes_on_as_if_it_had_not_been(monkeypatch, capsys):
    more = ["A.xyz", "--replicas", "3", "--temperature", "300", *COMMON]
    assert command("run", *more, "--output", "whole") == 0
    stop_at(monkeypatch, 11)
    assert command("run", *more, "--output", "cut") == 130
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1] == "taichimd run --restart cut"
    step = report_of("cut/001-seed2")["last_step"]
    assert 11 <= step < 60
    # As after a kill while checkpoints were written: one is older, and one run had not begun.
    shutil.rmtree("cut/002-seed3")
    assert command("run", "--restart", "cut") == 0
    for name in ("000-seed1", "001-seed2", "002-seed3"):
        same(f"whole/{name}", f"cut/{name}")
    assert command("run", "--restart", "cut") == 0
    assert "3 of 3 runs have ended before" in capsys.readouterr().out
    assert command("run", "--restart", "cut", "--steps", "10") == 0
    assert [row["steps"] for row in rows_of("cut")] == ["70"] * 3


def test_one_that_explodes_is_named_and_the_others_go_on(capsys):
    wild = bulk("Si", cubic=True)
    wild.set_velocities(np.where(np.arange(8)[:, None] == 3, 40.0, 0.0) * np.ones(3))
    wild.write("wild.extxyz")
    more = ["--output", "out", *COMMON]
    assert command("run", "A.xyz", "wild.extxyz", *more) == 2
    shown = " ".join(capsys.readouterr().out.split())
    assert "001-wild: the run exploded at step 1: atom 3 (Si) moved" in shown
    assert "step 0); the other systems continue" in shown
    assert report_of("out/001-wild")["exit_reason"].startswith("BlowUpError: 001-wild: the run exploded")
    assert report_of("out/000-A")["exit_reason"] == "finished"
    seed = ["--seed", str(derived_seed(1, {"structure": "A.xyz"}))]
    assert command("run", "A.xyz", "--output", "alone", *seed, *COMMON) == 0
    same("out/000-A", "alone")
    assert [row["exit_reason"].split(":")[0] for row in rows_of("out")] == ["finished", "BlowUpError"]


def test_cells_that_move_in_one_launch(monkeypatch, capsys):
    """Stopped between two actions of the barostat, and gone on with."""
    more = ["--ensemble", "npt-scr", "--bulk-modulus", "98", "--pressure", "1", *COMMON]
    assert command("run", "A.xyz", "B.xyz", "--output", "whole", *more) == 0
    assert "2 of 8 to 16 atoms, 24 in all, in one launch" in capsys.readouterr().out
    seed = ["--seed", str(derived_seed(1, {"structure": "B.xyz"}))]
    assert command("run", "B.xyz", "--output", "alone", *seed, *more) == 0
    same("whole/001-B", "alone")
    together, alone = report_of("whole/001-B"), report_of("alone")
    assert together["means"] == alone["means"]
    assert together["energy_drift"] == alone["energy_drift"]
    stop_at(monkeypatch, 13)
    assert command("run", "A.xyz", "B.xyz", "--output", "cut", *more) == 130
    assert 13 <= report_of("cut/001-B")["last_step"] < 60
    assert command("run", "--restart", "cut") == 0
    for name in ("000-A", "001-B"):
        same(f"whole/{name}", f"cut/{name}")


@pytest.mark.long
def test_barostats_that_act_in_other_steps_run_one_after_the_other(capsys):
    with open("job.toml", "w") as file:
        file.write(
            'structure = "A.xyz"\npotential = "Si.sw"\nensemble = "npt-berendsen"\n'
            'steps = 30\noutput = "out"\n'
        )
    sets = ["--set", "barostat_period=5,10", "--set", "seed=1,2"]
    assert command("sweep", "job.toml", *sets) == 0
    assert "4 runs in 2 batches, one after the other" in " ".join(capsys.readouterr().out.split())


def test_a_job_file_has_what_is_common():
    with open("job.toml", "w") as file:
        file.write('structure = "A.xyz"\npotential = "Si.sw"\noutput = "theirs"\nsteps = 5\nseed = 4\n')
    assert command("run", "job.toml", "--replicas", "2") == 0
    assert sorted(os.listdir("theirs")) == ["000-seed4", "001-seed5", "batch.csv", "batch.json", "batch.png"]
    assert command("plot", "theirs/000-seed4") == 0
    assert os.path.getsize("theirs/000-seed4/thermo.png") > 5000


def test_mistakes_say_which_system(capsys):
    carbon = bulk("SiC", "zincblende", a=4.36, cubic=True)
    carbon.write("C.xyz")
    for arguments, text in (
        (["A.xyz", "C.xyz"], "error: 001-C: Si.sw has no parameters for C"),
        (["A.xyz", "none.xyz"], "error: 001-none: structure file none.xyz"),
        (["A.xyz", "--temperature", "300,hot"], "temperature = 'hot': expected a number above 0"),
        (["A.xyz", "--temperature", "300,-1"], "temperature = -1.0: expected a number above 0"),
    ):
        assert command("run", *arguments, "--output", "out", *COMMON) == 2
        assert text in capsys.readouterr().err
        assert not os.path.exists("out")
    assert command("run", "A.xyz", "--replicas", "2", "--output", "out", *COMMON, "--quiet") == 0
    assert command("run", "A.xyz", "--replicas", "2", "--output", "out", *COMMON) == 2
    assert "holds an earlier batch of 2 runs; give --overwrite" in capsys.readouterr().err
    assert command("run", "--restart", "out", "--output", "other") == 2
    assert "output = other: a restart of several runs continues" in capsys.readouterr().err
    assert command("run", "A.xyz", "B.xyz", "--output", "out", *COMMON, "--overwrite") == 0
    assert sorted(os.listdir("out/000-seed1")) == []


def test_what_does_not_fit_says_how_many_would(monkeypatch, capsys):
    more = ["A.xyz", "--replicas", "30", "--output", "out", *COMMON]
    with monkeypatch.context() as little:
        little.setattr(memory, "_free_host", lambda: 10_000)
        assert command("run", *more) == 2
    error = capsys.readouterr().err
    assert re.search(
        r"a batch of 30 systems, 240 atoms in all: .*; about \d+ systems of this size fit", error
    )
    # Nothing has begun, so nothing is in the way.
    assert command("run", "A.xyz", "--replicas", "2", "--output", "out", *COMMON, "--quiet") == 0
