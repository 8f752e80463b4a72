"""Silicon through ASE: relax the cell, then elastic constants and the optical phonon, with one calculator.

Run it:  python examples/ase_relax.py        (draws ase_relax.png)

Expect 5.4312 angstrom, -4.6304 eV/atom, C11 = 121.7, C12 = 85.8, C44 = 10.3 (relaxed) and 92.3 GPa (fixed).
Shear is this potential's weak spot; Si_1988_T3.tersoff was made for elastic constants.
"""

from pathlib import Path

import numpy as np
from ase import units
from ase.build import bulk
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS
from matplotlib.figure import Figure

from taichimd import TaichiMD

silicon = bulk("Si", a=5.5)  # two atoms: cells smaller than the cutoff are fine
silicon.calc = TaichiMD("Si.tersoff")
BFGS(FrechetCellFilter(silicon), logfile=None).run(fmax=1e-5)

a = np.sqrt(2) * silicon.cell.lengths()[0]
energy = silicon.get_potential_energy() / len(silicon)


def stress_under(strain, relax=False):
    """Stress (GPa, Voigt order) of the crystal under a small strain (3, 3)."""
    strained = silicon.copy()
    strained.calc = silicon.calc  # one engine serves every cell: only the neighbour list is new
    strained.set_cell(silicon.cell.array @ (np.eye(3) + strain), scale_atoms=True)
    if relax:
        BFGS(strained, logfile=None).run(fmax=1e-5)
    return strained.get_stress() / units.GPa


def slope(component, strain, size=1e-3, **how):
    """Derivative of one stress component along a strain, by central differences."""
    return (stress_under(size * strain, **how) - stress_under(-size * strain, **how))[component] / (2 * size)


stretch = np.diag([1.0, 0.0, 0.0])
shear = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.5, 0.0]])

# At the zone centre the two atoms of the cell move against each other: one spring, reduced mass m/2.
moved = silicon.copy()
moved.calc = silicon.calc
moved.positions[1, 0] += 1e-3
spring = -moved.get_forces()[1, 0] / 1e-3
frequency = np.sqrt(2 * spring / silicon.get_masses()[0]) / (2 * np.pi) * 1000 * units.fs

print(f"lattice constant  {a:8.4f} angstrom")
print(f"energy            {energy:8.4f} eV/atom")
print(f"C11               {slope(0, stretch):8.1f} GPa")
print(f"C12               {slope(1, stretch):8.1f} GPa")
print(f"C44               {slope(3, shear, relax=True):8.1f} GPa, atoms relaxed")
print(f"C44               {slope(3, shear):8.1f} GPa, atoms fixed in the cell")
print(f"optical phonon    {frequency:8.2f} THz at the zone centre")

strains = np.linspace(-0.03, 0.03, 13)
curves = {
    "stretch along x: σ_xx": [stress_under(e * stretch)[0] for e in strains],
    "shear of y and z, atoms relaxed: σ_yz": [stress_under(e * shear, relax=True)[3] for e in strains],
    "shear of y and z, atoms fixed: σ_yz": [stress_under(e * shear)[3] for e in strains],
}
figure = Figure(figsize=(5.0, 3.6), dpi=100, layout="constrained")
axis = figure.subplots()
for name, stresses in curves.items():
    axis.plot(strains * 100, stresses, label=name)
axis.set(xlabel="strain (%)", ylabel="stress (GPa)", title="Silicon, Tersoff 1988, through ASE")
axis.legend(frameon=False, fontsize=8)
figure.savefig(Path(__file__).with_suffix(".png"))
