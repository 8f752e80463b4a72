"""Commands that compute nothing load no runtime."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.once

HEAVY = ("taichi", "quadrants", "scipy", "matplotlib", "ase.io", "taichimd.core.runtime")
LIGHT = {
    "--help": HEAVY,
    "--version": HEAVY,
    "run --help": HEAVY,
    "potentials": HEAVY,
    "run --no-such-option": HEAVY,
    "run si.xyz --steps many": HEAVY,
    "no-such-command": HEAVY,
    "info": ("matplotlib", "scipy", "ase.io"),
}


@pytest.mark.parametrize("line", LIGHT)
def test_what_a_command_does_not_need_is_not_loaded(line):
    code = (
        "import sys\nfrom taichimd.cli.app import main\n"
        f"try:\n    main({line.split()!r})\nexcept SystemExit:\n    pass\n"
        f"print('loaded', [name for name in {LIGHT[line]!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded []", done.stdout[-500:]
