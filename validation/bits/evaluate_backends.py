"""One evaluation of every test structure on each backend, compared number by number.

    python -m validation.bits.evaluate_backends --backends cpu cuda

The first thing to run on a new machine: seconds, and a wrong kernel shows here before it shows in a
trajectory.
"""

import argparse
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.kernel_cache import RUNTIMES
from taichimd.validation.bits import differing_bits
from validation import common

BARS = {"float64": 1e-10, "mixed": 1e-4, "float32": 1e-4}
"""By precision; relative to the largest value of each quantity, where identical bits are not claimed. The
heat current, in which two atoms of opposite velocities cancel, relative to its largest possible value."""
STRUCTURES = {
    "silicon_216": "Si.tersoff",
    "silicon_carbide_512": "SiC_1989.tersoff",
    "silicon_triclinic": "Si.tersoff",
    "silicon_cluster": "Si.tersoff",
    "silicon_slab": "Si.tersoff",
    "silicon_primitive_displaced": "Si.tersoff",
    "gallium_nitride_wurtzite": "GaN_2006.sw",
    "silica_192": "SiO2_1990.vashishta",
    "silica_triclinic": "SiO2_1990.vashishta",
    "indium_phosphide": "InP_2009.vashishta",
    "argon_256": "lj",
}
QUANTITIES = ("energy", "energies", "forces", "virials", "heat_current")
TEMPERATURE = 600.0
"""K, of the velocities that the heat current needs."""


def main() -> None:
    """Parse the command line; be the parent or a child."""
    parser = common.parser(__doc__, out="evaluate_backends")
    parser.add_argument("--backends", nargs="+", default=["cpu"], choices=["cpu", "cuda"])
    parser.add_argument("--runtimes", nargs="+", default=[common.current_runtime()], choices=RUNTIMES)
    parser.add_argument("--precision", default="float64", choices=BARS)
    parser.add_argument("--child", nargs=2, metavar=("BACKEND", "RESULT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.precision)
    else:
        parent(options)


def child(backend: str, result_file: str, precision: str) -> None:
    """Evaluate every structure on one backend."""
    from taichimd import testing
    from taichimd.core import runtime
    from taichimd.program.engine import Engine
    from validation.systems import lj_forcefield, shipped_forcefield

    runtime.start(backend)
    found: dict[str, Any] = {}
    for name, potential in STRUCTURES.items():
        if potential == "lj":
            forcefield = lj_forcefield(cutoff=8.5, truncation="truncated", **testing.ARGON)
        else:
            forcefield = shipped_forcefield(potential)
        atoms = testing.with_velocities(getattr(testing, name)(), TEMPERATURE, seed=1)
        engine = Engine(atoms, forcefield, backend=backend, precision=precision)
        result = engine.evaluate()
        for quantity in QUANTITIES[:-1]:
            found[f"{name}/{quantity}"] = np.asarray(getattr(result, quantity), dtype=np.float64)
        found[f"{name}/heat_current"] = np.array(engine.heat_current())
        speeds = np.linalg.norm(engine.velocities(), axis=1)
        found[f"{name}/heat_scale"] = np.linalg.norm(result.virials, axis=(1, 2)) @ speeds
    found["info"] = np.array(json.dumps(runtime.info(), default=str))
    np.savez(result_file, **found)


def parent(options: argparse.Namespace) -> None:
    """Run a child for each runtime and backend, compare all pairs."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for runtime, backend in itertools.product(options.runtimes, options.backends):
            label = f"{runtime}-{backend}"
            file = Path(folder) / f"{label}.npz"
            arguments = ["--precision", options.precision, "--child", backend, str(file)]
            common.run_child("validation.bits.evaluate_backends", arguments, runtime=runtime)
            results[label] = np.load(file)
    bar = BARS[options.precision]
    pairs = [
        compare(name, a, b, results, bar)
        for a, b in itertools.combinations(results, 2)
        for name in STRUCTURES
    ]
    infos = {label: json.loads(str(found["info"])) for label, found in results.items()}
    report = {
        **common.provenance(next(iter(infos.values()))),
        "precision": options.precision,
        "runs": infos,
        "bar": bar,
        "pairs": pairs,
    }
    path = common.write_json(options.out, report)
    rows = [
        (
            pair["structure"],
            f"{pair['a']} / {pair['b']}",
            *(f"{pair['relative'][quantity]:.1e}" for quantity in QUANTITIES),
            pair["differing_numbers"],
            "holds" if pair["holds"] else "DOES NOT HOLD",
        )
        for pair in pairs
    ]
    print(common.table(rows, ("structure", "runs", *QUANTITIES, "numbers differ", "claim")))
    print(f"written: {path.name}")
    if not all(pair["holds"] for pair in pairs):
        raise SystemExit(1)


def compare(name: str, a: str, b: str, results: dict[str, Any], bar: float) -> dict[str, Any]:
    """Largest relative differences and the count of numbers that are not identical."""
    relative, differing = {}, 0
    for quantity in QUANTITIES:
        first, second = results[a][f"{name}/{quantity}"], results[b][f"{name}/{quantity}"]
        scale = results[a][f"{name}/heat_scale"] if quantity == "heat_current" else np.abs(first).max()
        relative[quantity] = float(np.abs(first - second).max() / scale)
        differing += differing_bits(first.reshape(-1), second.reshape(-1))[0]
    identical_claimed = a.startswith("quadrants") and b.startswith("quadrants")
    return {
        "structure": name,
        "a": a,
        "b": b,
        "relative": relative,
        "differing_numbers": differing,
        "claim": "identical bits" if identical_claimed else f"{bar} relative",
        "holds": not differing if identical_claimed else max(relative.values()) <= bar,
    }


if __name__ == "__main__":
    main()
