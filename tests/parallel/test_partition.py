"""Slabs and what is within their reach, against all distances."""

import numpy as np
import pytest

from taichimd.parallel.partition import Slabs, Stretch
from taichimd.system.frame import make_frame


def parts_of(slabs, x, room, wanted):
    """The parts of all processes."""
    depth = slabs.depth_of(x, np)
    order = slabs.order_of(depth, np)
    held = slabs.stretches(depth, order, [room] * slabs.processes, wanted, np)
    return [slabs.part(depth, order, held, rank, np) for rank in range(slabs.processes)]


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
    parts = parts_of(slabs, x, room, 3.0)
    for rank, part in enumerate(parts):
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
    for p, q in np.ndindex(3, 3):
        both = np.intersect1d(owners[p], parts[q].members) if p != q else []
        assert list(parts[p].sends[q]) == list(both)
        assert list(parts[q].receives[p]) == list(both)


def test_a_part_with_room_for_all_has_all():
    x = np.random.default_rng(2).random((50, 3)) * 10.0
    frame = make_frame(np.eye(3) * 10.0, np.ones(3, bool))
    part = parts_of(Slabs.of(x, frame, 2), x, None, 20.0)[0]
    assert list(part.members) == list(range(50))
    assert part.reach == np.inf
    assert len(part.sends[1]) == len(part.receives[1]) == 25


def test_a_stretch_may_continue_at_the_other_end():
    assert Stretch(-3, 8, 1.0, 0.0, 1.0).within(0, 20, 20) == [slice(0, 5), slice(17, 20)]
    assert Stretch(15, 8, 1.0, 0.0, 1.0).within(0, 10, 20) == [slice(0, 3)]
    assert Stretch(0, 20, np.inf, 0.0, 1.0).within(5, 10, 20) == [slice(5, 10)]
