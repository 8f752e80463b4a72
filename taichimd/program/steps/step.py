"""The steps of a call: forces, half kick, half kick, drift, in as few loops over atoms as there can be.

`variants` has a row for each way to do a step. The device functions are written once: they read the fields of
the row that they are compiled for. `verlet` says how steps follow each other.
"""

from dataclasses import dataclass

from taichimd.core.runtime import DeviceFunction, fills_device, multiprocessors, ti
from taichimd.ensembles.groups.layout import SPENT
from taichimd.ensembles.held import without_held
from taichimd.ensembles.thermostats.layout import OPENS
from taichimd.enumerate.reproducible_sum import FORCE
from taichimd.neighbours.control import Control
from taichimd.neighbours.dangerous_pairs import dangerous_pairs_functions
from taichimd.program.compiled import CompiledGroups, at_positions
from taichimd.program.steps.close import close_function
from taichimd.program.steps.drift import drift_function
from taichimd.program.steps.variants import StepVariant, step_variant
from taichimd.program.variant import Variant

BLOCK_OF_SUMS = 256
"""Threads of a block, on a GPU, where forces of moments are gathered: as two blocks fit a multiprocessor,
a thread has at most 128 registers, and there are 16 warps instead of 12 (docs/decisions, 018)."""


@dataclass(frozen=True)
class OneStep:
    """Device functions of one way to do a step."""

    step: DeviceFunction  # `(at, ahead, s, there, outputs)`, unless control[at] says no
    of_group: DeviceFunction  # forces of a group, each pass in loops of its own
    kicks: DeviceFunction  # what comes after the forces of all groups


@dataclass(frozen=True)
class StepFunctions:
    """Device functions of the steps of a call."""

    some_steps: DeviceFunction  # all steps but that of a barostat
    bring_back: DeviceFunction  # after them, positions where they belong
    acting_step: DeviceFunction  # the step in which a barostat acts, if it is its turn
    ordinary: OneStep  # parts of the ordinary step
    action: OneStep | None  # parts of the step in which a barostat acts; None without such a step
    drift: DeviceFunction  # moves an atom


def step_functions(program: CompiledGroups, variant: Variant, fused: bool) -> StepFunctions:
    """Device functions of the steps of a call; `fused`: use a fused step where there is one group."""
    coupling, unroll = variant.coupling, variant.unroll
    how = step_variant(variant, fused, coupling.acts_every_step)
    dangerous_pairs = dangerous_pairs_functions(variant.backend)
    drift = drift_function(
        coupling,
        program.thermostat,
        program.box,
        variant.near_list,
        dangerous_pairs.note if variant.to_the_end else None,
        program.drives,
    )
    close = close_function(coupling, program.thermostat, program.box, program.flags, drift)
    ordinary = one_step(how, program, variant, drift, close, dangerous_pairs.look)
    swaps, step, acts_every_period = how.moves_to_spare, ordinary.step, coupling.acts_every_period
    action = None
    if acts_every_period:
        action = one_step(
            step_variant(variant, fused, True), program, variant, drift, close, dangerous_pairs.look
        )

    @ti.func
    def some_steps(s: ti.template(), spare: ti.template(), outputs: ti.template()):
        for k in ti.static(range(unroll)):
            if ti.static(not swaps):
                step(Control.frozen + k, k, s, s.atoms.pos, outputs)
            elif ti.static(k % 2 == 0):
                step(Control.frozen + k, k, s, spare, outputs)
            else:
                step(Control.frozen + k, k, at_positions(s, spare), s.atoms.pos, outputs)

    @ti.func
    def bring_back(s: ti.template(), spare: ti.template()):
        if ti.static(swaps):
            # Where a loop ends is read before it begins.
            for i in range(s.n * s.control[Control.in_spare]):
                s.atoms.pos[i] = spare[i]
                if i == 0:
                    s.control[Control.in_spare] = 0

    @ti.func
    def acting_step(s: ti.template(), outputs: ti.template()):
        if ti.static(acts_every_period):
            action.step(Control.frozen + unroll + 1, 0, s, s.atoms.pos, outputs)

    return StepFunctions(some_steps, bring_back, acting_step, ordinary, action, drift)


