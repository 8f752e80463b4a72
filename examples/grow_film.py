"""A film grows: a beam of argon atoms meets a cold crystal, and atoms that leave are deleted.

Run it:  python examples/grow_film.py        (draws grow_film.png)

Expect that all 144 atoms of the beam stay: two new layers and the beginning of a third. An atom brings
0.03 eV of kinetic energy and gains about 0.06 eV where it is bound. The bath below takes this heat away: the
film ends at 34 K. Half a minute.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from ase.constraints import FixAtoms
from matplotlib.figure import Figure

from taichimd import Delete, Insert, Langevin, Simulation

PIECE = 500  # steps between two looks

slab = bulk("Ar", cubic=True, a=5.27).repeat((6, 6, 2))
slab.cell[2, 2] = 42.0
slab.positions[:, 2] += 1.0
slab.pbc = [True, True, False]
slab.set_constraint(FixAtoms(slab.positions[:, 2] < 2.0))
top, before = slab.positions[:, 2].max(), len(slab)

beam = Insert(
    "Ar", every=400.0, region="z > 34 and z < 36", velocity=(0, 0, -4), temperature=10.0, number=144
)
simulation = Simulation(
    slab,
    "Ar.lj",
    timestep=2.0,
    temperature=20,
    groups={"base": "z > 2 and z < 7"},
    acting=[Langevin(20, coupling_time=200, on="base"), beam, Delete("Ar", every=400.0, region="z > 37")],
)
time, counts, conserved = [], [], []
for _ in range(62):
    simulation.run(PIECE, report_first=False)
    books = simulation.exchange.of
    time.append(simulation.step * 2.0e-3)
    counts.append([books["insert_Ar"]["molecules"], books["delete_Ar"]["molecules"]])
    conserved.append(simulation.thermo().conserved)
counts = np.array(counts)
film = simulation.atoms()
z = film.positions[:, 2] - top
bound = int((z[before:] < 12.0).sum())
print(f"inserted    {counts[-1, 0]:6d}")
print(f"deleted     {counts[-1, 1]:6d}")
print(f"in the film {bound:6d}")
print(f"temperature {simulation.thermo().temperature:6.1f} K")
print(f"drift       {1e6 * (conserved[-1] - conserved[0]) / len(film):6.1f} µeV per atom")

figure = Figure(figsize=(6.8, 3.2), dpi=80, layout="constrained")
left, right = figure.subplots(1, 2)
left.plot(time, counts[:, 0], label="inserted")
left.plot(time, counts[:, 1], label="deleted")
left.set(xlabel="time (ps)", ylabel="atoms", title="A beam of argon")
left.legend(frameon=False)
for label, part in (("crystal", z[:before]), ("beam", z[before:])):
    right.hist(part, bins=np.arange(-9, 10, 0.25), label=label, alpha=0.8)
right.set(xlabel="height above the crystal (Å)", ylabel="atoms", title=f"Layers after {time[-1]:.0f} ps")
right.legend(frameon=False)
figure.savefig(Path(__file__).with_suffix(".png"))
