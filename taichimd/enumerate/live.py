"""Which entries of a near row are within reach at this step: one bit for each, in rows of at most 32.

A near list holds more than the cutoff needs; where the next shell of neighbours is close, three times as
much. The loops over pairs of neighbours and the gather of forces skip what the first visit found too far.
An entry (i, j) is live if and only if (j, i) is: distances and reaches are the same from both sides.
In a system with longer rows all entries count as live.
"""

from taichimd.core.runtime import ti
from taichimd.neighbours.masks import WORD as BITS
from taichimd.neighbours.masks import lowest


@ti.func
def marked(mask, s):
    """The mask with slot s live."""
    return mask | ti.select(s < BITS, 1 << (s % BITS), 0)


@ti.func
def following(mask, s, m):
    """First slot from s on, of m, that is live; m if there is none."""
    at, end = s, ti.min(m, BITS)
    if s < end:
        # The shift copies the sign, above the bits that count.
        rest = mask >> s
        at = end if rest == 0 else s + lowest(rest)
    return at
