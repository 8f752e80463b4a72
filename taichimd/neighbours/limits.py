"""The array of distances up to which near lists keep pairs, in the units of `packed` positions."""

import numpy as np
from numpy.typing import NDArray

from taichimd.core.runtime import ti
from taichimd.neighbours.packed import reach2, units

SKIN, UNITS, LARGEST, SMALLEST_PAIR, LARGEST_PAIR, LIMITS = range(6)
"""The inner skin, angstrom; units per angstrom; the largest of the limits of the near list; the smallest and
largest of those of the pair term. From LIMITS on those of the near list by kinds, then those of the pair
term."""
PAIRS = 1
"""Which part of them is of the pair term."""


def limits_size(n_kinds: int) -> int:
    """Length of the array."""
    return LIMITS + 2 * n_kinds**2


def limits(
    near: NDArray[np.float64], pairs: NDArray[np.float64], inner_skin: float, outer_skin: float
) -> NDArray[np.float64]:
    """The array of cutoffs, (species, species) in angstrom, not positive where nothing acts, and skins."""
    # Since the build both atoms may have moved, each by half of what the skins differ by.
    per_angstrom = units(max(near.max(), pairs.max(), 0.0) + 2.0 * outer_skin)
    one, other = (reach2(np.where(c > 0, c + inner_skin, -1.0), per_angstrom).ravel() for c in (near, pairs))
    return np.array([inner_skin, per_angstrom, one.max(), other.min(), other.max(), *one, *other])


@ti.func
def limit_of(part, i, j, n_kinds: ti.template(), kind: ti.template(), limits2: ti.template()):  # type: ignore[valid-type]
    """Limit for two atoms, in one part of the array: kinds are looked up where they matter."""
    k = 0
    if ti.static(n_kinds > 1):
        k = kind[i] * n_kinds + kind[j]
    return ti.cast(limits2[LIMITS + part * n_kinds * n_kinds + k], ti.i32)
