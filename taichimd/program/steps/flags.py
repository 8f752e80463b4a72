"""Which steps of a pass are to be done: flags and counters that kernels keep between their loops.

A pass is as many steps as a kernel unrolls, and behind them one in which a barostat acts, if it does not act in every step.
A step that breaks something freezes those that follow: no step is done with an outdated list, none twice.
"""

from types import SimpleNamespace
from typing import Any

from taichimd.core.runtime import ti
from taichimd.ensembles.barostats.layout import RAN_AWAY
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.thermostats.layout import FIRST, OPENS
from taichimd.ensembles.thermostats.ledger import counters
from taichimd.neighbours.control import (
    BLOWN,
    BUILT,
    DONE,
    FAST,
    FROZEN,
    HELD,
    NONE,
    PASSES,
    REBUILD,
    REMAINING,
    STALE,
)
from taichimd.system.cell import ONLY


def pass_functions(coupling: Coupling, thermostat: Any, box: Any, near_list: bool, unroll: int) -> Any:
    """Device functions, all serial but `count_step`.

    And `acts_every_step`, `acts_every_period`: when what acts on the whole system does so.

    Args:
        coupling: what acts on atoms and cell besides forces.
        thermostat: its functions.
        box: functions of the cell.
        near_list: whether force loops read a near list.
        unroll: steps of a pass.
    """
    cell = coupling.moves_cell
    acts_every_period = cell and coupling.period > 1
    acts_every_step = coupling.whole and not acts_every_period

    @ti.func
    def deform(k, control: ti.template(), frozen, cells: ti.template()):
        """Begin the drift of cell k; a cell that runs away ends the run. One thread of each."""
        if box.deform(k, cells) == 0:
            ti.atomic_min(control[BLOWN], RAN_AWAY - k)
            control[frozen] = 1

    @ti.func
    def deform_all(does, control: ti.template(), frozen, cells: ti.template()):
        """The same of all systems, if it is their turn. In a batch it holds a loop of its own."""
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
                control[DONE] += 1
                control[REMAINING] -= 1
            else:
                control[frozen + 1] = 1

    @ti.func
    def over(control: ti.template()):
        """Whether no step can be done with this Verlet list: none is left, or it is outdated. Serial."""
        # No `or`: it would read one after the other, and one thread waits for each.
        return (
            ti.cast(control[REBUILD] != 0, ti.i32)
            | ti.cast(control[BLOWN] != NONE, ti.i32)
            | ti.cast(control[REMAINING] == 0, ti.i32)
        )

    @ti.func
    def halted(control: ti.template()):
        """Whether no step can be done with these lists. Serial."""
        halt = over(control)
        if ti.static(near_list):
            halt |= ti.cast(control[STALE] != 0, ti.i32)
        return halt

    @ti.func
    def count_pass(control: ti.template()):
        """Count a pass of which some step can be done. Serial."""
        control[PASSES] += 1 - over(control)

    @ti.func
    def open_pass(control: ti.template(), going: ti.template(), acting: ti.template(), ledger: ti.template()):
        """Which of the next `unroll` steps are to be done; `going` says whether any is. Or it is a barostat's turn. Serial.

        `acting`, or None: behind a barostat's action, whether more can be done with these lists.
        """
        # All is read before anything is written: what is read behind that is fetched again.
        halt, left = halted(control), control[REMAINING]
        if ti.static(not coupling.none):
            # Once for all steps of the pass: in their loops one atom counts DONE while others read.
            opens = counters(ledger)[FIRST] + control[DONE] + 1
            if ti.static(acts_every_period):
                before = thermostat.until_due(opens)
                acts = (1 - halt) & ti.cast(before == 0, ti.i32)
                control[FROZEN + unroll + 1] = 1 - acts
                control[FROZEN + unroll + 2] = 0
                left = ti.min(left, before)
            counters(ledger)[OPENS] = opens
        control[FAST] = 0
        for s in ti.static(range(unroll)):
            control[FROZEN + s] = halt | ti.cast(s >= left, ti.i32)
        control[FROZEN + unroll] = 0
        going[None] = 1 - (halt | ti.cast(left <= 0, ti.i32))
        if ti.static(bool(acting)):
            acting[None] = 1 - halt

    @ti.func
    def close_pass(control: ti.template(), cutting: ti.template()):
        """Whether there is more to do, with lists that are cut anew or not."""
        cutting[None] = 1 - over(control)

    @ti.func
    def open_finish(ends, control: ti.template()):
        """Whether forces can be computed and, where they end a run, none of its steps is left and none has failed. Serial."""
        held = ti.cast(control[REBUILD] != 0, ti.i32)
        if ends:
            held |= ti.cast(control[REMAINING] != 0, ti.i32) | ti.cast(control[BLOWN] != NONE, ti.i32)
        control[HELD] = held

    @ti.func
    def limit_age(most_age, control: ti.template()):
        """Ask for a build after so many steps."""
        if control[DONE] - control[BUILT] >= most_age and control[REMAINING] > 0:
            control[REBUILD] = 1

    return SimpleNamespace(
        acts_every_step=acts_every_step, acts_every_period=acts_every_period, deform=deform, deform_all=deform_all, count_step=count_step,
        count_pass=count_pass, open_pass=open_pass, close_pass=close_pass, open_finish=open_finish, limit_age=limit_age,
    )  # fmt: skip
