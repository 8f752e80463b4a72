"""Charges of one system or several: arrays of the equilibration, and how the host queues it."""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import ChargeError, SettingsError
from taichimd.core.memory import FEWER, array, bytes_of, bytes_of_number, require
from taichimd.core.runtime import blocks_for, grid, literals, ti
from taichimd.forcefields.reaxff.batched import FLAGS, PIECES, Batched, tables_of
from taichimd.forcefields.reaxff.charge_arrays import (
    ChargeParameters,
    Values,
    integers,
    norms_of,
    on_device,
    soft_arrays,
)
from taichimd.forcefields.reaxff.extended import Auxiliary
from taichimd.forcefields.reaxff.history import Past
from taichimd.forcefields.reaxff.matrix import Matrix, Screening
from taichimd.forcefields.reaxff.models import Model
from taichimd.forcefields.reaxff.moves import Places
from taichimd.forcefields.reaxff.options import COUPLING, Options, check_tolerance
from taichimd.forcefields.reaxff.outcome import Solve
from taichimd.forcefields.reaxff.precondition import MAX_CLOSE, Close
from taichimd.forcefields.reaxff.solve_tables import (
    FROZEN,
    GOING,
    ITERATIONS,
    MAX_ASTRAY,
    NORM2,
    ONCE,
    PLAIN,
    SOFT,
    SOLVED,
    STATUS,
    Progress,
    Solver,
    Vectors,
)
from taichimd.forcefields.reaxff.solver import (
    ROUNDS,
    OneKernel,
    RepeatedKernels,
    chunk_size,
    loop_ends,
    solver_kernels,
)
from taichimd.neighbours.rows import NearRows
from taichimd.system.state import State

CLOSE = 3.0
"""Radius of the preconditioner, angstrom."""
FIRST_CALLS = 12
"""Calls of `ROUNDS` iterations that are queued before anything is known."""


