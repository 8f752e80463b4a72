"""Types and validators of settings: texts of a command line and values of TOML, turned into numbers."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, FiniteFloat

from taichimd.core.errors import SettingsError

_TIME_FS = {"fs": 1.0, "ps": 1.0e3, "ns": 1.0e6, "us": 1.0e9}
_TIME = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(fs|ps|ns|us)\s*")

MOST_STEPS = 10**15
"""Of a run: centuries of computing, and time in fs still has its last digit."""
PER_ATOM = ("energy", "virial")
"""What frames can have of each atom, besides positions, velocities and forces."""
NONE = "none"
"""For a restart: nothing of what its checkpoint has. Of frames: no trajectory."""
DRAW, FILE = "draw", "file"
"""Where velocities come from, if not "auto"."""
TIME_EXPECTED = 'a length of time with its unit, such as "500fs", "10ps", "1ns"'
"""What is expected where a time is read."""


def parse_time(text: str) -> float:
    """Length of time in fs of a text such as "10ps".

    Raises:
        SettingsError: no number, no unit, or not above zero.
    """
    value = _femtoseconds(text)
    if not (math.isfinite(value) and value > 0):
        raise SettingsError(f"time {text!r}: expected {TIME_EXPECTED}")
    return value


def _femtoseconds(text: str) -> float:
    """Of a text with a unit; NaN if it cannot be read."""
    match = _TIME.fullmatch(text)
    try:
        return float(match.group(1)) * _TIME_FS[match.group(2)] if match else math.nan
    except ValueError:
        return math.nan


def time_or_number(value: Any) -> Any:
    """Fs of "1fs" and "0.5"; what is no such text stays, for the model to refuse."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        read = _femtoseconds(value)
        return value if math.isnan(read) else read


Femtoseconds = Annotated[float, BeforeValidator(time_or_number)]
"""A number (fs), or a text with a unit such as "1fs" or "0.1ps"."""


def parts_of(text: str | None) -> tuple[str, ...]:
    """The names in a text such as "energy,virial"."""
    return tuple(part.strip() for part in text.split(",")) if text is not None else ()


def checked_per_atom(value: str | None) -> str | None:
    """Of the columns of each atom: names from PER_ATOM, each once; None of "none"."""
    parts = parts_of(value)
    if value == NONE:
        return None
    if not set(parts) <= set(PER_ATOM) or len(set(parts)) != len(parts):
        raise ValueError
    return value


def without_none(value: str | None) -> str | None:
    """None of "none"."""
    return None if value == NONE else value


def checkpoint_of(path: str | None) -> str | None:
    """Of a run's folder its checkpoint."""
    return str(Path(path) / "checkpoint.npz") if path and Path(path).is_dir() else path


def absolute(spec: str, folder: bool = False) -> str:
    """The absolute path of a file, or of "file.py:name"; what is no file (nor a `folder`) stays."""
    file, colon, name = spec.rpartition(":") if ".py:" in spec else (spec, "", "")
    there = Path(file).is_file() or (folder and Path(file).is_dir())
    return f"{Path(file).resolve()}{colon}{name}" if file and there else spec


def each(texts: str | list[str]) -> list[str]:
    """One potential or several, as a list."""
    return [texts] if isinstance(texts, str) else texts


def of_each(texts: str | list[str], change: Callable[[str], str]) -> str | list[str]:
    """One potential changed, or each of several."""
    return change(texts) if isinstance(texts, str) else list(map(change, texts))


def parse_potential(value: Any) -> Any:
    """The lists of a command line, of TOML and JSON; of one potential it is that one."""
    if not isinstance(value, list | tuple):
        return value
    return value[0] if len(value) == 1 else list(value)


Potential = Annotated[
    str | Annotated[list[str], Field(min_length=1)] | None, BeforeValidator(parse_potential)
]
"""One potential, or several whose sum it is."""


def parse_pressure(value: Any) -> Any:
    """Texts of a command line, "1.5" or "1,2,3", and the lists of TOML and JSON."""
    if isinstance(value, str):
        try:
            value = [float(part) for part in value.split(",")]
        except ValueError:
            return value
        return value[0] if len(value) == 1 else tuple(value)
    return tuple(value) if isinstance(value, list) else value


Pressure = Annotated[
    FiniteFloat | tuple[FiniteFloat, FiniteFloat, FiniteFloat] | None, BeforeValidator(parse_pressure)
]
"""One pressure, or three for x, y and z (GPa)."""
