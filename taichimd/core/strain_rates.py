"""Strain rates as a user writes them: texts such as "x=1e9/s", "x=1e9/s,y=-3e8/s", "xy=0.01/ps".

The help of the command line needs this module, so it imports no NumPy.
"""

import math
import re

STRETCHED = ("x", "y", "z")
SHEARED = ("yz", "xz", "xy")
"""Axes of a stretch, and planes of a shear: xy moves what lies higher along y in the direction of x."""
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "ps": 1e12, "fs": 1e15}
_RATE = re.compile(r"(?P<number>[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)?\s*(?:/\s*(?P<unit>[a-z]+))?")


def parse_rates(text: str, names: tuple[str, ...]) -> dict[str, float]:
    """Rates in 1/s by axis of a text such as "x=1e9/s"; several with commas or spaces; or a ValueError."""
    found: dict[str, float] = {}
    for part in re.split(r"[,\s]+", text.strip()):
        name, equal, value = part.partition("=")
        if not equal or name not in names:
            raise ValueError(f"{part!r} does not begin with one of {', '.join(f'{one}=' for one in names)}")
        if name in found:
            raise ValueError(f"{name} is given twice")
        match = _RATE.fullmatch(value)
        unit = None if match is None else match["unit"]
        if match is None or match["number"] is None or (unit is not None and unit not in _PER_SECOND):
            per_step = unit in ("step", "steps")
            raise ValueError(
                f"{part!r} is a rate per step; divide it by the time step"
                if per_step
                else f"{part!r} is not a number with a unit such as /s, /ns or /ps"
            )
        found[name] = float(match["number"]) * _PER_SECOND[unit or "s"]
        if not math.isfinite(found[name]) or found[name] == 0.0:
            raise ValueError(f"{part!r} is not a rate; expected a number other than 0")
    return found
