"""Tension of silicon until it fails: 216 atoms at 300 K, stretched along x with free sides.

Run it:  python examples/stretch_silicon.py        (draws stretch_silicon.png; half a minute)

Expect a Young's modulus along [100] of 88 to 101 GPa and a Poisson's ratio of 0.26 to 0.39, by the range of
strain of the fit, and a strength of 20 GPa. The elastic constants of this potential at 0 K give 100 GPa and
0.335. The crystal has no defect, and the rate of 5e10/s is far above that of an experiment. After the
highest stress this cell does not break in two parts, because a barostat makes it thinner everywhere. Bars
with free surfaces break: see validation/physics/fracture.py.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import Bussi, Deform, Simulation, StochasticCell, ThermoTable, combine
from taichimd.io.thermo import read_thermo

RATE, TIMESTEP, STEPS = 5e10, 2.0, 4500  # 1/s, fs; 45 % in the end
RANGES = (0.02, 0.1), (0.02, 0.06), (0.04, 0.08), (0.06, 0.1), (0.02, 0.08), (0.04, 0.1)  # strains of fits

sides = StochasticCell(
    control="orthorhombic", axes="yz", pressure_coupling_time=200.0, bulk_modulus=100.0, period=5
)
pulled = combine(Bussi(300.0), sides, Deform(x=RATE))
silicon = Simulation(bulk("Si", cubic=True).repeat(3), "Si.sw", timestep=TIMESTEP, ensemble=pulled)
table = Path("stretch_silicon.csv")
with ThermoTable(table, every=20) as rows:
    silicon.run(STEPS, observers=[rows])
found = read_thermo(table)

strain, stress = found["strain_x"], found["stress_xx_GPa"]
sideways = (found["strain_y"] + found["strain_z"]) / 2
moduli, ratios = [], []
for low, high in RANGES:
    there = (strain > low) & (strain < high)
    moduli.append(np.polyfit(strain[there], stress[there], 1)[0])
    ratios.append(-np.polyfit(strain[there], sideways[there], 1)[0])
elastic = (strain > RANGES[0][0]) & (strain < RANGES[0][1])
print(f"modulus      {min(moduli):6.1f} to {max(moduli):.1f} GPa, by the range of the fit")
print(f"Poisson      {min(ratios):6.3f} to {max(ratios):.3f}")
print(f"strength     {stress.max():6.1f} GPa at a strain of {strain[stress.argmax()]:.2f}")
print(f"at the end   {stress[-10:].mean():6.1f} GPa")

figure = Figure(figsize=(5.0, 3.6), dpi=100, layout="constrained")
axis = figure.subplots()
axis.plot(strain, stress)
axis.plot(strain[elastic], np.polyval(np.polyfit(strain[elastic], stress[elastic], 1), strain[elastic]), "--")
axis.set(xlabel="strain x", ylabel="stress xx (GPa)", title="Silicon, Stillinger-Weber, 300 K, 5e10/s")
figure.savefig(Path(__file__).with_suffix(".png"))
