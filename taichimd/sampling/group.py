"""Chains whose systems are on one device, one or several, which have their sweeps side by side."""

from collections.abc import Sequence

import numpy as np

from taichimd.core.arrays import Array
from taichimd.program.systems import Systems
from taichimd.sampling.metropolis import Metropolis
from taichimd.sampling.sweep import Sweep


class Group:
    """The systems of chains on one device, and their sweeps.

    It does not hold the chains, which hold it: else the device's memory would wait for the garbage collector.

    Args:
        systems: of each chain, under one force field.
        kind: of their moves.

    Attributes:
        systems: as given. sweep: what does the sweeps.
    """

    def __init__(self, systems: Systems, kind: str) -> None:
        self.systems, self.sweep = systems, Sweep(systems, kind)

    def advance(self, chains: Sequence[Metropolis], sweeps: int) -> None:
        """So many sweeps of all chains; after an error several are where they were, all at one sweep.

        Args:
            chains: of the systems, at the same sweep. Each has the bits that it has in a group of one.
            sweeps: how many.
        """
        if any(one.known is None for one in chains):
            for one, energy in zip(chains, self.systems.energies(), strict=True):
                one.known = one.known or energy
        before = [
            (chain, one, one.positions(), one.cell, chain.step, chain.bath_state())
            for chain, one in zip(chains, self.systems.members, strict=True)
            if len(chains) > 1
        ]
        try:
            for _ in range(sweeps):
                self.sweep(chains)
                for one in chains:
                    one.count_sweep()
        except BaseException:
            for chain, system, positions, cell, step, state in before:
                system.set_state(positions=positions, cell=cell)
                chain.step = step
                chain.restore(state)
            raise

    def totals(self, number: int) -> tuple[float, Array]:
        """Potential energy (eV) and virial ((3, 3), eV) of a system, of a full evaluation."""
        potential, _, *virial = self.systems.sums("totals")[number]
        return float(potential), np.reshape(virial, (3, 3))
