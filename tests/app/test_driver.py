import errno
import io
import json
import os
import shutil
import signal
import sys
import time
from types import SimpleNamespace

import ase.io
import numpy as np
import pytest
from driving import FILES, drive, same_bytes, structure  # noqa: F401  (a fixture)
from fake_engine import FakeEngine, fake  # noqa: F401  (a fixture)
from rich.console import Console

from taichimd.app import driver, run
from taichimd.app.checkpoint_keeper import CheckpointKeeper
from taichimd.app.driver import run_job
from taichimd.app.job import prepare_job
from taichimd.app.notes import faster_runtime, of_output
from taichimd.app.progress import PLAIN_SECONDS
from taichimd.core.errors import BlowUpError, OutputError, SettingsError
from taichimd.forcefields.term import BOND_ORDER, PAIR
from taichimd.io.checkpoint import read_checkpoint
from taichimd.io.thermo import ThermoWriter, read_thermo
from taichimd.io.trajectory import TrajectoryWriter

pytestmark = pytest.mark.usefixtures("fake", "structure")


def test_a_run_leaves_its_files(tmp_path):
    code, text = drive(steps=250, output="out", every=100, temperature=200.0, seed=4)
    assert code == 0
    assert sorted(os.listdir("out")) == FILES
    frames = ase.io.read("out/trajectory.extxyz", ":")
    assert [frame.info["step"] for frame in frames] == [0, 100, 200, 250]
    assert frames[0].get_temperature() == pytest.approx(200 * 9 / 12)
    rows = read_thermo("out/thermo.csv")
    assert rows["step"].tolist() == [0, 100, 200, 250]
    assert rows["time_ps"].tolist() == [0, 0.1, 0.2, 0.25]
    assert rows["temperature_K"][0] == pytest.approx(200, rel=1e-14)
    report = json.loads(open("out/run.json").read())
    assert report["exit_reason"] == "finished"
    assert report["settings"]["temperature"] == 200.0
    assert (report["seed"], report["n_atoms"], report["last_step"]) == (4, 4, 250)
    assert report["compile_seconds"] == 0.25
    assert report["atom_steps_per_second"] == pytest.approx(4 * 250 / report["stepping_seconds"])
    assert {"runtime", "versions", "host", "statistics", "wall_seconds", "energy_drift", "means"} <= set(
        report
    )
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "Maxwell-Boltzmann at 200 K, seed 4" in text
    assert "atom-step/s" in text
    assert "trajectory.extxyz" in text


def test_the_picture_is_drawn_while_files_are_completed(monkeypatch):
    done, save = [], CheckpointKeeper.save

    def draw(table, picture, report):
        done.append(("draw", read_thermo(table)["step"].tolist(), report["n_atoms"]))
        return lambda: done.append("drawn")

    def saved(self, simulation):
        done.append("checkpoint")
        save(self, simulation)

    monkeypatch.setattr(run, "draw", draw)
    monkeypatch.setattr(CheckpointKeeper, "save", saved)
    drive(steps=250, output="out", every=100)
    assert done == ["checkpoint", ("draw", [0, 100, 200, 250], 4), "checkpoint", "drawn"]


def test_same_seed_same_bytes():
    drive(steps=30, output="a")
    drive(steps=30, output="b")
    drive(steps=30, output="c", seed=2)
    assert same_bytes("a", "b", "trajectory.extxyz", "thermo.csv")
    assert not same_bytes("a", "c", "trajectory.extxyz")


def test_velocities_come_from_the_file():
    drive(steps=20, output="a", every=10)
    _, text = drive(structure="a/trajectory.extxyz", steps=10, output="b")
    assert "from the structure file" in text
    last = ase.io.read("a/trajectory.extxyz")
    first = ase.io.read("b/trajectory.extxyz", 0)
    assert np.array_equal(first.positions, last.positions)
    np.testing.assert_allclose(first.get_velocities(), last.get_velocities(), rtol=1e-14)


