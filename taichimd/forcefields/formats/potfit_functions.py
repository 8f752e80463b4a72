"""Analytic functions of potfit's format 0, after the header of `formats.potfit`.

    global 1                (optional: parameters that functions share, as `name!`)
    sigma 2.3 1 4
    type morse_sc           (the function; `_sc` multiplies it with the smooth cutoff)
    cutoff 6.5
    D 0.3 0 1               (name, value, and bounds of the fit, which nothing reads)
    a 1.4 0 3
    r0 2.9 2 4
    h 1.0 0.5 2             (the width of the smooth cutoff, 1 if it is missing)

    smooth cutoff: x^4/(1 + x^4), x = (r - cutoff)/h

Source: potfit wiki, pages potfiles:format0 and models:analytic_functions; P. Brommer et al., Modelling
Simul. Mater. Sci. Eng. 23, 074002 (2015), doi:10.1088/0965-0393/23/7/074002; eopp: M. Mihalkovic,
C. L. Henley, Phys. Rev. B 85, 092102 (2012), doi:10.1103/PhysRevB.85.092102.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.errors import ParameterFileError
from taichimd.core.printable import counted
from taichimd.forcefields.formats.text import Word, parse_number, shorten

Function = Callable[..., Any]
FUNCTIONS: dict[str, tuple[int, Function]] = {
    "const": (1, lambda r, c: c + 0.0 * r),
    "lj": (2, lambda r, e, s: 4.0 * e * ((s / r) ** 12 - (s / r) ** 6)),
    "morse": (3, lambda r, d, a, r0: d * ((1.0 - np.exp(-a * (r - r0))) ** 2 - 1.0)),
    "buck": (3, lambda r, a, b, c: a * np.exp(-r / b) - c * (b / r) ** 6),
    "power": (2, lambda r, a, n: a * r**n),
    "power_decay": (2, lambda r, a, n: a * r**-n),
    "softshell": (2, lambda r, a, n: (a / r) ** n),
    "exp_decay": (2, lambda r, a, b: a * np.exp(-b * r)),
    "mexp_decay": (3, lambda r, a, b, r0: a * np.exp(-b * (r - r0))),
    "exp_plus": (3, lambda r, a, b, c: a * np.exp(-b * r) + c),
    "harmonic": (2, lambda r, k, r0: k * (r - r0) ** 2),
    "eopp": (6, lambda r, a, n, b, m, k, f: a * r**-n + b * r**-m * np.cos(k * r + f)),
    "eopp_exp": (6, lambda r, a, n, b, m, k, f: a * np.exp(-n * r) + b * r**-m * np.cos(k * r + f)),
    "meopp": (7, lambda r, a, n, b, m, k, f, r0: a * (r - r0) ** -n + b * r**-m * np.cos(k * r + f)),
}
"""Number of parameters, in their order, and the function (eV, angstrom)."""
SMOOTH = "_sc"
POINTS = 20_001
NEAREST = 0.1
"""Where the table of a function begins, over its cutoff: its relative error is below 1e-11 there."""
STEP = 1e-30


@dataclass(frozen=True)
class Analytic:
    """A function of the distance with its slope, called as a spline of SciPy."""

    function: Function
    parameters: tuple[float, ...]
    cutoff: float
    width: float | None

    @property
    def x(self) -> Any:
        """Points of its table, angstrom."""
        return np.linspace(NEAREST * self.cutoff, self.cutoff, POINTS)

    def __call__(self, r: Any, order: int = 0) -> Any:
        """Value at r, or with order 1 the slope."""
        if order:
            # The imaginary part of f(r + ih) is h f'(r), without a difference of numbers that are close.
            return self(np.asarray(r) + 1j * STEP).imag / STEP
        u = self.function(r, *self.parameters)
        if self.width is not None:
            x4 = ((r - self.cutoff) / self.width) ** 4
            u = u * x4 / (1.0 + x4)
        return u


def read_functions(rows: Sequence[list[Word]], names: Sequence[str], path: Path) -> list[Analytic]:
    """Read one function for each name."""
    left = list(rows)
    shared: dict[str, float] = {}
    if left and left[0][0].text == "global":
        (many,) = _values(left.pop(0), "global", path)
        for _ in range(int(many)):
            if not left:
                raise ParameterFileError(f"{path}: the file ends before the last of the global parameters")
            words = left.pop(0)
            shared[words[0].text], *_ = _values(words, words[0].text, path)
    found = [_function(left, name, shared, path) for name in names]
    for words in left:
        raise ParameterFileError(
            f"{path} line {words[0].line}: {shorten(words[0].text)} after the last parameter of {names[-1]}, "
            "expected the end of the file"
        )
    return found


def _function(left: list[list[Word]], name: str, shared: dict[str, float], path: Path) -> Analytic:
    word = _line(left, "type", name, path)[1]
    kind, smooth = word.text.removesuffix(SMOOTH), word.text.endswith(SMOOTH)
    if kind not in FUNCTIONS:
        raise ParameterFileError(
            f"{path} line {word.line}: the function {shorten(word.text)} of {name} is not read, expected one "
            f"of {', '.join(FUNCTIONS)}, each also with {SMOOTH}"
        )
    cutoff = parse_number(_line(left, "cutoff", name, path)[1], "cutoff", path)
    if cutoff <= 0.0:
        raise ParameterFileError(f"{path} line {word.line}: the cutoff of {name} is {cutoff:g}, expected > 0")
    count, function = FUNCTIONS[kind]
    values: list[float] = []
    while len(values) < count + smooth and left and left[0][0].text != "type":
        words = left.pop(0)
        if words[0].text.endswith("!"):
            if words[0].text[:-1] not in shared:
                raise ParameterFileError(
                    f"{path} line {words[0].line}: {shorten(words[0].text)} is no global parameter, expected "
                    f"one of {', '.join(shared) or 'none'}"
                )
            values.append(shared[words[0].text[:-1]])
        else:
            values.append(_values(words, words[0].text, path)[0])
    if len(values) < count:
        raise ParameterFileError(
            f"{path} line {word.line}: {kind} of {name} has {counted(len(values), 'parameter')}, expected "
            f"{count}"
        )
    width = (values[count] if len(values) > count else 1.0) if smooth else None
    return Analytic(function, tuple(values[:count]), cutoff, width)


def _line(left: list[list[Word]], field: str, name: str, path: Path) -> list[Word]:
    if not left:
        raise ParameterFileError(f"{path}: the file ends before the {field} of {name}")
    words = left.pop(0)
    if len(words) != 2 or words[0].text != field:
        raise ParameterFileError(
            f"{path} line {words[0].line} begins with {shorten(words[0].text)}, expected `{field}` and its "
            f"value of {name}"
        )
    return words


def _values(words: list[Word], field: str, path: Path) -> list[float]:
    if len(words) < 2:
        raise ParameterFileError(f"{path} line {words[0].line}: {shorten(field)} has no value")
    return [parse_number(word, field, path) for word in words[1:]]
