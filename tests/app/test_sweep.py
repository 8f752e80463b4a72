"""`taichimd sweep`: all combinations, resumed after a stop, in parts and processes; one table and picture."""

import csv
import json
import os
import signal

import pytest
from ase.build import bulk
from batch_runs import command, same, stop_at

from taichimd.app.sweep import Sweep
from taichimd.core.errors import SettingsError
from taichimd.core.seeds import derived_seed


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bulk("Si", cubic=True).write("s.xyz")
    with open("job.toml", "w") as file:
        file.write(
            'structure = "s.xyz"\npotential = "Si.sw"\noutput = "out"\nsteps = 40\nevery = 20\nseed = 3\n'
        )
        file.write('[ensemble]\nname = "nvt-langevin"\n')


def rows():
    with open("out/batch.csv") as file:
        return list(csv.DictReader(file))


def test_a_stopped_sweep_goes_on_and_grows(monkeypatch, capsys):
    stop_at(monkeypatch, 11, signal.SIGTERM)
    sweep = ["sweep", "job.toml", "--set", "temperature=300,600", "--seeds", "2"]
    assert command(*sweep, "--at-once", "2") == 143
    assert "2 of 4 runs in out/" in capsys.readouterr().out
    assert [row["exit_reason"] for row in rows()] == ["stopped by SIGTERM"] * 2
    assert command(*sweep) == 0
    names = ["300K-seed3", "300K-seed4", "600K-seed3", "600K-seed4"]
    assert [(row["run"], row["steps"], row["exit_reason"]) for row in rows()] == [
        (name, "40", "finished") for name in names
    ]
    seeds = [derived_seed(seed, {"temperature": t}) for t in (300.0, 600.0) for seed in (3, 4)]
    assert [(row["temperature"], row["seed"]) for row in rows()] == [
        (t, str(seed)) for t, seed in zip(["300.0"] * 2 + ["600.0"] * 2, seeds, strict=True)
    ]
    assert {row["noise"] for row in rows()} == {"own"}
    assert os.path.getsize("out/batch.png") > 5000
    first = os.path.getmtime("out/600K-seed4/thermo.csv")
    capsys.readouterr()
    # Another temperature: what is there stays, and stays in the table.
    assert command("sweep", "job.toml", "--set", "temperature=600,900", "--seeds", "2") == 0
    assert "2 of 4 runs have ended before" in capsys.readouterr().out
    assert len(rows()) == 6
    assert [row["seed"] for row in rows() if row["temperature"] == "600.0"] == [str(one) for one in seeds[2:]]
    assert os.path.getmtime("out/600K-seed4/thermo.csv") == first
    alone = ["run", "job.toml", "--temperature", "600", "--seed", str(seeds[3]), "--output", "alone"]
    assert command(*alone) == 0
    same("out/600K-seed4", "alone")
    with open("job.toml", "a") as file:
        file.write("coupling_time = 50\n")
    assert command(*sweep) == 2
    assert "has a run with different settings; give --overwrite" in capsys.readouterr().err


def test_parts_are_the_whole():
    sweep = ["sweep", "job.toml", "--set", "temperature=300,600,900"]
    assert command(*sweep, "--part", "2/2", "--quiet") == 0
    assert [row["run"] for row in rows()] == ["600K-seed3"]
    assert command(*sweep, "--part", "1/2", "--quiet") == 0
    assert len(rows()) == 3


@pytest.mark.long
def test_processes_share_the_runs(capsys):
    assert command("sweep", "job.toml", "--set", "temperature=300,600", "--processes", "2") == 0
    assert [row["exit_reason"] for row in rows()] == ["finished"] * 2
    assert json.load(open("out/300K-seed3/run.json"))["exit_reason"] == "finished"
    assert "2 of 2 runs in out/" in capsys.readouterr().out
    assert os.path.exists("out/part-2.log")


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        (["temperature"], "--set temperature: expected a setting and its values"),
        (["temprature=1,2"], "'temprature' is not a setting of a run"),
        (["temperature=300,warm"], "temperature = 'warm': expected a number above 0"),
        (["temperature=1", "temperature=2"], "temperature is set twice"),
        (["output=a,b"], "output cannot differ"),
    ],
)
def test_what_cannot_be_set_is_named(sets, text):
    with pytest.raises(SettingsError, match=text):
        _ = Sweep("job.toml", sets).axes


def test_mistakes_in_numbers(capsys):
    assert command("sweep", "job.toml", "--part", "3/2") == 2
    assert "part = '3/2': expected k/n" in capsys.readouterr().err
    assert command("sweep", "job.toml", "--set", "seed=1,2", "--seeds", "2") == 2
    assert "seed is given several values" in capsys.readouterr().err
    assert command("sweep", "none.toml") == 2
    assert "job file none.toml does not exist" in capsys.readouterr().err
