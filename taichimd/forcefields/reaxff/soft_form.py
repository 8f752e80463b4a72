"""What ACKS2 solves, as a `Form`: (L + L H L) u = -L (chi + phi + H q0), then q = q0 + L u (`softness`).

Only the first column is used.
"""

from taichimd.core.runtime import computed_in, ti
from taichimd.forcefields.reaxff.batched import Whose
from taichimd.forcefields.reaxff.conjugate_gradients import Form, Opening, product_function
from taichimd.forcefields.reaxff.matrix import MatrixFunctions
from taichimd.forcefields.reaxff.soft_precondition import SoftPreconditioner
from taichimd.forcefields.reaxff.softness import SoftFunctions, first_column, power_of_two


def soft_form(
    matrix_of: MatrixFunctions,
    soft_of: SoftFunctions,
    preconditioner: SoftPreconditioner,
    whose: Whose,
    opening: Opening,
) -> Form:
    """The form.

    Args:
        matrix_of: functions of H.
        soft_of: functions of L.
        preconditioner: M.
        whose: numbers of which system.
        opening: of an iteration.
    """

    @ti.func
    def diagonal(i, g: ti.template()):
        return g.soft.diagonal[i]

    @ti.func
    def cold(i, g: ti.template()):
        return 0.0, 0.0

    @computed_in(ti.f64)
    def keep(begins: ti.template(), i, found, g: ti.template()):
        """A row of `inner`, H L z + z (of a guess chi + H q + z)."""
        scale = 1.0
        if ti.static(begins):
            scale = power_of_two(opening.last_norm2(i, g))
        value = found + g.elements[2 * g.atoms.kind[i] + 1] * g.soft.left[i]
        value = value / scale + g.v.z[i]
        if ti.static(not begins):
            value[0] += g.chi[i]
        g.soft.inner[i] = value

    multiply = product_function(matrix_of, whose, opening, keep)
    fill = matrix_of.fill_function(None)
    times = soft_of.times_of(first_column, 1)

    @ti.func
    def open_solve(near: ti.template(), shifts: ti.template(), g: ti.template()):
        fill(near, shifts, g)
        soft_of.fill(near, shifts, g)
        soft_of.left(True, g)
        multiply(False, g.soft.left, g, None)
        soft_of.residual(g)
        preconditioner.factorise(shifts, g)
        preconditioner.apply(g)

    @ti.func
    def product(g: ti.template(), going: ti.template()):
        soft_of.left(False, g)
        multiply(True, g.soft.left, g, going)
        soft_of.product(g)

    @ti.func
    def charge(i, net, sums, g: ti.template()):
        return g.soft.reference[i] + times(i, 0, True, g.v.x, g, 1.0)

    return Form(cold, diagonal, open_solve, product, preconditioner.apply, charge, singular=True)
