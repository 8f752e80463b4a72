"""Sets of up to 32 numbers, the bits of one."""

from taichimd.runtime import ti

WORD = 32
"""Bits of a mask."""


@ti.func
def lowest(mask):
    """The smallest number in a mask that has one."""
    return ti.math.popcnt((mask & -mask) - 1)


@ti.func
def without_lowest(mask):
    """The mask without it."""
    return mask & (mask - 1)
