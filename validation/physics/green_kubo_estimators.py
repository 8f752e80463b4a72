"""Do the plateau and STACIE, which needs no window, find one conductivity in the same Green-Kubo runs?

    python -m validation.physics.green_kubo_estimators

Solid argon at 40 K (Lennard-Jones, 256 atoms) and silicon at 1,000 K (Stillinger-Weber, 216 atoms): five runs
each, the plateau of several windows, and STACIE.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ase.build import bulk

from validation import common

CASES: dict[str, dict[str, Any]] = {
    "argon": {
        "cell": lambda: bulk("Ar", a=5.33, cubic=True),
        "potential": "Ar.lj",
        "temperature": 40.0,
        "cells": 4,
        "time": "200ps",
        "timestep": 4.0,
        "every": 5,
        "windows": ("2ps", "5ps", "10ps", "20ps"),
    },
    "silicon": {
        "cell": lambda: bulk("Si", a=5.445, cubic=True),
        "potential": "Si.sw",
        "temperature": 1000.0,
        "cells": 3,
        "time": "300ps",
        "timestep": 1.0,
        "every": 10,
        "windows": ("5ps", "10ps", "20ps", "40ps"),
    },
}


def main() -> None:
    """Parse the command line, run, write JSON."""
    parser = common.parser(__doc__, "backend", out="green_kubo_estimators")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the length of all runs")
    options = parser.parse_args()

    from taichimd.settings.types import parse_time
    from taichimd.transport.kappa import thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    report: dict[str, Any] = {**common.provenance(), "runs": options.runs}
    for name, of in CASES.items():
        settings = KappaSettings(
            temperature=of["temperature"],
            supercell=(of["cells"],) * 3,
            runs=options.runs,
            time=parse_time(of["time"]) * options.share,
            equilibrate="20ps",
            timestep=of["timestep"],
            every=of["every"],
            window=of["windows"][0],
            backend=options.backend,
        )
        found: dict[str, Any] = {"plateau_W_per_mK": {}}
        with TemporaryDirectory() as folder:
            # The runs are done once; other windows read their samples.
            for window in of["windows"]:
                asked = replace(settings, window=window, stacie=window == of["windows"][-1])
                one = thermal_conductivity(of["cell"](), of["potential"], asked, folder=Path(folder))
                assert one is not None
                found["plateau_W_per_mK"][window] = [one.mean.value, one.mean.error]
        assert one.stacie is not None
        found |= {
            "stacie_W_per_mK": [one.stacie.mean.value, one.stacie.mean.error],
            "stacie_cutoff_THz": one.stacie.cutoff * _ps(),
            "stacie_frequencies": one.stacie.points,
            "n_atoms": one.n_atoms,
            "potential": of["potential"],
            "temperature_K": of["temperature"],
            "time_ps": settings.time / 1000.0,
        }
        report[name] = found
        print(name, found)
    common.write_json(options.out, report)


def _ps() -> float:
    from taichimd.core.units import PS

    return PS


if __name__ == "__main__":
    main()
