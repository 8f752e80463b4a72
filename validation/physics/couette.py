"""Couette flow of argon by SLLOD: does its viscosity go to that of Green and Kubo?

    python -m validation.physics.couette                                     (two cores: ten minutes)
    python -m validation.physics.couette --backend cuda --cells 10 --steps 2000000     (an H100)

Liquid argon at 94.4 K. Each of several shear rates has a system of one batch; eta = -<P_xy>/rate, with the
error of block means. The mean of the rates up to 5e10/s, weighted by the errors, must agree with the integral
of the correlation of the stress at rest; at high rates the liquid thins.
"""

from pathlib import Path
from typing import Any

import numpy as np

from validation import common

TEMPERATURE, DENSITY, TIMESTEP, EVERY = 94.4, 1374.0, 4.0, 5
"""K, kg/m^3, fs, steps between samples."""
RATES = (2e10, 5e10, 1e11, 2e11)
LOW = 5e10
"""1/s."""


def main() -> None:
    """Parse the command line, shear, write JSON and a picture."""
    parser = common.parser(__doc__, "backend", out="couette")
    parser.add_argument("--cells", type=int, default=4, help="cubic cells along each axis, of four atoms")
    parser.add_argument("--steps", type=int, default=50_000, help="of each rate, and at rest")
    options = parser.parse_args()
    report: dict[str, Any] = {
        **common.provenance(), "temperature_K": TEMPERATURE, "density_kg_m3": DENSITY,
        "atoms": 4 * options.cells**3, "steps": options.steps, "timestep_fs": TIMESTEP,
    }  # fmt: skip
    report["sllod"] = sheared(options.cells, options.steps, options.backend)
    report["green_kubo"] = at_rest(options.cells, options.steps, options.backend)
    low = [one for one in report["sllod"] if one["rate_per_s"] <= LOW]
    weights = np.array([one["error"] ** -2 for one in low])
    report["low_rates"] = {
        "viscosity_mPa_s": float(np.average([one["viscosity_mPa_s"] for one in low], weights=weights)),
        "error": float(weights.sum() ** -0.5),
    }
    for rate, found in zip(RATES, report["sllod"], strict=True):
        print(f"{rate:.0e}/s: {found['viscosity_mPa_s']:.4f} ± {found['error']:.4f} mPa s")
    print(f"low rates: {report['low_rates']}, at rest: {report['green_kubo']}")
    common.write_json(options.out, report)
    draw(report, options.out.with_suffix(".png"))
    print(f"written: {options.out.name}")


def liquid(cells: int) -> Any:
    """A crystal of the liquid's density, which melts at once when it is heated."""
    from ase.build import bulk

    edge = (4 * 39.948 * 1.66053907e-27 / DENSITY) ** (1 / 3) * 1e10
    return bulk("Ar", cubic=True, a=edge).repeat(cells)


def potential() -> Any:
    """Rahman's argon with a smooth end."""
    from taichimd import LennardJones

    return LennardJones(epsilon=0.010324, sigma=3.405, cutoff=8.5, truncation="force-shifted")


def melted(cells: int, backend: str) -> Any:
    """Atoms of the liquid at its temperature."""
    from taichimd import Langevin, Simulation

    simulation = Simulation(
        liquid(cells), potential(), timestep=TIMESTEP, ensemble=Langevin(400.0), backend=backend
    )
    simulation.run(2000)
    calm = Simulation(
        simulation.atoms(), potential(), timestep=TIMESTEP, ensemble=Langevin(TEMPERATURE), backend=backend
    )
    calm.run(5000)
    atoms = calm.atoms()
    atoms.calc = None
    momenta = atoms.get_momenta()
    atoms.set_momenta(momenta - momenta.mean(axis=0))
    return atoms


