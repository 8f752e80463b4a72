"""The steps of a pass: forces, half kick, half kick, drift, in as few loops over atoms as there can be.

The *fused* stepper takes the force of a single group of terms from the last loop over its tuples straight to the
velocity. The *plain* stepper runs each pass of each group as a loop of its own, then the kicks. Both give the same
bits. `verlet` says how steps follow each other.
"""

from types import SimpleNamespace
from typing import Any

from taichimd.core.runtime import ti
from taichimd.enumerate.reproducible_sum import FORCE
from taichimd.neighbours.control import FROZEN, SPARE
from taichimd.neighbours.dangerous_pairs import dangerous_pairs_functions
from taichimd.program.compiled import at_positions
from taichimd.program.steps.close import close_function
from taichimd.program.steps.drift import drift_function


def step_functions(program: Any, variant: Any, fused: bool) -> Any:
    """Device functions `some_steps`, `bring_back`, `acting_step`; `of_group` and `kicks`, their parts; `drift`.

    Args:
        program: `compiled_groups`.
        variant: what kernels are compiled for.
        fused: use the fused stepper where there is one group.
    """
    forces, of_evaluations, flags, thermostat, tally = (
        program.forces, program.of_evaluations, program.flags, program.thermostat, program.tally,
    )  # fmt: skip
    groups, coupling, unroll, vec = variant.groups, variant.coupling, variant.unroll, variant.types["vec"]
    number, near_list = len(groups), variant.near_list
    cell, driven = coupling.moves_cell, coupling.driven
    fused = fused and number == 1 and not (groups[0].terms.passes or variant.queued)
    many_body, reads_neighbours = groups[0].terms.many_body, fused and forces[0].reads_neighbour_positions
    acts_every_step, acts_every_period = flags.acts_every_step, flags.acts_every_period
    # Of pairs alone steps take the force straight to the velocity, unless they want virials, too.
    kicked = fused and bool(forces[0].force_of) and (cell or tally == FORCE) and not acts_every_step
    # Langevin counts energy by warps, one thread an atom.
    swaps = (reads_neighbours or (kicked and not coupling.local)) and not acts_every_step and unroll % 2 == 0
    drifts_later = (reads_neighbours or kicked) and not swaps
    to_the_end = variant.to_the_end
    dangerous_pairs = dangerous_pairs_functions(variant.backend)
    drift = drift_function(
        coupling, thermostat, program.box, near_list, dangerous_pairs.note if to_the_end else None
    )
    close = close_function(coupling, thermostat, program.box, flags, drift, variant.on_gpu)

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
            if ti.static(not drifts_later):
                drift(i, v, ahead, 0, s, there, at + 1)

    @ti.func
    def of_group(k: ti.template(), at, acting: ti.template(), s: ti.template(), out: ti.template()):
        """Forces of a group, each pass in loops of its own."""
        want = ti.static(tally if acting or not cell else FORCE)
        forces[k].all_stages(s.groups[k], out, s.control, at, want, s.ledger, s.bath)

    @ti.func
    def kicks(at, ahead, acting: ti.template(), s: ti.template(), outputs: ti.template()):
        """What of a step comes behind the forces of all groups."""
        for i in range(s.n):
            if s.control[at] == 0:
                f = outputs[0].force[i]
                for k in ti.static(range(1, number)):
                    f += outputs[k].force[i]
                close_with(f, i, at, ahead, acting, s, s.atoms.pos)
            if ti.static(not acting):
                count_step(i, s, at, ahead)
        if ti.static(acting):
            close(at, ahead, s)

    @ti.func
    def fused_step(
        at, ahead, acting: ti.template(), s: ti.template(), g: ti.template(), there: ti.template()
    ):
        """The last loop over atoms takes forces straight to velocities and, if it can, to positions."""
        want = ti.static(tally if acting or not cell else FORCE)
        with_virial = ti.static(want != FORCE)
        if ti.static(kicked and not acting):
            for thread in range(g.pairs_end):
                lanes = ti.static(groups[0].threads_per_atom)
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
            if ti.static(acting and acts_every_period):
                of_evaluations[0].first_stage(g, s.out, s.control, at, want, s.ledger, s.bath)
            else:
                forces[0].first_stage(g, s.out, s.control, at, want, s.ledger, s.bath)
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
                if ti.static(not drifts_later and not acting):
                    count_step(i, s, at, ahead)
        if ti.static(drifts_later and not acting):
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
            if ti.static(acting):
                close(at, ahead, s)
        else:
            for k in ti.static(range(number)):
                of_group(k, at, acting, s, outputs[k])
            kicks(at, ahead, acting, s, outputs)
        if ti.static(to_the_end):
            dangerous_pairs.look(s.n, s.reach.most_near2, there, s.listed_at, s.sort, s.control, at + 1)

    @ti.func
    def some_steps(s: ti.template(), spare: ti.template(), outputs: ti.template()):
        """The steps of a pass."""
        for k in ti.static(range(unroll)):
            if ti.static(not swaps):
                step(FROZEN + k, k, acts_every_step, s, s.atoms.pos, outputs)
            elif ti.static(k % 2 == 0):
                step(FROZEN + k, k, acts_every_step, s, spare, outputs)
            else:
                step(FROZEN + k, k, acts_every_step, at_positions(s, spare), s.atoms.pos, outputs)

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
        if ti.static(acts_every_period):
            step(FROZEN + unroll + 1, 0, True, s, s.atoms.pos, outputs)

    return SimpleNamespace(
        some_steps=some_steps, bring_back=bring_back, acting_step=acting_step, of_group=of_group, kicks=kicks,
        drift=drift,
    )  # fmt: skip
