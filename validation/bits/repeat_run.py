"""Does the beginning of a conductivity run have the same bits on this machine?

    python -m validation.bits.repeat_run run-01.npz --material graphene --lattice 2.490998433698998 --time 20

Takes the samples of the heat current that a run of `kappa_silicon --folder` has left on another machine, does
its first picoseconds again, equilibration and all, and compares. The lattice constant is in that driver's
JSON.
"""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from validation import common
from validation.physics.kappa_silicon import MATERIALS


def main() -> None:
    """Do the run again, compare, write JSON."""
    parser = common.parser(__doc__)
    parser.add_argument("run", type=Path, help="run-NN.npz")
    parser.add_argument("--material", required=True, choices=list(MATERIALS))
    parser.add_argument("--lattice", type=float, required=True, help="angstrom, all digits")
    parser.add_argument("--time", type=float, default=20.0, help="ps after the equilibration")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    from taichimd import load_forcefield
    from taichimd.transport.kappa import sample_runs, supercell
    from taichimd.transport.settings import KappaSettings

    material = MATERIALS[options.material]
    with np.load(options.run, allow_pickle=False) as saved:
        identity, theirs = json.loads(str(saved["identity"])), saved["current"]
    names = {field.name for field in fields(KappaSettings)}
    settings = KappaSettings(**{
        **{key: value for key, value in identity.items() if key in names},
        "supercell": tuple(identity["supercell"]), "thickness": material.thickness, "runs": 1,
        "time": 1000 * options.time, "window": 100 * options.time, "backend": options.backend,
    })  # fmt: skip
    system = supercell(material.cell(options.lattice), settings)
    number = int(options.run.stem.split("-")[-1]) - 1
    runs = sample_runs(system, load_forcefield(material.potential), settings, [number])
    assert runs is not None
    (found,) = runs
    report: dict[str, Any] = {
        **common.provenance(), "material": options.material, "atoms": len(system), "run": identity,
        "equilibrate_ps": settings.equilibrate / 1000, "time_ps": options.time,
        **compared(found.current, theirs),
    }  # fmt: skip
    common.write_json(options.out or common.RESULTS / f"repeat_run_{options.material}.json", report)
    shown = ("samples", "same_bits", "first_that_differs", "largest_difference", "largest")
    print(common.table([(key, report[key]) for key in shown], (options.material, "")))


def compared(ours: Any, theirs: Any) -> dict[str, Any]:
    """Samples (rows) of the shorter run beside those of the other, eV angstrom / internal time."""
    n = min(len(ours), len(theirs))
    apart = np.abs(ours[:n] - theirs[:n]).max(axis=1)
    differs = np.flatnonzero(apart != 0)
    return {
        "samples": n,
        "same_bits": not len(differs),
        "first_that_differs": int(differs[0]) if len(differs) else None,
        "largest_difference": float(apart.max()),
        "largest": float(np.abs(theirs[:n]).max()),
    }


if __name__ == "__main__":
    main()
