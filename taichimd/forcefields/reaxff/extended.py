"""Charges of an extended Lagrangian: auxiliary solutions that move in time beside the atoms.

Auxiliary values x of both systems of equations of `linear_form` are drawn to their solutions by harmonic
forces. A time-reversible Verlet step with weak dissipation moves them (A. M. N. Niklasson et al., J. Chem.
Phys. 130, 214109 (2009), K = 4):

    x(n+1) = 2 x(n) - x(n-1) + kappa (s(n) - x(n)) + alpha sum over k = 0..4 of c_k x(n-k).

A step begins its solve with x and does one iteration of conjugate gradients, whatever is left (K. Nomura et
al., Comput. Phys. Commun. 192, 91 (2015)). The first five solves continue to the tolerance: their solutions
are the first auxiliary values.

Place 0 holds the guess of the present solve: an evaluation that is repeated at the same positions has the
same bits.
"""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle
from taichimd.core.runtime import ti
from taichimd.forcefields.reaxff.history import JUMP, STEP, extrapolated

KAPPA, ALPHA = 1.75, 0.057
DISSIPATION = (-3.0, 6.0, -2.0, -2.0, 1.0)
"""c_k; their sum and that of k c_k are 0: a constant and a straight line in time are kept."""
LENGTH = len(DISSIPATION)
EXTENDED = LENGTH + 1
"""Value of `solved` from which a solve is a single iteration."""


class Auxiliary(Bundle):
    """Solutions and auxiliary values, a state of the atoms, in spatial order."""

    solved: Any = ArrayField("real", "n", "how many solutions there are, the newest one included, up to 6")
    s0: Any = ArrayField("real", "n", "newest s, e")
    t0: Any = ArrayField("real", "n", "newest t, e/V")
    x0: Any = ArrayField("real", "n", "auxiliary s with which the newest solve began, e")
    x1: Any = ArrayField("real", "n", "that of the step before, e")
    x2: Any = ArrayField("real", "n", "two steps before, e")
    x3: Any = ArrayField("real", "n", "three steps before, e")
    x4: Any = ArrayField("real", "n", "four steps before, e")
    y0: Any = ArrayField("real", "n", "auxiliary t with which the newest solve began, e/V")
    y1: Any = ArrayField("real", "n", "that of the step before, e/V")
    y2: Any = ArrayField("real", "n", "two steps before, e/V")
    y3: Any = ArrayField("real", "n", "three steps before, e/V")
    y4: Any = ArrayField("real", "n", "four steps before, e/V")


@ti.func
def moved(known, s, x0, x1, x2, x3, x4):
    """The newest past value and the next one, after `known` solutions, s the last one."""
    last = x0
    if known < EXTENDED:
        last = s
    following = extrapolated(ti.min(known, 4), last, x1, x2, x3)
    if known >= LENGTH:
        c = ti.static(DISSIPATION)
        pull = c[0] * last + c[1] * x1 + c[2] * x2 + c[3] * x3 + c[4] * x4
        following = 2.0 * last - x1 + KAPPA * (s - last) + ALPHA * pull
    return last, following


@ti.func
def auxiliary_guess(i, cold_s, cold_t, stepping, past: ti.template()):
    """First s and t of atom i, and whether one iteration is enough; `stepping`: see `history`."""
    known = ti.cast(past.solved[i], ti.i32)
    if known == 0:
        known = 1
        past.x0[i], past.y0[i] = cold_s, cold_t
    elif stepping == JUMP:
        known = 1
        past.x0[i], past.y0[i] = past.s0[i], past.t0[i]
    elif stepping == STEP:
        x, next_x = moved(known, past.s0[i], past.x0[i], past.x1[i], past.x2[i], past.x3[i], past.x4[i])
        y, next_y = moved(known, past.t0[i], past.y0[i], past.y1[i], past.y2[i], past.y3[i], past.y4[i])
        past.x4[i], past.x3[i], past.x2[i] = past.x3[i], past.x2[i], past.x1[i]
        past.y4[i], past.y3[i], past.y2[i] = past.y3[i], past.y2[i], past.y1[i]
        past.x1[i], past.y1[i], past.x0[i], past.y0[i] = x, y, next_x, next_y
        known = ti.min(known + 1, EXTENDED)
    past.solved[i] = known
    return ti.cast(past.x0[i], ti.f64), ti.cast(past.y0[i], ti.f64), ti.cast(known == EXTENDED, ti.i32)
