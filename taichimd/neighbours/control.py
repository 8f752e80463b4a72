"""The control array: what kernels tell each other and the host, declared one slot to a line.

Device code names a place of the array by the class, `control[Control.rebuild]`. The host reads a copy of the
whole array, since on a GPU one element costs as much as all, and names a value by an instance,
`seen.rebuild`.
"""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField

CONTROL = ArrayField("i32", "see `control_size`", "what kernels tell each other and the host")
GOING_ON = ArrayField("i32", "", "whether a loop on the device continues")

MAX_GROUPS = 16
"""Groups of terms that a force field may have: each has a near list of its own."""
STEP, END, ANY_TIME = range(3)
"""When kernels of a queued group do something: in a step, at the end of a run, or whatever the run does."""
NONE = 2147483647
"""No atom."""
BY_HOST = 2
"""As `Control.rebuild`: kernels do nothing, and rebuild nothing, before the host has looked."""
OUTSIDE = 1 << 20
"""As a largest image: an atom is outside of the bins, along a direction without periodicity."""


class Slot:
    """A number of the control array: of the class `Control` its place, of an instance its value.

    Args:
        meaning: what the number says.
        writes: device functions that write it.
        reads: device functions that read it; "host" if the host does.
    """

    length = 1

    def __init__(self, meaning: str, *, writes: str, reads: str) -> None:
        self.meaning, self.writes, self.reads = meaning, writes, reads

    def __set_name__(self, owner: type["Control"], name: str) -> None:
        self.place = owner.slots_end
        owner.slots_end += self.length

    def __get__(self, seen: "Control | None", owner: type["Control"]) -> int:
        return self.place if seen is None else int(seen.values[self.place])

    def __set__(self, seen: "Control", value: int) -> None:
        seen.values[self.place] = value


class Slots(Slot):
    """Several numbers side by side: of the class the place of the first, of an instance a view of all."""

    def __init__(self, length: int, meaning: str, *, writes: str, reads: str) -> None:
        super().__init__(meaning, writes=writes, reads=reads)
        self.length = length

    @overload  # type: ignore[override]
    def __get__(self, seen: None, owner: type["Control"]) -> int: ...
    @overload
    def __get__(self, seen: "Control", owner: type["Control"]) -> NDArray[np.int32]: ...
    def __get__(self, seen: "Control | None", owner: type["Control"]) -> Any:
        return self.place if seen is None else seen.values[self.place : self.place + self.length]


class Control:
    """Slots of the control array, in its order; an instance holds the values that the host has read.

    Behind the slots there is room from `frozen` on: a flag for each step of a call and one for the step after
    it, then as many for a barostat's step.

    Attributes:
        values: copy of the array.
    """

    slots_end = 0

    # fmt: off
    remaining = Slot("steps still to do", writes="open_step, count_step", reads="over, open_call, goes, limit_age, open_finish")
    done = Slot("steps done since `open_step`", writes="open_step, count_step", reads="open_call, limit_age, host")
    stale = Slot("near lists are outdated", writes="drift, moved, fill_rows, close_cut", reads="prune, halted, goes")
    rebuild = Slot("the Verlet list is outdated or unfit, or BY_HOST", writes="open_step, drift, moved, look, prune, close_cut, fill_rows, limit_age", reads="over, prune, goes, open_finish, bond_orders, plan, take, host")
    blown = Slot("smallest number of an atom that has diverged, or a cell or a sink that has, or NONE", writes="open_step, drift, deform, close", reads="over, open_finish, goes, host")
    cuts = Slot("cuts of near lists since the build", writes="fill_rows, close_cut", reads="host")
    longest_row = Slot("longest row of the build", writes="take", reads="fill_rows, host")
    largest_image = Slots(3, "largest image of the build along each vector of the frame, or OUTSIDE", writes="rebuild, entry_of", reads="fill_rows, host")
    coincident = Slot("smallest number of an atom that has another one on top of it, or NONE", writes="look_closer, visit", reads="fill_rows, host")
    building = Slot("a build without the host is due", writes="steps, lay_out", reads="steps")
    builds = Slot("builds without the host, of all calls", writes="steps", reads="steps, host")
    built_at = Slot("steps done at the last of these builds; below 0: so long before `open_step`", writes="open_step, steps", reads="limit_age, host")
    far_atoms = Slot("atoms that have gone farther than half the skin in this call", writes="open_call, note", reads="note, look")
    in_spare = Slot("the last step has left positions in the spare array", writes="count_step, bring_back", reads="bring_back")
    held = Slot("an evaluation has nothing to do: unfit lists, or the run is not at its end", writes="open_finish", reads="kernels of groups, add_up, last_kick, open_step")
    opened = Slot("runs of steps that have begun since the host looked", writes="open_step", reads="host")
    calls = Slot("calls of the host that had steps to do, modulo 2^32", writes="count_call", reads="host")
    beyond = Slot("evaluations of an atom in which a curve of it was used beyond its last point", writes="found_with_row", reads="host")
    longest_near = Slots(MAX_GROUPS, "of each group, longest row of its near list", writes="prune", reads="unfit, host")
    overfull = Slots(MAX_GROUPS, "of each group, its lists of tuples have too little room", writes="prune, list_tuples", reads="unfit, host")
    frozen = Slot("the step is not to be done", writes="open_call, drift, look, deform, count_step", reads="loops of the step")
    # fmt: on

    def __init__(self, values: NDArray[np.int32]) -> None:
        self.values = values


def control_size(unroll: int) -> int:
    """Length of the control array for calls of `unroll` steps and one more, in which a barostat may act."""
    return Control.frozen + unroll + 3
