"""Silicon under pressure: a strained, rattled cell relaxes to each of several pressures.

Run it:  python examples/compress_silicon.py        (draws compress_silicon.png)

Expect 5.4309 angstrom at 0 GPa, 5.1548 at 20 GPa, and a bulk modulus of 101.4 GPa: (C11 + 2 C12)/3 of this
potential, with 151.4 and 76.4 GPa of E. R. Cowley, Phys. Rev. Lett. 60, 2379 (1988).
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import relax

silicon = bulk("Si", a=5.5, cubic=True)
silicon.rattle(0.05, seed=1)
silicon.set_cell(silicon.cell.array @ [[1.01, 0.01, 0], [0.01, 0.99, 0], [0, 0, 1]], scale_atoms=True)

pressures = np.array([-4.0, -2.0, -0.5, 0.0, 0.5, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0])
lengths = []
for pressure in pressures:
    result = relax(silicon, "Si.sw", cell="full", pressure=pressure, fmax=1e-4, smax=1e-4)
    assert result.converged, f"{result.reason} after {result.steps} steps"
    lengths.append(result.volume ** (1 / 3))
lengths = np.array(lengths)

# B = -V dP/dV, from the two pressures around zero; V goes with the cube of the length.
low, high = np.flatnonzero(abs(pressures) == 0.5)
modulus = -(pressures[high] - pressures[low]) / (3 * np.log(lengths[high] / lengths[low]))

print(f"lattice constant   {lengths[pressures == 0.0][0]:8.4f} angstrom")
print(f"at 20 GPa          {lengths[-1]:8.4f} angstrom")
print(f"bulk modulus       {modulus:8.1f} GPa")

figure = Figure(figsize=(5.0, 3.6), dpi=100, layout="constrained")
axis = figure.subplots()
axis.plot(pressures, lengths, "o-")
axis.set(xlabel="pressure (GPa)", ylabel="lattice constant (Å)", title="Silicon, Stillinger-Weber, relaxed")
figure.savefig(Path(__file__).with_suffix(".png"))
