"""A folder in which `taichimd run` finds argon and a force field of the user's own."""

import ase.io
from ase.build import bulk

RUN = "run ar.extxyz --potential own.py:argon --timestep 4 --every 20 "
OWN = """
from taichimd import LennardJones


def argon():
    return LennardJones(epsilon=0.0104, sigma=3.40, cutoff=6.0, truncation="force-shifted")
"""


def enter_folder(folder, monkeypatch, a):
    """Go there; write own.py, and 108 atoms near the sites of an fcc crystal of that a (angstrom)."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    argon = bulk("Ar", cubic=True, a=a) * 3
    argon.rattle(0.1, seed=1)
    ase.io.write("ar.extxyz", argon)
    (folder / "own.py").write_text(OWN)
    return folder
