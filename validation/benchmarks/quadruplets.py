"""Chains of four atoms: one thread an atom, a bond, or a chain?

    python -m validation.benchmarks.quadruplets --backend cpu

Tuple decomposition (a list of accepted chains, then a thread for each) against particle decomposition (a
thread for each atom, which finds and evaluates), as P. E. Small et al. compare them (HPC Asia 2018, section
4.3, doi:10.1145/3149457.3149463), at their numbers of atoms and larger ones. Diamond, displaced at random; a
torsion of ReaxFF's form. Besides: a thread for each central bond; forces added by floating-point atomics, as
in the paper's section 3, which give other bits in each run; and by whole-number atomics, which do not.
"""

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from taichimd.core import runtime
from taichimd.core.arguments import Array, Bundle, kernel, types_of
from taichimd.core.errors import CapacityError
from taichimd.core.runtime import literals, ti
from taichimd.tuples.bonds import BondList, Bonds, image_vector
from taichimd.tuples.chains import chain_slopes
from taichimd.tuples.conditions import Condition, bond_order_products
from taichimd.tuples.evaluate import DECOMPOSITIONS, ChainTerm
from taichimd.tuples.lists import PLACES, Listed
from validation import common
from validation.benchmarks.stepping import seconds

common.use_tests_folder()
from networks import TORSION, strength, torsion  # noqa: E402

A = 3.567
"""Lattice constant of diamond, angstrom."""
NOISE = 0.08
"""Width of the displacements, angstrom: an rms amplitude of a hot crystal."""
CELLS = {
    1_344: (7, 6, 4), 4_536: (9, 9, 7), 10_752: (12, 14, 8), 110_592: (24, 24, 24), 884_736: (48, 48, 48),
}  # fmt: skip
"""Conventional cells of eight atoms; the first three are the paper's numbers of atoms."""
ATOMICS = ("float atomics", "integer atomics")
FIXED = 2.0**40
"""Whole numbers stand for multiples of 1/FIXED eV/angstrom."""


@dataclass(frozen=True)
class Case:
    """Candidates and condition.

    Attributes:
        reach: of the candidates, angstrom.
        cutoffs: of the condition.
        most: largest number of atoms on a CPU and on a GPU.
        what: for readers.
    """

    reach: float
    cutoffs: tuple[float, float]
    most: dict[str, int]
    what: str


CASES = {
    "bonded": Case(2.0, (0.3, 0.1), {"cpu": 110_592, "cuda": 884_736}, "bonds alone are candidates"),
    "candidates": Case(
        2.8,
        (0.3, 0.1),
        {"cpu": 110_592, "cuda": 884_736},
        "second neighbours are candidates, few are accepted",
    ),
    "second shell": Case(
        2.8,
        (1e-4, 1e-8),
        {"cpu": 4_536, "cuda": 110_592},
        "second neighbours are candidates, most are accepted",
    ),
}


def diamond(n_atoms: int, reach: float) -> BondList:
    """The bond list of a displaced crystal."""
    cells = np.array(CELLS[n_atoms])
    basis = np.array([[0, 0, 0], [0, 2, 2], [2, 0, 2], [2, 2, 0]])
    basis = np.vstack([basis, basis + 1]) / 4
    corners = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    x = A * (corners + basis).reshape(-1, 3)
    x += NOISE * np.random.default_rng(1).standard_normal(x.shape)
    box = A * cells
    x %= box
    pairs = cKDTree(x, boxsize=box).query_pairs(reach, output_type="ndarray")
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
    image = -np.round((x[j] - x[i]) / box).astype(int)
    order = np.lexsort((*image.T, j, i))
    i, j, image = i[order], j[order], image[order]
    # From the lower to the higher number, so that both directions round alike.
    up = (i < j)[:, None]
    r = np.linalg.norm(np.where(up, x[j] - x[i], x[i] - x[j]) + np.where(up, image, -image) * box, axis=1)
    bonds = BondList(np.searchsorted(i, np.arange(n_atoms + 1)), j, image, strength(r), cell=np.diag(box))
    bonds.set_positions(x)
    return bonds


