"""Kernels of the Verlet list: spatial sort, then the `search`. A call or a loop on the device builds a list.

An entry of a list is one 32-bit integer: the neighbour's sorted index in the high bits, the code of its
image T, 0 for none, in the low ones (`shift_bits`). The distance vector is pos[j] - pos[i] + T, with
positions as they are, never folded: it does not depend on when or where the list was built. Sums over the
entries of an atom do not depend on their order (`enumerate.reproducible_sum`), or go over the near list,
which is ordered (`prune`).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, kernel, types_of
from taichimd.core.runtime import DeviceFunction, ti
from taichimd.neighbours.control import CONTROL, MAX_GROUPS, NONE, OUTSIDE, Control
from taichimd.neighbours.pages import in_pages
from taichimd.neighbours.rows import VerletRows
from taichimd.neighbours.scan import scan, scan_ends
from taichimd.neighbours.search.bins import LEFT
from taichimd.neighbours.search.functions import search_functions
from taichimd.neighbours.sorted_atoms import Search
from taichimd.system.state import CARRIED, SPARE_ATOMS, Atoms


@dataclass(frozen=True)
class ListKernels:
    """Kernels of the Verlet list."""

    build: Kernel  # sorts the atoms in space and fills the list
    rebuild: DeviceFunction  # the device function of `build`


@cache
def list_kernels(real: Any, how: Search, layout: int, carried: int = 0) -> ListKernels:
    """The kernels for one precision and one list layout."""
    more = (CARRIED,) * carried
    rows_of_list = in_pages(VerletRows, tuple(VerletRows.fields), "entries", how.pages)
    types = types_of(real, searched=how.real)
    ivec = types["ivec"]
    find = search_functions(how, layout)
    fill_rows = find.fill_rows

    @ti.func
    def bin_of(x, grid: ti.template(), at: ti.template(), bins: ti.template(), periodic: ti.template()):
        """Number of the bin of a position, turns that fold it into the cell, whether it is in no bin.

        From `at` on `grid` holds the frame's vectors (rows 0-2), its inverse (3-5), origin (6) and bins per
        unit (7).
        """
        fractional = x[0] * grid[at + 3] + x[1] * grid[at + 4] + x[2] * grid[at + 5]
        index = 0
        turn = ivec(0)
        outside = 0
        for a in ti.static(range(3)):
            f = fractional[a] - grid[at + 6][a]
            if periodic[a] != 0:
                whole = ti.floor(f)
                turn[a] = ti.cast(whole, ti.i32)
                f -= whole
            # Clamped as a real number: far strays would overflow an integer.
            along = f * grid[at + 7][a]
            if periodic[a] == 0 and (along < 0.0 or along > bins[a]):
                outside = 1
            c = ti.cast(ti.min(ti.max(along, 0.0), bins[a] - 1.0), ti.i32)
            index = index * bins[a] + c
        return index, turn, outside

    @ti.func
    def move(
        here: ti.template(), of_here: ti.template(), i, there: ti.template(), of_there: ti.template(), k,
        with_force: ti.template()
    ):  # fmt: skip
        """Copy an atom, with what contributions keep of it."""
        for c in ti.static(range(carried)):
            of_there[c][k] = of_here[c][i]
        there.pos[k] = here.pos[i]
        there.vel[k] = here.vel[i]
        if ti.static(with_force):
            there.force[k] = here.force[i]
        there.ident[k] = here.ident[i]
        if ti.static(not how.alike):
            there.inverse_mass[k] = here.inverse_mass[i]
        if ti.static(not how.one_species):
            there.kind[k] = here.kind[i]

    @ti.func
    def forget(control: ti.template()):
        for g in ti.static(range(MAX_GROUPS)):
            control[Control.longest_near + g] = 0
            control[Control.overfull + g] = 0
        control[Control.longest_row] = 0
        control[Control.coincident] = NONE
        for a in ti.static(range(3)):
            control[Control.largest_image + a] = 0

    @ti.func
    def rebuild(
        n, atoms: ti.template(), own: ti.template(), old: ti.template(), old_own: ti.template(),
        rows: ti.template(), control: ti.template(), sort: ti.template(), with_force: ti.template()
    ):  # fmt: skip
        """Sort the n atoms in space, with forces if they are read, and fill the list; nothing for n = 0."""
        n_bins = sort.bins[0] * sort.bins[1] * sort.bins[2]
        if n == 0:
            n_bins = 0
        else:
            forget(control)
        # Ends of loops are worked out here: elsewhere each costs a GPU a kernel of one thread.
        scanning, searching = scan_ends(n_bins), find.end_for(n)
        for i in range(n):
            ground = find.bins.ground_of(i, sort)
            b, t, outside = bin_of(atoms.pos[i], sort.grid, ground.grid, ground.bins, ground.periodic)
            if outside == 1:
                control[Control.largest_image] = OUTSIDE
            if ti.static(how.batch):
                b += ground.first_bin
            sort.turns_in[i] = t
            sort.bin_in[i] = b
            # How many came to the bin before it; where bins of sorted atoms will stand is free until then.
            sort.bin_of[i] = ti.atomic_add(sort.counts[b], 1)
            move(atoms, own, i, old, old_own, i, with_force)
        scan(n_bins, scanning, sort.counts, sort.starts, 0, sort.sums, 0)
        for i in range(n):
            if i == 0:
                # The scan needs its sums no longer.
                sort.sums[LEFT] = 0
            sort.order[sort.starts[sort.bin_in[i]] + sort.bin_of[i]] = i
            # For the next time.
            k = i
            while k < n_bins:
                sort.counts[k] = 0
                k += n
        for k in range(n):
            # The bins were filled in any order; ranking by the user's number makes it a defined one.
            i = sort.order[k]
            b = sort.bin_in[i]
            mine = old.ident[i]
            at = sort.starts[b]
            for other in range(sort.starts[b], sort.starts[b + 1]):
                if old.ident[sort.order[other]] < mine:
                    at += 1
            t = sort.turns_in[i]
            x = old.pos[i]
            move(old, old_own, i, atoms, own, at, with_force)
            sort.sorted_of[mine] = at
            sort.turns[at] = t
            sort.bin_of[at] = b
            find.bins.fold(
                at, n, x - find.bins.corner(t, find.bins.ground_of(at, sort), sort), t, sort.folded
            )
            rows.built_at[at] = x
        fill_rows(n, searching, rows, control, atoms.ident, sort)

    @kernel(
        types, graph=True, atoms=Atoms, own=more, old=SPARE_ATOMS, old_own=more, rows=rows_of_list,
        control=CONTROL, sort=how.sorted,
    )  # fmt: skip
    def build(atoms, own, old, old_own, rows, control, sort):
        """Sort the atoms in space and fill the list. Launch: one thread per atom or bin."""
        rebuild(atoms.n, atoms, own, old, old_own, rows, control, sort, True)

    return ListKernels(build, rebuild)
