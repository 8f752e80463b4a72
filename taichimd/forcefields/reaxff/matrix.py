"""The matrix of the charge equilibration: a list of the pairs within the cutoff, and the product with it.

    H_ij = coupling sum over images of K(r_ij)  (i /= j),
    H_ii = eta_i + the same sum over images of i itself.

The list is cut from the near list for each evaluation, in the same order: the entries beyond the cutoff,
which depend on skins, are gone. So the place of an entry depends on the atoms alone. Nonbonded forces read
the list, too. Rows are filled up to whole chunks with entries of the value 0.

The product with the guess is found while the list is cut: no product reads the matrix for it. If values are
stored in float32, it has the values before they are rounded: rounding acts on the correction alone, by which
the solution differs from the guess.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.row_sums import LANES, across, threads_of_row, whole_chunks
from taichimd.forcefields.reaxff.taper import coulomb_value
from taichimd.neighbours.entries import straight_vector_to
from taichimd.neighbours.rows import claim, slot, some


def types_with_pairs(types: dict[str, Any], stored: Any) -> dict[str, Any]:
    """The types of kernels, with those of the two solutions side by side ("both") and of a stored matrix."""
    return types | {
        "both": ti.types.vector(2, ti.f64),
        "six": ti.types.vector(6, ti.f64),
        "stored": stored,
    }


AHEAD = 4
"""Entries that a thread reads before it uses the first one: a GPU fetches them together."""


class Matrix(Bundle):
    """The list and the values of its entries."""

    width: Any = Number("i32", "slots of a row, a multiple of 8")
    shift_bits: Any = Number("i32", "low bits of an entry that hold the code of its image")
    count: Any = ArrayField("i32", "n", "entries of each atom")
    entries: Any = ArrayField("i32", "n width", "neighbour << shift_bits | code of its image")
    values: Any = ArrayField("stored", "n width", "H of the entry, eV")


class Screening(Bundle):
    """Numbers of the shielded Coulomb interaction."""

    cutoff: Any = Number("f64", "upper radius of the taper, angstrom")
    lower: Any = Number("f64", "lower radius of the taper, angstrom")
    inverse_width: Any = Number("f64", "1/(upper - lower), 1/angstrom")
    coupling: Any = Number("f64", "of the matrix: 14.4 eV angstrom")
    inverse_gamma3: Any = ArrayField("f64", "kinds^2", "gamma^-3 of each pair of kinds, angstrom^3")


@dataclass(frozen=True)
class MatrixFunctions:
    """Device functions of the matrix.

    Attributes:
        fill_function: the function that makes it, for what becomes of products with the guess (or None).
        product: with a vector, one row. threads: that share a row.
    """

    fill_function: Callable[[DeviceFunction | None], DeviceFunction]
    product: DeviceFunction
    threads: int


def matrix_functions(
    stored: Any, n_kinds: int, layout: int, near_layout: int, put_close: Any, status: DeviceFunction
) -> MatrixFunctions:
    """Device functions of the matrix, see `MatrixFunctions`.

    Args:
        stored: ti.f64 or ti.f32, of the values.
        n_kinds: species.
        layout: of the rows of the list.
        near_layout: of the near list that it is cut from.
        put_close: device function that keeps a close atom (`precondition`).
        status: device function, the status of the solve of an atom (`batched`).
    """
    many = threads_of_row(layout)
    shared = many > 1

    @ti.func
    def square(entry, here, atoms: ti.template(), shifts: ti.template(), shift_bits):
        """Square of the distance of an entry."""
        d = ti.cast(straight_vector_to(entry, shift_bits, here, atoms.pos, shifts), ti.f64)
        return d.dot(d)

    @ti.func
    def add_product(sums: ti.template(), part):
        """Add both columns of an entry's product."""
        with_term(sums, 2, 0, part[0])
        with_term(sums, 2, 1, part[1])

    @ti.func
    def put(i, place, entry, value, n, matrix: ti.template()):
        at = slot(i, place, n, matrix.width, layout)
        matrix.entries[at] = entry
        matrix.values[at] = ti.cast(value, stored)

    @ti.func
    def value_of(r2, a, entry, atoms: ti.template(), matrix: ti.template(), screening: ti.template()):
        return coulomb_value(r2, a, atoms.kind[entry >> matrix.shift_bits], n_kinds, screening)

    @ti.func
    def cut_alone(
        multiplies: ti.template(), sums: ti.template(), x: ti.template(), i, m, atoms: ti.template(),
        near: ti.template(), shifts: ti.template(), matrix: ti.template(), close: ti.template(),
        screening: ti.template()
    ):  # fmt: skip
        """Keep the entries of atom i, of the first m, within the cutoff; count of them and of close atoms.

        `multiplies`: add the entries' products with x to the sums.
        """
        n, here, a, cutoff2 = atoms.n, atoms.pos[i], atoms.kind[i], screening.cutoff * screening.cutoff
        kept, near_by, reach2 = 0, 0, close.reach * close.reach
        for s in range(m):
            entry = near.entries[slot(i, s, n, near.width, near_layout)]
            r2 = square(entry, here, atoms, shifts, matrix.shift_bits)
            # Written over by the next one if it is not to be kept: a branch would often be predicted wrongly.
            value = value_of(r2, a, entry, atoms, matrix, screening)
            put(i, kept, entry, value, n, matrix)
            if ti.static(multiplies):
                if r2 < cutoff2:
                    add_product(sums, value * x[entry >> matrix.shift_bits])
            kept += ti.cast(r2 < cutoff2, ti.i32)
            if r2 < reach2 and entry >> matrix.shift_bits != i:
                put_close(i, near_by, entry, n, close)
                near_by += 1
        return ti.Vector([kept, near_by])

    @ti.func
    def cut_shared(
        multiplies: ti.template(), sums: ti.template(), x: ti.template(), i, thread, m, atoms: ti.template(),
        near: ti.template(), shifts: ti.template(), matrix: ti.template(), close: ti.template(),
        screening: ti.template()
    ):  # fmt: skip
        """The same with the threads that share the row. All threads of a warp call it."""
        n, here, a, cutoff2 = atoms.n, atoms.pos[i], atoms.kind[i], screening.cutoff * screening.cutoff
        kept, near_by, reach2, first = 0, 0, close.reach * close.reach, thread % many
        while some(first < m):
            # What is not there reads as the last one.
            read = [
                near.entries[slot(i, ti.max(ti.min(first + many * k, m - 1), 0), n, near.width, near_layout)]
                for k in ti.static(range(AHEAD))
            ]
            squares = [square(entry, here, atoms, shifts, matrix.shift_bits) for entry in ti.static(read)]
            others = [x[entry >> matrix.shift_bits] for entry in ti.static(read)]
            for k in ti.static(range(AHEAD)):
                keeps = first + many * k < m and squares[k] < cutoff2
                before, all_of_them = claim(keeps, thread)
                if keeps:
                    value = value_of(squares[k], a, read[k], atoms, matrix, screening)
                    put(i, kept + before, read[k], value, n, matrix)
                    if ti.static(multiplies):
                        add_product(sums, value * others[k])
                kept += all_of_them
                is_close = keeps and squares[k] < reach2 and read[k] >> matrix.shift_bits != i
                before, all_of_them = claim(is_close, thread)
                if is_close:
                    put_close(i, near_by + before, read[k], n, close)
                near_by += all_of_them
            first += many * AHEAD
        return ti.Vector([kept, near_by])

    def fill_function(keep: DeviceFunction | None) -> DeviceFunction:
        """Device function (near, shifts, g): cut the list and work out its values, of solves that go on.

        `keep`: (i, found, g), what becomes of row i of H without eta times the guess z.
        """
        multiplies = keep is not None

        @computed_in(ti.f64)
        def fill(near: ti.template(), shifts: ti.template(), g: ti.template()):
            for thread in range(g.threads):
                i = ti.min(thread // many, g.atoms.n - 1)
                does = thread < g.atoms.n * many and status(i, g) == 0
                m, found, sums = 0, ti.Vector.zero(ti.i32, 2), empty_sums(2)
                if does:
                    m = ti.min(near.count[i], near.width)
                if ti.static(shared):
                    found = cut_shared(
                        multiplies, sums, g.v.z, i, thread, m, g.atoms, near, shifts, g.matrix, g.close,
                        g.screening
                    )  # fmt: skip
                else:
                    found = cut_alone(
                        multiplies, sums, g.v.z, i, m, g.atoms, near, shifts, g.matrix, g.close, g.screening
                    )
                if ti.static(multiplies):
                    total = across(sums, 2, many)
                    if does and thread % many == 0:
                        keep(i, total, g)
                if does and thread % many == 0:
                    g.matrix.count[i] = found[0]
                    g.close.count[i] = found[1]
                    for s in range(found[0], whole_chunks(found[0]) * LANES):
                        put(i, s, i << g.matrix.shift_bits, 0.0, g.atoms.n, g.matrix)

        return fill

    @ti.func
    def entry_product(i, s, n, matrix: ti.template(), x: ti.template()):
        at = slot(i, s, n, matrix.width, layout)
        return ti.cast(matrix.values[at], ti.f64) * x[matrix.entries[at] >> matrix.shift_bits]

    @ti.func
    def add_products(
        sums: ti.template(), i, first, step: ti.template(), n, matrix: ti.template(), x: ti.template()
    ):
        """Add `AHEAD` entries of the row of atom i, from `first` on."""
        parts = [entry_product(i, first + k * step, n, matrix, x) for k in ti.static(range(AHEAD))]
        for k in ti.static(range(AHEAD)):
            add_product(sums, parts[k])

    @ti.func
    def product(i, thread, does, n, matrix: ti.template(), x: ti.template()):
        """Row i of H without eta, times both columns of x. All threads of a warp call it."""
        chunks, lane = 0, thread % many
        if does:
            chunks = whole_chunks(matrix.count[i])
        sums = empty_sums(2)
        if ti.static(shared):
            c = 0
            while c + AHEAD <= chunks:
                add_products(sums, i, c * LANES + lane, LANES, n, matrix, x)
                c += AHEAD
            while c < chunks:
                add_product(sums, entry_product(i, c * LANES + lane, n, matrix, x))
                c += 1
        else:
            for c in range(chunks * (LANES // AHEAD)):
                add_products(sums, i, c * AHEAD, 1, n, matrix, x)
        return across(sums, 2, many)

    return MatrixFunctions(fill_function, product, many)
