"""Kinds of trial moves: of all atoms together, or of single ones."""

from typing import Final, Literal

Moves = Literal["all", "single"]
ALL: Final = "all"
SINGLE: Final = "single"
FIRST_MOVE = 0.3
"""Angstrom: the largest displacement of one atom at the start; N atoms together have 1/sqrt(N) of it."""


def first_move(kind: str, n_atoms: int) -> float:
    """Largest displacement at the start, angstrom."""
    return FIRST_MOVE if kind == SINGLE else round(FIRST_MOVE / n_atoms**0.5, 4)
