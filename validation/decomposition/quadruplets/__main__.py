"""Chains of four atoms: one thread for each atom, bond or chain?

    python -m validation.decomposition.quadruplets --backend cpu

Tuple decomposition (a list of accepted chains, then a thread for each chain) against particle decomposition
(a thread for each atom, which finds and evaluates), as P. E. Small et al. compare them (HPC Asia 2018,
section 4.3, doi:10.1145/3149457.3149463), at their numbers of atoms and larger ones. Diamond, displaced at
random; a torsion of ReaxFF's form. Besides: a thread for each central bond; forces added by floating-point
atomics, as in the paper's section 3, which differ in the last digits from run to run; and by whole-number
atomics, which do not.
"""

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from taichimd.core import runtime
from taichimd.core.errors import CapacityError
from taichimd.validation.bits import differing_bits
from validation import common
from validation.benchmarks.stepping import again, loops, seconds
from validation.decomposition.quadruplets.atomics import Scatter
from validation.decomposition.quadruplets.bonds import BondList
from validation.decomposition.quadruplets.sums import DECOMPOSITIONS, ChainTerm
from validation.decomposition.quadruplets.torsion import TORSION, bond_order, torsion

A = 3.567
"""Lattice constant of diamond, angstrom."""
NOISE = 0.08
"""Width of the displacements, angstrom: an rms amplitude of a hot crystal."""
CELLS = {
    1_344: (7, 6, 4), 4_536: (9, 9, 7), 10_752: (12, 14, 8), 110_592: (24, 24, 24), 884_736: (48, 48, 48),
}  # fmt: skip
"""Conventional cells of eight atoms; the first three are the paper's numbers of atoms."""
ATOMICS = ("float atomics", "integer atomics")


@dataclass(frozen=True)
class Case:
    """Candidates and condition."""

    reach: float  # of the candidates, angstrom
    cutoffs: tuple[float, float]  # of the condition
    most: dict[str, int]  # largest number of atoms on a CPU and on a GPU
    what: str  # for readers


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


def diamond(n_atoms: int, case: Case) -> BondList:
    """The bond list of a displaced crystal."""
    cells = np.array(CELLS[n_atoms])
    basis = np.array([[0, 0, 0], [0, 2, 2], [2, 0, 2], [2, 2, 0]])
    basis = np.vstack([basis, basis + 1]) / 4
    corners = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    x = A * (corners + basis).reshape(-1, 3)
    x += NOISE * np.random.default_rng(1).standard_normal(x.shape)
    box = A * cells
    x %= box
    pairs = cKDTree(x, boxsize=box).query_pairs(case.reach, output_type="ndarray")
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
    image = -np.round((x[j] - x[i]) / box).astype(int)
    order = np.lexsort((*image.T, j, i))
    i, j, image = i[order], j[order], image[order]
    # From the lower to the higher number, so that both directions round alike.
    up = (i < j)[:, None]
    r = np.linalg.norm(np.where(up, x[j] - x[i], x[i] - x[j]) + np.where(up, image, -image) * box, axis=1)
    first = np.searchsorted(i, np.arange(n_atoms + 1))
    return BondList(first, j, image, bond_order(r), positions=x, cell=np.diag(box), cutoffs=case.cutoffs)


def measure(n_atoms: int, case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Times in ms of one call: list, decompositions, atomics; sizes; whether results agree."""
    bonds = diamond(n_atoms, case)
    term = ChainTerm(bonds, torsion, TORSION)
    term.list.build()
    calls: dict[str, Callable[[], None]] = {"list": term.list.build}
    calls |= {name: lambda name=name: term.queue(name) for name in DECOMPOSITIONS}
    scatters = {name: Scatter(bonds, term.list, name == "integer atomics") for name in ATOMICS}
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
            "numbers_that_differ_between_two_runs": differing_bits(first, scatter.forces())[0],
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


def main() -> None:
    """Measure each case at each size."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(CELLS), choices=list(CELLS))
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of one timed run, about")
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
