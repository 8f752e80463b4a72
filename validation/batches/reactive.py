"""Batches of ReaxFF: has each cell the bits that it has alone? How long does a step of 1 to 256 cells take?

    export TAICHIMD_RUNTIME=quadrants
    python -m validation.batches.reactive --backend cpu --parts bits
    python -m validation.batches.reactive --backend cuda --against reactive_batches_cpu.json

bits: six cells of water of 3 to 375 atoms, other temperatures and seeds, 60 steps of 0.25 fs in one batch;
then each alone. SHA-256 of positions, velocities, forces, virials and charges, to be compared with another
backend's. models: the same for four of the cells in QEqR, QTPIE and ACKS2, QEqR also in a field.

speed: cells of water of 81 to 882 atoms, Langevin at 300 K, steps of 0.25 fs, charges to 1e-6. Microseconds
of a step of 1, 4, 16, 64 and 256 cells in one launch; the time of one cell times their number is that of one
after the other. bar: 64 cells of 300 atoms beside one cell of 19,200, which is the cell of 300 repeated. The
best of some repeats, in turn. Sizes that do not fit the memory are left out and named.

charges: microseconds and iterations of a step of one cell in each charge model, and the time over QEq's.

bonds: are changes of bonds that the device finds those of whole tables? Milliseconds of a sample of either,
at 3,000 K with thresholds that vibrations cross, so that bonds change.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import molecule

from validation import common

PARTS = ("bits", "models", "speed", "bar", "charges", "bonds")
TIMESTEP = 0.25
SPACING = 3.107
"""angstrom between molecules on a lattice: 1 g/cm^3."""
BITS = ((1, 1, 1), (2, 2, 2), (3, 2, 2), (3, 3, 3), (2, 2, 1), (5, 5, 5))
SIZES = ((3, 3, 3), (5, 5, 4), (6, 6, 6), (7, 7, 6))
CELLS = (1, 4, 16, 64, 256)
MODELS = "QEq", "QEqR", "QTPIE", "ACKS2"


def main() -> None:
    """Parse the command line, run the parts, write JSON as it grows, print tables."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--against", type=Path, help="the JSON of another backend, whose bits are compared")
    parser.add_argument("--steps", type=int, default=400, help="of a measurement of speed")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cells", type=int, nargs="+", default=list(CELLS), help="of the speed")
    parser.add_argument("--sizes", type=int, nargs="+", help="of the speed: some, in atoms of a cell")
    parser.add_argument("--bar-side", type=int, default=4, help="cells along each direction of the large one")
    parser.add_argument(
        "--sides",
        type=int,
        nargs="+",
        default=[5, 13],
        help="of charges and bonds: molecules along each edge",
    )
    options = parser.parse_args()
    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    out = options.out or common.RESULTS / f"reactive_batches_{backend}.json"
    report: dict[str, Any] = common.provenance()
    theirs = json.loads(options.against.read_text()) if options.against else {}
    if "bits" in options.parts:
        from taichimd import ReaxFF

        report["bits"] = compared(bits(ReaxFF("H2O.ffield"), BITS), theirs.get("bits"))
        common.write_json(out, report)
    if "models" in options.parts:
        report["models"] = {}
        for name, forcefield in models().items():
            found = compared(bits(forcefield, BITS[:4]), theirs.get("models", {}).get(name))
            report["models"][name] = found
            common.write_json(out, report)
    if "bar" in options.parts:
        report["bar"] = bar(options)
        common.write_json(out, report)
        print(common.table([[f"{value:.4g}" for value in report["bar"].values()]], tuple(report["bar"])))
    if "charges" in options.parts:
        of_sides("charges", lambda side: charges(side, options), options.sides, report, out)
    if "bonds" in options.parts:
        of_sides("bonds", bonds, options.sides, report, out)
        print(report["bonds"])
    if "speed" in options.parts:
        report["speed"] = {}
        for size in SIZES:
            n = 3 * int(np.prod(size))
            if not options.sizes or n in options.sizes:
                report["speed"][str(n)] = speed(size, options)
                common.write_json(out, report)
        rows = [
            (
                n,
                cells,
                *(f"{of[name]:.4g}" for name in ("us_per_step", "atom_steps_per_s", "over_one_by_one")),
            )
            for n, each in report["speed"].items()
            for cells, of in each.items()
            if "us_per_step" in of
        ]
        print(common.table(rows, ("atoms", "cells", "us/step", "atoms steps/s", "over one after the other")))


