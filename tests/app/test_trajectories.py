"""Trajectories of a run: their formats, their rhythm, what a restart does with them, and the observers."""

import errno
import json
import os
from dataclasses import replace

import ase.io
import numpy as np
import pytest
from ase import Atoms, units
from ase.io.trajectory import TrajectoryReader
from driving import drive, same_bytes, structure  # noqa: F401  (a fixture)
from fake_engine import FakeEngine, FakeForceField, fake  # noqa: F401  (a fixture)

from taichimd.app import outputs
from taichimd.app.outputs import ThermoTable, TrajectoryFile
from taichimd.app.simulation import Simulation
from taichimd.core.errors import OutputError, SettingsError, StructureError
from taichimd.io import files
from taichimd.io.binary_trajectory import BinaryTrajectoryWriter, cut_frames
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.frames import read_frames
from taichimd.io.thermo import read_thermo
from taichimd.settings.config import make_settings
from taichimd.system.velocities import maxwell_boltzmann

pytestmark = pytest.mark.usefixtures("fake", "structure")
CELL = [[4.0, 0, 0], [1.0, 4.0, 0], [0.5, 0.25, 4.0]]


def an_engine(pbc=True):
    atoms = Atoms("SiCSi", positions=[[0.1, 0, 0], [-2.03, 0, 1e-7], [0, 1.9, 7]], cell=CELL, pbc=pbc)
    engine = FakeEngine(atoms, FakeForceField())
    engine.set_state(velocities=maxwell_boltzmann(engine.masses, 300, 1))
    return engine


def write_frames(path, steps, drop_from=None, **options):
    engine = an_engine()
    writer = BinaryTrajectoryWriter(path, engine.symbols, engine.pbc, drop_from, **options)
    for step in steps:
        engine.set_state(step=step)
        writer.write(engine, engine.thermo(), step / 1000)
    writer.close()
    return engine


def steps_of(path):
    return [frame.info["step"] for frame in ase.io.read(path, ":")]


def test_ase_reads_a_binary_frame_back_exactly(tmp_path):
    engine = write_frames(tmp_path / "t.traj", [40])
    frame = ase.io.read(tmp_path / "t.traj")
    assert frame.get_chemical_symbols() == ["Si", "C", "Si"]
    assert frame.positions.tobytes() == engine.positions().tobytes()
    assert np.array_equal(frame.cell.array, CELL)
    assert frame.pbc.all()
    momenta = engine.velocities() * engine.masses[:, None]
    assert frame.get_momenta().tobytes() == momenta.tobytes()
    np.testing.assert_allclose(frame.get_velocities(), engine.velocities(), rtol=1e-14)
    assert frame.get_forces().tobytes() == engine.forces().tobytes()
    assert frame.get_potential_energy() == engine.thermo().potential
    assert np.array_equal(frame.get_stress(), engine.thermo().stress)
    assert frame.info == {"step": 40, "time_ps": 0.04}


def test_binary_frames_have_velocities_once_and_say_their_unit(tmp_path):
    write_frames(tmp_path / "t.traj", [0, 1])
    with TrajectoryReader(tmp_path / "t.traj") as frames:
        assert frames.description["momenta"].startswith("sqrt(eV*amu);")
        keys = set(frames.backend[1].keys())
    assert keys == {"positions", "cell", "momenta", "calculator", "info"}


def test_masses_that_are_not_ases_are_in_the_binary_file(tmp_path):
    atoms = Atoms("SiC", positions=[[0, 0, 0], [2, 0, 0]], cell=[9, 9, 9], pbc=True)
    atoms.set_masses([29.0, 13.0])
    engine = FakeEngine(atoms, FakeForceField())
    engine.set_state(velocities=maxwell_boltzmann(engine.masses, 300, 1))
    for drop_from in (None, 1):
        writer = BinaryTrajectoryWriter(
            tmp_path / "t.traj", engine.symbols, engine.pbc, drop_from, masses=engine.masses
        )
        engine.step = drop_from or 0
        writer.write(engine, engine.thermo(), 0.0)
        writer.close()
    for frame in ase.io.read(tmp_path / "t.traj", ":"):
        assert frame.get_masses().tolist() == [29.0, 13.0]
        np.testing.assert_allclose(frame.get_velocities(), engine.velocities(), rtol=1e-14)


