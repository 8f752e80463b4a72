"""Positions packed into one number, and the places of entries in rows."""

import numpy as np
import pytest

from taichimd.core.runtime import start, ti
from taichimd.neighbours.packed import opposite, packed, reach2, squared, units
from taichimd.neighbours.rows import ATOM_MAJOR, CHUNKED, SLOT_MAJOR, row_width, slot

FARTHEST = 14.0
"""angstrom"""


def squares(x, y, image):
    """`squared` of the packed y + image - x, and of the same seen from y: (n, 2)."""
    start()
    vecs = ti.types.ndarray(dtype=ti.types.vector(3, ti.f64), ndim=1)

    @ti.kernel
    def fill(n: ti.i32, x: vecs, y: vecs, image: vecs, scale: ti.f64, out: ti.types.ndarray()):
        for i in range(n):
            out[i, 0] = squared(packed(y[i], scale) + packed(image[i], scale) + opposite(packed(x[i], scale)))
            out[i, 1] = squared(
                packed(x[i], scale) + packed(-image[i], scale) + opposite(packed(y[i], scale))
            )

    out = np.zeros((len(x), 2), np.int32)
    fill(len(x), *map(np.ascontiguousarray, (x, y, image)), units(FARTHEST), out)
    return out


@pytest.fixture(scope="module")
def many():
    """Pairs within 10 angstrom in each direction, anywhere, through images; and their distances."""
    rng = np.random.default_rng(0)
    n = 100_000
    apart = rng.uniform(-10.0, 10.0, (n, 3))
    image = rng.integers(-3, 4, (n, 3)) * 57.251
    x = rng.uniform(-1e5, 1e5, (n, 3))
    return squares(x, x + apart - image, image), np.linalg.norm(apart, axis=1)


def test_both_ends_of_a_pair_find_the_same_distance(many):
    found, _ = many
    np.testing.assert_array_equal(found[:, 0], found[:, 1])


def test_no_pair_within_reach_is_lost_and_few_beyond_are_kept(many):
    found, distance = many
    for reach in (2.0, 5.5, 9.9):
        kept = found[:, 0] < reach2(np.array([reach]), units(FARTHEST))[0]
        assert kept[distance < reach].all()
        assert not kept[distance > reach + 4.0 / units(FARTHEST)].any()
    assert not (found[:, 0] < reach2(np.array([-1.0]), units(FARTHEST))[0]).any()


def test_distances_are_right_to_two_units(many):
    found, distance = many
    error = np.sqrt(found[:, 0]) - distance * units(FARTHEST)
    assert 1.0 < np.abs(error).max() < 2.0


@pytest.mark.parametrize("layout", [ATOM_MAJOR, SLOT_MAJOR, CHUNKED])
def test_every_entry_has_a_place_of_its_own(layout):
    start()
    n, width = 7, row_width(19)

    @ti.kernel
    def fill(n: ti.i32, width: ti.i32, out: ti.types.ndarray()):
        for i in range(n):
            for s in range(width):
                out[i, s] = slot(i, s, n, width, layout)

    places = np.zeros((n, width), np.int32)
    fill(n, width, places)
    assert width == 24
    assert sorted(places.ravel().tolist()) == list(range(n * width))
    beside = {ATOM_MAJOR: np.diff(places, axis=1), SLOT_MAJOR: np.diff(places, axis=0)}
    assert (beside.get(layout, np.diff(places.reshape(n, -1, 8), axis=2)) == 1).all()
