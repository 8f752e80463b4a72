"""What every enumeration over lists needs: the parameters of a tuple, the vector of an entry."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.enumerate.parameters import reader
from taichimd.enumerate.terms import Terms
from taichimd.neighbours.entries import neighbour, vector_to
from taichimd.neighbours.pages import read


@ti.func
def slope_vector(g_r, g_cos, cosine, d, inverse, d_other, inverse_other):
    """Derivative to the vector d of something with slopes g_r to its length and g_cos to the cosine."""
    return ((g_r - g_cos * cosine * inverse) * inverse) * d + (g_cos * (inverse * inverse_other)) * d_other


@ti.func
def store_matrix(target: ti.template(), i, w):
    """Put the 3x3 matrix of atom i into a flat array."""
    for a in ti.static(range(3)):
        for b in ti.static(range(3)):
            target[9 * i + 3 * a + b] = w[a, b]


@ti.func
def load_matrix(source: ti.template(), i):
    """The 3x3 matrix of atom i from a flat array."""
    return ti.Matrix([[source[9 * i + 3 * a + b] for b in ti.static(range(3))] for a in ti.static(range(3))])


@dataclass(frozen=True)
class Access:
    """Device functions that look things up for one set of terms."""

    read_pair: DeviceFunction | None  # a row of the pair table; None without a pair term
    read_body: DeviceFunction | None  # a row of the three-body table; None without a three-body term
    kind_of: DeviceFunction  # species of an atom
    pair_parameters: DeviceFunction  # of the species of a pair
    body_parameters: DeviceFunction  # of the species of a tuple
    visit: DeviceFunction  # distance vector, its square and species of the neighbour of an entry
    neighbour_of: DeviceFunction  # the neighbour itself
    reach2: DeviceFunction  # square of the longest distance at which two species take part in any triple


@cache
def access(terms: Terms, real: Any, layout: int) -> Access:
    """The functions for one set of terms, in `real`; a single species' parameters are read once, `shared`."""
    one, n_kinds = terms.one_species, terms.n_kinds
    body = terms.body
    of_pairs = terms.pair or terms.passes
    read_pair = reader(of_pairs.columns, real) if of_pairs else None
    read_body = reader(body.columns, real) if body else None

    @ti.func
    def kind_of(kind: ti.template(), j):
        k = 0
        if ti.static(not one):
            k = kind[j]
        return k

    @ti.func
    def pair_parameters(table: ti.template(), shared, a, b):
        p = shared
        if ti.static(not one):
            p = read_pair(table, a * n_kinds + b)
        return p

    @ti.func
    def body_parameters(table: ti.template(), shared, a, b, c):
        p = shared
        if ti.static(not one):
            p = read_body(table, (a * n_kinds + b) * n_kinds + c)
        return p

    @ti.func
    def visit(i, s, x, n, width, shift_bits, rows: ti.template()):
        """Entry s of atom i at x: distance vector, its square, kind of the neighbour."""
        entry = read(rows.entries, i, s, n, width, layout)
        # Positions may be float64 where terms are float32: the difference is taken before it is rounded.
        d = ti.cast(vector_to(entry, shift_bits, x, rows.pos, rows.shifts), real)
        return d, d.dot(d), kind_of(rows.kind, neighbour(entry, shift_bits))

    @ti.func
    def neighbour_of(i, s, n, width, shift_bits, rows: ti.template()):
        """The atom of entry s of atom i."""
        return neighbour(read(rows.entries, i, s, n, width, layout), shift_bits)

    @ti.func
    def reach2(table: ti.template(), shared, a, b):
        """Square of the longest distance at which kinds a and b take part in any triple."""
        reach = body_parameters(table, shared, a, b, b).reach
        return reach * reach

    return Access(
        read_pair=read_pair,
        read_body=read_body,
        kind_of=kind_of,
        pair_parameters=pair_parameters,
        body_parameters=body_parameters,
        visit=visit,
        neighbour_of=neighbour_of,
        reach2=reach2,
    )
