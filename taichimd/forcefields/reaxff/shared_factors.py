"""Rows of the factorised approximate inverse (`precondition`) where threads of a GPU share an atom.

Sixteen threads side by side have an atom. They sort its close atoms, then a thread has a row of the matrix of
close atoms. Each number is computed by the same operations in the same order as by one thread for the whole
matrix: the factors are bitwise identical. Threads exchange what they know by shuffles, so nothing is read
that a different thread has just written.
"""

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.core.warps import shuffle
from taichimd.forcefields.reaxff.taper import coulomb_value
from taichimd.neighbours.entries import key_of, straight_vector_to
from taichimd.neighbours.masks import how_many_below, lowest, without_lowest
from taichimd.neighbours.rows import slot, those

SHARE = 16
"""Threads that share an atom: at least the rows of the largest matrix, at least half of the close atoms."""
LAST = 2**31 - 1
"""Key of a thread without an entry: no key is greater."""


@ti.func
def in_order(own, keys, lane, first):
    """Entries `lane` and `lane + SHARE` of a row in the order of the keys. All 32 threads must call it.

    Args:
        own: the same two entries in the order of the row.
        keys: of these entries; `LAST`: there is none.
        lane: of the thread among those of the atom.
        first: first thread of the atom in its warp.
    """
    ranks = ti.Vector.zero(ti.i32, 2)
    for c in range(SHARE):
        for h in ti.static(range(2)):
            key = shuffle(keys[h], first + c)
            for k in ti.static(range(2)):
                ranks[k] += ti.cast(key < keys[k], ti.i32)
    found = ti.Vector.zero(ti.i32, 2)
    for c in range(SHARE):
        for h in ti.static(range(2)):
            rank, entry = shuffle(ranks[h], first + c), shuffle(own[h], first + c)
            there = shuffle(keys[h], first + c) != LAST
            for k in ti.static(range(2)):
                if there and rank == lane + SHARE * k:
                    found[k] = entry
    return found


@ti.func
def before(value, lane, first):
    """What the row has before entries `lane` and `lane + SHARE`; first -1. All 32 must call."""
    above = ti.max(lane - 1, 0)
    one, other = shuffle(value[0], first + above), shuffle(value[1], first + above)
    last = shuffle(value[0], first + SHARE - 1)
    return ti.Vector([ti.select(lane == 0, -1, one), ti.select(lane == 0, last, other)])


@ti.func
def of_atom(condition, first):
    """Mask of the threads of an atom for which a condition holds. All 32 must call."""
    return (those(condition) >> first) & ((1 << SHARE) - 1)


