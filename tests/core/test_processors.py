"""Bits do not depend on the host's processor: BLAS, which adds in another order on each, is not asked."""

import os
import subprocess
import sys

import numpy as np
import pytest

from taichimd.core.matrix3 import determinant, inverse, product, projector

FOUND = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
OLD = {"OPENBLAS_CORETYPE": "PRESCOTT", "NPY_DISABLE_CPU_FEATURES": " ".join(FOUND)}
"""A processor of 2004, as OpenBLAS and NumPy see it: short vectors, and no fused multiplications."""
KINDS = {}, OLD
BEGINNING = """
import hashlib
import numpy as np
from taichimd import testing
from taichimd import Simulation, load_forcefield, relax
from taichimd.transport.kappa import sample_runs, supercell
from taichimd.transport.settings import KappaSettings

def tell(*arrays):
    print(hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest())

argon, atoms = load_forcefield("Ar.lj"), testing.argon_256()
"""
PROGRAMS = {
    "kappa": """
settings = KappaSettings(40.0, equilibrate=20, time=200, every=2, backend="cpu")
tell(sample_runs(supercell(atoms, settings), argon, settings, [0])[0].current)
""",
    "relax": """
for vectors in (atoms.positions, atoms.cell.array):  # in place, number by number
    vectors[:, 0] *= 1.03
    vectors[:, 1] += 0.04 * vectors[:, 0]
    vectors[:, 2] -= 0.01 * vectors[:, 1]
relaxed = relax(atoms, argon, cell="full", fmax=0.01, backend="cpu").atoms
tell(relaxed.positions, relaxed.cell.array)
""",
    "run": """
run = Simulation(atoms, argon, timestep=2.0, temperature=60.0, backend="cpu")
run.run(20)
tell(run.positions(), run.velocities(), np.array(run.thermo().stress))
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_another_processor_has_the_same_bits(program):
    found = []
    for kind in KINDS:
        done = subprocess.run(
            [sys.executable, "-c", BEGINNING + PROGRAMS[program]], env={**os.environ, **kind},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split()[-1])
    assert found[0] == found[1]


def test_products_and_inverses_of_matrices():
    random = np.random.default_rng(4)
    a, b = random.normal(size=(2, 3, 3))
    np.testing.assert_allclose(product(a, b), a @ b, rtol=0, atol=1e-14)
    np.testing.assert_allclose(inverse(a), np.linalg.inv(a), rtol=1e-12)
    assert determinant(a) == pytest.approx(np.linalg.det(a), rel=1e-13)
    p = projector(a[0])
    np.testing.assert_allclose(p @ a[0], a[0], rtol=1e-13)
    np.testing.assert_allclose(p @ p, p, atol=1e-14)
    assert np.trace(p) == pytest.approx(1.0, rel=1e-14)
