"""Velocity Verlet, several whole steps in one kernel call.

    v += h a,  x += dt v,  a = F(x)/m,  v += h a,      h = dt/2

A run enters with `open_step` (first half kick and drift), goes on with `steps`, each (forces, half kick,
half kick, drift), and leaves with `close_step` (forces, half kick). Between the first and the last a step
costs two or three parallel loops. Every atom checks its displacement after each drift; when one has moved
too far for the list that force loops read, the rest of the batch does nothing, and the next call cuts the
near list anew or waits for the host to rebuild. No step is done with an outdated list, none is done twice.

W. C. Swope, H. C. Andersen, P. H. Berens, K. R. Wilson, J. Chem. Phys. 76, 637 (1982),
doi:10.1063/1.442716.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.enumerate.access import store_matrix
from taichimd.enumerate.all_pairs import all_pairs_function
from taichimd.enumerate.bond_threads import bond_thread_functions
from taichimd.enumerate.gather import gather_functions
from taichimd.forcefields.terms import Terms
from taichimd.neighbours.control import BLOWN, DONE, FROZEN, NONE, REBUILD, REMAINING, STALE
from taichimd.neighbours.prune import prune_function
from taichimd.runtime import step_kernel, ti


@cache
def step_kernels(
    terms: Terms, real: Any, backend: str, unroll: int, all_pairs: bool, thread_per_bond: bool, blocks: int
) -> Any:
    """Kernels for one set of terms and one precision; reused by every engine with the same.

    Args:
        terms: the tuple functions.
        real: ti.f64 or ti.f32.
        backend: "cuda" (slot-major lists, shared memory) or "cpu".
        unroll: steps per call of `steps`.
        all_pairs: visit all pairs instead of neighbours.
        thread_per_bond: many short threads, for systems that do not fill the device with one per atom; it
            costs twice the arithmetic and gives the same bits (see `bond_threads`).
        blocks: most blocks of a CUDA grid, which callers set with `runtime.grid`; kernels of different grids
            are different ones.
    """
    by_slot = backend == "cuda"
    vec = ti.types.vector(3, real)
    reals: Any = ti.types.ndarray(dtype=real, ndim=1)
    vecs: Any = ti.types.ndarray(dtype=vec, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    many_body = terms.many_body
    threaded = thread_per_bond and many_body
    atom = gather_functions(terms, real, by_slot)
    bond = bond_thread_functions(terms, real, by_slot) if many_body else None
    visit_all = all_pairs_function(terms, real, backend) if all_pairs else None
    prune = prune_function(terms.n_kinds, by_slot)
    # The list that force loops read: the near one, or for pairs the Verlet list itself.
    outdated = STALE if many_body else REBUILD

    @ti.func
    def drift(i, v, dt, most_step2, most_near2, pos: ti.template(), ident: ti.template(), listed_at: ti.template(), control: ti.template(), frozen):  # fmt: skip
        """Move atom i; flag what the move breaks. A comparison with NaN is false, hence the `not`s."""
        move = dt * v
        x = pos[i] + move
        pos[i] = x
        gone = x - listed_at[i]
        if not gone.dot(gone) <= most_near2:
            control[outdated] = 1
            control[frozen] = 1
        if not move.dot(move) <= most_step2:
            ti.atomic_min(control[BLOWN], ident[i])
            control[frozen] = 1

    @ti.kernel
    def open_step(n: ti.i32, steps_to_do: ti.i32, dt: real, most_step2: real, most_near2: real, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, listed_at: vecs, control: ints):  # fmt: skip
        """First half kick and drift of a run. Launch: one thread per atom."""
        control[REMAINING] = steps_to_do
        control[DONE] = 0
        control[BLOWN] = NONE
        for i in range(n):
            v = vel[i] + (0.5 * dt * inverse_mass[i]) * force[i]
            vel[i] = v
            drift(i, v, dt, most_step2, most_near2, pos, ident, listed_at, control, FROZEN)

    @ti.func
    def first_pass(n, width, near_width, shift_bits, pos: ti.template(), kind: ti.template(), near_count: ti.template(), near: ti.template(), shifts: ti.template(), pair_table: ti.template(), body_table: ti.template(), partial: ti.template(), zeta: ti.template(), energy: ti.template(), force: ti.template(), virial: ti.template(), control: ti.template(), frozen, want: ti.template()):  # fmt: skip
        """Partial forces of many-body terms; or, for pairs alone, forces. Energies if wanted."""
        if ti.static(all_pairs):
            visit_all(n, pos, kind, shifts, pair_table, energy, force, virial, control, frozen, want)
        elif ti.static(threaded and not want):
            for k in range(n * near_width):
                if k // n < near_count[k % n] and control[frozen] == 0:
                    bond.first(k % n, k // n, n, width, shift_bits, pos, kind, near_count, near, shifts, pair_table, body_table, partial, zeta)  # fmt: skip
            for k in range(n * near_width):
                if k // n < near_count[k % n] and control[frozen] == 0:
                    bond.second(k % n, k // n, n, width, shift_bits, pos, kind, near_count, near, shifts, body_table, partial, zeta)  # fmt: skip
        else:
            for i in range(n):
                if control[frozen] == 0:
                    if ti.static(many_body):
                        e = atom.partials(i, n, width, shift_bits, pos, kind, near_count, near, shifts, pair_table, body_table, partial, zeta)  # fmt: skip
                        if ti.static(want):
                            energy[i] = e
                    else:
                        f, e, w = atom.pairs(i, n, width, shift_bits, pos, kind, near_count, near, shifts, pair_table, want)  # fmt: skip
                        force[i] = f
                        if ti.static(want):
                            energy[i] = e
                            store_matrix(virial, i, w)

    @ti.func
    def total_force(i, n, width, shift_bits, pos: ti.template(), near_count: ti.template(), near: ti.template(), reverse: ti.template(), shifts: ti.template(), partial: ti.template(), force: ti.template()):  # fmt: skip
        f = vec(0.0)
        if ti.static(many_body):
            f, _ = atom.gather(
                i, n, width, shift_bits, pos, near_count, near, reverse, shifts, partial, False
            )
        else:
            f = force[i]
        return f

    @step_kernel
    def steps(n: ti.i32, width: ti.i32, near_width: ti.i32, shift_bits: ti.i32, last_code: ti.i32, dt: real, most_step2: real, most_near2: real, most_drift2: real, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, kind: ints, count: ints, entries: ints, shifts: vecs, limits2: reals, built_at: vecs, near_count: ints, near: ints, reverse: ints, listed_at: vecs, pair_table: reals, body_table: reals, partial: vecs, zeta: reals, control: ints):  # fmt: skip
        """Up to `unroll` steps, as many as remain and the lists allow. Launch: one thread per atom."""
        if ti.static(many_body):
            prune(n, width, near_width, shift_bits, last_code, most_drift2, pos, kind, count, entries, shifts, limits2, built_at, near_count, near, reverse, listed_at, control)  # fmt: skip
        for s in ti.static(range(unroll + 1)):
            stop = control[REBUILD] != 0 or control[BLOWN] != NONE or s >= control[REMAINING]
            control[FROZEN + s] = 1 if stop else 0
        for s in ti.static(range(unroll)):
            first_pass(n, width, near_width, shift_bits, pos, kind, near_count, near, shifts, pair_table, body_table, partial, zeta, zeta, force, zeta, control, FROZEN + s, False)  # fmt: skip
            for i in range(n):
                if control[FROZEN + s] == 0:
                    f = total_force(
                        i, n, width, shift_bits, pos, near_count, near, reverse, shifts, partial, force
                    )
                    kick = (0.5 * dt * inverse_mass[i]) * f
                    v = vel[i] + kick
                    v = v + kick
                    vel[i] = v
                    drift(i, v, dt, most_step2, most_near2, pos, ident, listed_at, control, FROZEN + s + 1)
                elif i == 0:
                    control[FROZEN + s + 1] = 1
        done = 0
        for s in ti.static(range(unroll)):
            done += 1 - control[FROZEN + s]
        control[DONE] += done
        control[REMAINING] -= done

    @ti.kernel
    def close_step(n: ti.i32, width: ti.i32, near_width: ti.i32, shift_bits: ti.i32, last_code: ti.i32, dt: real, most_drift2: real, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, kind: ints, count: ints, entries: ints, shifts: vecs, limits2: reals, built_at: vecs, near_count: ints, near: ints, reverse: ints, listed_at: vecs, pair_table: reals, body_table: reals, partial: vecs, zeta: reals, control: ints):  # fmt: skip
        """Forces at the present positions and, with dt > 0, the last half kick of a run."""
        if ti.static(many_body):
            prune(n, width, near_width, shift_bits, last_code, most_drift2, pos, kind, count, entries, shifts, limits2, built_at, near_count, near, reverse, listed_at, control)  # fmt: skip
        first_pass(n, width, near_width, shift_bits, pos, kind, near_count, near, shifts, pair_table, body_table, partial, zeta, zeta, force, zeta, control, REBUILD, False)  # fmt: skip
        for i in range(n):
            if control[REBUILD] == 0:
                f = total_force(
                    i, n, width, shift_bits, pos, near_count, near, reverse, shifts, partial, force
                )
                force[i] = f
                vel[i] += (0.5 * dt * inverse_mass[i]) * f

    @ti.kernel
    def evaluate(n: ti.i32, width: ti.i32, near_width: ti.i32, shift_bits: ti.i32, last_code: ti.i32, most_drift2: real, pos: vecs, kind: ints, count: ints, entries: ints, shifts: vecs, limits2: reals, built_at: vecs, near_count: ints, near: ints, reverse: ints, listed_at: vecs, pair_table: reals, body_table: reals, partial: vecs, zeta: reals, energy: reals, force: vecs, virial: reals, control: ints):  # fmt: skip
        """Per-atom energy, force and 3x3 virial at the present positions; the state stays as it is."""
        if ti.static(many_body):
            prune(n, width, near_width, shift_bits, last_code, most_drift2, pos, kind, count, entries, shifts, limits2, built_at, near_count, near, reverse, listed_at, control)  # fmt: skip
        first_pass(n, width, near_width, shift_bits, pos, kind, near_count, near, shifts, pair_table, body_table, partial, zeta, energy, force, virial, control, REBUILD, True)  # fmt: skip
        if ti.static(many_body):
            for i in range(n):
                if control[REBUILD] == 0:
                    f, w = atom.gather(
                        i, n, width, shift_bits, pos, near_count, near, reverse, shifts, partial, True
                    )
                    force[i] = f
                    store_matrix(virial, i, w)

    @ti.kernel
    def moved(n: ti.i32, most_near2: real, pos: vecs, listed_at: vecs, control: ints):
        """Displacement test after positions were set from outside."""
        for i in range(n):
            gone = pos[i] - listed_at[i]
            if not gone.dot(gone) <= most_near2:
                control[outdated] = 1

    return SimpleNamespace(
        open_step=open_step, steps=steps, close_step=close_step, evaluate=evaluate, moved=moved
    )
