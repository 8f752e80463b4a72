"""Running sums on the device."""

from taichimd.core.runtime import backend, ti
from taichimd.core.warps import shuffle
from taichimd.neighbours.rows import CHUNKED, WARP, row_layout

BLOCK = 32
"""Length of the pieces that one thread adds up, one after the other."""
ROUNDS = 16
"""Numbers for each thread of a warp, where one adds up a piece."""


def scan_size(n: int) -> int:
    """Length of the array `sums` for a scan of n numbers."""
    first = -(-n // min(BLOCK, ROUNDS))
    second = -(-first // BLOCK)
    return first + second + -(-second // BLOCK) + 3


@ti.func
def _piece(b, n, begin, values: ti.template(), sums: ti.template()):  # type: ignore[valid-type]
    """Running sums of piece b of the n numbers from `begin` on, stored in `sums`; returns the total."""
    first, total = begin + b * BLOCK, 0
    for k in range(first, ti.min(first + BLOCK, begin + n)):
        value = values[k]
        sums[k] = total
        total += value
    return total


@ti.func
def _by_threads(n, ends, values: ti.template(), starts: ti.template(), begin, sums: ti.template(), room):  # type: ignore[valid-type]
    """`scan` in levels of serial pieces: sums[room:] has the totals of level one, then of later levels."""
    first, second, third = ends[0], ends[1], ends[2]
    for b in range(first):
        sums[room + b] = _piece(b, n, begin, values, starts)
    for b in range(second):
        sums[room + first + b] = _piece(b, first, room, sums, sums)
    for b in range(third):
        sums[room + first + second + b] = _piece(b, second, room + first, sums, sums)
    if n > 0:
        total = 0
        for k in range(room + first + second, room + first + second + third):
            value = sums[k]
            sums[k] = total
            total += value
        starts[begin + n] = total
    for k in range(n):
        b = k // BLOCK
        c = b // BLOCK
        starts[begin + k] += (
            sums[room + b] + sums[room + first + c] + sums[room + first + second + c // BLOCK]
        )


@ti.func
def _running(value, lane):
    """The sum of the values of a warp's threads up to this one."""
    total = value
    for k in ti.static(range(WARP.bit_length() - 1)):
        before = shuffle(total, ti.max(lane - 2**k, 0))
        if lane >= 2**k:
            total += before
    return total


@ti.func
def _by_warps(n, threads, values: ti.template(), starts: ti.template(), begin, sums: ti.template(), room):  # type: ignore[valid-type]
    """`scan` in two loops, because each loop costs time on a GPU: totals of pieces, then sums before each."""
    for thread in range(threads):
        first, lane = thread // WARP * (WARP * ROUNDS), thread % WARP
        total = 0
        for k in ti.static(range(ROUNDS)):
            at = first + k * WARP + lane
            value = values[begin + ti.min(at, n - 1)]
            total += ti.select(at < n, value, 0)
        total = _running(total, lane)
        if lane == WARP - 1:
            sums[room + thread // WARP] = total
    for thread in range(threads):
        piece, lane = thread // WARP, thread % WARP
        first = piece * (WARP * ROUNDS)
        # All are read before any is written, which may be in their place.
        read = [values[begin + ti.min(first + k * WARP + lane, n - 1)] for k in ti.static(range(ROUNDS))]
        total, other = 0, lane
        while other < piece:
            total += sums[room + other]
            other += WARP
        total = shuffle(_running(total, lane), WARP - 1)
        for k in ti.static(range(ROUNDS)):
            at = first + k * WARP + lane
            up_to = total + _running(ti.select(at < n, read[k], 0), lane)
            if at < n:
                starts[begin + at] = up_to - read[k]
            total = shuffle(up_to, WARP - 1)
        if first + WARP * ROUNDS >= n and lane == 0:
            starts[begin + n] = total


@ti.func
def scan_ends(n):
    """Where the loops of `scan` end.

    To be worked out at the top of a kernel: before a loop that costs a GPU a kernel.
    """
    first = (n + BLOCK - 1) // BLOCK
    second = (first + BLOCK - 1) // BLOCK
    ends = ti.Vector([first, second, (second + BLOCK - 1) // BLOCK])
    if ti.static(row_layout(backend()) == CHUNKED):
        ends[0] = (n + WARP * ROUNDS - 1) // (WARP * ROUNDS) * WARP
    return ends


@ti.func
def scan(n, ends, values: ti.template(), starts: ti.template(), begin, sums: ti.template(), room):  # type: ignore[valid-type]
    """starts[begin + k] is the sum of values[begin : begin + k], for k = 0..n; both may be one array.

    From sums[room] on is room for `scan_size` numbers; `ends` is what `scan_ends` says.
    """
    if ti.static(row_layout(backend()) == CHUNKED):
        _by_warps(n, ends[0], values, starts, begin, sums, room)
    else:
        _by_threads(n, ends, values, starts, begin, sums, room)
