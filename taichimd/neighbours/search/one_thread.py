"""The search with one thread for each atom and rows without chunks: CPUs, and GPUs without warp exchanges."""

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.masks import WORD, lowest, without_lowest
from taichimd.neighbours.pages import write
from taichimd.neighbours.rows import ATOM_MAJOR
from taichimd.neighbours.search.bins import BinFunctions, Row
from taichimd.neighbours.search.columns import row_function
from taichimd.neighbours.search.runs import run_function
from taichimd.neighbours.search.words import word_function
from taichimd.neighbours.sorted_atoms import Search


def word_visit(bins: BinFunctions, how: Search, layout: int) -> DeviceFunction:
    """Device function `visit` (see `columns.row_function`) of any layout of rows."""
    near_in_word = word_function(bins, how.real)

    @ti.func
    def visit(base, end, offset, cells, code, found, written, limit2, x, row: ti.template()):
        """Compare a word of atoms, then store those that are near, so that loads need not wait for stores."""
        here = cells[0] == 0 and cells[1] == 0 and cells[2] == 0
        while base < end:
            hits, odd = near_in_word(base, end, offset, here, limit2, row)
            odd |= bins.mark_of(x)
            while hits != 0:
                j = base + lowest(hits)
                hits = without_lowest(hits)
                entry = bins.entry_of(j, odd, cells, code, row)
                if found < row.width:
                    write(row.entries, row.i, found, row.n, row.width, layout, entry)
                found += 1
            base += WORD
        return found, written

    return visit


def one_thread_search(bins: BinFunctions, how: Search, layout: int) -> DeviceFunction:
    """Device function that fills all rows, in a loop of its own."""
    visit = run_function(bins, how) if layout == ATOM_MAJOR else word_visit(bins, how, layout)
    search_row = row_function(bins, how, visit, by_warps=False, trimmed=layout == ATOM_MAJOR)

    @ti.func
    def search_all(
        n, end, rows: ti.template(), control: ti.template(), ident: ti.template(), sort: ti.template()
    ):
        for i in range(end):
            # In registers: arguments of a kernel are read again after each store.
            of_all, room, code_bits = ti.max(n, 0), ti.max(rows.width, 0), ti.max(rows.shift_bits, 0)
            ground = bins.ground_of(i, sort)
            radius2, most_image = sort.radius2, sort.most_image
            own_bins, reach, periodic = ground.bins, ground.reach, ground.periodic
            row = Row(
                i=i, thread=i, n=of_all, width=room, shift_bits=code_bits, entries=rows.entries,
                control=control, ident=ident, radius2=radius2, bins=own_bins, reach=reach, periodic=periodic,
                most_image=most_image, ground=ground, sort=sort
            )  # fmt: skip
            found = 0
            if bins.gets_row(i, ident, sort):
                found, _ = search_row(True, row)
            bins.take(i, found, rows.count, control)

    return search_all
