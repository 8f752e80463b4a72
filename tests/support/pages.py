"""Pages of the documentation, and their fenced blocks: what a reader would type, at tiny size.

A block "```python name.py" or "```toml name.toml" is a file of that name; "```python" is executed; lines of
"```console" that begin with "$ taichimd" go through the command line. Others install, or draw equations.
"""

import re
import shlex
from pathlib import Path

import pytest

from taichimd.cli.app import main

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(file.relative_to(ROOT)) for file in (ROOT / "docs").rglob("*.md"))]
NO_CODE = ("text", "math")
TINY = {
    "--time 20ps --equilibrate 4ps": "--time 800fs --equilibrate 20fs",
    "--lengths 4nm,8nm,16nm --supercell 1 3 3 --runs 5 --time 200ps": "--lengths 2nm,3nm --supercell 1 2 2 "
    "--runs 2 --equilibrate 20fs --time 800fs",
    "--supercell 16 3 3 --runs 5 --time 400ps --window 4ps": "--supercell 16 1 1 --runs 2 --equilibrate 20fs "
    "--time 800fs --window 80fs",
    "--time 100ps --equilibrate 20ps": "--time 200fs --equilibrate 5fs --spectrum-window 20fs",
    "--time 10ps": "--steps 40",
    "--equilibrate 2ps": "--equilibrate 20fs",
    "--time 20ps": "--steps 20",
    "--time 50ps --equilibrate 1ps": "--steps 40 --equilibrate 5fs",
    "--time 60ps": "--steps 20",
    "--time 220ps": "--steps 20",
    "--set time=4ps": "--set steps=20",
    "--spectrum --every 4 --runs 10 --time 2ns --window 200ps": "--spectrum --every 4 --runs 2 "
    "--equilibrate 5fs --time 400fs --window 20fs --spectrum-window 40fs",
    "--time 2ns --window 200ps": "--equilibrate 5fs --time 100fs --window 20fs",
    "--cells 8": "--cells 1",
    "--runs 10": "--runs 2",
    "--steps 1000": "--steps 20",
    "--steps 500": "--steps 20",
    "taichimd run job.toml": "taichimd run job.toml --steps 40",
    # Compiled in a third of the time, or less beside a barostat.
    "extxyz --potential Si.tersoff": "extxyz --potential Si.sw",
    "extxyz --potential Si_1989.tersoff": "extxyz --potential Si.sw",
}
NOT_RUN = ("make ", "pip install ", "export ", ". .venv", "taichimd demo")
"""Beginnings of commands; the demo is run in tests/doors/test_cli.py."""


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page):
    """Kind, name of the file or "", text of each fenced block."""
    text = text_of(page)
    found = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall("^```", text, flags=re.MULTILINE)) == 2 * len(found), (
        f"{page}: a block is not found"
    )
    return found


def commands(text):
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def run_blocks(page, capsys, names=None, tiny=TINY, not_run=NOT_RUN):
    """Run them in turn in the present folder; returns the commands that ran, or else blocks of Python.

    Args:
        page: path from the root.
        capsys: of the test, for messages.
        names: that all blocks of Python share; None: each begins with none.
        tiny: what is replaced in commands.
        not_run: beginnings of commands that are left out.
    """
    done, executed = [], []
    for kind, name, text in blocks(page):
        if name:
            Path(name).write_text(text, encoding="utf-8")
        elif kind == "python":
            exec(compile(text, page, "exec"), {"__name__": "page"} if names is None else names)
            executed.append(text)
        elif kind == "console":
            for command in commands(text):
                if not command.startswith(not_run):
                    done.append(_call(command, tiny, capsys))
        else:
            assert kind in NO_CODE, f"{page}: a block of {kind}"
    return done or executed


def _call(command, tiny, capsys):
    for full, small in tiny.items():
        command = command.replace(full, small)
    assert command.startswith("taichimd "), f"unknown kind of command: {command}"
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(command)[1:])
    assert caught.value.code == 0, f"{command}\n{capsys.readouterr().err}"
    return command
