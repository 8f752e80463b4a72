"""Forces, energies and virials of atoms from sums of pairs over third atoms, the same bits in any order.

With slopes s_ij, energies u_ij and vectors m_ij of `triple_tiles.PairSums`, and d = r_j - r_i: F_i = 2 sum_j
s_ij d, E_i = sum_j u_ij/6, W_i = -2/3 sum_j (m_ij + s_ij d) (x) d. A triple adds a third of its energy to
each atom, and the virial (r_i - c) (x) f_i, c its centre.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Number, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import store_matrix
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.row_sums import LANES, across, threads_of_row, whole_chunks
from taichimd.enumerate.triple_items import Spans
from taichimd.enumerate.triple_tiles import Placed, columns_of
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import row_layout, whole_warps
from taichimd.system.state import Atoms

NUMBERS = 13
"""Results of an atom: force 3, energy 1, virial 9."""
SHARES = 1.0, 1.0, 1.0, 1.0 / 6.0, -2.0 / 3.0
"""Factors of the sums of these."""
WHEN = Number("i32", "see `neighbours.control`")
FOUND = ArrayField(
    "f64", "3 n or 13 n", "force, energy and virial of each atom, in the user's order, eV and angstrom"
)


@ti.func
def store(i, found, out: ti.template(), real: ti.template(), everything: ti.template()):
    """Force of an atom, and energy and virial."""
    out.force[i] = ti.cast(ti.Vector([found[0], found[1], found[2]]), real)
    if ti.static(everything):
        out.energy[i] = ti.cast(found[3], real)
        w = ti.Matrix([[found[4 + 3 * x + y] for y in ti.static(range(3))] for x in ti.static(range(3))])
        store_matrix(out.virial, i, ti.cast(w, real))


@ti.func
def with_pair(sums: ti.template(), d, slope, u, moment, everything: ti.template()):
    """Add the share of atom i in a pair (i, j): vector `d` from i to j; slope, energy, m as in the module."""
    terms = ti.static(NUMBERS if everything else 3)
    f = 2.0 * slope * d
    for m in ti.static(range(3)):
        with_term(sums, terms, m, f[m])
    if ti.static(everything):
        with_term(sums, terms, 3, u)
        arm = moment + slope * d
        for m in ti.static(range(9)):
            with_term(sums, terms, 4 + m, arm[m // 3] * d[m % 3])


@ti.func
def store_shares(i, total: ti.template(), out: ti.template(), real: ti.template(), everything: ti.template()):
    """Store the sums over the pairs of an atom, each times its factor."""
    for m in ti.static(range(NUMBERS if everything else 3)):
        total[m] *= SHARES[min(m, 4)]
    store(i, total, out, real, everything)


@cache
def place_kernel(real: Any) -> Any:
    """Kernel `(atoms, placed)` that puts positions in the user's order."""

    @kernel(types_of(real), atoms=Atoms.only("n", "pos", "kind", "ident"), placed=Placed)
    def place(atoms, placed):
        for i in range(atoms.n):
            placed.pos[atoms.ident[i]] = ti.cast(atoms.pos[i], ti.f64)
            placed.kind[atoms.ident[i]] = atoms.kind[i]

    return place


@cache
def gather_kernel(real: Any, backend: str, everything: bool) -> Any:
    """Kernel `(atoms, spans, placed, sums, control, out, when)`: forces from slopes, or all outputs."""
    outputs, terms = (Outputs, NUMBERS) if everything else (Outputs.only("force"), 3)
    types, many = types_of(real), threads_of_row(row_layout(backend))

    @ti.func
    def of_lane(
        sums: ti.template(), i, lane, system, spans: ti.template(), placed: ti.template(),
        pairs: ti.template()
    ):  # fmt: skip
        begin = spans.begins[system]
        n = spans.begins[system + 1] - begin
        row = spans.squares[system] + (i - begin) * n
        for chunk in range(whole_chunks(n)):
            j = chunk * LANES + lane
            if j < n:
                at, d = row + j, placed.pos[begin + j] - placed.pos[i]
                u, moment = ti.cast(0.0, ti.f64), ti.Vector.zero(ti.f64, 3)
                if ti.static(everything):
                    u, moment = pairs.energy[at], ti.Vector([pairs.x[at], pairs.y[at], pairs.z[at]])
                with_pair(sums, d, pairs.slope[at], u, moment, everything)

    @computed_in(ti.f64)
    def of_atoms(
        threads, atoms: ti.template(), spans: ti.template(), placed: ti.template(), pairs: ti.template(),
        control: ti.template(), out: ti.template(), when
    ):  # fmt: skip
        for thread in range(threads):
            i = ti.min(thread // many, atoms.n - 1)
            # Threads beyond the last atom stay for the sums across a warp.
            does = thread < atoms.n * many and goes(when, control) == 1
            sums = empty_sums(terms)
            if does:
                system = spans.system[i]
                if ti.static(many > 1):
                    of_lane(sums, atoms.ident[i], thread % many, system, spans, placed, pairs)
                else:
                    for lane in range(LANES):
                        of_lane(sums, atoms.ident[i], lane, system, spans, placed, pairs)
            total = across(sums, terms, many)
            if does and thread % many == 0:
                store_shares(i, total, out, real, everything)

    @kernel(
        types, atoms=Atoms.only("n", "ident"), spans=Spans, placed=Placed, pairs=columns_of(everything),
        control=CONTROL, out=outputs, when=WHEN
    )  # fmt: skip
    def gather(atoms, spans, placed, pairs, control, out, when):
        threads = atoms.n * many
        if ti.static(many > 1):
            threads = whole_warps(threads)
        of_atoms(threads, atoms, spans, placed, pairs, control, out, when)

    return gather


@cache
def take_kernel(real: Any, everything: bool) -> Any:
    """Kernel `(atoms, found, control, out, when)` that copies results of a kernel: all, or forces alone."""
    outputs, width = (Outputs, NUMBERS) if everything else (Outputs.only("force"), 3)

    @kernel(
        types_of(real), atoms=Atoms.only("n", "ident"), found=FOUND, control=CONTROL, out=outputs, when=WHEN
    )
    def take(atoms, found, control, out, when):
        for i in range(atoms.n):
            if goes(when, control) == 1:
                at = width * atoms.ident[i]
                store(i, ti.Vector([found[at + m] for m in ti.static(range(width))]), out, real, everything)

    return take
