"""How fast are energies of all triples: in tiles, balanced, row by row; one and many threads an atom?

    python -m validation.triples.energies --backend cuda --out FILE

Figures of A. Yaseen, H. Ji, Y. Li, J. Parallel Distrib. Comput. (2015). Figure 5: one thread an atom and
many, 343 to 27,000 atoms. Figure 6: what the distances take and what the rest of the arithmetic, 3,375 atoms.
Figure 7: balanced over direct, without a cutoff and with half a box. Table 2: active lanes of a warp, where
the paper counts branches. Its table 1 is not compared: its units cannot be right.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import start, ti
from taichimd.enumerate.all_triples import BALANCED, DIRECT
from taichimd.forcefields.axilrod_teller import TRIPLET
from validation import common
from validation.triples.systems import SIDES, half_box, positions, seconds, triple_sum

WARP = 32
LONGEST = {"cuda": 4.5, "cpu": 12.0}
"""Seconds: a call that would take longer is left out."""
WAVE = 132 * 2048
"""Threads that an H100 holds at a time."""


@ti.func
def distances(a, b, c):
    """In place of the energy: what a visit takes without it."""
    return 1e-12 * (a + b + c)


def lanes(side: int, mapping: str, cutoff: float) -> float:
    """Mean part of a warp's lanes that compute an energy, of steps in which one does; one thread an atom."""
    n, x = side**3, positions(side)
    short = ((x[:, None] - x[None]) ** 2).sum(axis=-1) < cutoff**2
    active = steps = 0
    i = np.arange(n)
    if mapping == BALANCED:
        padded = np.zeros(-(-n // WARP) * WARP, bool)
        for d in range(1, (n - 1) // 3 + 1):
            j = (i + d) % n
            near = short[i, j]
            for e in range(d, n - 2 * d):
                k = (j + e) % n
                padded[:n] = near & short[i, k] & short[j, k]
                active, steps = _count(padded.reshape(-1, WARP), active, steps)
        return active / (WARP * steps)
    for first in range(0, n, WARP):
        mine = np.arange(first, min(first + WARP, n))
        for d in range(1, n - first - 1):
            # Step (d, e) of a warp: each lane has its own j = i + d and k = j + e.
            j = mine + d
            e = np.arange(1, n - first - d)
            k = j[:, None] + e[None]
            inside = (j[:, None] < n) & (k < n)
            j, k = np.minimum(j, n - 1), np.minimum(k, n - 1)
            does = inside & short[mine, j][:, None] & short[mine[:, None], k] & short[j[:, None], k]
            active += int(does.sum())
            steps += int(does.any(axis=0).sum())
    return active / (WARP * steps)


def _count(does: NDArray[np.bool_], active: int, steps: int) -> tuple[int, int]:
    return active + int(does.sum()), steps + int(does.any(axis=1).sum())


def measure(backend: str, sides: tuple[int, ...], enough: int, write: Callable[[Any], Any]) -> dict[str, Any]:
    """Times and rates of all sizes, and figures 6 and 7 of 3,375 atoms or of the largest size."""
    rows: list[dict[str, Any]] = []
    rate: dict[str, float] = {}
    for side in sides:
        n = side**3
        many = max(1, min((n - 1) // 3, enough // n))
        sums = triple_sum(side, backend)
        ways: dict[str, Callable[[], Any]] = {"tiles": sums.part}
        for mapping in (BALANCED, DIRECT):
            ways[f"{mapping}, one thread"] = partial(sums.mapped, mapping)
            ways[f"{mapping}, many threads"] = partial(sums.mapped, mapping, many)
            ways[f"{mapping}, many threads, half box"] = partial(sums.mapped, mapping, many, half_box(side))
        row: dict[str, Any] = {"atoms": n, "triples": comb(n, 3), "threads_per_atom": many, "seconds": {}}
        for name, run in ways.items():
            if comb(n, 3) / rate.get(name, np.inf) > LONGEST[backend]:
                continue
            row["seconds"][name] = took = seconds(run)
            rate[name] = comb(n, 3) / took
        row["gigatriples_per_second"] = {
            name: comb(n, 3) / took / 1e9 for name, took in row["seconds"].items()
        }
        rows.append(row)
        write({"sizes": rows})
    side = 15 if 15 in sides else sides[-1]
    bare = triple_sum(side, backend, function=replace(TRIPLET, alone=distances))
    row = next(row for row in rows if row["atoms"] == side**3)
    times = row["seconds"]
    return {
        "sizes": rows,
        "figure 6": {
            "atoms": side**3,
            "seconds": times.get(f"{BALANCED}, many threads"),
            "seconds_of_distances_alone": seconds(lambda: bare.mapped(BALANCED, row["threads_per_atom"])),
        },
        "figure 7": [
            {
                "atoms": one["atoms"],
                "balanced_over_direct": {
                    what: one["seconds"][f"{DIRECT}, {what}"] / one["seconds"][f"{BALANCED}, {what}"]
                    for what in ("one thread", "many threads", "many threads, half box")
                    if f"{DIRECT}, {what}" in one["seconds"] and f"{BALANCED}, {what}" in one["seconds"]
                },
            }
            for one in rows
        ],
    }


def main() -> None:
    """Measure, write, print."""
    parser = common.parser(__doc__, out="triples_energies")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--quick", action="store_true", help="small sizes, as for a CPU")
    parser.add_argument("--sides", nargs="+", type=int, help="atoms along an edge, of each size")
    parser.add_argument(
        "--lanes", type=int, default=0, metavar="SIDE", help="table 2 of SIDE^3 atoms, by NumPy"
    )
    chosen = parser.parse_args()
    backend = start(chosen.backend)
    sides = tuple(chosen.sides or ((5, 7, 10) if chosen.quick else SIDES))
    head = common.provenance()

    def write(found: dict[str, Any]) -> None:
        common.write_json(chosen.out, head | found)

    found = measure(backend, sides, WAVE if backend == "cuda" else 2_000, write)
    names = list(found["sizes"][0]["seconds"])
    print("Gtriple/s")
    print(
        common.table(
            [
                [row["atoms"], *(f"{row['gigatriples_per_second'].get(name, np.nan):.3g}" for name in names)]
                for row in found["sizes"]
            ],
            ["atoms", *names],
        ),
        flush=True,
    )
    write(found)
    if chosen.lanes:
        side = chosen.lanes
        found["table 2"] = {
            mapping: {
                "atoms": side**3,
                "no cutoff": lanes(side, mapping, np.inf),
                "half box": lanes(side, mapping, half_box(side)),
            }
            for mapping in (BALANCED, DIRECT)
        }
        write(found)
    for name in ("figure 6", "figure 7", "table 2"):
        print(name, found.get(name))


if __name__ == "__main__":
    main()
