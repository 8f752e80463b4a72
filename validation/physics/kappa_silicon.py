"""Thermal conductivity of crystals and of graphene with Tersoff potentials, by `taichimd kappa`'s workflow.

    python -m validation.physics.kappa_silicon --seconds 240
    python -m validation.physics.kappa_silicon --material germanium --seconds 240
    python -m validation.physics.kappa_silicon --material graphene --seconds 150

As many independent runs as the time allows, of a cell whose mean pressure is zero at the temperature: silicon
and germanium at 500 K with the potentials of 1989, by Green-Kubo or `--method hnemd`, and graphene at 300 K
with the one of 2010, by HNEMD. Published values that were read in their source:

germanium: 84.4 +- 6.3 W/(m K) at 300 K, 47.7 +- 2.9 at 500 K, 4,096 atoms, 50 runs of 10 ns: the GPUMD
package's own results, Green-Kubo with the same potential (github.com/brucefan1983/GPUMD at commit 42998139,
database/thermal_conductivity/germanium/kappa.txt).

silicon: no number for this potential was found in a source that is open to all, so none is compared with
(`--published VALUE ERROR` takes one from who has a paper). What abstracts say is on the page of the results:
P. C. Howell, J. Chem. Phys. 137, 224111 (2012), doi:10.1063/1.4767516, and D. P. Sellan et al., Phys. Rev. B
81, 214305 (2010), doi:10.1103/PhysRevB.81.214305.

graphene: `physics.gpumd_heat` averages the samples of a run by GPUMD with the same potential.
Its potential has lambda1 and lambda2 multiplied by 1.013: all lengths, and with them all periods, are shorter
by that factor, and a conductivity per 3.35 A of thickness is larger by it.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from taichimd.core.units import PS
from validation import common


def diamond(symbol: str) -> Callable[[float], Atoms]:
    """Lattice constant (angstrom) -> cubic cell of eight atoms."""
    return lambda a: bulk(symbol, "diamond", a=a, cubic=True)


def graphene_sheet(a: float) -> Atoms:
    """Rectangular cell of four atoms in the plane of x and y, zigzag along x; bonds are a / sqrt(3) long."""
    places = [(0, 0, 0.5), (1 / 2, 1 / 6, 0.5), (1 / 2, 1 / 2, 0.5), (0, 2 / 3, 0.5)]
    return Atoms("C4", scaled_positions=places, cell=[a, 3**0.5 * a, 20.0], pbc=[True, True, False])


@dataclass(frozen=True)
class Material:
    """What is run, and what it is compared with."""

    cell: Callable[[float], Atoms]  # lattice constant (angstrom) -> smallest rectangular cell
    a: float  # about the lattice constant of zero pressure, angstrom
    potential: str  # parameter file
    cells: int  # of the system along its first vector; as many along the others as make it equally long
    timestep: float  # fs
    # temperature (K) -> value and error, W/(m K)
    published: dict[float, list[float]] = field(default_factory=dict)
    source: str = "none: see the docstring of the driver"  # of these
    thickness: float | None = None  # angstrom, of a sheet
    usual: dict[str, Any] = field(default_factory=dict)  # options that differ from `USUAL`
    tried: tuple[float, float] = (0.998, 1.003)  # two multiples of `a` between which the pressure is zero
    settle: int = 4000  # steps before it is sampled
    samples: int = 200  # of the pressure, 50 steps apart
    coupling_time: float = 100.0  # fs, of the Langevin thermostat meanwhile

    @property
    def axes(self) -> int:
        """Directions that are periodic in the material."""
        return 3 if self.thickness is None else 2

    def repetitions(self, cells: int) -> tuple[int, int, int]:
        """Of the cell, so that all sides are about `cells` times as long as its first."""
        sides = self.cell(1.0).cell.lengths()
        x, y, z = (round(cells * sides[0] / side) for side in sides)
        return x, max(1, y), max(1, z) if self.axes == 3 else 1


MATERIALS = {
    "silicon": Material(diamond("Si"), 5.44, "Si_1989.tersoff", 6, 1.0),
    "germanium": Material(
        diamond("Ge"), 5.67, "Ge_1989.tersoff", 8, 2.0,
        published={300.0: [84.4222, 6.32288], 500.0: [47.6531, 2.91615]},
        source="GPUMD, commit 42998139, database/thermal_conductivity/germanium/kappa.txt",
    ),
    # The longest waves across such a sheet take tens of picoseconds: strong friction would not let them reach
    # their amplitude, by which the sheet contracts, and a short mean would not average over them.
    "graphene": Material(
        graphene_sheet, 2.491, "C_2010.tersoff", 66, 1.0, thickness=3.35,
        usual={
            "method": "hnemd", "temperature": 300.0, "time": 800.0, "window": 300.0, "driving_force": 1e-5,
        },
        tried=(0.9992, 1.0008), settle=60_000, samples=1000, coupling_time=3000.0,
    ),
}  # fmt: skip
USUAL = {"method": "green-kubo", "temperature": 500.0, "time": 500.0, "equilibrate": 20.0, "window": 100.0}
EVERY = {"green-kubo": 10.0, "hnemd": 100.0}
"""Femtoseconds between samples. A correlation function has to resolve optical phonons, a mean has not, and a
sample costs as much as fifty steps of a small crystal."""


def main() -> None:
    """Parse the command line, run until the time is over, compare, write JSON and a plot."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--material", default="silicon", choices=list(MATERIALS))
    parser.add_argument(
        "--method", choices=["green-kubo", "hnemd"], help="default: green-kubo; graphene: hnemd"
    )
    parser.add_argument("--temperature", type=float, help="K (default: 500; graphene: 300)")
    parser.add_argument("--cells", type=int, help="along x, and as many along the others as make sides equal")
    parser.add_argument("--runs", type=int, default=200, help="at most")
    parser.add_argument("--seconds", type=float, default=240.0, help="of wall clock, for all runs")
    parser.add_argument("--time", type=float, help="ps of each run (default: 500; graphene: 800)")
    parser.add_argument("--equilibrate", type=float, help="ps (default: 20)")
    parser.add_argument(
        "--window", type=float,
        help="ps: longest correlation time; hnemd: left out of each run (default: 100; graphene: 300)",
    )  # fmt: skip
    parser.add_argument("--every", type=float, help="fs between samples (default: 10; of hnemd 100)")
    parser.add_argument("--driving-force", type=float, help="1/angstrom, of hnemd (1e-4; graphene: 1e-5)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lattice", type=float, help="angstrom; default: that of zero pressure")
    parser.add_argument("--published", nargs=2, type=float, metavar=("VALUE", "ERROR"), help="W/(m K)")
    parser.add_argument("--folder", type=Path, help="where finished runs are kept, to go on with later")
    options = with_usual(parser.parse_args())
    begin = time.monotonic()

    from taichimd.estimators.green_kubo import growing
    from taichimd.transport.kappa import thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    material = MATERIALS[options.material]
    cells = options.cells or material.cells
    a = options.lattice or zero_pressure(material, cells, options.temperature, options.backend)
    print(f"lattice constant {a:.4f} A after {time.monotonic() - begin:.0f} s", flush=True)
    every = round((options.every or EVERY[options.method]) / material.timestep)
    settings = KappaSettings(
        temperature=options.temperature, method=options.method, supercell=material.repetitions(cells),
        runs=options.runs, thickness=material.thickness,
        equilibrate=1000 * options.equilibrate, time=1000 * options.time, window=1000 * options.window,
        every=every, timestep=material.timestep, seed=options.seed,
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
        material.cell(a), material.potential, settings,
        folder=options.folder, should_stop=lambda: time.monotonic() - begin > options.seconds, progress=tell,
    )  # fmt: skip
    if found is None:
        raise SystemExit(
            f"no run finished in {options.seconds:g} s: give more --seconds, or a shorter --time"
        )
    report: dict[str, Any] = {
        **common.provenance(),
        "material": options.material, "potential": material.potential, "method": options.method,
        "atoms": found.n_atoms, "lattice_A": a, "runs": found.runs, "ps_each": options.time,
        "window_ps": options.window, "timestep_fs": material.timestep,
        "thickness_A": material.thickness, "driving_force_per_A": settings.driving_force,
        "kappa_W_per_mK": found.mean.value, "error": found.mean.error,
        "directions": found.channels.value, "directions_error": found.channels.error,
        "temperature_K": found.temperature.value,
        **verdict(found.mean, options.published or material.published.get(options.temperature)),
        "source": "command line" if options.published else material.source,
        "wall_seconds": time.monotonic() - begin,
    }  # fmt: skip
    out = options.out or common.RESULTS / f"kappa_{options.material}_{options.method}.json"
    if found.green_kubo is not None:
        report["still_growing"] = growing(found.green_kubo)
    if settings.driving_force:
        kept = found.runs * (options.time - options.window)
        report["error_expected"] = expected_error(found, kept, settings.driving_force)
    report |= course(found, options.window)
    common.write_json(out, report)
    plot(report, out.with_suffix(".png"))
    shown = ("kappa_W_per_mK", "error", "halves_W_per_mK", "published", "combined_errors_apart", "agrees")
    rows = [(key, report[key]) for key in shown if key in report]
    print(common.table(rows, (options.material, f"{found.runs} runs")))


