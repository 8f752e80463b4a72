"""Phonon dispersion of silicon from force constants of displaced structures in one launch.

    python -m validation.physics.phonons

Second-order force constants of the two atoms of the primitive cell in a supercell of 5 x 5 x 5 cells, by
`second_order`, at the relaxed lattice constant of each potential. The dynamical matrix is Fourier-transformed
here. Checks: the acoustic frequencies at Gamma, and the sum rule.
"""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk
from numpy.typing import NDArray

from validation import common

CASES = {"Stillinger-Weber": "Si.sw", "Tersoff 1988": "Si.tersoff"}
CELLS = 5
PATH = "GXU,KGL"
NATURAL_PS = 0.01018050571
"""ps of angstrom sqrt(amu/eV)."""


def main() -> None:
    """Parse the command line, compute both, write JSON and a picture."""
    parser = common.parser(__doc__, "backend", out="phonons")
    options = parser.parse_args()

    from taichimd.core import runtime

    runtime.start(options.backend)
    report: dict[str, Any] = {**common.provenance(), "cells": CELLS, "path": PATH, "cases": {}}
    for name, potential in CASES.items():
        report["cases"][name] = of_potential(potential)
        print(f"{name}: done", flush=True)
    common.write_json(options.out, report)
    plot(report, options.out.with_suffix(".png"))
    rows = [
        (
            name,
            case["lattice_A"],
            *(f"{case[key]:.3f}" for key in ("gamma_THz", "ta_x_THz", "lo_x_THz")),
            f"{case['sum_rule']:.0e}",
        )
        for name, case in report["cases"].items()
    ]
    print(
        common.table(
            rows, ("potential", "a (A)", "optical at G (THz)", "lowest at X", "highest at X", "sum rule")
        )
    )


def of_potential(potential: str) -> dict[str, Any]:
    """Dispersion along the path, and frequencies at its ends."""
    from taichimd import second_order

    primitive = bulk("Si", a=lattice(potential))
    supercell = primitive.repeat(CELLS)
    constants = second_order(supercell, potential, of=[0, 1])
    path = primitive.cell.bandpath(PATH, npoints=200)
    found = dispersion(primitive, supercell, constants, path.kpts)
    x, places, labels = path.get_linear_kpoint_axis()
    gamma = dispersion(primitive, supercell, constants, np.zeros((1, 3)))[0]
    edge = dispersion(primitive, supercell, constants, path.special_points["X"][None])[0]
    return {
        "potential": potential,
        "lattice_A": round(float(np.sqrt(2) * primitive.cell.lengths()[0]), 5),
        "sum_rule": float(np.abs(constants.sum(axis=1)).max()),
        "acoustic_at_gamma_THz": float(np.abs(gamma[:3]).max()),
        "gamma_THz": float(gamma[-1]),
        "ta_x_THz": float(edge[0]),
        "lo_x_THz": float(edge[-1]),
        "x": x.tolist(),
        "places": places.tolist(),
        "labels": labels,
        "THz": found.tolist(),
    }


def lattice(potential: str) -> float:
    """Lattice constant of lowest energy, angstrom."""
    from taichimd import evaluate_many

    a = np.linspace(5.40, 5.46, 13)
    energies = [one.energy for one in evaluate_many([bulk("Si", a=x, cubic=True) for x in a], potential)]
    fit = np.polyfit(a - 5.43, energies, 3)
    roots = np.roots(np.polyder(fit)).real
    return float(5.43 + roots[np.argmin(np.abs(roots))])


def dispersion(
    primitive: Atoms, supercell: Atoms, constants: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Frequencies (q, 3 n_primitive), THz, rising, at wave vectors in reciprocal vectors; imaginary ones < 0.

    D_ij,ab(q) = sum over images of j of Phi_ij,ab exp(i q.R)/sqrt(m_i m_j); images at equal distances share.
    Constants (n_primitive, n, 3, 3), eV/angstrom^2, are of the atoms of a primitive cell, the first of the
    supercell.
    """
    m, n = len(primitive), len(supercell)
    masses = primitive.get_masses()
    inverse = np.linalg.inv(primitive.cell.array)
    images = np.array(list(product((-1, 0, 1), repeat=3))) @ supercell.cell.array
    found = []
    x = supercell.positions
    phases: list[list[tuple[int, NDArray[np.float64]]]] = []
    for i in range(m):
        own = []
        for j in range(n):
            d = x[j] + images - x[i]
            r = np.linalg.norm(d, axis=1)
            near = d[r < r.min() + 1e-4] - (x[j % m] - x[i])
            own.append((j % m, near @ inverse))
        phases.append(own)
    for q in np.atleast_2d(points):
        matrix = np.zeros((3 * m, 3 * m), complex)
        for i in range(m):
            for j, (k, shifts) in enumerate(phases[i]):
                phase = np.exp(2j * np.pi * (shifts @ q)).mean()
                matrix[3 * i : 3 * i + 3, 3 * k : 3 * k + 3] += (
                    constants[i, j] * phase / np.sqrt(masses[i] * masses[k])
                )
        values = np.linalg.eigvalsh(0.5 * (matrix + matrix.conj().T))
        found.append(np.sign(values) * np.sqrt(np.abs(values)) / (2.0 * np.pi * NATURAL_PS))
    return np.array(found)


def plot(report: dict[str, Any], path: Path) -> None:
    """Both dispersions on one axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 4))
    for (name, case), colour in zip(report["cases"].items(), ("C0", "C1"), strict=True):
        lines = axis.plot(case["x"], np.array(case["THz"]), color=colour, linewidth=1)
        lines[0].set_label(name)
    axis.set_xticks(case["places"], [label.replace("G", "Γ") for label in case["labels"]])
    for place in case["places"]:
        axis.axvline(place, color="0.8", linewidth=0.5)
    axis.set_xlim(0, case["x"][-1])
    axis.set_ylabel("frequency (THz)")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.1), ncols=2, frameon=False, fontsize="small")
    figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    main()
