"""Molecules that leave a region: all of a formula, by bonds."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from ase import Atoms
from ase.data import atomic_numbers, covalent_radii
from ase.formula import Formula
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number
from taichimd.estimators.molecules import molecules
from taichimd.exchange.base import ALL, Change, Exchange

ANY = "any"
"""The formula of all molecules."""
BOND = 1.2
"""Atoms closer than this times the sum of their covalent radii are bonded, with potentials without bonds."""
Bonds = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True)
class Delete(Exchange):
    """Deletes molecules during a run: products, or molecules that have left a surface.

    Molecules are atoms connected by bonds. With ReaxFF a bond is a pair whose bond order is above
    `bond_order`. With other potentials it is a pair closer than 1.2 times the sum of its covalent radii. A
    molecule is deleted if all its atoms are in the region. Molecules with a fixed atom stay, and molecules
    with an atom that a force, a spring or a motion of a group acts on.

        >>> from taichimd import Delete
        >>> Delete("H2O", every=1000.0, region="z > 30").called
        'delete_H2O'

    Args:
        formula: of the molecules, such as H2O; any: all molecules.
        every: fs between deletions; they happen after each multiple of this time.
        region: a selection of places (`taichimd.system.where`).
        number: molecules in all; None: no limit.
        at_once: most molecules at each deletion; None: no limit.
        bond_order: with ReaxFF, least bond order of a bond.
        name: in columns; None: the formula.

    Raises:
        SettingsError: a value that makes no sense.
    """

    kind: ClassVar[str] = "delete"
    TEXTS: ClassVar[tuple[str, ...]] = ("region", "formula")
    formula: str
    every: float
    region: str = ALL
    number: int | None = None
    at_once: int | None = None
    bond_order: float = 0.3
    name: str | None = None

    def __post_init__(self) -> None:
        self.check()
        if not (is_number(self.bond_order) and self.bond_order > 0.0):
            raise SettingsError(f"bond_order = {self.bond_order!r}: expected a number above 0")
        if self.formula != ANY:
            object.__setattr__(self, "formula", _hill(self.formula))

    @property
    def formula_text(self) -> str:
        """The formula."""
        return self.formula

    def describe(self) -> str:
        """What the deletion does, on one line."""
        what = "any molecule" if self.formula == ANY else self.formula
        many = "" if self.at_once is None else f", {self.at_once} at once"
        return f"{self.name or self.formula}: {what} {self._limits()}{many}"

    def change(self, atoms: Atoms, bonds: Bonds | None, done: int, held: NDArray[np.bool_]) -> Change | None:
        """The deletion that is due now; molecules are taken in the order of their first atoms.

        Args:
            atoms: the system.
            bonds: atoms of each bond, (m,) each; None: bonds are found by distance.
            done: molecules that have been deleted before.
            held: (n,) atoms whose molecules stay.

        Returns:
            The change of the system; None if nothing is deleted.

        Raises:
            SettingsError: nothing would be left.
        """
        of_molecule = molecules(len(atoms), *(bonds_by_distance(atoms) if bonds is None else bonds))
        n = int(of_molecule.max()) + 1
        away = np.bincount(of_molecule, ~self.inside(atoms.positions, atoms) | held, minlength=n) > 0
        wanted = np.flatnonzero(~away)
        if self.formula != ANY:
            wanted = wanted[[name == self.formula for name in formulas(atoms, of_molecule, wanted)]]
        left = [n, *(one for one in (self.at_once, self.number and self.number - done) if one is not None)]
        wanted = wanted[: min(left)]
        if not len(wanted):
            return None
        kept = ~np.isin(of_molecule, wanted)
        if not kept.any():
            raise SettingsError(f"{self.called}: no atom would be left; give a smaller region, or a number")
        return Change(kept, None, len(wanted))


def bonds_by_distance(atoms: Atoms) -> Bonds:
    """Pairs of atoms closer than `BOND` times the sum of their covalent radii."""
    from ase.neighborlist import neighbor_list  # imports SciPy

    reach = (BOND * covalent_radii[atoms.numbers]).tolist()
    i, j = neighbor_list("ij", atoms, reach, self_interaction=False)
    return np.asarray(i, np.int32), np.asarray(j, np.int32)


def formulas(atoms: Atoms, of_molecule: NDArray[np.int32], wanted: NDArray[np.int64]) -> list[str]:
    """Formulas of some molecules, in Hill order."""
    order = np.argsort(of_molecule, kind="stable")
    first = np.searchsorted(of_molecule[order], wanted)
    last = np.searchsorted(of_molecule[order], wanted, side="right")
    symbols = np.array(atoms.symbols)[order]
    each = (Counter(symbols[a:b].tolist()) for a, b in zip(first, last, strict=True))
    return [Formula.from_dict(dict(one)).format("hill") for one in each]


def _hill(formula: object) -> str:
    """A formula in Hill order, or a SettingsError."""
    try:
        found = Formula(str(formula))
        if isinstance(formula, str) and found.count() and all(one in atomic_numbers for one in found.count()):
            return found.format("hill")
    except (ValueError, KeyError):
        pass
    raise SettingsError(f"formula = {formula!r}: expected a formula such as H2O or CO2, or any")
