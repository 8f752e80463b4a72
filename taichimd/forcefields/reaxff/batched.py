"""Which numbers of a solve are of which system: each system of a batch has sums and an end of its own.

Kernels for one system know at compilation that there is one. In a batch an atom has the number of its system,
pieces of sums (`dots`) and chunks of atoms have atoms of one system only. So the sums of a system are those
of the system alone, and a system that is solved waits for the others without a change.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import DeviceFunction, ti

PIECES = 64
LANES = 32
"""Pieces of the sums of one system, and lanes of a piece (`dots`)."""
READ = 4
"""Sums of pieces that are read at a time."""
FLAGS = 6
"""Flags, and pairs of numbers, that `solver.Progress` has of a system."""


class Batched(Bundle):
    """Tables of several systems."""

    pieces: Any = Number("i32", "pieces of all systems, of each a multiple of 4")
    system: Any = ArrayField("i32", "n", "number of the system of the atom at a place")
    first: Any = ArrayField("i32", "systems", "first atom of each system")
    of_pieces: Any = ArrayField("i32", "3 pieces", "first atom, end and system of each piece")
    of_systems: Any = ArrayField("i32", "2 systems", "first piece and end of the pieces of each system")
    of_chunks: Any = ArrayField("i32", "3 chunks", "first atom, end and system of each chunk")
    limits: Any = ArrayField("both", "systems", "sum of r^2/eta at which s and t of each system are solved")


@dataclass(frozen=True)
class Tables:
    """What `Batched` is made of, on the host."""

    of_pieces: NDArray[np.int32]  # (pieces, 3)
    of_systems: NDArray[np.int32]  # (systems, 2)
    of_chunks: NDArray[np.int32]  # (chunks, 3); see `Batched`


def size_of_piece(n: int) -> int:
    """Atoms of a piece of a system of n atoms: whole lanes, and at most `PIECES` pieces."""
    return -(-n // (PIECES * LANES)) * LANES


def tables_of(sizes: list[int], at_once: int) -> Tables:
    """Pieces and chunks of systems.

    Args:
        sizes: number of atoms of each system.
        at_once: most atoms of a chunk.

    Returns:
        The tables. The pieces of a system that have no atoms are left out, but for the last ones of a group
        of `READ`: they add zeros.
    """
    pieces: list[tuple[int, int, int]] = []
    chunks: list[tuple[int, int, int]] = []
    ends, first = [], 0
    for k, n in enumerate(sizes):
        size, begin, end = size_of_piece(n), len(pieces), first + n
        pieces += [(at, min(at + size, end), k) for at in range(first, end, size)]
        pieces += [(end, end, k)] * (-(len(pieces) - begin) % READ)
        chunks += [(at, min(at + at_once, end), k) for at in range(first, end, at_once)]
        ends.append((begin, len(pieces)))
        first = end
    return Tables(*(np.array(table, np.int32) for table in (pieces, ends, chunks)))


@dataclass(frozen=True)
class Whose:
    """Device functions that say whose a number is, of one system or a batch."""

    system: DeviceFunction  # (place, g) -> number of the system of an atom
    begins: DeviceFunction  # (place, k, g) -> whether the atom at a place is the first one of system k
    status: DeviceFunction  # (place, g) -> status of the solve of an atom
    chunk: DeviceFunction  # (number, g) -> first atom, end and system of a chunk
    limits: DeviceFunction  # (k, g) -> sums of r^2/eta at which s and t of system k are solved


def whose_functions(batch: bool, at_once: int) -> Whose:
    """The functions, for g with `atoms`, `progress` and, of a batch, `batched`.

    Args:
        batch: whether there are several systems.
        at_once: most atoms of a chunk.
    """

    @ti.func
    def system(i, g: ti.template()):
        k = 0
        if ti.static(batch):
            k = g.batched.system[i]
        return k

    @ti.func
    def begins(i, k, g: ti.template()):
        first = 0
        if ti.static(batch):
            first = g.batched.first[k]
        return i == first

    @ti.func
    def status(i, g: ti.template()):
        at = 0
        if ti.static(batch):
            at = FLAGS * g.batched.system[i]
        return g.progress.flags[at]

    @ti.func
    def chunk(number, g: ti.template()):
        first, end, k = number * at_once, ti.min(g.atoms.n, (number + 1) * at_once), 0
        if ti.static(batch):
            first, end = g.batched.of_chunks[3 * number], g.batched.of_chunks[3 * number + 1]
            k = g.batched.of_chunks[3 * number + 2]
        return first, end, k

    @ti.func
    def limits(k, g: ti.template()):
        found = ti.Vector.zero(ti.f64, 2)
        if ti.static(batch):
            found = g.batched.limits[k]
        else:
            found = ti.Vector([g.progress.limit_s, g.progress.limit_t])
        return found

    return Whose(system, begins, status, chunk, limits)
