"""Whether what a user gives is a number: Python's and NumPy's, but no truth value."""

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


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's numbers and tuples; anything else as it is."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.ndim else value.item()
    return value.item() if isinstance(value, np.generic) else value
