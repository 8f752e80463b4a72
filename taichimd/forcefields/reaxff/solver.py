"""Charge equilibration: conjugate gradients for both solutions at once, on the device.

    H s = -chi,  H t = -1,  q = s - (sum s - Q)/(sum t) t:

A. Nakano, Comput. Phys. Commun. 104, 59 (1997). Conjugate gradients with a single reduction (A. T. Chronopoulos, C. W. Gear,
J. Comput. Appl. Math. 25, 153 (1989)), preconditioned by the diagonal eta: one read of the matrix serves both columns. With the
residual r = b - H x, z = r/eta and w = H z,

    gamma = r.z,  delta = w.z,  beta = gamma/gamma_old,  alpha = gamma/(delta - beta gamma/alpha_old),
    p = z + beta p,  h = w + beta h,  x = x + alpha p,  r = r - alpha h.

The norm is sqrt(gamma)/|b|. Both columns go on until both are within the tolerance. An iteration is three loops: product,
sums of pieces (`dots`), and what follows from the totals.

Vectors are in the order of the user's numbers, but for z: the product looks it up by place in memory.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.runtime import DEVICE_LOOPS, computed_in, ti
from taichimd.forcefields.reaxff.dots import piece_sums, total_of
from taichimd.forcefields.reaxff.history import Past, guess
from taichimd.forcefields.reaxff.lanes import types_with_pairs
from taichimd.forcefields.reaxff.matrix import Matrix, Screening, matrix_functions
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import NearRows, row_layout, whole_warps

STATUS, ITERATIONS, SOLVES, ALL_ITERATIONS = range(4)
GOING, SOLVED, TOO_MANY, INDEFINITE, FROZEN = range(5)
"""Of a solve: not ended yet; within the tolerance; as many iterations as allowed; a matrix that is not positive; not begun."""
GAMMA, ALPHA, OLD_GAMMA, OLD_ALPHA = range(4)
ROUNDS = 2
"""Iterations of one call where the host queues them."""


class Vectors(Bundle):
    """What the solver works on: s and t side by side. In the order of the user's numbers, but z."""

    x: Any = Array("both", "n", "solutions")
    r: Any = Array("both", "n", "residuals")
    p: Any = Array("both", "n", "directions")
    h: Any = Array("both", "n", "H times the directions")
    w: Any = Array("both", "n", "H times z")
    z: Any = Array("both", "n", "residuals over eta, by place in memory; at the start the guess")
    scale: Any = Array("f64", "n", "1/eta, 1/eV")


class Progress(Bundle):
    """How far a solve is."""

    flags: Any = Array("i32", "4", "status and number of iterations; solves so far, with their iterations")
    scalars: Any = Array("both", "4", "gamma and alpha of this iteration and of the last one")
    partial: Any = Array("four", "64", "sums of pieces")
    limit_s: Any = Number("f64", "gamma at which s is solved")
    limit_t: Any = Number("f64", "gamma at which t is solved")
    most: Any = Number("i32", "iterations")


class Sites(Bundle):
    """The atoms of a `State`."""

    n: Any = Number("i32", "number of atoms")
    pos: Any = Array("vec", "n", "positions, angstrom")
    kind: Any = Array("i32", "n", "number of the species")
    ident: Any = Array("i32", "n", "the user's number of the atom at a place")
    sorted_of: Any = Array("i32", "n", "its inverse")


ELEMENTS = Array("f64", "2 kinds", "chi and eta (doubled) of each kind, eV")
CHARGE = Array("real", "n", "charge of each atom, e")
ROWS = NearRows.only("width", "count", "entries")
SHIFTS = Array("vec", "2^shift_bits", "vectors of the images, angstrom")
GOING_ON = Array("i32", "", "whether the loop on the device goes on")


