"""Several Markov chains side by side, which may exchange configurations: parallel tempering.

Neighbours of a ladder of temperatures exchange with the probability min(1, exp(a)),

    a = (1/kT_1 - 1/kT_2) (E_1 + p V_1 - E_2 - p V_2)

first the pairs (1, 2), (3, 4), ..., the next time (2, 3), (4, 5), ... Temperatures and step sizes stay.

C. J. Geyer, Computing Science and Statistics 23, 156 (1991); D. J. Earl and M. W. Deem, Phys. Chem. Chem.
Phys. 7, 3910 (2005), doi:10.1039/b509983h.
"""

import warnings
from collections.abc import Sequence

from taichimd.core import units
from taichimd.core.errors import CapacityError, TaichimdWarning
from taichimd.core.philox import Stream, logarithm
from taichimd.core.streams import MC_EXCHANGE
from taichimd.program.batch import Batch
from taichimd.program.batchable import why_not_batchable
from taichimd.sampling.chain import MonteCarlo, system_atoms
from taichimd.sampling.sweep import ChainGroup

MAX_ATOMS = 300_000
"""Most atoms of a group of chains: with more, each chain keeps a device busy, and lists take memory."""


class Chains:
    """Chains that are sampled side by side: in one group where that is possible and fits, else in turn.

        >>> from ase.build import bulk
        >>> from taichimd.sampling.chain import MonteCarlo
        >>> from taichimd.sampling.tempering import Chains
        >>> argon = bulk("Ar", cubic=True, a=5.4) * 2
        >>> ladder = [MonteCarlo(argon, "Ar.lj", temperature=t, move=0.02, seed=t) for t in (80, 84)]
        >>> Chains(ladder, exchange=5).advance(20)
        >>> ladder[0].exchanges.tried
        2

    Args:
        chains: at the same sweep, each with a seed of its own; the same seed twice is a warning. Without
            exchanges each has the bits that it has in a group of one.
        exchange: sweeps between exchanges; None: there are none.
        rungs: temperatures of a ladder; None: all chains are one. Ladders stand one after the other.
    """

    def __init__(
        self, chains: Sequence[MonteCarlo], exchange: int | None = None, rungs: int | None = None
    ) -> None:
        self.chains, self._exchange, self._rungs = list(chains), exchange, rungs or len(chains)
        self._one_group = can_share(self.chains)
        if len({one.seed for one in self.chains}) < len(self.chains):
            warnings.warn(
                "several chains have the same seed, so they have the same noise and their averages are not "
                "independent; give each chain a seed of its own",
                TaichimdWarning,
                stacklevel=2,
            )

    @property
    def step(self) -> int:
        """Sweeps done, of all chains."""
        return self.chains[0].step

    def recorder(self) -> None:
        """None: totals are reported at once."""

    def advance(self, n_steps: int, timestep: float = 1.0) -> None:
        """So many sweeps of all chains. Exchanges come before a sweep: checkpoints have not seen them."""
        last, every = self.step + n_steps, self._exchange
        while (step := self.step) < last:
            if every and step and step % every == 0:
                for first in range(0, len(self.chains), self._rungs):
                    exchange(self.chains[first : first + self._rungs], step // every)
            then = min(last, (step // every + 1) * every) if every else last
            self._sweep(then - step)

    def _sweep(self, sweeps: int) -> None:
        if self._one_group and not are_sharing(self.chains):
            try:
                share(self.chains)
            except CapacityError:
                # One at a time may fit.
                self._one_group = False
        if self._one_group:
            self.chains[0].group.advance(self.chains, sweeps)
        else:
            for one in self.chains:
                one.advance(sweeps)


def can_share(chains: Sequence[MonteCarlo]) -> bool:
    """Whether chains can have their systems on one device."""
    kinds = {(one.kind, one.precision, one.decomposition, one.pressure is None) for one in chains}
    return (
        len(chains) > 1
        and len({one.forcefield.describe(one.symbols)["fingerprint"] for one in chains}) == 1
        and len(kinds) == 1
        and sum(one.n_atoms for one in chains) <= MAX_ATOMS
        and why_not_batchable(chains[0].forcefield) is None
    )


def are_sharing(chains: Sequence[MonteCarlo]) -> bool:
    """Whether chains are all those of one group, in its order."""
    group = chains[0].group
    places = [(one.group, one.number) for one in chains]
    return places == [(group, number) for number in range(len(group.members))]


def share(chains: Sequence[MonteCarlo]) -> None:
    """Put the systems of chains that can share it on one device, where they are one group.

    CapacityError: they do not fit; then nothing has changed.
    """
    first = chains[0]
    batch = Batch(
        [system_atoms(one) for one in chains], first.forcefield, backend=first.backend,
        precision=first.precision, decomposition=first.decomposition, fixed=[one.fixed for one in chains],
    )  # fmt: skip
    batch.set_vectors("vel", {k: one.velocities() for k, one in enumerate(chains)})
    group = ChainGroup(batch.members, first.kind)
    for number, one in enumerate(chains):
        one.join(group, number)


def exchange(ladder: Sequence[MonteCarlo], number: int) -> None:
    """Try to exchange neighbours: of each second pair, from the first or the second one on."""
    uniform = Stream(ladder[0].seed, ladder[0].step, MC_EXCHANGE).uniform(len(ladder))
    for k in range((number + 1) % 2, len(ladder) - 1, 2):
        one, other = ladder[k], ladder[k + 1]
        accepted = logarithm(float(uniform[k])) < exponent(one, other)
        one.exchanges.count(accepted)
        if accepted:
            one.swap(other)


def exponent(one: MonteCarlo, other: MonteCarlo) -> float:
    """The logarithm of how much more probable two chains are with each other's configurations."""
    beta = 1.0 / (units.KB * one.temperature) - 1.0 / (units.KB * other.temperature)
    return beta * (one.enthalpy - other.enthalpy)
