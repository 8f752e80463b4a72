"""The main job on the real engine: what the fake one cannot show."""

import json
import subprocess
import sys
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import Simulation, TaichiMD
from taichimd.core.units import FS
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.thermo import read_thermo

OWN_POTENTIAL = """
from taichimd import LennardJones


def argon():
    return LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    silicon = bulk("Si", cubic=True) * 2
    silicon.rattle(0.1, seed=1)
    ase.io.write("si.extxyz", silicon)
    (tmp_path / "own.py").write_text(OWN_POTENTIAL)
    return tmp_path


RUN = "run si.extxyz --potential Si.sw --temperature 1500 --every 20 "


def test_restart_is_bit_for_bit(call):
    assert call(RUN + "--steps 300 --output straight")[0] == 0
    assert call(RUN + "--steps 150 --output cut")[0] == 0
    assert call("run --restart cut/checkpoint.npz --steps 150")[0] == 0
    assert json.loads(open("straight/run.json").read())["statistics"]["rebuilds"] > 2
    straight, cut = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("straight", "cut"))
    assert straight.positions.tobytes() == cut.positions.tobytes()
    assert straight.velocities.tobytes() == cut.velocities.tobytes()
    for name in ("trajectory.extxyz", "thermo.csv"):
        assert open(f"straight/{name}", "rb").read() == open(f"cut/{name}", "rb").read()


KILLED = """
import os, sys
from taichimd.cli.app import main
from taichimd.program.recorder import RowRoom
from taichimd.io.checkpoint import write_checkpoint
import taichimd.app.checkpoint_keeper as keeper

queue, saved = RowRoom.queue, []


def killed(room, row):
    if saved and row > 1:
        os._exit(9)
    queue(room, row)


def noted(path, checkpoint):
    write_checkpoint(path, checkpoint)
    if checkpoint.step:
        saved.append(checkpoint.step)


RowRoom.queue, keeper.write_checkpoint = killed, noted
main(sys.argv[1:])
"""


def test_a_run_that_was_killed_while_rows_were_queued_is_restarted_bit_for_bit(call):
    """The kill comes between rows, after a checkpoint, while the device is ahead of the host's table."""
    run = "run si.extxyz --potential Si.sw --temperature 1500 --every 3 --frames-every 200 --frames netcdf "
    assert call(run + "--steps 6000 --output straight")[0] == 0
    cut = run + "--steps 6000 --output cut --checkpoint-interval 0.01"
    assert subprocess.run([sys.executable, "-c", KILLED, *cut.split()], capture_output=True).returncode == 9
    at = read_checkpoint("cut/checkpoint.npz").step
    assert 0 < at < 6000
    assert call(f"run --restart cut/checkpoint.npz --steps {6000 - at}")[0] == 0
    straight, cut = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("straight", "cut"))
    assert straight.positions.tobytes() == cut.positions.tobytes()
    assert straight.velocities.tobytes() == cut.velocities.tobytes()
    for name in ("trajectory.nc", "thermo.csv"):
        assert Path("straight", name).read_bytes() == Path("cut", name).read_bytes()


def test_frames_have_what_each_atom_has_on_demand(call):
    call(RUN + "--steps 40 --output plain")
    assert call(RUN + "--steps 20 --output more --per-atom energy,virial")[0] == 0
    assert call("run --restart more/checkpoint.npz --steps 20")[0] == 0
    plain, more = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("plain", "more"))
    assert plain.positions.tobytes() == more.positions.tobytes()
    frames = ase.io.read("more/trajectory.extxyz", ":")
    assert len(frames) == 3
    for frame in frames:
        virials = frame.arrays["virials"].reshape(-1, 3, 3)
        expected = -frame.get_stress(voigt=False) * frame.get_volume()
        # Its stress is symmetric, a sum of virials is but for rounding.
        np.testing.assert_allclose(virials.sum(axis=0), expected, atol=1e-10)
        assert frame.get_potential_energies().sum() == pytest.approx(frame.get_potential_energy(), rel=1e-13)
        frame.calc = TaichiMD("Si.sw")
        np.testing.assert_allclose(frame.calc.get_per_atom_virial(frame), virials, atol=1e-11)


@pytest.mark.both
def test_energy_is_conserved_and_files_agree_with_the_evaluation(call):
    call(RUN + "--steps 100 --output o")
    rows = read_thermo("o/thermo.csv")
    assert np.abs(rows["total_eV"] - rows["total_eV"][0]).max() / 64 < 2e-3
    assert rows["temperature_K"][0] == pytest.approx(1500, rel=1e-12)
    frame = ase.io.read("o/trajectory.extxyz")
    ase.io.write("frame.extxyz", frame)
    code, out, _ = call("energy o/trajectory.extxyz --potential Si.sw --json")
    content = json.loads(out[out.index("{") :])
    assert code == 0
    assert content["energy"] == pytest.approx(rows["potential_eV"][-1], rel=1e-12)
    np.testing.assert_allclose(content["forces"], frame.get_forces(), atol=1e-10)
    np.testing.assert_allclose(content["stress"], frame.get_stress(), atol=1e-12)
    assert sum(content["energies"]) == pytest.approx(content["energy"], rel=1e-12)


