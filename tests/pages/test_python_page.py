"""docs/python.md: its blocks run in turn, sharing names, and leave what the text says."""

import re
from pathlib import Path

import pytest
from pages import run_blocks, text_of

from taichimd import __all__ as public

PAGE = "docs/python.md"


@pytest.mark.long
def test_every_block_runs_in_turn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    names = {"__name__": "page"}
    run_blocks(PAGE, capsys, names, tiny={}, not_run=())
    for name in ("rows.csv", "rows.png", "melt.traj", "further/checkpoint.npz"):
        assert Path(name).stat().st_size > 0
    assert names["found"].converged
    assert names["found"].pressure == pytest.approx(2.0, abs=0.05)
    assert names["further"].step == names["later"].step - 20 + 40
    assert (names["later"].positions() == names["simulation"].positions()).all()


def test_names_are_there():
    named = re.findall(r"^\| `(\w+)\(", text_of(PAGE), flags=re.MULTILINE)
    assert len(named) > 4
    assert set(named) <= set(public)
