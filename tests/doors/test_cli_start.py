"""Commands that compute nothing load no runtime."""

import subprocess
import sys

import pytest

HEAVY = ("taichi", "quadrants", "scipy", "matplotlib", "ase.io", "taichimd.core.runtime")
NUMBERS = (*HEAVY, "numpy", "ase")
NOTHING = (*NUMBERS, "pydantic", "taichimd.settings")
RUNTIME = ("taichi", "quadrants", "matplotlib", "taichimd.core.runtime", "polars")
LIGHT = {
    "--help": NOTHING,
    "--version": NOTHING,
    "run --help": NUMBERS,
    "potentials": HEAVY,
    "run --no-such-option": NUMBERS,
    "run si.xyz --steps many": HEAVY,
    "run si.xyz --potential no-such.sw --steps 5": RUNTIME,
    "run no-such.xyz --potential Si.sw --steps 5": NUMBERS,
    "run si.xyz --potential Si.sw --steps 5 --ensemble nvt-bussy": RUNTIME,
    "run no-such.toml": RUNTIME,
    "mc si.xyz --potential no-such.sw --sweeps 5": RUNTIME,
    "relax si.xyz --potential Si.eam": RUNTIME,
    "energy si.xyz --potential no-such.sw": RUNTIME,
    "check no-such.sw": RUNTIME,
    "kappa si.xyz --potential no-such.sw": RUNTIME,
    "validate no-such.sw": RUNTIME,
    "no-such-command": NUMBERS,
    "info": NUMBERS,
}


@pytest.mark.parametrize("line", LIGHT)
def test_what_a_command_does_not_need_is_not_loaded(line, tmp_path):
    (tmp_path / "si.xyz").write_text("1\n\nSi 0 0 0\n")
    code = (
        "import sys\nfrom taichimd.cli.app import main\n"
        f"try:\n    main({line.split()!r})\nexcept SystemExit:\n    pass\n"
        f"print('loaded', [name for name in {LIGHT[line]!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded []", done.stdout[-500:]


def test_a_run_loads_no_library_before_it_is_needed():
    heavy = ("scipy", "matplotlib", "polars", "ase.io", "ase.build", "ase.constraints", "ase.neighborlist")
    code = (
        "import sys\nimport taichimd.app.driver, taichimd.program.engine\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