class Charges:
    """The charge equilibration of one system, or of each of several systems.

    Args:
        state: the atoms. Solutions of past steps become states of the atoms, which sorts and checkpoints
            carry.
        parameters: by kinds of the state.
        kinds: (n) kind of each atom, in any order.
        backend: "cuda" or "cpu".
        near_layout: of the rows of the near list (`neighbours.rows`).
        tolerance: of sqrt(sum of r^2/eta)/|b|, of s and of t.
        net_charge: sum of all charges, e.
        most_iterations: for one solve.
        stored: type of the matrix on the device, ti.f64 or ti.f32; None: f64.
        extended: whether steps take the charges of an extended Lagrangian.
        model: charge model; None for plain QEq.

    Raises:
        SettingsError: a tolerance or a number of iterations out of range; a hardness that is not positive.

    Attributes:
        charge: (n) e, in spatial order, from the last solve.
        matrix: the pairs within the cutoff, for nonbonded forces; stored: type of its values.
        close: atoms close to each atom, for the preconditioner.
        progress: the first flag of a system says whether its charges are known (`solve_tables.SOLVED`).
        batched: whose everything is, of several systems. moves: what has moved since the last evaluation.
        chi: (n) electronegativity of each atom, which a model sets before a solve; None for plain QEq.
        soft: pairs of ACKS2. vectors: of the solver.
    """

    def __init__(
        self,
        state: State,
        parameters: ChargeParameters,
        kinds: NDArray[np.int32],
        backend: str,
        near_layout: int,
        *,
        tolerance: float = 1e-6,
        net_charge: float = 0.0,
        most_iterations: int = Options.max_iterations,
        stored: Any = None,
        extended: bool = False,
        model: Model | None = None,
    ) -> None:
        check_tolerance(tolerance)
        if most_iterations < 1:
            raise SettingsError(f"{most_iterations} iterations for charges, expected 1 or more; try 200")
        chi, eta = np.asarray(parameters.chi, float), np.asarray(parameters.eta, float)
        if not (eta > 0.0).all():
            raise SettingsError(
                f"hardness eta of kind {int(np.argmin(eta > 0.0))} is {eta.min()} eV, expected more than 0; "
                "correct the parameter file"
            )
        self._state, self._tolerance, self._net = state, tolerance, float(net_charge)
        self.stored = stored or ti.f64
        n, both = state.n, ti.types.vector(2, ti.f64)
        self._blocks = blocks_for(8 * n)
        form = PLAIN if model is None else model.form
        self._kernels = solver_kernels(
            state.real, self.stored, len(chi), backend, near_layout, extended, state.batch, form,
            self._blocks,
        )  # fmt: skip
        self._calls = FIRST_CALLS
        self.charge = ti.ndarray(state.real, n)
        self.charge.fill(0.0)
        self.elements = on_device(np.stack([chi, eta], axis=1))
        self.screening = Screening(
            cutoff=float(parameters.cutoff),
            lower=float(parameters.lower),
            inverse_width=1.0 / (parameters.cutoff - parameters.lower),
            coupling=COUPLING,
            inverse_gamma3=on_device(parameters.inverse_gamma3),
        )
        history = Auxiliary if extended else Past
        self.past = history(**{name: state.carry(f"charges {name}", shown=False) for name in history.fields})
        self.vectors = Vectors(*(ti.ndarray(both, n) for _ in Vectors.fields))
        self.chi = None if model is None else ti.ndarray(ti.f64, n)
        self.soft = soft_arrays(model, state) if model is not None and form == SOFT else None
        self.close = Close(
            reach=min(CLOSE, parameters.cutoff / 2),
            count=ti.ndarray(ti.i32, n),
            entries=ti.ndarray(ti.i32, MAX_CLOSE * n),
            factors=ti.ndarray(ti.f64, MAX_CLOSE * n),
            diagonal=ti.ndarray(ti.f64, n),
        )
        systems, threads_and_chunks = len(state.sizes), loop_ends(n, backend)
        self._norms = [norms_of(kinds[part], chi) for part in state.parts]
        limits = np.array([[(tolerance * norm) ** 2 for norm in norms] for norms in self._norms])
        self.batched = Batched()
        if state.batch:
            tables = tables_of(state.sizes.tolist(), chunk_size(backend))
            threads_and_chunks = threads_and_chunks[0], len(tables.of_chunks)
            self.batched = Batched(
                pieces=len(tables.of_pieces),
                system=state.system,
                first=integers(state.firsts),
                of_pieces=integers(tables.of_pieces),
                of_systems=integers(tables.of_systems),
                of_chunks=integers(tables.of_chunks),
                limits=ti.ndarray(both, systems),
            )
            self.batched.limits.from_numpy(limits)
        self._places = Places(state)
        self.moves = self._places.moves
        self.progress = Progress(
            flags=ti.ndarray(ti.i32, FLAGS * systems),
            scalars=ti.ndarray(both, FLAGS * systems),
            partial=ti.ndarray(ti.types.vector(6, ti.f64), self.batched.pieces or PIECES),
            limit_s=float(limits[0, 0]),
            limit_t=float(limits[0, 1]),
            looser2=(MAX_ASTRAY / tolerance) ** 2,
            most=most_iterations,
        )
        self.progress.flags.from_numpy(np.tile(np.array([FROZEN, 0, 0, 0, 0, 0], np.int32), systems))
        self._ended = True
        self._going = ti.ndarray(ti.i32, ())
        self.matrix = Matrix(width=0, count=ti.ndarray(ti.i32, n))
        self._solver = Solver(
            *threads_and_chunks, state, self.vectors, self.progress, self.elements, self.matrix, self.close,
            self.screening, self.batched, self.chi, self.soft,
        )  # fmt: skip

    def reserve(self, near: NearRows) -> None:
        """Room for as many pairs as a near list has.

        Raises:
            CapacityError: it does not fit the memory.
        """
        matrix, n = self.matrix, self._state.n
        if matrix.width == near.width:
            return
        rows = n * near.width
        size = rows * (4 + bytes_of_number(self.stored))
        what = f"the charge matrix of {n} atoms, {near.width} neighbours each"
        matrix.entries = matrix.values = None
        require(size, rows, what, FEWER)
        matrix.width = near.width
        matrix.entries = array(ti.i32, rows, what, size, FEWER)
        matrix.values = array(self.stored, rows, what, size, FEWER)
        if self.soft is not None:
            what, size = f"pairs of ACKS2 of {n} atoms, {near.width} each", 12 * rows
            self.soft.entries = self.soft.values = None
            require(size, rows, what, FEWER)
            self.soft.width = near.width
            self.soft.entries = array(ti.i32, rows, what, size, FEWER)
            self.soft.values = array(ti.f64, rows, what, size, FEWER)

    def queue(
        self,
        near: NearRows,
        shifts: Any,
        shift_bits: int,
        control: Any,
        frozen: int,
        stepping: int,
        vectors: Any = None,
    ) -> None:
        """Queue a solve at the present positions; does not wait for it.

        Args:
            near: all pairs within the cutoff, both ways, and any farther ones.
            shifts: vectors of images by code.
            shift_bits: low bits of an entry that hold the code.
            control: words on the device.
            frozen: the word of control that says, if it is not 0, that there is nothing to do.
            stepping: what the evaluation is (`history`): in a step the last solution becomes a past one.
                Jumps are those of the systems that have moved.
            vectors: cell vectors of the systems, on the device; None: they do not change.

        Raises:
            CapacityError: the matrix does not fit the memory.
        """
        self.reserve(near)
        self.matrix.shift_bits = shift_bits
        self._ended = False
        self._places.look(control, frozen, stepping, vectors)
        start = self.past, self.moves, control, frozen, stepping
        with literals(self._state.real), grid(self._blocks):
            if isinstance(self._kernels, OneKernel):
                self._kernels.solve(
                    self._solver, near, shifts, *start, self.charge, self._net, self._going
                )  # fmt: skip
                return
            self._kernels.begin(self._solver, *start)
            self._kernels.cut(self._solver, near, shifts)
        self._iterate(self._calls)

    def _iterate(self, calls: int) -> None:
        assert isinstance(self._kernels, RepeatedKernels)
        with literals(self._state.real), grid(self._blocks):
            self._kernels.iterate.repeat(calls, self._solver)
            if not self._state.batch:
                self._kernels.finish(self._solver, self.past, self.charge, self._net)

    def _end(self) -> None:
        """Charges of the systems that are solved, once all have ended."""
        if self._state.batch and isinstance(self._kernels, RepeatedKernels) and not self._ended:
            with literals(self._state.real), grid(self._blocks):
                self._kernels.finish(self._solver, self.past, self.charge, self._net)
        self._ended = True

    def _flags(self) -> NDArray[np.int32]:
        return np.asarray(self.progress.flags.to_numpy().reshape(-1, FLAGS))

    def wait(self) -> bool:
        """Wait for the solves that were queued, and queue more iterations as long as they need some.

        Returns:
            Whether more iterations were queued: what was queued behind the solve then did nothing, since
            there were no charges, and is to be queued again.
        """
        return self._waited()[0]

    def _waited(self) -> tuple[bool, NDArray[np.int32]]:
        """What `wait` returns, and the flags (systems, `FLAGS`), read once if nothing is missing."""
        again = False
        flags = self._flags()
        while (flags[:, STATUS] == GOING).any():
            again = True
            self._iterate(4)
            flags = self._flags()
        self._end()
        if (flags[:, STATUS] == SOLVED).all():
            # One iteration finds that nothing is left to do; two more for steps that need them.
            self._calls = -(-(int(flags[:, ITERATIONS].max()) + 2) // ROUNDS)
        return again, flags

    def failures(self) -> dict[int, ChargeError]:
        """Wait for the solves, and say which systems have no charges, and why; it is said once."""
        _, flags = self._waited()
        statuses = flags[:, STATUS].copy()
        failed = np.flatnonzero((statuses != SOLVED) & (statuses != FROZEN)).tolist()
        errors = {
            k: ChargeError(self.statistics(k).message(int(statuses[k]), self._tolerance)) for k in failed
        }
        if failed:
            flags[failed, STATUS] = FROZEN
            self.progress.flags.from_numpy(np.ascontiguousarray(flags.ravel()))
        return errors

    def settle(self) -> bool:
        """Wait for the solves, as `wait`.

        Returns:
            As of `wait`.

        Raises:
            ChargeError: one does not converge.
        """
        again = self.wait()
        for error in self.failures().values():
            raise error
        return again

    def forget(self, number: int) -> None:
        """The next solve of a system begins without past solutions."""
        solved = self.past.solved.to_numpy()
        solved[self._state.parts[number]] = 0.0
        self.past.solved.from_numpy(solved)

    def statistics(self, number: int = 0) -> Solve:
        """How the last solve of a system went. Waits for it."""
        status, iterations, solves, total, once, _ = (int(flag) for flag in self._flags()[number])
        norms2 = self.progress.scalars.to_numpy()[FLAGS * number + NORM2]
        s, t = (sqrt(max(float(g), 0.0)) / norm for g, norm in zip(norms2, self._norms[number], strict=True))
        return Solve(max(iterations - 1 + once, 0), total / max(solves, 1), (s, t), status == SOLVED)

    def iterations(self) -> list[int]:
        """Iterations of the last solve of each system. Waits for it."""
        flags = self._flags()
        return [max(int(one), 0) for one in flags[:, ITERATIONS] - 1 + flags[:, ONCE]]

    def charges(self) -> Values:
        """(n) e, in the user's order, from the last solve."""
        return self.charge.to_numpy()[self._state.sorted_of.to_numpy()].astype(float)

    def memory(self) -> int:
        """Bytes on the device."""
        v, matrix = self.vectors, self.matrix
        more = [] if self.chi is None else [self.chi]
        if self.soft is not None:
            more += [value for value in vars(self.soft).values() if not isinstance(value, int | float)]
        close = self.close.count, self.close.entries, self.close.factors, self.close.diagonal
        own = matrix.count, matrix.entries, matrix.values, self.charge
        return bytes_of(*vars(v).values(), *close, *own, *more)
