"""ReaxFF's terms, charges, forces and virial against LAMMPS: largest differences of each system.

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.accuracy

Charges are equilibrated to 1e-12 by both. Forces and virial are compared twice: as they are, and with
LAMMPS's factor of pi bonds between light and heavy atoms (`lammps_forces`).
"""

from typing import Any

import numpy as np

from validation import common


def main() -> None:
    """Parse the command line, compare all systems, write JSON, print a table."""
    parser = common.parser(__doc__, out="reaxff_lammps")
    options = parser.parse_args()
    common.use_tests_folder()

    from reaxff_samples import SYSTEMS

    from taichimd.core import runtime

    runtime.start("cpu")
    report: dict[str, Any] = {**common.provenance(), "charge_tolerance": 1e-12, "systems": {}}
    for name in SYSTEMS:
        report["systems"][name] = compare(*SYSTEMS[name])
        row = report["systems"][name]
        print(
            f"{name:22} {max(row['terms'].values()):.0e} {row['forces']:.0e} {row['lammps_forces']:.0e}",
            flush=True,
        )
    common.write_json(options.out, report)


def compare(make: Any, file: str) -> dict[str, Any]:
    """Differences from LAMMPS: of each term relative, of the others the largest (e, eV/angstrom, eV)."""
    from peers import path_of

    from taichimd.forcefields.reaxff.forcefield import ReaxFF
    from taichimd.lammps.reaxff import lammps_reaxff
    from taichimd.program.engine import Engine

    atoms, path = make(), path_of(file)
    theirs = lammps_reaxff(atoms, path)
    found = {}
    for lammps_forces in (False, True):
        forcefield = ReaxFF(path, charge_tolerance=1e-12, lammps_forces=lammps_forces)
        engine = Engine(atoms, forcefield, backend="cpu")
        found[lammps_forces] = engine.evaluate()
    evaluator: Any = engine.device.evaluators[0]
    terms = evaluator.terms()[0]
    return {
        "file": file,
        "atoms": len(atoms),
        "energies_eV": terms,
        "terms": {
            name: abs(terms[name] - value) / abs(value) if value else abs(terms[name])
            for name, value in theirs.terms.items()
        },
        "charges": _most(evaluator.charges.charges() - theirs.charges),
        "largest_force": _most(theirs.forces),
        "forces": _most(found[False].forces - theirs.forces),
        "lammps_forces": _most(found[True].forces - theirs.forces),
        "virial": _most(found[False].virials.sum(0) - theirs.virial),
        "lammps_virial": _most(found[True].virials.sum(0) - theirs.virial),
        "largest_virial": _most(theirs.virial),
    }


def _most(values: Any) -> float:
    return float(np.abs(values).max())


if __name__ == "__main__":
    main()
