"""An embedded-atom potential of one's own: copper in the second-moment approximation.

    U_i = sum_j A exp(-p (r_ij/r0 - 1)) - sqrt(rho_i),   rho_i = sum_j xi^2 exp(-2 q (r_ij/r0 - 1))

The energy of an atom needs a sum over its neighbours first, and the force on it the sums of its neighbours,
too: three passes. Parameters: F. Cleri, V. Rosato, Phys. Rev. B 48, 22 (1993), doi:10.1103/PhysRevB.48.22.

    taichimd check examples/own_many_body.py:copper --elements Cu
    python examples/own_many_body.py        (draws own_many_body.png)

Expect a consistent force field, and a cohesive energy of 3.550 eV per atom at a lattice constant of 3.61 Å.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import ManyBody, TaichiMD, check_forcefield, each_atom, neighbour_sum, pair_forces
from taichimd.math import exp, sqrt


@neighbour_sum("density")
def density(r, p, mine, theirs):
    return p.xi * p.xi * exp(-2.0 * p.q * (r / p.r0 - 1.0))


@each_atom("slope")
def embedding(mine):
    root = sqrt(mine.density)
    return -root, -0.5 / root


@pair_forces
def bonds(r, p, mine, theirs):
    repulsion = p.A * exp(-p.p * (r / p.r0 - 1.0))
    repulsion_slope = -p.p / p.r0 * repulsion
    density_slope = -2.0 * p.q / p.r0 * (p.xi * p.xi * exp(-2.0 * p.q * (r / p.r0 - 1.0)))
    to_mine = repulsion_slope + mine.slope * density_slope
    to_theirs = repulsion_slope + theirs.slope * density_slope
    return repulsion, to_mine, to_theirs


second_moment = ManyBody(
    "second_moment", [density, embedding, bonds], arrays=("density", "slope"),
    params={"A": "eV", "xi": "eV", "p": "1", "q": "1", "r0": "Å"},
    reference="F. Cleri, V. Rosato, Phys. Rev. B 48, 22 (1993), doi:10.1103/PhysRevB.48.22",
)  # fmt: skip
copper = second_moment(A=0.0855, xi=1.224, p=10.960, q=2.278, r0=2.556, cutoff=7.0)

if __name__ == "__main__":
    print(check_forcefield(copper, elements=["Cu"]))
    crystal = bulk("Cu", a=3.6, cubic=True)
    crystal.calc = TaichiMD(copper)
    lengths = np.linspace(3.5, 3.75, 26)
    energies = []
    for length in lengths:
        crystal.set_cell(3 * [length], scale_atoms=True)
        energies.append(crystal.get_potential_energy() / len(crystal))
    best = int(np.argmin(energies))
    print(f"cohesive energy {-energies[best]:.3f} eV per atom (measured: 3.5)")
    print(f"lattice constant {lengths[best]:.2f} Å (measured: 3.61)")

    figure = Figure(figsize=(5.0, 3.4), dpi=100, layout="constrained")
    axis = figure.subplots()
    axis.plot(lengths, energies)
    axis.set(xlabel="lattice constant (Å)", ylabel="energy (eV/atom)", title="Copper, second moments")
    figure.savefig(Path(__file__).with_suffix(".png"))
