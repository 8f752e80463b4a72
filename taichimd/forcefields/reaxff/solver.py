"""Charge equilibration on the device: the kernels of a solve.

A solve begins with a guess (`history`, `extended`), makes its matrix and preconditioner, iterates
(`conjugate_gradients`) and leaves the charges. What is solved is a form: `linear_form`, or `soft_form` of
ACKS2. Several systems are solved at once, each with its own sums and its own end (`batched`).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, Number, kernel, types_of
from taichimd.core.runtime import DEVICE_LOOPS, computed_in, ti
from taichimd.enumerate.row_sums import threads_of_row
from taichimd.forcefields.reaxff.batched import FLAGS, whose_functions
from taichimd.forcefields.reaxff.conjugate_gradients import iteration_function, opening_functions
from taichimd.forcefields.reaxff.dots import sum_functions
from taichimd.forcefields.reaxff.extended import Auxiliary, auxiliary_guess
from taichimd.forcefields.reaxff.history import Past, guess_function
from taichimd.forcefields.reaxff.linear_form import linear_form
from taichimd.forcefields.reaxff.matrix import matrix_functions, types_with_pairs
from taichimd.forcefields.reaxff.moves import OF_ONE, Moves, kind_function
from taichimd.forcefields.reaxff.precondition import factor_functions
from taichimd.forcefields.reaxff.soft_form import soft_form
from taichimd.forcefields.reaxff.soft_precondition import soft_preconditioner
from taichimd.forcefields.reaxff.softness import soft_functions
from taichimd.forcefields.reaxff.solve_tables import (
    ALL_ITERATIONS,
    CHARGE,
    FROZEN,
    GIVEN,
    GOING,
    ITERATIONS,
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
    blocks: int = 0,
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
        blocks: of the grid that the kernels are compiled for; a kernel is compiled once.
    """
    types = types_with_pairs(types_of(real), stored)
    whose, kind_of = whose_functions(batch, chunk_size(backend)), kind_function(batch)
    status, layout = whose.status, row_layout(backend)
    close_to = factor_functions(n_kinds, body_layout(backend), status, threads_of_row(layout))
    matrix_of = matrix_functions(stored, n_kinds, layout, near_layout, close_to.put, status)
    shared = matrix_of.threads > 1
    history, first_of = (Auxiliary, auxiliary_guess) if extended else (Past, guess_function(form == SOFT))
    opening = opening_functions(whose, matrix_of.threads, batch)
    if form == SOFT:
        soft_of = soft_functions(n_kinds, layout, near_layout, status, opening.last_norm2)
        preconditioner = soft_preconditioner(soft_of, close_to, status, opening.last_norm2)
        solved = soft_form(matrix_of, soft_of, preconditioner, whose, opening)
    else:
        solved = linear_form(matrix_of, close_to, whose, opening, form == GIVEN)
    iteration = iteration_function(solved, whose, shared, batch, extended)

    @ti.func
    def solutions(i, g: ti.template()):
        return ti.Vector([g.v.x[i][0], g.v.x[i][1], 0.0, 0.0, 0.0, 0.0])

    add_solutions = sum_functions(solutions, shared, SOLVED, batch)

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
                cold_s, cold_t = solved.cold(i, g)
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
    def end(net, past: ti.template(), charge: ti.template(), g: ti.template()):
        """Charges, and the solutions as the newest ones, of a solve that has ended well."""
        add_solutions.pieces(g)
        for chunk in range(g.chunks):
            first, last, k = whose.chunk(chunk, g)
            at = FLAGS * k
            if g.progress.flags[at + STATUS] == SOLVED:
                if whose.begins(first, k, g):
                    g.progress.flags[at + SOLVES] += 1
                    # The last iteration, which finds the end, is not counted, unless there is but one.
                    g.progress.flags[at + ALL_ITERATIONS] += (
                        g.progress.flags[at + ITERATIONS] - 1 + g.progress.flags[at + ONCE]
                    )
                total = add_solutions.total(k, g)
                for i in range(first, last):
                    x = g.v.x[i]
                    past.s0[i] = ti.cast(x[0], real)
                    past.t0[i] = ti.cast(x[1], real)
                    charge[i] = ti.cast(solved.charge(i, net, total, g), real)

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
    of_norms = ("scalars",) if form == SOFT else ()
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
            solved.open(near, shifts, g)
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
        *each, *own, v=Vectors.only("r", "u", "z", "w", "p", "h"),
        progress=Progress.only("flags", *of_norms)),
        **rows
    )  # fmt: skip
    def cut(g, near, shifts):
        """The matrix, its preconditioner, and the residual of the first guess."""
        solved.open(near, shifts, g)

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
