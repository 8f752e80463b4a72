"""Silica glass, quenched from the melt with Vashishta's potential of 1990: distances, angles, coordination.

    python -m validation.physics.silica_glass
    python -m validation.physics.silica_glass --again --out validation/results/silica_glass_cuda.json

Beta-cristobalite at the density of the glass melts at 6,000 K, cools linearly to 300 K at constant volume
(`Bussi`), settles, and is sampled. Positions of peaks are compared with these:

md: P. Vashishta, R. K. Kalia, J. P. Rino, I. Ebbsjo, Phys. Rev. B 41, 12197 (1990),
doi:10.1103/PhysRevB.41.12197, the glass of the potential's own paper, read in its abstract (whole
in the NIST Interatomic Potentials Repository, entry 1990--Vashishta-P-Kalia-R-K-Rino-J-P-Ebbsjo-I--Si-O):
Si-O 1.62, O-O 2.65, Si-Si 3.05 angstrom; Si-O-Si 142 degrees with a full width at half maximum of 25.

experiment: R. L. Mozzi and B. E. Warren, J. Appl. Cryst. 2, 164 (1969), x-rays, read in its abstract: Si-O
1.62 angstrom, Si-O-Si from 120 to 180 degrees with the maximum at 144, four O around Si and two Si around O.
N. Nagasima, Jpn. J. Appl. Phys. 9, 879 (1970), doi:10.1143/JJAP.9.879, electrons, a thermal oxide film, read
in its abstract: O-O 2.60, Si-Si 3.1 angstrom. Neutron data of the bulk glass (D. A. V. Johnson, A. C. Wright,
R. N. Sinclair, J. Non-Cryst. Solids 58, 109 (1983)) could not be read.

The potential's file is LAMMPS's, whose header says that some of its parameters were inferred indirectly.
`--again` compares the stored values with those of this file and draws them, without a run.
Errors of peaks are half a bin. Those of coordination are the scatter over the atoms of this one glass, as if
each were independent; how it was quenched is not in them.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from validation import common

PUBLISHED: dict[str, dict[str, float]] = {
    "Si-O, A": {"md": 1.62, "experiment": 1.62},
    "O-O, A": {"md": 2.65, "experiment": 2.60},
    "Si-Si, A": {"md": 3.05, "experiment": 3.1},
    "O-Si-O, degrees": {},
    "its width": {},
    "Si-O-Si, degrees": {"md": 142.0, "experiment": 144.0},
    "its width ": {"md": 25.0},
    "O around Si": {"experiment": 4.0},
    "Si around O": {"experiment": 2.0},
}
TOLERANCE = {"A": 0.01, "degrees": 0.02, "width": 0.2, "around": 0.01}
"""Relative, by a word of the quantity's name; chosen before the first run."""
BOND, R_MAX, BINS, BLOCKS = 2.0, 10.0, 500, 5
HEADER = ("quantity", "taichimd", "error", "tolerance", "md 1990", "agrees", "experiment", "agrees")
FORMULA_MASS, PER_CELL = 60.084, 8


def main() -> None:
    """Parse the command line, quench, compare, write JSON and a plot."""
    parser = common.parser(__doc__, "backend", out="silica_glass")
    parser.add_argument("--cells", type=int, default=8, help="cubic cells of 24 atoms along each side")
    parser.add_argument("--density", type=float, default=2.20, help="g/cm^3")
    parser.add_argument("--hot", type=float, default=6000.0, help="K, of the melt")
    parser.add_argument("--temperature", type=float, default=300.0, help="K, of the glass")
    parser.add_argument("--timestep", type=float, default=1.0, help="fs")
    parser.add_argument("--melt-steps", type=int, default=20_000)
    parser.add_argument("--cool-steps", type=int, default=200_000)
    parser.add_argument("--settle-steps", type=int, default=20_000)
    parser.add_argument("--sample-steps", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=200, help="steps between samples")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=500.0, help="of wall clock, for the steps")
    parser.add_argument(
        "--again", action="store_true", help="only compare and draw the values that --out has"
    )
    options = parser.parse_args()

    if options.again:
        report = common.read_json(options.out)
        found = {name: (row[1], row[2]) for name, row in zip(PUBLISHED, report["comparison"], strict=True)}
        finish(report | beside_published(found), options.out)
        return
    quenched = quench(options)
    report = quenched["report"]
    drift = report["drift_of_conserved_ueV_per_atom_per_ps"]
    print(
        f"glass at {report['mean_temperature_K']:.0f} K: {report['mean_pressure_GPa']:.2f} GPa; drift of the "
        f"conserved energy {drift['melt']:.2g} µeV/atom/ps in the melt, {drift['glass']:.2g} in the glass"
    )
    report |= compare(quenched["symbols"], quenched["frames"], quenched["cell"])
    finish(report, options.out)


