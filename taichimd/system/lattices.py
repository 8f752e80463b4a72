"""Crystals and sheets to start from: so many rectangular cells in each direction, periodic."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ase import Atoms
from ase.build import bulk, graphene, make_supercell

from taichimd.core.elements import is_symbol
from taichimd.core.errors import SettingsError

DIAMOND_BONDS = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
"""From an atom of the first face-centred cubic lattice of diamond to its neighbours, quarters of a cell."""
MAX_ATOMS = 2**27
HEIGHT = 20.0
"""Height of the cell of a sheet, angstrom; the cell is not periodic in that direction."""


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


def wurtzite(a: float, elements: tuple[str, ...]) -> Atoms:
    """The cell of 8 atoms with edges a, sqrt(3) a and c = sqrt(8/3) a, that of ideal tetrahedra."""
    return _rectangular(bulk("".join(elements), "wurtzite", a=a, c=np.sqrt(8 / 3) * a))


def sheet(a: float, elements: tuple[str, ...]) -> Atoms:
    """Graphene in the plane of x and y: the cell of 4 atoms with edges a and sqrt(3) a, `HEIGHT` high."""
    return _rectangular(graphene("".join(elements), a=a, vacuum=0.5 * HEIGHT))


def _rectangular(hexagonal: Atoms) -> Atoms:
    """Twice the cell, whose second vector is at 120 degrees to the first."""
    return make_supercell(hexagonal, [[1, 0, 0], [1, 2, 0], [0, 0, 1]])


@dataclass(frozen=True)
class Lattice:
    """A crystal or a sheet."""

    what: str  # a line for users
    # (lattice constant in angstrom, elements) -> one rectangular cell
    cell: Callable[[float, tuple[str, ...]], Atoms]
    # lattice constants by elements, angstrom; the first are those where none are given
    constants: dict[tuple[str, ...], float]
    atoms: int  # in a cell
    flat: bool = False  # whether it is a sheet

    @property
    def elements(self) -> tuple[str, ...]:
        """Those where none are given."""
        return next(iter(self.constants))


def _bulk(structure: str) -> Callable[[float, tuple[str, ...]], Atoms]:
    """Cubic cells of ASE's."""
    return lambda a, elements: bulk("".join(elements), structure, a=a, cubic=True)


# Constants as measured at room temperature (argon: 4 K; silica: ideal; SiGe: the mean of its elements).
LATTICES = {
    "silica": Lattice("beta-cristobalite, ideal cubic", beta_cristobalite, {("Si", "O"): 7.16}, 24),
    "silicon": Lattice("diamond", _bulk("diamond"), {("Si",): 5.431, ("Ge",): 5.658, ("C",): 3.567}, 8),
    "argon": Lattice("face-centred cubic", _bulk("fcc"), {("Ar",): 5.26}, 4),
    "rocksalt": Lattice("rocksalt", _bulk("rocksalt"), {("Na", "Cl"): 5.64, ("Mg", "O"): 4.212}, 8),
    "zincblende": Lattice(
        "zincblende",
        _bulk("zincblende"),
        {("Si", "C"): 4.36, ("Ga", "N"): 4.5, ("In", "P"): 5.869, ("Cd", "Te"): 6.48, ("Si", "Ge"): 5.545},
        8,
    ),
    "wurtzite": Lattice("wurtzite, ideal", wurtzite, {("Ga", "N"): 3.189, ("Si", "C"): 3.076}, 8),
    "graphene": Lattice("a sheet", sheet, {("C", "C"): 2.46, ("B", "N"): 2.504}, 4, flat=True),
}


def build_lattice(
    name: str, cells: int, *, a: float | None = None, elements: tuple[str, ...] | None = None
) -> Atoms:
    """So many cells of a crystal in each direction, of a sheet in x and y.

    Args:
        name: silica, silicon, argon, rocksalt, zincblende, wurtzite or graphene.
        cells: in each direction.
        a: lattice constant, angstrom; None: that of the elements.
        elements: as many as the substance has, in its order (silica: cation, then anion); of a sheet one
            element is enough.

    Raises:
        SettingsError: a name, a number or an element that makes no sense; elements without a known lattice
            constant.
    """
    if name not in LATTICES:
        raise SettingsError(f"no lattice '{name}', expected one of {', '.join(LATTICES)}")
    lattice = LATTICES[name]
    most = int((MAX_ATOMS / lattice.atoms) ** (1 / (2 if lattice.flat else 3)))
    if not 1 <= cells <= most:
        raise SettingsError(f"cells is {cells}, expected 1 to {most} in each direction")
    symbols = lattice.elements if elements is None else tuple(elements)
    if lattice.flat and len(symbols) == 1:
        symbols *= 2
    if len(symbols) != len(lattice.elements):
        raise SettingsError(
            f"elements are {', '.join(symbols)}, expected {len(lattice.elements)} for {name}, "
            f"such as {','.join(lattice.elements)}"
        )
    if unknown := [s for s in symbols if not is_symbol(s)]:
        raise SettingsError(f"no element {', '.join(map(repr, unknown))}; expected symbols such as Si")
    known = lattice.constants.get(symbols, lattice.constants.get(symbols[::-1]))
    length = known if a is None else a
    if length is None:
        raise SettingsError(
            f"no lattice constant of {name} is known for {','.join(symbols)}; give --lattice-constant, "
            "angstrom"
        )
    if not 0.0 < length < np.inf:
        raise SettingsError(f"lattice constant is {length} angstrom, expected a positive length")
    return lattice.cell(length, symbols).repeat((cells, cells, 1 if lattice.flat else cells))
