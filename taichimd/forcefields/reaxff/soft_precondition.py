"""Preconditioner of ACKS2: z = p(L) G^T G p(L) r.

In L + L H L (`softness`) the second term is the larger one, and its inverse is that of L, of H and of L
again. G^T G is the approximate inverse of H of QEq (`precondition`). p(L) stands for the inverse of L: the
Chebyshev iteration, started from 0, with `DEGREE` products (Y. Saad, Iterative Methods for Sparse Linear
Systems, 2nd edition, SIAM (2003), algorithm 12.1) for D^-1 L, whose eigenvalues are from 0 to 2 because

    D_i = sqrt(L_ii (L_ii + 1/eta_i))

is at least the sum of the row's couplings. An atom that is coupled weakly has about D_i^-2/eta_i =
1/(L_ii + L_ii eta_i L_ii), as it should. Eigenvalues below `MIN_EIGENVALUE` are of molecules that are
coupled weakly to others; p(L) has the sign of the inverse there, too, so z is symmetric and positive in r.

Sums over a row have a grid, as in `softness`, and the order of loops is fixed: bits depend on the positions
and on r alone.
"""

from dataclasses import dataclass

from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.forcefields.reaxff.precondition import FactorFunctions
from taichimd.forcefields.reaxff.softness import SoftFunctions, power_of_two

DEGREE = 10
"""Products with L of one p(L), an even number. A row of L has about 8 entries in water, one of H 400."""
MIN_EIGENVALUE, MAX_EIGENVALUE = 0.02, 2.0
"""Eigenvalues of D^-1 L between which p(L) is nearest to the inverse."""


def chebyshev(least: float, most: float, degree: int) -> tuple[float, list[tuple[float, float]]]:
    """Numbers of the Chebyshev iteration for the inverse of a matrix.

    Args:
        least: smallest eigenvalue.
        most: largest eigenvalue.
        degree: number of products with the matrix.

    Returns:
        The factor of the first iterate, and for each further step the factor of the last change of the
        iterate and that of the residual.
    """
    middle, half = 0.5 * (most + least), 0.5 * (most - least)
    rho, steps = half / middle, []
    for _ in range(degree):
        following = 1.0 / (2.0 * middle / half - rho)
        steps.append((following * rho, 2.0 * following / half))
        rho = following
    return 1.0 / middle, steps


@dataclass(frozen=True)
class SoftPreconditioner:
    """Device functions, with their own loops. `factorise`: G, (shifts, g). `apply`: z from r, (g)."""

    factorise: DeviceFunction
    apply: DeviceFunction


def soft_preconditioner(
    soft_of: SoftFunctions, close_to: FactorFunctions, status: DeviceFunction, norm2: DeviceFunction
) -> SoftPreconditioner:
    """The functions.

    Args:
        soft_of: functions of L.
        close_to: functions of G.
        status: device function, the status of the solve of an atom (`batched`).
        norm2: device function, the sum of r^2/diagonal of the last iteration of an atom's system.
    """
    factor, steps = chebyshev(MIN_EIGENVALUE, MAX_EIGENVALUE, DEGREE)

    many = soft_of.threads

    @ti.func
    def first(i, right: ti.template(), g: ti.template()):
        """First iterate of L y = right, of an atom: no loop of its own."""
        return factor * right[i][0] / g.soft.size[i]

    times_first = soft_of.times_of(first, many)

    @computed_in(ti.f64)
    def step(
        number: ti.template(), right: ti.template(), last: ti.template(), y: ti.template(), g: ti.template()
    ):
        """The iterate after `last`, in the place of the one before it."""
        for thread in range(g.threads):
            i, does = soft_of.row(thread, g)
            scale = power_of_two(norm2(i, g))
            here, product = 0.0, 0.0
            if ti.static(number == 0):
                here, product = first(i, right, g), times_first(i, thread, does, right, g, scale)
            else:
                here, product = last[i][0], soft_of.times(i, thread, does, last, g, scale)
            if does and thread % many == 0:
                change = here
                if ti.static(number == 1):
                    change -= first(i, right, g)
                elif ti.static(number > 1):
                    change -= y[i][0]
                left = right[i][0] - product
                change = steps[number][0] * change + steps[number][1] * left / g.soft.size[i]
                y[i] = ti.Vector([here + change, 0.0])

    @ti.func
    def iterate(right: ti.template(), one: ti.template(), other: ti.template(), g: ti.template()):
        """Find p(L) right, from the first iterate in `one` to the last one in `one`."""
        for number in ti.static(range(DEGREE)):
            if ti.static(number % 2 == 0):
                step(number, right, one, other, g)
            else:
                step(number, right, other, one, g)

    @computed_in(ti.f64)
    def middle(g: ti.template()):
        """Find w = G^T G left."""
        for i in range(g.threads):
            if i < g.atoms.n and status(i, g) == 0:
                g.v.u[i] = close_to.row(i, 1, g.matrix.shift_bits, g.atoms, g.close, g.soft.left)
        for i in range(g.threads):
            if i < g.atoms.n and status(i, g) == 0:
                g.v.w[i] = close_to.row(i, 0, g.matrix.shift_bits, g.atoms, g.close, g.v.u)

    @ti.func
    def apply(g: ti.template()):
        iterate(g.v.r, g.soft.left, g.soft.inner, g)
        middle(g)
        iterate(g.v.w, g.v.z, g.v.u, g)

    return SoftPreconditioner(close_to.factorise, apply)
