"""Sheared cells are flipped: other vectors of the same lattice, so that no cell becomes ever flatter.

A vector b whose projection on a is longer than half of a becomes b - n a, with the nearest whole number n.
Nothing physical changes: positions and velocities are the same. A flip depends on the cell and on the number
of the step alone.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.system.cell import Cells
from taichimd.system.state import State

_PAIRS = ((1, 0), (2, 1), (2, 0))
"""Vector, and the one that it is shortened by."""
_MAX_SHARE = 0.5 + 1e-6
"""Largest projection of a vector on another one, over its length: a hexagonal cell stays as it is."""


def flipped(vectors: Array, pbc: NDArray[np.bool_]) -> tuple[Array, NDArray[np.int64]] | None:
    """Vectors (3, 3) of the same lattice, and whole numbers M, old = M new; None if none is too oblique."""
    new, whole = vectors.tolist(), np.eye(3, dtype=np.int64)
    for b, a in _PAIRS:
        if not (pbc[a] and pbc[b]):
            continue
        along = sum(x * y for x, y in zip(new[b], new[a], strict=True))
        share = along / sum(x * x for x in new[a])
        if abs(share) > _MAX_SHARE:
            n = round(share)
            new[b] = [x - n * y for x, y in zip(new[b], new[a], strict=True)]
            # old = M new, and new_b = old_b - n new_a: column a gets n times column b.
            whole[:, a] += n * whole[:, b]
    return None if (whole == np.eye(3)).all() else (np.array(new), whole)


def flip_sheared(
    state: State, cells: Cells, numbers: Sequence[int], pbc: Sequence[NDArray[np.bool_]]
) -> bool:
    """Flip the cells of some systems if they are too oblique; whether some were."""
    some = False
    for number in numbers:
        found = flipped(cells.vectors(number), pbc[number])
        if found is not None:
            new, whole = found
            part = state.parts[number]
            turns = state.turns_of(part)
            cells.set({number: new})
            if turns is not None:
                state.forget_turns(part)
                state.add_turns(part, turns @ whole)
            some = True
    return some
