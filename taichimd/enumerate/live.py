"""Which entries of a near row are within reach at this step: one bit for each of the first 32.

A near list holds more than the cutoff needs; where the next shell of neighbours is close, three times as
much. The loops over pairs of neighbours and the gather of forces skip what the first visit found too far.
An entry (i, j) is live if and only if (j, i) is: distances and reaches are the same from both sides.
Entries beyond the 32nd are visited as if they were live.
"""

from taichimd.runtime import ti

BITS = 32


@ti.func
def marked(mask, s):
    """The mask with slot s live."""
    return mask | (1 << s) if s < BITS else mask


@ti.func
def following(mask, s, m):
    """First slot from s on, of m, that may be live; m if there is none."""
    at = s
    while at < ti.min(m, BITS) and (mask >> at) & 1 == 0:
        at += 1
    return at
