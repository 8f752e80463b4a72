"""Liquid argon at constant energy: Rahman's 864 atoms, with the Simulation class and an observer of our own.

Run it:  python examples/argon_nve.py        (draws argon_nve.png)

Expect a crystal that melts within 2 ps, 89 K afterwards, and a total energy that stays within
0.001 meV/atom of its mean. A. Rahman, Phys. Rev. 136, A405 (1964) had 94.4 K at the same 1.374 g/cm³.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import LennardJones, Observer, Simulation
from taichimd.estimators.average import average_of

BOX = 34.78  # Å
atoms = bulk("Ar", a=BOX / 6, cubic=True) * 6

# The force goes to zero at the cutoff: a force that jumps there would let the energy wander.
argon = LennardJones(epsilon=0.0103408, sigma=3.4, cutoff=8.5, truncation="force-shifted")


class Rows(Observer):
    """Collects time (ps), temperature (K) and energies (meV/atom) at each report."""

    def __init__(self):
        self.rows = []

    def report(self, simulation, thermo):
        energies = thermo.potential, thermo.kinetic, thermo.potential + thermo.kinetic
        per_atom = [1e3 * energy / len(atoms) for energy in energies]
        self.rows.append([simulation.time_ps, thermo.temperature, *per_atom])


simulation = Simulation(atoms, argon, timestep=4.0, temperature=170.0, seed=7)
record = Rows()
simulation.run(3000, every=20, observers=[record])
time, temperature, potential, kinetic, total = np.array(record.rows).T

liquid = time > 4.0
fluctuation = total - total[liquid].mean()
mean = average_of(temperature[liquid])  # its error knows how long rows are correlated
print(f"temperature   {mean.value:8.1f} K, mean after 4 ps, ± {mean.error:.1f}")
print(f"total energy  {total[liquid].mean():8.2f} meV/atom, mean after 4 ps")
print(f"fluctuation   {abs(fluctuation[liquid]).max():8.4f} meV/atom, largest after 4 ps")
moved = simulation.positions() - atoms.positions
print(f"rms distance  {np.sqrt((moved**2).sum(axis=1).mean()):8.1f} Å from where the atoms began")

figure = Figure(figsize=(7.2, 3.3), dpi=100, layout="constrained")
left, right = figure.subplots(1, 2)
left.plot(time, temperature, color="#c8402f")
left.set(xlabel="time (ps)", ylabel="temperature (K)", title="864 argon atoms, NVE")
right.plot(time, fluctuation * 1e3, color="#555555")
right.set(xlabel="time (ps)", ylabel="energy − mean (µeV/atom)", title="total energy")
figure.savefig(Path(__file__).with_suffix(".png"))