def finish(report: dict[str, Any], out: Path) -> None:
    """Write the result and its picture, print the comparison."""
    common.write_json(out, report)
    plot(report, out.with_suffix(".png"))
    print(common.table(report["comparison"], HEADER))


def quench(options: argparse.Namespace) -> dict[str, Any]:
    """Melt, cool, settle and sample: `symbols`, `frames` and `cell` (angstrom), first part of `report`."""
    from taichimd import Bussi, Simulation
    from taichimd.system.lattices import build_lattice

    a = (PER_CELL * FORMULA_MASS / (0.602214076 * options.density)) ** (1 / 3)
    crystal = build_lattice("silica", options.cells, a=a)
    melted = options.melt_steps
    cooled = melted + options.cool_steps
    settled = cooled + options.settle_steps
    last = settled + options.sample_steps
    bath = Bussi(options.hot, final_temperature=options.temperature, ramp=(melted, cooled), seed=options.seed)
    begin = time.monotonic()
    simulation = Simulation(
        crystal, "SiO2_1990.vashishta", timestep=options.timestep, ensemble=bath, seed=options.seed,
        backend=options.backend,
    )  # fmt: skip
    # Now: the files may be others when the run ends.
    provenance = common.provenance()
    simulation.run(10)
    compiled = time.monotonic()
    print(f"{len(crystal)} atoms, {compiled - begin:.0f} s until the first steps", flush=True)

    def left() -> float:
        return options.seconds - (time.monotonic() - begin)

    rows = []

    def advance(to: int) -> None:
        simulation.run(to - simulation.step, should_stop=lambda: left() < 0)
        if left() < 0:
            where = f"step {simulation.step:,} of {last:,} after {options.seconds:g} s"
            raise SystemExit(f"{where}: take fewer steps or more --seconds")
        thermo = simulation.thermo()
        rows.append([
            simulation.time_ps, thermo.temperature, thermo.potential / len(crystal),
            thermo.pressure, thermo.conserved / len(crystal),
        ])  # fmt: skip

    for to in np.linspace(10, melted, 11)[1:]:
        advance(round(to))
        needed = (time.monotonic() - compiled) / simulation.step * (last - simulation.step)
        if needed > left():
            short = f"{needed:.0f} s more are needed, {left():.0f} s are left"
            raise SystemExit(f"{short}: take fewer steps or more --seconds")
    moved = simulation.positions() - crystal.positions
    moved -= moved.mean(axis=0)
    print(f"molten: rms displacement {np.sqrt((moved**2).sum(axis=1).mean()):.1f} A", flush=True)
    for to in np.linspace(melted, cooled, 101)[1:]:
        advance(round(to))
    print(f"cooled after {time.monotonic() - begin:.0f} s", flush=True)
    advance(settled)
    frames = []
    for to in range(settled + options.every, last + 1, options.every):
        advance(to)
        frames.append(simulation.positions())
    table = np.array(rows)
    sampled = table[-len(frames) :]
    held = {"melt": table[:10], "glass": sampled}
    cooling_ps = 1e-3 * options.cool_steps * options.timestep
    report = {
        **provenance,
        "potential": "SiO2_1990.vashishta", "atoms": len(crystal), "density_g_per_cm3": options.density,
        "cell_A": float(crystal.cell[0, 0]), "timestep_fs": options.timestep,
        "hot_K": options.hot, "temperature_K": options.temperature, "seed": options.seed,
        "steps": {"melt": options.melt_steps, "cool": options.cool_steps,
                  "settle": options.settle_steps, "sample": options.sample_steps},
        "cooling_K_per_ps": (options.hot - options.temperature) / cooling_ps,
        "samples": len(frames),
        "rms_displacement_in_melt_A": {
            s: float(np.sqrt((moved[crystal.symbols == s] ** 2).sum(axis=1).mean())) for s in ("Si", "O")
        },
        "mean_temperature_K": float(sampled[:, 1].mean()),
        "mean_pressure_GPa": float(sampled[:, 3].mean()),
        "potential_eV_per_atom": float(sampled[:, 2].mean()),
        # Where the temperature is constant: in a ramp the error of a time step changes with it, too.
        "drift_of_conserved_ueV_per_atom_per_ps": {
            part: 1e6 * float(np.polyfit(rows[:, 0], rows[:, 4], 1)[0]) for part, rows in held.items()
        },
        "positions_sha256": common.sha(frames[-1]),
        "compile_seconds": compiled - begin,
        "atom_steps_per_s": len(crystal) * (last - 10) / (time.monotonic() - compiled),
        "path": {"time_ps": table[:, 0].round(4), "temperature_K": table[:, 1].round(1),
                 "potential_eV_per_atom": table[:, 2].round(5), "pressure_GPa": table[:, 3].round(3)},
    }  # fmt: skip
    return {
        "symbols": crystal.get_chemical_symbols(), "frames": np.array(frames), "cell": crystal.cell[:],
        "report": report,
    }  # fmt: skip


