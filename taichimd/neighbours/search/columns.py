"""The columns of bins around an atom: each is one range of the sorted atoms, or two at a face of the cell."""

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.rows import is_left
from taichimd.neighbours.search.bins import BinFunctions, cells_away
from taichimd.neighbours.sorted_atoms import Search

ROUNDED = 0.02
"""Parts of a bin by which the place of an atom may be wrong, with much to spare."""


def row_function(
    bins: BinFunctions, how: Search, visit: DeviceFunction, by_warps: bool, trimmed: bool = False
) -> DeviceFunction:
    """Device function `search_row`, which visits all atoms in the columns around one.

    Args:
        bins: functions of bins and images.
        how: the search is compiled.
        visit: `(base, end, offset, cells, code, found, written, limit2, x, row) -> (found, written)`, what is
            done with a stretch from `base` to `end`, so many cells away.
        by_warps: whether all 32 threads of a warp call `visit` together.
        trimmed: visit of each column only what the sphere around the atom reaches. Threads of a warp, which
            visit the longest stretch of any of them, would gain little.
    """
    ivec = ti.types.vector(3, ti.i32)

    @ti.func
    def following(place, first, last):
        """The next piece of the columns around an atom: along z, then y, then x."""
        x, y, z = place[0], place[1], place[2] + 1
        if z > last[2]:
            z = first[2]
            y += 1
            if y > last[1]:
                y = first[1]
                x += 1
        return ivec(x, y, z)

    @ti.func
    def stretch(place, last, low_z, high_z, row: ti.template()):
        """Bounds of a piece of a column among the sorted atoms, and its cells away; bins along z join."""
        counts, periodic, starts = ti.static((row.bins, row.periodic, row.sort.starts))
        sx, sy, sz = cells_away(place[0], counts[0]), cells_away(place[1], counts[1]), place[2]
        base, end = 0, 0
        if place[0] <= last[0] and (sx == 0 or periodic[0] != 0) and (sy == 0 or periodic[1] != 0):
            column = ((place[0] - sx * counts[0]) * counts[1] + place[1] - sy * counts[1]) * counts[2]
            if ti.static(how.batch):
                column += row.ground.first_bin
            low, high = ti.max(low_z - sz * counts[2], 0), ti.min(high_z - sz * counts[2], counts[2] - 1)
            if ti.static(not trimmed):
                base, end = starts[column + low], starts[column + high + 1]
            elif low <= high:
                base, end = starts[column + low], starts[column + high + 1]
        return base, end, ivec(sx, sy, sz)

    @ti.func
    def sphere_of(x, home, limit2, row: ti.template()):
        """The sphere around an atom: its centre in bins; widths of bins over its radius; its radius in bins.

        The last is along z. In a cell that is not rectangular, widths along x and y count as zero: then every
        column has the whole length.
        """
        at = row.ground.grid
        grid = ti.static(row.sort.grid)
        u, width = ti.Vector.zero(how.real, 3), ti.Vector.zero(how.real, 3)
        normals = [ti.Vector([grid[at + 3 + k][a] for k in ti.static(range(3))]) for a in ti.static(range(3))]
        for a in ti.static(range(3)):
            normal, per_unit = normals[a], grid[at + 7][a]
            place = (x.dot(normal) - grid[at + 6][a]) * per_unit
            # An atom beyond the outermost bin counts as one at its face: others are no farther away.
            u[a] = ti.cast(ti.min(ti.max(place, home[a]), home[a] + 1.0), how.real)
            width[a] = ti.cast(1.0 / (normal.norm() * per_unit * ti.sqrt(limit2)), how.real)
        for a in ti.static(range(3)):
            one, other = normals[a], normals[(a + 1) % 3]
            if one.dot(other) ** 2 > 1e-12 * one.dot(one) * other.dot(other):
                width[0], width[1] = 0.0, 0.0
        return u, width, ti.cast(1.0 / width[2], how.real)

    @ti.func
    def gap(place, home, u):
        """How far the bin of that number is away from an atom along an axis, in bins."""
        edge = ti.cast(place, how.real)
        away = ti.max(edge - u, u - edge - ti.cast(1.0, how.real)) - ti.cast(ROUNDED, how.real)
        return ti.max(away, ti.cast(0.0, how.real))

    @ti.func
    def within(place, home, low_z, high_z, u, width, radius):
        """First and last bin of a column that the sphere around an atom reaches; none: the last is lower."""
        x, y = gap(place[0], home[0], u[0]) * width[0], gap(place[1], home[1], u[1]) * width[1]
        left = ti.cast(1.0, how.real) - x * x - y * y
        low, high = 1, 0
        if left > ti.cast(0.0, how.real):
            half = ti.sqrt(left) * radius + ti.cast(ROUNDED, how.real)
            low = ti.max(low_z, ti.cast(ti.floor(u[2] - half), ti.i32))
            high = ti.min(high_z, ti.cast(ti.floor(u[2] + half), ti.i32))
        return low, high

    @ti.func
    def search_row(does, row: ti.template()):
        """Visit the columns around an atom; how many entries were found, and written."""
        limit2 = ti.cast(row.radius2, how.real)
        x = bins.folded_at(row.i, row.n, row.sort.folded)
        b = row.sort.bin_of[row.i]
        if ti.static(how.batch):
            b -= row.ground.first_bin
        home = bins.home_of(b, row.bins)
        low_z, high_z = home[2] - row.reach[2], home[2] + row.reach[2]
        if row.periodic[2] == 0:
            low_z, high_z = ti.max(low_z, 0), ti.min(high_z, row.bins[2] - 1)
        # Bins along x and y; along z cells, since a column may continue in the next one.
        first = ivec(home[0] - row.reach[0], home[1] - row.reach[1], cells_away(low_z, row.bins[2]))
        last = ivec(home[0] + row.reach[0], home[1] + row.reach[1], cells_away(high_z, row.bins[2]))
        if not does:
            first[0] = last[0] + 1
        place = first
        low, high = low_z, high_z
        u, width, radius = ti.Vector.zero(how.real, 3), ti.Vector.zero(how.real, 3), ti.cast(0.0, how.real)
        if ti.static(trimmed):
            u, width, radius = sphere_of(x, home, limit2, row)
            low, high = within(place, home, low_z, high_z, u, width, radius)
        base, end, cells = stretch(place, last, low, high, row)
        found, written = 0, 0
        while is_left(place[0] <= last[0], by_warps):
            # Where the next one begins is read along with this one.
            place = following(place, first, last)
            if ti.static(trimmed):
                low, high = within(place, home, low_z, high_z, u, width, radius)
            next_base, next_end, next_cells = stretch(place, last, low, high, row)
            offset, code = -x, 0
            if cells[0] != 0 or cells[1] != 0 or cells[2] != 0:
                offset += ti.cast(bins.corner(cells, row.ground, row.sort), how.real)
                code = bins.image_code(cells, row.most_image, row.ground)
            found, written = visit(base, end, offset, cells, code, found, written, limit2, x, row)
            base, end, cells = next_base, next_end, next_cells
        return found, written

    return search_row
