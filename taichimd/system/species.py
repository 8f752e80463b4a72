"""Chemical symbols and numbers of species of many atoms, without a loop over atoms."""

from collections.abc import Sequence

import numpy as np
from ase.data import chemical_symbols
from numpy.typing import NDArray

_SYMBOLS = np.array(chemical_symbols, dtype=object)


def symbols_of(numbers: NDArray[np.int64]) -> list[str]:
    """The chemical symbol of each atom, from (n,) atomic numbers."""
    found: list[str] = _SYMBOLS[numbers].tolist()
    return found


def elements_of(numbers: NDArray[np.int64]) -> tuple[str, ...]:
    """The chemical symbols that occur among (n,) atomic numbers, in alphabetical order."""
    return tuple(sorted(_SYMBOLS[np.flatnonzero(np.bincount(numbers))].tolist()))


def kinds_of(numbers: NDArray[np.int64], species: Sequence[str]) -> NDArray[np.int32]:
    """(n,) place of each atom's symbol in `species`, which has all of them."""
    places = {symbol: k for k, symbol in enumerate(species)}
    table = np.array([places.get(symbol, -1) for symbol in chemical_symbols], np.int32)
    return table[numbers]