def test_what_each_atom_has_is_in_the_binary_file(tmp_path, monkeypatch):
    engine = an_engine()
    now = replace(engine.evaluate(), virials=np.random.default_rng(1).normal(size=(3, 3, 3)))
    monkeypatch.setattr(engine, "evaluate", lambda: now)
    writer = BinaryTrajectoryWriter(
        tmp_path / "t.traj", engine.symbols, engine.pbc, per_atom=("virial", "energy")
    )
    writer.write(engine, engine.thermo(), 0.0)
    writer.close()
    frame = ase.io.read(tmp_path / "t.traj")
    assert np.array_equal(frame.get_potential_energies(), now.energies)
    assert np.array_equal(frame.info["virials"], now.virials)


# 42 and 1764 frames: where the table of a ULM file grows.
@pytest.mark.parametrize("kept", [1, 2, 41, 42, 43, 44, 50])
def test_a_cut_binary_file_has_the_bytes_of_one_that_was_never_longer(tmp_path, kept):
    write_frames(tmp_path / "short.traj", range(kept))
    write_frames(tmp_path / "long.traj", range(50))
    write_frames(tmp_path / "whole.traj", range(60))
    assert cut_frames(tmp_path / "long.traj", kept) == kept
    assert (tmp_path / "long.traj").read_bytes() == (tmp_path / "short.traj").read_bytes()
    write_frames(tmp_path / "long.traj", range(kept, 60), drop_from=kept)
    assert (tmp_path / "long.traj").read_bytes() == (tmp_path / "whole.traj").read_bytes()


def test_a_cut_of_thousands_of_frames(tmp_path):
    atoms, path = Atoms("H"), tmp_path / "t.traj"
    sizes = {}
    with ase.io.trajectory.TrajectoryWriter(path) as writer:
        for step in range(1800):
            atoms.info = {"step": step}
            writer.write(atoms)
            sizes[step + 1] = os.path.getsize(path)
    for kept in (1790, 1765, 1764, 1763, 43, 42):
        assert cut_frames(path, kept) == kept
        assert os.path.getsize(path) == sizes[kept]
        with TrajectoryReader(path) as frames:
            assert [frames[k].info["step"] for k in (0, 41, kept - 1)] == [0, 41, kept - 1]


@pytest.mark.parametrize("bytes_more", [8, 200, 700])
def test_a_frame_that_a_killed_run_left_unfinished_is_cut(tmp_path, bytes_more):
    path = tmp_path / "t.traj"
    write_frames(path, [0, 10])
    two = path.read_bytes()
    write_frames(tmp_path / "all.traj", [0, 10, 20])
    whole = (tmp_path / "all.traj").read_bytes()
    # Arrays come first, the count in the header last.
    path.write_bytes(two + whole[len(two) : len(two) + bytes_more])
    assert steps_of(path) == [0, 10]
    write_frames(path, [20], drop_from=11)
    assert path.read_bytes() == whole


def test_a_full_disk_within_a_binary_frame_is_one_line(monkeypatch):
    from ase.io import ulm

    fill, append, steps = ulm.Writer.fill, BinaryTrajectoryWriter.append_frame, []

    def full(self, values):
        if steps and steps[-1] >= 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        fill(self, values)

    def of_step(self, frame):
        steps.append(frame.step)
        append(self, frame)

    with monkeypatch.context() as patched:
        patched.setattr(ulm.Writer, "fill", full)
        patched.setattr(BinaryTrajectoryWriter, "append_frame", of_step)
        with pytest.raises(OutputError) as caught:
            drive(steps=100, every=20, output="out", frames="traj")
    assert "cannot write out/trajectory.traj: the disk is full; free some space or" in str(caught.value)
    assert "the last good checkpoint is out/checkpoint.npz (step 0)" in str(caught.value)
    assert steps_of("out/trajectory.traj") == [0, 20]
    drive(restart="out", steps=100)
    assert steps_of("out/trajectory.traj") == [0, 20, 40, 60, 80, 100]


