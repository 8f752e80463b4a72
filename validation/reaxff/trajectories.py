r"""Table 7 and figure 6 of the paper: energies of ReaxFF through NVT runs, and their bits on CPU and GPU.

    python -m validation.reaxff.trajectories --data FOLDER --backend cpu --out reaxff_trajectories_cpu.json
    python -m validation.reaxff.trajectories --compare reaxff_trajectories_cpu.json \
        reaxff_trajectories_cuda.json --out same_energies.json --draw reaxff_energies.png

FOLDER as in `validation.reaxff.systems`. The thermostat is that of Bussi, whose random numbers are
functions of seed and step. Energies of all terms are kept every so many steps, a hash of positions,
velocities, forces and charges at some. `--compare` divides differences of energies by the standard
deviation of the term through the run, as the paper does. `--draw` draws figure 6 from the longest runs.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from validation import common
from validation.reaxff.systems import SETTINGS, engine_of, state_of

CASES = {
    # name: (system, settings, steps, options of ReaxFF)
    "water 300": ("water 300", "paper", 100_000, {}),
    "silica 192": ("silica 192", "paper", 100_000, {}),
    "water 6,540": ("water 6,540", "paper", 1_000, {}),
    "silica 6,000": ("silica 6,000", "paper", 1_000, {}),
    "water 6,540, long": ("water 6,540", "today", 20_000, {}),
    "silica 6,000, long": ("silica 6,000", "today", 20_000, {}),
    "water 6,540, long, consistent": ("water 6,540", "today", 10_000, {"constants": "consistent"}),
    "water 300, thousand": ("water 300", "today", 1_000, {}),
    "water 300, extended": ("water 300", "today", 100, {"charges": "extended-lagrangian"}),
    "water 300, float32": ("water 300", "today", 100, {"matrix_precision": "float32"}),
}
SNAPSHOTS = (0, 100, 1_000, 10_000, 100_000)
SAMPLES = 200
"""Of the energies of one run, about."""
FEW_ATOMS = 400
"""Positions are kept of so many."""
GROUPS = {
    "bond": ("bond",),
    "over and undercoordination": ("over and undercoordination",),
    "lone pair": ("lone pair",),
    "angle and coalition": ("angle", "penalty", "coalition"),
    "hydrogen bond": ("hydrogen bond",),
    "torsion and conjugation": ("torsion", "conjugation"),
    "van der Waals": ("van der Waals",),
    "Coulomb": ("Coulomb",),
    "polarisation": ("polarisation",),
}
"""Rows of the paper's table."""


def main() -> None:
    """Parse the command line; run the cases, or compare two files."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--backend", default="cpu", choices=["cuda", "cpu"])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--steps", type=int, default=100_000, help="at most")
    parser.add_argument("--quick", action="store_true", help="the smallest system, 100 steps")
    parser.add_argument("--compare", nargs=2, type=Path)
    parser.add_argument("--draw", type=Path, help="PNG of what is compared")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.compare:
        both = [common.read_json(path) for path in options.compare]
        report = {"files": [path.name for path in options.compare], "cases": compare(*both)}
        common.write_json(options.out, report)
        show(report)
        if options.draw:
            draw(longest(*both), options.draw)
        return
    from taichimd.core import runtime

    runtime.start(options.backend)
    report = {**common.provenance(), "cases": {}}
    if options.quick:
        options.cases, options.steps = ["silica 192"], 100
    for name in options.cases:
        for found in run(name, options):
            report["cases"][name] = found
            common.write_json(options.out, report)
        print(f"{name}: {found['ms_per_step']:.3f} ms/step, {conserved(found['samples'])}", flush=True)


def run(name: str, options: argparse.Namespace) -> Any:
    """What is known of a run, after each snapshot."""
    from taichimd.ensembles.thermostats.bussi import Bussi
    from taichimd.units import FS

    system, settings, steps, of_reaxff = CASES[name]
    steps = min(steps, options.steps)
    timestep, tolerance = SETTINGS[settings]
    bath = Bussi(300.0, coupling_time=100.0, seed=1)
    engine = engine_of(options.data, system, tolerance, options.backend, bath, **of_reaxff)
    every = max(steps // SAMPLES, 1)
    snapshots: dict[int, Any] = {}
    samples: dict[str, Any] = {
        "step": [],
        "temperature_K": [],
        "total_eV": [],
        "conserved_eV": [],
        "terms_eV": {},
    }
    found = {
        "system": system, "atoms": engine.n_atoms, "constants": "lammps",
        **of_reaxff, "timestep_fs": timestep, "charge_tolerance": tolerance, "steps": steps,
        "snapshots": snapshots, "samples": samples,
    }  # fmt: skip
    engine.evaluate()
    began, step = time.perf_counter(), 0
    stops = {*range(0, steps + 1, every), *(stop for stop in SNAPSHOTS if stop <= steps)}
    for stop in sorted(stops):
        if stop > step:
            engine.advance(stop - step, timestep * FS)
            step = stop
        if stop % every == 0:
            take(samples, engine)
        if stop in SNAPSHOTS or stop == steps:
            snapshots[stop] = {"terms_eV": engine.energy_terms(), "sha256": state_of(engine)}
            if engine.n_atoms <= FEW_ATOMS and stop == 1_000:
                snapshots[stop]["positions_A"] = engine.positions()
        if stop in SNAPSHOTS or stop % (20 * every) == 0 or stop == steps:
            found["ms_per_step"] = 1e3 * (time.perf_counter() - began) / max(stop, 1)
            yield found


def take(samples: dict[str, Any], engine: Any) -> None:
    """Energies of now."""
    thermo = engine.thermo()
    samples["step"].append(thermo.step)
    samples["temperature_K"].append(round(thermo.temperature, 3))
    samples["total_eV"].append(round(thermo.potential + thermo.kinetic, 7))
    samples["conserved_eV"].append(round(thermo.conserved, 7))
    for term, energy in engine.energy_terms().items():
        samples["terms_eV"].setdefault(term, []).append(round(energy, 7))


def conserved(samples: dict[str, Any]) -> str:
    """How the conserved quantity has changed."""
    values = np.array(samples["conserved_eV"])
    return f"conserved quantity {values[-1] - values[0]:+.2e} eV over {samples['step'][-1]} steps"


def compare(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Of each case that both have: equality of states, differences of energies over standard deviations."""
    found = {}
    for name in a["cases"].keys() & b["cases"].keys():
        one, two = a["cases"][name], b["cases"][name]
        longer = max((one, two), key=lambda case: len(case["samples"]["step"]))["samples"]["terms_eV"]
        deviations = {row: float(np.std(sum_of(longer, terms))) for row, terms in GROUPS.items()}
        steps = {}
        for step in sorted(one["snapshots"].keys() & two["snapshots"].keys(), key=int):
            x, y = one["snapshots"][step], two["snapshots"][step]
            apart = {
                row: abs(float(sum_of(x["terms_eV"], terms) - sum_of(y["terms_eV"], terms)))
                for row, terms in GROUPS.items()
            }
            steps[step] = {
                "same_state": x["sha256"] == y["sha256"],
                "over_deviation": {
                    row: d / deviations[row] for row, d in apart.items() if deviations[row] > 0.0
                },
            }
            if "positions_A" in x and "positions_A" in y:
                steps[step]["max_dx_A"] = float(abs(np.array(x["positions_A"]) - y["positions_A"]).max())
        found[name] = {
            **{key: one[key] for key in ("system", "atoms", "timestep_fs", "charge_tolerance")},
            "backends": [report["runtime"]["backend"] for report in (a, b)],
            "devices": [common.device(report) for report in (a, b)],
            "runtimes": [report["runtime"]["runtime"] for report in (a, b)],
            "deviations_eV": deviations,
            "at": steps,
        }  # fmt: skip
    return found


