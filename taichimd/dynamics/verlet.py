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

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.runtime import DEVICE_LOOPS, ti
from taichimd.dynamics.coupling import Coupling
from taichimd.dynamics.step import step_functions
from taichimd.dynamics.thermostats.layout import FIRST, OPENS
from taichimd.enumerate.group import Group, view
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
)
from taichimd.neighbours.kernels import list_kernels
from taichimd.neighbours.rows import VerletRows, row_layout
from taichimd.neighbours.search import Search, Sorted
from taichimd.program.compiled import LISTED_AT, Reach, compiled_groups, evaluation_kernels, step_view
from taichimd.program.forces import Outputs
from taichimd.system.state import CARRIED, SPARE_ATOMS, Atoms


class LoopFlags(Bundle):
    """Of loops on the device: whether each goes on."""

    going: Any = Array("i32", "", "steps")
    acting: Any = Array("i32", "", "actions of a barostat")
    cutting: Any = Array("i32", "", "cuts")
    building: Any = Array("i32", "", "builds")
    builds_allowed: Any = Number("i32", "builds before the host looks")
    most_age: Any = Number("i32", "steps after which a list is built anew")


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
    types, number = types_of(real, term, search.real if search else None), len(groups)
    made_for = groups, real, term, backend, unroll, blocks
    program = compiled_groups(*made_for, coupling)
    forces, flags, thermostat, cell = program.forces, program.flags, program.thermostat, coupling.moves_cell
    cut, ends_of, unfit, system = program.cut, program.ends_of, program.unfit, program.arguments
    rebuild = list_kernels(real, search or Search(real), row_layout(backend), carried).rebuild
    stepping = step_functions(program, groups, types["vec"], backend, unroll, coupling, fused)
    some_steps, bring_back, acting_step = stepping.some_steps, stepping.bring_back, stepping.acting_step
    drift, sometimes, all_pairs = stepping.drift, flags.sometimes, groups[0].all_pairs
    # A group alone leaves its forces with the atoms.
    outputs_of = tuple(Outputs.only("force") for _ in groups) if number > 1 else ()
    more = (CARRIED,) * carried

    @kernel(types, atoms=Atoms.only("n", "pos", "vel", "force", "inverse_mass", "ident"), verlet=VerletRows.only("shift_bits", "shifts"), listed_at=LISTED_AT, control=CONTROL, bath=system["bath"], reach=Reach, steps_to_do=Number("i32", "steps behind this one"), first=Number("i64", "number of this step"), dt=Number("real", "time step"))  # fmt: skip
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
                too_little = unfit(s)
                if control[REBUILD] != 0 and control[BLOWN] == NONE and control[BUILDS] < loops.builds_allowed and too_little == 0:  # fmt: skip
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

    @kernel(types, atoms=Atoms.only("n", "vel", "force", "inverse_mass"), control=CONTROL, dt=Number("real", "time step"))  # fmt: skip
    def last_kick(atoms, control, dt):
        """The last half kick of a run, behind an evaluation at its end."""
        for i in range(atoms.n):
            if control[HELD] == 0:
                atoms.vel[i] += (0.5 * dt * atoms.inverse_mass[i]) * atoms.force[i]

    outside = evaluation_kernels(*made_for, coupling.outside_steps)
    if coupling != coupling.outside_steps:
        last_kick = step_kernels(*made_for, coupling.outside_steps, search, fused, carried).last_kick
    return SimpleNamespace(
        open_step=open_step,
        steps=steps,
        evaluate=outside.evaluate,
        last_kick=last_kick,
        moved=outside.moved,
        tally_virial=evaluation_kernels(*made_for, coupling).tally_virial if cell else None,
        close_step=thermostat.close_step,
        listed=thermostat.listed if cell else None,
    )
