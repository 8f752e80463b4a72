"""A stiff sphere that indents silicon (111), beside Hertz's law: a part of `validation.physics.drives`."""

from pathlib import Path
from typing import Any

import numpy as np

LATTICE = 5.431
"""Lattice constant of Stillinger-Weber silicon, Å."""
RADIUS, DEPTH, SPEED = 50.0, 2.5, 0.5
"""Of the sphere, Å; how deep it goes, Å; Å/ps."""
ELASTIC = (0.5, 2.0)
"""Depths (Å) to which Hertz's law is fitted."""


def elastic() -> dict[str, float]:
    """Elastic constants of Stillinger-Weber silicon, and the modulus E/(1 - nu^2) of a polycrystal, GPa."""
    from ase import units
    from ase.build import bulk
    from ase.optimize import BFGS

    from taichimd import TaichiMD

    silicon = bulk("Si", a=LATTICE)
    silicon.calc = TaichiMD("Si.sw")

    def slope(component: int, strain: Any, relax: bool = False) -> float:
        stresses = []
        for size in (1e-3, -1e-3):
            strained = silicon.copy()
            strained.calc = silicon.calc
            strained.set_cell(silicon.cell.array @ (np.eye(3) + size * strain), scale_atoms=True)
            if relax:
                BFGS(strained, logfile=None).run(fmax=1e-5)
            stresses.append(strained.get_stress()[component] / units.GPa)
        return float(stresses[0] - stresses[1]) / 2e-3

    c11, c12 = (slope(k, np.diag([1.0, 0.0, 0.0])) for k in (0, 1))
    c44 = slope(3, np.array([[0, 0, 0], [0, 0, 0.5], [0, 0.5, 0]]), relax=True)
    bulk_modulus = (c11 + 2 * c12) / 3
    voigt = (c11 - c12 + 3 * c44) / 5
    reuss = 5 * (c11 - c12) * c44 / (4 * c44 + 3 * (c11 - c12))
    shear = 0.5 * (voigt + reuss)
    nu = (3 * bulk_modulus - 2 * shear) / (6 * bulk_modulus + 2 * shear)
    return {
        "C11_GPa": c11, "C12_GPa": c12, "C44_GPa": c44, "poisson": nu,
        "reduced_modulus_GPa": 2 * shear * (1 + nu) / (1 - nu**2),
    }  # fmt: skip


def thickness_factor(depth: Any, thickness: float, poisson: float) -> Any:
    """By how much the force on a layer that is held below is larger than on a half-space.

    E. K. Dimitriadis et al., Biophys. J. 82, 2798 (2002), to the second order of sqrt(R d)/thickness.
    """
    alpha = -(1.2876 - 1.4678 * poisson + 1.3442 * poisson**2) / (1.0 - poisson)
    x = -2.0 * alpha / np.pi * np.sqrt(RADIUS * depth) / thickness
    return 1.0 + x + x * x


def indentation(layers: int) -> dict[str, Any]:
    """Force against depth of a stiff sphere on silicon (111), and the modulus and exponent of Hertz's law.

    F = 4/3 E* sqrt(R) (d - d0)^(3/2): F^(2/3) against the depth is a line, whose slope gives the modulus.
    """
    from ase.build import diamond111

    from taichimd import Drag, Indenter, Simulation, Spring
    from taichimd.core import units

    wide = max(4, layers * 5 // 6)
    atoms = diamond111("Si", (wide, wide, 2 * layers + 1), a=LATTICE)
    # The uppermost layer hangs on one bond each: without it the surface has three bonds.
    del atoms[atoms.positions[:, 2] > atoms.positions[:, 2].max() - 0.1]
    atoms.center(vacuum=20.0, axis=2)
    atoms.pbc = [True, True, False]
    z = atoms.positions[:, 2]
    top, middle = float(z.max()), (atoms.cell[0] + atoms.cell[1]) / 2
    centre = (middle[0], middle[1], top + RADIUS)
    ball = Indenter("sphere", centre, RADIUS, 50.0, velocity=(0.0, 0.0, -SPEED), name="ball")
    atoms.set_velocities(np.full((len(atoms), 3), 1e-9))
    base = Spring(50.0, on=z < z.min() + 3.0, name="base")
    simulation = Simulation(atoms, "Si.sw", timestep=1.0, acting=[ball, base, Drag(300.0)])
    first = simulation.thermo().conserved or 0.0
    depth, force = [], []
    for _ in range(round(DEPTH / SPEED * 10)):
        simulation.run(100, report_first=False)
        one = simulation.drives()["ball"]
        depth.append(top + RADIUS - one["place"][2])
        force.append(one["force"][2])
    d, f = np.array(depth), np.array(force)
    part = (d > ELASTIC[0]) & (d < ELASTIC[1])
    constants, thickness = elastic(), float(top - z.min())
    of_half_space = f / thickness_factor(d, thickness, constants["poisson"])
    slope, at_zero = np.polyfit(d[part], f[part] ** (2 / 3), 1)
    half_space = np.polyfit(d[part], of_half_space[part] ** (2 / 3), 1)[0]
    exponent = np.polyfit(np.log(d[part] + at_zero / slope), np.log(f[part]), 1)[0]
    law = 0.75 / np.sqrt(RADIUS) / units.GPA
    return {
        "atoms": len(atoms), "radius_A": RADIUS, "speed_A_per_ps": SPEED, "fitted_A": list(ELASTIC),
        "depth_A": d.tolist(), "force_eV_per_A": f.tolist(), "first_contact_A": float(-at_zero / slope),
        "exponent": float(exponent), "reduced_modulus_GPa": float(law * slope**1.5), "elastic": constants,
        "thickness_A": thickness, "reduced_modulus_of_half_space_GPa": float(law * half_space**1.5),
        "work_eV": simulation.drives()["ball"]["work"],
        "change_of_conserved_eV": float((simulation.thermo().conserved or 0.0) - first),
    }  # fmt: skip


def draw(report: dict[str, Any], picture: Path) -> None:
    """Force against depth, with Hertz's law of the fit and of the elastic constants."""
    from matplotlib.figure import Figure

    from taichimd.core import units

    found = report["indentation"]
    figure = Figure(figsize=(5.5, 4.0), dpi=100, layout="constrained")
    axis = figure.subplots()
    axis.plot(found["depth_A"], found["force_eV_per_A"], "o", markersize=3, label="silicon (111)")
    d = np.linspace(found["first_contact_A"], DEPTH, 200)
    for label, modulus, style in (
        ("Hertz, fitted", found["reduced_modulus_GPa"], "-"),
        ("Hertz, elastic constants", found["elastic"]["reduced_modulus_GPa"], "--"),
    ):
        law = 4 / 3 * modulus * units.GPA * np.sqrt(RADIUS) * (d - found["first_contact_A"]) ** 1.5
        axis.plot(d, law, style, label=f"{label}: E* = {modulus:.0f} GPa")
    axis.axvspan(*ELASTIC, color="#555555", alpha=0.15, label="fitted part")
    axis.set(xlabel="depth (Å)", ylabel="force (eV/Å)", title=f"sphere of {RADIUS:g} Å on silicon")
    axis.legend(frameon=False)
    figure.savefig(picture)
