"""Structure and diffusion of liquid argon, observed while it runs, beside Rahman's of 1964.

    python -m validation.physics.rdf_argon

The state of A. Rahman, Phys. Rev. 136, A405 (1964), doi:10.1103/PhysRev.136.A405: 864 atoms, 94.4 K, 1.374
g/cm^3, epsilon/k = 120 K, sigma = 3.4 angstrom, cutoff 2.25 sigma. His figures are taken from the table of a
published replication (H. Heidenreich, "Replicating Rahman 1964",
hunterheidenreich.com/projects/rahman-1964-replication), not from the paper itself: first peak of g(r) at 3.7
angstrom, peaks of the structure factor at k sigma = 6.8, 12.5, 18.5 and 24.8, D = 2.43e-5 cm^2/s. They are
read to the digits given; D of 864 atoms in 10 ps has no stated error.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from ase.build import bulk

from validation import common

SIGMA, EPSILON_K, CUTOFF_SIGMA = 3.4, 120.0, 2.25
TEMPERATURE, DENSITY = 94.4, 1.374
PUBLISHED = {
    "first_peak_A": 3.7,
    "structure_factor_peaks_k_sigma": [6.8, 12.5, 18.5, 24.8],
    "D_cm2_per_s": 2.43e-5,
}
R_MAX, BINS = 17.0, 340


def main() -> None:
    """Parse the command line, run, compare, write JSON and a plot."""
    parser = common.parser(__doc__, "backend", out="rdf_argon")
    parser.add_argument("--equilibrate", type=int, default=15_000, help="steps of 4 fs")
    parser.add_argument("--steps", type=int, default=50_000, help="of 4 fs, observed")
    parser.add_argument("--every", type=int, default=10, help="steps between samples")
    options = parser.parse_args()

    from taichimd import LennardJones, Simulation
    from taichimd.app.live import Observations
    from taichimd.core.units import KB
    from taichimd.ensembles.registry import Bussi
    from taichimd.io.analysis_files import read_table
    from taichimd.observables.planning import make_plan

    mass = 39.948
    number = DENSITY / mass * 0.602214076
    atoms = bulk("Ar", a=(4.0 / number) ** (1 / 3), cubic=True) * 6
    atoms.set_masses(np.full(len(atoms), mass))
    potential = LennardJones(epsilon=EPSILON_K * KB, sigma=SIGMA, cutoff=CUTOFF_SIGMA * SIGMA)
    warm = Simulation(
        atoms, potential, timestep=4.0, temperature=2 * TEMPERATURE, ensemble=Bussi(TEMPERATURE),
        backend=options.backend,
    )  # fmt: skip
    warm.run(options.equilibrate)
    simulation = Simulation(warm.atoms(), potential, timestep=4.0, backend=options.backend)
    kinds = ("rdf", "msd")
    plan = make_plan(kinds, 0, options.steps, 4.0, options.every, 4000.0, R_MAX, BINS)
    observations = Observations(simulation.engine, plan)
    temperatures: list[float] = []
    for _ in range(50):
        simulation.run(options.steps // 50, samplers=[observations])
        temperatures.append(simulation.thermo().temperature)
    with tempfile.TemporaryDirectory() as folder:
        rows = observations.write(Path(folder), "argon")
        rdf = read_table(Path(folder) / "rdf.csv")
        msd = read_table(Path(folder) / "msd.csv")
    report = compare(rdf, msd, number)
    report = {
        **common.provenance(),
        "atoms": len(atoms), "timestep_fs": 4.0, "steps": options.steps, "samples": plan.samples,
        "temperature_K": [float(np.mean(temperatures)), float(np.std(temperatures) / np.sqrt(50))],
        "summary": [list(row) for row in rows],
        **report,
    }  # fmt: skip
    common.write_json(options.out, report)
    plot(rdf, msd, report, options.out.with_suffix(".png"))
    print(common.table(report["comparison"], ("quantity", "taichimd", "error", "published", "agrees")))


def compare(rdf: dict[str, Any], msd: dict[str, Any], number: float) -> dict[str, Any]:
    """Peaks and diffusion coefficient beside the published ones."""
    r, g = rdf["r_A"], rdf["g_Ar-Ar"]
    peak, height = vertex(r, g, int(g.argmax()))
    k = np.linspace(0.5, 9.0, 1701)
    # A window that goes to zero at r_max keeps the cut of g(r) from rippling through S(k).
    smooth = np.sinc(r / R_MAX)
    transform = np.sin(np.outer(k, r)) @ ((g - 1.0) * r * smooth) * (r[1] - r[0])
    s = 1.0 + 4.0 * np.pi * number * transform / k
    tops = [
        i for i in range(1, len(k) - 1) if s[i - 1] < s[i] > s[i + 1] and k[i] * SIGMA > 5.0 and s[i] > 1.0
    ]
    found = sorted(sorted(tops, key=lambda i: -s[i])[:4])
    time, total = msd["time_ps"], msd["msd_Ar_A2"]
    late = time >= 0.2 * time[-1]
    slope, spread = np.polyfit(time[late], total[late], 1)[0], msd["error_Ar_A2"][-1] / time[-1]
    d, error = slope / 6.0 * 1e-4, spread / 6.0 * 1e-4
    width = float(r[1] - r[0])
    rows: list[list[Any]] = [
        ["first peak of g(r), A", f"{peak:.3f}", f"{width / 2:.3f} (half a bin)", "3.7",
         abs(peak - PUBLISHED["first_peak_A"]) <= 0.05 + width / 2],
        ["its height", f"{height:.3f}", "", "not read", None],
    ]  # fmt: skip
    for i, published in zip(found, PUBLISHED["structure_factor_peaks_k_sigma"], strict=False):
        x = float(k[i] * SIGMA)
        rows.append(
            ["peak of S(k), k sigma", f"{x:.2f}", "", published, abs(x - published) <= 0.02 * published]
        )
    near = abs(d - PUBLISHED["D_cm2_per_s"]) <= 0.05 * PUBLISHED["D_cm2_per_s"]
    rows.append(["D, cm2/s", f"{d:.3g}", f"{error:.1g}", PUBLISHED["D_cm2_per_s"], near])
    return {
        "published": PUBLISHED,
        "criteria": "g(r): the published digit and half a bin; S(k): 2%; D: 5%",
        "comparison": rows,
        "first_peak_A": peak, "first_peak_height": height, "D_cm2_per_s": d, "D_error": error,
        "structure_factor_peaks_k_sigma": [float(k[i] * SIGMA) for i in found],
        "r_A": r.round(4), "g": g.round(5), "g_error": rdf["error_Ar-Ar"].round(5),
        "k_per_A": k[::10].round(3), "S": s[::10].round(4),
    }  # fmt: skip


def vertex(x: Any, y: Any, top: int) -> tuple[float, float]:
    """Top of the parabola through the seven points around a maximum."""
    near = slice(top - 3, top + 4)
    a, b, c = np.polyfit(x[near] - x[top], y[near], 2)
    return float(x[top] - b / (2 * a)), float(c - b * b / (4 * a))


def plot(rdf: dict[str, Any], msd: dict[str, Any], report: dict[str, Any], path: Path) -> None:
    """g(r), S(k) and the mean square displacement, published figures marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 3.8), dpi=110, layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(rdf["r_A"], rdf["g_Ar-Ar"], color="#1f6fb4", label="taichimd, 864 atoms")
    left.axvline(PUBLISHED["first_peak_A"], color="#c8402f", lw=1, ls="--", label="Rahman 1964: first peak")
    left.set(xlabel="r (Å)", ylabel="g(r)")
    left.legend(frameon=False)
    middle.plot(np.array(report["k_per_A"]) * SIGMA, report["S"], color="#1f6fb4")
    for place in PUBLISHED["structure_factor_peaks_k_sigma"]:
        middle.axvline(place, color="#c8402f", lw=1, ls="--")
    middle.set(xlabel="k σ", ylabel="S(k)", xlim=(0, 30))
    right.plot(msd["time_ps"], msd["msd_Ar_A2"], color="#1f6fb4")
    time = np.array([1.0, msd["time_ps"][-1]])
    offset = float(msd["msd_Ar_A2"][-1] - 6e4 * PUBLISHED["D_cm2_per_s"] * time[1])
    line = 6e4 * PUBLISHED["D_cm2_per_s"] * time + offset
    right.plot(time, line, color="#c8402f", lw=1, ls="--", label="slope of Rahman's D")
    right.set(xlabel="time (ps)", ylabel="mean square displacement (Å²)")
    right.legend(frameon=False)
    for axis in (left, middle, right):
        axis.grid(alpha=0.25)
    figure.savefig(path)


if __name__ == "__main__":
    main()
