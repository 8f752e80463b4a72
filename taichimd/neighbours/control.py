"""The control array: what kernels tell each other and the host.

The host never writes to it, and reads it whole: on a GPU one element costs as much as all.
"""

(
    REMAINING, DONE, STALE, REBUILD, BLOWN, CUTS, LONGEST, MOST, IMAGE_X, IMAGE_Y, IMAGE_Z, CLOSE, BUILDING, BUILDS,
    BUILT, OVERFULL, FAST, SPARE, HELD, FROZEN,
) = range(20)  # fmt: skip
"""Steps still to do and done; near list outdated; Verlet list outdated or unfit; smallest number of an atom
that left physics; how often the near list was cut since the build; its longest row.

From a build: the longest row, the largest image along each frame vector beyond what the codes hold, the
smallest number of an atom that has another one on top of it.

Of builds without the host: whether one is due now; how many the last call has done; steps done at the last one.

Whether lists of tuples have too little room.

Atoms that have gone farther than half the skin in this pass (`missed`).

Whether the last step has left the positions in the spare array.

Whether `finish` has nothing to do: with these lists, or because the run is not at its end.

From FROZEN on, one flag per step of a pass, and behind the last one: the step is not to be done. Behind those as many for a
barostat's step."""

NONE = 2147483647
"""No atom."""


def control_size(unroll: int) -> int:
    """Length of the control array for passes of `unroll` steps and one more, in which a barostat may act."""
    return FROZEN + unroll + 3
