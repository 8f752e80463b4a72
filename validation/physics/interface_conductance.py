"""Do baths, equilibrium and the spectrum of the heat flow give one conductance of an interface?

    python -m validation.physics.interface_conductance
    python -m validation.physics.interface_conductance --material sige --backend cuda

A ring of light and heavy atoms with two interfaces: argon at 30 K whose atoms are four times as heavy on one
side, or silicon and germanium (Tersoff 1989) at 500 K with one lattice constant across the heat flow. The
conductance is computed by NEMD (heat over the temperature jump), as the integral of the spectrum of the heat
flow through the interface (both of the same runs), and in equilibrium by Green-Kubo of the heat flow.

Silicon and germanium have no stress along the heat flow: a stress does work when sound waves move the
interfaces, and planes that are not at rest start such waves. So positions and length are relaxed first, and
the length then becomes its mean at 500 K without pressure along x.

The first two have one temperature jump, so their ratio is the heat through the interface over the heat of the
baths: 1 if the flow is steady. Equilibrium has another temperature difference: the mean temperatures of both
sides. If heat spreads by diffusion, a side that extends to h from each of its interfaces adds the resistance
h/(3 kappa) (its temperature is a parabola, whose mean is q h/(3 kappa) from the value at the interface), so

    1/G_equilibrium = 1/G + h/(3 kappa_light) + h/(3 kappa_heavy)

with kappa from the temperature gradients of NEMD. `--part` does NEMD or equilibrium alone; the other part is
then taken from the JSON that is there.
"""

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from validation import common

if TYPE_CHECKING:
    from taichimd.transport.kappa import Kappa

WATT = 1602.176634
"""One eV/(ps angstrom K) in W/(m K)."""
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
        "warm": "80ps",
        "window": "8ps",
        "plateau": "3ps,8ps",
        "spectrum": "2ps",
        "runs": (5, 10),
        "time": ("200ps", "200ps"),
        "bin": 4.0,
        "every": 4,
    },
    "sige": {
        "a": 5.546,
        "element": "Si",
        "lattice": "diamond",
        "potential": "SiGe_1989.tersoff",
        "cells": (96, 4, 4),
        "temperature": 500.0,
        "difference": 120.0,
        "bath": 33.0,
        "timestep": 1.0,
        "warm": "150ps",
        "window": "20ps",
        # After 5 ps sound has crossed a side, and the integral falls.
        "plateau": "1ps,4.5ps",
        "spectrum": "2ps",
        "runs": (4, 8),
        "time": ("250ps", "400ps"),
        "bin": 6.0,
        "every": 16,
        "without_stress": (20.0, 60.0),
    },
}
"""Of `without_stress`: ps that are left out, and ps of the mean length."""


def ring(of: dict[str, Any]) -> tuple[Atoms, tuple[float, float]]:
    """The system, and the places of its interfaces, half a plane before planes of atoms.

    If `of` has its `relaxed` length and planes, they are those of the system.
    """
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
    if "relaxed" in of:
        length, planes = of["relaxed"]
        atoms.set_cell([length, *atoms.cell.lengths()[1:]])
        of_cells = np.reshape(planes, (of["cells"][0], -1))
        atoms.positions[:, 0] = length * np.repeat(of_cells, np.prod(of["cells"][1:]), axis=0).ravel()
        x = atoms.positions[:, 0]
        first, second = ((x[inside].min() + x[~inside & (x < x[inside].min())].max()) / 2.0,
                         (x[inside].max() + x[~inside & (x > x[inside].max())].min()) / 2.0)  # fmt: skip
    return atoms, (float(first), float(second))


def relaxed(of: dict[str, Any], options: Any) -> tuple[float, list[float]]:
    """Mean length of the ring without stress along x, and places of its planes as fractions of the length."""
    from taichimd import Observer, Simulation, StochasticCellRescaling, relax

    along, *across = of["cells"]
    thin = ring({**of, "cells": (along, 1, 1)})[0]
    found = relax(
        thin, of["potential"], cell="orthorhombic", axes="x", fmax=1e-3, smax=1e-3, backend=options.backend
    )
    assert found.converged, found.reason
    places = (found.atoms.positions[:, 0] / found.atoms.cell.lengths()[0]).tolist()
    whole = found.atoms.repeat((1, *across))
    bath = StochasticCellRescaling(of["temperature"], pressure=0.0, axes="x", coupling_time=500.0)
    simulation = Simulation(
        whole, of["potential"], timestep=of["timestep"], temperature=of["temperature"], ensemble=bath,
        backend=options.backend,
    )  # fmt: skip
    steps = [round(1000.0 * ps * options.share / of["timestep"]) for ps in of["without_stress"]]
    simulation.run(steps[0], every=steps[0])
    lengths: list[float] = []
    area = float(np.prod(whole.cell.lengths()[1:]))

    class Length(Observer):
        totals_only = True

        def report(self, simulation: Any, thermo: Any) -> None:
            lengths.append(thermo.volume / area)

    simulation.run(steps[1], every=20, observers=[Length()])
    return float(np.mean(lengths)), places