@pytest.mark.parametrize("content", [b"no trajectory at all, but long enough for a header", b"- of Ulm"])
def test_a_foreign_binary_file_is_not_cut(tmp_path, content):
    (tmp_path / "t.traj").write_bytes(content)
    with pytest.raises(OutputError, match=r"t\.traj is not a trajectory that taichimd wrote; choose another"):
        write_frames(tmp_path / "t.traj", [1], drop_from=1)
    assert (tmp_path / "t.traj").read_bytes() == content


def test_a_binary_trajectory_of_ase_alone_is_not_cut(tmp_path):
    ase.io.write(tmp_path / "t.traj", Atoms("H"))
    with pytest.raises(OutputError, match="is not a trajectory that taichimd wrote"):
        write_frames(tmp_path / "t.traj", [1], drop_from=1)


def test_both_formats_have_the_same_numbers():
    drive(steps=30, every=10, output="text", per_atom="energy,virial")
    drive(steps=30, every=10, output="binary", frames="traj", per_atom="energy,virial")
    one, other = read_frames("text/trajectory.extxyz"), read_frames("binary/trajectory.traj")
    for name in ("positions", "velocities", "cells", "times", "masses", "pbc"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert not other.wrapped
    text, binary = ase.io.read("text/trajectory.extxyz"), ase.io.read("binary/trajectory.traj")
    assert text.info["step"] == binary.info["step"] == 30
    assert np.array_equal(text.get_potential_energies(), binary.get_potential_energies())
    assert np.array_equal(text.arrays["virials"].reshape(-1, 3, 3), binary.info["virials"])


@pytest.mark.parametrize("frames", ["extxyz", "netcdf", "traj"])
@pytest.mark.parametrize("half", [100, 95])
def test_a_restart_goes_on_with_frames_of_their_own_rhythm(frames, half):
    name = "trajectory.nc" if frames == "netcdf" else f"trajectory.{frames}"
    own = {"every": 20, "frames_every": 50, "frames": frames}
    drive(steps=2 * half, output="straight", **own)
    drive(steps=half, output="cut", **own)
    assert drive(restart="cut/checkpoint.npz", steps=half)[0] == 0
    steps = read_frames(f"straight/{name}").clock
    assert steps is not None
    assert steps.tolist() == [*range(0, 2 * half, 50), 2 * half]
    assert read_thermo("cut/thermo.csv")["step"].tolist() == [*range(0, 2 * half, 20), 2 * half]
    assert same_bytes("straight", "cut", name, "thermo.csv")


def test_frames_change_no_bit_of_table_and_checkpoint():
    for output, frames in (("a", {"frames_every": 7}), ("b", {"frames": "none"}), ("c", {"frames": "traj"})):
        drive(steps=100, every=20, output=output, **frames)
    for output in "bc":
        assert same_bytes("a", output, "thermo.csv")
        one, other = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("a", output))
        assert one.positions.tobytes() == other.positions.tobytes()
    assert steps_of("a/trajectory.extxyz") == [*range(0, 100, 7), 100]


def test_frames_may_be_rarer_than_rows_and_rows_than_frames():
    drive(steps=40, every=10, frames_every=20, output="rare")
    drive(steps=40, every=20, frames_every=10, output="often")
    assert steps_of("rare/trajectory.extxyz") == [0, 20, 40]
    assert read_thermo("rare/thermo.csv")["step"].tolist() == [0, 10, 20, 30, 40]
    assert steps_of("often/trajectory.extxyz") == [0, 10, 20, 30, 40]
    assert read_thermo("often/thermo.csv")["step"].tolist() == [0, 20, 40]


def test_a_run_without_frames():
    code, text = drive(steps=20, every=10, frames="none", output="out")
    assert code == 0
    assert sorted(os.listdir("out")) == ["checkpoint.npz", "run.json", "thermo.csv", "thermo.png"]
    assert "trajectory" not in text
    assert json.loads(open("out/run.json").read())["settings"]["frames"] == "none"


