"""Forces of atoms from the slopes of pairs: F_i = 2 sum_j slope_ij (r_j - r_i), the same bits in any order."""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Number, kernel, types_of
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.queued import goes
from taichimd.enumerate.triple_tiles import SLOPES, Placed
from taichimd.forcefields.reaxff.lanes import LANES, across, empty, threads_of_row, whole_chunks, with_term
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.rows import row_layout, whole_warps
from taichimd.system.state import Atoms

FORCES = Array("double_vec", "n", "forces in the user's order, eV/angstrom")


@cache
def gather_kernels(real: Any, backend: str) -> tuple[Any, Any, Any]:
    """Kernels of positions and forces.

    `place(atoms, placed)` puts positions in the user's order, `gather(atoms, placed, slope, control, out, when)` makes forces
    of slopes, `take(atoms, forces, control, out, when)` takes them as they are.
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
            sums = empty(3)
            if does:
                if ti.static(many > 1):
                    of_lane(sums, atoms.ident[i], thread % many, atoms.n, placed, slope)
                else:
                    for lane in range(LANES):
                        of_lane(sums, atoms.ident[i], lane, atoms.n, placed, slope)
            total = across(sums, 3, many)
            if does and thread % many == 0:
                out.force[i] = ti.cast(total, real)

    @kernel(types, atoms=Atoms.only("n", "ident"), placed=Placed, slope=SLOPES, control=CONTROL, out=Outputs.only("force"), when=Number("i32", "see `neighbours.control`"))  # fmt: skip
    def gather(atoms, placed, slope, control, out, when):
        threads = atoms.n * many
        if ti.static(many > 1):
            threads = whole_warps(threads)
        of_atoms(threads, atoms, placed, slope, control, out, when)

    @kernel(types, atoms=Atoms.only("n", "ident"), forces=FORCES, control=CONTROL, out=Outputs.only("force"), when=Number("i32", "see `neighbours.control`"))  # fmt: skip
    def take(atoms, forces, control, out, when):
        for i in range(atoms.n):
            if goes(when, control) == 1:
                out.force[i] = ti.cast(forces[atoms.ident[i]], real)

    return place, gather, take
