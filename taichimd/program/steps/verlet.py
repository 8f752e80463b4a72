"""Velocity Verlet, whole steps on the device.

    v += h a,  x += dt v,  a = F(x)/m,  v += h a,      h = dt/2

A run begins with `open_step` (first half kick and drift), continues with `steps`, each (forces, half kick,
half kick, drift), and ends with `finish` (forces, half kick; energies and virials). Between the first and
the last a step of pairs costs one parallel loop on a GPU and two on a CPU, one of three-body terms two or
three. Where the last of them reads positions of neighbours and yet moves its atom, every other step moves
atoms from `pos` to a spare array, and the next one back (`variants`). Every atom checks its displacement
after each drift; when one has moved too far for the near list, the rest of the call does nothing, or filters
it again, or waits for the host to rebuild. No step is done with an outdated list, none is done twice.

Under quadrants `steps` is a CUDA graph that loops on the device until the host is needed. Taichi has no such
loop: there a call holds several steps, unrolled.

A thermostat that acts on each atom alone takes part in the drift. One that acts on the whole system needs the
kinetic energy between the two half kicks: there the second loop becomes two, with a serial part in between
(`thermostats`). A barostat adds the virial to what is summed, and the deformation of the cell to the drift
(`barostats`). A driving force F_e adds W_i^T F_e to each force and takes the drift of the centre of mass out
where thermostats act. Without them the kernels are those of NVE, to the last instruction.

W. C. Swope, H. C. Andersen, P. H. Berens, K. R. Wilson, J. Chem. Phys. 76, 637 (1982),
doi:10.1063/1.442716.
"""

from dataclasses import dataclass
from functools import cache

from taichimd.core.arguments import Kernel, KernelQueue, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.ensembles.held import without_held
from taichimd.ensembles.thermostats.layout import FIRST, OPENS
from taichimd.neighbours.control import BY_HOST, NONE, Control
from taichimd.neighbours.kernels import list_kernels
from taichimd.neighbours.rows import VerletRows, row_layout
from taichimd.neighbours.sorted_atoms import Search
from taichimd.program.compiled import compiled_groups, step_view
from taichimd.program.evaluation import evaluation_kernels
from taichimd.program.steps.split import split_call
from taichimd.program.steps.step import step_functions
from taichimd.program.variant import LoopFlags, SystemTables, Variant
from taichimd.system.cell import VERLET_LIST
from taichimd.system.state import CARRIED, SPARE_ATOMS, Atoms


@dataclass(frozen=True)
class StepKernels:
    """The kernels of a run."""

    open_step: Kernel  # first half kick and drift
    steps: KernelQueue  # steps of a call, or all until the host is needed
    evaluate: KernelQueue  # see `EvaluationKernels`
    last_kick: Kernel  # ends a run
    moved: Kernel  # see `EvaluationKernels`
    cut_lists: KernelQueue  # see `EvaluationKernels`
    tally_virial: KernelQueue | None  # see `EvaluationKernels`
    close_step: Kernel | None  # what acts on the whole system after an evaluation at the end of a run
    listed: Kernel | None  # tells a moving cell of new lists; None of a cell at rest