def compare(symbols: list[str], frames: Any, cell: Any) -> dict[str, Any]:
    """Distances, angles and coordination beside the published ones."""
    from taichimd.estimators.bonds import bond_structure, highest_peak
    from taichimd.io.frames import Frames
    from taichimd.observables.rdf import pair_distributions

    n, cells = len(symbols), np.repeat([cell], len(frames), axis=0)
    blocks = max(1, min(BLOCKS, len(frames)))
    still = Frames(
        symbols=np.array(symbols),
        masses=np.ones(n),
        positions=frames,
        velocities=None,
        cells=cells,
        pbc=np.ones(3, bool),
        times=None,
        wrapped=False,
        fixed=np.zeros(n, bool),
    )
    pairs = pair_distributions(still, ["Si", "O"], R_MAX, BINS, blocks)
    bonds = bond_structure(symbols, frames, cells, True, BOND, blocks=blocks)
    found: dict[str, tuple[float, float]] = {}
    curves: dict[str, Any] = {"r_A": next(iter(pairs.values())).r.round(4), "angle_deg": bonds.angle}
    for a, b in (("Si", "O"), ("O", "O"), ("Si", "Si")):
        g = pairs[a, b].g
        found[f"{a}-{b}, A"] = (highest_peak(pairs[a, b].r, g.value).position, 0.5 * R_MAX / BINS)
        curves[f"g_{a}-{b}"], curves[f"error_{a}-{b}"] = g.value.round(4), g.error.round(4)
    for triple, width in ((("O", "Si", "O"), "its width"), (("Si", "O", "Si"), "its width ")):
        name, density = "-".join(triple), bonds.angles[triple]
        peak = highest_peak(bonds.angle, density.value)
        found |= {f"{name}, degrees": (peak.position, 0.5), width: (peak.width, 0.5)}
        curves[f"p_{name}"], curves[f"error_{name}"] = density.value.round(6), density.error.round(6)
    for centre, end in (("Si", "O"), ("O", "Si")):
        shares = bonds.coordination[centre, end].fractions.value
        number = np.arange(len(shares))
        mean = float(shares @ number)
        scatter = np.sqrt(shares @ (number - mean) ** 2 / symbols.count(centre))
        found[f"{end} around {centre}"] = (mean, float(scatter))
        curves[f"fraction_{end}_around_{centre}"] = shares.round(5)
    return {"bond_A": BOND, **beside_published(found), "curves": curves}


