"""What charge equilibration solves, as a `Form`: H s = -chi and H t = -1, then q = s - (sum s - Q)/(sum t) t.

A. Nakano, Comput. Phys. Commun. 104, 59 (1997). H is the `matrix`, M the factorised approximate inverse of
`precondition`, and D of the norm is the hardness eta.
"""

from taichimd.core.runtime import computed_in, ti
from taichimd.forcefields.reaxff.batched import Whose
from taichimd.forcefields.reaxff.conjugate_gradients import Form, Opening, product_function
from taichimd.forcefields.reaxff.matrix import MatrixFunctions
from taichimd.forcefields.reaxff.precondition import FactorFunctions


def linear_form(
    matrix_of: MatrixFunctions, close_to: FactorFunctions, whose: Whose, opening: Opening, given: bool
) -> Form:
    """The form.

    Args:
        matrix_of: functions of H.
        close_to: functions of the preconditioner.
        whose: numbers of which system.
        opening: of an iteration.
        given: whether each atom has a chi of its own (`electronegativity`), not that of its kind.
    """

    @ti.func
    def chi_of(i, g: ti.template()):
        """Electronegativity of an atom."""
        chi = 0.0
        if ti.static(given):
            chi = g.chi[i]
        else:
            chi = g.elements[2 * g.atoms.kind[i]]
        return chi

    @ti.func
    def diagonal(i, g: ti.template()):
        return g.elements[2 * g.atoms.kind[i] + 1]

    @ti.func
    def cold(i, g: ti.template()):
        eta = diagonal(i, g)
        return -chi_of(i, g) / eta, -1.0 / eta

    @computed_in(ti.f64)
    def start(i, found, g: ti.template()):
        """The residual of the guess z from a row's product, and no direction yet."""
        g.v.r[i] = ti.Vector([-chi_of(i, g), -1.0]) - (found + diagonal(i, g) * g.v.z[i])
        g.v.p[i] = ti.Vector.zero(ti.f64, 2)
        g.v.h[i] = ti.Vector.zero(ti.f64, 2)

    @computed_in(ti.f64)
    def keep(begins: ti.template(), i, found, g: ti.template()):
        """A row of w = H z."""
        g.v.w[i] = found + diagonal(i, g) * g.v.z[i]

    fill = matrix_of.fill_function(start)
    multiply = product_function(matrix_of, whose, opening, keep)

    @ti.func
    def open_solve(near: ti.template(), shifts: ti.template(), g: ti.template()):
        fill(near, shifts, g)
        close_to.factorise(shifts, g)
        close_to.apply(g)

    @ti.func
    def product(g: ti.template(), going: ti.template()):
        multiply(True, g.v.z, g, going)

    @ti.func
    def charge(i, net, sums, g: ti.template()):
        x = g.v.x[i]
        return x[0] - (sums[0] - net) / sums[1] * x[1]

    return Form(cold, diagonal, open_solve, product, close_to.apply, charge, singular=False)
