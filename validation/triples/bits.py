"""Have energies and forces of all triples the same bits on CPU and GPU, however the triples are shared?

    python -m validation.triples.bits --backends cpu cuda --out FILE

Each backend computes in a process of its own; what they leave is compared bit by bit.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from taichimd import Engine
from taichimd.core.runtime import start
from taichimd.enumerate.all_triples import BALANCED, DIRECT
from taichimd.program.triple_energy import in_ev
from taichimd.validation.bits import differing_bits
from validation import common
from validation.triples.systems import argon, drop, half_box, triple_sum

SIDES = {"quick": (5, 7), "all": (4, 5, 7, 10)}
"""64 and 343 atoms are full tiles and parts of them."""


def box(cells: int) -> Atoms:
    """A periodic crystal of argon with atoms near their sites."""
    atoms = bulk("Ar", "fcc", a=5.35, cubic=True).repeat(cells)
    atoms.rattle(0.1, seed=1)
    return atoms


def computed(backend: str, sides: tuple[int, ...]) -> dict[str, Any]:
    """Energies (eV) and forces (eV/angstrom) by name."""
    start(backend)
    found: dict[str, Any] = {}
    for side in sides:
        sums = triple_sum(side, backend)
        found[f"{side**3} atoms, energy in tiles"] = in_ev(sums.part())
        found[f"{side**3} atoms, energy of 7 parts"] = in_ev(*(sums.part(p, 7) for p in range(7)))
        found[f"{side**3} atoms, energy balanced"] = in_ev(sums.mapped(BALANCED, 4))
        found[f"{side**3} atoms, energy direct"] = in_ev(sums.mapped(DIRECT, 3))
        for enumeration in ("all-triples", "direct"):
            engine = Engine(drop(side), argon(None, enumeration), backend=backend)
            found[f"{side**3} atoms, forces {enumeration}"] = engine.evaluate().forces
            found[f"{side**3} atoms, energies {enumeration}"] = engine.evaluate().energies
            found[f"{side**3} atoms, virials {enumeration}"] = engine.evaluate().virials
            engine.advance(20, 0.1)
            found[f"{side**3} atoms, positions after 20 steps {enumeration}"] = engine.positions()
    # Triangles of a near list: of a periodic box, of one with images of each atom, of long rows.
    near = {"box": (box(4), 8.5), "small box": (box(1), 8.5), "drop, half box": (drop(10), half_box(10))}
    for name, (atoms, cutoff) in near.items():
        engine = Engine(atoms, argon(cutoff), backend=backend)
        found[f"{name}, energy alone"] = engine.systems.energies()[0][0]
        result = engine.evaluate()
        found |= {f"{name}, {what}": getattr(result, what) for what in ("forces", "energies", "virials")}
        engine.advance(20, 0.1)
        found[f"{name}, positions after 20 steps"] = engine.positions()
    return {name: np.asarray(value, np.float64) for name, value in found.items()}


def main() -> None:
    """Compute in children, compare, write, print."""
    parser = common.parser(__doc__, out="triples_bits")
    parser.add_argument("--backends", nargs="+", default=["cpu", "cuda"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", type=Path, help="compute on the first backend and leave arrays there")
    chosen = parser.parse_args()
    sides = SIDES["quick" if chosen.quick else "all"]
    if chosen.child:
        np.savez(chosen.child, **computed(chosen.backends[0], sides))
        return
    arrays, quick = {}, ["--quick"] if chosen.quick else []
    with TemporaryDirectory() as folder:
        for backend in chosen.backends:
            file = Path(folder) / f"{backend}.npz"
            common.run_child("validation.triples.bits", ["--backends", backend, "--child", str(file), *quick])
            arrays[backend] = dict(np.load(file))
    rows = []
    for name, value in arrays[chosen.backends[0]].items():
        row = {"what": name, "sha256": common.sha(value)}
        for other in chosen.backends[1:]:
            row[f"numbers that differ on {other}"] = differing_bits(value, arrays[other][name])[0]
        rows.append(row)
    common.write_json(chosen.out, common.provenance() | {"backends": chosen.backends, "results": rows})
    header = [key for key in rows[0] if key != "sha256"]
    print(common.table([[row[key] for key in header] for row in rows], header))


if __name__ == "__main__":
    main()
