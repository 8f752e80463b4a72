"""Which steps of a call are to be done: flags and counters that kernels keep between their loops.

A call of `steps` is as many steps as a kernel unrolls. If a barostat does not act in every step, a step in
which it acts follows them. A step that breaks something freezes those that follow: no step is done with an
outdated list, none twice.
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.ensembles.barostats.layout import RAN_AWAY
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.thermostats.layout import FIRST, OPENS
from taichimd.neighbours.control import NONE, Control
from taichimd.system.cell import ONLY


@dataclass(frozen=True)
class CallFunctions:
    """Device functions that say which steps are to be done, all serial but `count_step`."""

    deform: DeviceFunction  # begins the drift of a cell
    deform_all: DeviceFunction  # of all cells, if it is their turn
    count_step: DeviceFunction  # counts a step that was done
    count_call: DeviceFunction  # counts a call that has steps to do
    open_call: DeviceFunction  # begins a call
    close_call: DeviceFunction  # ends a call
    open_finish: DeviceFunction  # begins an evaluation
    limit_age: DeviceFunction  # asks for a build after so many steps


def pass_functions(
    coupling: Coupling, thermostat: Any, box: Any, near_list: bool, unroll: int
) -> CallFunctions:
    """The functions of a call of `unroll` steps."""
    acts_every_period = coupling.acts_every_period

    @ti.func
    def deform(k, control: ti.template(), frozen, cells: ti.template()):
        """Begin the drift of cell k; a cell that runs away ends the run. One thread of each."""
        if box.deform(k, cells) == 0:
            ti.atomic_min(control[Control.blown], RAN_AWAY - k)
            control[frozen] = 1

    @ti.func
    def deform_all(does, control: ti.template(), frozen, cells: ti.template()):
        """Begin the drift of all cells, if it is their turn. In a batch this is a loop of its own."""
        if ti.static(coupling.batch):
            for k in range(cells.vectors.shape[0]):
                if does == 1:
                    deform(k, control, frozen, cells)
        elif does == 1:
            deform(ONLY, control, frozen, cells)

    @ti.func
    def count_step(i, control: ti.template(), frozen):
        """Count a step that was done; freeze the next one after one that was not."""
        if i == 0:
            if control[frozen] == 0:
                control[Control.done] += 1
                control[Control.remaining] -= 1
            else:
                control[frozen + 1] = 1

    @ti.func
    def over(control: ti.template()):
        """Whether no step can be done with this Verlet list: none is left, or it is outdated. Serial."""
        # No `or`: it would read one after the other, and one thread waits for each.
        return (
            ti.cast(control[Control.rebuild] != 0, ti.i32)
            | ti.cast(control[Control.blown] != NONE, ti.i32)
            | ti.cast(control[Control.remaining] == 0, ti.i32)
        )

    @ti.func
    def halted(control: ti.template()):
        """Whether no step can be done with these lists. Serial."""
        halt = over(control)
        if ti.static(near_list):
            halt |= ti.cast(control[Control.stale] != 0, ti.i32)
        return halt

    @ti.func
    def count_call(control: ti.template()):
        """Count a call of which some step can be done. Serial."""
        control[Control.calls] += 1 - over(control)

    @ti.func
    def open_call(control: ti.template(), going: ti.template(), acting: ti.template(), bath: ti.template()):
        """Decide which of the next `unroll` steps are to be done; `going` says whether any is. Serial.

        If it is the turn of a barostat, none of them is.
        `acting`, or None: after a barostat's action, whether more can be done with these lists.
        """
        # All is read before anything is written: what is read after a write is fetched again.
        halt, left = halted(control), control[Control.remaining]
        if ti.static(coupling.counts_steps):
            # Once for all steps of the call: in their loops one atom counts steps done while others read.
            opens = bath.ledger[FIRST] + control[Control.done] + 1
            if ti.static(acts_every_period):
                before = thermostat.until_due(opens)
                acts = (1 - halt) & ti.cast(before == 0, ti.i32)
                control[Control.frozen + unroll + 1] = 1 - acts
                control[Control.frozen + unroll + 2] = 0
                left = ti.min(left, before)
            bath.ledger[OPENS] = opens
        control[Control.far_atoms] = 0
        for s in ti.static(range(unroll)):
            control[Control.frozen + s] = halt | ti.cast(s >= left, ti.i32)
        control[Control.frozen + unroll] = 0
        going[None] = 1 - (halt | ti.cast(left <= 0, ti.i32))
        if ti.static(bool(acting)):
            acting[None] = 1 - halt

    @ti.func
    def close_call(control: ti.template(), cutting: ti.template()):
        """Whether there is more to do, with lists that are filtered again or not."""
        cutting[None] = 1 - over(control)

    @ti.func
    def open_finish(ends, control: ti.template()):
        """Whether forces can be computed and, at the end of a run, no step is left or has failed. Serial."""
        held = ti.cast(control[Control.rebuild] != 0, ti.i32)
        if ends:
            held |= ti.cast(control[Control.remaining] != 0, ti.i32) | ti.cast(
                control[Control.blown] != NONE, ti.i32
            )
        control[Control.held] = held

    @ti.func
    def limit_age(most_age, control: ti.template()):
        """Ask for a build after so many steps."""
        if control[Control.done] - control[Control.built_at] >= most_age and control[Control.remaining] > 0:
            control[Control.rebuild] = 1

    return CallFunctions(
        deform, deform_all, count_step, count_call, open_call, close_call, open_finish, limit_age
    )
