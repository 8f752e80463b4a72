"""Sums over all triangles, for an energy that is symmetric in its atoms: each atom visits its triangles.

So one thread writes one atom, at the price of three visits of each triangle. Of a triangle an atom takes a
third of the energy, its force, and W_i = (r_i - c) (x) f_i, c the centre of the triangle: the virial that
goes with these energies in a heat current. Sums over the third atom run in the order of the user's numbers;
all other sums do not depend on their order (`enumerate.reproducible_sum`). On a GPU eight threads side by
side share an atom.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import View, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.row_sums import LANES, across, threads_of_row, whole_chunks
from taichimd.enumerate.triple_forces import NUMBERS, WHEN, store
from taichimd.enumerate.triple_items import Spans
from taichimd.enumerate.triple_tiles import STRENGTHS, Placed
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import row_layout, whole_warps
from taichimd.system.state import Atoms


class Given(View):
    """What loops over triangles read."""


@cache
def triangle_kernel(function: Any, real: Any, backend: str, n_kinds: int, everything: bool) -> Any:
    """Kernel `(atoms, spans, placed, nu, control, out, when)` of all triangles of the atoms of each system.

    The device function is `(d_ij, d_ik, a, b, c, nu) -> (u, f_i)` of the squares a = r_ij^2, b = r_ik^2, c =
    r_jk^2.
    """
    terms = NUMBERS if everything else 3
    many = threads_of_row(row_layout(backend))
    types = types_of(real)
    outputs = Outputs if everything else Outputs.only("force")

    @ti.func
    def numbers_of(x, y, a, b, c, nu):
        """Force, energy and three times the virial of a triangle at an atom, from vectors to the others."""
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
        own, system = g.atoms.ident[i], g.spans.system[i]
        x, a = g.placed.pos[own], g.placed.kind[own]
        begin, end = g.spans.begins[system], g.spans.begins[system + 1]
        for chunk in range(whole_chunks(end - begin)):
            j = begin + chunk * LANES + lane
            if j < end and j != own:
                d, b = g.placed.pos[j] - x, g.placed.kind[j]
                d2 = d.dot(d)
                row = ti.Vector.zero(ti.f64, terms)
                for k in range(j + 1, end):
                    if k != own:
                        e = g.placed.pos[k] - x
                        opposite = e - d
                        nu = strength(a, b, g.placed.kind[k], g.nu)
                        row += numbers_of(d, e, d2, e.dot(e), opposite.dot(opposite), nu)
                for m in ti.static(range(terms)):
                    with_term(sums, terms, m, row[m])

    @computed_in(ti.f64)
    def of_atoms(threads, g: ti.template(), out: ti.template()):
        for thread in range(threads):
            i = ti.min(thread // many, g.atoms.n - 1)
            # Threads beyond the last atom stay for the sums across a warp.
            does = thread < g.atoms.n * many and goes(g.when, g.control) == 1
            sums = empty_sums(terms)
            if does:
                if ti.static(many > 1):
                    all_of_lane(sums, i, thread % many, g)
                else:
                    for lane in range(LANES):
                        all_of_lane(sums, i, lane, g)
            total = across(sums, terms, many)
            if does and thread % many == 0:
                for m in ti.static(range(3, terms)):
                    total[m] *= 1.0 / 3.0
                store(i, total, out, real, everything)

    @kernel(
        types, atoms=Atoms.only("n", "ident"), spans=Spans.only("system", "begins"), placed=Placed,
        nu=STRENGTHS, control=CONTROL, out=outputs, when=WHEN
    )  # fmt: skip
    def all_triangles(atoms, spans, placed, nu, control, out, when):
        threads = atoms.n * many
        if ti.static(many > 1):
            threads = whole_warps(threads)
        given = Given(atoms=atoms, spans=spans, placed=placed, nu=nu, control=control, when=when)
        of_atoms(threads, given, out)

    return all_triangles
