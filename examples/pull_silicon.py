"""A tension test: a small crystal of silicon at 300 K is pulled along x until it breaks, its sides free.

Run it:  python examples/pull_silicon.py        (draws pull_silicon.png)

Expect a modulus near 90 GPa: C11 - 2 C12^2/(C11 + C12) of this potential is 100 GPa at rest, and less at
300 K and at strains of percents. The highest stress is far above that of a real bar: this crystal has no flaw.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import Bussi, Deform, Simulation, StochasticCell, combine

sides = StochasticCell(control="orthorhombic", axes="yz", bulk_modulus=98.0, pressure_coupling_time=500.0)
pulled = combine(Bussi(300.0), sides, Deform(x="1e11/s"))
simulation = Simulation(bulk("Si", cubic=True, a=5.44).repeat(2), "Si.sw", ensemble=pulled, seed=1)

strains, stresses = [], []
for _ in range(200):
    simulation.run(20)
    strains.append(simulation.strain()[0, 0])
    stresses.append(-simulation.engine.pressures()[0])
strains, stresses = np.array(strains), np.array(stresses)
early = strains < 0.04
modulus = np.polyfit(strains[early], stresses[early], 1)[0]
work = simulation.work() / len(simulation.numbers)

print(f"modulus          {modulus:8.1f} GPa")
print(f"highest stress   {stresses.max():8.1f} GPa")
print(f"at a strain of   {strains[stresses.argmax()]:8.2f}")
print(f"work             {work:8.2f} eV/atom")

figure = Figure(figsize=(5.0, 3.6), dpi=100, layout="constrained")
axis = figure.subplots()
axis.plot(strains, stresses)
axis.set(xlabel="strain x", ylabel="stress xx (GPa)", title="Silicon, Stillinger-Weber, 300 K, 1e11/s")
figure.savefig(Path(__file__).with_suffix(".png"))
