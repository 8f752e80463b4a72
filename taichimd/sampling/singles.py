"""Trial moves of single atoms, cell by cell of a board, with what each changes of the energy."""

from collections.abc import Collection, Sequence
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import Array, Number, View, kernel, types_of
from taichimd.core.math import log
from taichimd.core.runtime import WARPS, ti
from taichimd.enumerate.reproducible_sum import empty_sums
from taichimd.enumerate.row_sums import across, from_first
from taichimd.forcefields.base import ALL_PAIRS, ForceField
from taichimd.forcefields.bound import Bound
from taichimd.neighbours.rows import WARP, NearRows, VerletRows, row_layout
from taichimd.program.device import Device
from taichimd.sampling.block_moves import (
    BLOCK,
    MOST_BLOCKS,
    Room,
    block_triples,
    in_blocks,
    of_block,
    open_room,
    room_for,
)
from taichimd.sampling.board import LAYOUT, SIZE, TURNS, Board, Boards, corner_of
from taichimd.sampling.local_energy import OTHER_CELLS, Local, change_function, locals_of
from taichimd.sampling.proposals import SINGLE_MOVES, SWEEP, Each, trial_move
from taichimd.sampling.sequence import InSequence
from taichimd.system.frame import Frame
from taichimd.system.state import Atoms


class _Given(View):
    """What sums over neighbours read."""


def threads_of_cell(terms: tuple[Local, ...], backend: str) -> int:
    """Threads that have a cell together: a block, a warp, or one."""
    return BLOCK if in_blocks(terms, backend) else WARP if backend == "cuda" and WARPS else 1


@cache
def single_moves(terms: tuple[Local, ...], n_kinds: int, real: Any, term: Any, backend: str) -> Any:
    """Kernel: a trial move of each atom in the cells of one colour. A thread, a warp, or a block has a cell at a time.

    Args:
        terms: of the energy.
        n_kinds: species.
        real: type of positions.
        term: of what is computed from distances.
        backend: "cuda" or "cpu".
    """
    layout, number = row_layout(backend), len(terms)
    shared, many = in_blocks(terms, backend), threads_of_cell(terms, backend)
    changes = []
    for one in terms:
        if shared and one.triple:
            changes.append(block_triples(one, n_kinds, real, layout))
        else:
            changes.append(change_function(one, n_kinds, real, term, layout, OTHER_CELLS))
    triples = [bool(one.triple) for one in terms]
    rows = tuple(NearRows.only("width", "count", "entries") for _ in terms)
    # Of triples: squares of the cutoff and of the product's cube, then strengths.
    tables = tuple(Array("term" if one.pair else "f64", "numbers", "parameters of a term") for one in terms)
    taken = Atoms.only("n", "pos", "inverse_mass", "ident", "kind")
    places = Board.only("grid", "layout", "cell_of", "members", "starts", "gain", "accepted")

    @ti.func
    def change_of(i, group, lane, turn, x, y, work, g: ti.template()):
        """Of the energy, by a move from x to y; in all threads that share it. How many terms took turns."""
        sums, turns = empty_sums(1), turn
        for k in ti.static(range(number)):
            if ti.static(shared and triples[k]):
                changes[k](sums, i, group, lane, turns % 2, x, y, work, g, k)
                turns += 1
                if ti.static(sum(triples[k:]) > 1):
                    ti.simt.block.sync()
            else:
                changes[k](sums, i, lane, many, x, y, work, g, k)
        change = ti.cast(0.0, ti.f64)
        if ti.static(shared):
            change = of_block(sums, group, lane, g.room)
        else:
            change = across(sums, 1, many)[0]
            if ti.static(many > 1):
                change = from_first(change)
        return change, turns

    @kernel(types_of(real, term), atoms=taken, verlet=VerletRows.only("shift_bits", "shifts"), rows=rows, tables=tables, board=places, threads=Number("i32", "of all systems"), turn=Number("i32", "which of the colours"), groups=Number("i32", "of threads that have a cell of a system at a time"), trials=SINGLE_MOVES, sweep=SWEEP, room=Room if shared else None)  # fmt: skip
    def move(atoms, verlet, rows, tables, board, threads, turn, groups, trials, sweep, room):
        g = _Given(atoms=atoms, verlet=verlet, rows=rows, tables=tables, board=board, room=room)
        if ti.static(shared):
            ti.loop_config(block_dim=BLOCK)
        for thread in range(threads):
            group, lane = thread // many, thread % many
            system, place, turns = group // groups, group % groups, 0
            first, size = board.layout[LAYOUT * system + TURNS + turn], board.layout[LAYOUT * system + SIZE]
            # Cells of a colour stand where atoms do in a batch.
            work = ti.Vector([system, 0, 0, first, first + size])
            if ti.static(shared):
                open_room(group, lane, room)
            while first >= 0 and place < size:
                cell = first + place
                gain, accepted = ti.cast(0.0, ti.f64), 0
                for m in range(board.starts[cell], board.starts[cell + 1]):
                    i = board.members[m]
                    if atoms.inverse_mass[i] > 0.0:
                        x, atom = atoms.pos[i], atoms.ident[i] - trials.firsts[system]
                        y, chance = trial_move(x, trials.most[system], trials.seeds[system], atom, sweep)
                        leaves = corner_of(y, system, board) - corner_of(x, system, board)
                        if leaves[0] == 0 and leaves[1] == 0 and leaves[2] == 0:
                            change, then = change_of(i, group, lane, turns, x, y, work, g)
                            turns = then
                            if ti.cast(log(chance), ti.f64) < -trials.beta[system] * change:
                                # All threads of a cell write the same: each finds it in the next move.
                                atoms.pos[i] = y
                                gain += change
                                accepted += 1
                if lane == 0:
                    board.gain[cell] = gain
                    board.accepted[cell] = accepted
                place += groups

    return move