def longest(*reports: dict[str, Any]) -> dict[str, Any]:
    """Of each case the longest run, if it has at least 10,000 steps."""
    found: dict[str, Any] = {}
    for report in reports:
        for name, case in report["cases"].items():
            if case["steps"] >= max(10_000, found.get(name, {"steps": 0})["steps"]):
                found[name] = case
    return found


def line_through(case: dict[str, Any]) -> tuple[float, float]:
    """Slope (meV/atom/ps) of the conserved quantity, and what is left of it (meV/atom)."""
    samples = case["samples"]
    time = np.array(samples["step"]) * case["timestep_fs"] / 1000
    values = 1000 * np.array(samples["conserved_eV"]) / case["atoms"]
    slope, offset = np.polyfit(time, values, 1)
    return float(slope), float((values - slope * time - offset).std())


def draw(runs: dict[str, Any], target: Path) -> None:
    """Energies of terms through time, from their means, and the conserved quantity (figure 6)."""
    import matplotlib.pyplot as plt

    size = (9, 2.4 * len(runs))
    figure, rows = plt.subplots(len(runs), 2, figsize=size, squeeze=False, layout="constrained")
    for (name, case), (left, right) in zip(sorted(runs.items()), rows, strict=True):
        samples = case["samples"]
        time = np.array(samples["step"]) * case["timestep_fs"] / 1000
        for k, (term, values) in enumerate(samples["terms_eV"].items()):
            if np.ptp(values):
                from_mean = 1000 * (np.array(values) - np.mean(values)) / case["atoms"]
                left.plot(time, from_mean, color=plt.get_cmap("tab20")(k), lw=0.7, label=term)
        for key, label in (("total_eV", "total"), ("conserved_eV", "conserved")):
            values = np.array(samples[key])
            right.plot(time, 1000 * (values - values[0]) / case["atoms"], lw=0.8, label=label)
        left.set(title=f"{name}: terms from their means", ylabel="meV/atom")
        right.set(title="from the start", ylabel="meV/atom")
        right.legend(fontsize=6, frameon=False)
        left.legend(fontsize=5, frameon=False, ncols=3)
    for axes in rows[-1]:
        axes.set(xlabel="ps")
    figure.savefig(target, dpi=110)


def sum_of(terms: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Sum of some terms."""
    return sum(np.array(terms[name]) for name in names)


def show(report: dict[str, Any]) -> None:
    """One line for each comparison."""
    rows = [
        (
            name,
            step,
            at["same_state"],
            f"{max(at['over_deviation'].values(), default=0.0):.1e}",
            at.get("max_dx_A", ""),
        )
        for name, case in report["cases"].items()
        for step, at in case["at"].items()
    ]
    print(common.table(rows, ("case", "steps", "same bits", "largest difference/deviation", "max dx (A)")))


if __name__ == "__main__":
    main()
