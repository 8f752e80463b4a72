"""The first guess of a solution: a polynomial through those of past steps.

With constant time steps, the polynomial of order k - 1 through k past values has at the next step the value

    k = 1: f1,   2: 2 f1 - f2,   3: 3 f1 - 3 f2 + f3,   4: 4 f1 - 6 f2 + 4 f3 - f4.

The solution s of H s = -chi uses up to four past steps, t of H t = -1 up to three: t changes less.

What the tolerance leaves of a residual is amplified by these polynomials. In ACKS2 it lies in the slow modes
of the solver: it would grow from step to step, until each solve removes it by many iterations. So u has the
guess of a predictor that damps such errors (J. Kolafa, J. Comput. Chem. 25, 335 (2004), k = 1):

    2.5 f1 - 2 f2 + 0.5 f3.

Place 0 holds the newest solution. A step first moves all solutions by one place; so an evaluation that is
repeated at the same positions has the same guess, and the same bits. Where atoms have jumped, as between two
calls of a calculator, the guess is the last solution, and those before it are forgotten.
"""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle
from taichimd.core.runtime import DeviceFunction, ti

BESIDE, STEP, JUMP = range(3)
"""What an evaluation is: repeated beside a run, a step, or one at other positions."""
ORDER_S, ORDER_T = 4, 3
"""Past solutions that the guess takes at most."""


class Past(Bundle):
    """Solutions of past steps, a state of the atoms, in spatial order."""

    solved: Any = ArrayField(
        "real", "n", "how many solutions there are, the newest one included, up to 5; after a jump -1"
    )
    s0: Any = ArrayField("real", "n", "newest s, e")
    s1: Any = ArrayField("real", "n", "that of the step before, e")
    s2: Any = ArrayField("real", "n", "two steps before, e")
    s3: Any = ArrayField("real", "n", "three steps before, e")
    s4: Any = ArrayField("real", "n", "four steps before, e")
    t0: Any = ArrayField("real", "n", "newest t, e/V")
    t1: Any = ArrayField("real", "n", "that of the step before, e/V")
    t2: Any = ArrayField("real", "n", "two steps before, e/V")
    t3: Any = ArrayField("real", "n", "three steps before, e/V")


@ti.func
def extrapolated(known, f1, f2, f3, f4, damps: ti.template() = False):
    """The next value after f1 (newest) to f4, `known` of which are known; `damps`: of ACKS2."""
    next_one = f1
    if known == 2:
        next_one = 2.0 * f1 - f2
    elif ti.static(damps):
        if known >= 3:
            next_one = 2.5 * f1 - 2.0 * f2 + 0.5 * f3
    elif known == 3:
        next_one = 3.0 * (f1 - f2) + f3
    elif known >= 4:
        next_one = 4.0 * (f1 + f3) - (6.0 * f2 + f4)
    return next_one


@ti.func
def move_on(i, past: ti.template()):
    """Move the solutions of atom i by one place."""
    past.s4[i] = past.s3[i]
    past.s3[i] = past.s2[i]
    past.s2[i] = past.s1[i]
    past.s1[i] = past.s0[i]
    past.t3[i] = past.t2[i]
    past.t2[i] = past.t1[i]
    past.t1[i] = past.t0[i]


def guess_function(damps: bool) -> DeviceFunction:
    """The device function (i, cold_s, cold_t, stepping, past) -> first s and t, and 0; `damps`: of ACKS2."""

    @ti.func
    def guess(i, cold_s, cold_t, stepping, past: ti.template()):
        """First s and t of atom i; the solve iterates to the tolerance. `stepping`: kind of evaluation."""
        known = ti.cast(past.solved[i], ti.i32)
        if stepping == STEP:
            move_on(i, past)
            known = ti.min(ti.abs(known) + 1, ORDER_S + 1)
        elif stepping == JUMP and known != 0:
            move_on(i, past)
            known = -1
        if known == 0:
            known = 1
        past.solved[i] = known
        s, t = cold_s, cold_t
        if known != 1:
            orders = ti.max(known - 1, 1)
            s = ti.cast(extrapolated(orders, past.s1[i], past.s2[i], past.s3[i], past.s4[i], damps), ti.f64)
            t = ti.cast(
                extrapolated(ti.min(orders, ORDER_T), past.t1[i], past.t2[i], past.t3[i], past.t3[i]), ti.f64
            )
        return s, t, 0

    return guess