def one_step(
    how: StepVariant,
    program: CompiledGroups,
    variant: Variant,
    drift: DeviceFunction,
    close: DeviceFunction,
    look: DeviceFunction,
) -> OneStep:
    """Device functions of one way to do a step; `look` asks for a build if the list lacks a pair."""
    forces, flags, thermostat = program.forces, program.flags, program.thermostat
    groups, coupling, vec = variant.groups, variant.coupling, variant.types["vec"]
    number, driven, many_body = len(groups), coupling.driven, groups[0].terms.many_body
    first_forces = program.of_evaluations[0] if how.acts and coupling.acts_every_period else forces[0]
    want = program.tally if how.acts or not coupling.moves_cell else FORCE
    with_virial, to_the_end, few = want != FORCE, variant.to_the_end, variant.few
    drives, kinds = program.drives, coupling.drives
    walls_first = kinds.by_place and fills_device(variant.blocks)
    # Of three blocks of 128 threads for each multiprocessor, or fewer, all are resident at once.
    in_few_registers = (
        groups[0].in_moments
        and variant.on_gpu
        and (variant.blocks == 0 or variant.blocks >= 4 * groups[0].threads_per_atom * multiprocessors())
    )

    @ti.func
    def count_step(i, s: ti.template(), at, ahead):
        """Count a step; every other one leaves positions in the spare array."""
        flags.count_step(i, s.control, at)
        if ti.static(how.moves_to_spare):
            if i == 0 and s.control[at] == 0:
                s.control[Control.in_spare] = 1 - ahead % 2

    @ti.func
    def settle_centres(at, ahead, s: ti.template()):
        """Forces on centres of mass, before those on atoms. Holds loops of its own."""
        if ti.static(kinds.centres):
            for i in range(s.n):
                if s.control[at] == 0:
                    drives.add_centre(
                        i, s.n, s.atoms.ident[i], s.atoms.pos[i], s.atoms.inverse_mass[i], s.drives
                    )
            for row in range(drives.rows_of(s.drives)):
                if s.control[at] == 0:
                    drives.settle(row, s.bath.ledger[OPENS] + ahead, True, True, True, s.drives)

    @ti.func
    def pull(i, bits, at, ahead, s: ti.template()):
        """Force of drives on atom i. If the atom is where no energy is defined, the step is the last one."""
        pulled = drives.pull(i, bits, s.bath.ledger[OPENS] + ahead, s.atoms, s.drives)
        if ti.static(kinds.fails):
            if pulled[3] > 0.0:
                ti.atomic_min(s.control[Control.blown], SPENT)
                s.control[at + 1] = 1
        return ti.Vector([ti.cast(pulled[a], variant.real) for a in ti.static(range(3))])

    @ti.func
    def before_sum(i, at, ahead, s: ti.template()):
        """The force of walls on atom i, or bits of other drives, whose latencies then overlap with the sum.

        Beside the sum of forces walls take more registers, hence the order on a full device. With few atoms
        the other order is faster.
        """
        if ti.static(walls_first):
            return pull(i, 0, at, ahead, s)
        elif ti.static(kinds.pulls and not kinds.by_place):
            return drives.members(s.atoms.ident[i], s.drives)
        else:
            return ti.cast(0, ti.i64)

    @ti.func
    def close_with(of_potential, early, i, at, ahead, s: ti.template(), there: ti.template()):
        """Half kick with the force on atom i, and what of the step is then still to do.

        `early` is what `before_sum` has found.
        """
        # Asked for before the pull of drives, so that latencies overlap.
        f, v, to_kick = of_potential, s.atoms.vel[i], 0.5 * s.dt * s.atoms.inverse_mass[i]
        if ti.static(walls_first):
            f += early
        elif ti.static(kinds.pulls):
            f += pull(i, early, at, ahead, s)
        if ti.static(kinds.works):
            drives.work(
                i, s.n, s.atoms.ident[i], s.atoms.pos[i], f, s.atoms.inverse_mass[i],
                s.bath.ledger[OPENS] + ahead, True, True, s.drives,
            )  # fmt: skip
        kick = to_kick * f
        v += kick
        if ti.static(coupling.holds):
            v = without_held(v, s.held[s.atoms.ident[i]])
        if ti.static(how.acts):
            s.atoms.vel[i] = v
            if ti.static(many_body or not how.fused or kinds.some):
                s.atoms.force[i] = f
            if ti.static(coupling.rows > 0):
                thermostat.add_kinetic(i, s.n, v, f, s.atoms.inverse_mass[i], s.atoms.ident[i], s.bath)
            else:
                thermostat.add_kinetic(i, s.n, v, s.atoms.inverse_mass[i], s.bath)
        else:
            v += kick
            s.atoms.vel[i] = v
            if ti.static(not how.moves_in_own_loop):
                drift(i, v, ahead, 0, s, there, at + 1)

    @ti.func
    def of_group(k: ti.template(), at, s: ti.template(), out: ti.template()):
        forces[k].all_stages(s.groups[k], out, s.control, at, ti.static(want), s.bath)

    @ti.func
    def kicks(at, ahead, s: ti.template(), outputs: ti.template()):
        settle_centres(at, ahead, s)
        for i in range(s.n):
            if s.control[at] == 0:
                early, f = before_sum(i, at, ahead, s), outputs[0].force[i]
                for k in ti.static(range(1, number)):
                    f += outputs[k].force[i]
                close_with(f, early, i, at, ahead, s, s.atoms.pos)
            if ti.static(how.counts_with_kick):
                count_step(i, s, at, ahead)
        if ti.static(how.acts):
            close(at, ahead, s)

    @ti.func
    def pair_kicks(at, ahead, s: ti.template(), g: ti.template(), there: ti.template()):
        """The loop in which threads that share an atom find its force and kick it."""
        for thread in range(g.pairs_end):
            lanes = ti.static(groups[0].threads_per_atom)
            i = thread // lanes
            does = i < s.n and s.control[at] == 0
            f = forces[0].force_of(thread, does, s.n, g.near.width, s.shift_bits, g.near, g.kept.pair_table)
            if does and thread % lanes == 0:
                close_with(f, before_sum(i, at, ahead, s), i, at, ahead, s, there)
            if ti.static(how.counts_with_kick):
                count_step(thread, s, at, ahead)

    @ti.func
    def sums_and_kicks(at, ahead, s: ti.template(), g: ti.template(), there: ti.template()):
        """Loops that leave forces or partial forces, and the loop that gathers them and kicks."""
        first_forces.first_stage(g, s.out, s.control, at, ti.static(want), s.bath)
        if ti.static(forces[0].pairs_beforehand and not with_virial):
            forces[0].in_lanes(g, g.verlet, s.out, s.control, at)
        if ti.static(how.lanes_kick):
            for thread in range(g.pairs_end):
                lanes = ti.static(groups[0].threads_per_atom)
                i = thread // lanes
                does = i < s.n and s.control[at] == 0
                f = forces[0].gathered_together(thread, does, g)
                if does and thread % lanes == 0:
                    close_with(f, before_sum(i, at, ahead, s), i, at, ahead, s, there)
                if ti.static(how.counts_with_kick):
                    count_step(thread, s, at, ahead)
        else:
            gather_and_kick(at, ahead, s, g, there)

    @ti.func
    def gather_and_kick(at, ahead, s: ti.template(), g: ti.template(), there: ti.template()):
        """The loop that adds up forces, one thread for each atom, and kicks."""
        if ti.static(few and not many_body):
            ti.loop_config(serialize=True)
        if ti.static(in_few_registers):
            ti.loop_config(block_dim=BLOCK_OF_SUMS)
        for i in range(s.n):
            if s.control[at] == 0:
                early, f = before_sum(i, at, ahead, s), vec(0.0)
                if ti.static(not many_body):
                    f = s.atoms.force[i]
                else:
                    total, w, _ = forces[0].gathered(i, g, s.atoms.force, ti.static(with_virial))
                    f = total
                    if ti.static(driven):
                        f += thermostat.drive(i, w, s.bath)
                    elif ti.static(with_virial):
                        thermostat.add_virial(i, s.n, w, s.bath)
                close_with(f, early, i, at, ahead, s, there)
            if ti.static(how.counts_with_kick):
                count_step(i, s, at, ahead)

    @ti.func
    def step(at, ahead, s: ti.template(), there: ti.template(), outputs: ti.template()):
        """The whole step. If positions swap, the new ones go into an array `there`."""
        if ti.static(not how.fused):
            for k in ti.static(range(number)):
                of_group(k, at, s, outputs[k])
            kicks(at, ahead, s, outputs)
        else:
            settle_centres(at, ahead, s)
            if ti.static(how.kicks_in_pair_loop):
                pair_kicks(at, ahead, s, s.groups[0], there)
            else:
                sums_and_kicks(at, ahead, s, s.groups[0], there)
            if ti.static(how.moves_in_own_loop):
                if ti.static(few):
                    ti.loop_config(serialize=True)
                for i in range(s.n):
                    if s.control[at] == 0:
                        drift(i, s.atoms.vel[i], ahead, 0, s, there, at + 1)
                    flags.count_step(i, s.control, at)
            if ti.static(how.acts):
                close(at, ahead, s)
        if ti.static(to_the_end):
            look(s.n, s.reach.most_near2, there, s.listed_at, s.sort, s.control, at + 1)

    return OneStep(step, of_group, kicks)
