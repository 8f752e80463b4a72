"""Whether what a user gives is a number, Python's or NumPy's but no truth value; numbers for messages."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np


def is_number(value: object) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_whole(value: object) -> bool:
    """Whether it is an integer."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def digits(value: float) -> str:
    """A number with as many digits as tell it from all others: 3, 0.1, 3.00000000001.

    >>> digits(3.0), digits(3.00000000001), digits(1e-7)
    ('3', '3.00000000001', '1e-07')
    """
    short = f"{value:g}"
    return short if float(short) == value or not math.isfinite(value) else repr(float(value))


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's numbers and tuples; anything else as it is."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.ndim else value.item()
    return value.item() if isinstance(value, np.generic) else value
