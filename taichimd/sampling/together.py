"""Sweeps of several chains in one launch: their systems are a batch, and kernels and evaluations are of all.

Each chain decides alone, with its own random numbers, and has the bits that it has alone. Behind each call of
`advance` the chains are what they always are: they get positions, cell and energy back.
"""

from collections.abc import Sequence
from typing import Any

from ase import Atoms

from taichimd.program.batch import Batch
from taichimd.program.batchable import why_not_batchable
from taichimd.sampling.chain import MonteCarlo
from taichimd.sampling.kinds import SINGLE
from taichimd.sampling.singles import singles_for
from taichimd.sampling.sweep import Sweep

MOST_ATOMS = 300_000
"""Of all chains: with more, each of them keeps a device busy alone, and lists of all take memory."""


def go_together(chains: Sequence[MonteCarlo]) -> bool:
    """Whether chains can have their sweeps in one launch."""
    return (
        len(chains) > 1
        and all(type(chain) is MonteCarlo and not chain.apart for chain in chains)
        and len({_potential_of(chain) for chain in chains}) == 1
        and len({(one.kind, one.precision, one.decomposition, one.pressure is None) for one in chains}) == 1
        and sum(chain.n_atoms for chain in chains) <= MOST_ATOMS
        and why_not_batchable(chains[0].forcefield) is None
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
        device, singles = self._batch.device, None
        if first.kind == SINGLE:
            singles = singles_for(device, first.forcefield, set(first.symbols), first.backend)
        self._sweep = Sweep(device.state, singles)
        self._changes = [one.changes for one in chains]

    def advance(self, sweeps: int) -> None:
        """So many sweeps of all chains; after an error they are where they were before."""
        self._take()
        before: list[dict[str, Any]] = [
            {"positions": one.positions(), "cell": one.cell, "step": one.step, "bath": one.bath_state()}
            for one in self._chains
        ]
        try:
            for _ in range(sweeps):
                self._sweep_all()
        except BaseException:
            for one, state in zip(self._chains, before, strict=True):
                one.set_state(**state)
            raise
        self._give()

    def _sweep_all(self) -> None:
        """A sweep of all; of one after the other where a cell is too narrow (`Sweep.fits`)."""
        if self._chains[0].kind == SINGLE and not self._sweep.fits(self._chains, self._batch):
            self._give()
            for one in self._chains:
                one.advance(1)
            self._take()
            return
        self._sweep(self._chains, self._batch)
        for one in self._chains:
            one.count_sweep()

    def _take(self) -> None:
        """Positions and cells of chains that others have changed."""
        changed = {k: one for k, one in enumerate(self._chains) if one.changes != self._changes[k]}
        if changed:
            self._batch.set_cells({k: one.cell for k, one in changed.items()})
            self._batch.set_vectors("pos", {k: one.positions() for k, one in changed.items()})

    def _give(self) -> None:
        for member, one in zip(self._batch.members, self._chains, strict=True):
            one.go_to(member.positions(), member.cell, (one.energy, one.homogeneous))
        self._changes = [one.changes for one in self._chains]
