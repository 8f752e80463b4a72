"""Preconditioner of the charge equilibration: a factorised approximate inverse of the matrix.

M^-1 = G^T G with a lower triangular G (L. Yu. Kolotilina, A. Yu. Yeremin, SIAM J. Matrix Anal. Appl. 14, 45
(1993)): row i of G has entries for atom i and the atoms j with smaller numbers that are close to it. With A
the matrix of these atoms, i the last one, and A = L L^T, the row is the solution of L^T g = (0, ..., 0, 1).
So M is symmetric and positive whatever the rows are. Close atoms are those within a radius, in the order of
the user's numbers; an atom with more than
`MAX_CLOSE` has a row of its diagonal alone, as if nothing were close.
The matrix of close atoms has one image of each, which makes the preconditioner worse, not wrong.

Made again for each evaluation: so it depends on the positions alone.
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.forcefields.reaxff.shared_factors import SHARE, shared_factor_row
from taichimd.forcefields.reaxff.taper import coulomb_value
from taichimd.neighbours.entries import insert, straight_vector_to
from taichimd.neighbours.rows import slot, some, whole_warps

MAX_CLOSE = 24
"""Close atoms of one atom that there is room for."""
SIZE = 12
"""Largest matrix that is factorised: that of the first close atoms with smaller numbers, and of the atom."""
LEAST = 0.01
"""Smallest fraction of a diagonal element after factorisation. Below it the row is the diagonal alone."""
AHEAD = 4
"""Close atoms that a thread of a GPU reads together."""


class Close(Bundle):
    """Atoms close to each atom, and the factor G."""

    reach: Any = Number("f64", "radius within which atoms are close, angstrom")
    count: Any = ArrayField("i32", "n", "close atoms of each atom, also those that there is no room for")
    entries: Any = ArrayField(
        "i32", "24 n", "neighbour << shift_bits | code of its image, in the order of the row"
    )
    factors: Any = ArrayField("f64", "24 n", "G_ij for a neighbour with a smaller number, G_ji for others")
    diagonal: Any = ArrayField("f64", "n", "G_ii, eV^(-1/2)")


@dataclass(frozen=True)
class FactorFunctions:
    """Device functions of the preconditioner."""

    put: DeviceFunction  # an entry into its row
    factorise: DeviceFunction  # computes the factors
    apply: DeviceFunction  # to the vectors of the solver
    # (i, smaller, shift_bits, atoms, close, x) -> row i of G (smaller: 1) or of its transpose (0) times both
    # columns of x
    row: DeviceFunction


def factor_functions(n_kinds: int, layout: int, status: DeviceFunction, many: int = 1) -> FactorFunctions:
    """Device functions `put` of an entry, and `factorise` and `apply`, which have their own loops over atoms.

    Args:
        n_kinds: species.
        layout: of the rows of close atoms.
        status: device function, the status of the solve of an atom (`batched`).
        many: threads that share a row of the matrix.
    """
    shared = many > 1
    shared_row = shared_factor_row(n_kinds, layout, SIZE, MAX_CLOSE, LEAST) if shared else None

    @ti.func
    def put(i, place, entry, n, close: ti.template()):
        """Keep an entry, if there is room."""
        if place < MAX_CLOSE:
            close.entries[slot(i, place, n, MAX_CLOSE, layout)] = entry

    @ti.func
    def atom_at(i, s, n, shift_bits, close: ti.template()):
        return close.entries[slot(i, s, n, MAX_CLOSE, layout)] >> shift_bits

    @ti.func
    def usable(i, close: ti.template()):
        """Close atoms of atom i: none if there are too many."""
        count = close.count[i]
        return ti.select(count > MAX_CLOSE, 0, count)

    @ti.func
    def put_in_order(i, n, shift_bits, ident: ti.template(), close: ti.template()):
        """Close atoms of atom i in the order of the user's numbers and images, not of the near list."""
        for s in range(1, usable(i, close)):
            entry = close.entries[slot(i, s, n, MAX_CLOSE, layout)]
            insert(i, s, entry, n, MAX_CLOSE, shift_bits, ident, close.entries, layout)

    @ti.func
    def is_used(i, s, j, n, shift_bits, close: ti.template()):
        """Whether slot s of atom i (atom j) has a factor: the first image does, if atoms are not too many."""
        first = True
        if s > 0:
            first = atom_at(i, s - 1, n, shift_bits, close) != j
        return first and close.count[j] <= MAX_CLOSE

    @ti.func
    def factor_row(
        i, shift_bits, atoms: ti.template(), shifts: ti.template(), close: ti.template(),
        screening: ti.template(), elements: ti.template()
    ):  # fmt: skip
        """Row i of G, into the slots of atoms with smaller numbers; 0 for the others."""
        n, here, ident = atoms.n, atoms.pos[i], atoms.ident[i]
        slots, kinds = ti.Vector.zero(ti.i32, SIZE), ti.Vector.zero(ti.i32, SIZE)
        x, y, z = ti.Vector.zero(ti.f64, SIZE), ti.Vector.zero(ti.f64, SIZE), ti.Vector.zero(ti.f64, SIZE)
        size = 0
        for s in range(usable(i, close)):
            at = slot(i, s, n, MAX_CLOSE, layout)
            close.factors[at] = 0.0
            entry = close.entries[at]
            j = entry >> shift_bits
            if atoms.ident[j] < ident and size < SIZE - 1:
                if is_used(i, s, j, n, shift_bits, close):
                    d = ti.cast(straight_vector_to(entry, shift_bits, here, atoms.pos, shifts), ti.f64)
                    slots[size], kinds[size] = s, atoms.kind[j]
                    x[size], y[size], z[size] = d[0], d[1], d[2]
                    size += 1
        slots[size], kinds[size] = -1, atoms.kind[i]
        x[size], y[size], z[size] = 0.0, 0.0, 0.0
        size += 1
        # Cholesky, row by row: element (a, c) stands at a (a + 1)/2 + c.
        factor = ti.Vector.zero(ti.f64, ti.static(SIZE * (SIZE + 1) // 2))
        good = True
        for a in range(size):
            row = a * (a + 1) // 2
            for c in range(a + 1):
                value = elements[2 * kinds[a] + 1]
                if c < a:
                    dx, dy, dz = x[a] - x[c], y[a] - y[c], z[a] - z[c]
                    value = coulomb_value(dx * dx + dy * dy + dz * dz, kinds[a], kinds[c], n_kinds, screening)
                column = c * (c + 1) // 2
                for k in range(c):
                    value -= factor[row + k] * factor[column + k]
                if c < a:
                    factor[row + c] = value / factor[column + c]
                else:
                    # Not `<`: what is not a number is not good.
                    if not value > LEAST * elements[2 * kinds[a] + 1]:
                        good, value = False, 1.0
                    factor[row + a] = ti.sqrt(value)
        close.diagonal[i] = 1.0 / ti.sqrt(elements[2 * atoms.kind[i] + 1])
        if good:
            found = ti.Vector.zero(ti.f64, SIZE)
            for step in range(size):
                a = size - 1 - step
                value = ti.select(step == 0, 1.0, 0.0)
                for b in range(a + 1, size):
                    value -= factor[b * (b + 1) // 2 + a] * found[b]
                value /= factor[a * (a + 1) // 2 + a]
                found[a] = value
                if step == 0:
                    close.diagonal[i] = value
                else:
                    close.factors[slot(i, slots[a], n, MAX_CLOSE, layout)] = value

    @ti.func
    def mirror_row(i, lane, shift_bits, atoms: ti.template(), close: ti.template()):
        """G_ji, from row j, into the slots of atoms with larger numbers, of each `many`-th slot."""
        n, ident = atoms.n, atoms.ident[i]
        for step in range((usable(i, close) - lane + many - 1) // many):
            s = lane + many * step
            j = atom_at(i, s, n, shift_bits, close)
            if atoms.ident[j] > ident:
                value = 0.0
                if is_used(i, s, j, n, shift_bits, close):
                    looking = True
                    for u in range(usable(j, close)):
                        if looking and atom_at(j, u, n, shift_bits, close) == i:
                            value = close.factors[slot(j, u, n, MAX_CLOSE, layout)]
                            looking = False
                close.factors[slot(i, s, n, MAX_CLOSE, layout)] = value

    @computed_in(ti.f64)
    def factorise(shifts: ti.template(), g: ti.template()):
        if ti.static(shared):
            for thread in range(whole_warps(g.atoms.n * SHARE)):
                i = ti.min(thread // SHARE, g.atoms.n - 1)
                does = thread < g.atoms.n * SHARE and status(i, g) == 0
                if some(does):
                    shared_row(i, thread, does, shifts, g)
        else:
            for i in range(g.atoms.n):
                if status(i, g) == 0:
                    put_in_order(i, g.atoms.n, g.matrix.shift_bits, g.atoms.ident, g.close)
                    factor_row(i, g.matrix.shift_bits, g.atoms, shifts, g.close, g.screening, g.elements)
        for part in range(g.atoms.n * many):
            if status(part // many, g) == 0:
                mirror_row(part // many, part % many, g.matrix.shift_bits, g.atoms, g.close)

    @ti.func
    def product(i, smaller, shift_bits, atoms: ti.template(), close: ti.template(), x: ti.template()):
        """Row i of G (smaller: 1) or of its transpose (0) times both columns of x."""
        total = close.diagonal[i] * x[i]
        n, count = atoms.n, usable(i, close)
        if ti.static(shared):
            # Entries are read together: a GPU waits once for all of them.
            for group in range((count + AHEAD - 1) // AHEAD):
                places = [
                    slot(i, ti.min(AHEAD * group + k, count - 1), n, MAX_CLOSE, layout)
                    for k in ti.static(range(AHEAD))
                ]
                read = [close.entries[place] >> shift_bits for place in ti.static(places)]
                parts = [close.factors[places[k]] * x[read[k]] for k in ti.static(range(AHEAD))]
                for k in ti.static(range(AHEAD)):
                    if AHEAD * group + k < count:
                        if (atoms.ident[read[k]] < atoms.ident[i]) == (smaller == 1):
                            total += parts[k]
        else:
            for s in range(count):
                j = atom_at(i, s, n, shift_bits, close)
                if (atoms.ident[j] < atoms.ident[i]) == (smaller == 1):
                    total += close.factors[slot(i, s, n, MAX_CLOSE, layout)] * x[j]
        return total

    @computed_in(ti.f64)
    def apply(g: ti.template()):
        """Find z = G^T G r. Loops of one length: before another length a GPU runs a kernel that finds it."""
        for i in range(g.threads):
            if i < g.atoms.n and status(i, g) == 0:
                g.v.u[i] = product(i, 1, g.matrix.shift_bits, g.atoms, g.close, g.v.r)
        for i in range(g.threads):
            if i < g.atoms.n and status(i, g) == 0:
                g.v.z[i] = product(i, 0, g.matrix.shift_bits, g.atoms, g.close, g.v.u)

    return FactorFunctions(put, factorise, apply, product)
