"""Which entries of a near row are within reach at this step: one bit for each, in rows of at most 32.

A near list holds more than the cutoff needs; where the next shell of neighbours is close, three times as
much. The loops over pairs of neighbours and the gather of forces skip what the first visit found too far.
An entry (i, j) is live if and only if (j, i) is: distances and reaches are the same from both sides.
In a system with longer rows all entries count as live.
"""

from taichimd.runtime import ti

BITS = 32


@ti.func
def marked(mask, s):
    """The mask with slot s live."""
    return mask | ti.select(s < BITS, 1 << (s % BITS), 0)


@ti.func
def _zeros_below(mask):
    """Place of the lowest bit set, of a mask that has one: the number of ones below it, summed in parallel."""
    x = (mask & -mask) - 1
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return (x * 0x01010101) >> 24


@ti.func
def following(mask, s, m):
    """First slot from s on, of m, that is live; m if there is none."""
    at, end = s, ti.min(m, BITS)
    if s < end:
        # The shift copies the sign, above the bits that count.
        rest = mask >> s
        at = end if rest == 0 else s + _zeros_below(rest)
    return at
