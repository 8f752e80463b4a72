"""Restarts of the driver: the bits of an uncut run, and what does not fit its checkpoint."""

import json
import os

import ase.io
import numpy as np
import pytest
from ase import Atoms
from driving import drive, same_bytes, structure  # noqa: F401  (a fixture)
from fake_engine import FakeEngine, fake  # noqa: F401  (a fixture)

from taichimd.core.errors import CheckpointError, OutputError, SettingsError
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.thermo import read_thermo

pytestmark = pytest.mark.usefixtures("fake", "structure")


@pytest.mark.parametrize("half", [100, 95])
def test_restart_in_the_same_folder_equals_an_uncut_run(half):
    drive(steps=2 * half, output="straight", every=20)
    drive(steps=half, output="cut", every=20)
    assert drive(restart="cut/checkpoint.npz", steps=half)[0] == 0
    assert same_bytes("straight", "cut", "trajectory.extxyz", "thermo.csv")
    one, other = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("straight", "cut"))
    for name in ("positions", "velocities", "forces"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    report = json.loads(open("cut/run.json").read())
    assert (report["first_step"], report["last_step"]) == (half, 2 * half)
    assert [(part["first_step"], part["last_step"]) for part in report["segments"]] == [
        (0, half),
        (half, 2 * half),
    ]


def test_a_run_of_heavy_atoms_goes_on_from_its_frames_as_from_its_checkpoint():
    atoms = ase.io.read("s.extxyz")
    atoms.set_masses([45.0] * len(atoms))
    atoms.write("heavy.extxyz")
    drive(structure="heavy.extxyz", steps=20, output="heavy")
    frame = ase.io.read("heavy/trajectory.extxyz", index=-1)
    checkpoint = read_checkpoint("heavy/checkpoint.npz")
    assert frame.get_masses().tolist() == checkpoint.masses.tolist()
    np.testing.assert_allclose(frame.get_velocities(), checkpoint.velocities, rtol=1e-12)


def test_restart_in_another_folder_starts_new_files():
    drive(steps=100, output="straight", every=20)
    drive(steps=50, output="first", every=20)
    drive(restart="first/checkpoint.npz", steps=50, output="second")
    assert read_thermo("second/thermo.csv")["step"].tolist() == [50, 60, 80, 100]
    straight, second = (ase.io.read(f"{name}/trajectory.extxyz") for name in ("straight", "second"))
    assert straight.positions.tobytes() == second.positions.tobytes()
    assert straight.info["time_ps"] == second.info["time_ps"]


def test_restart_after_a_kill_drops_what_came_after_the_checkpoint(monkeypatch):
    drive(steps=100, output="straight", every=10)
    drive(steps=40, output="cut", every=10)
    old = open("cut/checkpoint.npz", "rb").read()
    drive(restart="cut/checkpoint.npz", steps=33)
    with open("cut/checkpoint.npz", "wb") as file:
        file.write(old)  # as if the run had died before its next checkpoint
    drive(restart="cut/checkpoint.npz", steps=60)
    assert same_bytes("straight", "cut", "trajectory.extxyz", "thermo.csv")


def test_restart_from_an_older_copy_voids_the_newer_checkpoint():
    drive(steps=20, output="out", every=10)
    os.link("out/checkpoint.npz", "out/at20.npz")
    drive(restart="out/checkpoint.npz", steps=20)
    FakeEngine.after_advance = lambda engine: (_ for _ in ()).throw(OutputError("stop here"))
    with pytest.raises(
        OutputError, match=r"stop here; the last good checkpoint is out/checkpoint.npz \(step 20\)"
    ):
        drive(restart="out/at20.npz", steps=20)
    assert read_checkpoint("out/checkpoint.npz").step == 20


def test_restart_with_another_time_step_goes_on_counting_time():
    drive(steps=50, output="out", every=50)
    drive(restart="out/checkpoint.npz", steps=50, timestep=0.5)
    drive(restart="out/checkpoint.npz", steps=50)
    assert read_thermo("out/thermo.csv")["time_ps"].tolist() == [0, 0.05, 0.075, 0.1]


def test_restart_of_another_system():
    drive(steps=10, output="out")
    ase.io.write("other.extxyz", Atoms("Si2", positions=[[0, 0, 0], [2, 0, 0]]))
    with pytest.raises(CheckpointError, match="is of another system: it has 4 atoms, the structure 2"):
        drive(restart="out/checkpoint.npz", structure="other.extxyz", steps=5)


def test_restart_with_another_potential():
    drive(steps=10, output="out")
    with open("springs.txt", "w") as file:
        file.write("6.0")
    with pytest.raises(CheckpointError, match="was made with a different potential than"):
        drive(restart="out/checkpoint.npz", steps=5)


def test_restart_with_a_temperature_is_a_contradiction():
    drive(steps=10, output="out", temperature=80.0)
    with pytest.raises(
        SettingsError, match=r"temperature = 300\.0: velocities come from checkpoint out/checkpoint.npz, and"
    ):
        drive(restart="out/checkpoint.npz", steps=5, temperature=300.0)
    drive(restart="out/checkpoint.npz", steps=5, temperature=80.0)


def test_restart_says_that_it_does_not_begin_at_another_structure():
    note = "note: the run continues from the checkpoint; not used of the structure, which differs: positions"
    drive(steps=10, output="out")
    shown = drive(restart="out/checkpoint.npz", structure="s.extxyz", steps=5)[1]
    assert note in " ".join(shown.split())
    assert note[6:] in json.loads(open("out/run.json").read())["notes"]
    shown = drive(restart="out/checkpoint.npz", structure="out/trajectory.extxyz", steps=5)[1]
    assert "of the structure" not in shown
    faster = ase.io.read("out/trajectory.extxyz")
    faster.set_momenta(1.1 * faster.get_momenta())
    faster.write("faster.extxyz")
    shown = drive(restart="out/checkpoint.npz", structure="faster.extxyz", steps=5)[1]
    assert "not used of the structure, which differs: velocities" in " ".join(shown.split())


def test_a_restart_takes_the_folder_of_a_run():
    drive(steps=10, output="out")
    assert drive(restart="out", steps=5)[0] == 0
    assert read_checkpoint("out/checkpoint.npz").step == 15
    with pytest.raises(CheckpointError, match=r"checkpoint \S*checkpoint.npz does not exist"):
        drive(restart=".", steps=5)


def test_restart_works_from_another_folder(tmp_path, monkeypatch):
    drive(steps=10, output="out")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert drive(restart="../out/checkpoint.npz", steps=10)[0] == 0
    assert read_checkpoint("../out/checkpoint.npz").step == 20
