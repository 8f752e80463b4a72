"""A disk that is full from the first byte, and a folder that is removed: no empty file, no wrong word."""

import errno
import shutil

import pytest
from ase.build import bulk

from taichimd.app import run as runs
from taichimd.app.checkpoint_keeper import CheckpointKeeper, note_of
from taichimd.app.outputs import RunFiles
from taichimd.io.files import AppendedFile, writing


@pytest.fixture
def line(tmp_path):
    bulk("Ar", cubic=True, a=5.4).write(tmp_path / "ar.xyz", format="extxyz")
    return f"run {tmp_path}/ar.xyz --potential Ar.lj --steps 4 --temperature 30 --output {tmp_path}/out"


def full(path):
    with writing(path):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("where", ["the first file", "the report", "the first row", "the first frame"])
def test_a_disk_that_is_full_at_the_start_leaves_no_files(where, line, tmp_path, call, monkeypatch):
    if where == "the first file":
        monkeypatch.setattr(RunFiles, "open", lambda self, simulation: full(tmp_path / "out" / "thermo.csv"))
    elif where == "the report":
        monkeypatch.setattr(runs, "write_report", lambda path, report: full(path))
    else:
        monkeypatch.setattr(AppendedFile, "append", lambda self, text: full(self.path))
    if where == "the first frame":
        monkeypatch.setattr("taichimd.io.thermo.ThermoWriter.write", lambda self, *_: None)
    code, _, error = call(line)
    assert code == 2
    assert error.count("\n") == 1
    assert "the disk is full" in error
    assert [file.name for file in tmp_path.iterdir()] == ["ar.xyz"]


@pytest.mark.parametrize(
    "command", ["mc --sweeps 2 --temperature 30", "mc --sweeps 2 --temperature 20,30", "relax"]
)
@pytest.mark.parametrize("where", ["the report", "the first row"])
def test_a_full_disk_leaves_no_files_of_other_commands(where, command, tmp_path, call, monkeypatch):
    if where == "the report":
        monkeypatch.setattr("taichimd.sampling.chain_folder.write_report", lambda path, report: full(path))
        monkeypatch.setattr("taichimd.relaxation.job.write_report", lambda path, report: full(path))
    monkeypatch.setattr(AppendedFile, "append", lambda self, text: full(self.path))
    bulk("Ar", cubic=True, a=5.4).write(tmp_path / "ar.xyz", format="extxyz")
    name, *more = command.split()
    code, _, error = call(
        " ".join([name, f"{tmp_path}/ar.xyz --potential Ar.lj --output {tmp_path}/out", *more])
    )
    assert code == 2
    assert error.count("\n") == 1
    assert "the disk is full" in error
    assert [file.name for file in tmp_path.iterdir()] == ["ar.xyz"]


@pytest.mark.parametrize("where", ["the samples of a run", "the report"])
def test_a_full_disk_is_one_line_of_kappa(where, tmp_path, call, monkeypatch):
    """The samples of finished runs stay."""
    if where == "the report":
        monkeypatch.setattr("taichimd.transport.files.write_report", lambda path, report: full(path))
    else:
        monkeypatch.setattr("taichimd.transport.runs.write_atomically", lambda path, write: full(path))
    (bulk("Ar", cubic=True, a=5.4) * (2, 1, 1)).write(tmp_path / "ar.xyz", format="extxyz")
    code, _, error = call(
        f"kappa {tmp_path}/ar.xyz --potential Ar.lj --temperature 60 --equilibrate 20fs --time 200fs "
        f"--window 50fs --every 5 --runs 1 --backend cpu --output {tmp_path}/out"
    )
    assert code == 2
    assert error.count("\n") == 1
    assert "the disk is full" in error
    kept = sorted(file.name for file in tmp_path.glob("out/*") if file.suffix == ".npz")
    assert kept == (["run-01.npz"] if where == "the report" else [])
    assert not list(tmp_path.glob("out/kappa.json"))


def test_atoms_in_one_place_are_refused_before_earlier_results_of_kappa_go(tmp_path, call):
    atoms = bulk("Si", cubic=True)
    atoms.positions[1] = atoms.positions[0]
    atoms.write(tmp_path / "si.xyz", format="extxyz")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kappa.json").write_text("{}")
    line = f"kappa {tmp_path}/si.xyz --potential Si.sw --temperature 300 --overwrite --output {tmp_path}/out"
    code, _, error = call(line)
    assert code == 2
    assert "are at one place" in error
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["kappa.json"]


def test_a_folder_that_is_removed_has_no_checkpoint(tmp_path):
    keeper = CheckpointKeeper(tmp_path / "out" / "checkpoint.npz", None, None, 60.0, saved_step=100)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoint.npz").touch()
    assert keeper.note() == f"the last good checkpoint is {keeper.path} (step 100)"
    shutil.rmtree(tmp_path / "out")
    assert keeper.note() == f"{keeper.path}, written at step 100, has been removed since"


def test_the_checkpoints_of_several_runs_are_counted(tmp_path):
    keepers = []
    for name in "ABC":
        file = tmp_path / name / "checkpoint.npz"
        file.parent.mkdir()
        file.touch()
        keepers.append(CheckpointKeeper(file, None, None, 60.0, saved_step=100))
    assert note_of(keepers) == "each folder has its last good checkpoint"
    shutil.rmtree(tmp_path / "B")
    assert note_of(keepers) == (
        f"2 of 3 folders have their last good checkpoint, but {tmp_path}/B/checkpoint.npz, written at "
        "step 100, has been removed since"
    )
    for name in "AC":
        shutil.rmtree(tmp_path / name)
    assert note_of(keepers).startswith(f"no folder has a checkpoint: {tmp_path}/A/checkpoint.npz, written at")
