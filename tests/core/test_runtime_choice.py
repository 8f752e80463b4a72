"""Which runtime is taken, and why; which cards loop on the device."""

import os
import subprocess
import sys

import pytest

from taichimd.core import chosen, runtime
from taichimd.core.errors import BackendError


@pytest.fixture
def choose(monkeypatch):
    """The choice with quadrants installed or not, and so many CUDA devices."""

    def choose(installed, devices, asked=None):
        monkeypatch.setattr(chosen, "find_spec", lambda name: object() if installed else None)
        monkeypatch.setattr(chosen, "devices", lambda: devices)
        monkeypatch.delenv("TAICHIMD_RUNTIME", raising=False)
        if asked:
            monkeypatch.setenv("TAICHIMD_RUNTIME", asked)
        return chosen._choose()

    return choose


def test_quadrants_is_taken_where_it_is_installed_and_a_card_is_there(choose):
    assert choose(True, 1) == ("quadrants", "it is installed, and a CUDA device was found")
    name, why = choose(False, 1)
    assert name == "taichi"
    assert "not installed" in why
    name, why = choose(True, 0)
    assert name == "taichi"
    assert "no CUDA device" in why
    assert choose(True, 1, "taichi") == ("taichi", "TAICHIMD_RUNTIME says so")
    with pytest.raises(BackendError, match="TAICHIMD_RUNTIME is 'numba', expected 'taichi' or 'quadrants'"):
        choose(True, 1, "numba")


def test_an_untested_version_is_named():
    assert chosen._untested("quadrants", "1.4.0") is None
    assert chosen._untested("taichi", "9.9") is None
    assert "2.0.1 is not a tested version; taichimd is tested with 1.3, 1.4" in chosen._untested(
        "quadrants", "2.0.1"
    )


@pytest.mark.parametrize(("capability", "loops"), [(8, False), (9, True), (12, True)])
def test_the_card_says_whether_kernels_loop_on_the_device(monkeypatch, capability, loops):
    monkeypatch.setattr(chosen, "NAME", "quadrants")
    monkeypatch.setattr(chosen, "devices", lambda: 1)
    monkeypatch.setattr(chosen, "attribute", lambda number: capability)
    monkeypatch.delenv("TAICHIMD_DEVICE_LOOPS", raising=False)
    assert chosen._device_loops() is loops
    monkeypatch.setenv("TAICHIMD_DEVICE_LOOPS", "0")
    assert chosen._device_loops() is False
    monkeypatch.setenv("TAICHIMD_DEVICE_LOOPS", "yes")
    with pytest.raises(BackendError, match="TAICHIMD_DEVICE_LOOPS is 'yes', expected 0 or 1"):
        chosen._device_loops()


def test_steps_without_loops_on_the_device_have_the_same_bits():
    """As on cards before Hopper: a pass is a kernel, and the host sees to the lists."""
    code = """
import hashlib
from ase import units
from taichimd import testing
from taichimd.program.engine import Engine
from taichimd.forcefields.load import load_forcefield
atoms = testing.with_velocities(testing.silicon_216(), 900.0, 4)
engine = Engine(atoms, load_forcefield("Si.sw"), backend="cpu")
engine.advance(40, units.fs)
print(hashlib.sha256(engine.positions().tobytes()).hexdigest())
"""
    found = []
    for loops in ("0", "1"):
        environment = {
            **os.environ, "TAICHIMD_RUNTIME": runtime.NAME, "TAICHIMD_DEVICE_LOOPS": loops,
            "TAICHIMD_QUICK_COMPILE": "1", "PYTHONPATH": os.pathsep.join(sys.path),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.strip())
    assert found[0] == found[1]