def of_sides(
    part: str, measure: Callable[[int], Any], sides: Sequence[int], report: dict[str, Any], out: Path
) -> None:
    """A part of the report for cells of some edges, which are molecules; JSON as it grows."""
    report[part] = {}
    for side in sides:
        report[part][str(3 * side**3)] = measure(side)
        common.write_json(out, report)


def water(sides: Sequence[int], seed: int, temperature: float = 300.0) -> Atoms:
    """Molecules in random directions on a lattice, with velocities."""
    from taichimd.testing import with_velocities

    rng, one, positions = np.random.default_rng(seed), molecule("H2O"), []
    shape = one.positions.copy()
    for place in np.ndindex(*sides):
        one.positions = shape
        one.rotate(float(rng.uniform(0, 360)), rng.normal(size=3))
        one.translate(SPACING * np.array(place) + rng.uniform(-0.1, 0.1, 3))
        positions.append(one.positions.copy())
    # As a file would have them: the last bits of a rotation are the processor's.
    atoms = Atoms(
        list(one.symbols) * len(positions), np.concatenate(positions).round(6), cell=SPACING * np.diag(sides),
        pbc=True,
    )  # fmt: skip
    return with_velocities(atoms, temperature, seed)


def bath(number: int) -> Any:
    """Langevin with the noise of a number."""
    from taichimd import Langevin

    return Langevin(300.0, coupling_time=50.0, seed=number + 1)


def models() -> dict[str, Any]:
    """Charge models by name; ACKS2 with the softness that acks2_ff.water of LAMMPS has for these atoms."""
    from taichimd import ReaxFF
    from taichimd.forcefields.library import find

    text = find("H2O.ffield").read_text()
    for old, new in (("0.5000 ! unused_35", "548.6451 ! unused_35"), ("1.0698", "3.4114")):
        text = text.replace(old, new)
    with TemporaryDirectory() as folder:
        soft = Path(folder) / "soft.ffield"
        soft.write_text(text)
        return {
            "QEqR": ReaxFF("H2O.ffield", charges="qeqr"),
            "QEqR in a field": ReaxFF("H2O.ffield", charges="qeqr", field=(0.05, -0.1, 0.3)),
            "QTPIE": ReaxFF("H2O.ffield", charges="qtpie"),
            "ACKS2": ReaxFF(soft, charges="acks2"),
        }


def compared(found: dict[str, Any], theirs: dict[str, Any] | None) -> dict[str, Any]:
    """The same, and whether another backend has these hashes."""
    if theirs:
        found["as_other_backend"] = found["sha256"] == theirs["sha256"]
    print(f"bits as alone: {found['as_alone']} of {found['systems']}; {found.get('as_other_backend', '')}")
    return found


def bits(forcefield: Any, sizes: Sequence[Sequence[int]]) -> dict[str, Any]:
    """In how many systems the batch has the bits of the system alone; hashes of the batch."""
    from taichimd import Batch, Engine
    from taichimd.core.units import FS

    systems = [water(sides, number + 1, 200.0 + 100.0 * number) for number, sides in enumerate(sizes)]
    baths = [bath(number) for number in range(len(systems))]
    batch = Batch(systems, forcefield, ensembles=baths)
    for piece in (23, 37):
        batch.advance(piece, TIMESTEP * FS)
    same, hashes = 0, []
    for member, atoms, one in zip(batch.members, systems, baths, strict=True):
        alone = Engine(atoms, forcefield, ensemble=one)
        alone.advance(60, TIMESTEP * FS)
        found, expected = (_state(member), _state(alone))
        same += found == expected and member.thermo().conserved == alone.thermo().conserved
        hashes.append(found)
    return {"systems": len(systems), "as_alone": same, "sha256": hashes}


