"""Crystals to start from: so many cubic cells in each direction, periodic."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ase import Atoms
from ase.build import bulk

from taichimd.errors import SettingsError
from taichimd.formats.text import is_symbol

DIAMOND_BONDS = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
"""From an atom of the first face-centred cubic lattice of diamond to its neighbours, quarters of a cell."""
MOST_ATOMS = 2**27


def beta_cristobalite(a: float, elements: tuple[str, ...]) -> Atoms:
    """The ideal cubic cell of 24 atoms (C9, Fd-3m): Si as in diamond, O midway between neighbours.

    Structure: M. J. Mehl et al., Comput. Mater. Sci. 136, S1 (2017), prototype A2B_cF24_227_c_a.
    """
    cation, anion = elements
    first = np.array([(0, 0, 0), (0, 2, 2), (2, 0, 2), (2, 2, 0)])
    bonds = np.array(DIAMOND_BONDS)
    between = (first[:, None] + 0.5 * bonds).reshape(-1, 3)
    places = np.vstack([first, first + bonds[0], between]) % 4
    return Atoms([cation] * 8 + [anion] * 16, scaled_positions=places / 4, cell=[a, a, a], pbc=True)


@dataclass(frozen=True)
class Lattice:
    """A crystal.

    Attributes:
        what: a line for users.
        cell: (lattice constant in angstrom, elements) -> one cubic cell.
        a: lattice constant, angstrom, where none is given.
        elements: those where none are given.
        atoms: in a cell.
    """

    what: str
    cell: Callable[[float, tuple[str, ...]], Atoms]
    a: float
    elements: tuple[str, ...]
    atoms: int


LATTICES = {
    "silica": Lattice("beta-cristobalite, ideal cubic", beta_cristobalite, 7.16, ("Si", "O"), 24),
    "silicon": Lattice("diamond", lambda a, e: bulk(e[0], "diamond", a=a, cubic=True), 5.431, ("Si",), 8),
    "argon": Lattice("face-centred cubic", lambda a, e: bulk(e[0], "fcc", a=a, cubic=True), 5.26, ("Ar",), 4),
    "rocksalt": Lattice(
        "rocksalt", lambda a, e: bulk("".join(e), "rocksalt", a=a, cubic=True), 5.64, ("Na", "Cl"), 8
    ),
}


def build_lattice(
    name: str, cells: int, *, a: float | None = None, elements: tuple[str, ...] | None = None
) -> Atoms:
    """A cube of cells^3 cubic cells.

    Args:
        name: silica, silicon, argon or rocksalt.
        cells: in each direction.
        a: lattice constant, angstrom; that of the named substance if None.
        elements: as many as the substance has, in its order (silica: cation, then anion).

    Raises:
        SettingsError: a name, a number or an element that makes no sense.
    """
    if name not in LATTICES:
        raise SettingsError(f"no lattice '{name}', expected one of {', '.join(LATTICES)}")
    lattice = LATTICES[name]
    most = int((MOST_ATOMS / lattice.atoms) ** (1 / 3))
    if not 1 <= cells <= most:
        raise SettingsError(f"cells is {cells}, expected 1 to {most} in each direction")
    length = lattice.a if a is None else a
    if not 0.0 < length < np.inf:
        raise SettingsError(f"lattice constant is {length} angstrom, expected a positive length")
    symbols = lattice.elements if elements is None else tuple(elements)
    if len(symbols) != len(lattice.elements):
        raise SettingsError(
            f"elements are {', '.join(symbols)}, expected {len(lattice.elements)} for {name}, "
            f"such as {','.join(lattice.elements)}"
        )
    if unknown := [s for s in symbols if not is_symbol(s)]:
        raise SettingsError(f"no element {', '.join(map(repr, unknown))}; expected symbols such as Si")
    return lattice.cell(length, symbols).repeat(int(cells))
