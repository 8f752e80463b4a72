"""Your own pair potential: declare the energy and its slope, check them, run copper.

Run it:  python examples/own_pair.py        (draws own_pair.png)
Or:      taichimd check examples/own_pair.py:copper --elements Cu
         taichimd run STRUCTURE --potential examples/own_pair.py:copper --time 1ps

Expect a consistent force field, -3.5151 eV/atom for fcc copper, and a run that keeps its energy within
0.05 meV/atom.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import Simulation, TaichiMD, check_forcefield, pair_potential
from taichimd.math import exp


@pair_potential(
    params={"depth": "eV", "alpha": "1/Å", "r0": "Å"},
    reference="L. A. Girifalco and V. G. Weizer, Phys. Rev. 114, 687 (1959)",
)
def morse(r, p):
    """Energy u(r) = D [exp(-2a(r - r0)) - 2 exp(-a(r - r0))] in eV, and du/dr in eV/Å."""
    x = exp(-p.alpha * (r - p.r0))
    u = p.depth * (x * x - 2.0 * x)
    du_dr = -2.0 * p.alpha * p.depth * (x * x - x)
    return u, du_dr


copper = morse(depth=0.3429, alpha=1.3588, r0=2.866, cutoff=9.0, truncation="energy-shifted")

if __name__ == "__main__":
    print(check_forcefield(copper, ["Cu"]))

    crystal = bulk("Cu", a=3.61)
    crystal.calc = TaichiMD(copper)
    print(f"fcc copper: {crystal.get_potential_energy():.4f} eV/atom")

    simulation = Simulation(bulk("Cu", a=3.61, cubic=True) * 5, copper, timestep=2.0, temperature=600.0)
    energies = []
    for _ in range(100):
        simulation.run(10)
        thermo = simulation.thermo()
        energies.append([simulation.time_ps, thermo.potential, thermo.kinetic])
    time, potential, kinetic = np.array(energies).T
    total = potential + kinetic
    print(f"500 atoms, 2 ps: the total energy stays within {np.ptp(total) / 500 * 1e6:.1f} µeV/atom")

    figure = Figure(figsize=(5.0, 3.4), dpi=100, layout="constrained")
    axis = figure.subplots()
    for name, energy in (("potential", potential), ("kinetic", kinetic), ("total", total)):
        axis.plot(time, (energy - energy.mean()) / 500 * 1e3, label=name)
    axis.set(xlabel="time (ps)", ylabel="energy − mean (meV/atom)", title="Morse copper, declared")
    axis.legend(frameon=False, ncols=3)
    figure.savefig(Path(__file__).with_suffix(".png"))