class Scattered(Bundle):
    """What the threads of chains read, and add to."""

    table: Any = Array("real", "any", "parameters of the torsion")
    vectors: Any = Array("vec4", "m", "unit vector and length of each bond, angstrom")
    energy: Any = Array("total", "n", "of each atom")
    force: Any = Array("totals", "n", "on each atom")
    slope: Any = Array("total", "m", "to the strength of each bond")


@cache
def scatter_kernel(condition: Condition, fixed: bool) -> Any:
    """Tuple decomposition with atomics: the thread of a chain adds to the sums of its atoms and bonds.

    `fixed`: whole numbers of 1/FIXED, whose sums do not depend on the order of additions.
    """
    total = ti.i64 if fixed else ti.f64
    totals = {"total": total, "totals": ti.types.vector(3, total)}
    types = types_of(ti.f64) | totals
    vec3, vec4 = types["vec"], types["vec4"]
    evaluate = chain_slopes(torsion, ti.f64)

    @ti.func
    def add(target: ti.template(), at, value):
        if ti.static(fixed):
            ti.atomic_add(target[at], ti.cast(ti.floor(value * FIXED + 0.5), ti.i64))
        else:
            ti.atomic_add(target[at], value)

    @kernel(types, graph=True, bonds=Bonds, tuples=Listed.only("count"), places=PLACES, out=Scattered)
    def scatter(bonds, tuples, places, out):
        for b in range(bonds.m):
            out.slope[b] = 0
            if condition.bond(bonds.strength[b]):
                d = bonds.pos[bonds.partner[b]] - bonds.pos[bonds.origin[b]]
                if bonds.image[b] != 0:
                    d += image_vector(bonds.image[b], bonds.lattice)
                r = ti.sqrt(d.dot(d))
                e = d * (1.0 / r)
                out.vectors[b] = vec4(e[0], e[1], e[2], r)
        for i in range(bonds.n):
            out.energy[i] = 0
            out.force[i] = ti.Vector([0, 0, 0])
        for t in range(tuples.count):
            p, b, q = places[0][t], places[1][t], places[2][t]
            i, j, k, end = bonds.partner[p], bonds.origin[b], bonds.partner[b], bonds.partner[q]
            s = vec3(bonds.strength[p], bonds.strength[b], bonds.strength[q])
            kinds = ti.Vector([bonds.kind[i], bonds.kind[j], bonds.kind[k], bonds.kind[end]])
            u, g_ji, g_jk, g_kl = evaluate(
                out.vectors[p], out.vectors[b], out.vectors[q], s, kinds, out.table
            )
            add(out.energy, j, 0.5 * u)
            add(out.energy, k, 0.5 * u)
            add(out.slope, ti.min(p, bonds.reverse[p]), g_ji[3])
            add(out.slope, b, g_jk[3])
            add(out.slope, ti.min(q, bonds.reverse[q]), g_kl[3])
            add(out.force, i, -g_ji[:3])
            add(out.force, j, (g_ji + g_jk)[:3])
            add(out.force, k, (g_kl - g_jk)[:3])
            add(out.force, end, -g_kl[:3])

    return scatter


class Scatter:
    """Arrays and one call of `scatter_kernel` for the chains of a term."""

    def __init__(self, bonds: BondList, term: ChainTerm, condition: Condition, fixed: bool) -> None:
        total = ti.i64 if fixed else ti.f64
        self._bonds, self._term, self._kernel = bonds, term, scatter_kernel(condition, fixed)
        self._out = out = Scattered(
            table=ti.ndarray(ti.f64, len(TORSION)),
            vectors=ti.ndarray(ti.types.vector(4, ti.f64), bonds.m),
            energy=ti.ndarray(total, bonds.n),
            force=ti.ndarray(ti.types.vector(3, total), bonds.n),
            slope=ti.ndarray(total, bonds.m),
        )
        out.table.from_numpy(np.array(TORSION))
        self._unit = 1.0 / FIXED if fixed else 1.0

    def __call__(self) -> None:
        """Queue the sums."""
        with literals(ti.f64):
            self._kernel(self._bonds, self._term.list, self._term.list.places, self._out)

    def forces(self) -> np.ndarray:
        """(n, 3) eV/angstrom."""
        return self._out.force.to_numpy() * self._unit


