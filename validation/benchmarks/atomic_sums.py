"""Forces of a list of pairs, or of triplets: added by atomics, or by each atom for itself?

    python -m validation.benchmarks.atomic_sums --cases vashishta-sio2:12288 --backend cuda

P. E. Small et al. (HPC Asia 2018, section 3, doi:10.1145/3149457.3149463) let the thread of a tuple add to
the forces of its atoms by atomicAdd. Ours leaves what it has found with the tuple; each atom adds up its own.
Both are timed here for the same lists, evaluation included; `quadruplets` does so for chains of four. Sums of
atomics have other bits in each run.
"""

import argparse
import statistics
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from taichimd import runtime
from taichimd.engine import Engine
from taichimd.enumerate.access import Kept, neighbour, straight_vector
from taichimd.enumerate.exact import FORCE, pair_sums
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.tuples import pair_tuples, triplet_tuples
from taichimd.forcefields.terms import Terms
from taichimd.neighbours.control import REBUILD
from taichimd.neighbours.rows import Rows, body_layout, slot
from taichimd.neighbours.tuple_arrays import (
    Tuples,
    pairs_end,
    slots_of,
    triplet_at,
    triplets_begin,
    triplets_end,
)
from taichimd.runtime import literals, ti
from validation import common
from validation.benchmarks.quadruplets import again, loops
from validation.benchmarks.stepping import seconds
from validation.benchmarks.systems import CASES

REALS: Any = ti.types.ndarray(dtype=ti.f64, ndim=1)
VECS: Any = ti.types.ndarray(dtype=ti.types.vector(3, ti.f64), ndim=1)
INTS: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)


@cache
def pair_kernels(terms: Terms, backend: str) -> tuple[Any, Any]:
    """Kernels that add the forces of pairs for each atom, and by atomics."""
    on_gpu = backend == "cuda"
    pair = pair_tuples(terms.alone[0], ti.f64, ti.f64, on_gpu)
    sums = pair_sums(ti.f64)

    @ti.kernel
    def pairs_in_order(n: ti.i32, near_width: ti.i32, shift_bits: ti.i32, pos: VECS, kind: INTS, near_count: INTS, near: INTS, reverse: INTS, shifts: VECS, pair_table: REALS, body_table: REALS, partial: VECS, zeta: REALS, live: INTS, control: INTS, firsts: INTS, tuples: INTS, values: REALS, slopes: VECS, energy: REALS, force: VECS):  # noqa: E501 # fmt: skip
        rows = Rows(pos, kind, near_count, near, shifts)
        t = Tuples(firsts, tuples, values, slopes)
        pair.evaluate(n, shift_bits, rows, pair_table, control, REBUILD, t)
        if ti.static(on_gpu):
            pair.add_up(n, shift_bits, rows, pair_table, energy, force, energy, control, REBUILD, t)
        else:
            for i in range(n):
                total = pair.pairs(i, 0, 1, n, shift_bits, rows, pair_table, t, FORCE)
                sums.store(i, total, energy, force, energy, FORCE)

    @ti.kernel
    def pairs_by_atomics(n: ti.i32, near_width: ti.i32, shift_bits: ti.i32, pos: VECS, kind: INTS, near_count: INTS, near: INTS, reverse: INTS, shifts: VECS, pair_table: REALS, body_table: REALS, partial: VECS, zeta: REALS, live: INTS, control: INTS, firsts: INTS, tuples: INTS, values: REALS, slopes: VECS, energy: REALS, force: VECS):  # noqa: E501 # fmt: skip
        rows = Rows(pos, kind, near_count, near, shifts)
        t = Tuples(firsts, tuples, values, slopes)
        for i in range(n):
            force[i] = ti.Vector([0.0, 0.0, 0.0])
        for k in range(pairs_end(n, t)):
            i, entry = t.tuples[3 * k], t.tuples[3 * k + 1]
            d = straight_vector(entry, shift_bits, pos[i], pos, shifts)
            f = pair.slope(k, n, shift_bits, rows, pair_table, t) * d
            ti.atomic_add(force[i], f)
            ti.atomic_sub(force[neighbour(entry, shift_bits)], f)

    return pairs_in_order, pairs_by_atomics


