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

from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.enumerate.reproducible_sum import empty_sums, total_of, with_term
from taichimd.forcefields.reaxff.taper import coulomb_value
from taichimd.neighbours.entries import straight_vector_to
from taichimd.neighbours.rows import slot


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


@dataclass(frozen=True)
class SoftFunctions:
    """Device functions of the softness, each with its own loops over atoms except `times`.

    Attributes:
        fill: finds pairs, X, the diagonal, D and q0 in spatial order.
        times: row i of L times the first column of a vector.
        left: L times z. product: L times `inner`, into w. residual: -L times `inner`, into r.
    """

    fill: DeviceFunction
    times: DeviceFunction
    left: DeviceFunction
    product: DeviceFunction
    residual: DeviceFunction


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

    @ti.func
    def put_pairs(i, near: ti.template(), shifts: ti.template(), g: ti.template()):
        """Find the pairs of atom i in its near row."""
        n, here, a, kept = g.atoms.n, g.atoms.pos[i], g.atoms.kind[i], 0
        for s in range(ti.min(near.count[i], near.width)):
            entry = near.entries[slot(i, s, n, near.width, near_layout)]
            j = entry >> g.matrix.shift_bits
            d = ti.cast(straight_vector_to(entry, g.matrix.shift_bits, here, g.atoms.pos, shifts), ti.f64)
            radius, r = g.soft.radii[a * n_kinds + g.atoms.kind[j]], ti.sqrt(d.dot(d))
            # An image of the atom itself adds nothing to L.
            if r < radius and r < g.screening.cutoff and j != i:
                at = slot(i, kept, n, g.soft.width, layout)
                x, _ = softness(r, radius, g.soft.amplitude)
                g.soft.entries[at] = entry
                g.soft.values[at] = x
                kept += 1
        g.soft.count[i] = kept

    @ti.func
    def degree_of(i, g: ti.template()):
        """L on the diagonal: the sum of X of the pairs of atom i."""
        own = empty_sums(1)
        for s in range(g.soft.count[i]):
            with_term(own, 1, 0, g.soft.values[slot(i, s, g.atoms.n, g.soft.width, layout)])
        return total_of(own[0], own[1])

    @ti.func
    def diagonal_of(i, degree, shifts: ti.template(), g: ti.template()):
        """Row i of L + L H L on the diagonal, with the images that the row names."""
        n, here, bits = g.atoms.n, g.atoms.pos[i], g.matrix.shift_bits
        a, count, sums = g.atoms.kind[i], g.soft.count[i], empty_sums(1)
        with_term(sums, 1, 0, degree + degree * degree * g.elements[2 * a + 1])
        for s in range(count):
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
        return ti.max(total_of(sums[0], sums[1]), degree)

    @computed_in(ti.f64)
    def fill(near: ti.template(), shifts: ti.template(), g: ti.template()):
        for i in range(g.atoms.n):
            if status(i, g) == 0:
                put_pairs(i, near, shifts, g)
                g.soft.reference[i] = g.soft.given[g.atoms.ident[i]]
        for i in range(g.atoms.n):
            if status(i, g) == 0:
                degree = degree_of(i, g)
                found = diagonal_of(i, degree, shifts, g)
                g.soft.diagonal[i] = ti.select(found > 0.0, found, 1.0)
                size = ti.sqrt(degree * (degree + 1.0 / g.elements[2 * g.atoms.kind[i] + 1]))
                g.soft.size[i] = ti.select(size > 0.0, size, 1.0)

    @ti.func
    def times(i, x: ti.template(), n, shift_bits, soft: ti.template(), scale):
        """Row i of L times the first column of x, which a power of two brings to the size of 1."""
        sums, here = empty_sums(1), x[i][0]
        for s in range(soft.count[i]):
            at = slot(i, s, n, soft.width, layout)
            with_term(sums, 1, 0, soft.values[at] * scale * (here - x[soft.entries[at] >> shift_bits][0]))
        return total_of(sums[0], sums[1]) / scale

    @computed_in(ti.f64)
    def left(opens: ti.template(), g: ti.template()):
        """L z, or at the opening of a solve the charges q0 + L z of the guess z."""
        for i in range(g.atoms.n):
            if status(i, g) == 0:
                scale = 1.0
                if ti.static(not opens):
                    scale = power_of_two(norm2(i, g))
                found = times(i, g.v.z, g.atoms.n, g.matrix.shift_bits, g.soft, scale)
                if ti.static(opens):
                    found += g.soft.reference[i]
                # Of the size of 1 for the product with H, too; `soft_form` divides again.
                g.soft.left[i] = ti.Vector([found * scale, 0.0])

    @computed_in(ti.f64)
    def product(g: ti.template()):
        for i in range(g.atoms.n):
            if status(i, g) == 0:
                scale = power_of_two(norm2(i, g))
                found = times(i, g.soft.inner, g.atoms.n, g.matrix.shift_bits, g.soft, scale)
                g.v.w[i] = ti.Vector([found, 0.0])

    @computed_in(ti.f64)
    def residual(g: ti.template()):
        """Find r = -L (chi + phi + u + H q) of the guess u; `inner` holds the bracket."""
        for i in range(g.atoms.n):
            if status(i, g) == 0:
                g.v.r[i] = ti.Vector(
                    [-times(i, g.soft.inner, g.atoms.n, g.matrix.shift_bits, g.soft, 1.0), 0.0]
                )
                g.v.p[i] = ti.Vector.zero(ti.f64, 2)
                g.v.h[i] = ti.Vector.zero(ti.f64, 2)

    return SoftFunctions(fill, times, left, product, residual)
