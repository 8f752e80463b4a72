"""Runs of the driver with an engine that needs no Taichi, in a folder of their own."""

import io

import ase.io
import numpy as np
import pytest
from ase import Atoms
from rich.console import Console

from taichimd.app.driver import run_job
from taichimd.app.job import prepare_job

FILES = ["checkpoint.npz", "run.json", "thermo.csv", "thermo.png", "trajectory.extxyz"]


@pytest.fixture
def structure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    positions = np.array([[0.0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]]) + 0.03
    ase.io.write("s.extxyz", Atoms("Si2C2", positions=positions, cell=[4, 4, 4], pbc=True))
    (tmp_path / "springs.txt").write_text("5.0")


def drive(**flags):
    console = Console(file=io.StringIO(), width=80)
    if "restart" not in flags:
        flags = {"structure": "s.extxyz", "potential": "springs.txt"} | flags
    code = run_job(prepare_job(flags), console)
    return code, console.file.getvalue()


def same_bytes(one, other, *names):
    return [n for n in names if open(f"{one}/{n}", "rb").read() != open(f"{other}/{n}", "rb").read()] == []
