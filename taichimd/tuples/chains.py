"""A function of a chain i-j-k-l of three bonds, and its derivatives to the bond vectors.

A function of chains is a device function

    u, u_r, u_c, u_s = function(r, c, s, kinds, table)     # table: ti.template()

of r = (r_ij, r_jk, r_kl) in angstrom, c = (cos theta_ijk, cos theta_jkl, cos omega), the strengths
s = (s_ij, s_jk, s_kl), the species numbers of the four atoms, and a flat array of parameters. It returns the
energy u in eV and its slopes to r, c and s, three vectors of three. It must not depend on the direction in
which the chain is read. omega is the dihedral angle of IUPAC: 0 where i and l are on the same side (cis).

With unit vectors e along j->i, j->k, k->l,

    a = e_ji.e_jk = cos theta_ijk,   p = e_jk.e_kl = -cos theta_jkl,   h = e_ji.e_kl,
    cos omega = (h - a p) / S,   S = sin theta_ijk sin theta_jkl,

from which the slopes follow by the chain rule. They diverge where three atoms are in line: functions must
vanish there as S does, as torsions of ReaxFF do, and sines are kept from zero.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from taichimd.core.runtime import ti

LEAST_SIN2 = 1e-10
"""Squares of sines are taken to be at least this."""


@cache
def chain_slopes(function: Callable[..., Any], real: Any) -> Any:
    """Device function of three bonds, each (unit vector, length): energy, and the derivative to each.

    The bonds are j->i, j->k, k->l. A derivative holds in its first three components that to the bond's
    vector, eV/angstrom, and in its fourth that to its strength, eV.
    """
    vec3, vec4 = ti.types.vector(3, real), ti.types.vector(4, real)

    @ti.func
    def away(e, along, cosine):
        """Derivative of the cosine between two unit vectors to the vector along e, times its length."""
        return along - cosine * e

    @ti.func
    def together(g, slope):
        return vec4(g[0], g[1], g[2], slope)

    @ti.func
    def evaluate(ji, jk, kl, s, kinds, table: ti.template()):
        e, f, g = ji[:3], jk[:3], kl[:3]
        a, p, h = e.dot(f), f.dot(g), e.dot(g)
        sin2_a = ti.max(1.0 - a * a, LEAST_SIN2)
        sin2_p = ti.max(1.0 - p * p, LEAST_SIN2)
        inverse = 1.0 / ti.sqrt(sin2_a * sin2_p)
        cosine = (h - a * p) * inverse
        u, u_r, u_c, u_s = function(vec3(ji[3], jk[3], kl[3]), vec3(a, -p, cosine), s, kinds, table)
        to_a = u_c[0] + u_c[2] * (cosine * a / sin2_a - p * inverse)
        to_p = u_c[2] * (cosine * p / sin2_p - a * inverse) - u_c[1]
        to_h = u_c[2] * inverse
        g_ji = u_r[0] * e + (to_a * away(e, f, a) + to_h * away(e, g, h)) * (1.0 / ji[3])
        g_jk = u_r[1] * f + (to_a * away(f, e, a) + to_p * away(f, g, p)) * (1.0 / jk[3])
        g_kl = u_r[2] * g + (to_p * away(g, f, p) + to_h * away(g, e, h)) * (1.0 / kl[3])
        return u, together(g_ji, u_s[0]), together(g_jk, u_s[1]), together(g_kl, u_s[2])

    return evaluate
