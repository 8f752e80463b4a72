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

from taichimd.core.arguments import Array, Bundle, Number, View, device_helper, kernel, types_of
from taichimd.dynamics.bath_arrays import BathArrays
from taichimd.dynamics.close import close_function
from taichimd.dynamics.coupling import Coupling, coupling_functions
from taichimd.dynamics.drift import drift_function
from taichimd.dynamics.forces import Outputs, force_functions
from taichimd.dynamics.passes import pass_functions
from taichimd.dynamics.thermostats import FIRST, OPENS
from taichimd.enumerate.access import load_matrix, store_matrix
from taichimd.enumerate.exact import ALL, DIAGONAL, FORCE, SYMMETRIC, TRACE
from taichimd.enumerate.group import Group, view
from taichimd.enumerate.passes import passes_functions
from taichimd.neighbours.control import (
    BLOWN,
    BUILDING,
    BUILDS,
    BUILT,
    CONTROL,
    DONE,
    FROZEN,
    HELD,
    NONE,
    REBUILD,
    REMAINING,
    SPARE,
    STALE,
)
from taichimd.neighbours.kernels import list_kernels
from taichimd.neighbours.missed import missed_functions
from taichimd.neighbours.prune import close_cut_function
from taichimd.neighbours.rows import VerletRows, row_layout, whole_warps
from taichimd.neighbours.search import Search, Sorted
from taichimd.runtime import DEVICE_LOOPS, fills_device, ti
from taichimd.state import CARRIED, SPARE_ATOMS, Atoms


class Reach(Bundle):
    """How far atoms may go: squares of distances, angstrom^2."""

    most_step2: Any = Number("real", "in one step")
    most_near2: Any = Number("real", "since the last cut, with the near lists")
    most_drift2: Any = Number("real", "since the last build, where near lists are cut")


class LoopFlags(Bundle):
    """Of loops on the device: whether each goes on."""

    going: Any = Array("i32", "", "steps")
    acting: Any = Array("i32", "", "actions of a barostat")
    cutting: Any = Array("i32", "", "cuts")
    building: Any = Array("i32", "", "builds")
    builds_allowed: Any = Number("i32", "builds before the host looks")
    most_age: Any = Number("i32", "steps after which a list is built anew")


class StepView(View):
    """All that a step knows, as device functions take it.

    Attributes:
        n: number of atoms. dt: time step, internal units. reach: `Reach`. atoms: `Atoms`.
        shifts, shift_bits: of the images. listed_at: positions from which displacements count.
        control, ledger, bath: see there. sort: `Sorted`, in loops on the device. groups: `GroupView`s.
        out: where the forces of a single group go.
    """

    def elsewhere(self, pos: Any) -> Any:
        """The same with other positions."""
        groups = [group.at(pos) for group in self.groups]
        return StepView(**{**vars(self), "atoms": self.atoms.at(pos), "groups": groups})


@device_helper
def step_view(
    atoms: Any,
    verlet: Any,
    listed_at: Any,
    groups: Any,
    control: Any,
    bath: Any,
    reach: Any,
    dt: Any,
    sort: Any,
) -> StepView:
    """A `StepView` of a kernel's arguments, at its compilation."""
    return StepView(
        n=atoms.n, dt=dt, reach=reach, atoms=atoms, shifts=verlet.shifts, shift_bits=verlet.shift_bits,
        listed_at=listed_at, control=control, ledger=bath and bath.ledger, bath=bath and bath.bath, sort=sort,
        groups=groups, out=Outputs(force=atoms.force),
    )  # fmt: skip


@device_helper
def bath_of(bath: Any) -> Any:
    """The array `bath`, or None where nothing acts but forces."""
    return bath and bath.bath


@device_helper
def at_positions(s: StepView, pos: Any) -> StepView:
    """A step with other positions."""
    return s.elsewhere(pos)


