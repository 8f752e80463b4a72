"""Sums over all atoms in one order: that of the user's numbers, in pieces and lanes whose number is fixed.

There are `PIECES` pieces of consecutive atoms. Lane k of a piece adds up its atoms k, k + 32, k + 64, ...;
then the lanes are added, then the pieces, the first one first. On a CPU a thread does a piece, on a GPU a
warp does, with a thread for each lane. Both have the same bits. Each system of a batch has pieces of its own
(`batched`).
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.core.warps import shuffle
from taichimd.forcefields.reaxff.batched import FLAGS, LANES, PIECES, READ
from taichimd.neighbours.rows import WARP

SUMS = 6
"""At a time."""


@ti.func
def piece_size(n):
    """Atoms of a piece."""
    return (n + PIECES * LANES - 1) // (PIECES * LANES) * LANES


@ti.func
def in_turn(part, thread, many: ti.template()):
    """Sum of what `many` threads side by side have, in their order. All 32 threads of a warp must call it."""
    total = part
    if ti.static(many > 1):
        first = thread % WARP // many * many
        for c in ti.static(range(part.n)):
            total[c] = shuffle(part[c], first)
            for k in ti.static(range(1, many)):
                total[c] += shuffle(part[c], first + k)
    return total


@dataclass(frozen=True)
class SumFunctions:
    """Device functions of sums."""

    pieces: DeviceFunction  # leaves the sums of pieces in `progress.partial`; it holds its own loop
    total: DeviceFunction  # (k, g) -> the six sums over all atoms of system k


def sum_functions(value: Any, shared: bool, when: int, batch: bool) -> SumFunctions:
    """Device functions that add up six numbers of atoms.

    Args:
        value: (i, g) -> six numbers of the atom at a place in memory.
        shared: whether a warp does a piece.
        when: status of a system at which `pieces` does something.
        batch: whether there are several systems.
    """
    many = LANES if shared else 1

    @ti.func
    def of_lane(first, last, g: ti.template()):
        total = ti.Vector.zero(ti.f64, SUMS)
        for step in range((last - first + LANES - 1) // LANES):
            total += value(g.atoms.sorted_of[first + step * LANES], g)
        return total

    @ti.func
    def add_piece(thread, piece, begin, end, status, g: ti.template()):
        """Sum of the user's atoms from `begin` to `end`."""
        first, last = begin, end
        if status != when:
            last = first
        total = ti.Vector.zero(ti.f64, SUMS)
        if ti.static(shared):
            total = in_turn(of_lane(first + thread % many, last, g), thread, many)
        else:
            for lane in range(LANES):
                total += of_lane(first + lane, last, g)
        if status == when and thread % many == 0:
            g.progress.partial[piece] = total

    @ti.func
    def of_one(g: ti.template()):
        for thread in range(ti.static(PIECES * many)):
            piece, n = thread // many, g.atoms.n
            first = piece * piece_size(n)
            last = ti.min(first + piece_size(n), n)
            add_piece(thread, piece, first, last, g.progress.flags[0], g)

    @ti.func
    def of_each(g: ti.template()):
        for thread in range(g.batched.pieces * many):
            piece = thread // many
            first, last = g.batched.of_pieces[3 * piece], g.batched.of_pieces[3 * piece + 1]
            status = g.progress.flags[FLAGS * g.batched.of_pieces[3 * piece + 2]]
            add_piece(thread, piece, first, last, status, g)

    @ti.func
    def total_of_one(k, g: ti.template()):
        total = ti.Vector.zero(ti.f64, SUMS)
        for group in range(ti.static(PIECES // READ)):
            add_group(total, READ * group, g)
        return total

    @ti.func
    def total_of_each(k, g: ti.template()):
        total = ti.Vector.zero(ti.f64, SUMS)
        first, end = g.batched.of_systems[2 * k], g.batched.of_systems[2 * k + 1]
        for group in range((end - first) // READ):
            add_group(total, first + READ * group, g)
        return total

    return SumFunctions(of_each, total_of_each) if batch else SumFunctions(of_one, total_of_one)


@ti.func
def add_group(total: ti.template(), first, g: ti.template()):  # type: ignore[valid-type, no-untyped-def]
    """Add the sums of some pieces, which are read together."""
    read = [g.progress.partial[first + k] for k in ti.static(range(READ))]
    for k in ti.static(range(READ)):
        total += read[k]