def beside_published(found: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """Values and errors of the quantities of `PUBLISHED` beside what is published."""
    rows = []
    for name, (value, error) in found.items():
        published = PUBLISHED[name]
        tolerance = next(relative for word, relative in TOLERANCE.items() if word in name.split())
        near = {who: bool(abs(value - x) <= tolerance * x) for who, x in published.items()}
        rows.append([
            name.strip(), round(value, 4), round(error, 4), f"{100 * tolerance:g}%",
            *(item for who in ("md", "experiment") for item in (published.get(who), near.get(who))),
        ])  # fmt: skip
    return {"published": PUBLISHED, "header": HEADER, "comparison": rows}


def plot(report: dict[str, Any], path: Path) -> None:
    """Partial g(r), bond angles and the path, with the published numbers drawn in."""
    from matplotlib.figure import Figure

    from taichimd.core.units import KB

    curves, colours = report["curves"], ("#1f6fb4", "#c8402f", "#3a8f4d")
    figure = Figure(figsize=(15.0, 4.4), dpi=100, layout="constrained")
    distances, angles, cooling = figure.subplots(1, 3)
    for k, name in enumerate(("Si-O", "O-O", "Si-Si")):
        height = float(np.max(curves[f"g_{name}"]))
        distances.plot(curves["r_A"], curves[f"g_{name}"], color=colours[k], label=name)
        mark(distances, PUBLISHED[f"{name}, A"], height, colours[k])
    distances.set(xlabel="r (Å)", ylabel="g(r)", xlim=(1.0, 8.0), yscale="symlog", ylim=(0, 60))
    distances.set_yticks([0, 1, 2, 5, 10, 20, 50], [0, 1, 2, 5, 10, 20, 50])
    for k, (name, width) in enumerate((("O-Si-O", "its width"), ("Si-O-Si", "its width "))):
        height = float(np.max(curves[f"p_{name}"]))
        angles.plot(curves["angle_deg"], curves[f"p_{name}"], color=colours[k], label=name)
        published = PUBLISHED[f"{name}, degrees"]
        mark(angles, published, height, colours[k])
        if "md" not in PUBLISHED[width]:
            continue
        half = 0.5 * PUBLISHED[width]["md"]
        ends = (published["md"] - half, published["md"] + half)
        angles.plot(ends, (0.5 * height,) * 2, color=colours[k], marker="|", ms=9, ls="--", lw=1)
    angles.set(xlabel="bond angle (degrees)", ylabel="probability (1/degree)", xlim=(80, 180))
    time_ps, steps = np.array(report["path"]["time_ps"]), report["steps"]
    ramp = time_ps >= 1e-3 * steps["melt"] * report["timestep_fs"]
    temperature = np.array(report["path"]["temperature_K"])[ramp]
    # Without the 3/2 kT of harmonic vibrations, what the structure itself gives up.
    inherent = np.array(report["path"]["potential_eV_per_atom"])[ramp] - 1.5 * KB * temperature
    cooling.plot(temperature, inherent, ".", color=colours[0])
    cooling.set(xlabel="temperature (K)", ylabel="potential energy − 3/2 kT (eV/atom)")
    what = f"{report['atoms']:,} atoms, {report['density_g_per_cm3']:g} g/cm³"
    cooling.set_title(f"{what}, {report['cooling_K_per_ps']:,.0f} K/ps", fontsize=10)
    distances.plot([], [], color="0.3", ls="--", lw=1, label="MD, 1990")
    distances.plot([], [], color="0.3", ls=":", lw=2, label="experiment")
    angles.plot([], [], color="0.3", ls="--", lw=1, label="MD, 1990: peak, width")
    angles.plot([], [], color="0.3", ls=":", lw=2, label="x-rays, 1969: peak")
    for axis in (distances, angles, cooling):
        axis.grid(alpha=0.25)
    for axis in (distances, angles):
        axis.legend(frameon=False, fontsize=9)
    figure.savefig(path)


def mark(axis: Any, published: dict[str, float], height: float, colour: str) -> None:
    """Published places of a peak."""
    for who, style, width in (("md", "--", 1.0), ("experiment", ":", 2.0)):
        if who in published:
            axis.plot((published[who],) * 2, (0.0, 1.08 * height), color=colour, ls=style, lw=width)


if __name__ == "__main__":
    main()
