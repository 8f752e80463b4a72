"""A ball indents silicon: force against depth, beside Hertz's law, and atoms that were pushed aside.

Run it:  python examples/indent_silicon.py        (draws indent_silicon.png)

Expect a force that grows as depth^1.5 until 2 Å, with E* near 160 GPa. An infinite crystal has 136 GPa:
the slab is thin, and silicon becomes stiffer under pressure.
"""

from pathlib import Path

import numpy as np
from ase.build import diamond111
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from taichimd import Drag, Indenter, Simulation, Spring
from taichimd.core import units

radius, speed = 30.0, 1.0  # Å, Å/ps
silicon = diamond111("Si", (12, 12, 25), a=5.431)
# The uppermost layer hangs on one bond each: without it the surface has three bonds.
del silicon[silicon.positions[:, 2] > silicon.positions[:, 2].max() - 0.1]
silicon.center(vacuum=10, axis=2)
silicon.pbc = [True, True, False]
silicon.set_velocities(np.full((len(silicon), 3), 1e-9))
z = silicon.positions[:, 2]
middle, top = (silicon.cell[0] + silicon.cell[1]) / 2, z.max()

simulation = Simulation(
    silicon,
    "Si.sw",
    timestep=1.0,
    acting=[
        Indenter(
            "sphere", (middle[0], middle[1], top + radius), radius, 50, velocity=(0, 0, -speed), name="ball"
        ),
        Spring(50.0, on=z < z.min() + 3, name="base"),  # holds the lowest layers in place
        Drag(200.0),  # takes heat away
    ],
)
depth, force = [], []
for _ in range(50):
    simulation.run(50, report_first=False)
    ball = simulation.drives()["ball"]
    depth.append(top + radius - ball["place"][2])
    force.append(ball["force"][2])
depth, force = np.array(depth), np.array(force)

# Hertz: F = 4/3 E* sqrt(R) (d - d0)^1.5, so F^(2/3) is a line.
elastic = (depth > 0.5) & (depth < 1.5)
slope, start = np.polyfit(depth[elastic], force[elastic] ** (2 / 3), 1)
contact, modulus = -start / slope, 0.75 * slope**1.5 / np.sqrt(radius)
print(f"E*        {modulus / units.GPA:6.0f} GPa")
print(f"contact   {contact:6.2f} Å")
print(f"work      {ball['work']:6.2f} eV")

figure = Figure(figsize=(6.8, 3.2), dpi=76, layout="constrained")
left, right = figure.subplots(1, 2)
left.plot(depth, force, "o", markersize=3, label="ball")
line = np.linspace(contact, depth.max(), 100)
left.plot(line, 4 / 3 * modulus * np.sqrt(radius) * (line - contact) ** 1.5, label="Hertz's law")
left.set(xlabel="depth (Å)", ylabel="force (eV/Å)", title="Silicon (111) under a ball")
left.legend(frameon=False)
x = simulation.positions()
near = np.abs(x[:, 1] - middle[1]) < 4
moved = np.linalg.norm(x - silicon.positions, axis=1)
dots = right.scatter(x[near, 0], x[near, 2] - top, c=moved[near], s=8, cmap="viridis")
right.add_patch(Circle((middle[0], radius - depth[-1]), radius, alpha=0.2))
right.set(
    xlim=(middle[0] - 22, middle[0] + 22), ylim=(-30, 8), xlabel="x (Å)", ylabel="z (Å)", aspect="equal"
)
figure.colorbar(dots, label="moved (Å)")
figure.savefig(Path(__file__).with_suffix(".png"))
