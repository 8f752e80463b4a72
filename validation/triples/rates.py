"""How fast is the energy of all triples alone, by shapes of tiles and by products of matrices?

    python -m validation.triples.rates --backend cuda --out FILE

Each row: Gtriple/s, and how far the energy is from that of the first shape. The file is written after each
size.
"""

from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.runtime import start
from taichimd.enumerate.triple_tiles import TILING, Tiling
from taichimd.forcefields.triple_matrix import in_library
from taichimd.forcefields.triple_products import LEAST, Products
from taichimd.program.triple_energy import in_ev
from validation import common
from validation.triples.systems import NU, positions, seconds, triple_sum

TILINGS = (TILING, Tiling(64, 4, 16, 1), Tiling(64, 4, 32, 2), Tiling(32, 4, 16, 1), Tiling(64, 2, 16, 4))
"""The first is what the package uses for energies."""


def of_tiles(side: int, backend: str, tiling: Tiling) -> tuple[float, float]:
    """Seconds, and the energy (eV)."""
    sums = triple_sum(side, backend, tiling=tiling)
    return seconds(sums.part), in_ev(sums.part())


def of_matrices(side: int, backend: str, least: int) -> tuple[float, float]:
    """The same, by blocks of so many atoms or more."""
    x, nu, kinds = in_library(positions(side), backend), np.full((1, 1, 1), NU), np.zeros(side**3, np.int32)

    def energy() -> float:
        return Products(x, nu, kinds, least=least).energy()

    return seconds(energy), energy()


def main() -> None:
    """Measure, write after each size, print."""
    parser = common.parser(__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--out", type=Path, default=common.RESULTS / "triples_rates.json")
    parser.add_argument("--sides", type=int, nargs="+", default=[20, 15, 10, 25])
    chosen = parser.parse_args()
    backend = start(chosen.backend)
    ways: dict[str, Any] = {
        f"tiles of {t.side}, {t.each} x {t.each} pairs a thread, slabs of {t.slab}, {t.threads} threads": (
            of_tiles,
            t,
        )
        for t in TILINGS
    }
    ways |= {f"matrices, blocks of {least} or more": (of_matrices, least) for least in (LEAST, 4000, 10**6)}
    rows: list[dict[str, Any]] = []
    head = common.provenance()
    for side in chosen.sides:
        n, row = side**3, {}
        for name, (measure, how) in ways.items():
            try:
                took, energy = measure(side, backend, how)
            except Exception as error:  # a way that fails leaves the others
                row[name] = {"error": f"{type(error).__name__}: {error}"}
                continue
            row[name] = {
                "seconds": took,
                "gigatriples_per_second": comb(n, 3) / took / 1e9,
                "energy_eV": energy,
            }
        reference = next(iter(row.values())).get("energy_eV", np.nan)
        for one in row.values():
            if "energy_eV" in one:
                one["energy_apart"] = abs(one["energy_eV"] / reference - 1.0)
        rows.append({"atoms": n, "ways": row})
        common.write_json(chosen.out, head | {"sizes": rows})
        print(n, "atoms", flush=True)
        print(
            common.table(
                [
                    [name, f"{one['gigatriples_per_second']:.4g}", f"{one['energy_apart']:.0e}"]
                    if "seconds" in one
                    else [name, one["error"][:60], ""]
                    for name, one in row.items()
                ],
                ["way", "Gtriple/s", "energy apart"],
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
