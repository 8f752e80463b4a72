"""The near list: the rows of the Verlet list cut down to what the next steps can need.

Two skins. The Verlet list reaches cutoff + outer skin and is built rarely; the near list keeps of it the
pairs within their own cutoff + inner skin, in the same order, and is what force loops read. It is cut anew,
on the device and without the host, once an atom has moved by half the inner skin since the last cut. A cut
is complete as long as no atom has moved from the build by more than half of what the skins differ by:
otherwise the kernel asks for a rebuild and freezes.

Entries beyond a cutoff add nothing to any sum, so neither skin, nor the moment of a cut, shows in a result.

Three-body terms need the near list: their loops over pairs of neighbours should meet no others, and
`reverse` says where the entry (j, i) of an entry (i, j) stands. Pair potentials read the Verlet list itself.
"""

from functools import cache
from typing import Any

from taichimd.neighbours.kernels import slot
from taichimd.runtime import ti

# Slots of the control array that kernels and host share.
REMAINING, DONE, STALE, REBUILD, BLOWN, CUTS, LONGEST, FROZEN = range(8)
"""Steps still to do, steps done, near list outdated, Verlet list outdated, smallest number of an atom that
left physics, how often the near list was cut, its longest row, and from FROZEN on one flag per step of a
batch: the step is not to be done."""


def control_size(unroll: int) -> int:
    """Length of the control array for batches of `unroll` steps."""
    return FROZEN + unroll + 1


@cache
def prune_function(n_kinds: int, by_slot: bool) -> Any:
    """The device function that cuts the near list if it is stale; holds its own parallel loops."""

    @ti.func
    def prune(n, width, near_width, shift_bits, last_code, most_drift2, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), limits2: ti.template(), built_at: ti.template(), near_count: ti.template(), near: ti.template(), reverse: ti.template(), pruned_at: ti.template(), control: ti.template()):  # fmt: skip
        for i in range(n):
            if control[STALE] != 0 and control[REBUILD] == 0:
                x = pos[i]
                drift = x - built_at[i]
                # Written so that a position that is not a number asks for a rebuild, too.
                if not drift.dot(drift) <= most_drift2:
                    control[REBUILD] = 1
                kept = 0
                for s in range(count[i]):
                    entry = entries[slot(i, s, n, width, by_slot)]
                    j = entry >> shift_bits
                    d = (pos[j] - x) + shifts[entry & ((1 << shift_bits) - 1)]
                    limit2 = limits2[0]
                    if ti.static(n_kinds > 1):
                        limit2 = limits2[kind[i] * n_kinds + kind[j]]
                    if d.dot(d) < limit2:
                        near[slot(i, kept, n, width, by_slot)] = entry
                        kept += 1
                near_count[i] = kept
                pruned_at[i] = x
                if kept > control[LONGEST]:
                    ti.atomic_max(control[LONGEST], kept)
        for i in range(n):
            if control[STALE] != 0 and control[REBUILD] == 0:
                for s in range(near_count[i]):
                    entry = near[slot(i, s, n, width, by_slot)]
                    j = entry >> shift_bits
                    # The image seen from the other side: codes of T and -T add up to the last code.
                    mirrored = (i << shift_bits) | (last_code - (entry & ((1 << shift_bits) - 1)))
                    for t in range(near_count[j]):
                        if near[slot(j, t, n, width, by_slot)] == mirrored:
                            reverse[slot(i, s, n, width, by_slot)] = slot(j, t, n, width, by_slot)
        if control[STALE] != 0 and control[REBUILD] == 0:
            if control[LONGEST] > near_width:
                control[REBUILD] = 1
            else:
                control[STALE] = 0
                control[CUTS] += 1

    return prune
