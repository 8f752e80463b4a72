"""What only a GPU compiles has the bits of the CPU's code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import bits
import pytest
from bits import here

from taichimd.core import runtime

pytestmark = pytest.mark.first
FEW = ["melt", "monte-carlo-one-by-one", "silicon"]
"""Those that ask for most of warps, and a bond order."""
MANY = [
    "silica",
    "npt-scr",
    "monte-carlo",
    "batch",
    "triangles",
    "eam",
    "edip",
    "batch-npt",
    "group-baths",
    "single-moves-together",
]
"""Other terms in the loops of those."""


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(FEW, marks=pytest.mark.long),
        pytest.param(MANY, marks=pytest.mark.exhaustive),
        pytest.param([*bits.OF_FILES], marks=pytest.mark.exhaustive),
    ],
    ids=["few", "many", "files"],
)
def test_the_code_of_a_gpu_has_the_bits_of_the_cpu(names):
    """Rows in chunks, threads that share atoms or have a pair, kicks; lists; a barostat in registers."""
    command = [sys.executable, str(Path(bits.__file__).with_name("gpu_code.py")), *names]
    environment = {**os.environ, "TAICHIMD_RUNTIME": runtime.NAME}
    output = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    assert "Warning" not in output.stderr
    found = json.loads(output.stdout)
    expected = {name: here(name) for name in names}
    assert found["compiled"]["ballot"] > 10
    assert found["compiled"]["reduce"] > 10
    assert found["compiled"]["shuffle"] > 1
    if "melt" in names:
        assert found["melt without a near list"] == here("melt")
        (shared, _), (alone, left) = found["searches"]
        assert shared == alone
        # Some atoms are near the ends of the cell, and some are not.
        assert 200 < left < 1_900
    assert {name: found[name] for name in names} == expected
