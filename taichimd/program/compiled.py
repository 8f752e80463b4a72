"""All groups of a force field as device functions, and the kernels that evaluate them without a step."""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Number, View, device_helper, kernel
from taichimd.core.runtime import DEVICE_LOOPS, ti
from taichimd.dynamics.bath_arrays import BathArrays
from taichimd.dynamics.coupling import coupling_functions
from taichimd.dynamics.moving_cell import cell_functions
from taichimd.dynamics.step_flags import pass_functions
from taichimd.enumerate.access import load_matrix, store_matrix
from taichimd.enumerate.group import GroupView, view
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.passes import passes_functions
from taichimd.enumerate.queued import queued_functions
from taichimd.enumerate.reproducible_sum import ALL, DIAGONAL, FORCE, SYMMETRIC, TRACE
from taichimd.neighbours.control import HELD, REBUILD, STALE
from taichimd.neighbours.prune import close_cut_function
from taichimd.neighbours.rows import whole_warps
from taichimd.program.forces import force_functions
from taichimd.program.variant import Reach, System, Variant
from taichimd.system.cell import Cells
from taichimd.system.state import Atoms


class StepView(View):
    """All that a step knows, as device functions take it.

    Attributes:
        n: number of atoms. dt: time step, internal units. reach: `Reach`. atoms: `Atoms`.
        shifts, shift_bits: of the images. listed_at: positions from which displacements count.
        control, ledger, bath, cells: see there. sort: `Sorted`, in loops on the device. groups: `GroupView`s.
        out: where the forces of a single group go.
    """

    def elsewhere(self, pos: Any) -> Any:
        """The same with other positions."""
        groups = [group.at(pos) for group in self.groups]
        return StepView(**{**vars(self), "atoms": self.atoms.at(pos), "groups": groups})


@device_helper
def step_view(system: Any, groups: Any, dt: Any = 0, sort: Any = None) -> StepView:
    """A `StepView` of a kernel's arguments, at its compilation."""
    atoms, verlet, bath = system.atoms, system.verlet, system.bath
    return StepView(
        n=atoms.n, dt=dt, reach=system.reach, atoms=atoms, shifts=verlet.shifts, shift_bits=verlet.shift_bits,
        listed_at=system.listed_at, control=system.control, ledger=bath and bath.ledger,
        bath=bath and bath.bath, cells=system.cells, sort=sort, groups=groups, out=Outputs(force=atoms.force),
    )  # fmt: skip


@device_helper
def at_positions(s: StepView, pos: Any) -> StepView:
    """A step with other positions."""
    return s.elsewhere(pos)


@cache
def compiled_groups(variant: Variant) -> Any:
    """Device functions of all groups.

    Returns:
        forces: of each group, those of steps; seldom: those of evaluations, which compile sooner. cut: a device function.
        unfit: whether near lists have too little room. thermostat, box, flags: functions of these. tally: what of the virial
        steps need. views: makes `GroupView`s of a kernel's arguments, at its compilation.
    """
    groups, coupling, unroll = variant.groups, variant.coupling, variant.unroll
    thermostat = coupling_functions(coupling, variant.real, variant.on_gpu)
    box = cell_functions(variant.real, coupling.moves_cell)
    driven, near_list = coupling.driven, variant.near_list
    tally = {0: FORCE, 1: TRACE, 3: DIAGONAL, 6: SYMMETRIC}[
        thermostat.parts if box.moves else 6 if driven else 0
    ]

    def functions(straight: bool) -> list[Any]:
        made = []
        for group in groups:
            if group.terms.queued:
                made.append(queued_functions(group, variant, thermostat, box))
            elif group.terms.passes:
                made.append(passes_functions(group, variant, thermostat, box))
            else:
                made.append(force_functions(group, variant, thermostat, box, straight))
        return made

    forces = functions(DEVICE_LOOPS or unroll == 1)
    # Unrolled code takes longest to compile, and pays where it runs often: not in evaluations, nor where a barostat acts.
    seldom = forces if variant.on_gpu else functions(False)
    number = len(groups)
    close_cut = close_cut_function(box)

    @ti.func
    def ends_of(k: ti.template(), n, images):
        """The last three numbers of a `GroupView`, worked out at the top: elsewhere each costs a GPU a kernel of one thread."""
        threads, lanes = ti.static(forces[k].cutters, groups[k].threads_per_atom)
        return n + images, whole_warps(n * threads) if ti.static(threads > 1) else n, whole_warps(n * lanes)

    @device_helper
    def views(system: Any, n: Any, stepping: Any = 1) -> list[GroupView]:
        ends = [ends_of(k, n, system.verlet.shifts.shape[0]) for k in range(number)]
        return [view(n, system, system.groups[k], ends[k], stepping) for k in range(number)]

    @ti.func
    def unfit(s: ti.template()):
        """Whether near lists have too little room. Serial."""
        yes = 0
        for k in ti.static(range(number)):
            yes |= forces[k].unfit(s.groups[k].near.width, s.control)
        return yes

    @ti.func
    def cut(those: ti.template(), s: ti.template()):
        """Near lists that are fit for the positions, cut from the Verlet list."""
        if ti.static(near_list):
            for k in ti.static(range(number)):
                those[k].cut(s.groups[k], s.reach.most_drift2, s.control, s.cells)
            close_cut(unfit(s), s.control, s.cells)

    return SimpleNamespace(
        forces=forces, seldom=seldom, cut=cut, unfit=unfit, thermostat=thermostat, box=box, tally=tally, views=views,
        flags=pass_functions(coupling, thermostat, box, near_list, unroll),
    )  # fmt: skip


