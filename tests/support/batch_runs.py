"""Commands of several runs, what they leave, and signals that stop them."""

import os
import signal

import pytest

from taichimd.cli.app import main
from taichimd.program.batch import Batch


def command(*arguments):
    """Exit code."""
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return end.value.code


def same(one, other):
    for name in ("thermo.csv", "trajectory.extxyz", "rdf.csv"):
        paths = [f"{folder}/{name}" for folder in (one, other)]
        if any(map(os.path.exists, paths)):
            assert open(paths[0], "rb").read() == open(paths[1], "rb").read(), name


def stop_at(monkeypatch, step, number=signal.SIGINT):
    """Send a signal once a batch has done so many steps."""
    advance = Batch.advance

    def stopping(self, *arguments):
        advance(self, *arguments)
        if self.step >= step:
            monkeypatch.setattr(Batch, "advance", advance)
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Batch, "advance", stopping)
