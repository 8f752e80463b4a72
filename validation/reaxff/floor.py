"""What does each large kernel of ReaxFF take at least, by bytes and operations, and how near is it?

    python -m validation.reaxff.floor --data FOLDER

FOLDER as in `validation.reaxff.systems`. Times are those of `reaxff_paper_cuda.json`. Bytes: each number of a
list or a matrix is read or written once. Operations: each pair, or hydrogen bond, is evaluated once; a
division, a root or an exponential counts as one. So these are floors, no estimates.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.neighborlist import neighbor_list

from validation import common
from validation.reaxff.systems import SYSTEMS, start

BANDWIDTH = 3.35e12
"""Bytes a second of an H100's memory, by its data sheet."""
OPERATIONS = 1.675e13
"""Float64 operations a second of an H100 outside tensor cores: half of the 33.5 TFLOP/s of its data sheet,
which count a multiplication and an addition as two."""
CUTOFF, HYDROGEN_CUTOFF, BONDED = 10.0, 7.5, 1.3
"""Angstrom: of pairs, of hydrogen bonds, of the bond of a hydrogen atom."""
PAIR, ENTRY, HYDROGEN_BOND = 60, 30, 110
"""Operations: two looked-up polynomials of fifth order with slopes and a force; shielding and taper; the
angle, exponentials, slopes and three forces."""


def main() -> None:
    """Parse the command line, count, write JSON, print a table."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", nargs="+", default=["water 6,540", "water 39,240"])
    parser.add_argument("--out", type=Path, default=common.RESULTS / "reaxff_floor.json")
    options = parser.parse_args()
    measured = json.loads((common.RESULTS / "reaxff_paper_cuda.json").read_text())["parts"]["kernels"][
        "results"
    ]
    results = {name: of_case(options.data, name, measured[name]["usual"]["loops"]) for name in options.cases}
    limits = {"bytes_per_s": BANDWIDTH, "operations_per_s": OPERATIONS}
    common.write_json(options.out, {**common.provenance(), "limits": limits, "results": results})
    rows = [
        (case, name, *(f"{of[key]:.3g}" for key in ("floor_us", "us", "reached")))
        for case, kernels in results.items()
        for name, of in kernels.items()
    ]
    print(common.table(rows, ("system", "kernel", "floor, us", "measured, us", "reached")))


def of_case(data: Path, name: str, loops: dict[str, Any]) -> dict[str, Any]:
    """Floor and time of each kernel of a system."""
    atoms, _ = start(data, *SYSTEMS[name])
    n, pairs, bonds = len(atoms), len(neighbor_list("i", atoms, CUTOFF)), hydrogen_bonds(atoms)
    needs = {
        # name: (loops, bytes, operations)
        "charges: matrix": (("charges: matrix",), (4 + 12) * pairs, ENTRY * pairs / 2),
        "charges: product": (("charges: product",), 12 * pairs + 2 * 32 * n, 4 * pairs),
        "van der Waals and Coulomb": (("van der Waals and Coulomb",), 4 * pairs + 72 * n, PAIR * pairs / 2),
        "hydrogen bonds": (
            ("hydrogen bonds: donors", "hydrogen bonds: acceptors"), 3 * 24 * n, HYDROGEN_BOND * bonds,
        ),
    }  # fmt: skip
    found = {}
    for kernel, (parts, size, operations) in needs.items():
        floor = 1e6 * max(size / BANDWIDTH, operations / OPERATIONS)
        us = sum(loops[part]["us"] for part in parts)
        found[kernel] = {
            "bytes": size, "operations": operations, "floor_us": floor, "us": us, "reached": floor / us,
        }  # fmt: skip
    return found


def hydrogen_bonds(atoms: Atoms) -> int:
    """Donor, hydrogen and acceptor, of water: oxygen is donor and acceptor."""
    kinds = np.array(atoms.get_chemical_symbols())
    i, j, d = neighbor_list("ijd", atoms, HYDROGEN_CUTOFF)
    of_hydrogen = (kinds[i] == "H") & (kinds[j] == "O")
    near = np.bincount(i[of_hydrogen & (d < BONDED)], minlength=len(atoms))
    far = np.bincount(i[of_hydrogen], minlength=len(atoms))
    return int((near * (far - 1).clip(0)).sum())


if __name__ == "__main__":
    main()
