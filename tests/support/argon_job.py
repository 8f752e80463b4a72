"""A folder in which `taichimd run` finds argon and a parameter file."""

import ase.io
from ase.build import bulk

RUN = "run ar.extxyz --potential own.lj --timestep 4 --every 20 "
OWN = """# UNITS: metal
mixing      none
truncation  force-shifted
Ar Ar  0.0104  3.40  6.0
"""


def enter_folder(folder, monkeypatch, a):
    """Go there; write own.lj, and 108 atoms near the sites of an fcc crystal of that a (angstrom)."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    argon = bulk("Ar", cubic=True, a=a) * 3
    argon.rattle(0.1, seed=1)
    ase.io.write("ar.extxyz", argon)
    (folder / "own.lj").write_text(OWN)
    return folder
