"""A function of chains summed over a network of bonds: energies, forces, slopes to the strengths."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import memory
from taichimd.core.arguments import types_of
from taichimd.core.errors import CapacityError, SettingsError
from taichimd.core.runtime import backend, literals, ti
from taichimd.tuples.bonds import BondList
from taichimd.tuples.conditions import CURE, Condition
from taichimd.tuples.lists import TupleList
from taichimd.tuples.sums import OfChains, Sums, sum_kernels

DECOMPOSITIONS = ("particle", "bond", "tuple")
FEW, MANY_ATOMS = 0.2, 4_000
"""On a GPU a list of chains, made anew for each sum, pays where a condition accepts fewer of the candidates than this, from
so many atoms on (`validation/results/quadruplets_cuda.json`)."""


def choose(accepted: int, candidates: int, n_atoms: int, backend: str) -> str:
    """What "auto" takes: what was measured to be faster.

    Args:
        accepted: chains that the condition accepts.
        candidates: chains of any three bonds that follow each other.
        n_atoms: of the network.
        backend: "cuda" or "cpu".
    """
    lists_pay = backend == "cuda" and n_atoms >= MANY_ATOMS and accepted < FEW * candidates
    return "tuple" if lists_pay else "bond"


@dataclass(frozen=True)
class ChainSums:
    """What a function of chains adds up to.

    Attributes:
        energies: (n,) eV: of each chain, half goes to each of its central atoms.
        forces: (n, 3) eV/angstrom at constant strengths, -dU/dr.
        slopes: (m,) eV: dU/ds of the bond, the same for both directions. Where strengths depend on distance,
            forces of slope ds/dr along the bond come on top.
    """

    energies: NDArray[np.float64]
    forces: NDArray[np.float64]
    slopes: NDArray[np.float64]


class ChainTerm:
    """A function of chains i-j-k-l (see `chains`) over all chains that a condition accepts.

    Args:
        bonds: the network, with strengths and positions.
        function: of a chain.
        condition: which chains count.
        table: parameters that the function reads.
        memory_limit: bytes that list and sums may take, each; None: most of what is free.

    Raises:
        CapacityError: no room for what is kept for each two bonds of one atom.

    Attributes:
        list: the chains. energies, forces, slopes: results on the device.
    """

    def __init__(
        self,
        bonds: BondList,
        function: Callable[..., Any],
        condition: Condition,
        table: Sequence[float] = (),
        *,
        memory_limit: int | None = None,
    ) -> None:
        self._bonds, self._limit = bonds, memory_limit
        self.list = TupleList(bonds, 4, condition, memory_limit=memory_limit)
        self._kernels = sum_kernels(function, condition, bonds.real)
        n, m, types = bonds.n, max(bonds.m, 1), types_of(bonds.real)
        squares = np.concatenate([[0], np.cumsum(bonds.degrees**2)])
        pairs, self._number = int(squares[-1]), np.dtype(bonds.numpy_real).itemsize
        self._bond_bytes = self._number * (4 * (pairs + 3 * m) + 2 * m)
        what = f"sums over {pairs} pairs of bonds of one atom"
        memory.require(self._bond_bytes, 4 * pairs, what, CURE, memory_limit)
        self._sums = sums = Sums(outer=memory.array(types["vec4"], pairs, what, self._bond_bytes, CURE))
        lengths = {"m": m, "n": n, "n + 1": n + 1, "any": max(len(table), 1)}
        for name, field in Sums.fields.items():
            if name != "outer":
                setattr(sums, name, ti.ndarray(types[field.type], lengths[field.length]))
        sums.squares.from_numpy(squares.astype(np.int32))
        if len(table):
            sums.table.from_numpy(np.asarray(table, bonds.numpy_real))
        self.energies, self.forces, self.slopes = sums.energies, sums.forces, sums.slopes
        self._room, self._of_chains = 0, self._arrays(1)
        self._chosen = ""

    def queue(self, decomposition: str = "auto") -> None:
        """Queue the sums of the present positions and strengths; does not wait for them.

        Args:
            decomposition: a thread for each atom ("particle"), central bond ("bond") or chain of a list ("tuple"), with the
                same bits; "auto": see `choose`, by the strengths of the first call.

        Raises:
            SettingsError: another decomposition than these.
            CapacityError: no room for the list of chains, or for what is kept of each ("tuple" alone).
        """
        if decomposition not in (*DECOMPOSITIONS, "auto"):
            raise SettingsError(
                f"decomposition '{decomposition}': expected one of {', '.join(DECOMPOSITIONS)}, auto"
            )
        if decomposition == "auto":
            decomposition = self._chosen = self._chosen or self._choose()
        arguments: tuple[Any, ...] = self._bonds, self._sums
        if decomposition == "tuple":
            self.list.update()
            self._reserve()
            arguments += self.list, self.list.places, self._of_chains
        with literals(self._bonds.real):
            self._kernels[decomposition](*arguments)

    def evaluate(self, decomposition: str = "auto") -> ChainSums:
        """`queue`, and the results, in float64."""
        self.queue(decomposition)
        energies, forces, slopes = (
            array.to_numpy().astype(np.float64) for array in (self.energies, self.forces, self.slopes)
        )
        return ChainSums(energies, forces, slopes[: self._bonds.m])

    def statistics(self) -> dict[str, Any]:
        """Those of the list, and bytes kept for each decomposition: for bonds ("particle", "bond"), for chains."""
        return {
            **self.list.statistics(),
            "bond_sum_bytes": self._bond_bytes,
            "chain_bytes": 13 * self._number * self._room,
        }

    def _choose(self) -> str:
        """The decomposition for "auto"; a list is only made where it may pay."""
        bonds, running = self._bonds, backend()
        if choose(0, 1, bonds.n, running) == "bond":
            return "bond"
        ends = bonds.degrees[bonds.partner.to_numpy()[: bonds.m]] - 1
        candidates = int((np.repeat(bonds.degrees - 1, bonds.degrees) * ends).sum()) // 2
        try:
            self.list.update()
        except CapacityError:
            return "bond"
        return choose(self.list.count, candidates, bonds.n, running)

    def _arrays(self, room: int, what: str = "", size: int = 0) -> OfChains:
        """Energy and three derivatives of each chain."""
        types, fields = types_of(self._bonds.real), OfChains.fields.values()
        return OfChains(*(memory.array(types[field.type], room, what, size, CURE) for field in fields))

    def _reserve(self) -> None:
        if self.list.count <= self._room:
            return
        need, room = self.list.count, self.list.capacity
        each, what = 13 * self._number, f"the derivatives of {need} chains"
        self._room, self._of_chains = 0, self._arrays(1)
        memory.require(each * need, 4 * need, what, CURE, self._limit)
        most = memory.most_bytes(self._limit)
        if 4 * room > memory.LARGEST or (most is not None and each * room > most):
            room = need
        self._of_chains = self._arrays(room, what, each * room)
        self._room = room