@pytest.mark.parametrize("flag", [{"frames_every": 5}, {"per_atom": "energy"}])
def test_what_needs_frames_is_refused_without_them(flag):
    ((key, value),) = flag.items()
    with pytest.raises(SettingsError, match=f"{key} = {value}: with frames = none no frame is written"):
        drive(steps=20, frames="none", **flag)


def test_the_command_line_leaves_out_the_frames_of_a_job_file(tmp_path):
    (tmp_path / "job.toml").write_text('frames_every = 5\nper_atom = "energy"\n')
    settings = make_settings({"frames": "none"}, tmp_path / "job.toml")
    assert settings.output.frames == "none"
    (tmp_path / "job.toml").write_text('frames_every = 5\nframes = "none"\n')
    with pytest.raises(SettingsError, match="frames_every = 5: with frames = none no frame is written"):
        make_settings({}, tmp_path / "job.toml")


def test_a_binary_run_lists_its_file():
    _, text = drive(steps=20, frames="traj", output="out")
    assert "trajectory.traj (" in text
    assert "trajectory.extxyz" not in text


def test_another_format_does_not_outlive_overwrite():
    drive(steps=10, output="out")
    with pytest.raises(OutputError, match=r"out holds an earlier run \(trajectory.extxyz, thermo.csv"):
        drive(steps=10, output="out", frames="traj")
    drive(steps=10, output="out", frames="traj", overwrite=True)
    assert not os.path.exists("out/trajectory.extxyz")
    drive(steps=10, output="out", frames="none", overwrite=True)
    assert not os.path.exists("out/trajectory.traj")


def test_a_restart_mixes_no_formats():
    drive(steps=10, output="out")
    with pytest.raises(OutputError) as caught:
        drive(restart="out", steps=10, frames="traj")
    assert str(caught.value) == (
        "out/trajectory.extxyz exists: frames = traj cannot continue it; give --frames extxyz, or "
        "another --output"
    )
    drive(restart="out", steps=10, frames="traj", output="other")
    assert steps_of("other/trajectory.traj") == [10, 20]


def test_a_restart_may_leave_frames_out_and_begin_them_again():
    drive(steps=20, every=10, output="out")
    FakeEngine.after_advance = lambda engine: (
        (_ for _ in ()).throw(OutputError("killed")) if engine.step > 32 else 0
    )
    with pytest.raises(OutputError):
        drive(restart="out", steps=20)
    FakeEngine.after_advance = None
    assert steps_of("out/trajectory.extxyz") == [0, 10, 20, 30]
    _, text = drive(restart="out", steps=5, frames="none")
    note = "note: trajectory.extxyz is not continued: its frames end at step 20 or before"
    assert note in " ".join(text.split())
    # Frame 30 was behind the checkpoint.
    assert steps_of("out/trajectory.extxyz") == [0, 10, 20]
    _, text = drive(restart="out", steps=15, frames="extxyz")
    note = "note: trajectory.extxyz is continued after a gap: the run before step 25 wrote no frames"
    assert note in " ".join(text.split())
    assert steps_of("out/trajectory.extxyz") == [0, 10, 20, 30, 40]
    drive(steps=10, every=10, output="late", frames="none")
    _, text = drive(restart="late", steps=10, frames="traj")
    assert "gap" not in text
    assert steps_of("late/trajectory.traj") == [20]


def test_analysis_takes_a_folder_and_says_what_it_lacks():
    drive(steps=20, every=10, output="out", frames="traj")
    assert read_frames("out").times.tolist() == [0.0, 0.01, 0.02]
    drive(steps=20, output="bare", frames="none")
    for path in ("bare", "bare/trajectory.extxyz"):
        with pytest.raises(StructureError) as caught:
            read_frames(path)
        assert str(caught.value) == (
            "the run in bare wrote no trajectory (frames = none); run it with --frames extxyz, netcdf or traj"
        )
    os.mkdir("empty")
    with pytest.raises(StructureError, match=r"folder empty has no trajectory \(trajectory.extxyz or"):
        read_frames("empty")


