"""Forces of atoms from the slopes of pairs: F_i = 2 sum_j slope_ij (r_j - r_i), the same bits in any order."""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Number, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import store_matrix
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.queued import goes
from taichimd.enumerate.reproducible_sum import empty_sums, with_term
from taichimd.enumerate.row_sums import LANES, across, threads_of_row, whole_chunks
from taichimd.enumerate.triple_tiles import SLOPES, Placed
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import row_layout, whole_warps
from taichimd.system.state import Atoms

WHEN = Number("i32", "see `neighbours.control`")
FOUND = Array(
    "f64", "3 n or 13 n", "force, energy and virial of each atom, in the user's order, eV and angstrom"
)


@cache
def gather_kernels(real: Any, backend: str) -> tuple[Any, Any]:
    """Kernels of positions and forces.

    `place(atoms, placed)` puts positions in the user's order, `gather(atoms, placed, slope, control, out, when)` makes forces
    of slopes.
    """
    types, many = types_of(real), threads_of_row(row_layout(backend))

    @ti.func
    def of_lane(sums: ti.template(), i, lane, n, placed: ti.template(), slope: ti.template()):
        for chunk in range(whole_chunks(n)):
            j = chunk * LANES + lane
            if j < n:
                f = 2.0 * slope[i * n + j] * (placed.pos[j] - placed.pos[i])
                for m in ti.static(range(3)):
                    with_term(sums, 3, m, f[m])

    @kernel(types, atoms=Atoms.only("n", "pos", "kind", "ident"), placed=Placed)
    def place(atoms, placed):
        for i in range(atoms.n):
            placed.pos[atoms.ident[i]] = ti.cast(atoms.pos[i], ti.f64)
            placed.kind[atoms.ident[i]] = atoms.kind[i]

    @computed_in(ti.f64)
    def of_atoms(threads, atoms: ti.template(), placed: ti.template(), slope: ti.template(), control: ti.template(), out: ti.template(), when):  # fmt: skip
        for thread in range(threads):
            i = ti.min(thread // many, atoms.n - 1)
            # Threads beyond the last atom stay for the sums across a warp.
            does = thread < atoms.n * many and goes(when, control) == 1
            sums = empty_sums(3)
            if does:
                if ti.static(many > 1):
                    of_lane(sums, atoms.ident[i], thread % many, atoms.n, placed, slope)
                else:
                    for lane in range(LANES):
                        of_lane(sums, atoms.ident[i], lane, atoms.n, placed, slope)
            total = across(sums, 3, many)
            if does and thread % many == 0:
                out.force[i] = ti.cast(total, real)

    @kernel(types, atoms=Atoms.only("n", "ident"), placed=Placed, slope=SLOPES, control=CONTROL, out=Outputs.only("force"), when=WHEN)  # fmt: skip
    def gather(atoms, placed, slope, control, out, when):
        threads = atoms.n * many
        if ti.static(many > 1):
            threads = whole_warps(threads)
        of_atoms(threads, atoms, placed, slope, control, out, when)

    return place, gather


@cache
def take_kernel(real: Any, everything: bool) -> Any:
    """Kernel `(atoms, found, control, out, when)` that takes what something else has found; all of it, or forces alone."""
    outputs, width = (Outputs, 13) if everything else (Outputs.only("force"), 3)

    @kernel(types_of(real), atoms=Atoms.only("n", "ident"), found=FOUND, control=CONTROL, out=outputs, when=WHEN)  # fmt: skip
    def take(atoms, found, control, out, when):
        for i in range(atoms.n):
            if goes(when, control) == 1:
                at = width * atoms.ident[i]
                out.force[i] = ti.cast(ti.Vector([found[at], found[at + 1], found[at + 2]]), real)
                if ti.static(everything):
                    out.energy[i] = ti.cast(found[at + 3], real)
                    w = ti.Matrix(
                        [
                            [found[at + 4 + 3 * x + y] for y in ti.static(range(3))]
                            for x in ti.static(range(3))
                        ]
                    )
                    store_matrix(out.virial, i, ti.cast(w, real))

    return take