def test_ctrl_c_writes_a_checkpoint_and_says_how_to_go_on():
    drive(steps=300, output="straight", every=50)

    def press(engine):
        if engine.step >= 111:
            FakeEngine.after_advance = None
            os.kill(os.getpid(), signal.SIGINT)

    FakeEngine.after_advance = press
    code, text = drive(steps=300, output="cut", every=50)
    assert code == 130
    stopped = read_checkpoint("cut/checkpoint.npz").step
    assert 111 <= stopped < 300
    assert f"stopped by SIGINT at step {stopped} of 300; to continue:" in text
    command = text.splitlines()[-1]
    assert command == "taichimd run --restart cut/checkpoint.npz"
    assert json.loads(open("cut/run.json").read())["exit_reason"] == "stopped by SIGINT"
    assert drive(restart="cut/checkpoint.npz")[0] == 0  # completes the 300 steps
    assert same_bytes("straight", "cut", "trajectory.extxyz", "thermo.csv")
    with pytest.raises(
        SettingsError, match=r"the run of cut/checkpoint.npz is complete: say how far to continue"
    ):
        drive(restart="cut/checkpoint.npz")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_stop_in_the_same_way(name):
    number = getattr(signal, name)
    before = signal.signal(number, signal.SIG_DFL)  # tests themselves may run under nohup
    try:
        FakeEngine.after_advance = lambda engine: os.kill(os.getpid(), number)
        code, text = drive(steps=300, output="cut")
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert code == 128 + number
    assert f"stopped by {name} at step 1 of 300" in text


def test_a_hangup_that_is_ignored_stays_so():
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        FakeEngine.after_advance = lambda engine: os.kill(os.getpid(), signal.SIGHUP)
        assert drive(steps=3, output="all")[0] == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_checkpoints_are_written_at_the_interval():
    saved = []

    def look(engine):
        saved.append(read_checkpoint("out/checkpoint.npz").step)

    FakeEngine.after_advance = look
    FakeEngine.step_seconds = 1e-3
    drive(steps=100, every=10, output="out", checkpoint_interval=0.02)
    assert saved[0] == 0
    assert 0 < saved[-1] < 100


def test_blow_up_keeps_the_last_good_checkpoint():
    drive(steps=20, output="out", every=10)
    with pytest.raises(BlowUpError) as caught:
        drive(restart="out/checkpoint.npz", steps=5000, timestep=300.0)
    assert caught.value.step > 20
    assert str(caught.value) == (
        f"atom {caught.value.atom} left at step {caught.value.step}; "
        "the last good checkpoint is out/checkpoint.npz (step 20)"
    )
    assert read_checkpoint("out/checkpoint.npz").step == 20
    assert json.loads(open("out/run.json").read())["exit_reason"].startswith("BlowUpError: atom")


def test_state_that_is_not_finite_replaces_no_checkpoint():
    def poison(engine):
        if engine.step >= 10:
            engine._v = np.full((4, 3), np.nan)

    FakeEngine.after_advance = poison
    drive(steps=10, every=10, output="out")
    assert read_checkpoint("out/checkpoint.npz").step == 0