def _state(system: Any) -> str:
    found = system.evaluate()
    arrays = system.positions(), system.velocities(), found.forces, found.virials, found.charges
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def speed(sides: Sequence[int], options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Time of a step of several numbers of cells of one size."""
    from taichimd.core.errors import CapacityError

    n, found, alone = 3 * int(np.prod(sides)), {}, np.nan
    for cells in sorted(options.cells):
        try:
            run = _run([water(sides, number + 1) for number in range(cells)])
            best = _best({"": run}, options)[""]
        except CapacityError as error:
            found[str(cells)] = {"does_not_fit": str(error)}
            continue
        if cells == 1:
            alone = best
        found[str(cells)] = {
            "us_per_step": best,
            "atom_steps_per_s": 1e6 * n * cells / best,
            "over_one_by_one": best / (cells * alone),
        }
    return found


def bar(options: argparse.Namespace) -> dict[str, float]:
    """Time of a step of many cells of 300 atoms over that of one cell of as many atoms."""
    side = options.bar_side
    cells = [water((5, 5, 4), number + 1) for number in range(side**3)]
    large = cells[0].repeat((side,) * 3)
    runs = {"batch": _run(cells), "large": _run([large])}
    best = _best(runs, options)
    return {
        "cells": float(side**3),
        "batch_us_per_step": best["batch"],
        "large_us_per_step": best["large"],
        "batch_over_large": best["batch"] / best["large"],
    }


def charges(side: int, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Time of a step and iterations of its solve in each charge model, for one cell of side^3 molecules."""
    of = {"QEq": None, **models()}
    runs = {name: _run([water((side,) * 3, 1)], of[name]) for name in MODELS}
    best = _best(runs, options)
    iterations = {name: run.statistics()["charges"]["mean_iterations"] for name, run in runs.items()}
    rows = [(name, best[name], iterations[name], best[name] / best["QEq"]) for name in MODELS]
    print(3 * side**3, "atoms")
    texts = [(name, *(f"{value:.4g}" for value in values)) for name, *values in rows]
    print(common.table(texts, ("model", "us/step", "iterations", "over QEq")), flush=True)
    return {
        name: dict(zip(("us_per_step", "mean_iterations", "over_qeq"), values, strict=True))
        for name, *values in rows
    }


def bonds(side: int, samples: int = 40) -> dict[str, Any]:
    """Whether both ways find the same changes, how many, and the time of a sample of each."""
    from taichimd import Engine, ReaxFF
    from taichimd.core.units import FS
    from taichimd.estimators.bond_history import BondHistory, BondRule

    engine = Engine(water((side,) * 3, 1, 3000.0), ReaxFF("H2O.ffield"))
    orders = engine.bonds().order
    # A fifth of the bonds of molecules is below it, and vibrations cross it.
    formed = float(np.quantile(orders[orders > 0.3], 0.2))
    rule = BondRule(formed, formed - 0.02, 0.01)
    whole, changes = BondHistory(engine.n_atoms, rule), BondHistory(engine.n_atoms, rule)
    watch = engine.bond_watch(rule.formed, rule.broken)
    seconds: dict[str, list[float]] = {"table": [], "changes": []}
    for k in range(samples):
        engine.advance(20, TIMESTEP * FS)
        engine.evaluate()
        begin = time.perf_counter()
        table = engine.bonds()
        whole.add(0.005 * k, table.i, table.j, table.order)
        middle = time.perf_counter()
        if k:
            changes.change(0.005 * k, watch(changes.present))
        else:
            changes.add(0.0, table.i, table.j, table.order)
        seconds["table"].append(middle - begin)
        seconds["changes"].append(time.perf_counter() - middle)
    one, other = whole.save(), changes.save()
    return {
        "same": all(np.array_equal(one[name], other[name]) for name in one),
        "changes": len(one["keys"]),
        **{f"ms_{name}": 1e3 * float(np.median(values[2:])) for name, values in seconds.items()},
    }


def _run(systems: Sequence[Atoms], forcefield: Any = None) -> Any:
    from taichimd import Batch, Engine, ReaxFF

    forcefield = forcefield or ReaxFF("H2O.ffield")
    baths = [bath(number) for number in range(len(systems))]
    if len(systems) == 1:
        return Engine(systems[0], forcefield, ensemble=baths[0])
    return Batch(systems, forcefield, ensembles=baths)


def _best(runs: dict[str, Any], options: argparse.Namespace) -> dict[str, float]:
    """Microseconds of a step of each, the best of some repeats in turn."""
    from taichimd.core.units import FS

    best = dict.fromkeys(runs, np.inf)
    for run in runs.values():
        run.warm_up()
        run.advance(options.steps, TIMESTEP * FS)  # skins are learnt, and the lattice melts
    for _ in range(options.repeats):
        for name, run in runs.items():
            begin = time.perf_counter()
            run.advance(options.steps, TIMESTEP * FS)
            run.synchronize()
            best[name] = min(best[name], (time.perf_counter() - begin) / options.steps * 1e6)
    return best


if __name__ == "__main__":
    main()