@cache
def step_kernels(
    groups: tuple[Group, ...],
    real: Any,
    term: Any,
    backend: str,
    unroll: int,
    blocks: int,
    coupling: Coupling,
    search: Search | None,
    fused: bool,
    carried: int = 0,
) -> Any:
    """Kernels for one set of terms and one precision; reused by every engine with the same.

    Args:
        groups: the terms and how they are done.
        real: ti.f64 or ti.f32, of positions, velocities, forces.
        term: the same or ti.f32, of what is computed from distances.
        backend: "cuda" or "cpu".
        unroll: steps per pass of `steps`.
        blocks: most blocks of a CUDA grid, which callers set with `runtime.grid`; kernels of different grids
            are different ones.
        coupling: what acts on atoms and cell besides forces.
        search: the neighbour search of loops on the device, or None.
        fused: take the force of the last loop over atoms straight to the velocity, where there is one group.
        carried: number of arrays that contributions keep with the atoms.
    """
    on_gpu = backend == "cuda"
    types = types_of(real, term, search.real if search else None)
    vec = types["vec"]
    near_list, all_pairs = groups[0].near_list, groups[0].all_pairs
    outdated = STALE if near_list else REBUILD
    thermostat = coupling_functions(coupling, real, on_gpu)
    rebuild = list_kernels(real, search or Search(real), row_layout(backend), carried).rebuild
    cell, driven = coupling.moves_cell, coupling.driven
    # Of the virial, what each step needs.
    tally = {0: FORCE, 1: TRACE, 3: DIAGONAL, 6: SYMMETRIC}[thermostat.parts if cell else 6 if driven else 0]
    full = fills_device(blocks)

    def functions(straight: bool) -> list[Any]:
        made = []
        for g in groups:
            if g.terms.passes:
                made.append(passes_functions(g, real, term, backend, thermostat, driven))
            else:
                made.append(force_functions(g, real, term, backend, thermostat, driven, straight, full))
        return made

    forces = functions(DEVICE_LOOPS or unroll == 1)
    # Unrolled code takes longest to compile, and pays where it runs often: not in `evaluate`, nor where a barostat acts.
    seldom = forces if on_gpu else functions(False)
    number = len(groups)
    groups_, fused_wanted = groups, fused
    fused = fused and number == 1 and not groups[0].terms.passes
    many_body, apart = groups[0].terms.many_body, fused and forces[0].apart
    flags = pass_functions(coupling, thermostat, near_list, unroll)
    every, sometimes = flags.every, flags.sometimes
    # Of pairs alone steps take the force straight to the velocity, unless they want virials, too.
    kicked = fused and bool(forces[0].force_of) and (cell or tally == FORCE) and not every
    # Langevin counts energy by warps, one thread an atom.
    swaps = (apart or (kicked and not coupling.local)) and not every and unroll % 2 == 0
    drifts_apart = (apart or kicked) and not swaps
    # Whether a list serves until it lacks a pair, not only until an atom has gone half the skin.
    to_the_end = DEVICE_LOOPS and not (near_list or all_pairs or cell)
    missed = missed_functions(backend)
    drift = drift_function(coupling, thermostat, near_list, missed.note if to_the_end else None)
    close = close_function(coupling, thermostat, flags, drift, on_gpu)
    close_cut = close_cut_function(thermostat, cell)

    @ti.func
    def ends_of(k: ti.template(), n, images):
        """The last three numbers of a `GroupView`, worked out at the top: elsewhere each costs a GPU a kernel of one thread."""
        threads, lanes = ti.static(forces[k].cutters, groups[k].lanes)
        return n + images, whole_warps(n * threads) if ti.static(threads > 1) else n, whole_warps(n * lanes)

    one_species = all(g.terms.one_species for g in groups)
    atoms_of = [name for name in Atoms.fields if not (name == "kind" and one_species)]
    listed = {"listed_at": Array("vec", "n", "positions from which displacements count, angstrom")}
    bathed = {"bath": None if coupling.none and not driven else BathArrays}
    system = {
        "atoms": Atoms.only(*atoms_of),
        "verlet": VerletRows,
        **listed,
        "groups": tuple(g.arguments for g in groups),
        "control": CONTROL,
        **bathed,
        "reach": Reach,
    }
    # A group alone leaves its forces with the atoms.
    outputs_of = tuple(Outputs.only("force") for _ in groups) if number > 1 else ()
    more = (CARRIED,) * carried

    @kernel(types, atoms=Atoms.only("n", "pos", "vel", "force", "inverse_mass", "ident"), verlet=VerletRows.only("shift_bits", "shifts"), **listed, control=CONTROL, **bathed, reach=Reach, steps_to_do=Number("i32", "steps behind this one"), first=Number("i64", "number of this step"), dt=Number("real", "time step"))  # fmt: skip
    def open_step(atoms, verlet, listed_at, control, bath, reach, steps_to_do, first, dt):
        """First half kick and drift of a run from step `first`. Launch: one thread per atom."""
        s = step_view(atoms, verlet, listed_at, (), control, bath, reach, dt, None)
        control[REMAINING] = steps_to_do
        control[DONE] = 0
        control[BUILT] = 0
        control[BLOWN] = NONE
        if ti.static(not coupling.none):
            s.ledger[FIRST] = first
            s.ledger[OPENS] = first
        if ti.static(coupling.local):
            thermostat.prepare(dt, s.ledger, s.bath)
        deforming = 0
        if ti.static(cell):
            deforming = thermostat.due(first)
            if deforming == 1:
                flags.deform(control, FROZEN, s.bath)
        for i in range(atoms.n):
            if ti.static(cell):
                if deforming == 1:
                    thermostat.shift(i, atoms.n, verlet.shift_bits, verlet.shifts, s.bath)
            v = atoms.vel[i] + (0.5 * dt * atoms.inverse_mass[i]) * atoms.force[i]
            atoms.vel[i] = v
            drift(i, v, 0, deforming, s, s.atoms.pos, FROZEN)

    @ti.func
    def count_step(i, s: ti.template(), at, ahead):
        """Count a step; every other one leaves positions in the spare array."""
        flags.count_step(i, s.control, at)
        if ti.static(swaps):
            if i == 0 and s.control[at] == 0:
                s.control[SPARE] = 1 - ahead % 2

    @ti.func
    def close_with(f, i, at, ahead, acting: ti.template(), s: ti.template(), there: ti.template()):
        """Half kick with the force on atom i, and what of the step is then still to do."""
        kick = (0.5 * s.dt * s.atoms.inverse_mass[i]) * f
        v = s.atoms.vel[i] + kick
        if ti.static(acting):
            s.atoms.vel[i] = v
            if ti.static(many_body or not fused):
                s.atoms.force[i] = f
            thermostat.add_kinetic(i, s.n, v, s.atoms.inverse_mass[i], s.ledger)
        else:
            v += kick
            s.atoms.vel[i] = v
            if ti.static(not drifts_apart):
                drift(i, v, ahead, 0, s, there, at + 1)

    @ti.func
    def plain_step(at, ahead, acting: ti.template(), s: ti.template(), outputs: ti.template()):
        """Forces of each group, each pass in loops of its own; then the kicks."""
        want = ti.static(tally if acting or not cell else FORCE)
        for k in ti.static(range(number)):
            forces[k].both_passes(s.groups[k], outputs[k], s.control, at, want, s.ledger, s.bath)
        for i in range(s.n):
            if s.control[at] == 0:
                f = outputs[0].force[i]
                for k in ti.static(range(1, number)):
                    f += outputs[k].force[i]
                close_with(f, i, at, ahead, acting, s, s.atoms.pos)
            if ti.static(not acting):
                count_step(i, s, at, ahead)

    @ti.func
    def fused_step(
        at, ahead, acting: ti.template(), s: ti.template(), g: ti.template(), there: ti.template()
    ):
        """The last loop over atoms takes forces straight to velocities and, if it can, to positions."""
        want = ti.static(tally if acting or not cell else FORCE)
        with_virial = ti.static(want != FORCE)
        if ti.static(kicked and not acting):
            for thread in range(g.pairs_end):
                lanes = ti.static(groups[0].lanes)
                i = thread // lanes
                does = i < s.n and s.control[at] == 0
                f = forces[0].force_of(
                    thread, does, s.n, g.near.width, s.shift_bits, g.near, g.kept.pair_table
                )
                if does and thread % lanes == 0:
                    close_with(f, i, at, ahead, False, s, there)
                if ti.static(swaps):
                    count_step(thread, s, at, ahead)
        else:
            if ti.static(acting and sometimes):
                seldom[0].first_pass(g, s.out, s.control, at, want, s.ledger, s.bath)
            else:
                forces[0].first_pass(g, s.out, s.control, at, want, s.ledger, s.bath)
            if ti.static(forces[0].helped and want == FORCE):
                forces[0].in_lanes(g, g.verlet, s.out, s.control, at)
            for i in range(s.n):
                if s.control[at] == 0:
                    f = vec(0.0)
                    if ti.static(not many_body):
                        f = s.atoms.force[i]
                    else:
                        total, w, _ = forces[0].gathered(i, g, s.atoms.force, with_virial)
                        f = total
                        if ti.static(driven):
                            f += thermostat.drive(w, s.bath)
                        elif ti.static(with_virial):
                            thermostat.add_virial(i, s.n, w, s.ledger)
                    close_with(f, i, at, ahead, acting, s, there)
                if ti.static(not drifts_apart and not acting):
                    count_step(i, s, at, ahead)
        if ti.static(drifts_apart and not acting):
            for i in range(s.n):
                if s.control[at] == 0:
                    drift(i, s.atoms.vel[i], ahead, 0, s, there, at + 1)
                flags.count_step(i, s.control, at)

    @ti.func
    def step(
        at, ahead, acting: ti.template(), s: ti.template(), there: ti.template(), outputs: ti.template()
    ):
        """One step, unless control[at] says no; `acting`: its end has more to do.

        If positions swap, the new ones go into an array `there`.
        """
        if ti.static(fused):
            fused_step(at, ahead, acting, s, s.groups[0], there)
        else:
            plain_step(at, ahead, acting, s, outputs)
        if ti.static(acting):
            close(at, ahead, s)
        if ti.static(to_the_end):
            missed.look(s.n, s.reach.most_near2, there, s.listed_at, s.sort, s.control, at + 1)

    @ti.func
    def some_steps(s: ti.template(), spare: ti.template(), outputs: ti.template()):
        """The steps of a pass."""
        for k in ti.static(range(unroll)):
            if ti.static(not swaps):
                step(FROZEN + k, k, every, s, s.atoms.pos, outputs)
            elif ti.static(k % 2 == 0):
                step(FROZEN + k, k, every, s, spare, outputs)
            else:
                step(FROZEN + k, k, every, at_positions(s, spare), s.atoms.pos, outputs)

    @ti.func
    def bring_back(s: ti.template(), spare: ti.template()):
        """Positions where they belong, if a pass has left them in the spare array."""
        if ti.static(swaps):
            # Where a loop ends is read before it begins.
            for i in range(s.n * s.control[SPARE]):
                s.atoms.pos[i] = spare[i]
                if i == 0:
                    s.control[SPARE] = 0

    @ti.func
    def acting_step(s: ti.template(), outputs: ti.template()):
        """The step in which a barostat acts, if it is its turn."""
        if ti.static(sometimes):
            step(FROZEN + unroll + 1, 0, True, s, s.atoms.pos, outputs)

    @ti.func
    def cut(those: ti.template(), s: ti.template()):
        """Near lists that are fit for the positions, cut from the Verlet list."""
        if ti.static(near_list):
            for k in ti.static(range(number)):
                those[k].cut(s.groups[k], s.reach.most_drift2, s.control, s.bath)
            unfit = 0
            for k in ti.static(range(number)):
                unfit |= those[k].unfit(s.groups[k].near.width, s.control)
            close_cut(unfit, s.control, s.bath)

    if DEVICE_LOOPS:

        @kernel(types, graph=True, **system, outputs=outputs_of, sort=Sorted, own=more, old=SPARE_ATOMS, old_own=more, loops=LoopFlags, dt=Number("real", "time step"))  # fmt: skip
        def steps(
            atoms,
            verlet,
            listed_at,
            groups,
            control,
            bath,
            reach,
            outputs,
            sort,
            own,
            old,
            old_own,
            loops,
            dt,
        ):
            """Steps on the device until none remain or the host has to see to the lists. Launch: one thread per atom."""
            ends = [ends_of(k, atoms.n, verlet.shifts.shape[0]) for k in ti.static(range(number))]
            views = [
                view(atoms.n, atoms, verlet, listed_at, groups[k], ends[k]) for k in ti.static(range(number))
            ]
            s = step_view(atoms, verlet, listed_at, views, control, bath, reach, dt, sort)
            outs = outputs if ti.static(number > 1) else (s.out,)
            # A loop of its own: quadrants would merge a bare statement with those at the top of the loops below, and what they
            # read with what was read here, once.
            for _ in range(1):
                control[BUILDS] = 0
            while ti.graph.do_while(loops.building):
                while ti.graph.do_while(loops.cutting):
                    cut(forces, s)
                    flags.open_pass(control, loops.going, None, s.ledger)
                    if ti.static(sometimes):
                        # A loop of its own: a cut costs time even where there is nothing to cut.
                        while ti.graph.do_while(loops.acting):
                            while ti.graph.do_while(loops.going):
                                some_steps(s, old.pos, outs)
                                flags.limit_age(loops.most_age, control)
                                flags.open_pass(control, loops.going, None, s.ledger)
                            bring_back(s, old.pos)
                            acting_step(s, outs)
                            flags.open_pass(control, loops.going, loops.acting, s.ledger)
                    else:
                        while ti.graph.do_while(loops.going):
                            some_steps(s, old.pos, outs)
                            flags.limit_age(loops.most_age, control)
                            flags.open_pass(control, loops.going, None, s.ledger)
                        bring_back(s, old.pos)
                    flags.close_pass(control, loops.cutting)
                control[BUILDING] = 0
                unfit = 0
                for k in ti.static(range(number)):
                    unfit |= forces[k].unfit(s.groups[k].near.width, control)
                if control[REBUILD] != 0 and control[BLOWN] == NONE and control[BUILDS] < loops.builds_allowed and unfit == 0:  # fmt: skip
                    control[BUILDING] = 1
                    if ti.static(cell):
                        control[BUILDING] = thermostat.lay_out(
                            sort.grid, sort.bins, sort.reach, sort.radius2, s.bath
                        )
                if ti.static(not all_pairs):
                    rebuild(
                        atoms.n * control[BUILDING], atoms, own, old, old_own, verlet, control, sort, False
                    )
                loops.building[None] = 0
                if control[BUILDING] == 1:
                    control[BUILDS] += 1
                    control[BUILT] = control[DONE]
                    if ti.static(cell):
                        thermostat.forget_built(s.bath)
                    loops.building[None] = 1 - control[REBUILD]

    else:

        @kernel(types, graph=True, **system, outputs=outputs_of, old=Atoms.only("pos"), loops=LoopFlags.only("going"), dt=Number("real", "time step"))  # fmt: skip
        def steps(atoms, verlet, listed_at, groups, control, bath, reach, outputs, old, loops, dt):
            """A pass: up to `unroll` steps, and one in which a barostat acts. Launch: one thread per atom."""
            ends = [ends_of(k, atoms.n, verlet.shifts.shape[0]) for k in ti.static(range(number))]
            views = [
                view(atoms.n, atoms, verlet, listed_at, groups[k], ends[k]) for k in ti.static(range(number))
            ]
            s = step_view(atoms, verlet, listed_at, views, control, bath, reach, dt, None)
            outs = outputs if ti.static(number > 1) else (s.out,)
            cut(forces, s)
            flags.open_pass(control, loops.going, None, s.ledger)
            some_steps(s, old.pos, outs)
            bring_back(s, old.pos)
            if ti.static(sometimes):
                flags.open_pass(control, loops.going, None, s.ledger)
            acting_step(s, outs)

    bathed_outside = {"bath": BathArrays if cell or driven else None}
    results = {
        "total": Outputs.only("energy", "virial"),
        "outputs": tuple(Outputs for _ in groups) if number > 1 else (),
    }

    @kernel(
        types, **(system | bathed_outside), **results, ends_run=Number("i32", "1 where the forces end a run")
    )
    def evaluate(atoms, verlet, listed_at, groups, control, bath, reach, total, outputs, ends_run):
        """Energy, force and 3x3 virial of each atom at the present positions; nothing with an outdated list."""
        ends = [ends_of(k, atoms.n, verlet.shifts.shape[0]) for k in ti.static(range(number))]
        views = [
            view(atoms.n, atoms, verlet, listed_at, groups[k], ends[k], ends_run)
            for k in ti.static(range(number))
        ]
        s = step_view(atoms, verlet, listed_at, views, control, bath, reach, 0, None)
        all_of = Outputs(total.energy, atoms.force, total.virial)
        outs = outputs if ti.static(number > 1) else (all_of,)
        cut(seldom, s)
        flags.open_finish(ends_run, control)
        for k in ti.static(range(number)):
            seldom[k].both_passes(views[k], outs[k], control, HELD, ALL, s.bath, s.bath)
            if ti.static(driven and not groups_[k].terms.many_body):
                # Of pairs steps sum another virial, which rounds in another way: as they do.
                forces[k].first_pass(views[k], outs[k], control, HELD, tally, s.bath, s.bath)
        if ti.static(number > 1):
            for i in range(atoms.n):
                if control[HELD] == 0:
                    f, e, w = outputs[0].force[i], outputs[0].energy[i], load_matrix(outputs[0].virial, i)
                    for k in ti.static(range(1, number)):
                        f += outputs[k].force[i]
                        e += outputs[k].energy[i]
                        w += load_matrix(outputs[k].virial, i)
                    atoms.force[i] = f
                    total.energy[i] = e
                    store_matrix(total.virial, i, w)

    @kernel(types, atoms=Atoms.only("n", "vel", "force", "inverse_mass"), control=CONTROL, dt=Number("real", "time step"))  # fmt: skip
    def last_kick(atoms, control, dt):
        """The last half kick of a run, behind an evaluation at its end."""
        for i in range(atoms.n):
            if control[HELD] == 0:
                atoms.vel[i] += (0.5 * dt * atoms.inverse_mass[i]) * atoms.force[i]

    @kernel(types, **system, **results, n=Number("i32", "number of atoms; 0: only compile"))
    def tally_virial(atoms, verlet, listed_at, groups, control, bath, reach, total, outputs, n):
        """The virial that `close_step` acts upon, behind `evaluate`: of pairs with the sums of a step, which round in another way."""
        ends = [ends_of(k, n, verlet.shifts.shape[0]) for k in ti.static(range(number))]
        views = [view(n, atoms, verlet, listed_at, groups[k], ends[k]) for k in ti.static(range(number))]
        outs = outputs if ti.static(number > 1) else (Outputs(total.energy, atoms.force, total.virial),)
        for k in ti.static(range(number)):
            if ti.static(groups_[k].terms.many_body):
                for i in range(n):
                    thermostat.add_virial(i, n, load_matrix(outs[k].virial, i), bath.ledger)
            else:
                forces[k].first_pass(views[k], outs[k], control, REBUILD, tally, bath.ledger, bath.bath)

    @kernel(types, atoms=Atoms.only("n", "pos"), **listed, control=CONTROL, **bathed_outside, reach=Reach.only("most_near2"))  # fmt: skip
    def moved(atoms, listed_at, control, bath, reach):
        """Displacement test after positions were set from outside."""
        for i in range(atoms.n):
            if (
                thermostat.strayed(atoms.pos[i], listed_at[i], reach.most_near2, near_list, bath_of(bath))
                == 1
            ):
                control[outdated] = 1

    outside = SimpleNamespace(evaluate=evaluate, last_kick=last_kick, moved=moved)
    if coupling != coupling.outside_steps:
        outside = step_kernels(
            groups, real, term, backend, unroll, blocks, coupling.outside_steps, search, fused_wanted, carried
        )
    return SimpleNamespace(
        open_step=open_step,
        steps=steps,
        evaluate=outside.evaluate,
        last_kick=outside.last_kick,
        moved=outside.moved,
        tally_virial=tally_virial if cell else None,
        close_step=thermostat.close_step,
        listed=thermostat.listed if cell else None,
    )
