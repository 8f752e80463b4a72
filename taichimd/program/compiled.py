"""All groups of a force field as device functions, and the kernels that evaluate them without a step."""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, View, device_helper, kernel, types_of
from taichimd.core.runtime import DEVICE_LOOPS, fills_device, ti
from taichimd.dynamics.bath_arrays import BathArrays
from taichimd.dynamics.coupling import Coupling, coupling_functions
from taichimd.dynamics.step_flags import pass_functions
from taichimd.enumerate.access import load_matrix, store_matrix
from taichimd.enumerate.group import Group, view
from taichimd.enumerate.passes import passes_functions
from taichimd.enumerate.reproducible_sum import ALL, DIAGONAL, FORCE, SYMMETRIC, TRACE
from taichimd.neighbours.control import CONTROL, HELD, REBUILD, STALE
from taichimd.neighbours.prune import close_cut_function
from taichimd.neighbours.rows import VerletRows, whole_warps
from taichimd.program.forces import Outputs, force_functions
from taichimd.system.state import Atoms

LISTED_AT = Array("vec", "n", "positions from which displacements count, angstrom")


class Reach(Bundle):
    """How far atoms may go: squares of distances, angstrom^2."""

    most_step2: Any = Number("real", "in one step")
    most_near2: Any = Number("real", "since the last cut, with the near lists")
    most_drift2: Any = Number("real", "since the last build, where near lists are cut")


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
def compiled_groups(
    groups: tuple[Group, ...],
    real: Any,
    term: Any,
    backend: str,
    unroll: int,
    blocks: int,
    coupling: Coupling,
) -> Any:
    """Device functions of all groups, and what kernels take for them.

    Args:
        groups: the terms and how they are done.
        real: ti.f64 or ti.f32, of positions, velocities, forces.
        term: the same or ti.f32, of what is computed from distances.
        backend: "cuda" or "cpu".
        unroll: steps per pass of `steps`.
        blocks: most blocks of a CUDA grid.
        coupling: what acts on atoms and cell besides forces.

    Returns:
        forces: of each group, those of steps; seldom: those of evaluations, which compile sooner. cut, ends_of: device
        functions. unfit: whether near lists have too little room. thermostat, flags: functions of both. tally: what of the
        virial steps need. arguments: those of kernels that evaluate. near_list: whether there are near lists.
    """
    on_gpu = backend == "cuda"
    near_list = groups[0].near_list
    thermostat = coupling_functions(coupling, real, on_gpu)
    cell, driven = coupling.moves_cell, coupling.driven
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
    # Unrolled code takes longest to compile, and pays where it runs often: not in evaluations, nor where a barostat acts.
    seldom = forces if on_gpu else functions(False)
    number = len(groups)
    close_cut = close_cut_function(thermostat, cell)

    @ti.func
    def ends_of(k: ti.template(), n, images):
        """The last three numbers of a `GroupView`, worked out at the top: elsewhere each costs a GPU a kernel of one thread."""
        threads, lanes = ti.static(forces[k].cutters, groups[k].threads_per_atom)
        return n + images, whole_warps(n * threads) if ti.static(threads > 1) else n, whole_warps(n * lanes)

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
                those[k].cut(s.groups[k], s.reach.most_drift2, s.control, s.bath)
            close_cut(unfit(s), s.control, s.bath)

    one_species = all(g.terms.one_species for g in groups)
    atoms_of = [name for name in Atoms.fields if not (name == "kind" and one_species)]
    arguments = {
        "atoms": Atoms.only(*atoms_of),
        "verlet": VerletRows,
        "listed_at": LISTED_AT,
        "groups": tuple(g.arguments for g in groups),
        "control": CONTROL,
        "bath": None if coupling.none and not driven else BathArrays,
        "reach": Reach,
    }
    return SimpleNamespace(
        forces=forces, seldom=seldom, cut=cut, unfit=unfit, ends_of=ends_of, thermostat=thermostat, tally=tally,
        flags=pass_functions(coupling, thermostat, near_list, unroll), arguments=arguments, near_list=near_list,
    )  # fmt: skip


