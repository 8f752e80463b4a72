"""Counts of labels given residues, from chains with known labels.

A cell of a singlet is a residue; of a doublet, two residues and their separation d; of a triplet, three and
their separations d, e. Counts of a cell are those of its labels. Classes of residues stand for residues:
each order has its own alphabet, and lower orders are counted in that alphabet, too, because its reference
state is made of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taichimd.core.errors import SettingsError
from taichimd.sequences.chains import RESIDUES, Chain, Ints, Residues, check_lengths

LETTERS = tuple(RESIDUES)
SIX_CLASSES = ("AVILMC", "FWYH", "STNQ", "DE", "KR", "GP")
Groups = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
GROUPS: Groups = (LETTERS, LETTERS, SIX_CLASSES)
"""Classes of residues of singlets, doublets, triplets; each letter in one class."""
MAX_SIZE = 100_000_000
"""Numbers of a table, so that it fits memory."""


def separations(fragment: int) -> list[tuple[int, int]]:
    """Separations d, e of the triplets of a fragment, in the order of the tables: d + e < fragment."""
    return [(d, e) for d in range(1, fragment - 1) for e in range(1, fragment - d)]


@dataclass(frozen=True)
class Shape:
    """What the cells of a table are.

    Raises:
        SettingsError: a fragment below 3, a letter in no class or in two, or more cells than memory may hold.
    """

    fragment: int = 7  # residues of a fragment, at least 3: separations are below it
    groups: Groups = GROUPS  # classes of residues of the three orders, each class a string of letters

    def __post_init__(self) -> None:
        if self.fragment < 3:
            raise SettingsError(f"fragment = {self.fragment}: expected 3 residues or more, for triplets")
        for classes in self.groups:
            if sorted("".join(classes)) != sorted(RESIDUES) or not all(classes):
                raise SettingsError(
                    f"classes {' '.join(classes)}: expected each of {RESIDUES} in one class, as in "
                    f"{' '.join(SIX_CLASSES)}"
                )
        size = len(separations(self.fragment)) * (3 * len(self.groups[2]) + 3) ** 3
        if size > MAX_SIZE:
            raise SettingsError(
                f"a table of fragments of {self.fragment} with {len(self.groups[2])} classes of triplets has "
                f"{size:,} numbers, at most {MAX_SIZE:,} are allowed: take shorter fragments or fewer classes"
            )

    @cached_property
    def classes(self) -> list[Ints]:
        """For each order (21,): class of each letter; the number of classes for an unknown one."""
        found = []
        for groups in self.groups:
            of = {letter: k for k, group in enumerate(groups) for letter in group}
            found.append(np.array([*(of[letter] for letter in RESIDUES), len(groups)], np.int32))
        return found

    def symbols(self, residues: Residues, order: int) -> Ints:
        """(n,) class and label of each residue in one number, 3 class + label."""
        return (3 * self.classes[order][residues.letter] + residues.label).astype(np.int32)


@dataclass(frozen=True)
class Counts:
    """Counts of the three orders, int64; C is the number of classes of an order."""

    shape: Shape  # what the cells are
    singlets: tuple[Ints, Ints, Ints]  # of the three alphabets (C, 3)
    doublets: tuple[Ints, Ints]  # of the alphabets of doublets and triplets (separations, C, C, 3, 3)
    triplets: Ints  # (pairs of separations, C, C, C, 3, 3, 3)

    @classmethod
    def empty(cls, shape: Shape) -> "Counts":
        """No counts."""
        c = [len(groups) for groups in shape.groups]
        two, both = (np.zeros((shape.fragment - 1, n, n, 3, 3), np.int64) for n in c[1:])
        triplets = np.zeros((len(separations(shape.fragment)), *3 * [c[2]], 3, 3, 3), np.int64)
        first, second, third = (np.zeros((n, 3), np.int64) for n in c)
        return cls(shape, (first, second, third), (two, both), triplets)

    @classmethod
    def of(cls, chains: Sequence[Chain], shape: Shape) -> "Counts":
        """Count the chains; their order does not matter. SequenceError: one is shorter than a fragment."""
        check_lengths(chains, shape.fragment)
        found, residues = cls.empty(shape), Residues.of(chains)
        within = [np.flatnonzero(residues.left >= d) for d in range(shape.fragment)]
        for order in range(3):
            symbols = shape.symbols(residues, order)
            classes = len(shape.groups[order])
            found.singlets[order][:] = _counted(classes, symbols)
            for d in range(1, shape.fragment if order else 1):
                i = within[d]
                found.doublets[order - 1][d - 1] = _counted(classes, symbols[i], symbols[i + d])
        for cell, (d, e) in enumerate(separations(shape.fragment)):
            i = within[d + e]
            found.triplets[cell] = _counted(classes, symbols[i], symbols[i + d], symbols[i + d + e])
        return found


def _counted(classes: int, *symbols: Ints) -> Ints:
    """Counts of sets of symbols: first the classes, then the labels; without unknown residues."""
    n, many = 3 * (classes + 1), len(symbols)
    number = np.zeros(len(symbols[0]), np.int64)
    for one in symbols:
        number = number * n + one
    counts = np.bincount(number, minlength=n**many).reshape(many * [classes + 1, 3])
    by_class = counts.transpose(*range(0, 2 * many, 2), *range(1, 2 * many, 2))
    return by_class[many * (slice(classes),)]
