"""How fast could it be? Bytes and operations that a step cannot do without, against what the machine does.

The floor counts one pass over the data: each position, velocity and force moves between memory and the chip
once a step, neighbours' positions come from cache, the list is read once. Operations are counted from the
formulas (a division, a square root or an exponential counts as one, so it is a floor, not an estimate).
Bandwidth, arithmetic and the cost of a call are measured with the runtime itself, in the same process.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from ase import Atoms
from ase.neighborlist import neighbor_list

from validation.systems import System

INTEGRATION_BYTES = 5 * 24
"""x, v, f read; x, v written: three float64 each."""
FORCE_BYTES = 3 * 24
"""x read, x at the last rebuild read (displacement test), f written."""
PAIR_LIST_FLOPS = 8
"""Difference and square of the distance of a listed neighbour."""
LJ_PAIR_FLOPS = 18
"""1/r^2, (s/r)^6, force factor, three products and sums."""
EAM_PAIR_FLOPS = 42
"""Square root and table index twice; a density, then two slopes and a force."""
TERSOFF_TRIPLE_FLOPS = 110
"""cos, g and dg, cutoff and its derivative, zeta; then both gradients into three partial forces."""
TERSOFF_PAIR_FLOPS = 90
"""Repulsion, attraction, bond order and derivatives, cutoff."""
SW_ANGLE_FLOPS = 150
"""Of a neighbour: weight and slope; its terms of ten sums; from those of both ends two partial forces."""
SW_BYTES = 2 * 80
"""Ten sums, written, then read by the atom itself; those of neighbours come from cache."""
SW_PAIR_FLOPS = 25
"""Powers, exponential, slope and force."""


VASHISHTA_PAIR_FLOPS = 30
"""Square root, division, two exponentials, powers, sums of the four terms and of the slope, force."""


@dataclass(frozen=True)
class Machine:
    """Measured limits of this machine under this runtime."""

    bandwidth: float  # bytes/s of a copy, read and written bytes both counted
    flops: float  # float64 operations/s of independent multiply-add chains
    call: float  # seconds of one kernel call that does nothing much


@dataclass(frozen=True)
class Floor:
    """What one atom costs in one step, at least."""

    bytes: float  # moved between memory and chip
    flops: float  # operations

    def seconds(self, n_atoms: int, machine: Machine) -> float:
        """Shortest possible step: memory or arithmetic, whichever is longer."""
        return n_atoms * max(self.bytes / machine.bandwidth, self.flops / machine.flops)


def measure_machine() -> Machine:
    """Measure copy bandwidth, arithmetic and call overhead with the running backend."""
    from taichimd.core import runtime
    from taichimd.core.runtime import ti

    on_gpu = runtime.info()["backend"] == "cuda"
    length = 1 << (27 if on_gpu else 23)
    source, target = ti.ndarray(ti.f64, length), ti.ndarray(ti.f64, length)
    small = ti.ndarray(ti.f64, 64)
    chains, rounds = (1 << 18 if on_gpu else 1 << 12), 4096

    @ti.kernel
    def copy(a: ti.types.ndarray(dtype=ti.f64, ndim=1), b: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in range(a.shape[0]):
            b[i] = a[i]

    @ti.kernel
    def multiply_add(b: ti.types.ndarray(dtype=ti.f64, ndim=1), n: ti.i32, m: ti.i32):
        for i in range(n):
            x = ti.Vector([1.0 + 1e-9 * i + 0.1 * k for k in range(8)], dt=ti.f64)
            for step in range(m):  # noqa: B007
                x = x * 0.999999 + 1e-7
            b[i] = x.sum()

    def best(call: Any, repeats: int = 5, inner: int = 1) -> float:
        call()
        ti.sync()
        durations = []
        for _ in range(repeats):
            started = time.perf_counter()
            for _ in range(inner):
                call()
            ti.sync()
            durations.append((time.perf_counter() - started) / inner)
        return min(durations)

    source.fill(1.0)
    return Machine(
        bandwidth=16.0 * length / best(lambda: copy(source, target), inner=4),
        flops=2.0 * 8 * chains * rounds / best(lambda: multiply_add(target, chains, rounds)),
        call=best(lambda: copy(small, small), inner=200),
    )


def neighbours_within(atoms: Atoms, cutoff: float) -> float:
    """Mean number of neighbours within the cutoff, of a slightly rattled sample."""
    sample = atoms.copy()
    sample.positions += 0.02 * np.random.default_rng(1).standard_normal(sample.positions.shape)
    return len(neighbor_list("i", sample, cutoff)) / len(sample)


def floor(small: System) -> Floor:
    """The floor of a case of any size: an ideal list holds the neighbours within the cutoff and no others."""
    inside = neighbours_within(small.atoms, small.forcefield().cutoff)
    n_bytes = INTEGRATION_BYTES + FORCE_BYTES + 4 * (inside + 1)
    flops = 18 + PAIR_LIST_FLOPS * inside
    if small.name.startswith(("tersoff", "edip")):
        triples = inside * max(inside - 1.0, 0.0)
        # Partial forces are written once and read twice (own and the neighbour's), with a reverse index.
        n_bytes += 3 * 24 * inside + 4 * inside
        flops += TERSOFF_PAIR_FLOPS * inside + TERSOFF_TRIPLE_FLOPS * triples
    elif small.name.startswith("sw"):
        n_bytes += SW_BYTES
        flops += (SW_PAIR_FLOPS + SW_ANGLE_FLOPS) * inside
    elif small.name.startswith("vashishta"):
        # Angles are of few neighbours: their ten sums move through memory as well.
        n_bytes += SW_BYTES
        flops += VASHISHTA_PAIR_FLOPS * inside
    elif small.name.startswith("eam"):
        # The list and the positions twice, the slope of the embedding written once; three cubics a pair.
        n_bytes += 4 * (inside + 1) + 24 + 16
        flops += (PAIR_LIST_FLOPS + EAM_PAIR_FLOPS) * inside
    else:
        flops += LJ_PAIR_FLOPS * inside
    return Floor(n_bytes, flops)
