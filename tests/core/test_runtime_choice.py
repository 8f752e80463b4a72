"""Which runtime is taken, and why; which cards loop on the device."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from peers import path_of

from taichimd.core import chosen, hardware, runtime
from taichimd.core.errors import BackendError


@pytest.fixture
def choose(monkeypatch):
    """The choice with quadrants installed or not."""

    def choose(installed, asked=None):
        monkeypatch.setattr(chosen, "find_spec", lambda name: object() if installed else None)
        monkeypatch.delenv("TAICHIMD_RUNTIME", raising=False)
        if asked:
            monkeypatch.setenv("TAICHIMD_RUNTIME", asked)
        return chosen._choose()

    return choose


def test_quadrants_is_taken_where_it_is_installed(choose):
    assert choose(True) == ("quadrants", "it is installed, and faster than Taichi")
    name, why = choose(False)
    assert name == "taichi"
    assert "not installed" in why
    assert choose(True, "taichi") == ("taichi", "TAICHIMD_RUNTIME says so")
    with pytest.raises(BackendError, match="TAICHIMD_RUNTIME is 'numba', expected 'taichi' or 'quadrants'"):
        choose(True, "numba")


def test_torch_is_not_imported_with_the_runtime(tmp_path):
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')\n", encoding="utf-8")
    code = """
import sys
from ase.build import bulk
from taichimd import Simulation
Simulation(bulk("Si", cubic=True).repeat(2), "Si.sw").run(2)
assert "torch" not in sys.modules
"""
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_gpu_is_asked_for_its_name_once(monkeypatch):
    asked = []

    def answer(query, **how):
        asked.append(query)
        return SimpleNamespace(stdout="NVIDIA H200, 580\n")

    monkeypatch.setattr(hardware, "subprocess", SimpleNamespace(run=answer))
    hardware.gpu_name.cache_clear()
    try:
        assert [chosen.info("cuda")["device"] for _ in range(3)] == ["NVIDIA H200, 580"] * 3
    finally:
        hardware.gpu_name.cache_clear()
    assert [query[0] for query in asked] == ["nvidia-smi"]


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


@pytest.mark.parametrize(
    ("atoms", "potential", "steps"),
    [
        ("testing.with_velocities(testing.silicon_216(), 900.0, 4)", "Si.sw", 40),
        pytest.param(
            "molecule('H2O', cell=(9, 9, 9), pbc=True)",
            "acks2_ff.water:charges=acks2",
            4,
            marks=pytest.mark.long,
        ),
    ],
    ids=["sw", "acks2"],
)
def test_steps_without_loops_on_the_device_have_the_same_bits(atoms, potential, steps):
    """As on cards before Hopper: a pass is a kernel, the host sees to the lists and queues iterations."""
    file, _, options = potential.partition(":")
    if options:
        potential = f"{path_of(file)}:{options}"
    code = f"""
import hashlib
from ase import units
from ase.build import molecule
from taichimd import testing
from taichimd.program.engine import Engine
from taichimd.forcefields.load import load_forcefield
engine = Engine({atoms}, load_forcefield("{potential}"), backend="cpu")
engine.advance({steps}, units.fs)
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
