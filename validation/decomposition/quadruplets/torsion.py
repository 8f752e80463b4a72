"""Bond orders and a torsion of carbon, of ReaxFF's form and usual size; no published parameters."""

import numpy as np
from numpy.typing import NDArray

from taichimd.core.math import exp
from taichimd.core.runtime import ti

TORSION = (0.02, 0.9, 0.03, 2.5, 7.0)
"""V1, V2, V3 (eV) and two exponents."""


def bond_order(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smooth in distance: 0.97 at 1.54 angstrom, 0.06 at 2.52."""
    return np.exp(-0.03 * (r / 1.54) ** 9.3)


@ti.func
def torsion(r, c, s, table: ti.template()):
    """A function of chains, with the parameters `TORSION`.

    A. C. T. van Duin et al., J. Phys. Chem. A 105, 9396 (2001), eq. 10, without the correction by
    overcoordination and with one bond order for sigma and pi bonds.
    """
    v1, v2, v3, steep, fall = table[0], table[1], table[2], table[3], table[4]
    g = ti.Vector([exp(-fall * s[0]), exp(-fall * s[1]), exp(-fall * s[2])])
    f = 1.0 - g
    sin_j = ti.sqrt(ti.max(1.0 - c[0] * c[0], 1e-10))
    sin_k = ti.sqrt(ti.max(1.0 - c[1] * c[1], 1e-10))
    pull = v2 * exp(-steep * (s[1] - 1.0) * (s[1] - 1.0))
    w = c[2]
    # cos 2w = 2 cos^2 w - 1, cos 3w = 4 cos^3 w - 3 cos w
    twist = 0.5 * v1 * (1.0 + w) + pull * (1.0 - w * w) + 0.5 * v3 * (1.0 + w * (4.0 * w * w - 3.0))
    d_twist = 0.5 * v1 - 2.0 * pull * w + 0.5 * v3 * (12.0 * w * w - 3.0)
    weight, sines = f[0] * f[1] * f[2], sin_j * sin_k
    u = weight * sines * twist
    u_c = ti.Vector([-c[0] * sin_k / sin_j * twist, -c[1] * sin_j / sin_k * twist, sines * d_twist])
    u_s = ti.Vector([g[0] * f[1] * f[2], f[0] * g[1] * f[2], f[0] * f[1] * g[2]]) * (fall * sines * twist)
    u_s[1] += weight * sines * (-2.0 * steep) * (s[1] - 1.0) * pull * (1.0 - w * w)
    return u, ti.Vector([0.0, 0.0, 0.0]), weight * u_c, u_s
