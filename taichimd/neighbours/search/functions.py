"""Device functions of the search: atoms within a radius of each atom, found through the bins of the sort.

A column of bins is one stretch of the sorted atoms. There are three algorithms, a file each, for one system
or a batch: `one_thread`, where rows are not in chunks; `staged`, one thread for an atom on a GPU; `shared`,
where the eight threads of a chunk share an atom (`VerletList.search`).
"""

from dataclasses import dataclass
from functools import cache

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.control import NONE, Control
from taichimd.neighbours.rows import CHUNK, CHUNKED, whole_warps
from taichimd.neighbours.search.bins import BinFunctions, bin_functions
from taichimd.neighbours.search.one_thread import one_thread_search
from taichimd.neighbours.search.shared import shared_search
from taichimd.neighbours.search.staged import staged_search
from taichimd.neighbours.sorted_atoms import Search


@dataclass(frozen=True)
class SearchFunctions:
    """Device functions of a search."""

    bins: BinFunctions  # functions of bins and images
    end_for: DeviceFunction  # where each loop of `fill_rows` ends
    fill_rows: DeviceFunction  # fills all rows, in loops of its own


@cache
def search_functions(how: Search, layout: int) -> SearchFunctions:
    """The functions of a search."""
    bins = bin_functions(how)
    threads, chunked = CHUNK if how.together else 1, layout == CHUNKED
    if how.together:
        search_all = shared_search(bins, how, layout)
    else:
        search_all = staged_search(bins, how) if chunked else one_thread_search(bins, how, layout)

    @ti.func
    def end_for(n):
        """Whole warps, where threads work together."""
        return whole_warps(n * threads) if ti.static(chunked) else n

    @ti.func
    def fill_rows(
        n, end, rows: ti.template(), control: ti.template(), ident: ti.template(), sort: ti.template()
    ):
        """Neighbours of every atom within the radius, in order; entries beyond the width are only counted."""
        search_all(n, end, rows, control, ident, sort)
        if n > 0:
            image_fits = True
            for a in ti.static(range(3)):
                image_fits = image_fits and control[Control.largest_image + a] <= sort.most_image[a]
            fits = (
                image_fits
                and control[Control.longest_row] <= rows.width
                and control[Control.coincident] == NONE
            )
            control[Control.rebuild] = 0 if fits else 1
            control[Control.stale] = 1
            control[Control.cuts] = 0

    return SearchFunctions(bins, end_for, fill_rows)