def expected_error(found: Any, kept: float, force: float) -> float:
    """W/(m K), of a mean over so many ps, by Green-Kubo's formula: sqrt(2 k_B kappa / (V t)) / F_e."""
    return float(
        np.sqrt(2 * 1.380649e-23 * found.mean.value / (found.volume * 1e-30 * kept * 1e-12)) / (force * 1e10)
    )


def verdict(mean: Any, published: list[float] | None) -> dict[str, Any]:
    """How far apart the two values are, in units of both errors together; two is the limit."""
    if published is None or not np.isfinite(mean.error):
        return {"published": published, "combined_errors_apart": None, "agrees": None}
    apart = abs(mean.value - published[0]) / float(np.hypot(mean.error, published[1]))
    return {"published": published, "combined_errors_apart": apart, "agrees": bool(apart < 2.0)}


def with_usual(options: argparse.Namespace) -> argparse.Namespace:
    """Options that were not given, as the material has them, in place."""
    usual = {**USUAL, **MATERIALS[options.material].usual}
    if (options.method or usual["method"]) != "hnemd":
        usual.pop("driving_force", None)
    for name, value in usual.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def zero_pressure(material: Material, cells: int, temperature: float, backend: str) -> float:
    """Lattice constant (angstrom) at which the mean pressure is zero: a line through two constants.

    Of a crystal with 512 atoms. Of a sheet in its plane, and as large as it will be run: the longer the waves
    that fit, the more it contracts.
    """
    from taichimd import Langevin, Simulation

    tried = material.a * np.array(material.tried)
    pressures = []
    for a in tried:
        system = material.cell(a).repeat(4 if material.axes == 3 else material.repetitions(cells))
        system.pbc = True  # otherwise it would have no volume, and no stress
        simulation = Simulation(
            system, material.potential, timestep=material.timestep,
            ensemble=Langevin(temperature, coupling_time=material.coupling_time), backend=backend,
        )  # fmt: skip
        simulation.run(material.settle)
        samples = []
        for _ in range(material.samples):
            simulation.run(50)
            samples.append(pressure(simulation.thermo(), material.axes))
        pressures.append(float(np.mean(samples)))
    slope, offset = np.polyfit(tried, pressures, 1)
    return float(-offset / slope)