def test_python_door(folder):
    simulation = Simulation(ase.io.read("si.extxyz"), "Si.sw", timestep=1.0, temperature=300, seed=1)
    assert simulation.run(50).finished
    assert simulation.step == 50


def test_a_potential_from_the_users_own_file(call):
    argon = bulk("Ar", cubic=True, a=5.3) * 3
    ase.io.write("ar.extxyz", argon)
    line = "run ar.extxyz --potential own.py:argon --temperature 80 --timestep 2 --time 100fs --output o"
    assert call(line)[0] == 0
    assert call("run --restart o/checkpoint.npz --steps 10 --trust")[0] == 0
    with open("own.py", "a") as file:
        file.write("\n# a comment: what is computed is the same\n")
    code, _, err = call("run --restart o/checkpoint.npz --steps 10 --trust")
    assert code == 2
    assert (
        "own.py has changed since checkpoint o/checkpoint.npz was written; look at it, and name it again"
        in err
    )
    assert call("run --restart o/checkpoint.npz --steps 10 --potential own.py:argon")[0] == 0
    source = Path("own.py").read_text()
    assert "0.0104" in source
    Path("own.py").write_text(source.replace("0.0104", "0.0105"))
    code, _, err = call("run --restart o/checkpoint.npz --steps 10 --potential own.py:argon")
    assert code == 2
    assert "was made with a different potential" in err


def test_too_large_a_time_step_stops_with_step_and_atom(call):
    call(RUN + "--steps 10 --output o")
    code, _, err = call("run --restart o/checkpoint.npz --steps 2000 --timestep 100")
    assert (code, err.count("\n")) == (2, 1)
    assert "exploded at step" in err
    assert "atom " in err
    assert "the last good checkpoint is o/checkpoint.npz (step 10)" in err
    assert read_checkpoint("o/checkpoint.npz").step == 10


def no_volume():
    return Atoms("Si2", positions=[[0, 0, 0], [2.3, 0, 0]], cell=[10, 0, 0], pbc=True)


def coincident():
    return Atoms("Si2", positions=[[1, 1, 1], [1, 1, 1]], cell=[10, 10, 10], pbc=True)


@pytest.mark.parametrize(
    ("atoms", "potential", "words"),
    [
        (bulk("Ge"), "Si.tersoff", ["Ge", "Si"]),
        (no_volume(), "Si.tersoff", ["periodic along cell vector b, which has no length"]),
        (coincident(), "Si.tersoff", ["0", "1"]),
        (bulk("Si"), "Si.tersof", ["Si.tersof", "Si.tersoff"]),
        (bulk("Si"), "broken.tersoff", ["broken.tersoff", ":"]),
        (bulk("Si"), "own.py:nothing", ["own.py", "nothing"]),
        (bulk("Si"), "own.py", ["own.py:my_potential"]),
    ],
)
@pytest.mark.parametrize("command", ["run", "energy"])
def test_bad_input_is_one_line(call, folder, command, atoms, potential, words):
    header = "# DATE: 2020-01-01 UNITS: metal CITATION: none\n"
    (folder / "broken.tersoff").write_text(header + "Si Si Si 3 1 1.3 4.8 2 0 0.2 0.33 1.3 95 3 0.2 x 3264\n")
    ase.io.write("bad.extxyz", atoms)
    code, _, err = call(f"{command} bad.extxyz --potential {potential}" + " --steps 5" * (command == "run"))
    assert code == 2
    *notes, error = err.splitlines()
    assert error.startswith("error: ")
    assert all(note.startswith("note: atoms 0 (Si) and 1 (Si)") for note in notes)
    for word in words:
        assert word in error
    assert not (folder / "taichimd-run" / "run.json").exists()


@pytest.mark.both
def test_cuda_without_cuda(call):
    from taichimd.core.runtime import backend

    if backend() != "cpu":
        pytest.skip("there is a CUDA device")
    code, _, err = call(RUN + "--steps 5 --backend cuda")
    assert (code, err.count("\n")) == (2, 1)
    assert "cuda" in err


def test_steps_one_by_one_are_steps_in_one_call():
    """Also where the closing half step finds its list outdated: a cluster that expands and heats up."""
    cluster = bulk("Si", cubic=True) * 2
    cluster.pbc = False
    cluster.rattle(0.2, seed=4)
    whole, single = (Simulation(cluster, "Si.sw", temperature=2000) for _ in range(2))
    for _ in range(30):
        single.engine.advance(1, single.timestep * FS)
    whole.engine.advance(30, whole.timestep * FS)
    assert whole.engine.statistics()["rebuilds"] > 2
    assert whole.velocities().tobytes() == single.velocities().tobytes()
    assert whole.positions().tobytes() == single.positions().tobytes()
