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
    total = 0
    for k in range(begin + b * BLOCK, begin + ti.min(n, b * BLOCK + BLOCK)):
        value = values[k]
        values[k] = total
        total += value
    return total


@ti.func
def scan(n, starts: ti.template(), sums: ti.template()):  # type: ignore[valid-type]
    """Replace starts[k] by starts[0] + ... + starts[k-1] for k = 0..n, in levels of serial pieces.

    `sums` holds the totals of level one, behind them those of the next levels.
    """
    first = (n + BLOCK - 1) // BLOCK
    second = (first + BLOCK - 1) // BLOCK
    third = (second + BLOCK - 1) // BLOCK
    for b in range(first):
        sums[b] = _piece(b, n, 0, starts)
    for b in range(second):
        sums[first + b] = _piece(b, first, 0, sums)
    for b in range(third):
        sums[first + second + b] = _piece(b, second, first, sums)
    if n > 0:
        total = 0
        for k in range(first + second, first + second + third):
            value = sums[k]
            sums[k] = total
            total += value
        starts[n] = total
    for k in range(n):
        b = k // BLOCK
        c = b // BLOCK
        starts[k] += sums[b] + sums[first + c] + sums[first + second + c // BLOCK]
