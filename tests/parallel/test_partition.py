"""Slabs and what is within their reach, against all distances."""

import numpy as np
import pytest

from taichimd.parallel.partition import Slabs
from taichimd.system.frame import make_frame

pytestmark = pytest.mark.once


@pytest.mark.parametrize("pbc", [[True] * 3, [True, False, True]])
@pytest.mark.parametrize("room", [None, 700])
def test_a_part_has_the_slab_and_all_within_its_reach(pbc, room):
    """In a skewed cell, with atoms that are not folded into it."""
    random = np.random.default_rng(1)
    cell = np.array([[10.0, 0.0, 0.0], [3.0, 40.0, 0.0], [1.0, 2.0, 12.0]])
    turns = random.integers(-2, 3, (1500, 3)) * pbc
    x = (random.random((1500, 3)) + turns) @ cell
    frame = make_frame(cell, np.array(pbc))
    slabs = Slabs.of(x, frame, 3)
    normal = np.cross(cell[2], cell[0]) if pbc[1] else frame.vectors[1]
    depth = x @ (normal / np.linalg.norm(normal))
    period = frame.heights[1] if pbc[1] else np.inf
    owners = []
    for rank in range(3):
        part = slabs.part(x, rank, room, 3.0, np)
        own = np.flatnonzero(part.slot // slabs.width == rank)
        owners.append(own)
        apart = np.abs(depth[:, None] - depth[own])
        if pbc[1]:
            apart %= period
            apart = np.minimum(apart, period - apart)
        within = np.flatnonzero(apart.min(axis=1) <= part.reach - 1e-9)
        assert len(own) == 500
        assert np.isin(own, part.members).all()
        assert np.isin(within, part.members).all()
        assert (np.diff(part.members) > 0).all()
        assert part.reach >= 3.0 if room is None else len(part.members) == room
    assert sorted(np.concatenate(owners)) == list(range(1500))


def test_a_part_with_room_for_all_has_all():
    x = np.random.default_rng(2).random((50, 3)) * 10.0
    frame = make_frame(np.eye(3) * 10.0, np.ones(3, bool))
    part = Slabs.of(x, frame, 2).part(x, 0, None, 20.0, np)
    assert list(part.members) == list(range(50))
    assert part.reach == np.inf