def measure(n_atoms: int, case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Times in ms of one call: list, decompositions, atomics; sizes; whether results agree."""
    bonds = diamond(n_atoms, case.reach)
    condition = bond_order_products(*case.cutoffs)
    term = ChainTerm(bonds, torsion, condition, TORSION)
    term.list.build()
    calls: dict[str, Callable[[], None]] = {"list": term.list.build}
    calls |= {name: lambda name=name: term.queue(name) for name in DECOMPOSITIONS}
    scatters = {name: Scatter(bonds, term, condition, name == "integer atomics") for name in ATOMICS}
    calls |= scatters
    results = {name: term.evaluate(name) for name in DECOMPOSITIONS}
    reference = results["particle"].forces
    repeats = {name: loops(call, options.seconds) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(options.repeats):
        for name, call in calls.items():
            times[name].append(1e3 * seconds(lambda c=call, k=repeats[name]: again(c, k)) / repeats[name])
    ms = {name: statistics.median(found) for name, found in times.items()}
    by_scatter = {}
    for name, scatter in scatters.items():
        scatter()
        first = scatter.forces()
        scatter()
        by_scatter[name] = {
            "largest_difference_eV_per_A": float(np.abs(first - reference).max()),
            "numbers_that_differ_between_two_runs": common.differing_bits(first, scatter.forces())[0],
        }
    return {
        **term.statistics(),
        "candidates_per_atom": bonds.m / bonds.n,
        "ms": ms,
        "ms_each": times,
        "tuple_with_list_ms": ms["list"] + ms["tuple"],
        "particle_over_tuple": ms["particle"] / ms["tuple"],
        "particle_over_tuple_with_list": ms["particle"] / (ms["list"] + ms["tuple"]),
        "same_bits": all(np.array_equal(r.forces, reference) for r in results.values()),
        "atomics": by_scatter,
    }


def again(call: Callable[[], None], times: int) -> None:
    """Call so many times."""
    for _ in range(times):
        call()


def loops(call: Callable[[], None], length: float) -> int:
    """Calls that take about so many seconds; the first, which compiles, does not count."""
    call()
    return max(1, int(length / max(seconds(call), 1e-6)))


def main() -> None:
    """Measure each case at each size."""
    parser = common.parser(__doc__)
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(CELLS), choices=list(CELLS))
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of one timed run, about")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    backend = runtime.start(options.backend)
    out = options.out or common.RESULTS / f"quadruplets_{backend}.json"
    report: dict[str, Any] = {
        **common.provenance(),
        "cases": {name: CASES[name].what for name in options.cases},
        "condition": {name: CASES[name].cutoffs for name in options.cases},
        "noise_A": NOISE,
        "results": [],
    }
    for name in options.cases:
        for n_atoms in options.sizes:
            if n_atoms > CASES[name].most[backend]:
                continue
            print(f"{name}, {n_atoms} atoms ...", flush=True)
            try:
                found = measure(n_atoms, CASES[name], options)
            except CapacityError as error:
                found = {"error": str(error)}
            report["results"].append({"case": name, "atoms": n_atoms, **found})
            common.write_json(out, report)
    show(report)
    print(f"written: {out.name}")


def show(report: dict[str, Any]) -> None:
    """Milliseconds, one line for each case and size."""
    names = ("list", *DECOMPOSITIONS, *ATOMICS)
    rows = []
    for result in report["results"]:
        head = (result["case"], result["atoms"])
        if "error" in result:
            rows.append((*head, "does not fit"))
            continue
        times = (f"{result['ms'][name]:.3g}" for name in names)
        megabytes = (result["chain_bytes"] + result["list_bytes"]) / 2**20
        ratios = (f"{result[f'particle_over_tuple{end}']:.2f}" for end in ("", "_with_list"))
        rows.append((*head, result["tuples"], f"{megabytes:.0f}", *times, *ratios, result["same_bits"]))
    print(f"{report['runtime'].get('runtime')} on {report['runtime'].get('device')}, milliseconds")
    header = ("case", "atoms", "chains", "MiB", *names, "particle/tuple", "with list", "same bits")
    print(common.table(rows, header))


if __name__ == "__main__":
    main()
