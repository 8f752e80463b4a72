"""What a user of Python gives of several systems: one value for all, or a list."""

from typing import Any

import numpy as np

from taichimd.core.errors import SettingsError


def is_list(given: Any) -> bool:
    """Whether it is a list, one value for each, rather than a value for all."""
    return isinstance(given, list | tuple | np.ndarray)


def one_of_each(name: str, given: Any, n: int, missing: Any = None) -> list[Any]:
    """What is given of each of n systems, from a value for all or a list of n."""
    if given is None or not is_list(given):
        return [missing if given is None else given] * n
    if len(given) != n:
        raise SettingsError(f"{name}: expected one of each of the {n} systems, got a list of {len(given)}")
    return list(given)
