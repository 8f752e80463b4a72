"""Sums over the atoms of all processes, with the bits of those of one engine."""

from math import fsum
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.parallel.held import Held
from taichimd.program.totals import PIECE


def totals_of(held: Held, processes: Any) -> list[float]:
    """Energy, kinetic energy (eV) and nine numbers of the virial (eV) of all atoms, in all processes."""
    own, found = held.columns()
    counts, first = held.slabs.counts, processes.rank == 0
    n = sum(counts) if first else 0
    numbers, values, ordered = np.empty(n, np.int32), np.empty(n), np.empty(n)
    processes.Gatherv(np.ascontiguousarray(own, np.int32), [numbers, counts])
    sums = []
    # One column after the other: the columns of a hundred million atoms do not fit one message.
    for column in found.T:
        processes.Gatherv(np.ascontiguousarray(column), [values, counts])
        if first:
            ordered[numbers] = values
            sums.append(_summed(ordered))
    received: list[float] = processes.bcast(sums)
    return received


def _summed(values: Array) -> float:
    """Sum over atoms (n,) as in `program.totals`: of pieces, one atom after the other, then of those."""
    pieces = -(-len(values) // PIECE)
    padded = np.zeros(pieces * PIECE)
    padded[: len(values)] = values
    of_pieces = padded.reshape(pieces, PIECE)
    total = of_pieces[:, 0].copy()
    for k in range(1, PIECE):
        total += of_pieces[:, k]
    return fsum(total.tolist())
