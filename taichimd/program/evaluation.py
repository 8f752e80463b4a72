"""The kernels that evaluate all groups of a force field without a step."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, KernelQueue, Number, fit, kernel
from taichimd.core.runtime import ti
from taichimd.enumerate.access import load_matrix, store_matrix
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.reproducible_sum import ALL
from taichimd.neighbours.control import Control
from taichimd.program.compiled import closing, compiled_groups, cutting_kernels, only, step_view
from taichimd.program.variant import Reach, SystemTables, Variant
from taichimd.system.state import Atoms


@dataclass(frozen=True)
class EvaluationKernels:
    """Kernels that know no step."""

    evaluate: KernelQueue  # energies, forces and virials
    tally_virial: KernelQueue | None  # the virial that a barostat acts upon; None without one
    moved: Kernel  # displacement test after positions were set from outside
    cut_lists: KernelQueue  # near lists that are fit


@cache
def evaluation_kernels(variant: Variant, want: int = ALL) -> EvaluationKernels:
    """Kernels that know no step; `want`: `ALL`, or `FORCE` for forces alone."""
    program, types, near_list = compiled_groups(variant), variant.types, variant.near_list
    cell, outdated = variant.coupling.moves_cell, Control.stale if near_list else Control.rebuild
    strains = variant.cells("strain", "lost")
    somewhere = SystemTables.only(
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

    return EvaluationKernels(
        evaluate=_evaluate(variant, want),
        tally_virial=_tally_virial(variant) if cell else None,
        moved=moved,
        cut_lists=_cut_lists(variant),
    )


def _cut_lists(variant: Variant) -> KernelQueue:
    """Near lists that are fit for the positions, for kernels that are queued before those of a step."""
    program = compiled_groups(variant)

    if not variant.split and fit(system=variant.system()):

        @kernel(variant.types, system=variant.system())
        def cut_lists(system):
            s = step_view(system, program.views(system, system.atoms.n))
            program.cut(program.forces, s)

        return cut_lists

    @kernel(variant.types, system=closing(variant))
    def close_cuts(system):
        program.close_cuts(step_view(system, system.groups))

    return KernelQueue(["system"], [*cutting_kernels(variant.outside_steps), close_cuts])


def _evaluate(variant: Variant, want: int) -> KernelQueue:
    """Energy, force and 3x3 virial of each atom at the present positions; nothing with an outdated list."""
    groups, program, types = variant.groups, compiled_groups(variant), variant.types
    number, flags, driven = len(groups), program.flags, variant.coupling.driven
    many_body = _many_body(variant)
    bath = variant.coupling.arrays if driven else None
    given: dict[str, Any] = {
        "system": variant.system(bath=bath, cells=variant.cells("strain", "lost")),
        "total": Outputs.only("energy", "virial"),
        "outputs": tuple(Outputs for _ in groups) if variant.adds_groups else (),
        "ends_run": Number("i32", "1 where the forces end a run"),
    }

    @ti.func
    def of_group(k: ti.template(), s: ti.template(), out: ti.template()):
        program.of_evaluations[k].all_stages(s.groups[k], out, s.control, Control.held, want, s.bath)
        if ti.static(driven and not many_body[k]):
            # Of pairs steps sum another virial, which rounds in another way: as they do.
            program.forces[k].first_stage(s.groups[k], out, s.control, Control.held, program.tally, s.bath)

    @ti.func
    def add_up(atoms: ti.template(), control: ti.template(), total: ti.template(), outputs: ti.template()):
        for i in range(atoms.n):
            if control[Control.held] == 0:
                f = outputs[0].force[i]
                for k in ti.static(range(1, number)):
                    f += outputs[k].force[i]
                atoms.force[i] = f
                if ti.static(want == ALL):
                    e, w = outputs[0].energy[i], load_matrix(outputs[0].virial, i)
                    for k in ti.static(range(1, number)):
                        e += outputs[k].energy[i]
                        w += load_matrix(outputs[k].virial, i)
                    total.energy[i] = e
                    store_matrix(total.virial, i, w)

    if not variant.split and fit(**given):

        @kernel(types, **given)
        def evaluate(system, total, outputs, ends_run):
            s = step_view(system, program.views(system, system.atoms.n, ends_run))
            program.cut(program.of_evaluations, s)
            flags.open_finish(ends_run, s.control)
            if ti.static(not variant.adds_groups):
                of_group(0, s, Outputs(total.energy, system.atoms.force, total.virial))
            else:
                for k in ti.static(range(number)):
                    of_group(k, s, outputs[k])
                add_up(s.atoms, s.control, total, outputs)

        return evaluate

    @kernel(types, system=closing(variant), ends_run=given["ends_run"])
    def open_all(system, ends_run):
        s = step_view(system, system.groups)
        program.close_cuts(s)
        flags.open_finish(ends_run, s.control)

    def one_group(k: int) -> Any:
        its = tuple(group.arguments for group in groups)
        system, outputs = variant.system(groups=only(k, its), bath=bath, cells=None), given["outputs"]

        @kernel(types, system=system, outputs=only(k, outputs), ends_run=given["ends_run"])
        def forces(system, outputs, ends_run):
            s = step_view(system, program.views(system, system.atoms.n, ends_run))
            of_group(k, s, outputs[k])

        return forces

    whole = SystemTables.only("control", atoms=Atoms.only("n", "force"))

    @kernel(types, system=whole, total=given["total"], outputs=given["outputs"])
    def sum_of_all(system, total, outputs):
        add_up(system.atoms, system.control, total, outputs)

    cuts = cutting_kernels(variant.outside_steps)
    return KernelQueue(given, [*cuts, open_all, *(one_group(k) for k in range(number)), sum_of_all])


def _tally_virial(variant: Variant) -> KernelQueue:
    """The virial for `close_step`, after `evaluate`; pair terms are summed as in a step."""
    groups, program, types = variant.groups, compiled_groups(variant), variant.types
    number, many_body = len(groups), _many_body(variant)
    its = tuple(group.arguments for group in groups)
    given: dict[str, Any] = {
        "total": Outputs.only("energy", "virial"),
        "outputs": tuple(Outputs for _ in groups) if variant.adds_groups else (),
        "n": Number("i32", "number of atoms; 0: only compile"),
    }

    def one_group(k: int) -> Any:
        outputs = only(k, given["outputs"]) if variant.adds_groups else ()
        total = None if variant.adds_groups else given["total"]
        system = variant.system(groups=only(k, its), cells=None)

        @kernel(types, system=system, total=total, outputs=outputs, n=given["n"])
        def tally_virial(system, total, outputs, n):
            s = step_view(system, program.views(system, n))
            if ti.static(not variant.adds_groups):
                add(s, n, Outputs(total.energy, system.atoms.force, total.virial))
            else:
                add(s, n, outputs[k])

        @ti.func
        def add(s: ti.template(), n, out: ti.template()):
            if ti.static(many_body[k]):
                for i in range(n):
                    program.thermostat.add_virial(i, n, load_matrix(out.virial, i), s.bath)
            else:
                program.forces[k].first_stage(
                    s.groups[k], out, s.control, Control.rebuild, program.tally, s.bath
                )

        return tally_virial

    return KernelQueue(["system", *given], [one_group(k) for k in range(number)])


def tally_writes_forces(variant: Variant) -> bool:
    """Whether `tally_virial` writes the forces of the potential once more, without those of drives."""
    return not variant.adds_groups and not _many_body(variant)[0]


def _many_body(variant: Variant) -> list[bool]:
    """Whether each group stores the virial of each atom in steps."""
    return [
        bool(group.terms.many_body or group.terms.passes or group.terms.queued) for group in variant.groups
    ]
