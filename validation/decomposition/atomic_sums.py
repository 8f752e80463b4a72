"""Forces of a list of pairs, or of triplets: added by atomics, or by each atom for itself?

    python -m validation.decomposition.atomic_sums --cases vashishta-sio2:12288 --backend cuda

P. E. Small et al. (HPC Asia 2018, section 3, doi:10.1145/3149457.3149463) let the thread of a tuple add to
the forces of its atoms by atomicAdd. Ours leaves what it has found with the tuple; each atom adds up its own.
Both are timed here for the same lists, evaluation included; `quadruplets` does so for chains of four. Sums of
atomics have other bits in each run.
"""

import argparse
import statistics
from functools import cache
from typing import Any

import numpy as np

from taichimd.core import runtime
from taichimd.core.arguments import kernel, types_of
from taichimd.core.runtime import literals, ti
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.group import Group
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.reproducible_sum import FORCE, pair_sums
from taichimd.enumerate.tuples import pair_tuples, triplet_tuples
from taichimd.neighbours.control import CONTROL, Control
from taichimd.neighbours.entries import neighbour, straight_vector_to
from taichimd.neighbours.rows import Rows, VerletRows, body_layout, slot
from taichimd.neighbours.tuple_arrays import (
    pairs_end,
    slots_of,
    triplet_at,
    triplets_begin,
    triplets_end,
)
from taichimd.program.engine import Engine
from taichimd.system.state import Atoms
from taichimd.validation.bits import differing_bits
from validation import common
from validation.benchmarks.stepping import again, loops, seconds
from validation.benchmarks.systems import CASES


def arguments_of(group: Group) -> dict[str, Any]:
    """What all kernels here take."""
    verlet = VerletRows.only("shift_bits", "shifts")
    out = Outputs.only("energy", "force")
    return {"atoms": Atoms, "verlet": verlet, "group": group.arguments, "control": CONTROL, "out": out}


@cache
def pair_kernels(group: Group, backend: str) -> tuple[Any, Any]:
    """Kernels that add the forces of pairs for each atom, and by atomics."""
    on_gpu = backend == "cuda"
    pair = pair_tuples(group.terms.separate[0], ti.f64, ti.f64, on_gpu)
    sums = pair_sums(ti.f64)

    @kernel(types_of(ti.f64), **arguments_of(group))
    def pairs_in_order(atoms, verlet, group, control, out):
        n, shift_bits = atoms.n, verlet.shift_bits
        rows = Rows(atoms.pos, atoms.kind, group.near.count, group.near.entries, verlet.shifts)
        t = group.tuples
        pair.evaluate(n, shift_bits, rows, group.kept.pair_table, control, Control.rebuild, t)
        if ti.static(on_gpu):
            pair.add_up(n, shift_bits, rows, group.kept.pair_table, out.energy, out.force, out.energy, control, Control.rebuild, t)  # noqa: E501 # fmt: skip
        else:
            for i in range(n):
                total = pair.pairs(i, 0, 1, n, shift_bits, rows, group.kept.pair_table, t, FORCE)
                sums.store(i, total, out.energy, out.force, out.energy, FORCE)

    @kernel(types_of(ti.f64), **arguments_of(group))
    def pairs_by_atomics(atoms, verlet, group, control, out):
        n, shift_bits = atoms.n, verlet.shift_bits
        rows = Rows(atoms.pos, atoms.kind, group.near.count, group.near.entries, verlet.shifts)
        t = group.tuples
        for i in range(n):
            out.force[i] = ti.Vector([0.0, 0.0, 0.0])
        for k in range(pairs_end(n, t)):
            i, entry = t.tuples[3 * k], t.tuples[3 * k + 1]
            d = straight_vector_to(entry, shift_bits, atoms.pos[i], atoms.pos, verlet.shifts)
            f = pair.slope(k, n, shift_bits, rows, group.kept.pair_table, t) * d
            ti.atomic_add(out.force[i], f)
            ti.atomic_sub(out.force[neighbour(entry, shift_bits)], f)

    return pairs_in_order, pairs_by_atomics


