"""What kernels of a process tell each other, the host and other processes: an array of words, and flags."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number
from taichimd.core.runtime import DeviceFunction, ti

(
    DONE, FAR, BLOWN, GONE, FASTEST, PACE, ALIKE, RENEW, BUILDS, LAST, LEFT, HOST, CHOOSE, WORDS,
) = range(14)  # fmt: skip
"""In `words`:

DONE: steps that own atoms have done since the host of each process made lists.
FAR: whether an own atom is far from where it was when all processes made lists, or moves too fast, or a pair
    is soon missing.
BLOWN: smallest number of an atom that went too far in a step.
GONE: bits, in float32, of the largest squared displacement (angstrom^2) from where atoms were chosen to where
    all processes made lists. FASTEST: the same of the largest one in a step, with these lists. PACE: what
    FASTEST was with the lists before. LEFT: the same of how far own atoms may go with these lists, if the
    device made them.
ALIKE: whether all processes have done the same steps. RENEW: whether all processes make lists now.
BUILDS: how often the device has made lists since the host did. LAST: what DONE was then.
HOST: whether the next lists need the host, because an atom moves too fast or little way is left. CHOOSE:
    whether atoms must be chosen anew before.

WORDS is their number."""
WAITS, LISTS, NEEDS_HOST, NEEDS_CHOICE = 1, 2, 4, 8
"""What a process has met, bits of the first number of its vector: own unfit lists, FAR, HOST, CHOOSE.
The second number is that of an atom that diverged, or -1. The third is DONE."""
HOLDS = WAITS | LISTS
"""Bits that hold all processes."""
SLOWER = 0.7
"""Least ratio of the largest squared displacement in a step with the next lists to the one with the last
lists."""
INFINITE = 0x7F800000
"""Bits of infinity in float32."""
ROUNDED = 1.0 + 2.0**-20
"""By which a square grows, so that float32 does not make it smaller."""


class Shared(Bundle):
    """What a process exchanges with others."""

    slot: Any = ArrayField("i32", "n", "place in the slabs' order of the atom of a number here")
    number: Any = ArrayField("i32", "n", "the user's number of it")
    owned: Any = ArrayField("i32", "n", "at a place of atoms: the user's number of an own atom; else -1")
    chosen: Any = ArrayField("vec", "width", "own positions when atoms were chosen, angstrom")
    sent: Any = ArrayField("vec", "out", "messages to the other processes, one after the other")
    received: Any = ArrayField("vec", "in", "messages from them")
    sent_of: Any = ArrayField(
        "i32", "out", "number here of the atom whose position is sent; -1: what was met"
    )
    received_of: Any = ArrayField("i32", "in", "the same of `received`")
    ends: Any = ArrayField("i32", "processes", "where in `received` stands what a process has met; -1: own")
    told: Any = ArrayField("vec", "processes", "what each process has met, of the last exchange")
    words: Any = ArrayField("i32", "WORDS", "see DONE")
    first: Any = Number("i32", "own first place in the slabs' order")
    last: Any = Number("i32", "after the last one")
    n_sent: Any = Number("i32", "vectors of `sent`")
    n_received: Any = Number("i32", "vectors of `received`")
    processes: Any = Number("i32", "how many there are")
    rank: Any = Number("i32", "number of this process")


@dataclass(frozen=True)
class WordFunctions:
    """Device functions of squares in words."""

    bits_of: DeviceFunction  # bits of a number that is not negative, in the order of such numbers; rounded up
    bits_below: DeviceFunction  # the same, rounded down
    raise_to: DeviceFunction  # raise a word to the bits of a square; a maximum has no order


@ti.func
def slower(bits):
    """FASTEST to begin with: a little below what it will be, else all threads would raise it at a time."""
    return ti.bit_cast(ti.cast(SLOWER * ti.bit_cast(bits, ti.f32), ti.f32), ti.i32)


@cache
def word_functions(real: Any) -> WordFunctions:
    """The functions for one precision of the atoms."""

    @ti.func
    def bits_of(square):
        return ti.bit_cast(ti.cast(square * ROUNDED, ti.f32), ti.i32)

    @ti.func
    def bits_below(square):
        return ti.bit_cast(ti.cast(square / ROUNDED, ti.f32), ti.i32)

    @ti.func
    def raise_to(which: ti.template(), square, words: ti.template()):
        bits = bits_of(square)
        if bits > words[which]:
            ti.atomic_max(words[which], bits)

    return WordFunctions(bits_of, bits_below, raise_to)