@pytest.mark.parametrize(("writer", "method"), [(ThermoWriter, "write"), (TrajectoryWriter, "append_frame")])
def test_full_disk_keeps_the_last_good_checkpoint(monkeypatch, writer, method):
    class FullDisk(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    def fill_the_disk(engine):
        if engine.step >= 40:
            original = getattr(writer, method)

            def write(self, *args):
                self._file = FullDisk()
                original(self, *args)

            monkeypatch.setattr(writer, method, write)
            FakeEngine.after_advance = None

    FakeEngine.after_advance = fill_the_disk
    with pytest.raises(OutputError) as caught:
        drive(steps=100, every=20, output="out")
    message = str(caught.value)
    assert "the disk is full; free some space or choose another folder with --output" in message
    assert "the last good checkpoint is out/checkpoint.npz (step 0)" in message
    assert "\n" not in message
    assert read_checkpoint("out/checkpoint.npz").step == 0


def test_full_disk_at_the_checkpoint_keeps_the_old_one(monkeypatch):
    def fill_the_disk(engine):
        def full(*args, **kwargs):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("numpy.savez", full)

    FakeEngine.after_advance = fill_the_disk
    with pytest.raises(OutputError, match=r"cannot write out/checkpoint\.npz: the disk is full.*\(step 0\)"):
        drive(steps=100, output="out")
    assert read_checkpoint("out/checkpoint.npz").step == 0
    assert not [name for name in os.listdir("out") if name.endswith(".part")]


def test_an_earlier_run_is_not_overwritten_unasked():
    drive(steps=10, output="out")
    before = open("out/trajectory.extxyz", "rb").read()
    with pytest.raises(OutputError) as caught:
        drive(steps=20, output="out")
    assert str(caught.value) == (
        "out holds an earlier run (trajectory.extxyz, thermo.csv, thermo.png, checkpoint.npz, run.json); "
        "give --overwrite to replace it, --restart out/checkpoint.npz to continue it, or another --output"
    )
    assert open("out/trajectory.extxyz", "rb").read() == before
    drive(steps=20, output="out", overwrite=True)
    assert json.loads(open("out/run.json").read())["last_step"] == 20


def test_overwrite_with_a_mistake_destroys_nothing(monkeypatch):
    drive(steps=10, output="out")

    def fails(self, *args, **kwargs):
        raise SettingsError("no such thing")

    monkeypatch.setattr(FakeEngine, "__init__", fails)
    with pytest.raises(SettingsError):
        drive(steps=20, output="out", overwrite=True)
    assert sorted(os.listdir("out")) == FILES


def test_output_folder_below_a_file():
    with pytest.raises(OutputError, match=r"cannot write s\.extxyz/out: a file is in the way of the folder"):
        drive(steps=10, output="s.extxyz/out")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_output_folder_without_permission(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(OutputError, match=r"cannot write locked/out: no permission; choose another folder"):
        drive(steps=10, output="locked/out")


def test_denied_output_folder(monkeypatch):
    def denied(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", denied)
    with pytest.raises(
        OutputError, match="cannot write out: no permission; choose another folder with --output"
    ):
        drive(steps=10, output="out")


@pytest.mark.parametrize("key", ["temperature", "seed"])
def test_what_velocities_of_a_file_leave_without_effect_is_refused(key):
    drive(steps=5, output="a", temperature=100.0)
    flags = {"structure": "a/trajectory.extxyz", "potential": "springs.txt", "steps": 5, key: 200}
    with pytest.raises(
        SettingsError, match=rf"{key} = 200(\.0)?: velocities come from the structure file \(\d+ K"
    ):
        prepare_job(flags)
    settings = prepare_job(flags | {"ensemble": "nvt-bussi"}).settings
    assert getattr(settings.ensemble, key) == 200


def test_what_is_missing_is_named():
    with pytest.raises(SettingsError, match="no potential given: expected a parameter file, a shipped name"):
        prepare_job({"structure": "s.extxyz", "steps": 5})
    with pytest.raises(SettingsError, match="no structure given: expected a structure file that ASE reads"):
        prepare_job({"potential": "springs.txt", "steps": 5})
    with pytest.raises(
        SettingsError, match="the length of the run is not given: expected --steps N or --time"
    ):
        prepare_job({"structure": "s.extxyz", "potential": "springs.txt"})


def test_progress_on_a_terminal_fits_80_columns():
    console = Console(
        file=io.StringIO(), width=80, force_terminal=True, color_system=None, legacy_windows=False
    )
    FakeEngine.step_seconds = 2e-3
    flags = {"structure": "s.extxyz", "potential": "springs.txt", "steps": 300, "every": 10, "output": "out"}
    run_job(prepare_job(flags), console)
    text = console.file.getvalue()
    assert "ns/day" in text
    assert "left" in text
    assert "drift" in text


def test_plain_lines_are_few():
    begin = time.monotonic()
    _, text = drive(steps=3000, every=1, output="out")
    lines = [line for line in text.splitlines() if "%" in line and not line.startswith("note")]
    assert 1 <= len(lines) <= 2 + (time.monotonic() - begin) / PLAIN_SECONDS
    assert "100%" in lines[-1]


def test_change_of_backend_is_remarked(monkeypatch):
    drive(steps=10, output="out")
    other = {"runtime": "none 0", "backend": "cuda", "device": "fake"}
    monkeypatch.setattr(sys.modules["taichimd.core.runtime"], "info", lambda: other)
    _, text = drive(restart="out/checkpoint.npz", steps=5)
    assert "note: the checkpoint is of backend cpu (now cuda): last digits may" in " ".join(text.split())


def test_second_ctrl_c_leaves_the_last_good_checkpoint():
    def press_twice(engine):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    FakeEngine.after_advance = press_twice
    with pytest.raises(KeyboardInterrupt):
        drive(steps=100, output="out")
    assert read_checkpoint("out/checkpoint.npz").step == 0
    assert json.loads(open("out/run.json").read())["exit_reason"].startswith("KeyboardInterrupt")


def test_one_ctrl_c_behind_the_last_step_costs_no_result(monkeypatch):
    from taichimd.io import plots

    plain = plots.plot_thermo

    def press(*of):
        os.kill(os.getpid(), signal.SIGINT)
        plain(*of)

    monkeypatch.setattr(plots, "plot_thermo", press)
    code, text = drive(steps=100, output="out")
    assert code == 0
    assert "to continue" not in text
    assert sorted(os.listdir("out")) == FILES
    assert json.loads(open("out/run.json").read())["exit_reason"] == "finished"


def test_a_run_killed_behind_its_last_step_gets_its_results_by_a_restart(monkeypatch):
    drive(steps=130, output="whole")

    def kill(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("taichimd.app.observing.finish", kill)
        with pytest.raises(KeyboardInterrupt):
            drive(steps=130, output="cut")
    assert "thermo.png" not in os.listdir("cut")
    shutil.copy("cut/checkpoint.npz", "cut/copy.npz")
    for other in ({"restart": "cut/copy.npz"}, {"restart": "cut/checkpoint.npz", "output": "new"}):
        with pytest.raises(SettingsError, match="is complete"):
            drive(**other)
    os.remove("cut/copy.npz")
    assert drive(restart="cut/checkpoint.npz")[0] == 0
    assert sorted(os.listdir("cut")) == FILES
    assert same_bytes("whole", "cut", "trajectory.extxyz", "thermo.csv")
    with pytest.raises(SettingsError, match="is complete"):
        drive(restart="cut/checkpoint.npz")


def test_who_runs_under_taichi_is_told_of_the_faster_runtime():
    chosen = {"runtime": "taichi 1.7.4", "chosen": "TAICHIMD_RUNTIME says so"}
    alone = {"runtime": "taichi 1.7.4", "chosen": "quadrants, which is faster, is not installed"}
    assert faster_runtime({"backend": "cpu", **chosen}) == []
    assert (
        faster_runtime({"backend": "cuda", "runtime": "quadrants 1.4.0", "chosen": "it is installed"}) == []
    )
    for running in ({"backend": "cuda", **chosen}, {"backend": "cpu", **alone}):
        (note,) = faster_runtime(running)
        assert "pip install '.[quadrants]'" in note


@pytest.mark.parametrize(
    ("kind", "moves_cell", "how_long"),
    [
        (BOND_ORDER, False, "about half a minute"),
        (BOND_ORDER, True, "about a minute"),
        (PAIR, False, "up to 15 seconds"),
    ],
)
def test_what_is_compiled_is_said_with_how_long_it_takes(kind, moves_cell, how_long):
    forcefield = SimpleNamespace(name="Si.tersoff", terms=[SimpleNamespace(kind=kind)])
    ensemble = SimpleNamespace(name="npt-scr", kind=SimpleNamespace(moves_cell=moves_cell))
    job = SimpleNamespace(forcefield=forcefield, settings=SimpleNamespace(ensemble=ensemble))
    assert driver.compiling(job) == (
        "compiling the kernels of Si.tersoff and npt-scr: the first time on a machine takes "
        f"{how_long}, later runs take them from the cache"
    )


def test_a_log_says_what_is_compiled_only_if_it_takes_long(monkeypatch):
    assert "compiling the kernels" not in drive(steps=5, output="quick")[1]
    monkeypatch.setattr(driver, "_PATIENCE", 0.01)
    monkeypatch.setattr(FakeEngine, "warm_up", lambda engine: time.sleep(0.3) or 0.3)
    assert "compiling the kernels of " in drive(steps=5, output="slow")[1]


def test_output_that_takes_more_than_a_fifth_of_the_time_is_noted():
    report = {"output_seconds": 6.0, "stepping_seconds": 14.0, "sampling_seconds": 3.0}
    report["settings"] = {"frames": "extxyz"}
    (note,) = of_output(report)
    assert note.startswith("output took 26% of the time of the run (6.0 s): --frames netcdf")
    assert of_output({**report, "settings": {"frames": "none"}})[0].endswith("--n-rows 200 writes fewer rows")
    assert of_output({**report, "stepping_seconds": 30.0}) == []
    # A short run needs no cure.
    assert of_output({**report, "output_seconds": 4.9, "stepping_seconds": 1.0}) == []


@pytest.mark.parametrize("more", [{}, {"overwrite": True}])
def test_a_second_run_in_the_folder_of_a_living_one_is_refused(more):
    said = []

    def second(engine):
        FakeEngine.after_advance = None
        held = rf"^taichimd-run is in use .*process {os.getpid()} on "
        with pytest.raises(OutputError, match=held) as caught:
            drive(steps=5, **more)
        said.append(caught.value.exit_code)

    FakeEngine.after_advance = second
    assert drive(steps=20, every=10)[0] == 0
    assert said == [2]
    assert read_thermo("taichimd-run/thermo.csv")["step"].tolist() == [0, 10, 20]
    assert sorted(os.listdir("taichimd-run")) == FILES, "no lock is left"
    with pytest.raises(OutputError, match="earlier run"):
        drive(steps=5)
