"""docs/trajectories.md: its blocks run in turn, at tiny size."""

import shlex
import shutil
from pathlib import Path

import pytest
from fake_engine import fake  # noqa: F401  (a fixture)
from pages import ROOT, run_blocks

PAGE = "docs/trajectories.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("folder", "fake")
def test_every_run_of_the_page_runs(capsys):
    """With the engine that needs no compiling: what is shown here are files."""
    ran = run_blocks(
        PAGE, capsys, tiny={"--time 10ps": "--time 200fs"}, not_run=("taichimd analyze", "ase convert")
    )
    words = [shlex.split(command) for command in ran]
    assert [word[word.index("--output") + 1] for word in words] == ["melt", "other", "early", "again"]
    for name in ("melt/trajectory.traj", "other/trajectory.extxyz", "again/trajectory.traj", "own.traj"):
        assert Path(name).stat().st_size > 0
