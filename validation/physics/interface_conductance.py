"""Do baths, equilibrium and the spectrum of the heat flow give one conductance of an interface?

    python -m validation.physics.interface_conductance
    python -m validation.physics.interface_conductance --material sige --backend cuda

A ring of light and heavy atoms with two interfaces: argon at 30 K whose atoms are four times as heavy on one
side, or silicon and germanium (Tersoff 1989) at 500 K with one lattice constant. The conductance is computed
by NEMD (heat over the temperature jump), as the integral of the spectrum of the heat flow through the
interface (both of the same runs), and in equilibrium by Green-Kubo of the heat flow.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from validation import common

HEAVY = 4.0
"""Mass of an atom of the heavy side over that of argon."""
MATERIALS: dict[str, dict[str, Any]] = {
    "argon": {
        "a": 5.3,
        "element": "Ar",
        "lattice": "fcc",
        "potential": "Ar.lj",
        "cells": (24, 3, 3),
        "temperature": 30.0,
        "difference": 20.0,
        "bath": 13.25,
        "timestep": 4.0,
        "window": "8ps",
        "plateau": "4ps,8ps",
        "spectrum": "2ps",
        "runs": (4, 6),
        "time": ("150ps", "200ps"),
        "bin": 4.0,
        "every": 4,
    },
    "sige": {
        "a": 5.546,
        "element": "Si",
        "lattice": "diamond",
        "potential": "SiGe_1989.tersoff",
        "cells": (64, 6, 6),
        "temperature": 500.0,
        "difference": 100.0,
        "bath": 30.0,
        "timestep": 1.0,
        "window": "20ps",
        "plateau": "8ps,20ps",
        "spectrum": "2ps",
        "runs": (5, 20),
        "time": ("2ns", "1ns"),
        "bin": 6.0,
        "every": 8,
    },
}


def ring(of: dict[str, Any]) -> tuple[Atoms, tuple[float, float]]:
    """The system, and the places of its interfaces, half a plane before planes of atoms."""
    atoms = bulk(of["element"], of["lattice"], a=of["a"], cubic=True).repeat(of["cells"])
    extent, plane = atoms.cell.lengths()[0], of["a"] / (4.0 if of["lattice"] == "diamond" else 2.0)
    first = (round((0.25 * extent + 0.5 * of["bath"]) / of["a"]) * of["a"]) - 0.5 * plane
    second = first + 0.5 * extent
    x = atoms.positions[:, 0]
    inside = (x > first) & (x < second)
    if of["element"] == "Si":
        symbols = np.array(atoms.get_chemical_symbols())
        symbols[inside] = "Ge"
        atoms.set_chemical_symbols(symbols.tolist())
    else:
        masses = atoms.get_masses()
        masses[inside] *= HEAVY
        atoms.set_masses(masses)
    return atoms, (float(first), float(second))


def main() -> None:
    """Parse the command line, run, write JSON."""
    parser = common.parser(__doc__, "backend")
    parser.add_argument("--material", choices=list(MATERIALS), default="argon")
    parser.add_argument("--share", type=float, default=1.0, help="of the length of all runs")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or common.RESULTS / f"interface_conductance_{options.material}.json"
    common.check_commit(out)

    from taichimd.settings.types import parse_time
    from taichimd.transport.kappa import Kappa, thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    of = MATERIALS[options.material]
    atoms, places = ring(of)
    common_ones = {
        "temperature": of["temperature"],
        "timestep": of["timestep"],
        "every": of["every"],
        "equilibrate": "20ps",
        "interface": places,
        "backend": options.backend,
    }
    times = [parse_time(time) * options.share for time in of["time"]]

    def found(**settings: Any) -> Kappa:
        with TemporaryDirectory() as folder:
            one = thermal_conductivity(
                atoms, of["potential"], KappaSettings(**common_ones, **settings), folder=Path(folder)
            )
        assert one is not None
        return one

    driven = found(
        method="nemd",
        difference=of["difference"],
        bath_length=of["bath"],
        coupling_time="1ps",
        runs=of["runs"][0],
        time=times[0],
        spectrum=True,
        spectrum_window=of["spectrum"],
        profile_bin=of["bin"],
    )
    rest = found(
        method="interface", runs=of["runs"][1], time=times[1], window=of["window"], plateau=of["plateau"]
    )
    assert driven.conduction is not None
    assert rest.boundary is not None
    one = driven.conduction.lengths[0]
    report: dict[str, Any] = {
        **common.provenance(),
        "material": options.material,
        "potential": of["potential"],
        "n_atoms": len(atoms),
        "temperature_K": of["temperature"],
        "places_A": places,
        "runs": list(of["runs"]),
        "times_ps": [time / 1000.0 for time in times],
        "jumps_K": [[each.jump.value, each.jump.error] for each in one.interfaces],
        "G_of_jump_MW_per_m2K": [[each.conductance.value, each.conductance.error] for each in one.interfaces],
        "G_of_spectrum_MW_per_m2K": [
            [1000.0 * each.total.value, 1000.0 * each.total.error] for each in driven.across
        ],
        "G_in_equilibrium_MW_per_m2K": [rest.mean.value, rest.mean.error],
        "exchange_time_ps": rest.boundary.exchange,
        "frequency_THz": (driven.across[0].w / (2.0 * np.pi)).tolist(),
        "G_GW_per_m2K_per_THz": [each.values.value.tolist() for each in driven.across],
        "integral_time_ps": np.round(rest.boundary.conductance.time[::5] / _ps(), 4).tolist(),
        "integral_MW_per_m2K": rest.boundary.conductance.running_mean.value[::5].tolist(),
        "notes": [*driven.conduction.notes, *rest.boundary.notes],
        "not_steady": one.not_steady,
    }
    common.write_json(out, report)
    for name, value in report.items():
        if "G_" in name[:3] and "THz" not in name:
            print(name, value)
    print("notes", report["notes"], one.not_steady)


def _ps() -> float:
    from taichimd.core.units import PS

    return PS


if __name__ == "__main__":
    main()
