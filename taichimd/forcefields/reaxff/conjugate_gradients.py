"""An iteration of conjugate gradients for two right-hand sides at once, on the device.

Conjugate gradients with a single reduction (A. T. Chronopoulos, C. W. Gear, J. Comput. Appl. Math. 25, 153
(1989)): one read of the matrix A serves both columns. With the residual r = b - A x, z = M^-1 r and w = A z,

    gamma = r.z,  delta = w.z,  beta = gamma/gamma_old,  alpha = gamma/(delta - beta gamma/alpha_old),
    p = z + beta p,  h = w + beta h,  x = x + alpha p,  r = r - alpha h.

The norm is sqrt(sum of r^2/D)/|b| with a diagonal D. Both columns continue until both are within the
tolerance. The iteration that finds this has a direction and a step length already, so it improves x once
more: the guesses of later solves, which amplify what is left of the residual, become better. A `Form` says
what A, M and D are. Several systems are solved at once, each with its own sums and its own end (`batched`).
"""

from dataclasses import dataclass

from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.forcefields.reaxff.batched import FLAGS, Whose
from taichimd.forcefields.reaxff.dots import sum_functions
from taichimd.forcefields.reaxff.matrix import MatrixFunctions
from taichimd.forcefields.reaxff.solve_tables import (
    ALPHA,
    ASTRAY,
    FROZEN,
    GAMMA,
    GOING,
    INDEFINITE,
    ITERATIONS,
    NORM2,
    OLD_ALPHA,
    OLD_GAMMA,
    ONCE,
    RUNS,
    SOLVED,
    STATUS,
    TOO_MANY,
)

LEAST_CURVATURE = 1.0 / 16.0
"""Of p.A p over z.A z, which is about 1/(1 + beta): below it round-off has spoilt the direction."""


@dataclass(frozen=True)
class Form:
    """Device functions of what is solved: a matrix, its preconditioner and what the solutions mean."""

    cold: DeviceFunction  # (i, g) -> solutions of an atom by itself, a guess
    diagonal: DeviceFunction  # (i, g) -> D of the norm
    # (near, shifts, g): the matrix, the residual r of the guess z, and z = M^-1 r; with own loops
    open: DeviceFunction
    product: DeviceFunction  # (g, going): w = A z, and `begin_iteration` once; with own loops
    apply: DeviceFunction  # (g): z = M^-1 r; with own loops
    charge: DeviceFunction  # (i, net, sums, g) -> charge of an atom, from the sums of both solutions
    singular: bool  # whether A may be singular


@dataclass(frozen=True)
class Opening:
    """Device functions that a `Form` uses."""

    # (i, thread, does, g, going), in the loop over threads of rows of its first product
    begin_iteration: DeviceFunction
    last_norm2: DeviceFunction  # (i, g) -> sum of r^2/D of the last iteration of the system of an atom


def opening_functions(whose: Whose, many: int, batch: bool) -> Opening:
    """The functions.

    Args:
        whose: numbers of which system.
        many: threads of a row.
        batch: whether there are several systems.
    """

    @ti.func
    def begin_iteration(i, thread, does, g: ti.template(), going: ti.template()):
        k = whose.system(i, g)
        if ti.static(batch and bool(going)):
            # Systems that continue say so later in this iteration.
            if thread == 0:
                going[None] = 0
        if thread < g.atoms.n * many and thread % many == 0 and whose.begins(i, k, g):
            at = FLAGS * k
            g.progress.flags[at + RUNS] = ti.cast(does, ti.i32)
            if does:
                g.progress.flags[at + ITERATIONS] += 1
                g.progress.scalars[at + OLD_GAMMA] = g.progress.scalars[at + GAMMA]
                g.progress.scalars[at + OLD_ALPHA] = g.progress.scalars[at + ALPHA]

    @ti.func
    def last_norm2(i, g: ti.template()):
        return g.progress.scalars[FLAGS * whose.system(i, g) + NORM2][0]

    return Opening(begin_iteration, last_norm2)


