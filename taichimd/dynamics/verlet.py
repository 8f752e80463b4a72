"""Velocity Verlet, whole steps on the device.

    v += h a,  x += dt v,  a = F(x)/m,  v += h a,      h = dt/2

A run enters with `open_step` (first half kick and drift), goes on with `steps`, each (forces, half kick,
half kick, drift), and leaves with `finish` (forces, half kick; energies and virials). Between the first and
the last a step of pairs costs one parallel loop on a GPU and two on a CPU, one of three-body terms two or three. Where
the last of them reads positions of neighbours (`kicked`, `apart`) and yet moves its atom, every other step moves atoms
from `pos` to a spare array, and the next one back. Every atom checks its displacement after each drift; when one has
moved too far for the near list, the rest of the call does nothing, or cuts it anew, or waits for the host to
rebuild. No step is done with an outdated list, none is done twice.

Under quadrants `steps` is a CUDA graph that loops on the device until the host is needed. Taichi has no such
loop: there a call holds several steps, unrolled.

A thermostat that acts on each atom alone takes part in the drift. One that acts on the whole system needs the
kinetic energy between the two half kicks: there the second loop becomes two, with a serial part in between
(`thermostats`). A barostat adds the virial to what is summed, and the deformation of the cell to the drift
(`barostats`). A driving force F_e adds W_i^T F_e to each force and takes the drift of the centre of mass out where
thermostats act. Without them the kernels are those of NVE, to the last instruction.

W. C. Swope, H. C. Andersen, P. H. Berens, K. R. Wilson, J. Chem. Phys. 76, 637 (1982),
doi:10.1063/1.442716.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.dynamics.close import close_function
from taichimd.dynamics.coupling import Coupling, coupling_functions
from taichimd.dynamics.drift import drift_function
from taichimd.dynamics.forces import force_functions
from taichimd.dynamics.passes import pass_functions
from taichimd.dynamics.thermostats import FIRST, OPENS
from taichimd.enumerate.access import Kept, load_matrix, store_matrix
from taichimd.enumerate.exact import ALL, DIAGONAL, FORCE, SYMMETRIC, TRACE
from taichimd.forcefields.terms import ByTuple, Terms
from taichimd.neighbours.control import (
    BLOWN,
    BUILDING,
    BUILDS,
    BUILT,
    DONE,
    FROZEN,
    HELD,
    LONGEST,
    NONE,
    OVERFULL,
    REBUILD,
    REMAINING,
    SPARE,
    STALE,
)
from taichimd.neighbours.kernels import list_kernels
from taichimd.neighbours.missed import Bins, missed_functions
from taichimd.neighbours.rows import Ends, Rows, ends_function, row_layout
from taichimd.neighbours.search import Search, Sorted
from taichimd.neighbours.tuple_arrays import Tuples
from taichimd.runtime import DEVICE_LOOPS, fills_device, step_kernel, ti
from taichimd.state import Atoms


@cache
def step_kernels(
    terms: Terms,
    real: Any,
    term: Any,
    backend: str,
    unroll: int,
    all_pairs: bool,
    near_list: bool,
    blocks: int,
    coupling: Coupling,
    lanes: int,
    search: Search | None,
    by_tuple: ByTuple,
) -> Any:
    """Kernels for one set of terms and one precision; reused by every engine with the same.

    Args:
        terms: the tuple functions.
        real: ti.f64 or ti.f32, of positions, velocities, forces.
        term: the same or ti.f32, of what is computed from distances.
        backend: "cuda" or "cpu".
        unroll: steps per pass of `steps`.
        all_pairs: visit all pairs instead of neighbours.
        near_list: whether force loops read a near list or the Verlet list itself.
        blocks: most blocks of a CUDA grid, which callers set with `runtime.grid`; kernels of different grids
            are different ones.
        coupling: what acts on atoms and cell besides forces.
        lanes: threads that share an atom of a pair potential in `steps`.
        search: the neighbour search of loops on the device, or None.
        by_tuple: the terms of tuple decomposition: a thread for each tuple of a list, then sums per atom.
    """
    on_gpu = backend == "cuda"
    vec = ti.types.vector(3, real)
    reals: Any = ti.types.ndarray(dtype=real, ndim=1)
    vecs: Any = ti.types.ndarray(dtype=vec, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    term_reals: Any = ti.types.ndarray(dtype=term, ndim=1)
    term_vecs: Any = ti.types.ndarray(dtype=ti.types.vector(3, term), ndim=1)
    flag: Any = ti.types.ndarray(dtype=ti.i32, ndim=0)
    ivec = ti.types.vector(3, ti.i32)
    ivecs: Any = ti.types.ndarray(dtype=ivec, ndim=1)
    how = search or Search(real)
    searched: Any = ti.types.ndarray(dtype=how.real, ndim=1)
    longs: Any = ti.types.ndarray(dtype=ti.i64, ndim=1)
    doubles: Any = ti.types.ndarray(dtype=ti.f64, ndim=1)
    outdated = STALE if near_list else REBUILD
    thermostat = coupling_functions(coupling, real, on_gpu)
    rebuild = list_kernels(real, how, row_layout(backend)).rebuild
    cell, driven = coupling.moves_cell, coupling.driven
    # Of the virial, what each step needs.
    tally = {0: FORCE, 1: TRACE, 3: DIAGONAL, 6: SYMMETRIC}[thermostat.parts if cell else 6 if driven else 0]
    of_system = (terms, real, term, backend, all_pairs, near_list, lanes, by_tuple, thermostat, cell, driven)
    full = fills_device(blocks)
    forces = force_functions(*of_system, straight=DEVICE_LOOPS or unroll == 1, full=full)
    # Unrolled code takes longest to compile, and pays where it runs often: not in `finish`, nor where a barostat acts.
    seldom = forces if on_gpu else force_functions(*of_system, straight=False, full=full)
    many_body, apart = terms.many_body, forces.apart
    flags = pass_functions(coupling, thermostat, near_list, unroll)
    every, sometimes = flags.every, flags.sometimes
    # Of pairs alone steps take the force straight to the velocity, unless they want virials, too.
    kicked = bool(forces.force_of) and (cell or tally == FORCE) and not every
    # Langevin counts energy by warps, one thread an atom.
    swaps = (apart or (kicked and not coupling.local)) and not every and unroll % 2 == 0
    drifts_apart = (apart or kicked) and not swaps
    # Whether a list serves until it lacks a pair, not only until an atom has gone half the skin.
    to_the_end = DEVICE_LOOPS and not (near_list or all_pairs or cell)
    missed = missed_functions(backend)
    drift = drift_function(coupling, thermostat, near_list, missed.note if to_the_end else None)
    close = close_function(coupling, thermostat, flags, drift, on_gpu)
    ends_of = ends_function(forces.cutters, lanes)

    @ti.kernel
    def open_step(n: ti.i32, steps_to_do: ti.i32, dt: real, most_step2: real, most_near2: real, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, shift_bits: ti.i32, shifts: vecs, listed_at: vecs, control: ints, first: ti.i64, ledger: longs, bath: doubles):  # fmt: skip
        """First half kick and drift of a run from step `first`. Launch: one thread per atom."""
        atoms = Atoms(pos, vel, force, inverse_mass, ident)
        control[REMAINING] = steps_to_do
        control[DONE] = 0
        control[BUILT] = 0
        control[BLOWN] = NONE
        if ti.static(not coupling.none):
            ledger[FIRST] = first
            ledger[OPENS] = first
        if ti.static(coupling.local):
            thermostat.prepare(dt, ledger, bath)
        deforming = 0
        if ti.static(cell):
            deforming = thermostat.due(first)
            if deforming == 1:
                flags.deform(control, FROZEN, bath)
        for i in range(n):
            if ti.static(cell):
                if deforming == 1:
                    thermostat.shift(i, n, shift_bits, shifts, bath)
            v = vel[i] + (0.5 * dt * inverse_mass[i]) * force[i]
            vel[i] = v
            drift(i, n, v, dt, 0, deforming, most_step2, most_near2, atoms, atoms.pos, listed_at, control, FROZEN, ledger, bath, None)  # fmt: skip

    @ti.func
    def count_step(i, control: ti.template(), at, ahead):
        """Count a step; every other one leaves positions in the spare array."""
        flags.count_step(i, control, at)
        if ti.static(swaps):
            if i == 0 and control[at] == 0:
                control[SPARE] = 1 - ahead % 2

    @ti.func
    def step(at, ahead, acting: ti.template(), n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms: ti.template(), there: ti.template(), verlet: ti.template(), near: ti.template(), kept: ti.template(), control: ti.template(), ledger: ti.template(), bath: ti.template(), t: ti.template(), b: ti.template(), ends: ti.template()):  # fmt: skip
        """One step, unless control[at] says no; `acting`: its end has more to do.

        If positions swap, the new ones go into an array `there`.
        """
        want = ti.static(tally if acting or not cell else FORCE)
        with_virial = ti.static(want != FORCE)
        if ti.static(kicked and not acting):
            for thread in range(ends.pairs):
                i = thread // lanes
                does = i < n and control[at] == 0
                f = forces.force_of(thread, does, n, near_width, shift_bits, near, kept.pair_table)
                if does and thread % lanes == 0:
                    kick = (0.5 * dt * atoms.inverse_mass[i]) * f
                    v = (atoms.vel[i] + kick) + kick
                    atoms.vel[i] = v
                    if ti.static(swaps):
                        drift(i, n, v, dt, ahead, 0, most_step2, most_near2, atoms, there, near.made_at, control, at + 1, ledger, bath, b)  # fmt: skip
                if ti.static(swaps):
                    count_step(thread, control, at, ahead)
        else:
            if ti.static(acting and sometimes):
                seldom.first_pass(n, near_width, shift_bits, near, kept, kept.zeta, atoms.force, kept.zeta, control, at, want, ledger, bath, t, ends)  # fmt: skip
            else:
                forces.first_pass(n, near_width, shift_bits, near, kept, kept.zeta, atoms.force, kept.zeta, control, at, want, ledger, bath, t, ends)  # fmt: skip
            if ti.static(forces.helped and want == FORCE):
                forces.in_lanes(n, width, shift_bits, verlet, kept.pair_table, kept.zeta, atoms.force, kept.zeta, control, at, t, ends)  # fmt: skip
            for i in range(n):
                if control[at] == 0:
                    f = vec(0.0)
                    if ti.static(not many_body):
                        f = atoms.force[i]
                    else:
                        g, w, _ = forces.gathered(i, n, width, near_width, shift_bits, verlet, near, kept, atoms.force, t, with_virial)  # fmt: skip
                        f = g
                        if ti.static(driven):
                            f += thermostat.drive(w, bath)
                        elif ti.static(with_virial):
                            thermostat.add_virial(i, n, w, ledger)
                    kick = (0.5 * dt * atoms.inverse_mass[i]) * f
                    v = atoms.vel[i] + kick
                    if ti.static(acting):
                        atoms.vel[i] = v
                        if ti.static(many_body):
                            atoms.force[i] = f
                        thermostat.add_kinetic(i, n, v, atoms.inverse_mass[i], ledger)
                    else:
                        v += kick
                        atoms.vel[i] = v
                        if ti.static(not drifts_apart):
                            drift(i, n, v, dt, ahead, 0, most_step2, most_near2, atoms, there, near.made_at, control, at + 1, ledger, bath, b)  # fmt: skip
                if ti.static(not drifts_apart and not acting):
                    count_step(i, control, at, ahead)
        if ti.static(drifts_apart and not acting):
            for i in range(n):
                if control[at] == 0:
                    drift(i, n, atoms.vel[i], dt, ahead, 0, most_step2, most_near2, atoms, there, near.made_at, control, at + 1, ledger, bath, b)  # fmt: skip
                flags.count_step(i, control, at)
        if ti.static(acting):
            close(at, ahead, n, shift_bits, dt, most_step2, most_near2, atoms, near, control, ledger, bath, b)
        if ti.static(to_the_end):
            missed.look(n, most_near2, there, near.made_at, b, control, at + 1)

    @ti.func
    def some_steps(n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms: ti.template(), spare: ti.template(), verlet: ti.template(), near: ti.template(), kept: ti.template(), control: ti.template(), ledger: ti.template(), bath: ti.template(), t: ti.template(), b: ti.template(), ends: ti.template()):  # fmt: skip
        """The steps of a pass."""
        for s in ti.static(range(unroll)):
            if ti.static(not swaps or s % 2 == 0):
                step(FROZEN + s, s, every, n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms, spare if ti.static(swaps) else atoms.pos, verlet, near, kept, control, ledger, bath, t, b, ends)  # fmt: skip
            else:
                step(FROZEN + s, s, every, n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms.at(spare), atoms.pos, verlet.at(spare), near.at(spare), kept, control, ledger, bath, t, b, ends)  # fmt: skip

    @ti.func
    def bring_back(n, atoms: ti.template(), spare: ti.template(), control: ti.template()):
        """Positions where they belong, if a pass has left them in the spare array."""
        if ti.static(swaps):
            # Where a loop ends is read before it begins.
            for i in range(n * control[SPARE]):
                atoms.pos[i] = spare[i]
                if i == 0:
                    control[SPARE] = 0

    @ti.func
    def acting_step(n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms: ti.template(), verlet: ti.template(), near: ti.template(), kept: ti.template(), control: ti.template(), ledger: ti.template(), bath: ti.template(), t: ti.template(), b: ti.template(), ends: ti.template()):  # fmt: skip
        """The step in which a barostat acts, if it is its turn."""
        if ti.static(sometimes):
            step(FROZEN + unroll + 1, 0, True, n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms, atoms.pos, verlet, near, kept, control, ledger, bath, t, b, ends)  # fmt: skip

    @step_kernel
    def steps(n: ti.i32, width: ti.i32, near_width: ti.i32, shift_bits: ti.i32, dt: real, most_step2: real, most_near2: real, most_drift2: real, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, kind: ints, count: ints, entries: ints, shifts: vecs, limits2: reals, places: longs, built_at: vecs, near_count: ints, near_rows: ints, reverse: ints, listed_at: vecs, pair_table: term_reals, body_table: term_reals, partial: term_vecs, zeta: term_reals, live: ints, control: ints, ledger: longs, bath: doubles, firsts: ints, tuples: ints, values: term_reals, slopes: term_vecs, going: flag, acting: flag, cutting: flag, building: flag, builds_allowed: ti.i32, most_age: ti.i32, radius2: real, bins: ivec, reach: ivec, periodic: ivec, most_image: ivec, grid: vecs, starts: ints, folded: searched, turns: ivecs, bin_of: ints, sorted_of: ints, counts: ints, sums_of: ints, order: ints, turns_in: ivecs, bin_in: ints, old_pos: vecs, old_vel: vecs, old_force: vecs, old_inverse_mass: reals, old_ident: ints, old_kind: ints):  # fmt: skip
        """Steps on the device until none remain or the host has to see to the lists. Launch: one thread per atom."""
        atoms = Atoms(pos, vel, force, inverse_mass, ident, kind)
        verlet = Rows(pos, kind, count, entries, shifts, built_at)
        near = Rows(pos, kind, near_count, near_rows, shifts, listed_at)
        kept = Kept(pair_table, body_table, partial, zeta, live, reverse)
        t = Tuples(firsts, tuples, values, slopes)
        all_places, cutters, sharers = ends_of(n, shifts.shape[0])
        ends = Ends(all_places, cutters, sharers)
        old = Atoms(old_pos, old_vel, old_force, old_inverse_mass, old_ident, old_kind)
        sort = Sorted(
            grid, starts, folded, turns, bin_of, sorted_of, counts, sums_of, order, turns_in, bin_in
        )
        b = Bins(radius2, bins, reach, periodic, sort)
        # A loop of its own: quadrants would merge a bare statement with those at the top of the loops below, and what they
        # read with what was read here, once.
        for _ in range(1):
            control[BUILDS] = 0
        while ti.graph.do_while(building):
            while ti.graph.do_while(cutting):
                forces.cut(n, width, near_width, shift_bits, most_drift2, verlet, near, kept, ident, limits2, places, control, bath, t, ends)  # fmt: skip
                flags.open_pass(control, going, None, ledger)
                if ti.static(sometimes):
                    # A loop of its own: a cut costs time even where there is nothing to cut.
                    while ti.graph.do_while(acting):
                        while ti.graph.do_while(going):
                            some_steps(n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms, old_pos, verlet, near, kept, control, ledger, bath, t, b, ends)  # fmt: skip
                            flags.limit_age(most_age, control)
                            flags.open_pass(control, going, None, ledger)
                        bring_back(n, atoms, old_pos, control)
                        acting_step(n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms, verlet, near, kept, control, ledger, bath, t, b, ends)  # fmt: skip
                        flags.open_pass(control, going, acting, ledger)
                else:
                    while ti.graph.do_while(going):
                        some_steps(n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms, old_pos, verlet, near, kept, control, ledger, bath, t, b, ends)  # fmt: skip
                        flags.limit_age(most_age, control)
                        flags.open_pass(control, going, None, ledger)
                    bring_back(n, atoms, old_pos, control)
                flags.close_pass(control, cutting)
            control[BUILDING] = 0
            if control[REBUILD] != 0 and control[BLOWN] == NONE and control[BUILDS] < builds_allowed and control[LONGEST] <= near_width and control[OVERFULL] == 0:  # fmt: skip
                control[BUILDING] = 1
                if ti.static(cell):
                    control[BUILDING] = thermostat.lay_out(grid, bins, reach, radius2, bath)
            if ti.static(not all_pairs):
                rebuild(n * control[BUILDING], width, shift_bits, atoms, old, verlet, control, radius2, bins, reach, periodic, most_image, sort, False)  # fmt: skip
            building[None] = 0
            if control[BUILDING] == 1:
                control[BUILDS] += 1
                control[BUILT] = control[DONE]
                if ti.static(cell):
                    thermostat.forget_built(bath)
                building[None] = 1 - control[REBUILD]

    @ti.kernel
    def unrolled_steps(n: ti.i32, width: ti.i32, near_width: ti.i32, shift_bits: ti.i32, dt: real, most_step2: real, most_near2: real, most_drift2: real, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, kind: ints, count: ints, entries: ints, shifts: vecs, limits2: reals, places: longs, built_at: vecs, near_count: ints, near_rows: ints, reverse: ints, listed_at: vecs, pair_table: term_reals, body_table: term_reals, partial: term_vecs, zeta: term_reals, live: ints, control: ints, ledger: longs, bath: doubles, firsts: ints, tuples: ints, values: term_reals, slopes: term_vecs, going: flag, spare: vecs):  # fmt: skip
        """A pass: up to `unroll` steps, and one in which a barostat acts. Launch: one thread per atom."""
        atoms = Atoms(pos, vel, force, inverse_mass, ident, kind)
        verlet = Rows(pos, kind, count, entries, shifts, built_at)
        near = Rows(pos, kind, near_count, near_rows, shifts, listed_at)
        kept = Kept(pair_table, body_table, partial, zeta, live, reverse)
        t = Tuples(firsts, tuples, values, slopes)
        all_places, cutters, sharers = ends_of(n, shifts.shape[0])
        ends = Ends(all_places, cutters, sharers)
        forces.cut(n, width, near_width, shift_bits, most_drift2, verlet, near, kept, ident, limits2, places, control, bath, t, ends)  # fmt: skip
        flags.open_pass(control, going, None, ledger)
        some_steps(n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms, spare, verlet, near, kept, control, ledger, bath, t, None, ends)  # fmt: skip
        bring_back(n, atoms, spare, control)
        if ti.static(sometimes):
            flags.open_pass(control, going, None, ledger)
        acting_step(n, width, near_width, shift_bits, dt, most_step2, most_near2, atoms, verlet, near, kept, control, ledger, bath, t, None, ends)  # fmt: skip

    @ti.kernel
    def finish(n: ti.i32, width: ti.i32, near_width: ti.i32, shift_bits: ti.i32, dt: real, most_drift2: real, pos: vecs, vel: vecs, force: vecs, inverse_mass: reals, ident: ints, kind: ints, count: ints, entries: ints, shifts: vecs, limits2: reals, places: longs, built_at: vecs, near_count: ints, near_rows: ints, reverse: ints, listed_at: vecs, pair_table: term_reals, body_table: term_reals, partial: term_vecs, zeta: term_reals, live: ints, control: ints, energy: reals, virial: reals, bath: doubles, firsts: ints, tuples: ints, values: term_reals, slopes: term_vecs):  # fmt: skip
        """Per-atom energy, force and 3x3 virial and, with dt > 0, the last half kick of a run, if it has come to its end."""
        verlet = Rows(pos, kind, count, entries, shifts, built_at)
        near = Rows(pos, kind, near_count, near_rows, shifts, listed_at)
        kept = Kept(pair_table, body_table, partial, zeta, live, reverse)
        t = Tuples(firsts, tuples, values, slopes)
        all_places, cutters, sharers = ends_of(n, shifts.shape[0])
        ends = Ends(all_places, cutters, sharers)
        seldom.cut(n, width, near_width, shift_bits, most_drift2, verlet, near, kept, ident, limits2, places, control, bath, t, ends)  # fmt: skip
        flags.open_finish(dt > 0.0, control)
        seldom.first_pass(n, near_width, shift_bits, near, kept, energy, force, virial, control, HELD, ALL, bath, bath, t, ends)  # fmt: skip
        if ti.static(driven and not many_body):
            # Of pairs steps sum another virial, which rounds in another way: as they do.
            forces.first_pass(n, near_width, shift_bits, near, kept, energy, force, virial, control, HELD, tally, bath, bath, t, ends)  # fmt: skip
        for i in range(n):
            if control[HELD] == 0:
                if ti.static(many_body):
                    f, w, e = seldom.gathered(i, n, width, near_width, shift_bits, verlet, near, kept, force, t, True)  # fmt: skip
                    force[i] = f
                    store_matrix(virial, i, w)
                    if ti.static(seldom.both):
                        energy[i] += e
                if ti.static(driven and many_body):
                    force[i] += thermostat.drive(load_matrix(virial, i), bath)
                if dt > 0.0:
                    vel[i] += (0.5 * dt * inverse_mass[i]) * force[i]

    @ti.kernel
    def tally_virial(n: ti.i32, width: ti.i32, near_width: ti.i32, shift_bits: ti.i32, pos: vecs, force: vecs, kind: ints, count: ints, entries: ints, shifts: vecs, limits2: reals, places: longs, built_at: vecs, near_count: ints, near_rows: ints, reverse: ints, listed_at: vecs, pair_table: term_reals, body_table: term_reals, partial: term_vecs, zeta: term_reals, live: ints, control: ints, virial: reals, ledger: longs, bath: doubles, firsts: ints, tuples: ints, values: term_reals, slopes: term_vecs):  # fmt: skip
        """The virial that `close_step` acts upon, behind `finish`: of pairs with the sums of a step, which round in another way."""
        if ti.static(many_body):
            for i in range(n):
                thermostat.add_virial(i, n, load_matrix(virial, i), ledger)
        else:
            near = Rows(pos, kind, near_count, near_rows, shifts)
            kept = Kept(pair_table, body_table, partial, zeta, live, reverse)
            t = Tuples(firsts, tuples, values, slopes)
            all_places, cutters, sharers = ends_of(n, shifts.shape[0])
            ends = Ends(all_places, cutters, sharers)
            forces.first_pass(n, near_width, shift_bits, near, kept, zeta, force, zeta, control, REBUILD, tally, ledger, bath, t, ends)  # fmt: skip

    @ti.kernel
    def moved(n: ti.i32, most_near2: real, pos: vecs, listed_at: vecs, control: ints, bath: doubles):
        """Displacement test after positions were set from outside."""
        for i in range(n):
            if thermostat.strayed(pos[i], listed_at[i], most_near2, near_list, bath) == 1:
                control[outdated] = 1

    outside = SimpleNamespace(finish=finish, moved=moved)
    if coupling != coupling.outside_steps:
        outside = step_kernels(
            terms, real, term, backend, unroll, all_pairs, near_list, blocks, coupling.outside_steps,
            lanes, search, by_tuple,
        )  # fmt: skip
    return SimpleNamespace(
        open_step=open_step,
        steps=steps if DEVICE_LOOPS else unrolled_steps,
        finish=outside.finish,
        moved=outside.moved,
        tally_virial=tally_virial if cell else None,
        close_step=thermostat.close_step,
        listed=thermostat.listed if cell else None,
    )
