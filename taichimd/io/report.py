"""run.json: every setting, version and figure of a run, so that a number can be traced and repeated."""

import json
import math
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.io.files import write_atomically
from taichimd.protocols import Array

_PACKAGES = ("numpy", "ase", "taichi", "quadrants")


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
    return {"system": platform.platform(), "cpu": _cpu_model(), "cpu_count": os.cpu_count()}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def energy_drift(time_ps: Array, total: Array, n_atoms: int) -> dict[str, float | None] | None:
    """How well the conserved energy was kept: in NVE the total energy.

    Returns:
        `change_ev_per_atom` from the first to the last row; `slope_ev_per_atom_per_ns`, a least-squares line
        (None below three rows); `fluctuation_ev_per_atom`, the standard deviation. None where nothing is
        conserved, rows that are not numbers, and without a row.
    """
    if not (len(total) and np.isfinite(total).all()):
        return None
    per_atom = (total - total[0]) / n_atoms
    slope = float(np.polyfit(time_ps / 1000.0, per_atom, 1)[0]) if len(total) > 2 else None
    return {
        "change_ev_per_atom": float(per_atom[-1]),
        "slope_ev_per_atom_per_ns": slope,
        "fluctuation_ev_per_atom": float(per_atom.std()),
    }


def pressure_and_volume(rows: Mapping[str, Array]) -> dict[str, float]:
    """Means over the rows of a thermo table, and the first and last volume; empty without a volume."""
    if not np.isfinite(rows["volume_A3"]).all():
        return {}
    return {
        "mean_pressure_GPa": float(rows["pressure_GPa"].mean()),
        "mean_volume_A3": float(rows["volume_A3"].mean()),
        "first_volume_A3": float(rows["volume_A3"][0]),
        "last_volume_A3": float(rows["volume_A3"][-1]),
    }


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Write run.json atomically; a number that is not one, such as the error of a single run, as null.

    Raises:
        OutputError: it cannot be written.
    """
    text = json.dumps(_finite(report), indent=2, allow_nan=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def read_report(path: Path) -> dict[str, Any]:
    """An earlier run.json; empty if there is none or it cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _finite(value: Any) -> Any:
    """JSON form, also of what json does not know, NumPy values and paths; JSON has no NaN."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, int | str) else str(value)
