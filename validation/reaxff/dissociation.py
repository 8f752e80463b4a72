"""Are ReaxFF's energies of H2, O2 and CH4 smooth where a bond breaks? With a plot.

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.dissociation

CHO.ffield, one set of constants, charges to 1e-13: the energy then has the slope that the forces say. One
atom is drawn off along its bond. `largest_jump_eV` is by how much the energy changes beyond the mean slope
of an interval, of intervals of 2e-4 angstrom: with a step it would not become smaller with the interval.
"""

from pathlib import Path
from typing import Any

import numpy as np
from ase.build import molecule

from validation import common

CURVES = {"H2": (0, 0.5), "O2": (0, 0.9), "CH4": (1, 0.75)}
"""The atom that moves, and its first distance from its partner, angstrom."""
LAST, STEP, FINE = 6.0, 0.01, 50
SUSPICIOUS = 1e-4
"""eV: an interval with more is divided into `FINE`."""


def main() -> None:
    """Parse the command line, draw off the atoms, write JSON and picture."""
    parser = common.parser(__doc__, out="reaxff_dissociation")
    options = parser.parse_args()
    from taichimd.core import runtime

    runtime.start("cpu")
    report: dict[str, Any] = {**common.provenance(), "file": "CHO.ffield", "curves": {}}
    for name, (moving, first) in CURVES.items():
        report["curves"][name] = found = curve_of(name, moving, first)
        print(
            f"{name}: {found['depth_eV']:.2f} eV, largest jump {found['largest_jump_eV']:.1e} eV", flush=True
        )
    common.write_json(options.out, report)
    draw(report, options.out.with_suffix(".png"))


def curve_of(name: str, moving: int, first: float) -> dict[str, Any]:
    """Energies by distance, and the largest jump."""
    from taichimd import Engine
    from taichimd.forcefields.reaxff.forcefield import ReaxFF

    atoms = molecule(name)
    axis = atoms.positions[moving] - atoms.positions[1 - moving]
    axis /= np.linalg.norm(axis)
    forcefield = ReaxFF("CHO.ffield", constants="consistent", charge_tolerance=1e-13)
    engine = Engine(atoms, forcefield, backend="cpu")

    def at(distances: Any) -> tuple[Any, Any]:
        energies, slopes = [], []
        for r in distances:
            positions = atoms.positions.copy()
            positions[moving] = positions[1 - moving] + r * axis
            engine.set_state(positions=positions)
            found = engine.evaluate()
            energies.append(found.energy)
            slopes.append(-found.forces[moving] @ axis)
        mean = (np.array(slopes[1:]) + slopes[:-1]) / 2
        return np.array(energies), abs(np.diff(energies) - mean * np.diff(distances))

    distances = np.arange(first, LAST, STEP)
    energies, jumps = at(distances)
    divided = [
        (float(distances[k]), float(at(np.linspace(distances[k], distances[k + 1], FINE + 1))[1].max()))
        for k in np.flatnonzero(jumps > SUSPICIOUS)
    ]
    where, most = max(divided, key=lambda one: one[1], default=(None, float(jumps.max())))
    return {
        "distances_A": distances.round(4),
        "energies_eV": energies.round(9),
        "intervals_divided": len(divided),
        "largest_jump_eV": most,
        "where_A": where,
        "depth_eV": float(energies[-1] - energies.min()),
        "minimum_A": float(distances[energies.argmin()]),
    }


def draw(report: dict[str, Any], file: Path) -> None:
    """Energies less that of the last distance."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    for name, curve in report["curves"].items():
        energies = np.array(curve["energies_eV"])
        axes.plot(curve["distances_A"], energies - energies[-1], label=name)
    axes.set(xlabel="length of the bond (Å)", ylabel="energy (eV)", ylim=(-7, 3))
    axes.legend(frameon=False)
    figure.savefig(file, dpi=120)


if __name__ == "__main__":
    main()
