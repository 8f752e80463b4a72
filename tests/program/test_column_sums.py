"""Sums of columns of totals: the bits of `math.fsum`, however many numbers there are."""

from math import fsum

import numpy as np
import pytest

from taichimd.core.matrix3 import determinant
from taichimd.program.totals import SPLIT, column_sums


def same_as_fsum(values):
    with np.errstate(all="ignore"):
        assert column_sums(values) == [fsum(column) for column in values.T.tolist()]


@pytest.mark.parametrize("rows", [1, SPLIT - 1, SPLIT, 1000, 4097])
def test_sums_are_rounded_once(rows):
    rng = np.random.default_rng(rows)
    for spread in (0, 3, 20, 150):
        values = rng.normal(size=(rows, 7)) * 10.0 ** rng.integers(-spread, spread + 1, (rows, 7))
        values[:, 2] = 0.0
        same_as_fsum(values)
        # What is left after nearly all of it has cancelled.
        same_as_fsum(np.vstack([values, -values, values[:1] * 1e-17]))


def test_sums_of_the_largest_and_the_smallest_numbers():
    values = np.full((300, 2), 5e-324)
    values[:10, 0], values[10:20, 0] = 1e300, -1e300
    same_as_fsum(values)


def test_a_determinant_has_the_bits_of_the_cross_product():
    for a in np.random.default_rng(5).normal(size=(200, 3, 3)):
        x, y, z = a[0] * np.cross(a[1], a[2])
        assert determinant(a) == float(x + y + z)
