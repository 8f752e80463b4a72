"""All groups of a force field as device functions, and what kernels of one group each have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, Selection, View, device_helper, kernel
from taichimd.core.runtime import DeviceFunction, ti
from taichimd.ensembles.coupling import coupling_functions
from taichimd.ensembles.drives.functions import DriveFunctions, drive_functions
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.ensembles.moving_cell import CellFunctions, cell_functions
from taichimd.enumerate.group import GroupFunctions, GroupView, view
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.passes import passes_functions
from taichimd.enumerate.queued import queued_functions
from taichimd.enumerate.reproducible_sum import DIAGONAL, FORCE, SYMMETRIC, TRACE
from taichimd.neighbours.near_list import GroupArrays
from taichimd.neighbours.prune import close_cut_function
from taichimd.neighbours.rows import NearRows, VerletRows, whole_warps
from taichimd.program.forces import force_functions
from taichimd.program.steps.flags import CallFunctions, pass_functions
from taichimd.program.variant import Variant
from taichimd.system.state import Atoms


class StepView(View):
    """All that a step knows, as device functions take it.

    Attributes:
        n: number of atoms. dt: time step, internal units. reach: `Reach`. atoms: `Atoms`.
        shifts, shift_bits: of the images. listed_at: positions from which displacements count.
        control, bath, cells, held, drives: see there. sort: `Sorted`, in loops on the device.
        groups: `GroupView`s. out: where the forces of a single group go.
    """

    atoms: Any
    groups: Any

    def elsewhere(self, pos: Any) -> Any:
        """The same with other positions."""
        groups = [group.at(pos) for group in self.groups]
        return StepView(**{**vars(self), "atoms": self.atoms.at(pos), "groups": groups})


@device_helper
def step_view(system: Any, groups: Any, dt: Any = 0, sort: Any = None) -> StepView:
    """A `StepView` of a kernel's arguments, at its compilation."""
    atoms, verlet = system.atoms, system.verlet
    return StepView(
        n=atoms.n, dt=dt, reach=system.reach, atoms=atoms, shifts=verlet.shifts, shift_bits=verlet.shift_bits,
        listed_at=system.listed_at, control=system.control, bath=system.bath, cells=system.cells,
        held=system.held, drives=system.drives, sort=sort, groups=groups, out=Outputs(force=atoms.force),
    )  # fmt: skip


@device_helper
def at_positions(s: StepView, pos: Any) -> StepView:
    """A step with other positions."""
    return s.elsewhere(pos)


@dataclass(frozen=True)
class CompiledGroups:
    """Device functions of all groups, and of what else a step consists of."""

    forces: tuple[GroupFunctions, ...]  # of each group, those of steps
    # of each group, those of evaluations and of a barostat's step, which compile sooner
    of_evaluations: tuple[GroupFunctions, ...]
    # near lists of all groups that are fit for the positions; takes `forces` or `of_evaluations`
    cut: DeviceFunction
    close_cuts: DeviceFunction  # ends cuts
    unfit: DeviceFunction  # whether near lists have too little room
    thermostat: EnsembleFunctions  # of what acts on atoms
    box: CellFunctions  # of the cell
    flags: CallFunctions  # which steps are to be done
    tally: int  # what of the virial steps need (`enumerate.reproducible_sum`)
    # makes `GroupView`s of a kernel's arguments, at its compilation
    views: Callable[..., list[GroupView | None]]
    drives: DriveFunctions | None = None  # functions of drives, or None


@cache
def compiled_groups(variant: Variant) -> CompiledGroups:
    """Device functions of all groups of a variant."""
    groups, coupling, unroll = variant.groups, variant.coupling, variant.unroll
    thermostat = coupling_functions(coupling, variant.real, variant.on_gpu)
    box = cell_functions(variant.real, coupling.moves_cell, coupling.batch, coupling.deforms)
    driven, near_list = coupling.driven, variant.near_list
    tally = {0: FORCE, 1: TRACE, 3: DIAGONAL, 6: SYMMETRIC}[
        thermostat.parts if box.moves else 6 if driven else 0
    ]

    def functions(straight: bool) -> tuple[GroupFunctions, ...]:
        made = []
        for group in groups:
            if group.terms.queued:
                made.append(queued_functions(group, variant, thermostat, box))
            elif group.terms.passes:
                made.append(passes_functions(group, variant, thermostat, box))
            else:
                made.append(force_functions(group, variant, thermostat, box, straight))
        return tuple(made)

    forces = functions(variant.loops or unroll == 1)
    # Unrolled code takes longest to compile, and pays where it runs often: not in evaluations, nor where a
    # barostat acts.
    of_evaluations = forces if variant.on_gpu else functions(False)
    number = len(groups)
    close_cut = close_cut_function(box)

    @ti.func
    def ends_of(k: ti.template(), n, images):
        """The last numbers of a `GroupView`: at a kernel's top, as each costs a GPU a kernel elsewhere."""
        threads, lanes = ti.static(forces[k].cutters, groups[k].threads_per_atom)
        return n + images, whole_warps(n * threads) if ti.static(threads > 1) else n, whole_warps(n * lanes)

    @device_helper
    def views(system: Any, n: Any, stepping: Any = 1) -> list[GroupView | None]:
        ends = [ends_of(k, n, system.verlet.shifts.shape[0]) for k in range(number)]
        return [
            None if group is None else view(n, system, group, ends[k], stepping)
            for k, group in enumerate(system.groups)
        ]

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
            close_cuts(s)

    @ti.func
    def close_cuts(s: ti.template()):
        """The near lists are fit, or there is too little room. Serial."""
        close_cut(unfit(s), s.control, s.cells)

    flags = pass_functions(coupling, thermostat, box, near_list, unroll)
    return CompiledGroups(
        forces, of_evaluations, cut, close_cuts, unfit, thermostat, box, flags, tally, views,
        drive_functions(coupling.drives, variant.real, variant.on_gpu) if coupling.drives.some else None,
    )  # fmt: skip


def only(k: int, things: Sequence[Any]) -> tuple[Any, ...]:
    """Thing k in its place, and None in those of the others."""
    return tuple(thing if number == k else None for number, thing in enumerate(things))


@cache
def cutting_kernels(variant: Variant) -> list[Kernel]:
    """Kernels that cut the near list of a group each, where one kernel cannot take all groups."""
    program, groups = compiled_groups(variant), variant.groups
    strains = variant.cells("strain", "lost")

    def cutting(k: int) -> Kernel:
        its = tuple(group.arguments for group in groups)

        @kernel(variant.types, system=variant.system(groups=only(k, its), bath=None, cells=strains))
        def cut(system):
            s = step_view(system, program.views(system, system.atoms.n))
            program.forces[k].cut(s.groups[k], s.reach.most_drift2, s.control, s.cells)

        return cut

    return [cutting(k) for k in range(len(groups))]


def closing(variant: Variant) -> Selection:
    """Return the tables that a kernel takes which ends the cuts of all groups."""
    widths = tuple(GroupArrays.only(near=NearRows.only("width")) for _ in variant.groups)
    strains = variant.cells("strain", "lost")
    return variant.system(
        atoms=Atoms.only("n"),
        verlet=VerletRows.only("shift_bits"),
        listed_at=None,
        groups=widths,
        cells=strains,
        reach=None,
    )
