"""Sums over triangles whose three sides are shorter than a cutoff: each pair of a near list meets all third atoms of the list.

An atom's entries within the cutoff are put in the order of the user's numbers, with their vectors and what belongs to each
(`triple_tiles.TripletFunction`). For an entry j the slope of the energy to r_ij^2 is summed over the other entries k in that
order, so sums do not depend on how the list stands; F_i = 2 sum_j slope_ij (r_j - r_i), and energies and virials as in
`triple_forces`. On a CPU each of its atoms meets a triangle once. On a GPU eight threads share an atom, and each of its atoms
meets a triangle twice.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, View, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import distance_vector
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums
from taichimd.enumerate.row_sums import across, threads_of_row
from taichimd.enumerate.triple_forces import NUMBERS, WHEN, store_shares, with_pair
from taichimd.enumerate.triple_tiles import STRENGTHS, TripletFunction
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import (
    NearRows,
    VerletRows,
    key_of,
    row_layout,
    slot,
    whole_warps,
)
from taichimd.system.state import Atoms


class Limits(Bundle):
    """Which triangles count."""

    side2: Any = Number("f64", "square that each side is below, angstrom^2")
    product2: Any = Number("f64", "square that the product of the sides is below, angstrom^6")


class Sides(Bundle):
    """The entries of each atom that are within the cutoff, in the order of the user's numbers, and sums of each."""

    width: Any = Number("i32", "slots of a row")
    count: Any = Array("i32", "n", "entries of an atom")
    keys: Any = Array("i32", "n width", "user's number << shift_bits | code of the image")
    kind: Any = Array("i32", "n width", "species")
    known: Any = Array("f64", "5 n width", "r_j - r_i, its square, `TripletFunction.pair` of that; angstrom")
    sums: Any = Array("f64", "columns n width", "over k of slope; of u, and of slope times r_k - r_i")
    met: Any = Array("i32", "n width", "on a CPU: slots that one entry forms triangles with")
    met_r2: Any = Array("f64", "n width", "their squared distances from it, angstrom^2")


PLACES = Array("i32", "n", "place of each user's number")


class Given(View):
    """What the loops read."""


