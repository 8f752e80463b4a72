"""Sums over triangles with three sides below a cutoff: each pair of a near list meets all third atoms of it.

For an entry j of an atom's row (`near_sides`) the slope of the energy to r_ij^2 is summed over the other
entries k, in the order of the user's numbers, so sums do not depend on how the list stands; F_i = 2 sum_j
slope_ij (r_j - r_i), and energies and virials as in `triple_forces`. Only the atom that a pair belongs to
sums, over its row, and leaves the result with both. On a GPU a thread has a pair. On a CPU a thread has
several of one atom, side by side (`near_sides`), and drops what is out of range after it has been computed,
as a branch would cost more.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, View, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.near_sides import RUN, Limits, side_functions, sides_of, threads_of_search
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums
from taichimd.enumerate.row_sums import across, threads_of_row
from taichimd.enumerate.terms import TripletFunction
from taichimd.enumerate.triple_forces import NUMBERS, WHEN, store_shares, with_pair
from taichimd.enumerate.triple_tiles import STRENGTHS
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import NearRows, VerletRows, row_layout, whole_warps
from taichimd.system.state import Atoms

SHARES = 8
"""Turns of a CPU's loop for each atom, of which one is used: the runtimes give a thread 512 turns or more."""
FEW = 4096
"""Atoms whose rows a CPU's cache holds: up to here neighbours need not be computed one after the other."""
PLACES = ArrayField("i32", "n", "place of each user's number")


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
    """Kernel `(atoms, verlet, near, limits, nu, places, sides, control, out, when)` of a triple's energy.

    `product`: whether the product of the sides has a limit; `everything`: leave energies and virials, too;
    `blocks`: most blocks of a CUDA grid, which callers set with `runtime.grid`.
    """
    many, columns = threads_of_row(row_layout(backend)), 5 if everything else 1
    searchers, on_gpu = threads_of_search(backend), backend == "cuda"
    turns_of_atom = many if on_gpu else SHARES
    outputs, terms = (Outputs, NUMBERS) if everything else (Outputs.only("force"), 3)
    side, width = side_functions(function, backend), 5 + function.width

    @ti.func
    def vector(j, g: ti.template()):
        return ti.Vector([g.sides.known[5 * j + q] for q in ti.static(range(3))])

    @ti.func
    def about(j, g: ti.template()):
        """What is known of an entry, and constants of it."""
        constants = function.constants(g.sides.known[5 * j + 3])
        found = ti.Vector.zero(ti.f64, width)
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
    def put_both(i, j, found, g: ti.template()):
        """Store the sums of entry j of atom i, also at the opposite entry, whose vectors are reversed."""
        put(j, found, g)
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
        put_both(i, j, total, g)

    @ti.func
    def sums_of_run(i, begin, last, g: ti.template()):
        """The same sums for entries side by side, the last repeated, each in the same order."""
        one, total = ti.Matrix.zero(ti.f64, width, RUN), ti.Matrix.zero(ti.f64, columns, RUN)
        strengths = ti.Vector.zero(ti.i32, RUN)
        for m in range(RUN):
            j = ti.min(begin + m, last)
            found = about(j, g)
            for q in ti.static(range(width)):
                one[q, m] = found[q]
            strengths[m] = strengths_of(i, j, g)
        for k in range(side.at(i, 0, g), last + 1):
            other = ti.Vector([g.sides.known[5 * k + q] for q in ti.static(range(5))])
            for m in range(RUN):
                own = ti.Vector([one[q, m] for q in ti.static(range(width))])
                o = ti.Vector([other[q] - own[q] for q in ti.static(range(3))])
                c = o.dot(o)
                found = terms_of(strengths[m], k, own, other, c, function.pair(c), g)
                does = c < g.limits.side2 and k != begin + m
                for q in ti.static(range(columns)):
                    total[q, m] += ti.select(does, found[q], 0.0)
        for m in range(ti.min(RUN, last + 1 - begin)):
            put_both(i, begin + m, ti.Vector([total[q, m] for q in ti.static(range(columns))]), g)

    @ti.func
    def whole(number, of):
        return (number + of - 1) // of * of

    @ti.func
    def sums_of_turn(turn, g: ti.template()):
        """The sums of a run, on a CPU."""
        runs, each = whole(g.sides.width, RUN) // RUN, whole(g.atoms.n, SHARES) // SHARES
        i = turn // runs
        # Atoms on one side of a structure can have more own entries: few atoms are dealt to threads one by
        # one.
        if g.atoms.n <= FEW:
            i = i % each * SHARES + i // each
        if i < g.atoms.n:
            begin = side.at(i, g.sides.first[i] + turn % runs * RUN, g)
            last = side.at(i, g.sides.count[i] - 1, g)
            if begin <= last:
                sums_of_run(i, begin, last, g)

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
    def of_pairs(slots, turns, most_pairs, g: ti.template()):
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
            for turn in range(g.atoms.n * SHARES):
                if turn % SHARES == 0 and goes(g.when, g.control) == 1:
                    side.sort(turn // SHARES, g)
            for turn in range(turns):
                if goes(g.when, g.control) == 1:
                    sums_of_turn(turn, g)

    @computed_in(ti.f64)
    def of_atoms(slots, turns, most_pairs, threads, g: ti.template(), out: ti.template()):
        of_pairs(slots, turns, most_pairs, g)
        for turn in range(threads):
            thread = turn
            # Threads beyond the last atom stay for the sums across a warp.
            does = turn < g.atoms.n * many
            if ti.static(not on_gpu):
                thread, does = turn // SHARES, turn % SHARES == 0
            i = ti.min(thread // many, g.atoms.n - 1)
            does = does and goes(g.when, g.control) == 1
            sums = empty_sums(terms)
            if does:
                j = thread % many
                while j < g.sides.count[i]:
                    add(sums, side.at(i, j, g), g)
                    j += many
            total = across(sums, terms, many)
            if does and thread % many == 0:
                store_shares(i, total, out, real, everything)

    @kernel(
        types_of(real), atoms=Atoms.only("n", "pos", "kind", "ident"), verlet=VerletRows.only("shift_bits",
        "shifts"), near=NearRows.only("width", "count", "entries"), limits=Limits, nu=STRENGTHS,
        places=PLACES, sides=sides_of(backend), control=CONTROL, out=outputs, when=WHEN
    )  # fmt: skip
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
        slots, threads = atoms.n * sides.width, atoms.n * turns_of_atom
        most_pairs = slots // 2
        turns = whole(atoms.n, SHARES) * (whole(sides.width, RUN) // RUN)
        if ti.static(many > 1):
            threads = whole_warps(threads)
        if ti.static(on_gpu):
            sides.total[0] = 0
        of_atoms(slots, turns, most_pairs, threads, g, out)

    return near_triangles
