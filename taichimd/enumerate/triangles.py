"""Sums over triangles of atoms, for an energy that is symmetric in its three atoms: each atom visits all triangles that it is in.

So one thread writes one atom, at the price of three visits of each triangle. Of a triangle an atom takes a third of the energy,
its force, and W_i = (r_i - c) (x) f_i, c the centre of the triangle: the virial that goes with these energies in a heat current.
Where no pair is too far apart, sums over the third atom run in the order of the user's numbers; all other sums do not depend on
their order (`enumerate.reproducible_sum`). On a GPU eight threads side by side share an atom.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, View, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import distance_vector
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.row_sums import LANES, across, threads_of_row, whole_chunks
from taichimd.enumerate.triple_forces import NUMBERS, store
from taichimd.enumerate.triple_tiles import Placed
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import NearRows, VerletRows, row_layout, slot, whole_warps
from taichimd.system.state import Atoms


class Limits(Bundle):
    """Which triangles count."""

    side2: Any = Number("f64", "square that each side is below, angstrom^2")
    product2: Any = Number("f64", "square that the product of the sides is below, angstrom^6")


class Given(View):
    """What loops over triangles read."""


@cache
def triangle_kernels(
    function: Any, real: Any, backend: str, n_kinds: int, everything: bool
) -> tuple[Any, Any]:
    """Kernels of all triangles of n atoms, and of those whose sides are entries of a near list.

    Args:
        function: device function `(d_ij, d_ik, a, b, c, nu) -> (u, f_i)` of the squares a = r_ij^2, b = r_ik^2, c = r_jk^2. It
            has the same bits with j and k exchanged: a list has them in any order.
        real: ti.f64 or ti.f32, of the atoms.
        backend: "cuda" or "cpu".
        n_kinds: species.
        everything: leave energies and virials, too.
    """
    terms = NUMBERS if everything else 3
    layout = row_layout(backend)
    many = threads_of_row(layout)
    types = types_of(real)
    outputs = Outputs if everything else Outputs.only("force")
    when = Number("i32", "see `neighbours.control`")
    strengths = Array("f64", "kinds^3", "strength by kinds")

    @ti.func
    def numbers_of(x, y, a, b, c, nu):
        """Force, energy and three times the virial of one triangle at an atom, from the others' distance vectors."""
        u, f = function(x, y, a, b, c, nu)
        found = ti.Vector.zero(ti.f64, terms)
        for m in ti.static(range(3)):
            found[m] = f[m]
        if ti.static(everything):
            found[3] = u
            for m in ti.static(range(9)):
                found[4 + m] = -(x[m // 3] + y[m // 3]) * f[m % 3]
        return found

    @ti.func
    def strength(a, b, c, nu: ti.template()):
        return nu[(a * n_kinds + b) * n_kinds + c]

    @ti.func
    def all_of_lane(sums: ti.template(), i, lane, g: ti.template()):
        """Triangles of atom i with every eighth atom j and all k > j."""
        own, n = g.atoms.ident[i], g.atoms.n
        x, a = g.placed.pos[own], g.placed.kind[own]
        for chunk in range(whole_chunks(n)):
            j = chunk * LANES + lane
            if j < n and j != own:
                d, b = g.placed.pos[j] - x, g.placed.kind[j]
                d2 = d.dot(d)
                row = ti.Vector.zero(ti.f64, terms)
                for k in range(j + 1, n):
                    if k != own:
                        e = g.placed.pos[k] - x
                        opposite = e - d
                        nu = strength(a, b, g.placed.kind[k], g.nu)
                        row += numbers_of(d, e, d2, e.dot(e), opposite.dot(opposite), nu)
                for m in ti.static(range(terms)):
                    with_term(sums, terms, m, row[m])

    @ti.func
    def vector_of(i, s, g: ti.template()):
        """Distance vector of an entry, and the kind of its atom."""
        entry = g.near.entries[slot(i, s, g.atoms.n, g.near.width, layout)]
        d = distance_vector(entry, g.verlet.shift_bits, g.atoms.pos[i], g.atoms.pos, g.verlet.shifts)
        return ti.cast(d, ti.f64), g.atoms.kind[entry >> g.verlet.shift_bits]

    @ti.func
    def near_of_lane(sums: ti.template(), i, lane, g: ti.template()):
        """Triangles of atom i with every eighth entry and all entries before it, if all sides are short enough."""
        count, kind = g.near.count[i], g.atoms.kind[i]
        for chunk in range(whole_chunks(count)):
            s = chunk * LANES + lane
            if s < count:
                d, b = vector_of(i, s, g)
                d2 = d.dot(d)
                if d2 < g.limits.side2:
                    for t in range(s):
                        e, c = vector_of(i, t, g)
                        e2 = e.dot(e)
                        opposite = e - d
                        o2 = opposite.dot(opposite)
                        if e2 < g.limits.side2 and o2 < g.limits.side2 and (d2 * e2) * o2 < g.limits.product2:
                            found = numbers_of(d, e, d2, e2, o2, strength(kind, b, c, g.nu))
                            for m in ti.static(range(terms)):
                                with_term(sums, terms, m, found[m])

    @computed_in(ti.f64)
    def of_atoms(threads, of_lane: ti.template(), g: ti.template(), out: ti.template()):
        for thread in range(threads):
            i = ti.min(thread // many, g.atoms.n - 1)
            # Threads beyond the last atom stay for the sums across a warp.
            does = thread < g.atoms.n * many and goes(g.when, g.control) == 1
            sums = empty_sums(terms)
            if does:
                if ti.static(many > 1):
                    of_lane(sums, i, thread % many, g)
                else:
                    for lane in range(LANES):
                        of_lane(sums, i, lane, g)
            total = across(sums, terms, many)
            if does and thread % many == 0:
                for m in ti.static(range(3, terms)):
                    total[m] *= 1.0 / 3.0
                store(i, total, out, real, everything)

    @ti.func
    def threads_of(n):
        threads = n * many
        if ti.static(many > 1):
            threads = whole_warps(threads)
        return threads

    @kernel(types, atoms=Atoms.only("n", "pos", "kind", "ident"), placed=Placed, nu=strengths, control=CONTROL, out=outputs, when=when)  # fmt: skip
    def all_triangles(atoms, placed, nu, control, out, when):
        threads = threads_of(atoms.n)
        for i in range(atoms.n):
            placed.pos[atoms.ident[i]] = ti.cast(atoms.pos[i], ti.f64)
            placed.kind[atoms.ident[i]] = atoms.kind[i]
        of_atoms(
            threads, all_of_lane, Given(atoms=atoms, placed=placed, nu=nu, control=control, when=when), out
        )

    @kernel(types, atoms=Atoms.only("n", "pos", "kind"), verlet=VerletRows.only("shift_bits", "shifts"), near=NearRows.only("width", "count", "entries"), limits=Limits, nu=strengths, control=CONTROL, out=outputs, when=when)  # fmt: skip
    def near_triangles(atoms, verlet, near, limits, nu, control, out, when):
        g = Given(atoms=atoms, verlet=verlet, near=near, limits=limits, nu=nu, control=control, when=when)
        of_atoms(threads_of(atoms.n), near_of_lane, g, out)

    return all_triangles, near_triangles