def main() -> None:
    """Parse the command line, run, write JSON."""
    parser = common.parser(__doc__, "backend")
    parser.add_argument("--material", choices=list(MATERIALS), default="argon")
    parser.add_argument("--share", type=float, default=1.0, help="of the time of all runs")
    parser.add_argument("--part", choices=["both", "nemd", "equilibrium"], default="both")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    out = options.out or common.RESULTS / f"interface_conductance_{options.material}.json"
    common.check_commit(out)

    of = dict(MATERIALS[options.material])
    report: dict[str, Any] = json.loads(out.read_text()) if options.part != "both" and out.exists() else {}
    if "without_stress" in of:
        begin = time.monotonic()
        of["relaxed"] = report.get("length_A_and_planes") or relaxed(of, options)
        report["length_A_and_planes"] = of["relaxed"]
        print(f"length without stress: {of['relaxed'][0]:.3f} Å, {time.monotonic() - begin:.0f} s")
    atoms, places = ring(of)
    report |= {
        **common.provenance(),
        "material": options.material,
        "potential": of["potential"],
        "n_atoms": len(atoms),
        "temperature_K": of["temperature"],
        "difference_K": of["difference"],
        "places_A": places,
    }
    if options.part != "equilibrium":
        report["nemd"] = driven(of, options, places)
        common.write_json(out, report)
    if options.part != "nemd":
        report["equilibrium"] = at_rest(of, options, places)
    if "nemd" in report and "equilibrium" in report:
        report["expected_in_equilibrium_MW_per_m2K"] = expected(
            report["nemd"], 0.25 * atoms.cell.lengths()[0]
        )
    common.write_json(out, report)
    plot(report, out.with_suffix(".png"))
    for part in ("nemd", "equilibrium"):
        rows = [(name, str(value)) for name, value in report.get(part, {}).items() if name[:2] == "G_"]
        print(common.table(rows, (part, "MW/(m2 K)")) if rows else "")
        print("notes:", report.get(part, {}).get("notes"))
    print("expected in equilibrium:", report.get("expected_in_equilibrium_MW_per_m2K"))


def settings_of(of: dict[str, Any], options: Any, places: tuple[float, float], **own: Any) -> Any:
    """Settings of one method."""
    from taichimd.transport.settings import KappaSettings

    return KappaSettings(
        temperature=of["temperature"],
        timestep=of["timestep"],
        every=of["every"],
        equilibrate="20ps",
        interface=places,
        backend=options.backend,
        **own,
    )


def found_by(of: dict[str, Any], settings: Any) -> "Kappa":
    """What the runs find."""
    from taichimd.transport.kappa import thermal_conductivity

    with TemporaryDirectory() as folder:
        one = thermal_conductivity(ring(of)[0], of["potential"], settings, folder=Path(folder))
    assert one is not None
    return one


def driven(of: dict[str, Any], options: Any, places: tuple[float, float]) -> dict[str, Any]:
    """NEMD: conductance by the temperature jump and by the spectrum, conductivities of the two sides."""
    from taichimd.settings.types import parse_time

    begin, warm = time.monotonic(), parse_time(of["warm"])
    settings = settings_of(
        of,
        options,
        places,
        method="nemd",
        difference=of["difference"],
        bath_length=of["bath"],
        coupling_time="1ps",
        runs=of["runs"][0],
        time=warm + parse_time(of["time"][0]) * options.share,
        window=warm,
        spectrum=True,
        spectrum_window=of["spectrum"],
        profile_bin=of["bin"],
    )
    found = found_by(of, settings)
    assert found.conduction is not None
    one = found.conduction.lengths[0]
    flux = one.heat.value / one.layout.area  # eV/(ps angstrom^2)
    # Light: from the hot bath to the first interface, and from the second one to the end of the cell.
    light = [line for line in one.lines if line.end == places[0] or line.begin == places[1]]
    heavy = [line for line in one.lines if line not in light]
    return {
        "runs": settings.runs,
        "ps_each": settings.time / 1000.0,
        "left_out_ps": warm / 1000.0,
        "seconds": time.monotonic() - begin,
        "heat_eV_per_ps": [one.heat.value, one.heat.error],
        "jumps_K": [[each.jump.value, each.jump.error] for each in one.interfaces],
        "G_of_jump": [[each.conductance.value, each.conductance.error] for each in one.interfaces],
        "G_of_spectrum": [[1000.0 * each.total.value, 1000.0 * each.total.error] for each in found.across],
        "G_of_spectrum_quantum": [1000.0 * each.corrected.value for each in found.across],
        "kappa_of_gradient_W_per_mK": [
            flux / float(np.mean([abs(line.slope) for line in side])) * WATT for side in (light, heavy)
        ],
        "place_A": one.place.tolist(),
        "profile_K": one.profile.value.tolist(),
        "frequency_THz": (found.across[0].w / (2.0 * np.pi)).tolist(),
        "spectrum_GW_per_m2K_per_THz": [each.values.value.tolist() for each in found.across],
        "notes": list(found.conduction.notes),
        "not_steady": one.not_steady,
    }


