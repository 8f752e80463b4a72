"""The machine and the versions of packages, for reports; imports no NumPy."""

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from taichimd.core.hardware import cpu_name

_PACKAGES = ("numpy", "ase", "taichi", "quadrants")


@cache
def versions() -> dict[str, str]:
    """Versions of this program and of what its numbers depend on."""
    from taichimd import __version__

    found = {"taichimd": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def host() -> dict[str, Any]:
    """The machine, without its name."""
    return {"system": platform.platform(), "cpu": cpu_name(), "cpu_count": os.cpu_count()}