@cache
def step_kernels(variant: Variant, search: Search | None, fused: bool, carried: int) -> StepKernels:
    """Kernels for one set of terms and one precision; reused by every engine with the same.

    `search`: of loops on the device, or None; `carried`: number of arrays that contributions keep with the
    atoms.
    """
    real, coupling, groups = variant.real, variant.coupling, variant.groups
    drives = coupling.drives
    types = types_of(real, variant.term, search.real if search else None)
    program = compiled_groups(variant)
    forces, flags, thermostat, cell = program.forces, program.flags, program.thermostat, coupling.moves_cell
    box, cut, views, unfit = program.box, program.cut, program.views, program.unfit
    rebuild = list_kernels(real, search or Search(real), row_layout(variant.backend), carried).rebuild
    stepping = step_functions(program, variant, fused)
    some_steps, bring_back, acting_step = stepping.some_steps, stepping.bring_back, stepping.acting_step
    drift, acts_every_period, all_pairs = stepping.drift, coupling.acts_every_period, groups[0].all_pairs
    more = (CARRIED,) * carried
    dt_of = Number("real", "time step")
    begins = variant.system(
        atoms=Atoms.only("n", "pos", "vel", "force", "inverse_mass", "ident"),
        verlet=VerletRows.only("shift_bits", "shifts"),
        groups=None,
    )

    @kernel(
        types, system=begins, steps_to_do=Number("i32", "steps after this one"), first=Number("i64",
        "number of this step"), ahead=Number("i32", "runs that are queued before it"), dt=dt_of
    )  # fmt: skip
    def open_step(system, steps_to_do, first, ahead, dt):
        """First half kick and drift of a run from step `first`. Launch: one thread per atom.

        If a run that is queued before it is not at its end, nothing is done before the host has looked.
        """
        s = step_view(system, (), dt)
        atoms, opens = s.atoms, 1
        if ahead > 0 and s.control[Control.held] != 0:
            opens = 0
            s.control[Control.rebuild] = BY_HOST
        else:
            s.control[Control.built_at] -= s.control[Control.done] + 1
            if ahead == 0:
                s.control[Control.built_at] = 0
            s.control[Control.opened] = ahead + 1
            s.control[Control.remaining] = steps_to_do
            s.control[Control.done] = 0
            s.control[Control.blown] = NONE
            if ti.static(coupling.counts_steps):
                s.bath.ledger[FIRST] = first
                s.bath.ledger[OPENS] = first
            if ti.static(coupling.local):
                thermostat.prepare(dt, s.bath)
        deforming = 0
        if ti.static(cell):
            deforming = thermostat.due(first) * opens
            flags.deform_all(deforming, s.control, Control.frozen, s.cells)
        if ti.static(drives.centres):
            for row in range(program.drives.rows_of(s.drives)):
                program.drives.settle(row, first, False, False, True, s.drives)
        for i in range(atoms.n * opens):
            if ti.static(drives.works):
                program.drives.work(
                    i, atoms.n, atoms.ident[i], atoms.pos[i], atoms.force[i], atoms.inverse_mass[i], first,
                    False, True, s.drives
                )  # fmt: skip
            if ti.static(cell):
                if deforming == 1:
                    box.shift(i, atoms.n, s.shift_bits, s.shifts, s.cells)
            if ti.static(coupling.corrects):
                by = thermostat.displaced(
                    atoms.vel[i], atoms.force[i], atoms.inverse_mass[i], atoms.ident[i], dt, s.bath
                )
                if ti.static(coupling.holds):
                    by = without_held(by, s.held[atoms.ident[i]])
                atoms.pos[i] += by
            v = atoms.vel[i] + (0.5 * dt * atoms.inverse_mass[i]) * atoms.force[i]
            atoms.vel[i] = v
            drift(i, v, 0, deforming, s, atoms.pos, Control.frozen)

    if variant.split:
        steps = split_call(variant, program, stepping)

    elif variant.loops:

        @kernel(
            types, graph=True, system=variant.system(), outputs=variant.outputs, sort=search.sorted, own=more,
            old=SPARE_ATOMS, old_own=more, loops=LoopFlags, dt=dt_of
        )  # fmt: skip
        def steps(system, outputs, sort, own, old, old_own, loops, dt):
            """Steps on the device until none remain or the host has to rebuild lists.

            Launch: one thread per atom.
            """
            s = step_view(system, views(system, system.atoms.n), dt, sort)
            outs = outputs if ti.static(variant.adds_groups) else (s.out,)
            while ti.graph.do_while(loops.building):
                while ti.graph.do_while(loops.cutting):
                    cut(forces, s)
                    flags.open_call(s.control, loops.going, None, s.bath)
                    if ti.static(acts_every_period):
                        # A loop of its own: a cut costs time even where there is nothing to cut.
                        while ti.graph.do_while(loops.acting):
                            while ti.graph.do_while(loops.going):
                                some_steps(s, old.pos, outs)
                                flags.limit_age(loops.most_age, s.control)
                                flags.open_call(s.control, loops.going, None, s.bath)
                            bring_back(s, old.pos)
                            acting_step(s, outs)
                            flags.open_call(s.control, loops.going, loops.acting, s.bath)
                    else:
                        while ti.graph.do_while(loops.going):
                            some_steps(s, old.pos, outs)
                            flags.limit_age(loops.most_age, s.control)
                            flags.open_call(s.control, loops.going, None, s.bath)
                        bring_back(s, old.pos)
                    flags.close_call(s.control, loops.cutting)
                s.control[Control.building] = 0
                too_little = unfit(s)
                if (
                    s.control[Control.rebuild] == 1 and s.control[Control.blown] == NONE
                    and s.control[Control.builds] < loops.builds_allowed and too_little == 0
                ):  # fmt: skip
                    s.control[Control.building] = 1
                if ti.static(cell):
                    box.lay_out(s.control, sort, s.cells)
                if ti.static(not all_pairs):
                    rebuild(
                        s.n * s.control[Control.building], s.atoms, own, old, old_own, system.verlet,
                        s.control, sort, False
                    )  # fmt: skip
                loops.building[None] = 0
                if s.control[Control.building] == 1:
                    s.control[Control.builds] += 1
                    s.control[Control.built_at] = s.control[Control.done]
                    if ti.static(cell):
                        box.forget(VERLET_LIST, s.cells)
                    loops.building[None] = 1 - s.control[Control.rebuild]

    else:

        @kernel(types, graph=True, **variant.of_call)
        def steps(system, outputs, sort, old, loops, dt):
            """A call: up to `unroll` steps, and one in which a barostat acts. Launch: one thread per atom."""
            s = step_view(system, views(system, system.atoms.n), dt, sort)
            outs = outputs if ti.static(variant.adds_groups) else (s.out,)
            cut(forces, s)
            flags.count_call(s.control)
            flags.open_call(s.control, loops.going, None, s.bath)
            some_steps(s, old.pos, outs)
            bring_back(s, old.pos)
            if ti.static(acts_every_period and not variant.queued):
                flags.open_call(s.control, loops.going, None, s.bath)
            acting_step(s, outs)

    ends = SystemTables.only("control", atoms=Atoms.only("n", "vel", "force", "inverse_mass"))

    @kernel(types, system=ends, dt=dt_of)
    def last_kick(system, dt):
        """The last half kick of a run, after an evaluation at its end."""
        atoms = system.atoms
        for i in range(atoms.n):
            if system.control[Control.held] == 0:
                atoms.vel[i] += (0.5 * dt * atoms.inverse_mass[i]) * atoms.force[i]

    outside = evaluation_kernels(variant.outside_steps)
    if variant != variant.outside_steps:
        last_kick = step_kernels(variant.outside_steps, search, fused, carried).last_kick
    return StepKernels(
        open_step=open_step,
        steps=steps,
        evaluate=outside.evaluate,
        last_kick=last_kick,
        moved=outside.moved,
        cut_lists=evaluation_kernels(variant).cut_lists,
        tally_virial=evaluation_kernels(variant).tally_virial if cell else None,
        close_step=thermostat.close_step,
        listed=box.listed if cell else None,
    )
