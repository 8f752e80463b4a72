"""Sweeps of several chains in one launch: their systems are a batch, and a sweep has one evaluation for all.

Each chain decides alone, with its own random numbers, and has the bits that it has alone. Behind each call of
`advance` the chains are what they always are: they get positions, cell and energy back.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.core.errors import StructureError
from taichimd.core.runtime import ti
from taichimd.program.batch import Batch
from taichimd.program.batchable import why_alone
from taichimd.program.results import Array
from taichimd.sampling.chain import ALL, MOVE, VOLUME, VOLUME_MOVE, MonteCarlo
from taichimd.sampling.proposals import Each, proposals_of_each

MOST_ATOMS = 300_000
"""Of all chains: with more, each of them keeps a device busy alone, and lists of all take memory."""


def go_together(chains: Sequence[MonteCarlo]) -> bool:
    """Whether chains can have their sweeps in one launch: moves of all atoms, whose energy a batch knows."""
    one = chains[0]
    return (
        len(chains) > 1
        and all(type(chain) is MonteCarlo and chain.kind == ALL for chain in chains)
        and len({_potential_of(chain) for chain in chains}) == 1
        and len({(chain.precision, chain.decomposition, chain.pressure is None) for chain in chains}) == 1
        and sum(chain.n_atoms for chain in chains) <= MOST_ATOMS
        and not one.device.evaluators
        and why_alone(one.forcefield) is None
    )


def _potential_of(chain: MonteCarlo) -> str:
    return str(chain.forcefield.describe(chain.symbols)["fingerprint"])


class Sweeps:
    """Sweeps of chains that `go_together`, at the same sweep."""

    def __init__(self, chains: Sequence[MonteCarlo]) -> None:
        self._chains, first = list(chains), chains[0]
        systems = [
            Atoms(one.symbols, one.positions(), masses=one.masses, cell=one.cell, pbc=one.pbc)
            for one in chains
        ]
        self._batch = Batch(
            systems, first.forcefield, backend=first.backend, precision=first.precision,
            decomposition=first.decomposition, fixed=[one.fixed for one in chains],
        )  # fmt: skip
        state, n = self._batch.device.state, len(chains)
        self._real, self._kernels = state.numpy_real, proposals_of_each(state.real)
        self._before = ti.ndarray(state.vec, state.n)
        reals, ints = ([ti.ndarray(kind, n) for _ in range(2)] for kind in (state.real, ti.i32))
        self._each = Each(
            system=state.system, firsts=ints[0], most=reals[0], seeds=ti.ndarray(ti.i64, n), factors=reals[1],
            back=ints[1],
        )  # fmt: skip
        self._each.firsts.from_numpy(state.firsts.astype(np.int32))
        self._each.seeds.from_numpy(np.array([one.seed for one in chains], np.int64))
        self._changes = [one.changes for one in chains]
        self._sizes = np.zeros(0)

    def advance(self, sweeps: int) -> None:
        """So many sweeps of all chains; after an error they are where they were before."""
        self._take()
        before = [(one.step, one.bath_state()) for one in self._chains]
        energies = np.array([one.energy for one in self._chains])
        try:
            for _ in range(sweeps):
                energies = self._sweep(energies)
                for one in self._chains:
                    one.count_sweep()
        except BaseException:
            for one, (step, counted) in zip(self._chains, before, strict=True):
                one.set_state(step=step, bath=counted)
            raise
        self._give(energies)

    def _take(self) -> None:
        """Positions and cells of chains that others have changed."""
        changed = {k: one for k, one in enumerate(self._chains) if one.changes != self._changes[k]}
        if changed:
            self._batch.set_cells({k: one.cell for k, one in changed.items()})
            self._batch.set_vectors("pos", {k: one.positions() for k, one in changed.items()})

    def _give(self, energies: Array) -> None:
        for member, one, energy in zip(self._batch.members, self._chains, energies.tolist(), strict=True):
            one.go_to(member.positions(), member.cell, energy)
        self._changes = [one.changes for one in self._chains]

    def _sweep(self, old: Array) -> Array:
        """Energies behind a sweep, eV."""
        chains, uniform = self._chains, [one.uniform() for one in self._chains]
        sizes = np.array([one.moves.size for one in chains], self._real)
        if not np.array_equal(sizes, self._sizes):
            self._each.most.from_numpy(sizes)
            self._sizes = sizes
        self._propose(self._kernels.displace, chains[0].step)
        members = self._batch.members
        out = [one.leaves(members[k].positions, members[k].cell) for k, one in enumerate(chains)]
        new = np.where(out, np.inf, self._energies({}))
        accepted = [
            one.accepts(float(uniform[k][MOVE]), float(new[k] - old[k])) for k, one in enumerate(chains)
        ]
        self._undo([k for k, yes in enumerate(accepted) if not yes], {})
        now = np.where(accepted, new, old)
        return now if chains[0].pressure is None else self._change_volumes(now, uniform)

    def _change_volumes(self, old: Array, uniform: Sequence[Array]) -> Array:
        chains, cells = self._chains, {k: one.cell for k, one in enumerate(self._batch.members)}
        trials = [one.trial_volume(float(uniform[k][VOLUME])) for k, one in enumerate(chains)]
        after = {k: cells[k] * factor for k, (_, factor) in enumerate(trials)}
        self._each.factors.from_numpy(np.array([factor for _, factor in trials], self._real))
        self._propose(self._kernels.scale)
        self._batch.set_cells(after)
        new = self._energies(cells)
        accepted = [
            one.accepts_volume(
                float(uniform[k][VOLUME_MOVE]), float(new[k] - old[k]), trials[k][0], (cells[k], after[k])
            )
            for k, one in enumerate(chains)
        ]
        self._undo([k for k, yes in enumerate(accepted) if not yes], cells)
        return np.where(accepted, new, old)

    def _propose(self, kernel: Any, *numbers: int) -> None:
        device = self._batch.device
        device.launch(kernel, device.state, self._before, self._each, *numbers)
        device.moved()
        self._batch.forget()

    def _energies(self, cells: dict[int, Array]) -> Array:
        """Of all systems, eV; infinity where atoms are on top of each other.

        Args:
            cells: before the trial, if it changes them.
        """
        batch, lists, failed = self._batch, self._batch.device.lists, []
        while True:
            try:
                energies = batch.sums("totals")[:, 0].copy()
                break
            except StructureError:
                failed.append(batch.system_of(lists.atom_too_close()))
                self._undo(failed[-1:], cells)
                lists.outdate()
        energies[failed] = np.inf
        return energies

    def _undo(self, numbers: Sequence[int], cells: dict[int, Array]) -> None:
        """Positions of some systems before the trial, and their cells if these have changed."""
        if not numbers:
            return
        back = np.zeros(len(self._chains), np.int32)
        back[list(numbers)] = 1
        self._each.back.from_numpy(back)
        if cells:
            self._batch.set_cells({k: cells[k] for k in numbers})
        self._propose(self._kernels.restore)