def at_rest(of: dict[str, Any], options: Any, places: tuple[float, float]) -> dict[str, Any]:
    """Equilibrium: Green-Kubo of the heat flow through the two interfaces."""
    from taichimd.core.units import PS
    from taichimd.settings.types import parse_time

    begin = time.monotonic()
    settings = settings_of(
        of,
        options,
        places,
        method="interface",
        runs=of["runs"][1],
        time=parse_time(of["time"][1]) * options.share,
        window=of["window"],
        plateau=of["plateau"],
    )
    found = found_by(of, settings).boundary
    assert found is not None
    curve = found.conductance
    thin = slice(None, None, max(1, len(curve.time) // 200))
    return {
        "runs": settings.runs,
        "ps_each": settings.time / 1000.0,
        "plateau": of["plateau"],
        "seconds": time.monotonic() - begin,
        "G_on_plateau": [curve.mean.value, curve.mean.error],
        "G_without_exchange": [found.corrected.value, found.corrected.error],
        "exchange_time_ps": found.exchange,
        "integral_time_ps": np.round(curve.time[thin] / PS, 4).tolist(),
        "integral_MW_per_m2K": curve.running_mean.value[thin].tolist(),
        "integral_error_MW_per_m2K": curve.running_mean.error[thin].tolist(),
        "notes": list(found.notes),
    }


def expected(nemd: dict[str, Any], h: float) -> float:
    """Conductance in equilibrium that follows from NEMD, MW/(m^2 K).

    H: half of the length of a side, angstrom.
    """
    own = float(np.mean([one[0] for one in nemd["G_of_spectrum"]]))
    resistance = 1.0e-6 / own + sum(
        h * 1.0e-10 / (3.0 * kappa) for kappa in nemd["kappa_of_gradient_W_per_mK"]
    )
    return 1.0e-6 / resistance


def plot(report: dict[str, Any], path: Path) -> None:
    """Temperatures, the spectrum of the conductance, and the integral in equilibrium."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 3.4), dpi=120, layout="constrained")
    profile, spectrum, integral = figure.subplots(1, 3)
    if (nemd := report.get("nemd")) is not None:
        profile.plot(nemd["place_A"], nemd["profile_K"], ".", markersize=4)
        for place in report["places_A"]:
            profile.axvline(place, color="0.7", linewidth=0.8)
        profile.set(xlabel="x (Å)", ylabel="temperature (K)")
        for each in nemd["spectrum_GW_per_m2K_per_THz"]:
            spectrum.plot(nemd["frequency_THz"], each, linewidth=1)
        highest = 4.0 if report["material"] == "argon" else 20.0
        spectrum.set(xlabel="frequency (THz)", ylabel="G (GW/(m² K)/THz)", xlim=(0.0, highest))
    if (rest := report.get("equilibrium")) is not None:
        t, value, error = (
            np.array(rest[key])
            for key in ("integral_time_ps", "integral_MW_per_m2K", "integral_error_MW_per_m2K")
        )
        integral.plot(t, value)
        integral.fill_between(t, value - error, value + error, alpha=0.2, linewidth=0)
        g = rest["G_without_exchange"][0]
        decay = g * np.exp(-t / rest["exchange_time_ps"])
        integral.plot(t, decay, "k--", linewidth=1, label="fit on the plateau")
        if (wanted := report.get("expected_in_equilibrium_MW_per_m2K")) is not None:
            integral.axhline(wanted, color="C1", linewidth=1, label="expected from NEMD")
        integral.set(xlabel="correlation time (ps)", ylabel="integral (MW/(m² K))", ylim=(0.0, 3.0 * g))
        integral.legend(frameon=False, fontsize="small")
    figure.savefig(path)


if __name__ == "__main__":
    main()
