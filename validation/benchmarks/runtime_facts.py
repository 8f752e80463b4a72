"""What calls, loops, arrays and reads cost under a runtime: the figures that shaped the engine.

    python -m validation.benchmarks.runtime_facts --backend cuda --out facts.json

Lennard-Jones gather over a full list of 78 fcc neighbours with arrays as kernel arguments and with fields;
the time of a kernel call by number of array arguments and of parallel loops; of an empty loop with the
default grid and with a small one; of reading one element of a device array, and a short array whole.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.runtime import grid, info, start, ti
from validation import common

CUTOFF2 = 6.25


def fcc_list(cells: int) -> tuple[Any, Any]:
    """Positions (n, 3) of a rattled fcc crystal (spacing 1 sigma) and its neighbours (78, n)."""
    corners = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
    grid_points = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 3)
    half = (2 * grid_points[:, None, :] + corners[None]).reshape(-1, 3)
    side = 2 * cells
    index = np.full((side, side, side), -1, np.int32)
    index[half[:, 0], half[:, 1], half[:, 2]] = np.arange(len(half))
    reach = range(-4, 5)
    offsets = [
        (i, j, k)
        for i in reach
        for j in reach
        for k in reach
        if (i + j + k) % 2 == 0 and 0 < i * i + j * j + k * k <= 10
    ]
    rows = [index[tuple(((half + offset) % side).T)] for offset in offsets]
    rattle = np.random.default_rng(0).normal(0, 0.05, half.shape)
    return half * 0.8398 + rattle, np.array(rows, np.int32)


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Median time of a call over five rounds of `repeats`, the device idle before and after."""
    call()
    rounds = []
    for _ in range(5):
        ti.sync()
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        ti.sync()
        rounds.append((time.perf_counter() - begin) / repeats)
    return statistics.median(rounds)


def gather_times(cells: int) -> dict[str, float]:
    """Seconds of the gather with ndarrays and with fields."""
    positions, rows = fcc_list(cells)
    n, width = len(positions), len(rows)
    vec = ti.types.vector(3, ti.f64)
    vecs: Any = ti.types.ndarray(dtype=vec, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.func
    def term(d):
        r2 = d.dot(d)
        inverse = 1.0 / r2
        s6 = inverse * inverse * inverse
        w = 24.0 * s6 * (2.0 * s6 - 1.0) * inverse
        return w * d if r2 < CUTOFF2 else vec(0.0)

    @ti.kernel
    def with_arrays(n: ti.i32, width: ti.i32, x: vecs, f: vecs, entries: ints):
        for i in range(n):
            total = vec(0.0)
            for s in range(width):
                total -= term(x[entries[s * n + i]] - x[i])
            f[i] = total

    x_field, f_field = ti.Vector.field(3, ti.f64, n), ti.Vector.field(3, ti.f64, n)
    entry_field = ti.field(ti.i32, n * width)

    @ti.kernel
    def with_fields():
        for i in range(n):
            total = vec(0.0)
            for s in range(width):
                total -= term(x_field[entry_field[s * n + i]] - x_field[i])
            f_field[i] = total

    x, f, entries = ti.ndarray(vec, n), ti.ndarray(vec, n), ti.ndarray(ti.i32, n * width)
    for target in (x, x_field):
        target.from_numpy(positions)
    for target in (entries, entry_field):
        target.from_numpy(rows.ravel())
    return {
        "atoms": n,
        "neighbours": width,
        "gather_ndarrays_s": seconds(lambda: with_arrays(n, width, x, f, entries), 20),
        "gather_fields_s": seconds(with_fields, 20),
    }


def call_times() -> dict[str, float]:  # noqa: C901 - a list of small kernels
    """Seconds of kernel calls and reads on 8,000 elements."""
    n = 8000
    reals: Any = ti.types.ndarray(dtype=ti.f64, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def one_loop(n: ti.i32, a: reals, b: reals):
        for i in range(n):
            a[i] += b[i]

    @ti.kernel
    def twenty_loops(n: ti.i32, a: reals, b: reals):
        for _ in ti.static(range(20)):
            for i in range(n):
                a[i] += b[i]

    @ti.kernel
    def twenty_loops_small_grid(n: ti.i32, a: reals, b: reals):
        for _ in ti.static(range(20)):
            for i in range(n):
                a[i] += b[i]

    @ti.kernel
    def many_arrays(
        n: ti.i32, a: reals, b: reals, c: reals, d: reals, e: reals, f: reals, g: reals, h: reals,
        k: reals, m: reals, o: reals, p: reals, q: reals, r: reals, s: ints,
    ):  # fmt: skip
        for i in range(n):
            a[i] += b[i]

    arrays = [ti.ndarray(ti.f64, n) for _ in range(14)]
    flags = ti.ndarray(ti.i32, 32)
    times = {
        "call_one_loop_two_arrays_s": seconds(lambda: one_loop(n, *arrays[:2]), 200),
        "call_one_loop_fifteen_arrays_s": seconds(lambda: many_arrays(n, *arrays, flags), 200),
        "call_twenty_loops_s": seconds(lambda: twenty_loops(n, *arrays[:2]), 100),
        "read_one_element_s": seconds(lambda: flags[3], 100),
        "read_32_elements_s": seconds(flags.to_numpy, 100),
    }
    with grid(528):
        times["call_twenty_loops_528_blocks_s"] = seconds(
            lambda: twenty_loops_small_grid(n, *arrays[:2]), 100
        )
    return times


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", default="auto", choices=["auto", "cuda", "cpu"])
    parser.add_argument("--cells", type=int, help="fcc cells along each side")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    backend = start(options.backend)
    cells = options.cells or (64 if backend == "cuda" else 12)
    facts = {**gather_times(cells), **call_times()}
    for name, value in facts.items():
        print(f"{name:36s} {value * 1e6:12.1f} us" if name.endswith("_s") else f"{name:36s} {value:12d}")
    out = options.out or common.RESULTS / f"runtime_facts_{common.current_runtime()}_{backend}.json"
    common.write_json(out, {**common.provenance(info()), "facts": facts})


if __name__ == "__main__":
    main()
