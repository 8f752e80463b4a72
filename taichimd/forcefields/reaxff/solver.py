"""Charge equilibration: conjugate gradients for both solutions at once, on the device.

    H s = -chi,  H t = -1,  q = s - (sum s - Q)/(sum t) t:

A. Nakano, Comput. Phys. Commun. 104, 59 (1997). Conjugate gradients with a single reduction (A. T.
Chronopoulos, C. W. Gear, J. Comput. Appl. Math. 25, 153 (1989)): one read of the matrix serves both columns.
With the residual r = b - H x, z = M^-1 r (`precondition`) and w = H z,

    gamma = r.z,  delta = w.z,  beta = gamma/gamma_old,  alpha = gamma/(delta - beta gamma/alpha_old),
    p = z + beta p,  h = w + beta h,  x = x + alpha p,  r = r - alpha h.

The norm is sqrt(sum of r^2/eta)/|b|. Both columns continue until both are within the tolerance. An iteration
is five loops: product, sums of pieces (`dots`), what follows from the totals, and two of the preconditioner.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Kernel, Number, kernel, types_of
from taichimd.core.runtime import DEVICE_LOOPS, computed_in, ti
from taichimd.enumerate.row_sums import threads_of_row
from taichimd.forcefields.reaxff.dots import piece_sums, total_of
from taichimd.forcefields.reaxff.extended import Auxiliary, auxiliary_guess
from taichimd.forcefields.reaxff.history import Past, guess
from taichimd.forcefields.reaxff.matrix import Matrix, Screening, matrix_functions, types_with_pairs
from taichimd.forcefields.reaxff.precondition import Close, factor_functions
from taichimd.neighbours.control import CONTROL, GOING_ON
from taichimd.neighbours.rows import WARP, NearRows, body_layout, row_layout

STATUS, ITERATIONS, SOLVES, ALL_ITERATIONS, ONCE = range(5)
GOING, SOLVED, TOO_MANY, INDEFINITE, ASTRAY, FROZEN = range(6)
"""Of a solve: not ended yet; within the tolerance, or done once; as many iterations as allowed; a matrix that
is not positive; a guess of the extended Lagrangian that is too far from the solution; not begun."""
MAX_ASTRAY = 0.1
"""Residual, as that of the tolerance, of such a guess."""
GAMMA, ALPHA, OLD_GAMMA, OLD_ALPHA, NORM2 = range(5)
ROUNDS = 2
"""Iterations of one call where the host queues them."""


class Vectors(Bundle):
    """What the solver works on: s and t side by side."""

    x: Any = ArrayField("both", "n", "solutions")
    r: Any = ArrayField("both", "n", "residuals")
    u: Any = ArrayField("both", "n", "G times residuals")
    z: Any = ArrayField("both", "n", "preconditioned residuals; at the start the guess")
    w: Any = ArrayField("both", "n", "H times z")
    p: Any = ArrayField("both", "n", "directions")
    h: Any = ArrayField("both", "n", "H times the directions")


class Progress(Bundle):
    """How far a solve is."""

    flags: Any = ArrayField(
        "i32",
        "5",
        "status and number of iterations; solves so far, with their iterations; whether to iterate once",
    )
    scalars: Any = ArrayField(
        "both", "5", "gamma and alpha of this iteration and of the last one; sum of r^2/eta"
    )
    partial: Any = ArrayField("six", "64", "sums of pieces")
    limit_s: Any = Number("f64", "sum of r^2/eta at which s is solved")
    limit_t: Any = Number("f64", "sum of r^2/eta at which t is solved")
    looser2: Any = Number("f64", "(MAX_ASTRAY/tolerance)^2")
    most: Any = Number("i32", "iterations")


class Sites(Bundle):
    """The atoms of a `State`."""

    n: Any = Number("i32", "number of atoms")
    pos: Any = ArrayField("vec", "n", "positions, angstrom")
    kind: Any = ArrayField("i32", "n", "number of the species")
    ident: Any = ArrayField("i32", "n", "the user's number of the atom at a place")
    sorted_of: Any = ArrayField("i32", "n", "its inverse")


ELEMENTS = ArrayField("f64", "2 kinds", "chi and eta (doubled) of each kind, eV")
CHARGE = ArrayField("real", "n", "charge of each atom, e")
ROWS = NearRows.only("width", "count", "entries")
SHIFTS = ArrayField("vec", "2^shift_bits", "vectors of the images, angstrom")


class Solver(Bundle):
    """What the loops of a solve read and write."""

    threads: Any = Number("i32", "of loops over rows")
    chunks: Any = Number("i32", "of atoms, each for a thread, in loops that read sums")
    atoms: Any = Sites
    v: Any = Vectors
    progress: Any = Progress
    elements: Any = ELEMENTS
    matrix: Any = Matrix
    close: Any = Close
    screening: Any = Screening


def loop_ends(n: int, backend: str) -> tuple[int, int]:
    """`threads` and `chunks` of `Solver` for n atoms."""
    many = threads_of_row(row_layout(backend))
    return n if many == 1 else -(-n * many // WARP) * WARP, -(-n // _at_once(backend))


def _at_once(backend: str) -> int:
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
    real: Any, stored: Any, n_kinds: int, backend: str, near_layout: int, extended: bool
) -> OneKernel | RepeatedKernels:
    """Kernels of a solve, for one precision.

    Args:
        real: type of positions and charges.
        stored: type of the matrix.
        n_kinds: species.
        backend: "cuda" or "cpu".
        near_layout: of the near list.
        extended: whether charges are those of an extended Lagrangian (`extended`).
    """
    types = types_with_pairs(types_of(real), stored)
    close_to = factor_functions(n_kinds, body_layout(backend))
    matrix_of = matrix_functions(stored, n_kinds, row_layout(backend), near_layout, close_to.put)
    many = matrix_of.threads
    at_once = _at_once(backend)
    history, first_of = (Auxiliary, auxiliary_guess) if extended else (Past, guess)

    @ti.func
    def dots(i, g: ti.template()):
        r, z, w = g.v.r[i], g.v.z[i], g.v.w[i]
        scale = 1.0 / g.elements[2 * g.atoms.kind[i] + 1]
        return ti.Vector(
            [r[0] * z[0], r[1] * z[1], w[0] * z[0], w[1] * z[1], r[0] * r[0] * scale, r[1] * r[1] * scale]
        )

    @ti.func
    def solutions(i, g: ti.template()):
        return ti.Vector([g.v.x[i][0], g.v.x[i][1], 0.0, 0.0, 0.0, 0.0])

    add_dots, add_solutions = piece_sums(dots, many > 1, GOING), piece_sums(solutions, many > 1, SOLVED)

    @computed_in(ti.f64)
    def first_guess(g: ti.template(), past: ti.template(), control: ti.template(), frozen, stepping):
        for i in range(g.atoms.n):
            if i == 0 and control[frozen] != 0:
                # A solve that failed is not forgotten before the host looks.
                if g.progress.flags[STATUS] < TOO_MANY:
                    g.progress.flags[STATUS] = FROZEN
            if i == 0 and control[frozen] == 0:
                g.progress.flags[STATUS] = GOING
                g.progress.flags[ITERATIONS] = 0
                for k in ti.static(range(5)):
                    g.progress.scalars[k] = ti.Vector.zero(ti.f64, 2)
            if control[frozen] == 0:
                chi, eta = g.elements[2 * g.atoms.kind[i]], g.elements[2 * g.atoms.kind[i] + 1]
                s, t, once = first_of(i, -chi / eta, -1.0 / eta, stepping, past)
                if i == 0:
                    g.progress.flags[ONCE] = once
                both = ti.Vector([s, t])
                g.v.z[i] = both
                g.v.x[i] = both

    @computed_in(ti.f64)
    def multiply(opens: ti.template(), g: ti.template()):
        """Find w = H z, and open an iteration."""
        for thread in range(g.threads):
            n = g.atoms.n
            i = ti.min(thread // many, n - 1)
            does = thread < n * many and g.progress.flags[STATUS] == GOING
            if ti.static(opens):
                if thread == 0 and does:
                    g.progress.flags[ITERATIONS] += 1
                    g.progress.scalars[OLD_GAMMA] = g.progress.scalars[GAMMA]
                    g.progress.scalars[OLD_ALPHA] = g.progress.scalars[ALPHA]
            found = matrix_of.product(i, thread, does, n, g.matrix, g.v.z)
            if does and thread % many == 0:
                g.v.w[i] = found + g.elements[2 * g.atoms.kind[i] + 1] * g.v.z[i]

    @computed_in(ti.f64)
    def first_residual(g: ti.template()):
        for i in range(g.atoms.n):
            if g.progress.flags[STATUS] == GOING:
                g.v.r[i] = ti.Vector([-g.elements[2 * g.atoms.kind[i]], -1.0]) - g.v.w[i]
                g.v.p[i] = ti.Vector.zero(ti.f64, 2)
                g.v.h[i] = ti.Vector.zero(ti.f64, 2)

    @ti.func
    def open_solve(near: ti.template(), shifts: ti.template(), g: ti.template()):
        """The matrix, its preconditioner, and the residual of the guess."""
        matrix_of.fill(
            g.threads,
            g.atoms,
            near,
            shifts,
            g.matrix,
            g.close,
            g.screening,
            g.elements,
            g.v,
            g.progress.flags,
        )
        close_to.factorise(g.atoms, g.matrix, shifts, g.close, g.screening, g.elements, g.progress.flags)
        if ti.static(not matrix_of.rounded):
            multiply(False, g)
        first_residual(g)
        close_to.apply(g.atoms, g.matrix, g.close, g.v, g.progress.flags)

    @ti.func
    def coefficients(progress: ti.template()):
        """Status, alpha, beta, gamma and sum of r^2/eta of this iteration, the same for every thread."""
        total = total_of(progress.partial)
        gamma, delta = ti.Vector([total[0], total[1]]), ti.Vector([total[2], total[3]])
        alpha, beta = ti.Vector.zero(ti.f64, 2), ti.Vector.zero(ti.f64, 2)
        indefinite = False
        for c in ti.static(range(2)):
            old_gamma, old_alpha = progress.scalars[OLD_GAMMA][c], progress.scalars[OLD_ALPHA][c]
            # What is not a number is neither zero nor positive.
            if gamma[c] != 0.0:
                curvature = delta[c]
                if old_alpha > 0.0:
                    beta[c] = gamma[c] / old_gamma
                    curvature -= beta[c] * gamma[c] / old_alpha
                if curvature > 0.0:
                    alpha[c] = gamma[c] / curvature
                else:
                    indefinite = True
        status = GOING
        near_enough = total[4] <= progress.limit_s and total[5] <= progress.limit_t
        if ti.static(extended):
            if progress.flags[ONCE] == 1:
                # Not `>`: what is not a number is astray.
                if not (
                    total[4] <= progress.looser2 * progress.limit_s
                    and total[5] <= progress.looser2 * progress.limit_t
                ):
                    status = ASTRAY
                near_enough = False
        if near_enough:
            status = SOLVED
        elif indefinite:
            status = INDEFINITE
        elif progress.flags[ITERATIONS] > progress.most:
            status = TOO_MANY
        return status, alpha, beta, gamma, ti.Vector([total[4], total[5]])

    @computed_in(ti.f64)
    def improve(g: ti.template(), going: ti.template()):
        for chunk in range(g.chunks):
            before, zero = g.progress.flags[STATUS], ti.Vector.zero(ti.f64, 2)
            status, alpha, beta, gamma, norm2 = before, zero, zero, zero, zero
            if before == GOING:
                # A thread that finds another status than GOING here would find the same, and do nothing.
                status, alpha, beta, gamma, norm2 = coefficients(g.progress)
            if status == GOING:
                for i in range(chunk * at_once, ti.min(g.atoms.n, (chunk + 1) * at_once)):
                    p = g.v.z[i] + beta * g.v.p[i]
                    h = g.v.w[i] + beta * g.v.h[i]
                    g.v.x[i] += alpha * p
                    g.v.r[i] -= alpha * h
                    g.v.p[i] = p
                    g.v.h[i] = h
            if chunk == 0:
                if before == GOING:
                    g.progress.scalars[GAMMA] = gamma
                    g.progress.scalars[ALPHA] = alpha
                    g.progress.scalars[NORM2] = norm2
                    g.progress.flags[STATUS] = status
                if ti.static(bool(going)):
                    going[None] = ti.cast(status == GOING, ti.i32)

    @ti.func
    def stop(g: ti.template(), going: ti.template()):
        """End a solve of one iteration."""
        for _ in range(1):
            if g.progress.flags[ONCE] == 1 and g.progress.flags[STATUS] == GOING:
                g.progress.flags[STATUS] = SOLVED
                if ti.static(bool(going)):
                    going[None] = 0

    @ti.func
    def iteration(g: ti.template(), going: ti.template()):
        multiply(True, g)
        add_dots(g)
        improve(g, going)
        if ti.static(extended):
            stop(g, going)
        close_to.apply(g.atoms, g.matrix, g.close, g.v, g.progress.flags)

    @computed_in(ti.f64)
    def end(net, past: ti.template(), charge: ti.template(), g: ti.template()):
        """Charges, and the solutions as the newest ones, of a solve that has ended well."""
        add_solutions(g)
        for chunk in range(g.chunks):
            if g.progress.flags[STATUS] == SOLVED:
                if chunk == 0:
                    g.progress.flags[SOLVES] += 1
                    # The last iteration only finds that there is nothing left to do, unless there is but one.
                    g.progress.flags[ALL_ITERATIONS] += (
                        g.progress.flags[ITERATIONS] - 1 + g.progress.flags[ONCE]
                    )
                total = total_of(g.progress.partial)
                share = (total[0] - net) / total[1]
                for i in range(chunk * at_once, ti.min(g.atoms.n, (chunk + 1) * at_once)):
                    x = g.v.x[i]
                    past.s0[i] = ti.cast(x[0], real)
                    past.t0[i] = ti.cast(x[1], real)
                    charge[i] = ti.cast(x[0] - share * x[1], real)

    frozen, stepping = Number("i32", "word of control"), Number("i32", "what the evaluation is (`history`)")
    net = Number("f64", "net charge, e")
    start: dict[str, Any] = {"past": history, "control": CONTROL, "frozen": frozen, "stepping": stepping}
    rows: dict[str, Any] = {"near": ROWS, "shifts": SHIFTS}
    no_screening = [name for name in Solver.fields if name != "screening"]

    if DEVICE_LOOPS:

        @kernel(types, graph=True, g=Solver, **rows, **start, charge=CHARGE, net=net, going=GOING_ON)
        def solve(g, near, shifts, past, control, frozen, stepping, charge, net, going):
            """All of a solve. Launch: one thread per row, or eight."""
            first_guess(g, past, control, frozen, stepping)
            open_solve(near, shifts, g)
            while ti.graph.do_while(going):
                iteration(g, going)
            end(net, past, charge, g)

        return OneKernel(solve)

    @kernel(
        types,
        g=Solver.only(
            "elements", atoms=Sites.only("n", "kind"), v=Vectors.only("x", "z"),
            progress=Progress.only("flags", "scalars")
        ),
        **start,
    )  # fmt: skip
    def begin(g, past, control, frozen, stepping):
        """The first guess, if control says that there is something to do."""
        first_guess(g, past, control, frozen, stepping)

    @kernel(
        types, graph=True, g=Solver.only("threads", "atoms", "elements", "matrix", "close", "screening",
        v=Vectors.only("r", "u", "z", "w", "p", "h"), progress=Progress.only("flags")), **rows
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
        types, graph=True, g=Solver.only("chunks", atoms=Sites.only("n", "sorted_of"), v=Vectors.only("x"),
        progress=Progress.only("flags", "partial")), past=history.only("s0", "t0"), charge=CHARGE, net=net
    )  # fmt: skip
    def finish(g, past, charge, net):
        """Charges of a solve that has ended well."""
        end(net, past, charge, g)

    return RepeatedKernels(begin, cut, iterate, finish)
