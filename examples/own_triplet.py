"""Your own three-body potential: Stillinger-Weber silicon, energies alone; SymPy finds the slopes.

Run it:  python examples/own_triplet.py        (draws own_triplet.png)
Or:      taichimd check examples/own_triplet.py:silicon

Expect -4.3366 eV/atom for the diamond crystal, the lowest of the four, at 5.431 angstrom.
F. H. Stillinger and T. A. Weber, Phys. Rev. B 31, 5262 (1985), doi:10.1103/PhysRevB.31.5262; epsilon for
the measured cohesive energy of silicon.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import TaichiMD, check_forcefield, pair_potential, triplet_potential
from taichimd.math import exp

PAPER = "F. H. Stillinger and T. A. Weber, Phys. Rev. B 31, 5262 (1985)"


@pair_potential(params={"epsilon": "eV", "sigma": "Å", "A": "1", "B": "1"}, reference=PAPER, derive=True)
def sw_pair(r, p):
    """Energy A ε [B (σ/r)⁴ - 1] exp[σ/(r - r_c)] in eV, r_c = p.cutoff (eq. 2.3 with p = 4, q = 0)."""
    return p.A * p.epsilon * (p.B * (p.sigma / r) ** 4 - 1.0) * exp(p.sigma / (r - p.cutoff))


@triplet_potential(
    params={"epsilon": "eV", "sigma": "Å", "lam": "1", "gamma": "1"}, reference=PAPER, derive=True
)
def sw_angle(r_ij, r_ik, cos_jik, p):
    """Energy λ ε (cos θ + 1/3)² exp[γσ/(r_ij - r_c) + γσ/(r_ik - r_c)] in eV (eqs. 2.4, 2.5)."""
    decay = exp(p.gamma * p.sigma / (r_ij - p.cutoff) + p.gamma * p.sigma / (r_ik - p.cutoff))
    return p.lam * p.epsilon * (cos_jik + 1.0 / 3.0) ** 2 * decay


scale = {"epsilon": 2.1683, "sigma": 2.0951, "cutoff": 1.80 * 2.0951}
silicon = sw_pair(table={"Si": {"A": 7.049556277, "B": 0.6022245584, **scale}}) + sw_angle(
    table={"Si": {"lam": 21.0, "gamma": 1.20, **scale}}
)

if __name__ == "__main__":
    print(check_forcefield(silicon))
    figure = Figure(figsize=(5.0, 3.4), dpi=100, layout="constrained")
    axis = figure.subplots()
    for kind, a in (("diamond", 5.431), ("sc", 2.61), ("bcc", 3.25), ("fcc", 4.15)):
        energies, volumes = [], []
        for scaling in np.linspace(0.94, 1.06, 25):
            crystal = bulk("Si", kind, a=a * scaling)
            crystal.calc = TaichiMD(silicon)
            energies.append(crystal.get_potential_energy() / len(crystal))
            volumes.append(crystal.get_volume() / len(crystal))
        print(f"{kind:<8} {min(energies):9.4f} eV/atom at {volumes[int(np.argmin(energies))]:5.2f} Å³/atom")
        axis.plot(volumes, energies, label=kind)
    axis.set(xlabel="volume (Å³/atom)", ylabel="energy (eV/atom)", title="Stillinger-Weber silicon, declared")
    axis.legend(frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"))
