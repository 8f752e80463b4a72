"""Scores of chains on the device: all chains in one call, in sums of integers.

Energies are rounded to whole multiples of 2^-36 kT and added as 64-bit integers. So a score depends on no
order of additions: it has the same bits on CPU and GPU, for any number of threads, whatever other chains
are scored with it, and in each of the three ways to visit the terms.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taichimd.core.errors import CapacityError, SettingsError
from taichimd.core.runtime import start, ti
from taichimd.sequences.chains import Chain, Ints, Residues, check_lengths
from taichimd.sequences.counts import Shape
from taichimd.sequences.energies import Floats, energies
from taichimd.sequences.kernels import FORWARD, METHODS, Symbols, Terms, score_kernel
from taichimd.sequences.table import Table

BITS = 36
UNIT = 2.0**-BITS
"""kT: scores are whole multiples of it."""


class Scorer:
    """Energies on the device, to score any number of chains.

    Args:
        table: counts, pseudo-counts, reference.
        method: "forward" (the default and the fastest), "windows" or "direct-windows": the bits are the same.
        units: energies in place of those of the table: int64, in 2^-36 kT, with the shapes of `Energies`.

    Raises:
        SettingsError: an unknown method.
    """

    def __init__(self, table: Table, method: str = FORWARD, units: Any = None) -> None:
        if method not in METHODS:
            raise SettingsError(f"method = {method!r}: expected {', '.join(METHODS)}")
        start()
        self.shape, self.method = table.shape, method
        if units is None:
            units = [np.rint(u / UNIT).astype(np.int64) for u in energies(table)]
        self._largest = sum(
            float(np.abs(u).max()) * n for u, n in zip(units, _terms_of_residue(self.shape), strict=True)
        )
        one, two, three = (_by_symbols(u, order) for order, u in enumerate(units, start=1))
        counts = [3 * len(groups) + 3 for groups in self.shape.groups]
        self._terms = Terms(*map(_on_device, (one, two, three)), counts[1], counts[2], self.shape.fragment)

    def __call__(self, chains: Sequence[Chain]) -> Floats:
        """Scores (chains, 3): sums of singlets, doublets and triplets, kT.

        Raises:
            SequenceError: a chain is shorter than a fragment.
            CapacityError: a chain is so long that its sum might not fit 64 bits.
        """
        return self.units(chains) * UNIT

    def units(self, chains: Sequence[Chain]) -> Ints:
        """The same as whole multiples of 2^-36 kT."""
        sums, call = self.prepared(chains)
        call()
        return np.asarray(sums.to_numpy().reshape(len(chains), 3))

    def prepared(self, chains: Sequence[Chain]) -> tuple[Any, Any]:
        """The device's array of sums, and a function that queues their computation."""
        check_lengths(chains, self.shape.fragment)
        longest = max(chains, key=len)
        if len(longest) * self._largest > 2.0**62:
            raise CapacityError(
                f"chain {longest.name} has {len(longest):,} residues: its sum might not fit 64 bits; "
                "cut it into pieces"
            )
        found = Residues.of(chains)
        symbols = [self.shape.symbols(found, order) for order in range(3)]
        residues = Symbols(*map(_on_device, (*symbols, found.chain, found.left)))
        sums, run = ti.ndarray(ti.i64, 3 * len(chains)), score_kernel(self.method)
        return sums, lambda: run(residues, self._terms, sums)


def score(chains: Sequence[Chain], table: Table, method: str = FORWARD) -> Floats:
    """Scores (chains, 3) in kT: see `Scorer`."""
    return Scorer(table, method)(chains)


def _terms_of_residue(shape: Shape) -> tuple[int, int, int]:
    s = shape.fragment
    return 1, s - 1, (s - 1) * (s - 2) // 2


def _by_symbols(units: Ints, order: int) -> Ints:
    """(separations, classes, labels) as a flat array of (separations, symbols); one class more has 0."""
    steps = units.ndim - 2 * order
    padded = np.pad(units, [(0, 0)] * steps + [(0, 1)] * order + [(0, 0)] * order)
    mixed = [axis for k in range(order) for axis in (steps + k, steps + order + k)]
    return padded.transpose(*range(steps), *mixed).ravel()


def _on_device(array: Ints) -> Any:
    made = ti.ndarray(ti.i64 if array.dtype == np.int64 else ti.i32, len(array))
    made.from_numpy(np.ascontiguousarray(array))
    return made
