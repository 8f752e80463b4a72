"""Seeds of several runs: noise of its own for each run, or common noise for those who ask for it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk
from batch_runs import command, same

from taichimd import Bussi, Simulation
from taichimd.app.run_set import RunSet, spread
from taichimd.core.errors import OutputError, SettingsError
from taichimd.core.seeds import derived_seed, short_names

COMMON = {"potential": "Si.sw", "steps": 20, "ensemble": "nvt-bussi", "seed": 3}
AXES = {"temperature": [300.0, 1200.0]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bulk("Si", cubic=True).write("s.xyz")
    with open("job.toml", "w") as file:
        file.write('structure = "s.xyz"\npotential = "Si.sw"\noutput = "out"\nsteps = 20\nevery = 5\n')
        file.write('[ensemble]\nname = "nvt-bussi"\n')


def seeds(axes=AXES, **more):
    return [one.flags["seed"] for one in spread(COMMON, axes, **more)]


def test_each_run_has_a_seed_derived_from_all_that_differs():
    found = seeds(seeds=2, numbered=False)
    assert found == [derived_seed(seed, {"temperature": t}) for t in (300.0, 1200.0) for seed in (3, 4)]
    assert len(set(found)) == 4
    axes = {"temperature": [300.0], "coupling_time": [50.0, 70.0]}
    assert seeds(axes, numbered=False)[1] == derived_seed(3, {"temperature": 300.0, "coupling_time": 70.0})
    # Seeds that the user has given one by one, and that alone differ, stay what they are.
    assert seeds({}, seeds=3) == [3, 4, 5]
    assert seeds({"seed": [7, 9]}, numbered=False) == [7, 9]


def test_more_values_and_seeds_leave_the_seeds_of_the_others():
    few = dict(zip(*names_and_seeds({"temperature": [300.0]}, 1), strict=True))
    many = dict(zip(*names_and_seeds({"temperature": [900.0, 300.0, 600.0]}, 3), strict=True))
    assert few.items() <= many.items()
    assert len(set(many.values())) == 9


def names_and_seeds(axes, n):
    runs = spread(COMMON, axes, seeds=n, numbered=False)
    return [one.name for one in runs], [one.flags["seed"] for one in runs]


def test_common_noise_repeats_seeds():
    assert seeds(seeds=2, common_noise=True) == [3, 4, 3, 4]
    assert seeds(common_noise=True) == [3, 3]


def test_names_of_files_are_those_of_any_machine():
    assert short_names(["/home/a/b/s.xyz", "t.xyz"]) == ["s.xyz", "t.xyz"]
    assert short_names(["a/POSCAR", "b/POSCAR", "/c/d/e"]) == ["a/POSCAR", "b/POSCAR", "e"]
    assert short_names(["x/1/POSCAR", "y/1/POSCAR"]) == ["x/1/POSCAR", "y/1/POSCAR"]
    assert short_names(["POSCAR", "a/POSCAR"]) == ["POSCAR", "a/POSCAR"]
    axes = {"structure": ["/some/where/s.xyz", "t.xyz"]}
    assert seeds(axes)[0] == derived_seed(3, {"structure": "s.xyz"})


@pytest.mark.long
def test_a_run_alone_with_the_derived_seed_has_the_same_bits():
    more = "--potential Si.sw --ensemble nvt-bussi --steps 20 --every 5".split()
    assert command("run", "s.xyz", *more, "--temperature", "300,600", "--output", "two", "--quiet") == 0
    seed = json.load(open("two/001-600K/run.json"))["seed"]
    assert seed == derived_seed(1, {"temperature": 600.0})
    alone = ["--temperature", "600", "--seed", str(seed), "--output", "alone", "--quiet"]
    assert command("run", "s.xyz", *more, *alone) == 0
    same("two/001-600K", "alone")


def deviations(folder):
    """Kinetic energies of the rows over that of the bath: noise without the temperature."""
    with open(f"out/{folder}/thermo.csv") as file:
        found = np.array([float(row["temperature_K"]) for row in csv.DictReader(file)])
    return found / float(folder.split("K")[0])


@pytest.mark.long
def test_noise_is_own_by_default_and_common_on_demand(capsys):
    sweep = ["sweep", "job.toml", "--set", "temperature=300,301"]
    assert command(*sweep, "--common-noise") == 0
    assert "runs with the same seed have the same noise" in " ".join(capsys.readouterr().out.split())
    with open("out/batch.csv") as file:
        assert [(row["seed"], row["noise"]) for row in csv.DictReader(file)] == [("1", "common")] * 2
    np.testing.assert_allclose(deviations("300K-seed1"), deviations("301K-seed1"), rtol=0.05)
    # What was begun with common noise continues with it alone.
    assert command(*sweep) == 2
    assert "give --common-noise to continue it" in capsys.readouterr().err
    assert command(*sweep, "--common-noise", "--quiet") == 0
    assert command(*sweep, "--overwrite") == 0
    assert "the same noise" not in capsys.readouterr().out
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(deviations("300K-seed1"), deviations("301K-seed1"), rtol=0.05)
    assert command(*sweep, "--common-noise") == 2
    assert "leave --common-noise out" in capsys.readouterr().err
    assert command("run", "job.toml", "--common-noise") == 2
    assert "--common-noise is for several runs" in capsys.readouterr().err


def test_structures_with_velocities_need_no_seed():
    """A derived seed that nobody asked for is no mistake; replicas that would all be the same run are."""
    atoms = bulk("Si", cubic=True)
    atoms.set_velocities(np.ones((8, 3)) * 0.01 * np.arange(8)[:, None])
    atoms.write("v.extxyz"), atoms.write("w.extxyz")
    flags = {"potential": "Si.sw", "steps": 20}
    runs = spread(flags, {"structure": ["v.extxyz", "w.extxyz"]})
    assert RunSet(Path("out"), runs).job(runs[0], {}).atoms.has("momenta")
    runs = spread(flags | {"structure": "v.extxyz"}, {}, seeds=2)
    with pytest.raises(SettingsError, match="seed = 1: velocities come from the structure file"):
        RunSet(Path("out"), runs).job(runs[0], {})


def test_potentials_are_an_axis():
    sweep = ["sweep", "job.toml", "--set", "potential=Si.sw,Si.tersoff", "--common-noise", "--quiet"]
    assert command(*sweep) == 0
    with open("out/batch.csv") as file:
        assert [row["potential"] for row in csv.DictReader(file)] == ["Si.sw", "Si.tersoff"]


def test_systems_of_python_have_noise_of_their_own():
    systems, at = [bulk("Si", cubic=True)] * 2, {"temperature": [300.0, 1200.0], "seed": 5}
    own = Simulation(systems, "Si.sw", ensemble=Bussi(300.0), **at)
    assert own.batch.members[1].ensemble.seed == derived_seed(5, {"system": 1})
    cold, hot = (one.velocities() for one in own)
    assert abs(np.corrcoef(2 * cold.ravel(), hot.ravel())[0, 1]) < 0.7
    together = Simulation(systems, "Si.sw", ensemble=Bussi(300.0), common_noise=True, **at)
    cold, hot = (one.velocities() for one in together)
    np.testing.assert_allclose(2 * cold, hot, rtol=1e-9)
    assert [member.ensemble.seed for member in together.batch.members] == [5, 5]
    listed = Simulation(systems, "Si.sw", ensemble=[Bussi(300.0), Bussi(1200.0)])
    assert len({member.ensemble.seed for member in listed.batch.members}) == 2


def test_old_sweeps_are_refused_in_one_sentence(tmp_path):
    """Before, each value had the same seeds: the flags of a run have the seed that counts up."""
    old = spread(COMMON, AXES, seeds=2, numbered=False, common_noise=True)
    for one in old:
        (tmp_path / one.name).mkdir()
        (tmp_path / one.name / "checkpoint.npz").touch()
    RunSet(tmp_path, old).write()
    new = spread(COMMON, AXES, seeds=2, numbered=False)
    with pytest.raises(OutputError, match="seeds that repeat at each value: give --common-noise"):
        RunSet(tmp_path, new).begin(overwrite=False, go_on=True)
    RunSet(tmp_path, old).begin(overwrite=False, go_on=True)
