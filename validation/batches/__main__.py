"""Batches: has each system the bits that it has alone? How long do 64 of 1,000 atoms take beside 64,000?

    TAICHIMD_RUNTIME=quadrants python -m validation.batches --backend cpu --parts bits
    TAICHIMD_RUNTIME=quadrants python -m validation.batches --backend cuda --against batches_cpu.json

bits: eight systems of 8 to 512 atoms, other temperatures, pressures, cells and seeds, 200 steps in one batch;
then each alone. SHA-256 of positions, velocities and forces, and of a cell that moves, to be compared with
another backend's.

speed: Tersoff silicon, NVE and Langevin: one system of 64,000 atoms, 64 of 1,000 in one batch, one of 1,000
alone. Microseconds a step, in turn, the best of some repeats.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms, units
from ase.build import bulk

from validation import common

PARTS = ("bits", "speed")
RUNS = {
    "Si.tersoff": ("nve", "nvt-langevin"),
    "Si.sw": ("nvt-bussi", "nvt-nose-hoover", "npt-berendsen", "npt-scr", "npt-mtk"),
}
SIZES = (1, 2, (3, 2, 1), 2, (4, 4, 4), 1, (2, 1, 3), 3)
"""Cubic cells of silicon along each direction."""


def main() -> None:
    """Parse the command line, run the parts, write JSON as it grows, print a table last."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--ensembles", nargs="+", help="of the bits, some")
    parser.add_argument("--against", type=Path, help="the JSON of another backend, whose bits are compared")
    parser.add_argument("--steps", type=int, default=2000, help="of a measurement of speed")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--systems", type=int, default=64, help="of 1,000 atoms; a cube of a whole number")
    options = parser.parse_args()
    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    out = options.out or common.RESULTS / f"batches_{backend}.json"
    report: dict[str, Any] = common.provenance()
    theirs = common.hashes_of(options.against, "bits")
    if "bits" in options.parts:
        report["bits"] = {}
        for potential, ensembles in RUNS.items():
            for ensemble in ensembles:
                if options.ensembles and ensemble not in options.ensembles:
                    continue
                name = f"{potential}, {ensemble}"
                found = report["bits"][name] = bits(potential, ensemble)
                if name in theirs:
                    found["as_other_backend"] = found["sha256"] == theirs[name]["sha256"]
                common.write_json(out, report)
        rows = [
            (name, f"{of['as_alone']} of {of['systems']}", of.get("as_other_backend", "-"))
            for name, of in report["bits"].items()
        ]
        print(common.table(rows, ("run", "bits as alone", "bits of the other backend")))
    if "speed" in options.parts:
        report["speed"] = {}
        for ensemble in ("nve", "nvt-langevin"):
            report["speed"][ensemble] = speed(ensemble, options)
            common.write_json(out, report)
        rows = [(name, *(f"{value:.4g}" for value in of.values())) for name, of in report["speed"].items()]
        print(common.table(rows, ("ensemble", *report["speed"]["nve"])))


def silicon(cells: Any, seed: int, temperature: float) -> Atoms:
    """A displaced crystal with velocities."""
    from taichimd.testing import with_velocities

    atoms = bulk("Si", cubic=True).repeat(cells)
    atoms.rattle(0.03, seed=seed)
    return with_velocities(atoms, temperature, seed)


def ensemble_of(name: str, number: int) -> Any:
    """The bath of a system, other than those of the others."""
    from taichimd.ensembles.registry import ENSEMBLES as KINDS

    kind = KINDS[name]
    if name == "nve":
        return kind()
    options: dict[str, Any] = {"coupling_time": 80.0, "seed": number + 1}
    if name.startswith("npt"):
        options |= {"pressure": 0.5 * number, "pressure_coupling_time": 400.0, "bulk_modulus": 100.0}
    return kind(200.0 + 50.0 * number, **options)


def bits(potential: str, ensemble: str) -> dict[str, Any]:
    """In how many systems the batch has the bits of the system alone; hashes of the batch."""
    from taichimd import Batch, Engine, load_forcefield

    forcefield = load_forcefield(potential)
    systems = [silicon(cells, number + 1, 300.0 + 100.0 * number) for number, cells in enumerate(SIZES)]
    if not ensemble.startswith("npt"):
        systems[3].pbc = (True, False, True)
    shear = np.array([[1.0, 0.05, 0.0], [0.0, 1.0, 0.03], [0.02, 0.0, 0.98]])
    systems[5].set_cell(systems[5].cell.array @ shear, scale_atoms=True)
    baths = [ensemble_of(ensemble, number) for number in range(len(systems))]
    batch = Batch(systems, forcefield, ensembles=baths)
    for piece in (77, 123):
        batch.advance(piece, units.fs)
    same, hashes = 0, []
    for member, atoms, bath in zip(batch.members, systems, baths, strict=True):
        alone = Engine(atoms, forcefield, ensemble=bath)
        alone.advance(200, units.fs)
        found, expected = (
            [
                *(getattr(one, name)() for name in ("positions", "velocities", "forces")),
                *([one.cell] if ensemble.startswith("npt") else []),
                one.evaluate().virials,
            ]
            for one in (member, alone)
        )
        energies = member.thermo().conserved == alone.thermo().conserved
        same += energies and all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        hashes.append(common.sha(*found))
    return {"systems": len(systems), "as_alone": same, "sha256": hashes}


def speed(ensemble: str, options: argparse.Namespace) -> dict[str, float]:
    """Microseconds a step of one large system, of a batch of as many atoms, and of one small system."""
    from taichimd import Batch, Engine, load_forcefield

    forcefield = load_forcefield("Si.tersoff")
    side, n = round(options.systems ** (1 / 3)), options.systems
    if side**3 != n or n == 1:
        raise SystemExit(f"--systems {n}: expected a cube of a whole number, such as 8, 27 or 64")
    small = [silicon(5, number + 1, 600.0) for number in range(n)]
    runs: dict[str, Any] = {
        f"1 of {1000 * n}": Engine(
            silicon(5 * side, 1, 600.0), forcefield, ensemble=ensemble_of(ensemble, 2)
        ),
        f"{n} of 1000": Batch(small, forcefield, ensembles=[ensemble_of(ensemble, 2)] * n),
        "1 of 1000": Engine(small[0], forcefield, ensemble=ensemble_of(ensemble, 2)),
    }
    for run in runs.values():
        run.warm_up()
        run.advance(options.steps // 2, units.fs)  # skins are learnt
    best = dict.fromkeys(runs, np.inf)
    for _ in range(options.repeats):
        for name, run in runs.items():
            begin = time.perf_counter()
            run.advance(options.steps, units.fs)
            run.synchronize()
            best[name] = min(best[name], (time.perf_counter() - begin) / options.steps * 1e6)
    large, batch, alone = best.values()
    figures = {f"{name}, us/step": value for name, value in best.items()}
    return {**figures, "batch/large": batch / large, "batch/(n small)": batch / (n * alone)}


if __name__ == "__main__":
    main()
