"""Ready cutoffs of own potentials: values at both ends, and slopes by differences, of the functions as "
"plain Python."""

import inspect
import math

import pytest

from taichimd.core import cutoffs


@pytest.fixture(params=["smooth_cutoff", "cosine_cutoff"])
def cutoff(request, monkeypatch):
    monkeypatch.setattr(cutoffs, "cos", math.cos)
    monkeypatch.setattr(cutoffs, "sin", math.sin)
    function = inspect.unwrap(getattr(cutoffs, request.param))
    return lambda r: function(r, 2.0, 3.0)


def test_it_is_1_inside_and_0_outside(cutoff):
    assert cutoff(1.0) == pytest.approx((1.0, 0.0))
    assert cutoff(2.0) == pytest.approx((1.0, 0.0))
    assert cutoff(2.5)[0] == pytest.approx(0.5)
    assert cutoff(3.0) == pytest.approx((0.0, 0.0), abs=1e-15)
    assert cutoff(9.0) == pytest.approx((0.0, 0.0), abs=1e-15)


@pytest.mark.parametrize("r", [2.1, 2.5, 2.77])
def test_its_slope_is_the_derivative(cutoff, r):
    difference = (cutoff(r + 1e-5)[0] - cutoff(r - 1e-5)[0]) / 2e-5
    assert cutoff(r)[1] == pytest.approx(difference, rel=1e-8)
