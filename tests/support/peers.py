"""Programs that tests compare with, and what becomes of these tests where such a program is missing."""

import importlib.util
import os

import pytest

REQUIRE_LAMMPS, REQUIRE_MDTRAJ = "TAICHIMD_REQUIRE_LAMMPS", "TAICHIMD_REQUIRE_MDTRAJ"
"""Environment variables that are set where a test that needs the program must not be skipped."""
WITHOUT_LAMMPS = "no LAMMPS to compare with"
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