@cache
def evaluation_kernels(
    groups: tuple[Group, ...],
    real: Any,
    term: Any,
    backend: str,
    unroll: int,
    blocks: int,
    coupling: Coupling,
    want: int = ALL,
) -> Any:
    """Kernels that know no step: `evaluate`, `tally_virial`, `moved`.

    Args:
        groups: the terms and how they are done.
        real: ti.f64 or ti.f32, of positions, velocities, forces.
        term: the same or ti.f32, of what is computed from distances.
        backend: "cuda" or "cpu".
        unroll: steps per pass of `steps`.
        blocks: most blocks of a CUDA grid.
        coupling: what acts on atoms and cell besides forces.
        want: of `enumerate.exact`: `ALL`, or `FORCE` for forces alone.
    """
    types, number, groups_of = types_of(real, term), len(groups), groups
    program = compiled_groups(groups, real, term, backend, unroll, blocks, coupling)
    forces, seldom, tally, flags, thermostat = (
        program.forces, program.seldom, program.tally, program.flags, program.thermostat,
    )  # fmt: skip
    cut, ends_of, near_list = program.cut, program.ends_of, program.near_list
    cell, driven = coupling.moves_cell, coupling.driven
    outdated = STALE if near_list else REBUILD
    many_body = [g.terms.many_body for g in groups]
    bathed = {"bath": BathArrays if cell or driven else None}
    system = program.arguments
    results = {
        "total": Outputs.only("energy", "virial"),
        "outputs": tuple(Outputs for _ in groups) if number > 1 else (),
    }

    @kernel(types, **(system | bathed), **results, ends_run=Number("i32", "1 where the forces end a run"))
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
        if ti.static(not groups_of[0].foreign):
            cut(seldom, s)
        flags.open_finish(ends_run, control)
        for k in ti.static(range(number)):
            seldom[k].both_passes(views[k], outs[k], control, HELD, want, s.bath, s.bath)
            if ti.static(driven and not many_body[k]):
                # Of pairs steps sum another virial, which rounds in another way: as they do.
                forces[k].first_pass(views[k], outs[k], control, HELD, tally, s.bath, s.bath)
        if ti.static(number > 1):
            for i in range(atoms.n):
                if control[HELD] == 0:
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

    @kernel(types, **system, **results, n=Number("i32", "number of atoms; 0: only compile"))
    def tally_virial(atoms, verlet, listed_at, groups, control, bath, reach, total, outputs, n):
        """The virial that `close_step` acts upon, behind `evaluate`: of pairs with the sums of a step, which round in another way."""
        ends = [ends_of(k, n, verlet.shifts.shape[0]) for k in ti.static(range(number))]
        views = [view(n, atoms, verlet, listed_at, groups[k], ends[k]) for k in ti.static(range(number))]
        outs = outputs if ti.static(number > 1) else (Outputs(total.energy, atoms.force, total.virial),)
        for k in ti.static(range(number)):
            if ti.static(many_body[k]):
                for i in range(n):
                    thermostat.add_virial(i, n, load_matrix(outs[k].virial, i), bath.ledger)
            else:
                forces[k].first_pass(views[k], outs[k], control, REBUILD, tally, bath.ledger, bath.bath)

    @kernel(types, atoms=Atoms.only("n", "pos"), listed_at=LISTED_AT, control=CONTROL, **bathed, reach=Reach.only("most_near2"))  # fmt: skip
    def moved(atoms, listed_at, control, bath, reach):
        """Displacement test after positions were set from outside."""
        for i in range(atoms.n):
            if (
                thermostat.strayed(atoms.pos[i], listed_at[i], reach.most_near2, near_list, bath_of(bath))
                == 1
            ):
                control[outdated] = 1

    return SimpleNamespace(evaluate=evaluate, tally_virial=tally_virial if cell else None, moved=moved)
