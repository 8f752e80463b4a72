"""Sums over triangles whose three sides are shorter than a cutoff: each pair of a near list meets all third atoms of the list.

For an entry j of an atom's row (`near_sides`) the slope of the energy to r_ij^2 is summed over the other entries k, in the
order of the user's numbers, so sums do not depend on how the list stands; F_i = 2 sum_j slope_ij (r_j - r_i), and energies and
virials as in `triple_forces`. Only the atom that a pair belongs to sums, over its row, and leaves the result with both. On a CPU
an atom goes through its pairs of entries once. On a GPU a thread has a pair.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, View, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.near_sides import Limits, side_functions, sides_of, threads_of_search
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums
from taichimd.enumerate.row_sums import across, threads_of_row
from taichimd.enumerate.triple_forces import NUMBERS, WHEN, store_shares, with_pair
from taichimd.enumerate.triple_tiles import STRENGTHS, TripletFunction
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import NearRows, VerletRows, row_layout, whole_warps
from taichimd.system.state import Atoms

PLACES = Array("i32", "n", "place of each user's number")


class Given(View):
    """What the loops read."""


@cache
def near_triangle_kernel(
    function: TripletFunction,
    real: Any,
    backend: str,
    n_kinds: int,
    product: bool,
    everything: bool,
    blocks: int = 0,
) -> Any:
    """Kernel `(atoms, verlet, near, limits, nu, places, sides, control, out, when)`.

    Args:
        function: the energy of a triple.
        real: ti.f64 or ti.f32, of the atoms.
        backend: "cuda" or "cpu".
        n_kinds: species.
        product: whether the product of the sides has a limit.
        everything: leave energies and virials, too.
        blocks: most blocks of a CUDA grid, which callers set with `runtime.grid`; kernels of different grids are different ones.
    """
    many, columns = threads_of_row(row_layout(backend)), 5 if everything else 1
    searchers, on_gpu = threads_of_search(backend), backend == "cuda"
    outputs, terms = (Outputs, NUMBERS) if everything else (Outputs.only("force"), 3)
    side = side_functions(function, backend)

    @ti.func
    def vector(j, g: ti.template()):
        return ti.Vector([g.sides.known[5 * j + q] for q in ti.static(range(3))])

    @ti.func
    def about(j, g: ti.template()):
        """What is known of an entry, and constants of it."""
        constants = function.constants(g.sides.known[5 * j + 3])
        found = ti.Vector.zero(ti.f64, 5 + function.width)
        for q in ti.static(range(5)):
            found[q] = g.sides.known[5 * j + q]
        for q in ti.static(range(function.width)):
            found[5 + q] = constants[q]
        return found

    @ti.func
    def strengths_of(i, j, g: ti.template()):
        """Where those of an entry of an atom begin, by the kind of the third atom."""
        first = 0
        if ti.static(n_kinds > 1):
            first = (g.atoms.kind[i] * n_kinds + g.sides.kind[j]) * n_kinds
        return first

    @ti.func
    def terms_of(strengths, k, one, other, c, w_c, g: ti.template()):
        """What entry k (other) adds to the sums of an entry (one) of its atom."""
        constants = ti.Vector([one[5 + q] for q in ti.static(range(function.width))])
        factor = ti.cast(1.0, ti.f64)
        if ti.static(n_kinds > 1):
            factor = g.nu[strengths + g.sides.kind[k]]
        if ti.static(product):
            if one[3] * other[3] * c >= g.limits.product2:
                factor = 0.0
        slope = function.slope(constants, one[3], other[3], c, other[4], w_c)
        if ti.static(n_kinds > 1 or product):
            slope *= factor
        found = ti.Vector.zero(ti.f64, columns)
        found[0] = slope
        if ti.static(everything):
            found[1] = function.energy(constants, one[3], other[3], c, other[4], w_c) * factor
            for q in ti.static(range(3)):
                found[2 + q] = slope * other[q]
        return found

    @ti.func
    def put(j, found, g: ti.template()):
        for q in ti.static(range(columns)):
            g.sides.sums[columns * j + q] = found[q]

    @ti.func
    def got(j, g: ti.template()):
        return ti.Vector([g.sides.sums[columns * j + q] for q in ti.static(range(columns))])

    @ti.func
    def put_opposite(i, j, found, g: ti.template()):
        """Leave the sums of entry j of atom i with the opposite entry; vectors begin there."""
        there, d = found, vector(j, g)
        if ti.static(everything):
            for q in ti.static(range(3)):
                there[2 + q] -= found[0] * d[q]
        put(side.opposite(i, j, g), there, g)

    @ti.func
    def sum_of_pair(j, g: ti.template()):
        """Sums of one entry: it meets all others of its row."""
        i = j // g.sides.width
        begin, count, side2 = side.at(i, 0, g), g.sides.count[i], g.limits.side2
        d, one, total = vector(j, g), about(j, g), ti.Vector.zero(ti.f64, columns)
        strengths = strengths_of(i, j, g)
        # Threads of a warp have the same k, most often of one atom: what they read is one place.
        for k in range(begin, begin + count):
            o = vector(k, g) - d
            c = o.dot(o)
            if k != j and c < side2:
                total += terms_of(strengths, k, one, about(k, g), c, function.pair(c), g)
        put(j, total, g)
        put_opposite(i, j, total, g)

    @ti.func
    def sum_of_atom(i, g: ti.template()):
        """The same sums in the same order, of all own entries: both entries of a pair are added to when it is met."""
        count, first = g.sides.count[i], 0
        while first < count and not side.is_own(i, g.sides.keys[side.at(i, ti.min(first, count - 1), g)], g):
            first += 1
        for s in range(first, count):
            put(side.at(i, s, g), ti.Vector.zero(ti.f64, columns), g)
        for s in range(count):
            j, met = side.at(i, s, g), 0
            d, one, total = vector(j, g), about(j, g), ti.Vector.zero(ti.f64, columns)
            if s >= first:
                total = got(j, g)
            strengths = strengths_of(i, j, g)
            # Without a branch, which half of the pairs would take.
            for t in range(ti.max(s + 1, first), count):
                o = vector(side.at(i, t, g), g) - d
                c = o.dot(o)
                g.sides.met[side.at(i, met, g)] = t
                g.sides.met_r2[side.at(i, met, g)] = c
                met += ti.cast(c < g.limits.side2, ti.i32)
            for m in range(met):
                k, c = side.at(i, g.sides.met[side.at(i, m, g)], g), g.sides.met_r2[side.at(i, m, g)]
                other, w_c = about(k, g), function.pair(c)
                if s >= first:
                    total += terms_of(strengths, k, one, other, c, w_c, g)
                put(k, got(k, g) + terms_of(strengths_of(i, k, g), j, other, one, c, w_c, g), g)
            if s >= first:
                put(j, total, g)
                put_opposite(i, j, total, g)

    @ti.func
    def add(sums: ti.template(), j, g: ti.template()):
        d, a, w = vector(j, g), g.sides.known[5 * j + 3], g.sides.known[5 * j + 4]
        factor, of_u = function.slope_factor(a, w), function.energy_factor(a, w)
        if ti.static(n_kinds == 1):
            factor, of_u = factor * g.nu[0], of_u * g.nu[0]
        found = got(j, g)
        slope = factor * found[0]
        u, moment = ti.cast(0.0, ti.f64), ti.Vector.zero(ti.f64, 3)
        if ti.static(everything):
            u, moment = of_u * found[1], factor * ti.Vector([found[2], found[3], found[4]])
        with_pair(sums, d, slope, u, moment, everything)

    @ti.func
    def of_pairs(slots, most_pairs, g: ti.template()):
        if ti.static(on_gpu):
            for thread in range(g.atoms.n * searchers):
                side.collect(thread // searchers, thread % searchers, g)
            for place in range(slots):
                if goes(g.when, g.control) == 1:
                    side.rank(place, g)
            for number in range(most_pairs):
                if number < g.sides.total[0]:
                    sum_of_pair(g.sides.pairs[number], g)
        else:
            for i in range(g.atoms.n):
                if goes(g.when, g.control) == 1:
                    side.sort(i, g)
            for i in range(g.atoms.n):
                if goes(g.when, g.control) == 1:
                    sum_of_atom(i, g)

    @computed_in(ti.f64)
    def of_atoms(slots, most_pairs, threads, g: ti.template(), out: ti.template()):
        of_pairs(slots, most_pairs, g)
        for thread in range(threads):
            i = ti.min(thread // many, g.atoms.n - 1)
            # Threads beyond the last atom stay for the sums across a warp.
            does = thread < g.atoms.n * many and goes(g.when, g.control) == 1
            sums = empty_sums(terms)
            if does:
                j = thread % many
                while j < g.sides.count[i]:
                    add(sums, side.at(i, j, g), g)
                    j += many
            total = across(sums, terms, many)
            if does and thread % many == 0:
                store_shares(i, total, out, real, everything)

    @kernel(types_of(real), atoms=Atoms.only("n", "pos", "kind", "ident"), verlet=VerletRows.only("shift_bits", "shifts"), near=NearRows.only("width", "count", "entries"), limits=Limits, nu=STRENGTHS, places=PLACES, sides=sides_of(backend), control=CONTROL, out=outputs, when=WHEN)  # fmt: skip
    def near_triangles(atoms, verlet, near, limits, nu, places, sides, control, out, when):
        g = Given(
            atoms=atoms,
            verlet=verlet,
            near=near,
            limits=limits,
            nu=nu,
            places=places,
            sides=sides,
            control=control,
            when=when,
        )
        # Worked out before the loops, where that costs a GPU no kernel of its own.
        slots, threads = atoms.n * sides.width, atoms.n * many
        most_pairs = slots // 2
        if ti.static(many > 1):
            threads = whole_warps(threads)
        if ti.static(on_gpu):
            sides.total[0] = 0
        of_atoms(slots, most_pairs, threads, g, out)

    return near_triangles
