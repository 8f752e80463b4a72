"""Do error bars of means cover the truth? Many short runs of silicon that start from the perfect crystal.

    python -m validation.physics.averages --seeds 128

Each run has a seed of its own, begins with velocities of the bath on the sites of the crystal (so half of the
kinetic energy is lost at first), and is averaged by the rule of `taichimd run`. The true temperature is the
bath's; the true potential energy is the mean of all runs over their second halves, with its error.
"""

import argparse
from typing import Any

import numpy as np
from ase.build import bulk

from validation import common

TEMPERATURE = 1100.0


def main() -> None:
    """Parse the command line, run, write JSON."""
    parser = common.parser(__doc__, "backend", out="averages")
    parser.add_argument("--seeds", type=int, default=128)
    parser.add_argument("--cells", type=int, default=2, help="cubic cells of 8 atoms along each axis")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=20, help="steps between two rows")
    options = parser.parse_args()
    report: dict[str, Any] = {
        "atoms": 8 * options.cells**3,
        "temperature_K": TEMPERATURE,
        "timestep_fs": 1.0,
        "ensemble": "nvt-bussi",
        "potential": "Si.sw",
        **{name: getattr(options, name) for name in ("seeds", "steps", "every")},
    }
    tables = run(options)
    for share in (1.0, 0.25):
        rows = int(share * (options.steps // options.every)) + 1
        name = f"{(rows - 1) * options.every / 1000:g} ps"
        report[name] = coverage([{key: one[key][:rows] for key in one} for one in tables], tables)
        print(name, report[name], flush=True)
    common.write_json(options.out, {**common.provenance(), **report})
    print(f"written: {options.out.name}")


def run(options: argparse.Namespace) -> list[dict[str, np.ndarray]]:
    """Rows of each run, as of thermo.csv, with energies per atom."""
    from taichimd import Bussi, Observer, Simulation

    crystal = bulk("Si", a=5.431, cubic=True).repeat(options.cells)

    class Rows(Observer):
        every = options.every

        def __init__(self) -> None:
            self.rows: list[tuple[float, ...]] = []

        def report(self, simulation: Any, thermo: Any) -> None:
            row = (thermo.step, simulation.time_ps, thermo.temperature, thermo.potential / len(crystal))
            self.rows.append((*row, thermo.pressure, thermo.volume))

    observers = [[Rows()] for _ in range(options.seeds)]
    simulations = Simulation(
        [crystal] * options.seeds, "Si.sw", seed=1, ensemble=Bussi(TEMPERATURE), backend=options.backend
    )
    simulations.run(options.steps, every=options.every, observers=observers)
    names = ("step", "time_ps", "temperature_K", "potential_eV", "pressure_GPa", "volume_A3")
    return [dict(zip(names, np.array(one.rows).T, strict=True)) for (one,) in observers]


def coverage(tables: list[dict[str, np.ndarray]], whole: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Shares of means within one and two errors of the truth, and what naive means would have."""
    from taichimd.app.averages import averages

    settings = {"ensemble": "nvt-bussi", "temperature": TEMPERATURE, "timestep": 1.0}
    record = {"settings": settings, "segments": [{"first_step": 0, "settings": settings}], "n_atoms": 1}
    late = [one["potential_eV"][len(one["potential_eV"]) // 2 :].mean() for one in whole]
    truths = {
        "temperature_K": ("temperature_K", TEMPERATURE, 0.0),
        "potential_eV_per_atom": (
            "potential_eV", float(np.mean(late)), float(np.std(late, ddof=1) / np.sqrt(len(late))),
        ),
    }  # fmt: skip
    found = [averages(record, one) for one in tables]
    starts = [one["production"]["start_ps"] for one in found]
    report: dict[str, Any] = {
        "production_from_ps": {"median": float(np.median(starts)), "largest": max(starts)}
    }
    for name, (column, truth, error) in truths.items():
        means = [one["means"][name] for one in found]
        known = [one for one in means if one["error"] is not None]
        off = [abs(one["mean"] - truth) / np.hypot(one["error"], error) for one in known]
        all_rows = np.array([one[column].mean() for one in tables])
        naive = np.array([one[column].std(ddof=1) / np.sqrt(len(one[column])) for one in tables])
        report[name] = {
            "with_error": len(known),
            "within_1_error": float(np.mean(np.array(off) < 1.0)) if off else None,
            "within_2_errors": float(np.mean(np.array(off) < 2.0)) if off else None,
            "truth": truth,
            "mean_of_means": float(np.mean([one["mean"] for one in means])),
            "mean_over_all_rows": float(all_rows.mean()),
            "all_rows_within_2_errors": float(np.mean(abs(all_rows - truth) < 2.0 * np.hypot(naive, error))),
        }
    return report


if __name__ == "__main__":
    main()
