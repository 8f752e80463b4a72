"""Types of settings: how texts of a command line and values of TOML are read, and what is said of them.

The help of the command line needs this module, so it imports no NumPy.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat

from taichimd.core.numerals import number_of
from taichimd.core.printable import any_of
from taichimd.core.strain_rates import SHEARED, STRETCHED, parse_rates
from taichimd.forcefields.spec import split_spec

_TIME_FS = {"fs": 1.0, "ps": 1.0e3, "ns": 1.0e6, "us": 1.0e9}
_TIME = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(fs|ps|ns|us)\s*")

MAX_STEPS = 10**15
"""Most steps of a run: centuries of computing, and time in fs still has its last digit."""
PER_ATOM = ("energy", "virial")
"""What frames can have of each atom, besides positions, velocities and forces."""
TRAJECTORIES = ("trajectory.extxyz", "trajectory.nc", "trajectory.traj")
"""Names of the trajectory in the folder of a run, by format."""
NONE = "none"
"""For a restart: nothing of what its checkpoint has. Of frames: no trajectory."""
DRAW, FILE = "draw", "file"
"""Where velocities come from, if not "auto"."""
TIME_EXPECTED = 'a length of time with its unit, such as "500fs", "10ps", "1ns"'
"""What is expected where a time is read."""


@dataclass(frozen=True)
class Values:
    """What a setting can be."""

    expected: str  # in an error
    symbol: str = ""  # in the help, for the value of the option; "": the name of its Python type
    more: str = ""  # in the help, after the description
    option: Any = str  # type that the parser of options makes of a text
    choices: tuple[str, ...] = ()  # all words that a choice has; none if it is no choice


def values_of(annotation: Any) -> Values:
    """The `Values` of a type: declared with it, or the words of a `Literal`, alone or in a union."""
    if get_origin(annotation) is Literal:
        listed = any_of(get_args(annotation))
        return Values(listed, "word", f": {listed}", choices=get_args(annotation))
    declared = [one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, Values)]
    return declared[0] if declared else values_of(get_args(annotation)[0])


def mistake(message: str) -> Exception:
    """A `SettingsError`, whose module imports NumPy."""
    from taichimd.core.errors import SettingsError

    return SettingsError(message)


def parse_time(text: str) -> float:
    """Length of time in fs of a text such as "10ps", or a SettingsError."""
    value = _femtoseconds(text)
    if not (math.isfinite(value) and value > 0):
        raise mistake(f"time = {text!r}: expected {TIME_EXPECTED}")
    return value


def _femtoseconds(text: str) -> float:
    """Time of a text with a unit, fs; NaN if it cannot be read."""
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
        return number_of(value)
    except ValueError:
        read = _femtoseconds(value)
        return value if math.isnan(read) else read


def two_times(value: Any) -> Any:
    """Fs of a text such as "1ps,5ps", with NaN where one cannot be read; a tuple of a list."""
    if isinstance(value, str):
        return tuple(_femtoseconds(one.strip()) for one in value.split(","))
    return tuple(value) if isinstance(value, list) else value


def parts_of(text: str | None) -> tuple[str, ...]:
    """The names in a text such as "energy,virial"."""
    return tuple(part.strip() for part in text.split(",")) if text is not None else ()


def checked_per_atom(value: str | None) -> str | None:
    """Names of columns of each atom, from PER_ATOM, each once; None for "none"."""
    parts = parts_of(value)
    if value == NONE:
        return None
    if not set(parts) <= set(PER_ATOM) or len(set(parts)) != len(parts):
        raise ValueError
    return value


def without_none(value: str | None) -> str | None:
    """None of "none"."""
    return None if value == NONE else value


def texts_or_none(value: Any) -> Any:
    """The texts of a command line, of TOML and JSON; None of "none" and of an empty list."""
    texts = [value] if isinstance(value, str) else list(value) if isinstance(value, tuple) else value
    return None if texts in ([], [NONE]) else texts


def rates_of(names: tuple[str, ...]) -> Callable[[str | None], str | None]:
    """Checks a text of rates, such as "x=1e9/s"; None of "none"."""

    def checked(text: str | None) -> str | None:
        if text is None or text == NONE:
            return None
        parse_rates(text, names)
        return text

    return checked


def checkpoint_of(path: str | None) -> str | None:
    """The checkpoint in the folder of a run."""
    return str(Path(path) / "checkpoint.npz") if path and Path(path).is_dir() else path


def absolute(spec: str, folder: bool = False) -> str:
    """The absolute path of a file, with its options; a text that is no file (nor a `folder`) is returned."""
    file, rest = split_spec(spec)
    there = Path(file).is_file() or (folder and Path(file).is_dir())
    return f"{Path(file).resolve()}{rest}" if file and there else spec


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


def parse_pressure(value: Any) -> Any:
    """Texts of a command line, "1.5" or "1,2,3", and the lists of TOML and JSON."""
    if isinstance(value, str):
        try:
            value = [number_of(part) for part in value.split(",")]
        except ValueError:
            return value
        return value[0] if len(value) == 1 else tuple(value)
    return tuple(value) if isinstance(value, list) else value


_ABOVE_0 = Field(gt=0, allow_inf_nan=False)
Kelvin = Annotated[float, _ABOVE_0, Values("a number above 0 (K)", "K", option=float)]
Gigapascal = Annotated[float, _ABOVE_0, Values("a number above 0 (GPa)", "GPa", option=float)]
Angstrom = Annotated[float, _ABOVE_0, Values("a number above 0 (Å)", "Å", option=float)]
CubicAngstrom = Annotated[float, _ABOVE_0, Values("a number above 0 (Å³)", "Å³", option=float)]
BondOrder = Annotated[float, _ABOVE_0, Values("a number above 0", "", option=float)]
Seconds = Annotated[float, _ABOVE_0, Values("a number above 0 (seconds of wall clock)", "s", option=float)]
Femtoseconds = Annotated[
    float,
    BeforeValidator(time_or_number),
    _ABOVE_0,
    Values('a number above 0 (fs), or a time such as "1fs"', "fs", '; in fs, or with a unit such as "1fs"'),
]
Duration = Annotated[
    float,
    BeforeValidator(lambda value: _femtoseconds(value) if isinstance(value, str) else value),
    _ABOVE_0,
    Values(TIME_EXPECTED, "time"),
]
"""Fs, or a text with a unit."""
Equilibration = Annotated[
    float,
    BeforeValidator(lambda value: _femtoseconds(value) if isinstance(value, str) else value),
    Field(ge=0, allow_inf_nan=False),
    Values(f"{TIME_EXPECTED}; 0fs for none", "time"),
]
"""Fs, or a text with a unit; may be zero."""
TwoTimes = Annotated[
    tuple[FiniteFloat, FiniteFloat],
    BeforeValidator(two_times),
    Values('two times, such as "1ps,5ps"', "times"),
]
"""Fs, or a text of two with units."""
GroupNames = Annotated[str, Values("names of groups with commas between, or all", "names")]
GroupPair = Annotated[str, Values("names of two groups with > between", "names")]
Time = Annotated[str, Values(TIME_EXPECTED, "time")]
Steps = Annotated[
    int,
    Field(gt=0, le=MAX_STEPS),
    Values("a whole number above 0, at most 1e15 (steps)", "steps", option=int),
]
Count = Annotated[int, Field(gt=0), Values("a whole number above 0", option=int)]
Repetitions = Annotated[
    tuple[Count, Count, Count],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
    Values("three whole numbers above 0, such as 4 4 4", "int int int", option=tuple[int, int, int]),
]
Seed = Annotated[int, Field(ge=0, lt=2**63), Values("a whole number from 0 to 2^63 - 1 (9.2e18)", option=int)]
FrameNumber = Annotated[
    int, Values("the number of a frame of a trajectory; 0 is the first, -1 the last", option=int)
]
Backend = Literal["auto", "cuda", "cpu"]
Precision = Literal["float64", "mixed", "float32"]
Decomposition = Literal["particle", "tuple", "auto"]
PlotFormat = Literal["png", "pdf", "svg"]
InputUnits = Literal["metal", "real", "electron", "si", "cgs", "micro", "nano"]
"""Unit systems of LAMMPS files (`io.lammps_units`)."""
AtomStyle = Literal["atomic", "charge", "molecular", "full", "bond", "angle", "dipole"]
"""Atom styles of LAMMPS's data files."""
Elements = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(lambda value: parts_of(value) if isinstance(value, str) else tuple(value)),
    Field(min_length=1),
    Values('elements with commas between, such as "Si,O"', "Si,O"),
]
Flag = Annotated[bool, Values("true or false", option=bool)]
Pressure = Annotated[
    FiniteFloat | tuple[FiniteFloat, FiniteFloat, FiniteFloat],
    BeforeValidator(parse_pressure),
    Values('a number, or three for x, y and z such as "0,0,1" (GPa)', "GPa", ': a number or "x,y,z"'),
]
"""One pressure, or three for x, y and z (GPa)."""
Axes = Annotated[str, Values('some of x, y and z, such as "xy"', "axes")]
Stretch = Annotated[
    str | None,
    AfterValidator(rates_of(STRETCHED)),
    Values('rates per time along x, y or z, such as "x=1e9/s" (not per step); or none', "rates"),
]
Shear = Annotated[
    str | None,
    AfterValidator(rates_of(SHEARED)),
    Values('rates per time of yz, xz or xy, such as "xy=1e10/s" (not per step); or none', "rates"),
]
Folder = Annotated[str, Field(min_length=1), Values("the name of a folder", "folder")]
Structure = Annotated[
    str, Values("a structure file that ASE reads, a checkpoint, or the folder of a run", "file")
]
Restart = Annotated[
    str, AfterValidator(checkpoint_of), Values("a checkpoint file, or the folder of a run", "checkpoint")
]
Potential = Annotated[
    str | Annotated[list[str], Field(min_length=1)],
    BeforeValidator(parse_potential),
    Values(
        "a parameter file, a shipped name (`taichimd potentials`), each with :option=value if it takes any, "
        "file.py:name, or several",
        "file",
        option=list[str],
    ),
]
"""One potential, or several whose sum it is."""
PerAtom = Annotated[
    str | None,
    AfterValidator(checked_per_atom),
    Values("energy, virial or both as energy,virial; or none", "list"),
]
Texts = Annotated[
    list[str] | None,
    BeforeValidator(texts_or_none),
    Values("a text, or several; or none", "text", option=list[str]),
]
"""Several texts; None of "none"."""
Observables = Annotated[
    str | None,
    AfterValidator(without_none),
    Values(
        "some of rdf, msd, vacf, heat, viscosity, species, bonds, reactions, dipole, ir, flow, profile, "
        "spectrum, with commas; or none",
        "list",
    ),
]
