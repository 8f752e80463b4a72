"""Running sums on the device."""

from taichimd.runtime import ti

BLOCK = 32
"""Length of the pieces that one thread adds up, one after the other."""


def scan_size(n: int) -> int:
    """Length of the array `sums` for a scan of n numbers."""
    first = -(-n // BLOCK)
    second = -(-first // BLOCK)
    return first + second + -(-second // BLOCK) + 3


@ti.func
def _piece(b, n, begin, values: ti.template()):  # type: ignore[valid-type]
    """Replace piece b of the n numbers from `begin` on by their running sums; returns the total."""
    first, last = begin + b * BLOCK, begin + n - 1
    # All are read before any is written: on a GPU they come together, and not one after the other.
    read = [values[ti.min(first + k, last)] for k in ti.static(range(BLOCK))]
    total = 0
    for k in ti.static(range(BLOCK)):
        if first + k <= last:
            values[first + k] = total
            total += read[k]
    return total


@ti.func
def scan(n, starts: ti.template(), begin, sums: ti.template(), room):  # type: ignore[valid-type]
    """Replace starts[begin + k] by the sum of those from `begin` on before it, for k = 0..n, in levels of serial pieces.

    From sums[room] on stand the totals of level one, behind them those of the next levels.
    """
    first = (n + BLOCK - 1) // BLOCK
    second = (first + BLOCK - 1) // BLOCK
    third = (second + BLOCK - 1) // BLOCK
    for b in range(first):
        sums[room + b] = _piece(b, n, begin, starts)
    for b in range(second):
        sums[room + first + b] = _piece(b, first, room, sums)
    for b in range(third):
        sums[room + first + second + b] = _piece(b, second, room + first, sums)
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
