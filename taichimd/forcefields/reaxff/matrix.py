"""The matrix of the charge equilibration: a list of the pairs within the cutoff, and what a product with it reads.

    H_ij = coupling sum over images of K(r_ij)  (i /= j),    H_ii = eta_i + the same sum over images of i itself.

The list is cut from the near list for each evaluation, in the same order: the entries beyond the cutoff, which depend on skins, are
gone. So the place of an entry, and with it the order of additions (`lanes`), depends on the atoms alone. Nonbonded forces read the
list, too. Rows are filled up to whole chunks with entries of the value 0.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import straight_vector
from taichimd.forcefields.reaxff.lanes import LANES, across, threads_of_row, whole_chunks
from taichimd.forcefields.reaxff.taper import shielded, taper
from taichimd.neighbours.rows import claim, slot, some

AHEAD = 4
"""Entries that a thread reads before it uses the first one: a GPU fetches them together."""


class Matrix(Bundle):
    """The list and the values of its entries."""

    width: Any = Number("i32", "slots of a row, a multiple of 8")
    shift_bits: Any = Number("i32", "low bits of an entry that hold the code of its image")
    count: Any = Array("i32", "n", "entries of each atom")
    entries: Any = Array("i32", "n width", "neighbour << shift_bits | code of its image")
    values: Any = Array("stored", "n width", "H of the entry, eV")


class Screening(Bundle):
    """Numbers of the shielded Coulomb interaction."""

    cutoff: Any = Number("f64", "upper radius of the taper, angstrom")
    lower: Any = Number("f64", "lower radius of the taper, angstrom")
    inverse_width: Any = Number("f64", "1/(upper - lower), 1/angstrom")
    coupling: Any = Number("f64", "of the matrix: 14.4 eV angstrom")
    inverse_gamma3: Any = Array("f64", "kinds^2", "gamma^-3 of each pair of kinds, angstrom^3")


@cache
def matrix_functions(stored: Any, n_kinds: int, layout: int, near_layout: int) -> Any:
    """Device functions `fill` and `product`, which hold their own loops over atoms, and `threads` of a row.

    Args:
        stored: ti.f64 or ti.f32, of the values.
        n_kinds: species.
        layout: of the rows of the list.
        near_layout: of the near list that it is cut from.
    """
    many = threads_of_row(layout)
    shared = many > 1

    @ti.func
    def read(i, s, m, here, n, shift_bits, near: ti.template(), pos: ti.template(), shifts: ti.template()):
        """Entry s of the m of atom i in the near list, and the square of its length, infinite behind the last one."""
        entry = near.entries[slot(i, ti.max(ti.min(s, m - 1), 0), n, near.width, near_layout)]
        there = s < m
        # What is not there reads as the atom itself.
        entry = ti.select(there, entry, i << shift_bits)
        d = straight_vector(entry, shift_bits, here, pos, shifts)
        d64 = ti.cast(d, ti.f64)
        return entry, ti.select(there, d64.dot(d64), ti.cast(float("inf"), ti.f64))

    @ti.func
    def put(i, place, entry, value, n, matrix: ti.template()):
        at = slot(i, place, n, matrix.width, layout)
        matrix.entries[at] = entry
        matrix.values[at] = ti.cast(value, stored)

    @ti.func
    def value_of(r2, a, b, screening: ti.template()):
        r = ti.sqrt(r2)
        t = taper(r, screening.lower, screening.inverse_width)
        return screening.coupling * t * shielded(r2, r, screening.inverse_gamma3[a * n_kinds + b])

    @computed_in(ti.f64)
    def fill(n, threads, atoms: ti.template(), near: ti.template(), shifts: ti.template(), matrix: ti.template(), screening: ti.template(), idle: ti.template()):  # fmt: skip
        """Cut the list and work out its values. `threads`: of the loop, whole warps; `idle`: an element that is 0 if it is to be done."""
        cutoff2 = screening.cutoff * screening.cutoff
        for thread in range(threads):
            i, lane = ti.min(thread // many, n - 1), thread % many
            does = thread < n * many and idle[0] == 0
            here, a, shift_bits = atoms.pos[i], atoms.kind[i], matrix.shift_bits
            m, kept, first = 0, 0, lane
            if does:
                m = ti.min(near.count[i], near.width)
            going = first < m
            if ti.static(shared):
                going = some(going)
            while going:
                found = [
                    read(i, first + many * k, m, here, n, shift_bits, near, atoms.pos, shifts) for k in ti.static(range(AHEAD))
                ]  # fmt: skip
                for k in ti.static(range(AHEAD)):
                    entry, r2 = found[k][0], found[k][1]
                    keeps = r2 < cutoff2
                    place = kept
                    if ti.static(shared):
                        before, all_of_them = claim(keeps, thread)
                        place += before
                        kept += all_of_them
                    elif keeps:
                        kept += 1
                    if keeps:
                        b = atoms.kind[entry >> shift_bits]
                        put(i, place, entry, value_of(r2, a, b, screening), n, matrix)
                first += many * AHEAD
                going = first < m
                if ti.static(shared):
                    going = some(going)
            if does and lane == 0:
                matrix.count[i] = kept
                for s in range(kept, whole_chunks(kept) * LANES):
                    put(i, s, i << shift_bits, 0.0, n, matrix)

    @ti.func
    def entry_product(i, s, n, matrix: ti.template(), x: ti.template()):
        at = slot(i, s, n, matrix.width, layout)
        return ti.cast(matrix.values[at], ti.f64) * x[matrix.entries[at] >> matrix.shift_bits]

    @ti.func
    def row_product(i, lane, chunks, n, matrix: ti.template(), x: ti.template()):
        """Sum over the row of atom i, of the lane of a thread; or, where the thread has the row alone, over all lanes."""
        total = ti.Vector.zero(ti.f64, 2)
        if ti.static(shared):
            c = 0
            while c + AHEAD <= chunks:
                parts = [
                    entry_product(i, (c + k) * LANES + lane, n, matrix, x) for k in ti.static(range(AHEAD))
                ]
                for k in ti.static(range(AHEAD)):
                    total += parts[k]
                c += AHEAD
            while c < chunks:
                total += entry_product(i, c * LANES + lane, n, matrix, x)
                c += 1
        else:
            sums = ti.Vector.zero(ti.f64, 2 * LANES)
            for c in range(chunks):
                for k in ti.static(range(LANES)):
                    part = entry_product(i, c * LANES + k, n, matrix, x)
                    sums[2 * k] += part[0]
                    sums[2 * k + 1] += part[1]
            total = ti.Vector([sums[0], sums[1]])
            for k in ti.static(range(1, LANES)):
                total += ti.Vector([sums[2 * k], sums[2 * k + 1]])
        return total

    @ti.func
    def product(i, thread, does, n, matrix: ti.template(), x: ti.template()):
        """Row i of H without eta, times both columns of x. All threads of a warp call it."""
        chunks = 0
        if does:
            chunks = whole_chunks(matrix.count[i])
        return across(row_product(i, thread % many, chunks, n, matrix, x), thread, many)

    return SimpleNamespace(fill=fill, product=product, threads=many)
