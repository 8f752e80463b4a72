"""Chains whose systems are on one device, one or several, which have their sweeps side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.program.device import Energy
from taichimd.sampling.metropolis import Metropolis
from taichimd.sampling.sweep import Sweep
from taichimd.sampling.systems import Systems


class Group:
    """Chains at the same sweep. Each has the bits that it has in a group of one.

    Args:
        chains: of one kind of moves, all with a pressure or none.
        systems: of each chain, under one force field.

    Attributes:
        chains, systems: as given. sweep: what does the sweeps.
    """

    def __init__(self, chains: Sequence[Metropolis], systems: Systems) -> None:
        self.chains, self.systems = list(chains), systems
        self.sweep = Sweep(self.chains, systems)

    def advance(self, sweeps: int) -> None:
        """So many sweeps of all chains; after an error they are where they were before."""
        members = self.systems.members
        places: list[dict[str, Any]] = [{"positions": one.positions(), "cell": one.cell} for one in members]
        before = [(one.step, one.state()) for one in self.chains]
        try:
            for _ in range(sweeps):
                self.sweep()
                for one in self.chains:
                    one.count_sweep()
        except BaseException:
            for member, place, one, (step, state) in zip(members, places, self.chains, before, strict=True):
                member.set_state(**place)
                one.step = step
                one.restore(state)
            raise

    def find_energy(self, number: int) -> Energy:
        """The energy of a system, evaluated; other chains whose energy is not known learn theirs."""
        found = self.systems.energies()
        for one, energy in zip(self.chains, found, strict=True):
            one.known = one.known or energy
        return found[number]

    def totals(self, number: int) -> tuple[float, Array]:
        """Potential energy (eV) and virial ((3, 3), eV) of a system, of a full evaluation."""
        potential, _, *virial = self.systems.sums("totals")[number]
        return float(potential), np.reshape(virial, (3, 3))