class SingleMoves:
    """Sweeps of single moves.

    Args:
        device: the systems.
        bounds: terms with their parameters. terms: how their energy changes.
        cutoff: range of the energy, angstrom.
        backend: "cuda" or "cpu".
    """

    def __init__(
        self, device: Device, bounds: tuple[Bound, ...], terms: tuple[Local, ...], cutoff: float, backend: str
    ) -> None:
        state = device.state
        n_kinds = bounds[0].terms.n_kinds
        self._device, self._terms, self._systems, self._backend = device, terms, len(state.sizes), backend
        self._sequence = InSequence(device, terms, n_kinds, backend) if np.isinf(cutoff) else None
        if self._sequence is None:
            self._boards = Boards(state, cutoff)
            self._shared, self._room, self._most_groups = in_blocks(terms, backend), Room(0), 0
            self._kernel = single_moves(terms, n_kinds, state.real, state.term, backend)
        self._tables = tuple(
            _numbers(bound) if local.triple else state.table(bound.pair_table)
            for bound, local in zip(bounds, terms, strict=True)
        )

    def sweep(
        self,
        frames: Sequence[Frame],
        uniform: Sequence[NDArray[np.float64]],
        trials: Each,
        most: float,
        sweep: int,
    ) -> Sequence[tuple[float | None, int]]:
        """A trial move of each free atom.

        Args:
            frames: the lattice of each system.
            uniform: 11 random numbers of each: shifts of the board, and the order of its colours.
            trials: what the moves are.
            most: the largest displacement of all, angstrom.
            sweep: number of the sweep.

        Returns:
            Of each system the change of the energy, eV, None where only a full evaluation tells; and accepted moves.
        """
        device, lists = self._device, self._device.lists
        device.fit_lists(sqrt(3.0) * most)
        rows = tuple(
            None if local.everywhere else one.near if lists.near_list else lists.verlet
            for one, local in zip(lists.near, self._terms, strict=True)
        )
        if self._sequence is not None:
            found = self._sequence.sweep(rows, self._tables, trials, sweep)
            device.moved()
            return found
        boards = self._boards
        boards.place(frames, uniform, device.call)
        groups = boards.size
        if self._shared:
            groups = min(groups, max(MOST_BLOCKS // self._systems, 1))
            self._reserve(max(one.width for one in rows), groups * self._systems)
        threads = self._systems * groups * threads_of_cell(self._terms, self._backend)
        for turn in range(boards.turns):
            device.launch(
                self._kernel, device.state, lists.verlet, rows, self._tables, boards.board, threads, turn, groups, trials,
                sweep, self._room,
            )  # fmt: skip
        found = boards.results()
        device.moved()
        return found

    def _reserve(self, width: int, groups: int) -> None:
        """Room for so many neighbours in each of so many blocks."""
        if width > self._room.width or groups > self._most_groups:
            width, groups = max(width, self._room.width), max(groups, self._most_groups)
            self._room, self._most_groups = room_for(width, groups), groups


def singles_for(
    device: Device, forcefield: ForceField, species: Collection[str], backend: str
) -> SingleMoves | None:
    """What moves single atoms of some species; None if a term does not say how its energy changes with one atom."""
    bounds = forcefield.bind(sorted(species))
    terms = locals_of(bounds)
    if terms is None or forcefield.enumeration == ALL_PAIRS:
        return None
    return SingleMoves(device, bounds, terms, forcefield.cutoff, backend)


def _numbers(bound: Bound) -> Any:
    """Limits and strengths of triples on the device."""
    triples = bound.triples
    numbers = np.concatenate([[triples.cutoff**2, triples.product_cutoff**6], np.ravel(triples.strengths)])
    array = ti.ndarray(ti.f64, len(numbers))
    array.from_numpy(numbers)
    return array
