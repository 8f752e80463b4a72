"""Entries of lists of 32 bits: the place of the neighbour, then, in the low bits, the code of its image."""

from taichimd.core.runtime import ti
from taichimd.neighbours.rows import slot


@ti.func
def neighbour(entry, shift_bits):
    """Sorted index of the neighbour in an entry."""
    return ti.bit_shr(entry, shift_bits)


@ti.func
def through_image(d, entry, shift_bits, shifts: ti.template()):  # type: ignore[valid-type]
    """The vector d = r_j - r_i of an entry, through the image that it names."""
    code = entry & ((1 << shift_bits) - 1)
    if code != 0:
        d += shifts[code]
    return d


@ti.func
def vector_to(entry, shift_bits, x, pos: ti.template(), shifts: ti.template()):  # type: ignore[valid-type]
    """r_ij = r_j - r_i for an entry of an atom at x, through the image that it names."""
    return through_image(pos[neighbour(entry, shift_bits)] - x, entry, shift_bits, shifts)


@ti.func
def straight_vector_to(entry, shift_bits, x, pos: ti.template(), shifts: ti.template()):  # type: ignore[valid-type]
    """The same without a branch: the image 0 has the vector zero."""
    return (pos[neighbour(entry, shift_bits)] - x) + shifts[entry & ((1 << shift_bits) - 1)]


@ti.func
def key_of(entry, shift_bits, ident: ti.template()):  # type: ignore[valid-type]
    """Number by which entries stand in the order of the user's atoms, then of images."""
    return (ident[neighbour(entry, shift_bits)] << shift_bits) | (entry & ((1 << shift_bits) - 1))


@ti.func
def insert(
    i, kept, entry, n, width, shift_bits,
    ident: ti.template(), rows: ti.template(), layout: ti.template(),  # type: ignore[valid-type]
):  # fmt: skip
    """Put an entry into its place among the `kept` ones of atom i, which are in order."""
    at, key = kept, key_of(entry, shift_bits, ident)
    while at > 0 and key_of(rows[slot(i, at - 1, n, width, layout)], shift_bits, ident) > key:
        rows[slot(i, at, n, width, layout)] = rows[slot(i, at - 1, n, width, layout)]
        at -= 1
    rows[slot(i, at, n, width, layout)] = entry
