"""Sums of whole numbers on the device: the order of atoms and threads changes no bit."""

from taichimd.core.runtime import ti

PIECE = 64
"""Atoms that one thread adds up before it touches the sums."""
DRAIN = 64
"""Samples after which the sums move to the host."""
LIMIT = 2**62
"""Bound of all sums on the device, half of what the integers hold."""


@ti.func
def fixed(x, scale, limit):
    """Nearest whole number of x * scale, and 0; if it is too large, or no number, 0 and 1."""
    y = x * scale
    k, bad = ti.i64(0), 1
    # Not `y >= limit`: what is not a number must set the flag, too.
    if ti.abs(y) < limit:
        k, bad = ti.cast(ti.floor(y + 0.5), ti.i64), 0
    return k, bad
