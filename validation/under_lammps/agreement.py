"""Do 1, 2 and 4 processes of LAMMPS have the energy, forces and virial of one engine, while atoms migrate?

Each run drifts through the box. At each frame the engine evaluates the same positions in one process.
"""

from typing import Any

import numpy as np

from validation import common
from validation.under_lammps.cases import CASES
from validation.under_lammps.launching import run_workers

CELLS = {
    "lj-argon": 5, "sw-si": 4, "tersoff-si": 4, "vashishta-sic": 4, "lj-axilrod-teller": 4, "silicon-sum": 3,
}  # fmt: skip
OPEN = ("lj-argon", "tersoff-si")
"""Also with one periodic direction only."""


def compare(
    case: str, cells: int, pbc: list[bool], processes: list[int], options: Any
) -> list[dict[str, Any]]:
    """One row for each number of processes."""
    from taichimd import Engine
    from taichimd.lammps.reference import BAR_PER_EV_A3

    system = CASES[case](cells)
    atoms = system.atoms
    atoms.pbc = pbc
    engine = Engine(atoms, system.forcefield(), backend=options.backend)
    n, rows, first = len(atoms), [], None
    for count in processes:
        found = run_workers(
            count, what="frames", case=case, cells=cells, pbc=pbc, steps=options.steps, frames=options.frames,
            skin=1.0, backend=options.backend,
        )  # fmt: skip
        worst = dict.fromkeys(("energy", "energies", "forces", "virial"), 0.0)
        for k, x in enumerate(found["x"]):
            engine.set_state(positions=x)
            expected = engine.evaluate()
            virial = expected.virials.sum(0)[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
            scale = max(np.abs(virial).max(), 1.0)
            differences = {
                "energy": abs(found["pe"][k] / expected.energy - 1.0),
                "energies": np.abs(found["each"][k] - expected.energies).max(),
                "forces": np.abs(found["f"][k] - expected.forces).max(),
            }
            if all(pbc):
                pressure = found["press"][k] / BAR_PER_EV_A3 * atoms.get_volume()
                differences["virial"] = np.abs(pressure - virial).max() / scale
            worst = {name: max(worst[name], float(differences.get(name, 0.0))) for name in worst}
        moved = int((found["who"][0] != found["who"][-1]).sum())
        if first is None:
            first = found
        apart = found["x"][-1] - first["x"][-1]
        lengths = atoms.cell.lengths()
        apart -= np.where(pbc, lengths * np.round(apart / lengths), 0.0)
        row = {
            "case": case, "atoms": n, "periodic": pbc, "processes": count, "steps": options.steps,
            "frames": len(found["x"]), "atoms_of_another_process_at_the_end": moved,
            "largest_differences": worst, "positions_from_one_process_A": float(np.abs(apart).max()),
        }  # fmt: skip
        rows.append(row)
        print(case, pbc, count, worst, moved, flush=True)
    return rows


def main() -> None:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CELLS), choices=list(CASES))
    parser.add_argument("--np", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--out", help="default: under_lammps_agreement_BACKEND.json")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    units = {
        "energy": "relative", "energies": "eV", "forces": "eV/angstrom",
        "virial": "all components, relative to the largest; 3 periodic directions only",
    }  # fmt: skip
    out = options.out or common.RESULTS / f"under_lammps_agreement_{options.backend}.json"
    for case in options.cases:
        for pbc in ([True] * 3, *([[True, False, False]] if case in OPEN else [])):
            rows += compare(case, CELLS[case], pbc, options.np, options)
            common.write_json(out, {"provenance": common.provenance(), "units": units, "runs": rows})
    print(
        common.table(
            [
                [r["case"], sum(r["periodic"]), r["processes"], r["atoms_of_another_process_at_the_end"]]
                + [f"{value:.1e}" for value in r["largest_differences"].values()]
                for r in rows
            ],
            ["case", "periodic", "processes", "migrated", "energy", "energies", "forces", "virial"],
        )
    )


if __name__ == "__main__":
    main()