@cache
def evaluation_kernels(variant: Variant, want: int = ALL) -> Any:
    """Kernels that know no step: `evaluate`, `tally_virial`, `moved`, `cut_lists`.

    Args:
        variant: what they are compiled for.
        want: of `enumerate.reproducible_sum`: `ALL`, or `FORCE` for forces alone.
    """
    groups, coupling, near_list, types = variant.groups, variant.coupling, variant.near_list, variant.types
    program, number = compiled_groups(variant), len(groups)
    forces, seldom, tally, flags, thermostat = (
        program.forces, program.seldom, program.tally, program.flags, program.thermostat,
    )  # fmt: skip
    cut, views = program.cut, program.views
    cell, driven = coupling.moves_cell, coupling.driven
    outdated = STALE if near_list else REBUILD
    # What leaves the virial of steps with each atom.
    many_body = [g.terms.many_body or g.terms.passes or g.terms.queued for g in groups]
    strains = Cells.only("strain", "lost") if cell else None
    results = {
        "total": Outputs.only("energy", "virial"),
        "outputs": tuple(Outputs for _ in groups) if number > 1 else (),
    }

    @device_helper
    def outputs_of(system: Any, total: Any, outputs: Any) -> Any:
        return outputs if number > 1 else (Outputs(total.energy, system.atoms.force, total.virial),)

    @kernel(
        types,
        system=variant.system(bath=BathArrays if driven else None, cells=strains),
        **results,
        ends_run=Number("i32", "1 where the forces end a run"),
    )
    def evaluate(system, total, outputs, ends_run):
        """Energy, force and 3x3 virial of each atom at the present positions; nothing with an outdated list."""
        s = step_view(system, views(system, system.atoms.n, ends_run))
        outs = outputs_of(system, total, outputs)
        if ti.static(not groups[0].foreign):
            cut(seldom, s)
        flags.open_finish(ends_run, s.control)
        for k in ti.static(range(number)):
            seldom[k].both_passes(s.groups[k], outs[k], s.control, HELD, want, s.bath, s.bath)
            if ti.static(driven and not many_body[k]):
                # Of pairs steps sum another virial, which rounds in another way: as they do.
                forces[k].first_pass(s.groups[k], outs[k], s.control, HELD, tally, s.bath, s.bath)
        if ti.static(number > 1):
            for i in range(s.n):
                if s.control[HELD] == 0:
                    f = outputs[0].force[i]
                    for k in ti.static(range(1, number)):
                        f += outputs[k].force[i]
                    s.atoms.force[i] = f
                    if ti.static(want == ALL):
                        e, w = outputs[0].energy[i], load_matrix(outputs[0].virial, i)
                        for k in ti.static(range(1, number)):
                            e += outputs[k].energy[i]
                            w += load_matrix(outputs[k].virial, i)
                        total.energy[i] = e
                        store_matrix(total.virial, i, w)

    @kernel(
        types,
        system=variant.system(cells=None),
        **results,
        n=Number("i32", "number of atoms; 0: only compile"),
    )
    def tally_virial(system, total, outputs, n):
        """The virial that `close_step` acts upon, behind `evaluate`: of pairs with the sums of a step, which round in another way."""
        s = step_view(system, views(system, n))
        outs = outputs_of(system, total, outputs)
        for k in ti.static(range(number)):
            if ti.static(many_body[k]):
                for i in range(n):
                    thermostat.add_virial(i, n, load_matrix(outs[k].virial, i), s.ledger)
            else:
                forces[k].first_pass(s.groups[k], outs[k], s.control, REBUILD, tally, s.ledger, s.bath)

    @kernel(types, system=variant.system())
    def cut_lists(system):
        """Near lists that are fit for the positions, for kernels that are queued before those of a step."""
        cut(forces, step_view(system, views(system, system.atoms.n)))

    somewhere = System.only(
        "listed_at", "control", atoms=Atoms.only("n", "pos"), cells=strains, reach=Reach.only("most_near2")
    )

    @kernel(types, system=somewhere)
    def moved(system):
        """Displacement test after positions were set from outside."""
        atoms, most2 = system.atoms, system.reach.most_near2
        for i in range(atoms.n):
            x, x0 = atoms.pos[i], system.listed_at[i]
            if program.box.strayed(i, x, x0, most2, near_list, system.cells) == 1:
                system.control[outdated] = 1

    return SimpleNamespace(
        evaluate=evaluate, tally_virial=tally_virial if cell else None, moved=moved, cut_lists=cut_lists
    )
