"""Bond softness of ACKS2: a graph Laplacian over close pairs, its product, and what the solver does with it.

    X(r) = Lambda d^3 (1 - d)^6,  d = r/R_ij,  R_ij = (b_i + b_j)/2,  for r < R_ij;   L = -X with rows that
    add up to 0,

    H q + u = -chi - phi + mu,   q = q0 + L u:

T. Verstraelen, P. W. Ayers, V. Van Speybroeck, M. Waroquier, J. Chem. Phys. 138, 074108 (2013); for ReaxFF
M. M. Islam et al., J. Chem. Theory Comput. 12, 3463 (2016). The second equation put into L times the first:

    (L + L H L) u = -L (chi + phi + H q0),

which is symmetric and positive semidefinite: conjugate gradients for u need no constraint. The charges of
atoms that no X joins to the rest add up to the reference charges q0 of these atoms. u is fixed up to a
constant for each such fragment, which changes neither energy nor forces.

`soft_precondition` has the preconditioner.

Couplings between fragments may be as weak as 1e-10 of those within. Sums over a row have a grid (`enumerate.
reproducible_sum`); so vectors that shrink as a solve converges are multiplied by a power of two first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.core.warps import shuffle
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.row_sums import across, threads_of_row
from taichimd.forcefields.reaxff.matrix import AHEAD
from taichimd.forcefields.reaxff.taper import coulomb_value
from taichimd.neighbours.entries import straight_vector_to
from taichimd.neighbours.rows import WARP, claim, slot, some


class Soft(Bundle):
    """Pairs with bond softness, and vectors of the solver."""

    amplitude: Any = Number("f64", "Lambda, e^2/eV")
    width: Any = Number("i32", "slots of a row")
    radii: Any = ArrayField("f64", "kinds^2", "R_ij of each pair of kinds, angstrom; 0 without softness")
    count: Any = ArrayField("i32", "n", "pairs of each atom")
    entries: Any = ArrayField("i32", "n width", "neighbour << shift_bits | code of its image")
    values: Any = ArrayField("f64", "n width", "X of the entry, e^2/eV")
    diagonal: Any = ArrayField("f64", "n", "diagonal of L + L H L; 1 without pairs")
    size: Any = ArrayField("f64", "n", "D of each atom (`soft_precondition`), e^2/eV; 1 without pairs")
    reference: Any = ArrayField("f64", "n", "reference charge q0 of each atom, e, in spatial order")
    given: Any = ArrayField("f64", "n", "the same in the user's order")
    left: Any = ArrayField("both", "n", "L times a vector, times a power of two")
    inner: Any = ArrayField("both", "n", "H L times a vector, and the vector")


@ti.func
def softness(r, radius, amplitude):
    """X and dX/dr of a pair, e^2/eV and e^2/(eV angstrom); r < radius."""
    d = r / radius
    d2, far = d * d, 1.0 - d
    far2 = far * far
    far5 = far2 * far2 * far
    return amplitude * (d2 * d) * (far5 * far), amplitude * d2 * far5 * (3.0 - 9.0 * d) / radius


@ti.func
def power_of_two(norm2):
    """About 1/sqrt(norm2), as a power of two; 1 for 0."""
    scale = 1.0
    if norm2 > 1e-280:
        exponent = ti.cast((ti.bit_cast(norm2, ti.i64) >> 52) & 2047, ti.i32) - 1023
        half = exponent >> 1
        scale = ti.bit_cast(ti.cast(1023 - half, ti.i64) << 52, ti.f64)
    return scale


@ti.func
def first_column(i, x: ti.template(), g: ti.template()):
    """Value of an atom in the first column of x."""
    return x[i][0]


@dataclass(frozen=True)
class SoftFunctions:
    """Device functions of the softness; `fill`, `left`, `product` and `residual` have their own loops."""

    fill: DeviceFunction  # finds pairs, X, the diagonal, D and q0 in spatial order
    row: DeviceFunction  # (thread, g) -> atom of a thread, and whether its solve goes on
    # from (i, x, g) -> value of an atom, and the number of threads that share a row, a function (i, thread,
    # does, x, g, scale) -> row i of L times the values, in the first of these threads. If several share a
    # row, all 32 threads of a warp must call it.
    times_of: Callable[[DeviceFunction, int], DeviceFunction]
    times: DeviceFunction  # such a function of the first column of x
    threads: int  # that share a row in the loops
    left: DeviceFunction  # L times z
    product: DeviceFunction  # L times `inner`, into w
    residual: DeviceFunction  # -L times `inner`, into r


def soft_functions(
    n_kinds: int, layout: int, near_layout: int, status: DeviceFunction, norm2: DeviceFunction
) -> SoftFunctions:
    """The functions.

    Args:
        n_kinds: species.
        layout: of the rows of pairs.
        near_layout: of the near list.
        status: device function, the status of the solve of an atom (`batched`).
        norm2: device function, the sum of r^2/diagonal of the last iteration of an atom's system.
    """
    many = threads_of_row(layout)

    @ti.func
    def row(thread, g: ti.template()):
        i = ti.min(thread // many, g.atoms.n - 1)
        return i, thread < g.atoms.n * many and status(i, g) == 0

    @ti.func
    def reach_of(i, entry, shifts: ti.template(), g: ti.template()):
        """Distance of an entry and R_ij: 0 for an image of the atom itself, which adds nothing to L."""
        here, j = g.atoms.pos[i], entry >> g.matrix.shift_bits
        d = ti.cast(straight_vector_to(entry, g.matrix.shift_bits, here, g.atoms.pos, shifts), ti.f64)
        radius = g.soft.radii[g.atoms.kind[i] * n_kinds + g.atoms.kind[j]]
        return ti.sqrt(d.dot(d)), ti.select(j == i, 0.0, radius)

    @ti.func
    def put(i, place, entry, r, radius, g: ti.template()):
        at = slot(i, place, g.atoms.n, g.soft.width, layout)
        g.soft.entries[at] = entry
        g.soft.values[at], _ = softness(r, radius, g.soft.amplitude)

    @ti.func
    def put_pairs(i, m, near: ti.template(), shifts: ti.template(), g: ti.template()):
        """Find the pairs of atom i in its near row of m entries; their number."""
        kept = 0
        for s in range(m):
            entry = near.entries[slot(i, s, g.atoms.n, near.width, near_layout)]
            r, radius = reach_of(i, entry, shifts, g)
            if r < radius and r < g.screening.cutoff:
                put(i, kept, entry, r, radius, g)
                kept += 1
        return kept

    @ti.func
    def put_pairs_shared(i, thread, m, near: ti.template(), shifts: ti.template(), g: ti.template()):
        """The same with the threads that share the row. All threads of a warp call it."""
        kept, first = 0, thread % many
        while some(first < m):
            # What is not there reads as the last one.
            read = [
                near.entries[
                    slot(i, ti.max(ti.min(first + many * k, m - 1), 0), g.atoms.n, near.width, near_layout)
                ]
                for k in ti.static(range(AHEAD))
            ]
            found = [reach_of(i, entry, shifts, g) for entry in ti.static(read)]
            for k in ti.static(range(AHEAD)):
                r, radius = found[k]
                keeps = first + many * k < m and r < radius and r < g.screening.cutoff
                before, all_of_them = claim(keeps, thread)
                if keeps:
                    put(i, kept + before, read[k], r, radius, g)
                kept += all_of_them
            first += many * AHEAD
        return kept

    @ti.func
    def for_all(value, thread):
        """What the first of the threads of a row has."""
        found = value
        if ti.static(many > 1):
            found = shuffle(value, thread % WARP // many * many)
        return found

    @ti.func
    def steps_of(lane, count):
        """How many entries of a row a thread has."""
        return (count - lane + many - 1) // many

    @ti.func
    def degree_of(i, lane, count, g: ti.template()):
        """L on the diagonal: the sum of X of the pairs of atom i."""
        own = empty_sums(1)
        for step in range(steps_of(lane, count)):
            with_term(own, 1, 0, g.soft.values[slot(i, lane + many * step, g.atoms.n, g.soft.width, layout)])
        return across(own, 1, many)[0]

    @ti.func
    def diagonal_of(i, lane, count, degree, shifts: ti.template(), g: ti.template()):
        """Row i of L + L H L on the diagonal, with the images that the row names."""
        n, here, bits = g.atoms.n, g.atoms.pos[i], g.matrix.shift_bits
        a, sums = g.atoms.kind[i], empty_sums(1)
        if lane == 0:
            with_term(sums, 1, 0, degree + degree * degree * g.elements[2 * a + 1])
        for step in range(steps_of(lane, count)):
            s = lane + many * step
            at = slot(i, s, n, g.soft.width, layout)
            j, x = g.soft.entries[at] >> bits, g.soft.values[at]
            to_j = ti.cast(straight_vector_to(g.soft.entries[at], bits, here, g.atoms.pos, shifts), ti.f64)
            b = g.atoms.kind[j]
            h = coulomb_value(to_j.dot(to_j), a, b, n_kinds, g.screening)
            with_term(sums, 1, 0, x * x * g.elements[2 * b + 1])
            with_term(sums, 1, 0, -2.0 * degree * x * h)
            for t in range(s):
                other = slot(i, t, n, g.soft.width, layout)
                k = g.soft.entries[other] >> bits
                d = to_j - ti.cast(
                    straight_vector_to(g.soft.entries[other], bits, here, g.atoms.pos, shifts), ti.f64
                )
                if d.dot(d) < g.screening.cutoff * g.screening.cutoff:
                    between = coulomb_value(d.dot(d), b, g.atoms.kind[k], n_kinds, g.screening)
                    with_term(sums, 1, 0, 2.0 * x * g.soft.values[other] * between)
        return ti.max(across(sums, 1, many)[0], degree)

    @computed_in(ti.f64)
    def fill(near: ti.template(), shifts: ti.template(), g: ti.template()):
        for thread in range(g.threads):
            i, does = row(thread, g)
            m, kept = 0, 0
            if does:
                m = ti.min(near.count[i], near.width)
            if ti.static(many > 1):
                kept = put_pairs_shared(i, thread, m, near, shifts, g)
            else:
                kept = put_pairs(i, m, near, shifts, g)
            if does and thread % many == 0:
                g.soft.count[i] = kept
                g.soft.reference[i] = g.soft.given[g.atoms.ident[i]]
        for thread in range(g.threads):
            i, does = row(thread, g)
            count, lane = 0, thread % many
            if does:
                count = g.soft.count[i]
            degree = for_all(degree_of(i, lane, count, g), thread)
            found = diagonal_of(i, lane, count, degree, shifts, g)
            if does and lane == 0:
                g.soft.diagonal[i] = ti.select(found > 0.0, found, 1.0)
                size = ti.sqrt(degree * (degree + 1.0 / g.elements[2 * g.atoms.kind[i] + 1]))
                g.soft.size[i] = ti.select(size > 0.0, size, 1.0)

    def times_of(value: DeviceFunction, threads: int) -> DeviceFunction:
        @ti.func
        def times(i, thread, does, x: ti.template(), g: ti.template(), scale):
            """Row i of L times values of atoms, which a power of two brings to the size of 1."""
            sums, here, count, lane = empty_sums(1), value(i, x, g), 0, thread % threads
            if does:
                count = g.soft.count[i]
            for step in range((count - lane + threads - 1) // threads):
                at = slot(i, lane + threads * step, g.atoms.n, g.soft.width, layout)
                j = g.soft.entries[at] >> g.matrix.shift_bits
                with_term(sums, 1, 0, g.soft.values[at] * scale * (here - value(j, x, g)))
            return across(sums, 1, threads)[0] / scale

        return times

    times = times_of(first_column, many)

    @computed_in(ti.f64)
    def left(opens: ti.template(), g: ti.template()):
        """L z, or at the opening of a solve the charges q0 + L z of the guess z."""
        for thread in range(g.threads):
            i, does = row(thread, g)
            scale = 1.0
            if ti.static(not opens):
                scale = power_of_two(norm2(i, g))
            found = times(i, thread, does, g.v.z, g, scale)
            if does and thread % many == 0:
                if ti.static(opens):
                    found += g.soft.reference[i]
                # Of the size of 1 for the product with H, too; `soft_form` divides again.
                g.soft.left[i] = ti.Vector([found * scale, 0.0])

    @computed_in(ti.f64)
    def product(g: ti.template()):
        for thread in range(g.threads):
            i, does = row(thread, g)
            found = times(i, thread, does, g.soft.inner, g, power_of_two(norm2(i, g)))
            if does and thread % many == 0:
                g.v.w[i] = ti.Vector([found, 0.0])

    @computed_in(ti.f64)
    def residual(g: ti.template()):
        """Find r = -L (chi + phi + u + H q) of the guess u; `inner` holds the bracket."""
        for thread in range(g.threads):
            i, does = row(thread, g)
            found = times(i, thread, does, g.soft.inner, g, 1.0)
            if does and thread % many == 0:
                g.v.r[i] = ti.Vector([-found, 0.0])
                g.v.p[i] = ti.Vector.zero(ti.f64, 2)
                g.v.h[i] = ti.Vector.zero(ti.f64, 2)

    return SoftFunctions(fill, row, times_of, times, many, left, product, residual)