@cache
def near_triangle_kernel(
    function: TripletFunction, real: Any, backend: str, n_kinds: int, product: bool, everything: bool
) -> Any:
    """Kernel `(atoms, verlet, near, limits, nu, places, sides, control, out, when)`.

    Args:
        function: the energy of a triple.
        real: ti.f64 or ti.f32, of the atoms.
        backend: "cuda" or "cpu".
        n_kinds: species.
        product: whether the product of the sides has a limit.
        everything: leave energies and virials, too.
    """
    of_list = row_layout(backend)
    many, columns = threads_of_row(of_list), 5 if everything else 1
    outputs, terms = (Outputs, NUMBERS) if everything else (Outputs.only("force"), 3)

    @ti.func
    def at(i, s, g: ti.template()):
        return i * g.sides.width + s

    @ti.func
    def vector_of(entry, i, g: ti.template()):
        d = distance_vector(entry, g.verlet.shift_bits, g.atoms.pos[i], g.atoms.pos, g.verlet.shifts)
        return ti.cast(d, ti.f64)

    @ti.func
    def find_sides(i, g: ti.template()):
        kept, bits = 0, g.verlet.shift_bits
        for s in range(g.near.count[i]):
            entry = g.near.entries[slot(i, s, g.atoms.n, g.near.width, of_list)]
            d = vector_of(entry, i, g)
            if d.dot(d) < g.limits.side2:
                key, t = key_of(entry, bits, g.atoms.ident), kept
                while t > 0 and g.sides.keys[at(i, ti.max(t - 1, 0), g)] > key:
                    g.sides.keys[at(i, t, g)] = g.sides.keys[at(i, t - 1, g)]
                    t -= 1
                g.sides.keys[at(i, t, g)] = key
                kept += 1
        g.sides.count[i] = kept
        for s in range(kept):
            place = at(i, s, g)
            j = g.places[g.sides.keys[place] >> bits]
            d = vector_of((j << bits) | (g.sides.keys[place] & ((1 << bits) - 1)), i, g)
            g.sides.kind[place] = g.atoms.kind[j]
            for q in ti.static(range(3)):
                g.sides.known[5 * place + q] = d[q]
            g.sides.known[5 * place + 3] = d.dot(d)
            g.sides.known[5 * place + 4] = function.pair(d.dot(d))

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
    def terms_of(i, j, k, one, other, c, w_c, g: ti.template()):
        """What entry k (other) adds to the sums of entry j (one) of atom i."""
        constants = ti.Vector([one[5 + q] for q in ti.static(range(function.width))])
        factor = ti.cast(1.0, ti.f64)
        if ti.static(n_kinds > 1):
            row = g.atoms.kind[i] * n_kinds + g.sides.kind[j]
            factor = g.nu[row * n_kinds + g.sides.kind[k]]
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
    def sum_of_lane(i, lane, g: ti.template()):
        """Sums of every eighth entry of an atom, or of all: each entry meets all others."""
        count, s = g.sides.count[i], lane
        while s < count:
            j, total = at(i, s, g), ti.Vector.zero(ti.f64, columns)
            one, d = about(j, g), vector(j, g)
            for t in range(count):
                k = at(i, t, g)
                o = vector(k, g) - d
                c = o.dot(o)
                if t != s and c < g.limits.side2:
                    total += terms_of(i, j, k, one, about(k, g), c, function.pair(c), g)
            put(j, total, g)
            s += many

    @ti.func
    def sum_of_atom(i, g: ti.template()):
        """The same sums in the same order: both entries of a pair are added to when it is met."""
        count = g.sides.count[i]
        for s in range(count):
            put(at(i, s, g), ti.Vector.zero(ti.f64, columns), g)
        for s in range(count):
            j, met = at(i, s, g), 0
            d, one, total = vector(j, g), about(j, g), got(j, g)
            # Without a branch, which half of the pairs would take.
            for t in range(s + 1, count):
                o = vector(at(i, t, g), g) - d
                c = o.dot(o)
                g.sides.met[at(i, met, g)] = t
                g.sides.met_r2[at(i, met, g)] = c
                met += ti.cast(c < g.limits.side2, ti.i32)
            for m in range(met):
                k, c = at(i, g.sides.met[at(i, m, g)], g), g.sides.met_r2[at(i, m, g)]
                other, w_c = about(k, g), function.pair(c)
                total += terms_of(i, j, k, one, other, c, w_c, g)
                put(k, got(k, g) + terms_of(i, k, j, other, one, c, w_c, g), g)
            put(j, total, g)

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

    @computed_in(ti.f64)
    def of_atoms(threads, g: ti.template(), out: ti.template()):
        if ti.static(many > 1):
            for i in range(g.atoms.n):
                if goes(g.when, g.control) == 1:
                    find_sides(i, g)
        for thread in range(threads):
            i = ti.min(thread // many, g.atoms.n - 1)
            # Threads beyond the last atom stay for the sums across a warp.
            does = thread < g.atoms.n * many and goes(g.when, g.control) == 1
            sums = empty_sums(terms)
            if does:
                if ti.static(many == 1):
                    find_sides(i, g)
                if ti.static(backend == "cpu"):
                    sum_of_atom(i, g)
                else:
                    sum_of_lane(i, thread % many, g)
                j = thread % many
                while j < g.sides.count[i]:
                    add(sums, at(i, j, g), g)
                    j += many
            total = across(sums, terms, many)
            if does and thread % many == 0:
                store_shares(i, total, out, real, everything)

    @kernel(types_of(real), atoms=Atoms.only("n", "pos", "kind", "ident"), verlet=VerletRows.only("shift_bits", "shifts"), near=NearRows.only("width", "count", "entries"), limits=Limits, nu=STRENGTHS, places=PLACES, sides=Sides, control=CONTROL, out=outputs, when=WHEN)  # fmt: skip
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
        threads = atoms.n * many
        if ti.static(many > 1):
            threads = whole_warps(threads)
        of_atoms(threads, g, out)

    return near_triangles
