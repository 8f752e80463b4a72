"""Pairs that a Verlet list lacks: whether it still serves once some atoms have gone more than half the skin.

That an atom has gone so far breaks no list by itself: a pair is missing once two atoms are within the cutoff
that were not within cutoff + skin at the build, and one of them has gone half the skin then. Among a million
atoms the fastest gets there long before any such pair exists. So those that have gone so far are noted, and
after each step the atoms around each are
looked through, by the bins of the build: those now within the cutoff must have been listed. No other pair can
be missing.

Bins are looked through one farther than the search does. An atom that has gone half the skin and half of that
bin asks for a build, as do too many to look after.
"""

from dataclasses import dataclass

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.control import Control
from taichimd.neighbours.sorted_atoms import Sorted

TOLERANCE = 4e-3
"""Angstrom; more than twice what the search's distances may be wrong by (`verlet_list.LARGEST_ERROR`)."""
LOOKED_AT = Sorted.only("radius2", "bins", "reach", "periodic", "grid", "starts", "turns", "bin_of", "order")
LANES = 32
"""Threads that look around one atom."""
ATOMS_AT_A_TIME = {"cuda": 2048, "cpu": 4}
MAX_FAST = {"cuda": (8, 64), "cpu": (4, 1000)}
"""A build is due when more than some atoms and one in so many have gone far. On a GPU some pair is about to
be missing by then; on a CPU it costs less than to look around them all, step after step."""


@ti.func
def lacks_pair(i, lane, most2, pos: ti.template(), built_at: ti.template(), b: ti.template()):
    """Whether some atom that a thread looks at is near atom i, and was not when the list was built."""
    reach, bins = b.reach + 1, b.bins
    low_z = b.bin_of[i] % bins[2] - reach[2]
    high_z = low_z + 2 * reach[2]
    if b.periodic[2] == 0:
        low_z, high_z = ti.max(low_z, 0), ti.min(high_z, bins[2] - 1)
    first_cell = low_z // bins[2]
    # Where the cell ends, a column continues in the next cell.
    pieces = high_z // bins[2] - first_cell + 1
    column_of = b.bin_of[i] // bins[2]
    radius = ti.sqrt(b.radius2)
    near, listed = radius - 2.0 * ti.sqrt(most2) + TOLERANCE, radius - TOLERANCE
    lacks = 0
    piece = lane
    while piece < (2 * reach[0] + 1) * (2 * reach[1] + 1) * pieces:
        column = piece // pieces
        gx = column_of // bins[1] + column // (2 * reach[1] + 1) - reach[0]
        gy = column_of % bins[1] + column % (2 * reach[1] + 1) - reach[1]
        cells = ti.Vector([gx // bins[0], gy // bins[1], first_cell + piece % pieces])
        if (cells[0] == 0 or b.periodic[0] != 0) and (cells[1] == 0 or b.periodic[1] != 0):
            row = ((gx - cells[0] * bins[0]) * bins[1] + gy - cells[1] * bins[1]) * bins[2]
            begin = b.starts[row + ti.max(low_z - cells[2] * bins[2], 0)]
            end = b.starts[row + ti.min(high_z - cells[2] * bins[2], bins[2] - 1) + 1]
            for j in range(begin, end):
                image = cells - (b.turns[j] - b.turns[i])
                shift = image[0] * b.grid[0] + image[1] * b.grid[1] + image[2] * b.grid[2]
                now = pos[j] - pos[i] + shift
                if now.dot(now) < near * near:
                    then = built_at[j] - built_at[i] + shift
                    if then.dot(then) > listed * listed:
                        lacks = 1
        piece += LANES
    return lacks


@dataclass(frozen=True)
class DangerousPairs:
    """Device functions that tell whether a list lacks a pair."""

    note: DeviceFunction  # notes an atom that has gone far
    look: DeviceFunction  # asks for a build if the list lacks a pair, in a loop of its own


def dangerous_pairs_functions(backend: str) -> DangerousPairs:
    """The functions for a backend."""
    at_a_time = ATOMS_AT_A_TIME[backend]
    some, one_in = MAX_FAST[backend]

    @ti.func
    def note(i, n, gone2, most2, b: ti.template(), control: ti.template()):
        """Record an atom that moved sqrt(gone2) > sqrt(most2); 1 if too far, or if too many such atoms."""
        at = ti.atomic_add(control[Control.far_atoms], 1)
        farthest = ti.sqrt(most2) + 0.5 * ti.sqrt(b.radius2) / ti.max(b.reach[0], b.reach[1], b.reach[2])
        too_far = 1
        # A comparison with NaN is false.
        if at < ti.min(some + n // one_in, n) and gone2 < farthest * farthest:
            b.order[at] = i
            too_far = 0
        return too_far

    @ti.func
    def look(
        n, most2, pos: ti.template(), built_at: ti.template(), b: ti.template(), control: ti.template(),
        frozen
    ):  # fmt: skip
        for thread in range(at_a_time * LANES):
            number = ti.min(control[Control.far_atoms], n) if control[Control.rebuild] == 0 else 0
            at = thread // LANES
            while at < number:
                if lacks_pair(b.order[at], thread % LANES, most2, pos, built_at, b) == 1:
                    control[Control.rebuild] = 1
                    control[frozen] = 1
                at += at_a_time

    return DangerousPairs(note, look)
