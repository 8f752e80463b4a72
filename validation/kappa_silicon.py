"""Thermal conductivity of crystals with Tersoff's potential of 1989 at 500 K, by `taichimd kappa`'s workflow.

    python -m validation.kappa_silicon --seconds 240
    python -m validation.kappa_silicon --material germanium --seconds 240

As many independent runs as the time allows, of a cell whose mean pressure is zero at the temperature.
Published values that were read in their source:

germanium: 84.4 +- 6.3 W/(m K) at 300 K, 47.7 +- 2.9 at 500 K, 4,096 atoms, 50 runs of 10 ns: the GPUMD
package's own results, Green-Kubo with the same potential (github.com/brucefan1983/GPUMD at commit 42998139,
database/thermal_conductivity/germanium/kappa.txt).

silicon: VALUE TO BE VERIFIED. Z. Fan et al., Phys. Rev. B 99, 064308 (2019) and P. C. Howell, J. Chem. Phys.
137, 224111 (2012), doi:10.1063/1.4767516 (direct method), have Tersoff silicon; their numbers could not be
read here, so none is compared with. `--published VALUE ERROR` takes one from who has the paper.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from ase.build import bulk

from validation import common

MATERIALS: dict[str, dict[str, Any]] = {
    "silicon": {
        "symbol": "Si", "a": 5.44, "potential": "Si_1989.tersoff", "cells": 6, "timestep": 1.0,
        "published": {}, "source": "value to be verified: see the driver's docstring",
    },
    "germanium": {
        "symbol": "Ge", "a": 5.67, "potential": "Ge_1989.tersoff", "cells": 8, "timestep": 2.0,
        "published": {300.0: [84.4222, 6.32288], 500.0: [47.6531, 2.91615]},
        "source": "GPUMD, commit 42998139, database/thermal_conductivity/germanium/kappa.txt",
    },
}  # fmt: skip
EVERY = {"green-kubo": 10.0, "hnemd": 100.0}
"""Femtoseconds between samples. A correlation function has to resolve optical phonons, a mean has not, and a
sample costs as much as fifty steps of a small crystal."""


def main() -> None:
    """Parse the command line, run until the time is over, compare, write JSON and a plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--material", default="silicon", choices=list(MATERIALS))
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--method", default="green-kubo", choices=["green-kubo", "hnemd"])
    parser.add_argument("--temperature", type=float, default=500.0, help="K")
    parser.add_argument("--cells", type=int, help="cubic cells along each side")
    parser.add_argument("--runs", type=int, default=200, help="at most")
    parser.add_argument("--seconds", type=float, default=240.0, help="of wall clock, for all runs")
    parser.add_argument("--time", type=float, default=500.0, help="ps of each run")
    parser.add_argument("--equilibrate", type=float, default=20.0, help="ps")
    parser.add_argument("--window", type=float, default=100.0, help="ps")
    parser.add_argument("--every", type=float, help="fs between samples (default: 10; of hnemd 100)")
    parser.add_argument("--driving-force", type=float, help="1/angstrom, of hnemd (default: 1e-4)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lattice", type=float, help="angstrom; default: that of zero pressure")
    parser.add_argument("--published", nargs=2, type=float, metavar=("VALUE", "ERROR"), help="W/(m K)")
    parser.add_argument("--folder", type=Path, help="where finished runs are kept, to go on with later")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    begin = time.monotonic()

    from taichimd.analysis.green_kubo import growing
    from taichimd.transport.kappa import thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    material = MATERIALS[options.material]
    cells = options.cells or material["cells"]
    a = options.lattice or zero_pressure(material, options)
    print(f"lattice constant {a:.4f} A after {time.monotonic() - begin:.0f} s", flush=True)
    every = round((options.every or EVERY[options.method]) / material["timestep"])
    settings = KappaSettings(
        temperature=options.temperature, method=options.method, supercell=(cells,) * 3, runs=options.runs,
        equilibrate=1000 * options.equilibrate, time=1000 * options.time, window=1000 * options.window,
        every=every, timestep=material["timestep"], seed=options.seed,
        driving_force=options.driving_force, backend=options.backend,
    )  # fmt: skip
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    told: set[tuple[int, str]] = set()

    def tell(run: int, what: str, fraction: float) -> None:
        if (run, what) not in told:
            told.add((run, what))
            print(f"{time.monotonic() - begin:6.0f} s: run {run + 1}, {what}", flush=True)

    found = thermal_conductivity(
        bulk(material["symbol"], "diamond", a=a, cubic=True), material["potential"], settings,
        folder=options.folder, should_stop=lambda: time.monotonic() - begin > options.seconds, progress=tell,
    )  # fmt: skip
    if found is None:
        raise SystemExit(
            f"no run finished in {options.seconds:g} s: give more --seconds, or a shorter --time"
        )
    report: dict[str, Any] = {
        **common.provenance(),
        "material": options.material, "potential": material["potential"], "method": options.method,
        "atoms": found.n_atoms, "lattice_A": a, "runs": found.runs, "ps_each": options.time,
        "window_ps": options.window, "timestep_fs": material["timestep"],
        "kappa_W_per_mK": found.mean.value, "error": found.mean.error,
        "directions": found.channels.value, "directions_error": found.channels.error,
        "temperature_K": found.temperature.value,
        **verdict(found.mean, options.published or material["published"].get(options.temperature)),
        "source": "command line" if options.published else material["source"],
        "wall_seconds": time.monotonic() - begin,
    }  # fmt: skip
    out = options.out or common.RESULTS / f"kappa_{options.material}_{options.method}.json"
    if found.green_kubo is not None:
        curve = found.green_kubo
        thin = slice(None, None, max(1, len(curve.time) // 200))
        report["still_growing"] = growing(curve)
        report["running"] = {
            "time_ps": (curve.time[thin] / curve.time[-1] * options.window).round(3),
            "kappa": curve.running_mean.value[thin].round(3),
            "error": curve.running_mean.error[thin].round(3),
        }
        plot(report, out.with_suffix(".png"))
    common.write_json(out, report)
    shown = ("kappa_W_per_mK", "error", "published", "combined_errors_apart", "agrees")
    rows = [(key, report[key]) for key in shown]
    print(common.table(rows, (options.material, f"{found.runs} runs")))


def verdict(mean: Any, published: list[float] | None) -> dict[str, Any]:
    """How far apart the two values are, in units of both errors together; two is the limit."""
    if published is None or not np.isfinite(mean.error):
        return {"published": published, "combined_errors_apart": None, "agrees": None}
    apart = abs(mean.value - published[0]) / float(np.hypot(mean.error, published[1]))
    return {"published": published, "combined_errors_apart": apart, "agrees": bool(apart < 2.0)}


def zero_pressure(material: dict[str, Any], options: argparse.Namespace) -> float:
    """Lattice constant (angstrom) at which the mean pressure is zero: a line through two constants."""
    from taichimd import Langevin, Simulation

    tried = material["a"] * np.array([0.998, 1.003])
    pressures = []
    for a in tried:
        crystal = bulk(material["symbol"], "diamond", a=a, cubic=True) * 4
        simulation = Simulation(
            crystal, material["potential"], timestep=material["timestep"],
            ensemble=Langevin(options.temperature), backend=options.backend,
        )  # fmt: skip
        simulation.run(4000)
        samples = []
        for _ in range(200):
            simulation.run(50)
            samples.append(simulation.thermo().pressure)
        pressures.append(float(np.mean(samples)))
    slope, offset = np.polyfit(tried, pressures, 1)
    return float(-offset / slope)


def plot(report: dict[str, Any], path: Path) -> None:
    """The running integral with its error, and the published value."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.0), dpi=120, layout="constrained")
    axis = figure.subplots()
    t, k, e = (np.array(report["running"][key]) for key in ("time_ps", "kappa", "error"))
    axis.plot(t, k, color="#1f6fb4", label=f"taichimd, {report['runs']} runs of {report['ps_each']:g} ps")
    axis.fill_between(t, k - e, k + e, color="#1f6fb4", alpha=0.2, linewidth=0)
    if report["published"]:
        value, error = report["published"]
        axis.axhspan(value - error, value + error, color="#c8402f", alpha=0.2, linewidth=0, label="published")
    axis.set(xlabel="correlation time (ps)", ylabel="running integral (W/(m K))")
    title = f"{report['material']}, {report['atoms']:,} atoms, {report['temperature_K']:.0f} K"
    axis.set_title(title, fontsize=11)
    axis.legend(frameon=False)
    axis.grid(alpha=0.25)
    figure.savefig(path)


if __name__ == "__main__":
    main()
