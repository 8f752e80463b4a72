"""What insertions and deletions have in common: when they act, how often, and what they are called."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number, is_whole
from taichimd.system.asked import Asked
from taichimd.system.groups import Group

ALL = "all"
"""The region of the whole cell."""


@dataclass(frozen=True)
class Change:
    """What an insertion or a deletion does to the atoms of a system."""

    kept: NDArray[np.bool_]  # (n,) which of the present atoms stay
    new: Atoms | None  # atoms with velocities, which follow the atoms that stay; None: none
    molecules: int  # how many molecules come or go


class Exchange:
    """Base of `Insert` and `Delete`.

    Attributes:
        kind: word of options and columns.
        every: fs between two actions. region: a selection. number: most molecules in all; None: no limit.
        name: in columns; None: the formula.
    """

    kind: ClassVar[str]
    TEXTS: ClassVar[tuple[str, ...]] = ("region",)
    """Fields that are texts, whatever they look like."""
    every: float
    region: str
    number: int | None
    at_once: int | None
    name: str | None

    def check(self) -> None:
        """Raise a SettingsError if a value makes no sense."""
        if not (is_number(self.every) and 0.0 < self.every < np.inf):
            raise SettingsError(f'every = {self.every!r}: expected a time above 0, such as "2ps" (fs)')
        for key in ("number", "at_once"):
            value = getattr(self, key)
            if value is not None and not (is_whole(value) and value > 0):
                raise SettingsError(f"{key} = {value!r}: expected a number of molecules, 1 or more")
        if not isinstance(self.region, str):
            raise SettingsError(f'region = {self.region!r}: expected a selection such as "z > 30"')
        if self.name is not None and not self.name.isidentifier():
            raise SettingsError(f"name = {self.name!r}: expected a name of letters, digits and _")
        Group(self.region)

    @property
    def formula_text(self) -> str:
        """The formula of the molecules, which is the name if none is given."""
        raise NotImplementedError

    @property
    def called(self) -> str:
        """The name in messages, columns and the ledger; names are unique (`named`)."""
        return f"{self.kind}_{self.name or self.formula_text}"

    def interval(self, timestep: float) -> int:
        """Steps between two actions, with a time step in fs; raises a SettingsError if there is none."""
        steps = round(self.every / timestep)
        if steps < 1:
            raise SettingsError(
                f"{self.called}: every = {self.every:g} fs is shorter than the time step of {timestep:g} fs"
            )
        return steps

    def inside(self, points: NDArray[np.float64], atoms: Atoms) -> NDArray[np.bool_]:
        """Which points (m, 3), Å, are in the region, (m,); a SettingsError if it names what points lack."""
        asked = Asked(Atoms(f"X{len(points)}", positions=points, cell=atoms.cell, pbc=atoms.pbc))
        try:
            return Group(self.region).mask(asked)
        except SettingsError as error:
            raise SettingsError(f"{self.called}: region: {error}") from None

    def describe(self) -> str:
        """What the insertion or deletion does, on one line."""
        raise NotImplementedError

    def _limits(self) -> str:
        most = "" if self.number is None else f", {self.number:,} in all"
        return f"every {self.every / 1000.0:g} ps in {self.region}{most}"


def named(items: Sequence[Any]) -> list[Any]:
    """Items with names that differ: repeated names get a number; a given name may not repeat."""
    found: list[Any] = []
    for item in items:
        taken = {one.called for one in found}
        if item.name is not None and item.called in taken:
            raise SettingsError(
                f"two items of {item.kind} are called {item.name}; give each a name of its own"
            )
        number, own = 1, item if item.name else replace(item, name=item.formula_text)
        while own.called in taken:
            number += 1
            own = replace(item, name=f"{item.formula_text}{number}")
        found.append(own)
    return found