def pressure(thermo: Any, axes: int) -> float:
    """Mean of the first diagonal components of the pressure, eV/angstrom^3: kinetic part, less stress."""
    return float(2.0 * thermo.kinetic / (3.0 * thermo.volume) - thermo.stress[:axes].mean())


def course(found: Any, window: float) -> dict[str, Any]:
    """How kappa comes about: running integral or running mean, and of a mean what its two halves are.

    A second half above the first says that the runs were not yet steady where the samples begin.
    """
    if found.driven is None:
        curve = found.green_kubo
        thin = slice(None, None, max(1, len(curve.time) // 200))
        return {"running": {
            "time_ps": (curve.time[thin] / curve.time[-1] * window).round(3),
            "kappa": curve.running_mean.value[thin].round(3),
            "error": curve.running_mean.error[thin].round(3),
        }}  # fmt: skip
    t, mean = found.driven.time / PS, found.driven.running.value
    n = len(mean)
    first, all_ = mean[n // 2 - 1], mean[-1]
    thin = slice(None, None, max(1, n // 200))
    return {
        "of_runs_W_per_mK": found.driven.of_runs.round(3),
        "halves_W_per_mK": [first, (n * all_ - n // 2 * first) / (n - n // 2)],
        "running": {"time_ps": t[thin].round(3), "kappa": mean[thin].round(3)},
    }


def plot(report: dict[str, Any], path: Path) -> None:
    """The running integral or mean with its error, and the published value."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.0), dpi=120, layout="constrained")
    axis = figure.subplots()
    t, k = (np.array(report["running"][key]) for key in ("time_ps", "kappa"))
    e = np.array(report["running"].get("error", report["error"]))
    axis.plot(t, k, color="#1f6fb4", label=f"taichimd, {report['runs']} runs of {report['ps_each']:g} ps")
    axis.fill_between(t, k - e, k + e, color="#1f6fb4", alpha=0.2, linewidth=0)
    if report["published"]:
        value, error = report["published"]
        axis.axhspan(value - error, value + error, color="#c8402f", alpha=0.2, linewidth=0, label="published")
    driven = report["method"] == "hnemd"
    xlabel, what = ("time (ps)", "mean") if driven else ("correlation time (ps)", "integral")
    axis.set(xlabel=xlabel, ylabel=f"running {what} (W/(m K))")
    title = f"{report['material']}, {report['atoms']:,} atoms, {report['temperature_K']:.0f} K"
    axis.set_title(title, fontsize=11)
    axis.legend(frameon=False)
    axis.grid(alpha=0.25)
    figure.savefig(path)


if __name__ == "__main__":
    main()