def sheared(cells: int, steps: int, backend: str) -> list[dict[str, float]]:
    """Viscosity at each rate, in mPa s, with its error; all rates in one batch."""
    from taichimd import Batch, Deform, NoseHoover, combine
    from taichimd.core import units

    atoms = melted(cells, backend)
    baths = [combine(NoseHoover(TEMPERATURE, coupling_time=200.0), Deform(xy=rate)) for rate in RATES]
    batch = Batch([atoms] * len(RATES), potential(), ensembles=baths, backend=backend)
    dt = TIMESTEP * units.FS
    batch.advance(max(steps // 5, 2000), dt)
    stresses, conserved = [], []
    for _ in range(steps // EVERY):
        batch.advance(EVERY, dt)
        stresses.append([-member.pressures()[5] for member in batch.members])
        if len(stresses) % 100 == 0:
            conserved.append([member.thermo().conserved for member in batch.members])
    found = []
    for k, (rate, member) in enumerate(zip(RATES, batch.members, strict=True)):
        series = np.array(stresses)[:, k]
        blocks = series[: len(series) // 10 * 10].reshape(10, -1).mean(axis=1)
        to = 1e9 / rate * 1e3
        found.append({
            "rate_per_s": rate, "viscosity_mPa_s": float(series.mean() * to),
            "error": float(blocks.std(ddof=1) / np.sqrt(10) * to),
            "strain_xy": float(member.deformation()[0][1, 0]), "work_eV": member.deformation()[1],
            "conserved_range_eV": float(np.ptp(np.array(conserved)[:, k])),
        })  # fmt: skip
    return found


def at_rest(cells: int, steps: int, backend: str) -> dict[str, float]:
    """Viscosity from the stress at rest, mPa s: up to 2 ps, the mean of five directions, blocks."""
    from taichimd import Engine
    from taichimd.core import units

    engine = Engine(melted(cells, backend), potential(), backend=backend)
    dt, stresses = TIMESTEP * units.FS, []
    volume = engine.volume
    for _ in range(2 * steps // EVERY):
        engine.advance(EVERY, dt)
        p = engine.pressures()
        stresses.append([p[3], p[4], p[5], 0.5 * (p[0] - p[1]), 0.5 * (p[1] - p[2])])
    series, window = np.array(stresses), round(2000 / (TIMESTEP * EVERY))
    kt = units.KB * TEMPERATURE
    blocks = [green_kubo(part, window) for part in np.array_split(series, 5)]
    # GPa^2 A^3 fs / eV to mPa s.
    to = volume / kt * 1e18 * 1e-30 * TIMESTEP * EVERY * 1e-15 / 1.602176634e-19 * 1e3
    return {
        "viscosity_mPa_s": float(np.mean(blocks) * to),
        "error": float(np.std(blocks, ddof=1) / np.sqrt(5) * to),
    }


def green_kubo(series: np.ndarray, window: int) -> float:
    """Integral of the correlation of five stresses (GPa), in GPa^2 intervals."""
    lags = np.array([(series[: len(series) - k] * series[k:]).mean() for k in range(window)])
    return float(lags.sum() - 0.5 * (lags[0] + lags[-1]))


def draw(report: dict[str, Any], picture: Path) -> None:
    """Viscosity against the rate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 4.0), dpi=100, layout="constrained")
    axis = figure.subplots()
    rows = report["sllod"]
    axis.errorbar(
        [one["rate_per_s"] for one in rows], [one["viscosity_mPa_s"] for one in rows],
        [one["error"] for one in rows], fmt="o-", label="SLLOD",
    )  # fmt: skip
    rest = report["green_kubo"]
    axis.axhline(rest["viscosity_mPa_s"], color="#555555", label="Green-Kubo")
    low, high = (rest["viscosity_mPa_s"] + sign * rest["error"] for sign in (-1, 1))
    axis.axhspan(low, high, color="#555555", alpha=0.2)
    axis.set(xlabel="shear rate (1/s)", ylabel="viscosity (mPa s)", xscale="log", title="argon, 94.4 K")
    axis.set_xticks([one["rate_per_s"] for one in rows], [f"{one['rate_per_s']:.0e}" for one in rows])
    axis.minorticks_off()
    axis.legend(frameon=False)
    figure.savefig(picture)


if __name__ == "__main__":
    main()
