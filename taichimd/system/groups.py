"""Groups of atoms: what a user gives of them, and the atoms that each has."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.errors import SettingsError
from taichimd.core.names import hint
from taichimd.system.asked import Asked, Mask
from taichimd.system.where import BUILT_IN, KEYWORDS, read_where

Numbers = NDArray[np.int64]


class Group:
    """A group of atoms, given by a text of the selection language, a mask, or numbers of atoms.

        >>> from ase.build import bulk
        >>> from taichimd import Group
        >>> slab = bulk("Si", cubic=True).repeat((4, 1, 1))
        >>> Group("x < 5 and index 0:4").numbers(slab).tolist()
        [0, 1, 2, 3]
        >>> len((Group("fx < 0.5") & ~Group([0])).numbers(slab))
        15

    Args:
        where: a text (`taichimd.system.where`), a mask (n,), or numbers of atoms, negative from the end.

    Raises:
        SettingsError: a text that cannot be read.
    """

    def __init__(self, where: Any) -> None:
        given = where if isinstance(where, Group) else None
        self.where: Any = where if given is None else given.where
        self._mask: Callable[[Asked], Mask] = _mask_of(where) if given is None else given._mask

    def mask(self, asked: Asked) -> Mask:
        """Mask (n,), True where an atom is in the group; the group may be empty.

        Raises:
            SettingsError: the group does not fit the structure.
        """
        return self._mask(asked)

    def numbers(
        self, atoms: Atoms, groups: Mapping[str, Any] | None = None, fixed: Mask | None = None
    ) -> Numbers:
        """Numbers of the atoms of the group in a structure, in increasing order.

        Args:
            atoms: the structure.
            groups: other groups by name, which a text may use.
            fixed: (n,) bool, True where an atom is fixed; None: no atom is fixed.

        Returns:
            (m,) numbers, counted from 0.

        Raises:
            SettingsError: the group does not fit the structure, or has no atoms.
        """
        return Groups(atoms, groups, fixed).atoms_of(self, "group")

    def __and__(self, other: "Group") -> "Group":
        return _combined(lambda asked: self.mask(asked) & other.mask(asked), f"({self!r} & {other!r})")

    def __or__(self, other: "Group") -> "Group":
        return _combined(lambda asked: self.mask(asked) | other.mask(asked), f"({self!r} | {other!r})")

    def __invert__(self) -> "Group":
        return _combined(lambda asked: ~self.mask(asked), f"~{self!r}")

    def __repr__(self) -> str:
        return self.where if isinstance(self.where, _Combined) else f"Group({self.where!r})"


class _Combined(str):
    """What a combination of groups is called."""


def _combined(mask: Any, called: str) -> Group:
    group = Group.__new__(Group)
    group.where, group._mask = _Combined(called), mask
    return group


def _mask_of(where: Any) -> Any:
    """The function that gives a mask (n,) of `Asked`."""
    if isinstance(where, str):
        return read_where(where).mask

    def found(asked: Asked) -> Mask:
        n = len(asked.atoms)
        given = np.asarray(list(where) if isinstance(where, range | set | frozenset) else where)
        if given.ndim == 1 and given.dtype == bool:
            if len(given) != n:
                raise SettingsError(f"a mask of {len(given)} values, expected one for each of {n} atoms")
            return given.copy()
        mask = np.zeros(n, bool)
        if given.ndim == 1 and (np.issubdtype(given.dtype, np.integer) or given.size == 0):
            wrong = given[(given < -n) | (given >= n)]
            if wrong.size:
                raise SettingsError(f"there is no atom {wrong[0]} among {n}")
            mask[given.astype(np.int64)] = True
            return mask
        raise SettingsError(
            'expected a selection such as "x < 20", a mask of True and False, or numbers of atoms'
        )

    return found


class Groups(Mapping[str, Numbers]):
    """The groups of one system, frozen: the numbers of the atoms of each, by name.

    Args:
        atoms: the structure, as the run starts.
        given: what each group is (`Group`); a text may use other groups.
        fixed: (n,) which atoms are fixed; None: none.

    Raises:
        SettingsError: a name that cannot be one, an empty group, groups that are made of each other.
    """

    def __init__(
        self, atoms: Atoms, given: Mapping[str, Any] | None = None, fixed: Mask | None = None
    ) -> None:
        if given is not None and not isinstance(given, Mapping):
            raise SettingsError(f'groups = {given!r}: expected groups by name, such as {{"hot": "x < 20"}}')
        self.atoms, self.n_atoms = atoms, len(atoms)
        self._asked = Asked(atoms, fixed, self._mask)
        self._given = dict(given or {})
        self._masks: dict[str, Mask | None] = {}
        for name in self._given:
            check_name(name)
        self._numbers = {name: self._looked_up(name) for name in self._given}

    def __getitem__(self, name: str) -> Numbers:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def _mask(self, name: str) -> Mask:
        """The mask of a group by its name, or a KeyError."""
        if name not in self._masks:
            self._masks[name] = None
            self._masks[name] = Group(self._given[name]).mask(self._asked)
        found = self._masks[name]
        if found is None:
            raise SettingsError(f"group {name} is made of itself")
        return found

    def _looked_up(self, name: str) -> Numbers:
        try:
            mask = self._mask(name)
        except SettingsError as error:
            raise SettingsError(f"group {name}: {error}") from None
        return _not_empty(mask, f"group {name}", self._given[name])

    def atoms_of(self, on: Any, called: str) -> Numbers:
        """The atoms of a group: its name, or anything that a `Group` may be; `called`: in errors."""
        if isinstance(on, str) and on in self._numbers:
            return self._numbers[on]
        if isinstance(on, str) and on.isidentifier() and on not in (*BUILT_IN, *KEYWORDS):
            known = hint(on, self, "groups") if self else "give it in groups={...}, or with --group"
            raise SettingsError(f"{called}: there is no group {on!r}; {known}")
        try:
            mask = Group(on).mask(self._asked)
        except SettingsError as error:
            raise SettingsError(f"{called}: {error}") from None
        return _not_empty(mask, called, on)

    def name_of(self, on: Any, number: int) -> str:
        """What a group is called in columns of tables: its name, or group1 for number 0, group2 for 1."""
        named = isinstance(on, str) and (on in self._numbers or on in BUILT_IN)
        return on if named else f"group{number + 1}"

    def with_more(self, numbers: Mapping[str, Numbers]) -> "Groups":
        """These groups and others, whose names may be any text."""
        more = Groups(self._asked.atoms, None, self._asked.fixed)
        more._numbers = {**self._numbers, **numbers}
        return more

    def rows(self) -> list[tuple[str, str, str]]:
        """For each group its name, its atoms, and the range of their coordinates."""
        atoms, rows = self._asked.atoms, []
        for name, numbers in self.items():
            counts = dict(Counter(np.array(atoms.symbols)[numbers].tolist()))
            species = ", ".join(f"{count:,} {symbol}" for symbol, count in sorted(counts.items()))
            share = f"{len(numbers):,} of {len(atoms):,} atoms ({len(numbers) / len(atoms):.1%}): {species}"
            places = []
            for axis, letter in enumerate("xyz"):
                x = self._asked.coordinate(axis, False)[numbers]
                places.append(f"{letter} {x.min():.4g} to {x.max():.4g}")
            rows.append((name, share, ", ".join(places) + " Å"))
        return rows

    def runs(self) -> dict[str, list[list[int]]]:
        """The atoms of each group as intervals [first, after the last]; JSON-able."""
        return {name: runs_of(numbers) for name, numbers in self.items()}


def check_name(name: object) -> None:
    """Raise if a name cannot be part of the name of a column, or is a word of the selection language."""
    if not isinstance(name, str) or not (name.isidentifier() and name.isascii()):
        raise SettingsError(f"group {name!r}: a name has letters, digits and _, and begins with a letter")
    if name in BUILT_IN:
        raise SettingsError(f"group {name!r}: this is the name of a built-in group; choose another name")
    if name in KEYWORDS:
        raise SettingsError(f"group {name!r}: this is a word of selections; choose another name")


def runs_of(numbers: Numbers) -> list[list[int]]:
    """Intervals [first, after the last] of numbers in order."""
    ends = np.flatnonzero(np.diff(numbers) != 1)
    firsts = numbers[np.r_[0, ends + 1]]
    lasts = numbers[np.r_[ends, len(numbers) - 1]] + 1
    return np.stack([firsts, lasts], axis=1).tolist()


def of_runs(runs: list[list[int]]) -> Numbers:
    """The numbers of `runs_of`."""
    return np.concatenate([np.arange(first, last, dtype=np.int64) for first, last in runs])


def _not_empty(mask: Mask, called: str, given: Any) -> Numbers:
    numbers = np.flatnonzero(mask).astype(np.int64)
    if not len(numbers):
        shown = f" ({given})" if isinstance(given, str) else ""
        raise SettingsError(
            f"{called}{shown} is empty: it has no atom; look at the condition that it was made with"
        )
    return numbers
