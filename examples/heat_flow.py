"""Heat flows through solid argon from a hot slab to a cold one: power, temperature profile, conductivity.

Run it:  python examples/heat_flow.py        (draws heat_flow.png)

Expect about 0.085 eV/ps into the hot slab and out of the cold slab, a gradient of -0.35 K/Å, and a thermal
conductivity of 0.4 W/(m K): the cell is short, and phonons scatter at the baths.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import Langevin, Simulation

argon = bulk("Ar", cubic=True, a=5.35).repeat((16, 4, 4))
simulation = Simulation(
    argon,
    "Ar.lj",
    timestep=5.0,
    temperature=40,
    # The cell is periodic: heat goes both ways from the hot slab at 0 to the cold slab in the middle.
    groups={"hot": "fx < 0.125", "cold": "0.5 <= fx < 0.625"},
    acting=[
        Langevin(50, coupling_time=500, on="hot"),
        Langevin(30, coupling_time=500, on="cold", seed=2),
    ],
)
simulation.run(10_000, every=10_000)
measured = simulation.observe("flow,profile", 30_000, every=20, profile=("x", 5.35))
simulation.run(30_000, every=30_000, samplers=[measured])
found = measured.found()

powers = found["flow"].values
for name in ("hot", "cold"):
    print(f"power {name:5s} {powers[f'power_{name}'].value:8.4f} ± {powers[f'power_{name}'].error:.4f} eV/ps")

table = found["profile"].tables[0]
x, warm, error = table["x_A"], table["temperature_K"], table["error_temperature_K"]
between = (x > 14) & (x < 40)
gradient = np.polyfit(x[between], warm[between], 1)[0]
area = argon.cell[1, 1] * argon.cell[2, 2]
power = 0.5 * (powers["power_hot"].value - powers["power_cold"].value)
# Half of the power goes each way; 1 eV/(ps Å K) is 1602.18 W/(m K).
kappa = power / (2 * area) / -gradient * 1602.18
print(f"gradient    {gradient:8.4f} K/Å")
print(f"kappa       {kappa:8.3f} W/(m K)")

figure = Figure(figsize=(5.0, 3.6), dpi=100, layout="constrained")
axis = figure.subplots()
axis.errorbar(x, warm, error, fmt="o", markersize=4)
axis.axvspan(0, 0.125 * argon.cell[0, 0], color="#c8402f", alpha=0.2, label="hot")
axis.axvspan(0.5 * argon.cell[0, 0], 0.625 * argon.cell[0, 0], color="#1f6fb4", alpha=0.2, label="cold")
axis.set(xlabel="x (Å)", ylabel="temperature (K)", title="Solid argon between two baths")
axis.legend(frameon=False)
figure.savefig(Path(__file__).with_suffix(".png"))
