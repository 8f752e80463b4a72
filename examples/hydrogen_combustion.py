"""Hydrogen burns: ReaxFF, molecules found by their bonds while the run goes, a plot of the species.

Run it:  python examples/hydrogen_combustion.py        (draws hydrogen_combustion.png)

Expect 40 H2 and 20 O2 to make more than ten H2O within 1 ps at 4000 K and 0.85 g/cm³, through HO2, HO and
H2O2: two minutes on two cores. A real flame takes very much longer. Heat and density make it short here. The
force field is that of K. Chenoweth, A. C. T. van Duin, W. A. Goddard, J. Phys. Chem. A 112, 1040 (2008).
"""

import sys
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import molecule
from matplotlib.figure import Figure

from taichimd import Bussi, ReaxFF, Simulation
from taichimd.app.live import Observations
from taichimd.observables.planning import make_plan

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
TIMESTEP = 0.2  # fs: at this temperature less than the usual 0.25 fs
TEMPERATURE = 4000.0  # K
SPACING = 2.8  # Å between the centres of molecules

# Molecules on a lattice, turned at random; four of its places stay empty.
rng = np.random.default_rng(1)
gas = Atoms(cell=[4 * SPACING] * 3, pbc=True)
for k, place in enumerate(rng.permutation(list(np.ndindex(4, 4, 4)))[:60]):
    one = molecule("O2" if k % 3 == 0 else "H2")
    one.rotate([0, 0, 1], rng.normal(size=3))
    one.translate((place + 0.5) * SPACING - one.positions.mean(axis=0))
    gas += one

simulation = Simulation(
    gas,
    ReaxFF("CHO.ffield"),
    timestep=TIMESTEP,
    temperature=TEMPERATURE,
    ensemble=Bussi(TEMPERATURE, coupling_time=20.0),
    seed=1,
)
observations = Observations(simulation.engine, make_plan(("species",), 0, STEPS, TIMESTEP, every=25))
simulation.run(STEPS, samplers=[observations])

folder = Path(__file__).with_name("hydrogen-combustion")
folder.mkdir(exist_ok=True)
for name, told in observations.write(folder, f"{len(gas)} atoms, {TEMPERATURE:.0f} K"):
    print(f"{name:14} {told}")
print(f"table          {folder.name}/species.csv")

table = np.genfromtxt(folder / "species.csv", delimiter=",", names=True)
figure = Figure(figsize=(6.0, 3.6), dpi=90, layout="constrained")
axis = figure.subplots()
for formula in ("H2", "O2", "H2O", "HO2", "H2O2"):
    axis.plot(table["time_ps"], table[formula], label=formula)
axis.set(xlabel="time (ps)", ylabel="molecules", title=f"{len(gas)} atoms, {TEMPERATURE:.0f} K")
axis.legend(frameon=False)
figure.savefig(Path(__file__).with_suffix(".png"))
