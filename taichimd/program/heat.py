"""The heat current of a set of atoms, from what an evaluation knows of each.

    J = d/dt sum_i r_i E_i = sum_i W_i v_i + sum_i E_i v_i,   E_i = U_i + m_i v_i^2/2

The virials W_i = sum_j r_ij (x) dU_j/dr_ji are those of `taichimd.enumerate.gather`. The first sum is the
potential part, eq. 30 of Z. Fan et al., Comput. Phys. Commun. 218, 10 (2017), doi:10.1016/j.cpc.2017.05.003;
the second the kinetic (convective) one. In a periodic cell r_i has no meaning, J has.

Currents are in eV angstrom per ASE's time unit, for the whole system: not divided by its volume.
`taichimd.estimators.transport` takes them as they are.
"""

from math import fsum
from typing import NamedTuple

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError


class HeatCurrent(NamedTuple):
    """A heat current in its two parts, eV angstrom per ASE's time unit, (3,) each."""

    potential: Array  # sum_i W_i v_i: work done by atoms on each other
    kinetic: Array  # sum_i E_i v_i: energy carried along by the atoms

    @property
    def total(self) -> Array:
        """Both parts, (3,)."""
        return self.potential + self.kinetic


def heat_current(energies: Array, virials: Array, velocities: Array, masses: Array) -> HeatCurrent:
    """Heat current of any atoms, on the host; `Engine.heat_current` is the same sum on the device.

    Sums over atoms are exactly rounded, so that the order of the atoms changes no bit.

    Args:
        energies: (n,) potential energies U_i, eV.
        virials: (n, 3, 3) virials W_i of `Evaluation.virials`, eV.
        velocities: (n, 3) angstrom per ASE's time unit.
        masses: (n,) amu.

    Returns:
        Potential and kinetic part.

    Raises:
        StructureError: velocities that are not finite numbers, or masses that are not positive.
    """
    bad = ~(np.isfinite(velocities).all(axis=1) & np.isfinite(masses) & (masses > 0))
    if bad.any():
        i = int(np.argmax(bad))
        raise StructureError(
            f"atom {i} (counted from 0) has velocity {velocities[i].tolist()} and mass {masses[i]}: "
            "a heat current needs finite velocities and positive masses"
        )
    # Written out: the order in which a library's dot product adds three terms is its own business.
    x, y, z = velocities.T
    work = virials[:, :, 0] * x[:, None] + virials[:, :, 1] * y[:, None] + virials[:, :, 2] * z[:, None]
    carried = (energies + 0.5 * masses * (x * x + y * y + z * z))[:, None] * velocities
    return HeatCurrent(*(np.array([fsum(c) for c in part.T.tolist()]) for part in (work, carried)))
