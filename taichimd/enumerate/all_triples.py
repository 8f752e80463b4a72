"""All triples of n atoms, each once: in equal parts for each atom, or row by row.

Balanced: atom i has the triples (i, i + d, i + d + e) mod n with d = 1 to floor((n - 1)/3) and e = d to n -
2d - 1. If 3 divides n, atoms i < n/3 also have (i, i + n/3, i + 2n/3). So each triple comes once, and atoms
have equally many but for one. Several threads
share an atom: its triples are numbered, and the first one of a part is found by inversion of the number of
triples before d, P(d) = (d - 1)(2n - 3d)/2.

Direct: atom i has all i < j < k.

Yaseen, Ji, Li, A load-balancing workload distribution scheme for three-body interaction computation on GPU,
J. Parallel Distrib. Comput. (2015).
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Number, View, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.enumerate.reproducible_sum import COARSE, FINE, added, total_of
from taichimd.enumerate.terms import TripletFunction
from taichimd.enumerate.triple_tiles import SPREAD, STRENGTHS, WHOLE, Placed, in_units, store_whole


@ti.func
def before(d, n):
    """Triples of an atom with a first step shorter than d, int64."""
    m = ti.cast(d, ti.i64)
    return (m - 1) * (2 * ti.cast(n, ti.i64) - 3 * m) // 2


@ti.func
def steps_of(number, n):
    """Steps d and e of a triple of an atom by its number, int64, from 0."""
    wide = 2 * ti.cast(n, ti.i64) - 3
    root = ti.cast(ti.ceil(ti.sqrt(ti.cast(wide * wide - 24 * number, ti.f64))), ti.i64)
    d = ti.cast((wide + 6 - root) // 6, ti.i32)
    # The root may be rounded across a whole number.
    while before(d + 1, n) <= number:
        d += 1
    while before(d, n) > number:
        d -= 1
    return d, ti.cast(number - before(d, n), ti.i32) + d


@ti.func
def later(i, steps, n):
    """The atom so many steps after atom i, of a ring of n."""
    j = i + steps
    if j >= n:
        j -= n
    return j


def balanced_function(visit: Any) -> Any:
    """Device function that visits a part of the triples of an atom in the balanced order.

    `visit` is symmetric.
    """

    @ti.func
    def balanced(i, part, parts, n, sums: ti.template(), given: ti.template()):
        each = before((n - 1) // 3 + 1, n)
        number, end = part * each // parts, (part + 1) * each // parts
        d, e = 1, 1
        if number < end:
            d, e = steps_of(number, n)
        while number < end:
            # A loop for each j: what belongs to i and j is worked out once.
            j, last = later(i, d, n), ti.min(ti.cast(n - 2 * d, ti.i64), e + (end - number))
            for steps in range(e, ti.cast(last, ti.i32)):
                visit(sums, i, j, later(j, steps, n), given)
            number += last - e
            d += 1
            e = d
        if part == 0 and n % 3 == 0 and i < n // 3:
            visit(sums, i, i + n // 3, i + 2 * (n // 3), given)

    return balanced


def direct_function(visit: Any) -> Any:
    """As `balanced_function`, for the triples i < j < k of an atom i: every `parts`-th j from `part` on."""

    @ti.func
    def direct(i, part, parts, n, sums: ti.template(), given: ti.template()):
        j = i + 1 + ti.cast(part, ti.i32)
        while j < n - 1:
            for k in range(j + 1, n):
                visit(sums, i, j, k, given)
            j += ti.cast(parts, ti.i32)

    return direct


BALANCED, DIRECT = "balanced", "direct"
MAPPINGS = {BALANCED: balanced_function, DIRECT: direct_function}


class Given(View):
    """What a visit reads."""


@cache
def mapped_kernel(function: TripletFunction, mapping: str, n_kinds: int) -> Any:
    """Kernel `(n, parts, side2, placed, nu, whole)` of the energy: a thread per part of an atom, no tiles."""
    types = types_of(ti.f64)

    @ti.func
    def visit(sums: ti.template(), i, j, k, given: ti.template()):
        x, y, z = given.placed.pos[i], given.placed.pos[j], given.placed.pos[k]
        d, e, o = y - x, z - x, z - y
        a, b, c = d.dot(d), e.dot(e), o.dot(o)
        if a < given.side2 and b < given.side2 and c < given.side2:
            strength = given.nu[0]
            if ti.static(n_kinds > 1):
                row = given.placed.kind[i] * n_kinds + given.placed.kind[j]
                strength = given.nu[row * n_kinds + given.placed.kind[k]]
            coarse, fine = added(sums[0], sums[1], strength * function.whole(a, b, c))
            sums[0] = coarse
            sums[1] = fine

    of_thread = MAPPINGS[mapping](visit)

    @kernel(
        types, n=Number("i32", "atoms"), parts=Number("i32", "threads of an atom"), side2=Number("f64",
        "square that each side is below, angstrom^2"), placed=Placed, nu=STRENGTHS, whole=WHOLE
    )  # fmt: skip
    def energy(n, parts, side2, placed, nu, whole):
        for thread in range(n * parts):
            sums = ti.Vector([COARSE, FINE])
            part, i = ti.cast(thread // n, ti.i64), thread % n
            of_thread(i, part, ti.cast(parts, ti.i64), n, sums, Given(placed=placed, nu=nu, side2=side2))
            store_whole(0, thread % SPREAD, in_units(total_of(sums[0], sums[1])), whole)

    return energy
