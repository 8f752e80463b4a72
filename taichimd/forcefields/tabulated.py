"""Curves given by their values at equally spaced points, as parameters of potentials.

Between points k and k + 1 a curve is the cubic with the values y_k, y_(k+1) and the slopes s_k, s_(k+1), per
interval:

    s_k = [8 (y_(k+1) - y_(k-1)) - (y_(k+2) - y_(k-2))]/12,
    s_1 = (y_2 - y_0)/2, s_0 = y_1 - y_0, and likewise at the other end, in EAM files;
    s_0 = (-25 y_0 + 48 y_1 - 36 y_2 + 16 y_3 - 3 y_4)/12, s_1 = (-3 y_0 - 10 y_1 + 18 y_2 - 6 y_3 + y_4)/12,
    and likewise at the other end, in curves of a user, whose error is then of fourth order everywhere.

Value and slope are continuous. This is the spline of the DYNAMO family of programs, for which EAM files are
made: M. S. Daw, M. I. Baskes, Phys. Rev. B 29, 6443 (1984), doi:10.1103/PhysRevB.29.6443. Before the first
point the first piece goes on; beyond the last point the curve is a straight line.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taichimd.core.arrays import Array
from taichimd.core.errors import ParameterFileError, SettingsError
from taichimd.core.printable import counted
from taichimd.core.scalars import digits
from taichimd.forcefields.formats.text import parse_number, read_lines, word_lines

FEWEST = 5
"""Points of a curve: the slope in its middle takes five."""
SMALL = 1e-8
"""Below this the last value of a table of distances counts as the end of the curve."""
_EVEN = 1e-6
"""Share of the spacing by which points may be out of place: files give them with few digits."""


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A curve by its values at equally spaced points."""

    name: str  # for messages
    first: float  # argument of the first point
    spacing: float  # of the points
    values: Array  # (points,)
    # largest difference from the function that it was made of, in the middle of intervals; None if it was
    # made of numbers
    error: float | None = None
    five_at_ends: bool = False  # whether slopes at both ends are of five points, too
    # slopes at the points, per interval, instead of those of the formula: (points,), or None
    given: Array | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tabulated) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def last(self) -> float:
        """Argument of the last point."""
        return self.first + (len(self.values) - 1) * self.spacing

    @property
    def digest(self) -> str:
        """What is computed, as a number."""
        slopes = self.five_at_ends if self.given is None else "given"
        head = f"{self.first.hex()} {self.spacing.hex()} {slopes} "
        numbers = self.values if self.given is None else np.stack([self.values, self.slopes], axis=1)
        return hashlib.sha256(head.encode() + np.ascontiguousarray(numbers, "<f8").tobytes()).hexdigest()

    @property
    def slopes(self) -> Array:
        """Slopes at the points, per interval: (points,)."""
        if self.given is not None:
            return self.given
        y = self.values
        s = np.empty_like(y)
        s[2:-2] = (8.0 * (y[3:-1] - y[1:-3]) - (y[4:] - y[:-4])) / 12.0
        if self.five_at_ends:
            ends = np.array([[-25.0, 48.0, -36.0, 16.0, -3.0], [-3.0, -10.0, 18.0, -6.0, 1.0]]) / 12.0
            s[:2], s[:-3:-1] = ends @ y[:5], -ends @ y[:-6:-1]
            return s
        s[1], s[-2] = 0.5 * (y[2] - y[0]), 0.5 * (y[-1] - y[-3])
        s[0], s[-1] = y[1] - y[0], y[-1] - y[-2]
        return s

    @property
    def pieces(self) -> Array:
        """Coefficients of pieces, 1 to t^3, as kernels read them: (4, points); the last is straight."""
        y, s = self.values, self.slopes
        rise = np.diff(y)
        c2, c3 = 3.0 * rise - 2.0 * s[:-1] - s[1:], s[:-1] + s[1:] - 2.0 * rise
        return np.stack([y, s, np.append(c2, 0.0), np.append(c3, 0.0)])

    def __call__(self, x: ArrayLike) -> tuple[Array, Array]:
        """Value and slope at x, as the device computes them."""
        z = (np.asarray(x, dtype=float) - self.first) / self.spacing
        k = np.clip(z, 0, len(self.values) - 1).astype(int)
        t = z - k
        y, s, c2, c3 = self.pieces[:, k]
        return y + t * (s + t * (c2 + t * c3)), (s + t * (2.0 * c2 + 3.0 * t * c3)) / self.spacing

    def up_to(self, end: float) -> "Tabulated":
        """The same curve without points that only arguments beyond `end` need."""
        # Slopes of the last piece that is used take two more points.
        count = int(np.ceil((end - self.first) / self.spacing)) + 4
        if count >= len(self.values):
            return self
        return replace(
            self, values=self.values[:count], given=None if self.given is None else self.given[:count]
        )

    def reaching(self, end: float) -> "Tabulated":
        """The same curve, which keeps its last value up to `end` if it ends before."""
        missing = int(np.ceil((end - self.last) / self.spacing - _EVEN))
        if missing <= 0:
            return self
        values = np.append(self.values, np.full(missing, self.values[-1]))
        given = None if self.given is None else np.append(self.given, np.zeros(missing))
        return replace(self, values=values, given=given)

    def shown(self) -> dict[str, Any]:
        """For a record: a JSON-able dictionary."""
        return {
            "points": len(self.values), "first": self.first, "spacing": self.spacing, "sha256": self.digest,
        }  # fmt: skip


