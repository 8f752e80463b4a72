"""Which element a name or a mass means: D and T are hydrogen, and a mass never becomes its neighbour's."""

from dataclasses import dataclass

import numpy as np
from ase import Atoms
from ase.data import atomic_masses, atomic_numbers, chemical_symbols

from taichimd.core.errors import StructureError

NEAR = 0.3
"""Amu within which a mass is an element's: a file may have rounded it."""
_SAME_ISOTOPE = 0.02
_FARTHEST = 3.0
"""Amu by which an isotope may differ from the mean of its element, where a name says which element it is."""
HEAVY_HYDROGEN = {"D": 2.014101778, "T": 3.016049281}
"""Masses (amu) of symbols that are hydrogen."""
_ISOTOPES = {
    2.014102: "H", 6.015123: "Li", 10.012937: "B", 13.003355: "C", 15.000109: "N", 16.999132: "O",
    17.999160: "O", 28.976495: "Si", 29.973770: "Si", 33.967867: "S", 36.965903: "Cl",
}  # fmt: skip
"""Stable isotopes (amu, AME2020) farther than `NEAR` from every element's mean; 3.016 would be T or 3He."""


@dataclass(frozen=True)
class Element:
    """What a name or a mass means."""

    symbol: str  # of an element
    mass: float  # amu

    @property
    def isotope(self) -> bool:
        """Whether the mass is farther than `NEAR` from the element's mean."""
        return abs(self.mass - standard_mass(self.symbol)) > NEAR


def standard_mass(symbol: str) -> float:
    """Mean mass of an element, amu."""
    return float(atomic_masses[atomic_numbers[symbol]])


def is_element(name: str) -> bool:
    """Whether a name is the symbol of an element, D or T, in the usual spelling."""
    return (name in atomic_numbers and name != "X") or name in HEAVY_HYDROGEN


def element_named(name: str) -> Element:
    """The element of a symbol for which `is_element` is true."""
    if name in HEAVY_HYDROGEN:
        return Element("H", HEAVY_HYDROGEN[name])
    return Element(name, standard_mass(name))


def element_of(mass: float, name: str, where: str) -> Element:
    """The element of a mass (amu) and of what stands beside it, such as a comment, which counts if it is one.

    StructureError: a mass that is not positive, that is no element's and has no name, that lies between two
    elements, or that is an element's other than the named one.
    """
    if not (np.isfinite(mass) and mass > 0.0):
        raise StructureError(f"{where}: the mass is {mass:g}; expected a number above 0 (amu)")
    if is_element(name):
        symbol = element_named(name).symbol
        off, others = (
            abs(mass - standard_mass(symbol)),
            [other for other, _ in _nearest(mass) if other != symbol],
        )
        if off > max(_FARTHEST, 0.06 * mass) and others:
            raise StructureError(
                f"{where}: {name} has the mass {mass:g}, which is the mass of {others[0]}; correct one of "
                "them"
            )
        return Element(symbol, mass)
    near = _nearest(mass)
    if len(near) > 1 and near[1][1] < 2.0 * near[0][1]:
        raise StructureError(
            f"{where}: the mass {mass:.8g} lies between {near[0][0]} and {near[1][0]}; name the element in a "
            f"comment after it, as in {mass:.8g} # {near[0][0]}"
        )
    if near:
        return Element(near[0][0], mass)
    for isotope, symbol in _ISOTOPES.items():
        if abs(mass - isotope) < _SAME_ISOTOPE:
            return Element(symbol, mass)
    raise StructureError(
        f"{where}: the mass {mass:.8g} differs by more than {NEAR:g} amu from the mass of every element; "
        "name the element of an isotope in a comment after the mass, as in 17.999 # O"
    )


def _nearest(mass: float) -> list[tuple[str, float]]:
    """Elements within `NEAR` of a mass, with their distances, the nearest first."""
    off = abs(np.asarray(atomic_masses[1:]) - mass)
    order = np.argsort(off, kind="stable")[:2] + 1
    return [(chemical_symbols[k], float(off[k - 1])) for k in order if off[k - 1] < NEAR]


def isotopes_told(atoms: Atoms) -> list[str]:
    """A remark on masses that are not the means of their elements, if there are any."""
    if not atoms.has("masses"):
        return []
    kinds, counts = np.unique(
        np.column_stack([atoms.numbers, atoms.get_masses()]), axis=0, return_counts=True
    )
    found = [
        f"{element.symbol} of {element.mass:.6g} amu ({count:,})"
        for (number, mass), count in zip(kinds.tolist(), counts.tolist(), strict=True)
        if (element := Element(chemical_symbols[int(number)], mass)).isotope
    ]
    if not found:
        return []
    shown = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
    return [f"masses of the file that are not the means of their elements are kept: {shown}"]