@cache
def triplet_kernels(terms: Terms, backend: str) -> tuple[Any, Any]:
    """The same for triplets, with the same arguments."""
    layout = body_layout(backend)
    triplet = triplet_tuples(terms.alone[1], ti.f64, ti.f64, layout)
    atom = gather_functions(terms.alone[1], ti.f64, ti.f64, layout)

    @ti.kernel
    def triplets_in_order(n: ti.i32, near_width: ti.i32, shift_bits: ti.i32, pos: VECS, kind: INTS, near_count: INTS, near: INTS, reverse: INTS, shifts: VECS, pair_table: REALS, body_table: REALS, partial: VECS, zeta: REALS, live: INTS, control: INTS, firsts: INTS, tuples: INTS, values: REALS, slopes: VECS, energy: REALS, force: VECS):  # noqa: E501 # fmt: skip
        rows = Rows(pos, kind, near_count, near, shifts)
        kept = Kept(pair_table, body_table, partial, zeta, live, reverse)
        t = Tuples(firsts, tuples, values, slopes)
        triplet.partials(n, near_width, shift_bits, rows, kept, energy, control, REBUILD, t, FORCE)
        for i in range(n):
            f, _ = atom.gather(i, n, near_width, shift_bits, rows, kept, False)
            force[i] = f

    @ti.kernel
    def triplets_by_atomics(n: ti.i32, near_width: ti.i32, shift_bits: ti.i32, pos: VECS, kind: INTS, near_count: INTS, near: INTS, reverse: INTS, shifts: VECS, pair_table: REALS, body_table: REALS, partial: VECS, zeta: REALS, live: INTS, control: INTS, firsts: INTS, tuples: INTS, values: REALS, slopes: VECS, energy: REALS, force: VECS):  # noqa: E501 # fmt: skip
        rows = Rows(pos, kind, near_count, near, shifts)
        kept = Kept(pair_table, body_table, partial, zeta, live, reverse)
        t = Tuples(firsts, tuples, values, slopes)
        for i in range(n):
            force[i] = ti.Vector([0.0, 0.0, 0.0])
        for k in range(triplets_end(n, t) - triplets_begin(n, t)):
            record = triplets_begin(n, t) + k
            to_s, to_u, _ = triplet.vectors(record, n, near_width, shift_bits, rows, kept, t)
            i = t.tuples[triplet_at(record, n, t)]
            s, u = slots_of(record, n, t)
            ti.atomic_add(force[i], to_s + to_u)
            ti.atomic_sub(force[neighbour(near[slot(i, s, n, near_width, layout)], shift_bits)], to_s)
            ti.atomic_sub(force[neighbour(near[slot(i, u, n, near_width, layout)], shift_bits)], to_u)

    return triplets_in_order, triplets_by_atomics


def measure(case: str, backend: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Times of one call; what forces differ by, and how many numbers do between two runs of atomics."""
    name, atoms = case.split(":")
    system = CASES[name].system(int(atoms))
    engine = Engine(system.atoms, system.forcefield(), backend=backend, decomposition="tuple")
    engine.advance(options.settle, system.timestep)
    engine.evaluate()
    device, lists, state = engine.device, engine.device.lists, engine.device.state
    (_, _, shifts, _, _, _, near_count, near, reverse, _, pair_table, body_table, partial, zeta, live) = (
        lists.arrays(device._tables)
    )
    n, _, near_width, shift_bits = device.lists.sizes()
    force, energy = ti.ndarray(ti.types.vector(3, ti.f64), n), ti.ndarray(ti.f64, n)
    arguments = (
        n, near_width, shift_bits, state.pos, state.kind, near_count, near, reverse, shifts, pair_table,
        body_table, partial, zeta, live, lists.control, *lists.tuples.arrays, energy, force,
    )  # fmt: skip
    found = []
    terms = device._variant[0]
    by_kind = {"pairs": pair_kernels(terms, backend), "triplets": triplet_kernels(terms, backend)}
    for kind, (in_order, by_atomics) in by_kind.items():

        def call(kernel: Any) -> None:
            with literals(ti.f64):
                kernel(*arguments)

        results = []
        for kernel in (in_order, by_atomics, by_atomics):
            call(kernel)
            results.append(force.to_numpy())
        ms = {}
        for what, kernel in (("in order", in_order), ("atomics", by_atomics)):
            times = loops(lambda k=kernel: call(k), options.seconds)
            each = [
                1e3 * seconds(lambda k=kernel, m=times: again(lambda: call(k), m)) / times
                for _ in range(options.repeats)
            ]
            ms[what] = statistics.median(each)
        found.append(
            {
                "case": name, "atoms": n, "tuples": kind, "ms": ms,
                "atomics_over_in_order": ms["atomics"] / ms["in order"],
                "largest_force_eV_per_A": float(np.abs(results[0]).max()),
                "largest_difference_eV_per_A": float(np.abs(results[1] - results[0]).max()),
                "numbers_that_differ_between_two_runs": common.differing_bits(results[1], results[2])[0],
            }
        )  # fmt: skip
    return found


def main() -> None:
    """Measure each case, write JSON, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--cases", nargs="+", default=["vashishta-sio2:12288"], metavar="CASE:ATOMS")
    parser.add_argument("--settle", type=int, default=100, help="steps before")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of one timed run, about")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    backend = runtime.start(options.backend)
    out = options.out or common.RESULTS / f"atomic_sums_{backend}.json"
    report: dict[str, Any] = {**common.provenance(), "results": []}
    for case in options.cases:
        report["results"] += measure(case, backend, options)
        common.write_json(out, report)
    names = (
        "case", "atoms", "tuples", "in order, ms", "atomics, ms", "atomics/in order", "difference", "unlike",
    )  # fmt: skip
    rows = [
        (
            r["case"], r["atoms"], r["tuples"], *(f"{time:.4g}" for time in r["ms"].values()),
            f"{r['atomics_over_in_order']:.2f}", f"{r['largest_difference_eV_per_A']:.1e}",
            r["numbers_that_differ_between_two_runs"],
        )
        for r in report["results"]
    ]  # fmt: skip
    print(common.table(rows, names))
    print(f"written: {out.name}")


if __name__ == "__main__":
    main()
