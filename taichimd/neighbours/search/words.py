"""The comparison of a word of atoms, 32 side by side, with one atom, by one thread."""

from typing import Any

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.control import Control
from taichimd.neighbours.masks import WORD, lowest, without_lowest
from taichimd.neighbours.search.bins import CLOSEST2, BinFunctions
from taichimd.neighbours.sorted_atoms import UNROLL


def word_function(bins: BinFunctions, real: Any) -> DeviceFunction:
    """Device function `near_in_word`: mask of a word's atoms that are near an atom."""

    @ti.func
    def compare_word(base, end, n, offset, limit2, folded: ti.template()):
        """Compare up to a word of atoms from `base` on.

        Mask of those within the limit; of these or the next ones the smallest r^2, and whether any is marked.
        """
        number = ti.min(end - base, WORD)
        hits, odd = 0, 0
        closest = limit2
        for first in range((number + UNROLL - 1) // UNROLL):
            some_hits = 0
            for u in ti.static(range(UNROLL)):
                # After the last atom there is room for a group.
                other = bins.folded_at(base + first * UNROLL + u, n, folded)
                d = other + offset
                r2 = d.dot(d)
                some_hits |= ti.select(r2 < limit2, 1 << u, 0)
                closest = ti.min(closest, r2)
                odd |= bins.mark_of(other)
            hits |= some_hits << (first * UNROLL)
        if number < WORD:
            hits &= (1 << number) - 1
        return hits, closest, odd

    @ti.func
    def look_closer(base, hits, offset, row: ti.template()):
        """Note the atom of a row if another one is on top of it."""
        left = hits
        while left != 0:
            d = bins.folded_at(base + lowest(left), row.n, row.sort.folded) + offset
            left = without_lowest(left)
            if d.dot(d) < ti.cast(CLOSEST2, real):
                ti.atomic_min(row.control[Control.coincident], row.ident[row.i])

    @ti.func
    def near_in_word(base, end, offset, here, limit2, row: ti.template()):
        """Mask of a word's atoms near the atom of a row; and whether one may have left the cell."""
        hits, closest, odd = compare_word(base, end, row.n, offset, limit2, row.sort.folded)
        if here and row.i >= base and row.i < base + WORD:
            hits &= ~(1 << (row.i - base))
        if closest < ti.cast(CLOSEST2, real):
            look_closer(base, hits, offset, row)
        return hits, odd

    return near_in_word
