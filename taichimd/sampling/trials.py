"""What trial moves of one system or several are, as kernels take it."""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number

BEFORE = ArrayField("vec", "n", "positions before the trial by the user's numbers, angstrom")
SWEEP = Number("i64", "number of the sweep")


class Trials(Bundle):
    """Numbers of each system."""

    system: Any = ArrayField("i32", "n", "system of the atom at a place")
    firsts: Any = ArrayField("i32", "systems", "first atom of each system, by the user's numbers")
    most: Any = ArrayField("real", "systems", "largest displacement along an axis, angstrom")
    beta: Any = ArrayField("f64", "systems", "1/kT, 1/eV")
    seeds: Any = ArrayField("i64", "systems", "seed")
    factors: Any = ArrayField("real", "systems", "of all lengths")
    back: Any = ArrayField("i32", "systems", "1 where the positions before the trial come back")


SINGLE_MOVES = Trials.only("firsts", "most", "beta", "seeds")
"""Tables of trial moves of single atoms, which kernels decide on."""
