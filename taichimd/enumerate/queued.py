"""A group of terms whose forces are found by kernels that the host queues before those of a step.

ReaxFF is one: it has solvers that loop until they are done. A step takes the forces and virials that these
kernels have left with each atom; of the group it cuts the near list alone, whose entries stand in any order.
"""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.enumerate.access import load_matrix
from taichimd.enumerate.group import GroupFunctions, TermGroup
from taichimd.enumerate.reproducible_sum import ALL, FORCE
from taichimd.neighbours.control import ANY_TIME, NONE, STEP, Control
from taichimd.neighbours.prune import prune_functions, threads_of_cut


@ti.func
def goes(when, control: ti.template()):
    """Whether lists are fit, and a run that asks is where it asks for."""
    no = control[Control.rebuild] != 0 or control[Control.stale] != 0
    if when != ANY_TIME:
        no = no or control[Control.blown] != NONE or (control[Control.remaining] == 0) == (when == STEP)
    return ti.cast(not no, ti.i32)


def queued_functions(group: TermGroup, variant: Any, thermostat: Any, box: Any) -> GroupFunctions:
    """Device functions of such a group."""
    cutters = threads_of_cut(variant.backend, has_pairs=True)
    pruning = prune_functions(
        group.terms.n_kinds, variant.backend, False, False, box, cutters, number=group.number
    )

    @ti.func
    def all_stages(
        g: ti.template(), out: ti.template(), control: ti.template(), frozen, want: ti.template(),
        bath: ti.template()
    ):  # fmt: skip
        if ti.static(want != FORCE and want != ALL):
            for i in range(g.n):
                if control[frozen] == 0:
                    thermostat.add_virial(i, g.n, load_matrix(out.virial, i), bath)

    @ti.func
    def cut(g: ti.template(), most_drift2, control: ti.template(), cells: ti.template()):
        pruning.prune(g, most_drift2, control, cells)

    return GroupFunctions(cut, pruning.unfit, cutters, all_stages)
