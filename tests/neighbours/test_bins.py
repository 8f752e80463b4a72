"""Bins of the neighbour search, above all in cells that are a little shorter than a whole number of bins."""

import numpy as np
import pytest
from listed import assert_complete, scattered

from taichimd.neighbours.grid import make_grid
from taichimd.system.frame import make_frame

pytestmark = pytest.mark.both


@pytest.mark.parametrize("n", [2, 40, 100_000])
def test_bins_that_are_visited_reach_as_far_as_the_search(n):
    """In cells about whole numbers of bins long, above all in those that are a little shorter."""
    for share in np.outer(np.arange(1, 33) / 8, [1 - 1e-2, 1 - 1e-6, 1 - 1e-10, 1, 1 + 1e-10, 1 + 1e-6]).flat:
        lengths = np.full(3, 4.0 * share)
        for shared in (False, True):
            grid = make_grid(make_frame(np.diag(lengths), np.ones(3, bool)), None, n, 4.0, shared)
            assert (grid.reach * lengths / grid.bins >= 4.0).all()


@pytest.mark.parametrize(("short", "aside"), [(1e-2, 0.1), (1e-3, 0.05), (1e-4, 0.03)])
@pytest.mark.parametrize("others", [0, 24], ids=["few", "many"])
@pytest.mark.parametrize("axis", range(3))
def test_a_cell_a_little_shorter_than_the_radius(axis, others, short, aside):
    """Two atoms beside a face of the cell meet, too, across the whole cell behind it."""
    length = 4.0 * (1 - short)
    positions = np.array([*np.zeros((2, 3)), *scattered(others, np.eye(3) * (length - 0.8)) + 0.4])
    margin = 0.25 * short * length
    positions[:2, axis] = margin, length - margin
    positions[0, (axis + 1) % 3] = aside
    _, found = assert_complete(positions, np.eye(3) * length, [True] * 3, 4.0)
    assert (1, 0, *(2 * np.eye(3, dtype=int)[axis]).tolist()) in found