@cache
def solver_kernels(real: Any, stored: Any, n_kinds: int, backend: str, near_layout: int) -> Any:
    """Kernels of a solve, for one precision.

    Where kernels loop on the device, `solve` is all of it. Elsewhere it is `begin`, `cut`, `open_solve`, then `iterate` as often as
    needed, then `finish`; `iterate` and `finish` do nothing if there is nothing left to do.

    Args:
        real: type of positions and charges.
        stored: type of the matrix.
        n_kinds: species.
        backend: "cuda" or "cpu".
        near_layout: of the near list.
    """
    types = types_with_pairs(types_of(real), stored)
    matrix_of = matrix_functions(stored, n_kinds, row_layout(backend), near_layout)
    many = matrix_of.threads
    # Atoms that one thread of the last loop does: on a CPU each thread reads the sums once for many.
    at_once = 1 if backend == "cuda" else 128

    @ti.func
    def dots(k, v: ti.template()):
        r = v.r[k]
        z = r * v.scale[k]
        return ti.Vector([r[0] * z[0], r[1] * z[1], v.w[k][0] * z[0], v.w[k][1] * z[1]])

    @ti.func
    def solutions(k, v: ti.template()):
        return ti.Vector([v.x[k][0], v.x[k][1], 0.0, 0.0])

    add_dots, add_solutions = piece_sums(dots, many > 1, GOING), piece_sums(solutions, many > 1, SOLVED)

    @computed_in(ti.f64)
    def first_guess(atoms: ti.template(), past: ti.template(), v: ti.template(), progress: ti.template(), elements: ti.template(), control: ti.template(), frozen, stepping):  # fmt: skip
        for i in range(atoms.n):
            if i == 0:
                progress.flags[STATUS] = ti.select(control[frozen] == 0, GOING, FROZEN)
                progress.flags[ITERATIONS] = 0
                for k in ti.static(range(4)):
                    progress.scalars[k] = ti.Vector.zero(ti.f64, 2)
            if control[frozen] == 0:
                chi, eta = elements[2 * atoms.kind[i]], elements[2 * atoms.kind[i] + 1]
                s, t = guess(i, -chi / eta, -1.0 / eta, stepping, past)
                both, k = ti.Vector([s, t]), atoms.ident[i]
                v.z[i] = both
                v.x[k] = both
                v.scale[k] = 1.0 / eta

    @computed_in(ti.f64)
    def multiply(threads, opens: ti.template(), atoms: ti.template(), matrix: ti.template(), v: ti.template(), progress: ti.template(), elements: ti.template()):  # fmt: skip
        """Find w = H z, and open an iteration."""
        for thread in range(threads):
            i = ti.min(thread // many, atoms.n - 1)
            does = thread < atoms.n * many and progress.flags[STATUS] == GOING
            if ti.static(opens):
                if thread == 0 and does:
                    progress.flags[ITERATIONS] += 1
                    progress.scalars[OLD_GAMMA] = progress.scalars[GAMMA]
                    progress.scalars[OLD_ALPHA] = progress.scalars[ALPHA]
            found = matrix_of.product(i, thread, does, atoms.n, matrix, v.z)
            if does and thread % many == 0:
                v.w[atoms.ident[i]] = found + elements[2 * atoms.kind[i] + 1] * v.z[i]

    @computed_in(ti.f64)
    def first_residual(
        atoms: ti.template(), v: ti.template(), progress: ti.template(), elements: ti.template()
    ):
        for k in range(atoms.n):
            if progress.flags[STATUS] == GOING:
                i = atoms.sorted_of[k]
                r = ti.Vector([-elements[2 * atoms.kind[i]], -1.0]) - v.w[k]
                v.r[k] = r
                v.z[i] = r * v.scale[k]
                v.p[k] = ti.Vector.zero(ti.f64, 2)
                v.h[k] = ti.Vector.zero(ti.f64, 2)

    @ti.func
    def coefficients(progress: ti.template()):
        """Status, alpha, beta and gamma of this iteration, the same for every thread that asks."""
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
        if gamma[0] <= progress.limit_s and gamma[1] <= progress.limit_t:
            status = SOLVED
        elif indefinite:
            status = INDEFINITE
        elif progress.flags[ITERATIONS] > progress.most:
            status = TOO_MANY
        return status, alpha, beta, gamma

    @computed_in(ti.f64)
    def improve(
        chunks, atoms: ti.template(), v: ti.template(), progress: ti.template(), going: ti.template()
    ):
        for chunk in range(chunks):
            before = progress.flags[STATUS]
            status, alpha, beta, gamma = before, ti.Vector.zero(ti.f64, 2), ti.Vector.zero(ti.f64, 2), ti.Vector.zero(ti.f64, 2)  # fmt: skip
            if before == GOING:
                # A thread that finds another status than GOING here would find the same, and do nothing.
                status, alpha, beta, gamma = coefficients(progress)
            if status == GOING:
                for k in range(chunk * at_once, ti.min(atoms.n, (chunk + 1) * at_once)):
                    i = atoms.sorted_of[k]
                    p = v.z[i] + beta * v.p[k]
                    h = v.w[k] + beta * v.h[k]
                    r = v.r[k] - alpha * h
                    v.x[k] += alpha * p
                    v.p[k] = p
                    v.h[k] = h
                    v.r[k] = r
                    v.z[i] = r * v.scale[k]
            if chunk == 0:
                if before == GOING:
                    progress.scalars[GAMMA] = gamma
                    progress.scalars[ALPHA] = alpha
                    progress.flags[STATUS] = status
                if ti.static(bool(going)):
                    going[None] = ti.cast(status == GOING, ti.i32)

    @ti.func
    def iteration(threads, chunks, atoms: ti.template(), matrix: ti.template(), v: ti.template(), progress: ti.template(), elements: ti.template(), going: ti.template()):  # fmt: skip
        multiply(threads, True, atoms, matrix, v, progress, elements)
        add_dots(atoms.n, v, progress.partial, progress.flags)
        improve(chunks, atoms, v, progress, going)

    @computed_in(ti.f64)
    def close(chunks, net, atoms: ti.template(), past: ti.template(), v: ti.template(), progress: ti.template(), charge: ti.template()):  # fmt: skip
        """Charges, and the solutions as the newest ones, of a solve that has ended well."""
        add_solutions(atoms.n, v, progress.partial, progress.flags)
        for chunk in range(chunks):
            if progress.flags[STATUS] == SOLVED:
                if chunk == 0:
                    progress.flags[SOLVES] += 1
                    progress.flags[ALL_ITERATIONS] += progress.flags[ITERATIONS] - 1
                total = total_of(progress.partial)
                share = (total[0] - net) / total[1]
                for k in range(chunk * at_once, ti.min(atoms.n, (chunk + 1) * at_once)):
                    i, x = atoms.sorted_of[k], v.x[k]
                    past.s0[i] = ti.cast(x[0], real)
                    past.t0[i] = ti.cast(x[1], real)
                    charge[i] = ti.cast(x[0] - share * x[1], real)

    frozen, stepping = Number("i32", "word of control"), Number("i32", "1 in a step, 0 beside it")
    net = Number("f64", "net charge, e")

    @ti.func
    def threads_of(n):
        return whole_warps(n * many) if ti.static(many > 1) else n

    if DEVICE_LOOPS:

        @kernel(types, graph=True, atoms=Sites, near=ROWS, shifts=SHIFTS, matrix=Matrix, screening=Screening, past=Past, v=Vectors, progress=Progress, elements=ELEMENTS, charge=CHARGE, going=GOING_ON, control=CONTROL, frozen=frozen, stepping=stepping, net=net)  # fmt: skip
        def solve(
            atoms, near, shifts, matrix, screening, past, v, progress, elements, charge, going, control, frozen, stepping, net,
        ):  # fmt: skip
            """All of a solve. Launch: one thread per row, or eight."""
            threads, chunks = threads_of(atoms.n), (atoms.n + at_once - 1) // at_once
            first_guess(atoms, past, v, progress, elements, control, frozen, stepping)
            matrix_of.fill(threads, atoms, near, shifts, matrix, screening, progress.flags)
            multiply(threads, False, atoms, matrix, v, progress, elements)
            first_residual(atoms, v, progress, elements)
            while ti.graph.do_while(going):
                iteration(threads, chunks, atoms, matrix, v, progress, elements, going)
            close(chunks, net, atoms, past, v, progress, charge)

        return SimpleNamespace(solve=solve)

    @kernel(types, atoms=Sites.only("n", "kind", "ident"), past=Past, v=Vectors.only("x", "z", "scale"), progress=Progress.only("flags", "scalars"), elements=ELEMENTS, control=CONTROL, frozen=frozen, stepping=stepping)  # fmt: skip
    def begin(atoms, past, v, progress, elements, control, frozen, stepping):
        """The first guess, if control says that there is something to do."""
        first_guess(atoms, past, v, progress, elements, control, frozen, stepping)

    @kernel(types, graph=True, atoms=Sites, near=ROWS, shifts=SHIFTS, matrix=Matrix, screening=Screening, v=Vectors, progress=Progress.only("flags"), elements=ELEMENTS)  # fmt: skip
    def cut(atoms, near, shifts, matrix, screening, v, progress, elements):
        """The matrix, and the residual of the first guess."""
        threads = threads_of(atoms.n)
        matrix_of.fill(threads, atoms, near, shifts, matrix, screening, progress.flags)
        multiply(threads, False, atoms, matrix, v, progress, elements)
        first_residual(atoms, v, progress, elements)

    @kernel(types, graph=True, atoms=Sites.only("n", "kind", "ident", "sorted_of"), matrix=Matrix, v=Vectors, progress=Progress, elements=ELEMENTS)  # fmt: skip
    def iterate(atoms, matrix, v, progress, elements):
        """Some iterations."""
        threads, chunks = threads_of(atoms.n), (atoms.n + at_once - 1) // at_once
        for _ in ti.static(range(ROUNDS)):
            iteration(threads, chunks, atoms, matrix, v, progress, elements, None)

    @kernel(types, graph=True, atoms=Sites.only("n", "sorted_of"), past=Past.only("s0", "t0"), v=Vectors.only("x"), progress=Progress.only("flags", "partial"), charge=CHARGE, net=net)  # fmt: skip
    def finish(atoms, past, v, progress, charge, net):
        """Charges of a solve that has ended well."""
        close((atoms.n + at_once - 1) // at_once, net, atoms, past, v, progress, charge)

    return SimpleNamespace(begin=begin, cut=cut, iterate=iterate, finish=finish)
