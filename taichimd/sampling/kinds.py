"""Kinds of trial moves: of all atoms together, or of single ones."""

from collections.abc import Iterable
from math import inf
from typing import Any, Final, Literal

from taichimd.core.errors import SettingsError

Moves = Literal["all", "single"]
ALL: Final = "all"
SINGLE: Final = "single"
FIRST_MOVE = 0.3
"""Angstrom: the largest displacement of one atom at the start; N atoms together have 1/sqrt(N) of it."""


def first_move(kind: str, n_atoms: int) -> float:
    """Largest displacement at the start, angstrom."""
    return FIRST_MOVE if kind == SINGLE else round(FIRST_MOVE / n_atoms**0.5, 4)


def largest_move(forcefield: Any, heights: Iterable[float]) -> float:
    """Largest displacement that tuning may reach, angstrom: half of the cutoff and of the cell, at most 5.

    `heights`: of the cell along its periodic directions, angstrom.
    """
    return 0.5 * min([forcefield.list_cutoff or inf, *heights, 10.0])


def check_move(move: float | None, most: float) -> None:
    """Raise a SettingsError if a given displacement is above the largest one (angstrom)."""
    if move is not None and move > most:
        raise SettingsError(
            f"move = {move:g} Å: expected {most:.3g} Å or less, half of the cutoff and of the cell, at most 5"
        )
