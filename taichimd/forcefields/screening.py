"""Angles of Stillinger-Weber and Vashishta: a weight exp[decay/(r - end)] of each side, its end."""

from collections.abc import Callable, Mapping
from math import isclose

from taichimd.core.errors import ParameterFileError
from taichimd.core.math import exp
from taichimd.core.runtime import ti
from taichimd.core.scalars import digits
from taichimd.forcefields.formats.triples import E, Triple, TripleFile, name_of
from taichimd.forcefields.table import Key, Row

ROUNDING = 1e-5
"""Relative difference of numbers that a file gives twice: files round them to six or more digits."""
NOWHERE = 1e-3
"""Cutoff of what does not act (angstrom): shorter than any distance of two atoms."""
NEGLIGIBLE = 1e-30
"""Terms are left out where their exponentials are smaller. Silicon's potential ends at 3.771 angstrom and its
second neighbours are at 3.84: every fourth of them comes closer at 300 K, for nothing."""
GAP = 1e-6
"""Least distance between cutoff and end (angstrom), so that nothing is divided by zero for any decay."""

UNITS = {
    "strength": "eV", "costheta0": "1", "decay": "Å", "end": "Å", "range": "Å", "cutoff": "Å",
}  # fmt: skip
"""Units of the parameters of an angle term."""


@ti.func
def weight(r, p):
    """exp[p.decay/(r - p.end)] of one side of an angle, and its slope, for r < p.end."""
    inverse_gap = 1.0 / (r - p.end)
    x = p.decay * inverse_gap
    w = exp(x)
    return w, -w * x * inverse_gap


def agree(
    parsed: TripleFile, first: Key, second: Key, one: Row, two: Row, names: Mapping[str, str] | None = None
) -> None:
    """Raise a ParameterFileError if two entries, with what each says, describe one thing differently.

    `names`: what columns are called in the message, where that is not their name.
    """
    for name, value in one.items():
        if not isclose(value, two[name], rel_tol=ROUNDING):
            raise ParameterFileError(
                f"{parsed.path}: entries {name_of(first)} and {name_of(second)} describe one "
                f"{'pair' if first[1] == first[2] else 'angle'}, but {(names or {}).get(name, name)} is "
                f"{digits(value)} in one and {digits(two[name])} in the other; make them agree"
            )


def pair_rows(
    parsed: TripleFile[E], row_of: Callable[[E], Row], agree: Callable[..., None]
) -> dict[Key, Row]:
    """Rows of a pair term from the entries (i, j, j), each pair once; those of (j, i, i) must agree."""
    rows: dict[Key, Row] = {}
    for (i, j, k), entry in parsed.entries.items():
        if j == k:
            row = row_of(entry)
            agree(parsed, (i, j, j), (j, i, i), row, rows.get((j, i), row))
            if (j, i) not in rows:
                rows[i, j] = row
    return rows


def mean_of_angle(
    parsed: TripleFile[E], key: Triple, row_of: Callable[[E], Row], agree: Callable[..., None]
) -> Row:
    """The row of the entry (i, j, k), with which that of (i, k, j) must agree: their mean."""
    i, j, k = key
    one = row_of(parsed.entries[key])
    two = row_of(parsed.entries.get((i, k, j), parsed.entries[key]))
    agree(parsed, key, (i, k, j), one, two)
    return {name: 0.5 * (one[name] + two[name]) for name in one}