def shared_factor_row(n_kinds: int, layout: int, size_limit: int, width: int, least: float) -> DeviceFunction:
    """Device function (i, thread, does, shifts, g): sorts the row of close atoms, and computes the row of G.

    All 32 threads of a warp must call it. Factors of atoms with larger numbers are 0.

    Args:
        n_kinds: species.
        layout: of the rows of close atoms.
        size_limit: largest matrix that is factorised.
        width: close atoms that there is room for.
        least: smallest fraction of a diagonal element after factorisation.
    """
    assert size_limit <= SHARE
    assert width <= 2 * SHARE

    @ti.func
    def cholesky(x, y, z, kind, eta, size, lane, first, most, screening: ti.template()):
        """Row `lane` of the factor, and whether its diagonal element is too small."""
        row, bad = ti.Vector.zero(ti.f64, size_limit), False
        for c in ti.static(range(size_limit)):
            if c < most:
                dx, dy, dz = x - shuffle(x, first + c), y - shuffle(y, first + c), z - shuffle(z, first + c)
                r2, other = dx * dx + dy * dy + dz * dz, shuffle(kind, first + c)
                value = coulomb_value(r2, kind, other, n_kinds, screening)
                if lane == c:
                    value = eta
                for k in ti.static(range(c)):
                    value -= row[k] * shuffle(row[k], first + c)
                if lane == c and c < size:
                    # Not `<`: what is not a number is not good.
                    if not value > least * eta:
                        bad, value = True, 1.0
                    row[c] = ti.sqrt(value)
                pivot = shuffle(row[c], first + c)
                if lane > c and lane < size:
                    row[c] = value / pivot
        return row, bad

    @ti.func
    def backwards(row, size, lane, first, most):
        """Element `lane` of the solution g of L^T g = (0, ..., 0, 1); 0 beyond it."""
        found = 0.0
        for step in ti.static(range(size_limit)):
            a = ti.static(size_limit - 1 - step)
            if a < most:
                part, value = row[a] * found, ti.select(a == size - 1, 1.0, 0.0)
                for b in ti.static(range(a + 1, size_limit)):
                    if b < most:
                        # Beyond the matrix it is 0.
                        value -= shuffle(part, first + b)
                if lane == a and a < size:
                    found = value / row[a]
        return found

    @ti.func
    def factor_row(i, thread, does, shifts: ti.template(), g: ti.template()):
        n, shift_bits, ident = g.atoms.n, g.matrix.shift_bits, g.atoms.ident[i]
        lane, first, count = thread % SHARE, thread % (2 * SHARE) // SHARE * SHARE, 0
        if does:
            count = ti.select(g.close.count[i] > width, 0, g.close.count[i])
        own, keys = ti.Vector.zero(ti.i32, 2), ti.Vector([LAST, LAST])
        for h in ti.static(range(2)):
            s = lane + SHARE * h
            if s < count:
                own[h] = g.close.entries[slot(i, s, n, width, layout)]
                keys[h] = key_of(own[h], shift_bits, g.atoms.ident)
        entries = in_order(own, keys, lane, first)
        neighbours = ti.Vector([entries[h] >> shift_bits for h in ti.static(range(2))])
        previous = before(neighbours, lane, first)
        mask = 0
        for h in ti.static(range(2)):
            s, j, uses = lane + SHARE * h, neighbours[h], False
            if s < count:
                g.close.entries[slot(i, s, n, width, layout)] = entries[h]
                # The first image of an atom that itself has not too many.
                uses = g.atoms.ident[j] < ident and j != previous[h] and g.close.count[j] <= width
            mask |= of_atom(uses, first) << (SHARE * h)
        for h in ti.static(range(2)):
            s = lane + SHARE * h
            if s < count:
                if (mask >> s) & 1 == 0 or how_many_below(mask, s) >= size_limit - 1:
                    g.close.factors[slot(i, s, n, width, layout)] = 0.0
        # A row of the matrix for each close atom that is used, and a last one for the atom itself.
        number = ti.min(ti.math.popcnt(mask), size_limit - 1)
        rest, at = mask, 0
        if lane < number:
            for _ in range(lane):
                rest = without_lowest(rest)
            at = lowest(rest)
        one, other = shuffle(entries[0], first + at % SHARE), shuffle(entries[1], first + at % SHARE)
        kind, x, y, z = g.atoms.kind[i], 0.0, 0.0, 0.0
        if lane < number:
            entry = ti.select(at < SHARE, one, other)
            d = straight_vector_to(entry, shift_bits, g.atoms.pos[i], g.atoms.pos, shifts)
            kind = g.atoms.kind[entry >> shift_bits]
            x, y, z = ti.cast(d[0], ti.f64), ti.cast(d[1], ti.f64), ti.cast(d[2], ti.f64)
        size, eta = number + 1, g.elements[2 * kind + 1]
        most = ti.max(shuffle(size, 0), shuffle(size, SHARE))
        row, bad = cholesky(x, y, z, kind, eta, size, lane, first, most, g.screening)
        found = backwards(row, size, lane, first, most)
        good = of_atom(bad, first) == 0
        if does and lane < number:
            g.close.factors[slot(i, at, n, width, layout)] = ti.select(good, found, 0.0)
        if does and lane == number:
            g.close.diagonal[i] = ti.select(good, found, 1.0 / ti.sqrt(eta))

    return factor_row
