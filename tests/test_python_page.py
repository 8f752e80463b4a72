"""docs/python.md: its blocks run in turn, and its links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest

from taichimd import __all__ as public
from taichimd.cli.app import main

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_every_block_runs_in_turn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    names = {"__name__": "page"}
    for kind, text in BLOCKS:
        if kind == "python":
            exec(compile(text, "python.md", "exec"), names)
        for line in text.splitlines() if kind == "console" else ():
            with pytest.raises(SystemExit) as caught:
                main(shlex.split(line.removeprefix("$ "))[1:])
            assert caught.value.code == 0, f"{line}\n{capsys.readouterr().err}"
    for name in ("rows.csv", "rows.png", "melt.traj", "further/checkpoint.npz"):
        assert Path(name).stat().st_size > 0
    assert names["found"].converged
    assert names["found"].pressure == pytest.approx(2.0, abs=0.05)
    assert names["further"].step == names["later"].step - 20 + 40
    assert (names["later"].positions() == names["simulation"].positions()).all()


def test_names_and_links_are_there():
    for name in re.findall(r"^\| `(\w+)\(", PAGE, flags=re.MULTILINE):
        assert name in public
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        if not target.startswith("http"):
            assert (ROOT / "docs" / target).exists(), target