def test_frames_of_earlier_versions_are_read_as_before():
    """They have a column of velocities in Å/fs beside the momenta."""
    atoms = ase.io.read("s.extxyz")
    atoms.set_velocities(np.arange(12.0).reshape(4, 3))
    atoms.new_array("vel", atoms.get_velocities() * units.fs)
    atoms.info = {"step": 0, "time_ps": 0.0}
    later = atoms.copy()
    later.info = {"step": 1, "time_ps": 0.001}
    ase.io.write("old.extxyz", [atoms, later])
    np.testing.assert_allclose(read_frames("old.extxyz").velocities[1], np.arange(12.0).reshape(4, 3))


def a_simulation():
    return Simulation(ase.io.read("s.extxyz"), FakeForceField(), temperature=100, seed=1)


def test_observers_write_the_files_of_a_run():
    drive(steps=100, every=20, output="run", temperature=100.0)
    simulation = a_simulation()
    with ThermoTable("t.csv", every=20) as table, TrajectoryFile("t.extxyz", every=20) as frames:
        simulation.run(55, observers=[table, frames])
        simulation.run(45, observers=[table, frames], report_first=False)
    rows = read_thermo("t.csv")["step"].tolist()
    assert rows == [0, 20, 40, 55, 60, 80, 100]
    assert steps_of("t.extxyz") == rows
    lines = [line for line in open("t.csv") if not line.startswith("55,")]
    assert lines == open("run/thermo.csv").readlines()


@pytest.mark.parametrize("name", ["t.traj", "t.extxyz"])
def test_an_observer_of_two_runs_writes_no_step_twice(name):
    simulation, frames = a_simulation(), TrajectoryFile(name, every=10)
    simulation.run(20, observers=[frames])
    simulation.run(20, observers=[frames])
    frames.close()
    simulation.run(10, observers=[frames])
    frames.close()
    assert steps_of(name) == [0, 10, 20, 30, 40, 50]


def test_observers_replace_nothing_unasked():
    for make, name in ((ThermoTable, "t.csv"), (TrajectoryFile, "t.traj")):
        with open(name, "w") as file:
            file.write("precious")
        with pytest.raises(OutputError, match=f"{name} already exists; give overwrite=True to replace it"):
            a_simulation().run(5, observers=[make(name)])
        assert open(name).read() == "precious"
        a_simulation().run(5, observers=[make(name, overwrite=True)])
        assert os.path.getsize(name) > 8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TrajectoryFile("t.dcd"), r"t\.dcd: expected a trajectory named \*\.extxyz or \*\.xyz or"),
        (lambda: TrajectoryFile("t.traj", per_atom=("mass",)), "expected some of energy, virial"),
        (lambda: TrajectoryFile("t.traj", every=0), "every = 0: expected a whole number above 0"),
        (lambda: ThermoTable("t.csv", every=2.5), r"every = 2\.5: expected a whole number above 0"),
    ],
)
def test_mistakes_of_observers(make, message):
    with pytest.raises(SettingsError, match=message):
        make()


@pytest.mark.parametrize("name", ["t.extxyz", "t.traj", "t.nc"])
def test_the_disk_begins_with_frames_while_steps_continue(name, monkeypatch):
    sizes, begin = [], files.begin_to_write_out

    def begun(handle):
        sizes.append(os.fstat(handle).st_size)
        begin(handle)

    with TrajectoryFile(name, every=10) as frames:
        a_simulation().run(50, observers=[frames])
    expected = open(name, "rb").read()
    monkeypatch.setattr(files, "begin_to_write_out", begun)
    monkeypatch.setattr(outputs, "WRITE_OUT_BYTES", 2 * 3 * 3 * 8 * a_simulation().engine.n_atoms)
    with TrajectoryFile(name, every=10, overwrite=True) as frames:
        a_simulation().run(50, observers=[frames])
    assert len(sizes) == 3  # of six frames
    assert sizes[-1] == len(expected)
    assert open(name, "rb").read() == expected
