"""The energy alone of all triples whose sides are short enough: each triple once, from near lists.

A triple is visited by its atom with the lowest number. So rows are copied first, as vectors, without atoms of
lower numbers. A triple of two images of its lowest atom is visited twice, one of three images three times,
with as much less weight each time.

On a GPU several warps share an atom whose row is long: they take the second atoms of triples in turn, and the
threads of a warp the third atoms.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, View, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.near_sides import Limits, in_warps, threads_of_search, votes
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums, total_of, with_term
from taichimd.enumerate.row_sums import together
from taichimd.enumerate.terms import TripletFunction
from taichimd.enumerate.triple_items import Spans
from taichimd.enumerate.triple_tiles import SPREAD, STRENGTHS, WHOLE, in_units, store_whole
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.entries import vector_to
from taichimd.neighbours.masks import how_many_below
from taichimd.neighbours.rows import NearRows, VerletRows, row_layout, slot
from taichimd.system.state import Atoms

MAX_SHARES = 32
"""Most shares into which the work of one atom is divided."""
LONG = 64
"""Slots of a row for which there is one share more."""
ENOUGH = 8192
"""Warps that occupy a GPU."""


class Later(Bundle):
    """Rows of the near list without atoms of lower numbers and those that are out of range."""

    shares: Any = Number("i32", "into which an atom's triples are divided")
    count: Any = ArrayField("i32", "n", "number of entries of each atom")
    vectors: Any = ArrayField("f64", "3 n width", "r_j - r_i: of each atom all x, all y, all z, angstrom")
    kind: Any = ArrayField("i32", "n width", "2 * species, and 1 more if it is an image of the atom itself")
    parts: Any = ArrayField(
        "f64", "2 n shares", "energies of the shares, in two parts each (`reproducible_sum`)"
    )


class Given(View):
    """What loops over triples read."""


def shares_of(backend: str, n: int, width: int) -> int:
    """Shares of each of n atoms with rows of so many slots."""
    return min(MAX_SHARES, max(1, width // LONG, ENOUGH // n)) if in_warps(backend) else 1


@cache
def near_energy_kernel(
    function: TripletFunction, real: Any, backend: str, n_kinds: int, product: bool
) -> Any:
    """Kernel of the energy of triples; `product`: whether the product of the sides has a limit."""
    layout, many, warps = row_layout(backend), threads_of_search(backend), in_warps(backend)

    @ti.func
    def vector(i, s, g: ti.template()):
        at = 3 * i * g.near.width + s
        return ti.Vector([g.later.vectors[at + q * g.near.width] for q in ti.static(range(3))])

    @ti.func
    def collect(i, lane, g: ti.template()):
        """Copy what is later of an atom's row, by all threads that share it."""
        kept, width = 0, g.near.width
        count = ti.select(goes(g.when, g.control) == 1, g.near.count[i], 0)
        for run in range((count + many - 1) // many):
            s = run * many + lane
            # Threads beyond the end of a row look at its last entry.
            entry = g.near.entries[slot(i, ti.min(s, count - 1), g.atoms.n, width, layout)]
            j = entry >> g.verlet.shift_bits
            d_far = vector_to(entry, g.verlet.shift_bits, g.atoms.pos[i], g.atoms.pos, g.verlet.shifts)
            d = ti.cast(d_far, ti.f64)
            later = s < count and g.atoms.ident[j] >= g.atoms.ident[i] and d.dot(d) < g.limits.side2
            mask = votes(later, warps)
            if later:
                t = kept + how_many_below(mask, lane)
                for q in ti.static(range(3)):
                    g.later.vectors[(3 * i + q) * width + t] = d[q]
                g.later.kind[i * width + t] = 2 * g.atoms.kind[j] + ti.cast(j == i, ti.i32)
            kept += ti.math.popcnt(mask)
        if lane == 0:
            g.later.count[i] = kept

    @ti.func
    def of_lane(sums: ti.template(), i, share, lane, g: ti.template()):
        own, count, first = g.atoms.kind[i], g.later.count[i], i * g.near.width
        side2, product2, s = g.limits.side2, g.limits.product2, 1 + share
        while s < count:
            d, of_d = vector(i, s, g), g.later.kind[first + s]
            d2, t = d.dot(d), lane
            while t < s:
                e = vector(i, t, g)
                opposite = e - d
                o2 = opposite.dot(opposite)
                if o2 < side2:
                    e2, of_e = e.dot(e), g.later.kind[first + t]
                    does = True
                    if ti.static(product):
                        does = (d2 * e2) * o2 < product2
                    if does:
                        # In one order, whatever that of the row.
                        u = function.whole(o2, ti.min(d2, e2), ti.max(d2, e2))
                        u *= g.nu[(own * n_kinds + (of_d >> 1)) * n_kinds + (of_e >> 1)]
                        images = (of_d & 1) + (of_e & 1)
                        if images > 0:
                            u /= ti.cast(1 + images, ti.f64)
                        with_term(sums, 1, 0, u)
                t += many
            s += g.later.shares

    @ti.func
    def of_shares(i, g: ti.template()):
        """What all shares of an atom have found."""
        empty = empty_sums(1)
        sums = empty
        for number in range(i * g.later.shares, (i + 1) * g.later.shares):
            for q in ti.static(range(2)):
                sums[q] += g.later.parts[2 * number + q] - empty[q]
        return total_of(sums[0], sums[1])

    @computed_in(ti.f64)
    def of_atoms(collectors, threads, g: ti.template(), whole: ti.template()):
        for thread in range(collectors):
            collect(thread // many, thread % many, g)
        for thread in range(threads):
            number, lane, sums = thread // many, thread % many, empty_sums(1)
            of_lane(sums, number // g.later.shares, number % g.later.shares, lane, g)
            if ti.static(many > 1):
                sums = together(sums, 1, ti.static(many.bit_length() - 1))
            if lane == 0:
                for q in ti.static(range(2)):
                    g.later.parts[2 * number + q] = sums[q]
        for i in range(g.atoms.n):
            store_whole(g.spans.system[i], i % SPREAD, in_units(of_shares(i, g)), whole)

    @kernel(
        types_of(real), atoms=Atoms.only("n", "pos", "kind", "ident"), verlet=VerletRows.only("shift_bits",
        "shifts"), near=NearRows.only("width", "count", "entries"), later=Later, limits=Limits, nu=STRENGTHS,
        control=CONTROL, when=Number("i32", "see `neighbours.control`"), spans=Spans.only("system"),
        whole=WHOLE
    )  # fmt: skip
    def energy(atoms, verlet, near, later, limits, nu, control, when, spans, whole):
        g = Given(
            atoms=atoms,
            verlet=verlet,
            near=near,
            later=later,
            limits=limits,
            nu=nu,
            control=control,
            when=when,
            spans=spans,
        )
        # Worked out before the loops, where that costs a GPU no kernel of its own.
        collectors, threads = atoms.n * many, atoms.n * later.shares * many
        of_atoms(collectors, threads, g, whole)

    return energy