@cache
def triplet_kernels(group: Group, backend: str) -> tuple[Any, Any]:
    """The same for triplets, with the same arguments."""
    layout = body_layout(backend)
    triplet = triplet_tuples(group.terms.separate[1], ti.f64, ti.f64, layout)
    atom = gather_functions(group.terms.separate[1], ti.f64, ti.f64, layout)

    @kernel(types_of(ti.f64), **arguments_of(group))
    def triplets_in_order(atoms, verlet, group, control, out):
        n, near_width, shift_bits = atoms.n, group.near.width, verlet.shift_bits
        rows = Rows(atoms.pos, atoms.kind, group.near.count, group.near.entries, verlet.shifts)
        kept, t = group.kept, group.tuples
        triplet.partials(
            n, near_width, shift_bits, rows, kept, out.energy, control, Control.rebuild, t, FORCE
        )
        for i in range(n):
            f, _ = atom.gather(i, n, near_width, shift_bits, rows, kept, False)
            out.force[i] = f

    @kernel(types_of(ti.f64), **arguments_of(group))
    def triplets_by_atomics(atoms, verlet, group, control, out):
        n, near_width, shift_bits = atoms.n, group.near.width, verlet.shift_bits
        rows = Rows(atoms.pos, atoms.kind, group.near.count, group.near.entries, verlet.shifts)
        kept, t = group.kept, group.tuples
        for i in range(n):
            out.force[i] = ti.Vector([0.0, 0.0, 0.0])
        for k in range(triplets_end(n, t) - triplets_begin(n, t)):
            record = triplets_begin(n, t) + k
            to_s, to_u, _ = triplet.vectors(record, n, near_width, shift_bits, rows, kept, t)
            i = t.tuples[triplet_at(record, n, t)]
            s, u = slots_of(record, n, t)
            ti.atomic_add(out.force[i], to_s + to_u)
            j = neighbour(rows.entries[slot(i, s, n, near_width, layout)], shift_bits)
            k_other = neighbour(rows.entries[slot(i, u, n, near_width, layout)], shift_bits)
            ti.atomic_sub(out.force[j], to_s)
            ti.atomic_sub(out.force[k_other], to_u)

    return triplets_in_order, triplets_by_atomics


def measure(case: str, backend: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Times of one call; what forces differ by, and how many numbers do between two runs of atomics."""
    name, atoms = case.split(":")
    system = CASES[name].system(int(atoms))
    engine = Engine(system.atoms, system.forcefield(), backend=backend, decomposition="tuple")
    engine.advance(options.settle, system.timestep)
    engine.evaluate()
    device, lists, state = engine.device, engine.device.lists, engine.device.state
    n = state.n
    out = Outputs(energy=ti.ndarray(ti.f64, n), force=ti.ndarray(ti.types.vector(3, ti.f64), n))
    near = lists.near[0]
    arguments = state, lists.verlet, near, lists.control, out
    found = []
    group = device.groups[0]
    by_kind = {"pairs": pair_kernels(group, backend), "triplets": triplet_kernels(group, backend)}
    for kind, (in_order, by_atomics) in by_kind.items():

        def call(run: Any) -> None:
            with literals(ti.f64):
                run(*arguments)

        results = []
        for each_kernel in (in_order, by_atomics, by_atomics):
            call(each_kernel)
            results.append(out.force.to_numpy())
        ms = {}
        for what, one in (("in order", in_order), ("atomics", by_atomics)):
            times = loops(lambda k=one: call(k), options.seconds)
            each = [
                1e3 * seconds(lambda k=one, m=times: again(lambda: call(k), m)) / times
                for _ in range(options.repeats)
            ]
            ms[what] = statistics.median(each)
        found.append(
            {
                "case": name, "atoms": n, "tuples": kind, "ms": ms,
                "atomics_over_in_order": ms["atomics"] / ms["in order"],
                "largest_force_eV_per_A": float(np.abs(results[0]).max()),
                "largest_difference_eV_per_A": float(np.abs(results[1] - results[0]).max()),
                "numbers_that_differ_between_two_runs": differing_bits(results[1], results[2])[0],
            }
        )  # fmt: skip
    return found


def main() -> None:
    """Measure each case, write JSON, print a table."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--cases", nargs="+", default=["vashishta-sio2:12288"], metavar="CASE:ATOMS")
    parser.add_argument("--settle", type=int, default=100, help="steps before")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of one timed run, about")
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
