"""Sets of up to 32 numbers, the bits of one."""

from taichimd.core.runtime import ti

WORD = 32
"""Bits of a mask."""


@ti.func
def lowest(mask):
    """The smallest number in a mask that has one."""
    return ti.math.popcnt((mask & -mask) - 1)


@ti.func
def how_many_below(mask, k):
    """How many numbers of a mask are smaller than k, one of 0 to 31."""
    return ti.math.popcnt(mask & ((1 << k) - 1))


@ti.func
def without_lowest(mask):
    """The mask without it."""
    return mask & (mask - 1)
