"""The energy alone of all triples whose sides are short enough: each triple once, from near lists.

A triple is visited by its atom with the lowest number. So rows are copied first without atoms of lower numbers. A triple of two
images of its lowest atom is visited twice, one of three images three times, with as much less weight each time.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, View, kernel, types_of
from taichimd.core.runtime import WARPS, computed_in, ti
from taichimd.enumerate.access import distance_vector
from taichimd.enumerate.near_sides import Limits
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.row_sums import across
from taichimd.enumerate.triple_tiles import SPREAD, STRENGTHS, WHOLE, TripletFunction, in_units, store_whole
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import WARP, NearRows, VerletRows, row_layout, slot, whole_warps
from taichimd.system.state import Atoms


class Later(Bundle):
    """Rows of the near list without atoms of lower numbers and those that are out of range."""

    count: Any = Array("i32", "n", "number of entries of each atom")
    entries: Any = Array("i32", "n width", "as those of the near list")


class Given(View):
    """What loops over triples read."""


@cache
def near_energy_kernel(function: TripletFunction, real: Any, backend: str, n_kinds: int) -> Any:
    """Kernel of the energy; on CUDA a warp shares an atom.

    Args:
        function: the energy of a triple.
        real: ti.f64 or ti.f32, of the atoms.
        backend: "cuda" or "cpu".
        n_kinds: species.
    """
    layout, many = row_layout(backend), WARP if backend == "cuda" and WARPS else 1

    @ti.func
    def vector_of(i, s, g: ti.template()):
        """Distance vector of an entry of `later`, species of its atom, and whether that is an image of atom i."""
        entry = g.later.entries[slot(i, s, g.atoms.n, g.near.width, layout)]
        j = entry >> g.verlet.shift_bits
        d = distance_vector(entry, g.verlet.shift_bits, g.atoms.pos[i], g.atoms.pos, g.verlet.shifts)
        return ti.cast(d, ti.f64), g.atoms.kind[j], ti.cast(j == i, ti.i32)

    @computed_in(ti.f64)
    def of_lane(sums: ti.template(), i, lane, g: ti.template()):
        own = g.atoms.kind[i]
        for s in range(1, g.later.count[i]):
            d, b, again = vector_of(i, s, g)
            d2 = d.dot(d)
            t = lane
            while t < s:
                e, c, once_more = vector_of(i, t, g)
                opposite = e - d
                e2, o2 = e.dot(e), opposite.dot(opposite)
                if o2 < g.limits.side2 and (d2 * e2) * o2 < g.limits.product2:
                    # In one order, whatever that of the row.
                    u = function.alone(o2, ti.min(d2, e2), ti.max(d2, e2))
                    u *= g.nu[(own * n_kinds + b) * n_kinds + c]
                    if again + once_more > 0:
                        u /= ti.cast(1 + again + once_more, ti.f64)
                    with_term(sums, 1, 0, u)
                t += many

    @kernel(types_of(real), atoms=Atoms.only("n", "pos", "kind", "ident"), verlet=VerletRows.only("shift_bits", "shifts"), near=NearRows.only("width", "count", "entries"), later=Later, limits=Limits, nu=STRENGTHS, control=CONTROL, when=Number("i32", "see `neighbours.control`"), whole=WHOLE)  # fmt: skip
    def energy(atoms, verlet, near, later, limits, nu, control, when, whole):
        threads = atoms.n * many
        if ti.static(many > 1):
            threads = whole_warps(threads)
        for i in range(atoms.n):
            kept = 0
            if goes(when, control) == 1:
                for s in range(near.count[i]):
                    entry = near.entries[slot(i, s, atoms.n, near.width, layout)]
                    if atoms.ident[entry >> verlet.shift_bits] >= atoms.ident[i]:
                        d_far = distance_vector(
                            entry, verlet.shift_bits, atoms.pos[i], atoms.pos, verlet.shifts
                        )
                        d = ti.cast(d_far, ti.f64)
                        if d.dot(d) < limits.side2:
                            later.entries[slot(i, kept, atoms.n, near.width, layout)] = entry
                            kept += 1
            later.count[i] = kept
        g = Given(atoms=atoms, verlet=verlet, near=near, later=later, limits=limits, nu=nu)
        for thread in range(threads):
            i, lane, sums = thread // many, thread % many, empty_sums(1)
            of_lane(sums, i, lane, g)
            total = across(sums, 1, many)
            if lane == 0:
                store_whole(i % SPREAD, in_units(total[0]), whole)

    return energy
