"""run.json: every setting, version and figure of a run, so that a number can be traced and repeated."""

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError
from taichimd.core.machine import host, versions
from taichimd.io.checked import Report, fault_of
from taichimd.io.files import write_atomically


def circumstances(started: float) -> dict[str, Any]:
    """When something began (`time.time`), and what computes it: `started`, `versions`, `runtime`, `host`."""
    from taichimd.core.runtime import info

    begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started))
    return {"started": begun, "versions": versions(), "runtime": info(), "host": host()}


def volumes(rows: Mapping[str, Array]) -> dict[str, float]:
    """The first and last volume of the rows of a thermo table; empty without a volume."""
    if not np.isfinite(rows["volume_A3"]).all():
        return {}
    return {"first_volume_A3": float(rows["volume_A3"][0]), "last_volume_A3": float(rows["volume_A3"][-1])}


_OF_SEGMENT = (
    "first_step", "last_step", "first_ps", "simulated_ps", "exit_reason", "settings", "potential",
    "decomposition", "velocities", "versions", "runtime", "host", "started", "wall_seconds",
    "compile_seconds", "atom_steps_per_second", "notes",
)  # fmt: skip


def segments(earlier: Mapping[str, Any], report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The runs that a folder's files are of, in turn: those of its earlier run.json, and the present one.

    An earlier one ends where the present one begins; what it did after that step is void. A run of no step,
    which only completes the results, completes the last one.
    """
    own = {key: report[key] for key in _OF_SEGMENT if key in report}
    step, ps = report["first_step"], report.get("first_ps")
    kept = []
    for one in earlier.get("segments", []):
        first, last = one.get("first_step", 0), one.get("last_step", 0)
        if first < step:
            killed = one.get("exit_reason") == "running"
            kept.append({**one, "last_step": step, "simulated_ps": ps} if killed or last > step else one)
    if kept and report["planned_last_step"] == step:
        return [*kept[:-1], {**kept[-1], "exit_reason": report["exit_reason"]}]
    return [*kept, own]


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Write run.json atomically; a number that is not one, such as the error of a single run, as null."""
    text = json.dumps(_finite(report), indent=2, allow_nan=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))


def read_report(path: Path) -> dict[str, Any]:
    """An earlier run.json; empty if there is none. OutputError: it is damaged, or of another program."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        fault = fault_of(Report, content)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        fault = str(error)
    if fault:
        raise OutputError(
            f"{path} is damaged or was not written by taichimd ({fault}); remove it, then its run has "
            "no history"
        )
    found: dict[str, Any] = content
    return found


def plot_format_of(report: Mapping[str, Any]) -> str:
    """Format of the pictures of a run; PNG where an earlier version does not say."""
    return str(report.get("settings", {}).get("plot_format", "png"))


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