def product_function(
    matrix_of: MatrixFunctions, whose: Whose, opening: Opening, keep: DeviceFunction
) -> DeviceFunction:
    """The device function (begins, x, g, going): the product of H without eta with x, with its own loop.

    Args:
        matrix_of: functions of H.
        whose: numbers of which system.
        opening: of an iteration, which the product begins if `begins`.
        keep: (begins, i, found, g), what becomes of a row's product.
    """
    many = matrix_of.threads

    @computed_in(ti.f64)
    def multiply(begins: ti.template(), x: ti.template(), g: ti.template(), going: ti.template()):
        for thread in range(g.threads):
            n = g.atoms.n
            i = ti.min(thread // many, n - 1)
            does = thread < n * many and whose.status(i, g) == GOING
            if ti.static(begins):
                opening.begin_iteration(i, thread, does, g, going)
            found = matrix_of.product(i, thread, does, n, g.matrix, x)
            if does and thread % many == 0:
                keep(begins, i, found, g)

    return multiply


def iteration_function(form: Form, whose: Whose, shared: bool, batch: bool, extended: bool) -> DeviceFunction:
    """The device function (g, going): an iteration, with its own loops.

    Args:
        form: what is solved.
        whose: numbers of which system.
        shared: whether threads share a row.
        batch: whether there are several systems.
        extended: whether charges are those of an extended Lagrangian (`extended`).
    """

    @ti.func
    def dots(i, g: ti.template()):
        r, z, w = g.v.r[i], g.v.z[i], g.v.w[i]
        scale = 1.0 / form.diagonal(i, g)
        return ti.Vector(
            [r[0] * z[0], r[1] * z[1], w[0] * z[0], w[1] * z[1], r[0] * r[0] * scale, r[1] * r[1] * scale]
        )

    add_dots = sum_functions(dots, shared, GOING, batch)

    @ti.func
    def coefficients(k, g: ti.template()):
        """Status, alpha, beta, gamma and sum of r^2/D of this iteration of system k, for every thread."""
        total, limit = add_dots.total(k, g), whose.limits(k, g)
        at = FLAGS * k
        gamma, delta = ti.Vector([total[0], total[1]]), ti.Vector([total[2], total[3]])
        alpha, beta = ti.Vector.zero(ti.f64, 2), ti.Vector.zero(ti.f64, 2)
        indefinite, spoilt = False, False
        for c in ti.static(range(2)):
            old_gamma = g.progress.scalars[at + OLD_GAMMA][c]
            old_alpha = g.progress.scalars[at + OLD_ALPHA][c]
            # What is not a number is neither zero nor positive.
            if gamma[c] != 0.0:
                curvature = delta[c]
                if old_alpha > 0.0:
                    beta[c] = gamma[c] / old_gamma
                    curvature -= beta[c] * gamma[c] / old_alpha
                if curvature > 0.0:
                    alpha[c] = gamma[c] / curvature
                elif ti.static(form.singular) and delta[c] > 0.0:
                    # Directions that round-off has spoilt: begin again with the steepest descent.
                    beta[c] = 0.0
                    alpha[c] = gamma[c] / delta[c]
                else:
                    indefinite = True
                spoilt = spoilt or curvature < LEAST_CURVATURE * delta[c]
        status = GOING
        near_enough = total[4] <= limit[0] and total[5] <= limit[1]
        if ti.static(extended):
            if g.progress.flags[at + ONCE] == 1:
                # Not `>`: what is not a number is astray.
                if not (
                    total[4] <= g.progress.looser2 * limit[0] and total[5] <= g.progress.looser2 * limit[1]
                ):
                    status = ASTRAY
                near_enough = False
        if near_enough:
            status = SOLVED
            if spoilt:
                alpha = ti.Vector.zero(ti.f64, 2)
        elif indefinite:
            status = INDEFINITE
        elif g.progress.flags[at + ITERATIONS] > g.progress.most:
            status = TOO_MANY
        return status, alpha, beta, gamma, ti.Vector([total[4], total[5]])

    @ti.func
    def improve_chunk(chunk, does, g: ti.template(), going: ti.template()):
        first, last, k = whose.chunk(chunk, g)
        at = FLAGS * k
        runs, zero = False, ti.Vector.zero(ti.f64, 2)
        if does:
            # Not the status, which the first thread changes in this loop.
            runs = g.progress.flags[at + RUNS] == 1
        status, alpha, beta, gamma, norm2 = FROZEN, zero, zero, zero, zero
        if runs:
            status, alpha, beta, gamma, norm2 = coefficients(k, g)
        if status == GOING or status == SOLVED:
            for i in range(first, last):
                p = g.v.z[i] + beta * g.v.p[i]
                h = g.v.w[i] + beta * g.v.h[i]
                g.v.x[i] += alpha * p
                g.v.r[i] -= alpha * h
                g.v.p[i] = p
                g.v.h[i] = h
        if does and whose.begins(first, k, g):
            if runs:
                g.progress.scalars[at + GAMMA] = gamma
                g.progress.scalars[at + ALPHA] = alpha
                g.progress.scalars[at + NORM2] = norm2
                g.progress.flags[at + STATUS] = status
            if ti.static(bool(going) and not batch):
                going[None] = ti.cast(status == GOING, ti.i32)
            if ti.static(bool(going) and batch and not extended):
                if status == GOING:
                    going[None] = 1

    @computed_in(ti.f64)
    def improve(g: ti.template(), going: ti.template()):
        if ti.static(shared):
            # As long as the loops of a product (`precondition.apply`), with chunks for the first threads.
            for thread in range(g.threads):
                improve_chunk(ti.min(thread, g.chunks - 1), thread < g.chunks, g, going)
        else:
            for chunk in range(g.chunks):
                improve_chunk(chunk, True, g, going)

    @ti.func
    def stop_one(k, g: ti.template(), going: ti.template()):
        at = FLAGS * k
        if g.progress.flags[at + ONCE] == 1 and g.progress.flags[at + STATUS] == GOING:
            g.progress.flags[at + STATUS] = SOLVED
            if ti.static(bool(going) and not batch):
                going[None] = 0
        if ti.static(bool(going) and batch):
            if g.progress.flags[at + STATUS] == GOING:
                going[None] = 1

    @ti.func
    def stop(g: ti.template(), going: ti.template()):
        """End solves of one iteration."""
        if ti.static(batch):
            for k in range(g.batched.first.shape[0]):
                stop_one(k, g, going)
        else:
            for k in range(1):
                stop_one(k, g, going)

    @ti.func
    def iteration(g: ti.template(), going: ti.template()):
        form.product(g, going)
        add_dots.pieces(g)
        improve(g, going)
        if ti.static(extended):
            stop(g, going)
        form.apply(g)

    return iteration
