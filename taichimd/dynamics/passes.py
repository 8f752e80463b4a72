"""Which steps of a pass are to be done: flags and counters that kernels keep between their loops.

A pass is as many steps as a kernel unrolls, and behind them one in which a barostat acts, if it does not act in every step.
A step that breaks something freezes those that follow: no step is done with an outdated list, none twice.
"""

from types import SimpleNamespace
from typing import Any

from taichimd.dynamics.barostats import RAN_AWAY
from taichimd.dynamics.coupling import Coupling
from taichimd.dynamics.thermostats import FIRST, OPENS
from taichimd.neighbours.control import BLOWN, BUILT, DONE, FROZEN, NONE, REBUILD, REMAINING, STALE
from taichimd.runtime import ti


def pass_functions(coupling: Coupling, thermostat: Any, near_list: bool, unroll: int) -> Any:
    """Device functions, all serial but `count_step`; `every`, `sometimes`: when what acts on the whole system does so.

    Args:
        coupling: what acts on atoms and cell besides forces.
        thermostat: its functions.
        near_list: whether force loops read a near list.
        unroll: steps of a pass.
    """
    cell = coupling.moves_cell
    sometimes = cell and coupling.period > 1
    every = coupling.whole and not sometimes

    @ti.func
    def deform(control: ti.template(), frozen, bath: ti.template()):
        """Begin the drift of the cell; a cell that runs away ends the run. Serial."""
        if thermostat.deform(bath) == 0:
            control[BLOWN] = RAN_AWAY
            control[frozen] = 1

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
        yes = 0
        if control[REBUILD] != 0 or control[BLOWN] != NONE or control[REMAINING] == 0:
            yes = 1
        return yes

    @ti.func
    def halted(control: ti.template()):
        """Whether no step can be done with these lists. Serial."""
        halt = over(control)
        if ti.static(near_list):
            if control[STALE] != 0:
                halt = 1
        return halt

    @ti.func
    def open_pass(control: ti.template(), going: ti.template(), ledger: ti.template()):
        """Which of the next `unroll` steps are to be done; `going` says whether any is. Serial."""
        if ti.static(not coupling.none):
            # Once for all steps of the pass: in their loops one atom counts DONE while others read.
            ledger[OPENS] = ledger[FIRST] + control[DONE] + 1
        halt = halted(control)
        for s in ti.static(range(unroll)):
            if s >= control[REMAINING]:
                halt = 1
            if ti.static(sometimes):
                if thermostat.due(ledger[OPENS] + s) == 1:
                    halt = 1
            control[FROZEN + s] = halt
        control[FROZEN + unroll] = 0
        going[None] = 1 - control[FROZEN]

    @ti.func
    def open_acting(control: ti.template(), ledger: ti.template()):
        """Whether the step behind them is to be done: the next one, if a barostat acts in it."""
        ledger[OPENS] = ledger[FIRST] + control[DONE] + 1
        halt = halted(control)
        if thermostat.due(ledger[OPENS]) == 0:
            halt = 1
        control[FROZEN + unroll + 1] = halt
        control[FROZEN + unroll + 2] = 0

    @ti.func
    def close_acting(control: ti.template(), going_on: ti.template()):
        """Whether there is more to do with these very lists."""
        going_on[None] = 1 - halted(control)

    @ti.func
    def close_pass(control: ti.template(), cutting: ti.template()):
        """Whether there is more to do, with lists that are cut anew or not."""
        cutting[None] = 1 - over(control)

    @ti.func
    def limit_age(most_age, control: ti.template()):
        """Ask for a build after so many steps."""
        if control[DONE] - control[BUILT] >= most_age and control[REMAINING] > 0:
            control[REBUILD] = 1

    return SimpleNamespace(
        every=every, sometimes=sometimes, deform=deform, count_step=count_step, open_pass=open_pass,
        open_acting=open_acting, close_acting=close_acting, close_pass=close_pass, limit_age=limit_age,
    )  # fmt: skip
