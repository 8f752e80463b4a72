"""Sweeps of trial moves of single atoms, of all systems of a device."""

from collections.abc import Collection, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import ti
from taichimd.enumerate.terms import Triples
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import Bound
from taichimd.forcefields.contribution import ALL_PAIRS
from taichimd.program.device import Device
from taichimd.sampling.block_room import MAX_BLOCKS, Room, in_blocks, room_for, threads_of_cell
from taichimd.sampling.board import Boards
from taichimd.sampling.local_terms import Local, locals_of
from taichimd.sampling.sequence import InSequence
from taichimd.sampling.single_kernels import single_moves
from taichimd.sampling.trials import Trials
from taichimd.system.frame import Frame


class SingleMoves:
    """Sweeps of single moves."""

    def __init__(
        self, device: Device, bounds: tuple[Bound, ...], terms: tuple[Local, ...], cutoff: float, backend: str
    ) -> None:
        state = device.state
        n_kinds = bounds[0].terms.n_kinds
        self._device, self._terms, self._systems, self._backend = device, terms, len(state.sizes), backend
        self._sequence = InSequence(device, terms, n_kinds, backend) if np.isinf(cutoff) else None
        if self._sequence is None:
            self._boards = Boards(state, cutoff * max(one.reach for one in terms))
            self._shared, self._room, self._most_groups = in_blocks(terms, backend), Room(0), 0
            self._kernel = single_moves(terms, n_kinds, state.real, state.term, backend)
        self._tables = tuple(
            state.table(bound.pair_table) if bound.triples is None else _numbers(bound.triples)
            for bound in bounds
        )

    def sweep(
        self,
        frames: Sequence[Frame],
        uniform: Sequence[NDArray[np.float64]],
        trials: Trials,
        most: float,
        sweep: int,
    ) -> Sequence[tuple[float | None, int]]:
        """A trial move of each free atom: changes of energies, eV, or None if not told; accepted moves.

        11 random numbers of each system: shifts of the board, and the order of its colours. `most`: the
        largest displacement of all, angstrom.
        """
        device, lists = self._device, self._device.lists
        device.fit_lists(sqrt(3.0) * most)
        rows = tuple(
            None if local.everywhere else one.near if lists.near_list else lists.verlet
            for one, local in zip(lists.near, self._terms, strict=True)
        )
        found: Sequence[tuple[float | None, int]]
        if self._sequence is not None:
            found = self._sequence.sweep(rows, self._tables, trials, sweep)
        else:
            self._boards.place(frames, uniform, device.call)
            found = self._sweep_boards(rows, trials, sweep)
        device.moved()
        return found

    def _sweep_boards(self, rows: tuple[Any, ...], trials: Trials, sweep: int) -> list[tuple[float, int]]:
        """A trial move of each free atom, the cells of one colour after the other."""
        device, boards = self._device, self._boards
        groups = boards.size
        if self._shared:
            groups = min(groups, max(MAX_BLOCKS // self._systems, 1))
            self._reserve(max(one.width for one in rows), groups * self._systems)
        threads = self._systems * groups * threads_of_cell(self._terms, self._backend)
        for turn in range(boards.turns):
            device.launch(
                self._kernel, device.state, device.lists.verlet, rows, self._tables, boards.board, threads,
                turn, groups, trials, sweep, self._room,
            )  # fmt: skip
        return boards.results()

    def _reserve(self, width: int, groups: int) -> None:
        """Room for so many neighbours in each of so many blocks."""
        if width > self._room.width or groups > self._most_groups:
            width, groups = max(width, self._room.width), max(groups, self._most_groups)
            self._room, self._most_groups = room_for(width, groups), groups


def singles_for(
    device: Device, forcefield: ForceField, species: Collection[str], backend: str
) -> SingleMoves | None:
    """What moves single atoms; None if a term does not say how its energy changes with one atom."""
    bounds = forcefield.bind(sorted(species))
    terms = locals_of(bounds)
    if terms is None or forcefield.enumeration == ALL_PAIRS:
        return None
    return SingleMoves(device, bounds, terms, forcefield.cutoff, backend)


def _numbers(triples: Triples) -> Any:
    """Limits and strengths of triples on the device."""
    numbers = np.concatenate([[triples.cutoff**2, triples.product_cutoff**6], np.ravel(triples.strengths)])
    array = ti.ndarray(ti.f64, len(numbers))
    array.from_numpy(numbers)
    return array
