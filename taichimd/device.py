"""The kernels of one system, with the arrays that they take: what `Engine` and minimisers are made of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.checks import check_positions, check_turns
from taichimd.dynamics.bath import Bath
from taichimd.dynamics.coupling import Coupling
from taichimd.dynamics.verlet import step_kernels
from taichimd.enumerate import lanes
from taichimd.forcefields.base import Bound
from taichimd.forcefields.terms import ByTuple, Terms
from taichimd.neighbours.box import Frame, make_frame
from taichimd.neighbours.control import REBUILD
from taichimd.neighbours.lists import Lists
from taichimd.reduce import totals
from taichimd.results import Array
from taichimd.runtime import DEVICE_LOOPS, QUICK_COMPILE, blocks_for, grid, literals, ti
from taichimd.state import State

FULL_DEVICE = 300_000
"""Atoms from which one thread per atom keeps a large GPU busy."""
SHORT_STEPS = 40_000
"""Atoms up to which a round of a loop on the device takes a time that counts beside that of its steps."""


def steps_per_pass(backend: str, n_atoms: int, terms: Terms, coupling: Coupling) -> int:
    """Steps that one kernel call, or one round of a loop on the device, unrolls.

    A call costs as much as several loops over atoms, a round as much as three, a step compile time. Where
    positions swap between two arrays (`dynamics.verlet`) steps come in pairs. Of Tersoff on an H100 two steps
    a round take 3 % less time than one for 8,000 and 27,000 atoms, as much for 64,000, 2 % more for 512,000.
    Nine steps between two actions of a barostat are three rounds of three, but five of two, the last with an
    idle step. On a full device the host's part of a call passes while the device works. A barostat's serial
    part takes as long to compile as everything else.
    """
    full, many_body = n_atoms >= FULL_DEVICE, terms.many_body
    if DEVICE_LOOPS:
        swap = not many_body or terms.angle is not None or terms.short_body
        if backend == "cpu" or not (swap or n_atoms < SHORT_STEPS):
            return 1
        between = coupling.period - 1
        return 3 if not swap and coupling.moves_cell and between > 0 and between % 3 == 0 else 2
    if coupling.moves_cell or (many_body and (backend == "cpu" or full)):
        return 1
    if backend == "cpu" or full:
        return 2 if QUICK_COMPILE else 4
    return 4 if many_body else 12


class Device:
    """Queues kernels for one system and knows what of their results is still true.

    Args:
        state: the atoms, with positions.
        bound: the force field, bound to their species.
        bath: thermostat and barostat.
        backend: "cuda" or "cpu", running.
        all_pairs: visit all pairs instead of neighbours.
        cell: (3, 3) angstrom.
        pbc: (3,) bool.
        skin: of the lists, angstrom, or None.
        by_tuple: the terms of tuple decomposition; those of the others are done by particle.

    Attributes:
        state, bath: as given.
        lists: what the force loops read.
        outputs: energies (n) and virials (9n), in spatial order, of the last forces.
        unroll: steps per kernel call.
        most_step2: square of the farthest that an atom may go in one step, angstrom^2.
        forces_known: whether forces belong to the present positions. evaluated: whether `outputs` do.
        blown: whether the state is that of a failed step.
    """

    def __init__(
        self,
        state: State,
        bound: Bound,
        bath: Bath,
        *,
        backend: str,
        all_pairs: bool,
        cell: Array,
        pbc: NDArray[np.bool_],
        skin: float | None,
        by_tuple: ByTuple,
    ) -> None:
        self.state, self.bath = state, bath
        self._pbc = pbc
        self._cell_known = True
        self.set_cell(cell)
        many_body = bound.terms.many_body
        self.unroll = steps_per_pass(backend, state.n, bound.terms, bath.coupling)
        shared = lanes.threads_for(bound.terms, backend, state.n, all_pairs, by_tuple)
        self._blocks = blocks_for(state.n * shared)
        self._tables = [state.table(values) for values in (bound.pair_table, bound.body_table)]
        self.outputs = ti.ndarray(state.real, state.n), ti.ndarray(state.real, 9 * state.n)
        self._flags = [ti.ndarray(ti.i32, ()) for _ in range(4)]  # of loops on the device
        self.forces_known = self.evaluated = self.blown = False
        self.lists = Lists(
            state,
            bound.cutoffs,
            bound.near_cutoffs,
            many_body=many_body,
            bonds=bound.terms.bond_order is not None,
            per_atom=0 if by_tuple.bodies else bound.terms.per_atom,
            all_pairs=all_pairs,
            unroll=self.unroll,
            skin=skin,
            pair_cutoffs=bound.pair_cutoffs,
            by_tuple=by_tuple,
        )
        self._variant = (
            bound.terms,
            state.real,
            state.term,
            backend,
            self.unroll,
            all_pairs,
            self.lists.near_list,
            self._blocks,
            bath.coupling,
            shared,
        )
        self._by_tuple = by_tuple
        self._numbers: dict[Any, list[Any]] = {}
        self._compiled_for: Any = None
        self.most_step2 = (0.25 * self.lists.cutoff) ** 2
        self.settle()

    # The cell.

    @property
    def cell(self) -> Array:
        """(3, 3) angstrom; after steps with a barostat it waits for the device."""
        if not self._cell_known:
            self._cell, self._cell_known = self.bath.cell, True
            self._frame = make_frame(self._cell, self._pbc)
        return self._cell

    @property
    def frame(self) -> Frame:
        """The lattice of the present cell."""
        _ = self.cell
        return self._frame

    def set_cell(self, cell: Array) -> None:
        """Take another cell; the caller sees to the lists.

        Raises:
            StructureError: it has no volume along the periodic directions.
        """
        self._frame = make_frame(cell, self._pbc)
        self._cell, self._cell_known = np.array(cell, float), True
        if self.bath.moves_cell:
            self.bath.cell = self._cell

    def cell_moved(self) -> None:
        """With a barostat, the host's copies of the cell, and of what comes from it, are void."""
        if self.bath.moves_cell:
            self._cell_known = False
            self.lists.verlet.forget_cell()

    # Lists.

    def renew(self) -> bool:
        """Bring the lists up to date, in the cell as it is now; whether there was anything to do."""
        if not self.lists.due():
            return False
        self.lists.renew(self.frame)
        self._choose_kernels()
        if self._run.listed is not None:
            self.call(self._run.listed, *self.lists.reaches(), *self.bath.arrays[1:])
        return True

    def _choose_kernels(self) -> None:
        """Kernels for what the lists search with; it hardly ever changes."""
        verlet = self.lists.verlet
        if verlet.search != self._compiled_for:
            search = verlet.search if DEVICE_LOOPS else None
            self._run = step_kernels(*self._variant, search, self._by_tuple)
            self._compiled_for = verlet.search

    def settle(self) -> None:
        """Lists that are fit; the state of a failed step has some only if its positions make sense.

        Raises:
            StructureError, CapacityError: see `VerletList.grow`.
        """
        if self.blown:
            positions = self.state.get("pos")
            check_positions(positions, self.state.n)
            check_turns(positions, self.frame)
        while self.renew():
            self.lists.look()

    def moved(self) -> None:
        """Positions came from outside: outdate the list if they break it."""
        self.forces_known = self.evaluated = self.blown = False
        lists, state = self.lists, self.state
        self.call(
            self._run.moved,
            state.n,
            lists.near2,
            state.pos,
            lists.listed_at,
            lists.control,
            self.bath.arrays[1],
        )

    # Forces.

    def queue_forces(self, timestep: float = 0.0) -> None:
        """Queue one call of `finish`; does not wait for it.

        It does nothing with an outdated list or, with a time step, where a run is not at its end.
        """
        lists, state = self.lists, self.state
        # The arrays are asked for anew each time: lists that grow exchange theirs.
        self.call(
            self._run.finish, *lists.sizes(), timestep, lists.drift2, state.pos, state.vel, state.force,
            state.inverse_mass, state.ident, state.kind, *lists.arrays(self._tables), lists.control,
            *self.outputs, self.bath.arrays[1], *lists.tuples.arrays,
        )  # fmt: skip

    def finish(self) -> None:
        """Forces, energies and virials of the present positions."""
        while True:
            self.settle()
            self.queue_forces()
            if not self.lists.look()[REBUILD]:
                break
        self.forces_known = self.evaluated = True

    def need_forces(self) -> None:
        """Forces of the present positions."""
        if not self.forces_known:
            self.finish()

    def need_outputs(self) -> None:
        """Energies and virials of the present positions."""
        if not self.evaluated:
            self.finish()

    def totals(self) -> tuple[float, float, Array]:
        """Potential and kinetic energy (eV) and virial (3, 3) (eV) as the last `finish` has left them."""
        return totals(self.state, *self.outputs)

    # Steps.

    def open_step(self, step: int, to_do: int, timestep: float) -> None:
        """Queue the first half kick and drift of a run that begins at a step."""
        lists, state = self.lists, self.state
        self.call(
            self._run.open_step, state.n, to_do, timestep, self.most_step2, lists.near2, state.pos, state.vel,
            state.force, state.inverse_mass, state.ident, lists.verlet.shift_bits, lists.shifts,
            lists.listed_at, lists.control, step, *self.bath.arrays,
        )  # fmt: skip
        self.forces_known = self.evaluated = False
        self.cell_moved()

    def step_batch(self, timestep: float) -> None:
        """Queue one call of `steps`."""
        state, lists = self.state, self.lists
        loops: tuple[Any, ...] = (self._flags[0], state.spare["pos"])
        if DEVICE_LOOPS:
            loops = (
                *self._flags,
                lists.builds_allowed,
                lists.most_age,
                *lists.verlet.search_arguments(state),
            )
        self.call(
            self._run.steps, *lists.sizes(), timestep, self.most_step2, lists.near2, lists.drift2,
            state.pos, state.vel, state.force, state.inverse_mass, state.ident, state.kind,
            *lists.arrays(self._tables), lists.control, *self.bath.arrays, *lists.tuples.arrays, *loops,
        )  # fmt: skip

    def close_step(self, n: int, step: int, timestep: float) -> None:
        """Queue what acts on the whole system at the end of a step, for n atoms (0: only compile)."""
        state, lists = self.state, self.lists
        if self._run.tally_virial is not None:
            self.call(
                self._run.tally_virial, n, *lists.sizes()[1:], state.pos, state.force, state.kind,
                *lists.arrays(self._tables), lists.control, self.outputs[1], *self.bath.arrays,
                *lists.tuples.arrays,
            )  # fmt: skip
        self.call(
            self._run.close_step, n, timestep, step - 1, state.vel, state.inverse_mass, *self.bath.arrays
        )

    def launch(self, kernel: Any, *args: Any) -> None:
        """Queue a kernel that may move atoms: what was known of the forces is void."""
        self.forces_known = self.evaluated = False
        self.call(kernel, *args)

    def call(self, kernel: Any, *args: Any) -> None:
        """Queue a kernel, compiled for this system's precision and size.

        Numbers that are those of the last call are passed as the same objects: by their addresses quadrants
        knows what it has compiled for, which is quicker than by types.
        """
        last = self._numbers.get(kernel, [None] * len(args))
        same = [b if type(a) is type(b) and a == b else a for a, b in zip(args, last, strict=True)]
        self._numbers[kernel] = [a if type(a) in (int, float) else None for a in same]
        with literals(self.state.real), grid(self._blocks):
            kernel(*same)
