"""The control array: what kernels tell each other and the host.

The host never writes to it, and reads it whole: on a GPU one element costs as much as all.
"""

from taichimd.core.arguments import Array

CONTROL = Array("i32", "see `control_size`", "what kernels tell each other and the host")
GOING_ON = Array("i32", "", "whether a loop on the device goes on")

MOST_GROUPS = 16
"""Groups of terms that a force field may have: each has a near list of its own."""
(
    REMAINING, DONE, STALE, REBUILD, BLOWN, CUTS, MOST, IMAGE_X, IMAGE_Y, IMAGE_Z, CLOSE, BUILDING, BUILDS,
    BUILT, FAST, SPARE, HELD, PASSES, LONGEST,
) = range(19)  # fmt: skip
OVERFULL = LONGEST + MOST_GROUPS
FROZEN = OVERFULL + MOST_GROUPS
"""Steps still to do and done; near lists outdated; Verlet list outdated or unfit; smallest number of an atom
that left physics; how often near lists were cut since the build.

From a build: the longest row, the largest image along each frame vector beyond what the codes hold, the
smallest number of an atom that has another one on top of it.

Of builds without the host: whether one is due now; how many the last call has done; steps done at the last one.

Atoms that have gone farther than half the skin in this pass (`dangerous_pairs`).

Whether the last step has left the positions in the spare array.

Whether `evaluate` has nothing to do: with these lists, or because the run is not at its end.

Passes that the host has called and that had steps to do, modulo 2^32.

For each group of terms the longest row of its near list, and whether its lists of tuples have too little room.

From FROZEN on, one flag per step of a pass, and behind the last one: the step is not to be done. Behind those as many for a
barostat's step."""

STEP, END, ANY_TIME = range(3)
"""When kernels of a queued group do something: in a step, at the end of a run, or whatever the run does."""
NONE = 2147483647
"""No atom."""


def control_size(unroll: int) -> int:
    """Length of the control array for passes of `unroll` steps and one more, in which a barostat may act."""
    return FROZEN + unroll + 3
