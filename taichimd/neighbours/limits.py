"""The array of squared distances up to which pairs are kept when near lists are cut."""

import numpy as np
from numpy.typing import NDArray

SKIN, LARGEST, SMALLEST_PAIR, LARGEST_PAIR, LIMITS = range(5)
"""The inner skin; the largest of the limits of the near list; the smallest and largest of those of the pair term. From LIMITS
on those of the near list by kinds, then those of the pair term."""
PAIRS = 1
"""Which part of them is of the pair term."""


def limits_size(n_kinds: int) -> int:
    """Length of the array."""
    return LIMITS + 2 * n_kinds**2


def limits(near: NDArray[np.float64], pairs: NDArray[np.float64], inner_skin: float) -> NDArray[np.float64]:
    """The array for cutoffs, (species, species) in angstrom, not positive where nothing acts."""
    squares = [np.where(c > 0, (c + inner_skin) ** 2, -1.0).ravel() for c in (near, pairs)]
    return np.array(
        [inner_skin, squares[0].max(), squares[1].min(), squares[1].max(), *np.concatenate(squares)]
    )