def table(
    name: str,
    r: ArrayLike | str | os.PathLike[str],
    values: ArrayLike | Callable[[Array], ArrayLike] | None = None,
) -> Tabulated:
    """A curve as a parameter of an own potential, which reads it as `value, slope = p.name(r)`.

        >>> import numpy as np
        >>> from taichimd import table
        >>> density = table("density", np.linspace(0.0, 5.0, 501), lambda r: np.exp(-r))
        >>> density.error < 1e-9
        True

    Args:
        name: for messages.
        r: arguments, equally spaced and increasing; or a file with two columns, argument and value.
        values: an array of the same length; or a function of an array. The curve is then compared with the
            function in the middle of all intervals.

    Returns:
        The curve: cubic between points, with continuous value and slope.

    Raises:
        SettingsError: fewer than five points, points that are not equally spaced, a value that is not finite.
        ParameterFileError: a file that cannot be read.
    """
    if isinstance(r, str | os.PathLike):
        if values is not None:
            raise SettingsError(f"table '{name}': a file has the values; leave out the third argument")
        r, values = _read(Path(r))
    elif values is None:
        raise SettingsError(f"table '{name}': values are missing; expected table('{name}', r, values)")
    x = _array(name, "r", r)
    y = _array(name, "values", values(x) if callable(values) else values)
    if x.ndim != 1 or x.shape != y.shape:
        raise SettingsError(
            f"table '{name}': r has the shape {x.shape} and values the shape {y.shape}, expected one list "
            "each, of the same length"
        )
    if len(x) < FEWEST:
        raise SettingsError(f"table '{name}' has {counted(len(x), 'point')}, expected {FEWEST} or more")
    for what, numbers in (("r", x), ("value", y)):
        if not np.isfinite(numbers).all():
            at = int(np.argmin(np.isfinite(numbers)))
            raise SettingsError(
                f"table '{name}': {what} number {at + 1} is {numbers[at]}, expected a finite number"
            )
    spacing = float(x[-1] - x[0]) / (len(x) - 1)
    off = np.abs(x - (x[0] + spacing * np.arange(len(x))))
    if spacing <= 0.0 or off.max() > _EVEN * spacing:
        at = int(np.argmax(off))
        raise SettingsError(
            f"table '{name}': r number {at + 1} is {digits(float(x[at]))}, expected equally spaced, "
            "increasing arguments, as numpy.linspace(0.0, 5.0, 1001) makes them"
        )
    made = Tabulated(name, float(x[0]), spacing, y, five_at_ends=True)
    if not callable(values):
        return made
    middle = x[:-1] + 0.5 * spacing
    error = np.abs(made(middle)[0] - _array(name, "values", values(middle)))
    return replace(made, error=float(error.max()))


def _array(name: str, what: str, given: Any) -> Array:
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise SettingsError(f"table '{name}': {what} are not numbers; expected a list or an array") from None


def _read(path: Path) -> tuple[Array, Array]:
    """Two columns of a file."""
    rows: list[list[float]] = []
    for words in word_lines(read_lines(path)):
        if len(words) != 2:
            raise ParameterFileError(
                f"{path} line {words[0].line} has {counted(len(words), 'word')}, expected two "
                "numbers: argument and value"
            )
        rows.append(
            [parse_number(word, what, path) for word, what in zip(words, ("r", "value"), strict=True)]
        )
    columns = np.array(rows).reshape(-1, 2).T
    return columns[0], columns[1]
