"""Charge equilibration: conjugate gradients for both solutions at once, on the device.

    H s = -chi,  H t = -1,  q = s - (sum s - Q)/(sum t) t:

A. Nakano, Comput. Phys. Commun. 104, 59 (1997). Conjugate gradients with a single reduction (A. T.
Chronopoulos, C. W. Gear, J. Comput. Appl. Math. 25, 153 (1989)): one read of the matrix serves both columns.
With the residual r = b - H x, z = M^-1 r (`precondition`) and w = H z,

    gamma = r.z,  delta = w.z,  beta = gamma/gamma_old,  alpha = gamma/(delta - beta gamma/alpha_old),
    p = z + beta p,  h = w + beta h,  x = x + alpha p,  r = r - alpha h.

The norm is sqrt(sum of r^2/eta)/|b|. Both columns continue until both are within the tolerance. An iteration
is five loops: product, sums of pieces (`dots`), what follows from the totals, and two of the preconditioner.
Several systems are solved at once, each with its own sums and its own end (`batched`).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, Number, kernel, types_of
from taichimd.core.runtime import DEVICE_LOOPS, computed_in, ti
from taichimd.enumerate.row_sums import threads_of_row
from taichimd.forcefields.reaxff.batched import FLAGS, whose_functions
from taichimd.forcefields.reaxff.dots import sum_functions
from taichimd.forcefields.reaxff.extended import Auxiliary, auxiliary_guess
from taichimd.forcefields.reaxff.history import Past, guess
from taichimd.forcefields.reaxff.matrix import matrix_functions, types_with_pairs
from taichimd.forcefields.reaxff.moves import OF_ONE, Moves, kind_function
from taichimd.forcefields.reaxff.precondition import factor_functions
from taichimd.forcefields.reaxff.softness import power_of_two, soft_functions
from taichimd.forcefields.reaxff.solve_tables import (
    ALL_ITERATIONS,
    ALPHA,
    ASTRAY,
    CHARGE,
    FROZEN,
    GAMMA,
    GOING,
    INDEFINITE,
    ITERATIONS,
    NORM2,
    OLD_ALPHA,
    OLD_GAMMA,
    ONCE,
    PLAIN,
    ROWS,
    SHIFTS,
    SOFT,
    SOLVED,
    SOLVES,
    STATUS,
    TOO_MANY,
    Progress,
    Sites,
    Solver,
    Vectors,
)
from taichimd.neighbours.control import CONTROL, GOING_ON
from taichimd.neighbours.rows import WARP, body_layout, row_layout

ROUNDS = 2
"""Iterations of one call where the host queues them."""


def loop_ends(n: int, backend: str) -> tuple[int, int]:
    """`threads` and `chunks` of `Solver` for n atoms."""
    many = threads_of_row(row_layout(backend))
    return n if many == 1 else -(-n * many // WARP) * WARP, -(-n // chunk_size(backend))


def chunk_size(backend: str) -> int:
    """Atoms that a thread does in loops that read sums: on a CPU many, for which it reads them once."""
    return 1 if backend == "cuda" else 128


@dataclass(frozen=True)
class OneKernel:
    """All of a solve, where kernels loop on the device."""

    solve: Kernel


@dataclass(frozen=True)
class RepeatedKernels:
    """Kernels of a solve that the host repeats. `iterate` and `finish` do nothing if nothing is left to do.

    Attributes:
        begin: the first guess. cut: the matrix and its preconditioner. iterate: a few iterations, queued as
            often as needed. finish: charges, if the solve has converged.
    """

    begin: Kernel
    cut: Kernel
    iterate: Kernel
    finish: Kernel


@cache
def solver_kernels(
    real: Any,
    stored: Any,
    n_kinds: int,
    backend: str,
    near_layout: int,
    extended: bool,
    batch: bool = False,
    form: int = PLAIN,
) -> OneKernel | RepeatedKernels:
    """Kernels of a solve, for one precision.

    Args:
        real: type of positions and charges.
        stored: type of the matrix.
        n_kinds: species.
        backend: "cuda" or "cpu".
        near_layout: of the near list.
        extended: whether charges are those of an extended Lagrangian (`extended`).
        batch: whether there are several systems.
        form: what is solved: `PLAIN`, `GIVEN` or `SOFT`.
    """
    types = types_with_pairs(types_of(real), stored)
    whose, kind_of = whose_functions(batch, chunk_size(backend)), kind_function(batch)
    status, layout = whose.status, row_layout(backend)
    close_to = factor_functions(n_kinds, body_layout(backend), status)
    matrix_of = matrix_functions(stored, n_kinds, layout, near_layout, close_to.put, status)
    many = matrix_of.threads
    history, first_of = (Auxiliary, auxiliary_guess) if extended else (Past, guess)

    @ti.func
    def last_norm2(i, g: ti.template()):
        """Sum of r^2/diagonal of the last iteration of the system of an atom."""
        return g.progress.scalars[FLAGS * whose.system(i, g) + NORM2][0]

    soft_of = (
        soft_functions(n_kinds, body_layout(backend), near_layout, status, last_norm2)
        if form == SOFT
        else None
    )

    @ti.func
    def chi_of(i, g: ti.template()):
        """Electronegativity of an atom."""
        chi = 0.0
        if ti.static(form == PLAIN):
            chi = g.elements[2 * g.atoms.kind[i]]
        else:
            chi = g.chi[i]
        return chi

    @ti.func
    def cold(i, g: ti.template()):
        """Solutions of an atom by itself."""
        s, t, eta = 0.0, 0.0, g.elements[2 * g.atoms.kind[i] + 1]
        if ti.static(form != SOFT):
            s, t = -chi_of(i, g) / eta, -1.0 / eta
        return s, t

    @ti.func
    def dots(i, g: ti.template()):
        r, z, w = g.v.r[i], g.v.z[i], g.v.w[i]
        scale = 1.0 / g.elements[2 * g.atoms.kind[i] + 1]
        if ti.static(form == SOFT):
            scale = 1.0 / g.soft.diagonal[i]
        return ti.Vector(
            [r[0] * z[0], r[1] * z[1], w[0] * z[0], w[1] * z[1], r[0] * r[0] * scale, r[1] * r[1] * scale]
        )

    @ti.func
    def solutions(i, g: ti.template()):
        return ti.Vector([g.v.x[i][0], g.v.x[i][1], 0.0, 0.0, 0.0, 0.0])

    add_dots = sum_functions(dots, many > 1, GOING, batch)
    add_solutions = sum_functions(solutions, many > 1, SOLVED, batch)

    @computed_in(ti.f64)
    def first_guess(
        g: ti.template(), past: ti.template(), moves: ti.template(), control: ti.template(), frozen, stepping
    ):
        for i in range(g.atoms.n):
            k = whose.system(i, g)
            at, begins = FLAGS * k, whose.begins(i, k, g)
            if begins and control[frozen] != 0:
                # A solve that failed is not forgotten before the host looks.
                if g.progress.flags[at + STATUS] < TOO_MANY:
                    g.progress.flags[at + STATUS] = FROZEN
            if begins and control[frozen] == 0:
                g.progress.flags[at + STATUS] = GOING
                g.progress.flags[at + ITERATIONS] = 0
                for c in ti.static(range(FLAGS)):
                    g.progress.scalars[at + c] = ti.Vector.zero(ti.f64, 2)
            if control[frozen] == 0:
                cold_s, cold_t = cold(i, g)
                s, t, once = first_of(i, cold_s, cold_t, kind_of(k, stepping, moves), past)
                if begins:
                    g.progress.flags[at + ONCE] = once
                if ti.static(batch):
                    moves.at[g.atoms.ident[i]] = g.atoms.pos[i]
                    if begins:
                        moves.vectors[k] = moves.cell[k]
                both = ti.Vector([s, t])
                g.v.z[i] = both
                g.v.x[i] = both

    @computed_in(ti.f64)
    def multiply(opens: ti.template(), g: ti.template(), going: ti.template()):
        """Find w = H z, and open an iteration; of ACKS2, what `softness` calls `inner`."""
        for thread in range(g.threads):
            n = g.atoms.n
            i = ti.min(thread // many, n - 1)
            does = thread < n * many and whose.status(i, g) == GOING
            if ti.static(opens):
                k = whose.system(i, g)
                if ti.static(batch and bool(going)):
                    # Systems that continue say so later in this iteration.
                    if thread == 0:
                        going[None] = 0
                if does and thread % many == 0 and whose.begins(i, k, g):
                    at = FLAGS * k
                    g.progress.flags[at + ITERATIONS] += 1
                    g.progress.scalars[at + OLD_GAMMA] = g.progress.scalars[at + GAMMA]
                    g.progress.scalars[at + OLD_ALPHA] = g.progress.scalars[at + ALPHA]
            if ti.static(form == SOFT):
                found = matrix_of.product(i, thread, does, n, g.matrix, g.soft.left)
                if does and thread % many == 0:
                    scale = 1.0
                    if ti.static(opens):
                        scale = power_of_two(last_norm2(i, g))
                    value = found + g.elements[2 * g.atoms.kind[i] + 1] * g.soft.left[i]
                    value = value / scale + g.v.z[i]
                    if ti.static(not opens):
                        value[0] += chi_of(i, g)
                    g.soft.inner[i] = value
            else:
                found = matrix_of.product(i, thread, does, n, g.matrix, g.v.z)
                if does and thread % many == 0:
                    g.v.w[i] = found + g.elements[2 * g.atoms.kind[i] + 1] * g.v.z[i]

    @computed_in(ti.f64)
    def first_residual(g: ti.template()):
        for i in range(g.atoms.n):
            if whose.status(i, g) == GOING:
                g.v.r[i] = ti.Vector([-chi_of(i, g), -1.0]) - g.v.w[i]
                g.v.p[i] = ti.Vector.zero(ti.f64, 2)
                g.v.h[i] = ti.Vector.zero(ti.f64, 2)

    @ti.func
    def open_solve(near: ti.template(), shifts: ti.template(), g: ti.template()):
        """The matrix, its preconditioner, and the residual of the guess."""
        matrix_of.fill(near, shifts, g)
        if ti.static(form == SOFT):
            soft_of.fill(near, shifts, g)
            soft_of.left(True, g)
            multiply(False, g, None)
            soft_of.residual(g)
            soft_of.apply(g)
        else:
            close_to.factorise(shifts, g)
            if ti.static(not matrix_of.rounded):
                multiply(False, g, None)
            first_residual(g)
            close_to.apply(g)

    @ti.func
    def coefficients(k, g: ti.template()):
        """Status, alpha, beta, gamma and sum of r^2/eta of this iteration of system k, for every thread."""
        total, limit = add_dots.total(k, g), whose.limits(k, g)
        at = FLAGS * k
        gamma, delta = ti.Vector([total[0], total[1]]), ti.Vector([total[2], total[3]])
        alpha, beta = ti.Vector.zero(ti.f64, 2), ti.Vector.zero(ti.f64, 2)
        indefinite = False
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
                elif ti.static(form == SOFT) and delta[c] > 0.0:
                    # Directions that round-off has spoilt: begin again with the steepest descent.
                    beta[c] = 0.0
                    alpha[c] = gamma[c] / delta[c]
                else:
                    indefinite = True
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
        elif indefinite:
            status = INDEFINITE
        elif g.progress.flags[at + ITERATIONS] > g.progress.most:
            status = TOO_MANY
        return status, alpha, beta, gamma, ti.Vector([total[4], total[5]])

    @computed_in(ti.f64)
    def improve(g: ti.template(), going: ti.template()):
        for chunk in range(g.chunks):
            first, last, k = whose.chunk(chunk, g)
            at = FLAGS * k
            before, zero = g.progress.flags[at + STATUS], ti.Vector.zero(ti.f64, 2)
            status, alpha, beta, gamma, norm2 = before, zero, zero, zero, zero
            if before == GOING:
                # A thread that finds another status than GOING here would find the same, and do nothing.
                status, alpha, beta, gamma, norm2 = coefficients(k, g)
            if status == GOING:
                for i in range(first, last):
                    p = g.v.z[i] + beta * g.v.p[i]
                    h = g.v.w[i] + beta * g.v.h[i]
                    g.v.x[i] += alpha * p
                    g.v.r[i] -= alpha * h
                    g.v.p[i] = p
                    g.v.h[i] = h
            if whose.begins(first, k, g):
                if before == GOING:
                    g.progress.scalars[at + GAMMA] = gamma
                    g.progress.scalars[at + ALPHA] = alpha
                    g.progress.scalars[at + NORM2] = norm2
                    g.progress.flags[at + STATUS] = status
                if ti.static(bool(going) and not batch):
                    going[None] = ti.cast(status == GOING, ti.i32)
                if ti.static(bool(going) and batch and not extended):
                    if status == GOING:
                        going[None] = 1

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
        if ti.static(form == SOFT):
            soft_of.left(False, g)
        multiply(True, g, going)
        if ti.static(form == SOFT):
            soft_of.product(g)
        add_dots.pieces(g)
        improve(g, going)
        if ti.static(extended):
            stop(g, going)
        if ti.static(form == SOFT):
            soft_of.apply(g)
        else:
            close_to.apply(g)

    @computed_in(ti.f64)
    def end(net, past: ti.template(), charge: ti.template(), g: ti.template()):
        """Charges, and the solutions as the newest ones, of a solve that has ended well."""
        add_solutions.pieces(g)
        for chunk in range(g.chunks):
            first, last, k = whose.chunk(chunk, g)
            at = FLAGS * k
            if g.progress.flags[at + STATUS] == SOLVED:
                if whose.begins(first, k, g):
                    g.progress.flags[at + SOLVES] += 1
                    # The last iteration only finds that there is nothing left to do, unless there is but one.
                    g.progress.flags[at + ALL_ITERATIONS] += (
                        g.progress.flags[at + ITERATIONS] - 1 + g.progress.flags[at + ONCE]
                    )
                total = add_solutions.total(k, g)
                share = 0.0
                if ti.static(form != SOFT):
                    share = (total[0] - net) / total[1]
                for i in range(first, last):
                    x = g.v.x[i]
                    past.s0[i] = ti.cast(x[0], real)
                    past.t0[i] = ti.cast(x[1], real)
                    if ti.static(form == SOFT):
                        q = soft_of.times(i, g.v.x, g.atoms.n, g.matrix.shift_bits, g.soft, 1.0)
                        charge[i] = ti.cast(g.soft.reference[i] + q, real)
                    else:
                        charge[i] = ti.cast(x[0] - share * x[1], real)

    frozen, stepping = Number("i32", "word of control"), Number("i32", "what the evaluation is (`history`)")
    net = Number("f64", "net charge, e")
    start: dict[str, Any] = {
        "past": history, "moves": Moves if batch else OF_ONE, "control": CONTROL, "frozen": frozen,
        "stepping": stepping,
    }  # fmt: skip
    rows: dict[str, Any] = {"near": ROWS, "shifts": SHIFTS}
    # What a model needs, and of ACKS2 what `end` takes.
    own = () if form == PLAIN else ("chi", "soft") if form == SOFT else ("chi",)
    at_end = ("soft", "matrix") if form == SOFT else ()
    left_out = {"chi", "soft"} - {*own} | set(() if batch else ("batched",))
    all_of_it = [name for name in Solver.fields if name not in left_out]
    no_screening = [name for name in all_of_it if name != "screening"]
    # What all kernels of a batch take, and what they take of atoms.
    each = ["batched"] * batch
    at_places = ["pos", "ident"] * batch

    if DEVICE_LOOPS:

        @kernel(
            types, graph=True, g=Solver.only(*all_of_it), **rows, **start, charge=CHARGE, net=net,
            going=GOING_ON
        )  # fmt: skip
        def solve(g, near, shifts, past, moves, control, frozen, stepping, charge, net, going):
            """All of a solve. Launch: one thread per row, or eight."""
            first_guess(g, past, moves, control, frozen, stepping)
            open_solve(near, shifts, g)
            while ti.graph.do_while(going):
                iteration(g, going)
            end(net, past, charge, g)

        return OneKernel(solve)

    @kernel(
        types,
        g=Solver.only(
            "elements", *each, *own, atoms=Sites.only("n", "kind", *at_places), v=Vectors.only("x", "z"),
            progress=Progress.only("flags", "scalars")
        ),
        **start,
    )  # fmt: skip
    def begin(g, past, moves, control, frozen, stepping):
        """The first guess, if control says that there is something to do."""
        first_guess(g, past, moves, control, frozen, stepping)

    @kernel(
        types, graph=True, g=Solver.only("threads", "atoms", "elements", "matrix", "close", "screening",
        *each, *own, v=Vectors.only("r", "u", "z", "w", "p", "h"), progress=Progress.only("flags")), **rows
    )  # fmt: skip
    def cut(g, near, shifts):
        """The matrix, its preconditioner, and the residual of the first guess."""
        open_solve(near, shifts, g)

    @kernel(types, graph=True, g=Solver.only(*no_screening))
    def iterate(g):
        """Some iterations."""
        for _ in ti.static(range(ROUNDS)):
            iteration(g, None)

    @kernel(
        types, graph=True, g=Solver.only("chunks", *each, *at_end, atoms=Sites.only("n", "sorted_of"),
        v=Vectors.only("x"), progress=Progress.only("flags", "partial")), past=history.only("s0", "t0"),
        charge=CHARGE, net=net
    )  # fmt: skip
    def finish(g, past, charge, net):
        """Charges of a solve that has ended well."""
        end(net, past, charge, g)

    return RepeatedKernels(begin, cut, iterate, finish)
