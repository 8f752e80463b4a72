"""Bonds through time by two thresholds of the bond order and a shortest lifetime.

A pair becomes bonded when its bond order exceeds the upper threshold, and stays bonded until its bond order
is at or below the lower threshold (hysteresis). A change that is reversed within the shortest lifetime is
no change. Such filters of recrossings are usual in the analysis of reactive trajectories:
M. Döntgen et al., J. Chem. Theory Comput. 11, 2517 (2015), https://doi.org/10.1021/acs.jctc.5b00201.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taichimd.core.errors import AnalysisError, CheckpointError
from taichimd.core.saved import saved_array

Keys = NDArray[np.int64]
"""Pairs i < j of n atoms, sorted, each as i * n + j."""
ROUNDING = 1e-9
"""ps, by which a lifetime may fall short, because differences of times are rounded."""


@dataclass(frozen=True)
class BondRule:
    """When a pair of atoms is bonded; an AnalysisError if the thresholds are the wrong way round."""

    formed: float = 0.5  # a bond order above this forms a bond. 0.5 is half of a single bond.
    # a bond order at or below this breaks a bond. 0.3 is the limit of LAMMPS and of `species`.
    broken: float = 0.3
    # ps; a change of a bond, and a molecule, that lasts less is left out. 0.05 ps is five periods of the
    # stretch of an O-H bond, the fastest vibration of usual molecules.
    lifetime: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 <= self.broken <= self.formed:
            raise AnalysisError(
                f"bond_formed = {self.formed:g} is below bond_broken = {self.broken:g}: expected the upper "
                "threshold in bond_formed and the lower in bond_broken; exchange the two"
            )
        if not self.lifetime >= 0.0:
            raise AnalysisError(f"shortest lifetime = {self.lifetime:g} ps: expected 0 or more")


@dataclass(frozen=True)
class BondChange:
    """Bonds that form and break in one frame, and last: pairs of atoms."""

    frame: int
    formed: list[tuple[int, int]]
    broken: list[tuple[int, int]]


class BondHistory:
    """Takes the bonds of frames of n atoms in turn, and keeps only what changes, and their times (ps).

    In the first frame a pair between the thresholds is undecided. It counts as bonded, unless it falls to the
    lower threshold before it exceeds the upper one: then it never was bonded.
    """

    def __init__(self, n: int, rule: BondRule) -> None:
        self.n, self.rule = n, rule
        self.times: list[float] = []
        self._first = self._bonded = self._undecided = np.empty(0, np.int64)
        self._changes: list[tuple[int, Keys]] = []

    def add(self, time: float, i: ArrayLike, j: ArrayLike, order: ArrayLike) -> None:
        """Take the next frame, at a later time (ps), with the orders of bonds of atoms i and j, (m,) each.

        A bond may stand twice, as i, j and j, i; pairs that are missing have bond order zero.
        """
        self._check_time(time)
        a, b = np.asarray(i, np.int64), np.asarray(j, np.int64)
        value = np.asarray(order, float)
        if a.size and not (min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) < self.n):
            raise AnalysisError(f"frame {len(self.times)} has a bond of an atom beyond the {self.n} atoms")
        keys = np.minimum(a, b) * self.n + np.maximum(a, b)
        other = a != b  # A bond to an atom's own image connects no two atoms.
        low = np.unique(keys[other & (value > self.rule.broken)])
        high = np.unique(keys[other & (value > self.rule.formed)])
        if not self.times:
            self._first = self._bonded = low
            self._undecided = np.setdiff1d(low, high, assume_unique=True)
            self.times.append(float(time))
            return
        bonded = np.union1d(high, np.intersect1d(self._bonded, low, assume_unique=True))
        self._take(time, np.setxor1d(bonded, self._bonded, assume_unique=True), high)

    def change(self, time: float, pairs: NDArray[np.int32]) -> None:
        """Take the next frame by what has changed since the last frame (`reaxff.bond_watch`).

        Rows are pairs i < j of atoms, each once, and whether each is bonded now, 0, or not, -1. A pair whose
        order has exceeded the upper threshold for the first time counts as changed.
        """
        self._check_time(time)
        keys = pairs[:, 0].astype(np.int64) * self.n + pairs[:, 1]
        order = np.argsort(keys)
        keys, bonded = keys[order], pairs[order, 2] >= 0
        changed = keys[~bonded | ~np.isin(keys, self._bonded, assume_unique=True)]
        self._take(time, changed, keys[bonded])

    def present(self) -> NDArray[np.int64]:
        """(m, 3) bonded pairs i < j of the last frame, sorted, and 1 if a pair is undecided, else 0."""
        undecided = np.isin(self._bonded, self._undecided, assume_unique=True)
        return np.stack([*np.divmod(self._bonded, self.n), undecided.astype(np.int64)], axis=1)

    def _check_time(self, time: float) -> None:
        if self.times and not time > self.times[-1]:
            raise AnalysisError(
                f"frame {len(self.times)} is at {time:g} ps, not after the frame at {self.times[-1]:g} ps; "
                "analyse one run at a time"
            )

    def _take(self, time: float, changed: Keys, high: Keys) -> None:
        """A frame with these changes of bonds, and pairs above the upper threshold."""
        self._bonded = np.setxor1d(self._bonded, changed, assume_unique=True)
        self._undecided = np.setdiff1d(self._undecided, high, assume_unique=True)
        never = np.intersect1d(changed, self._undecided, assume_unique=True)
        if never.size:
            self._first = np.setdiff1d(self._first, never, assume_unique=True)
            self._undecided = np.setdiff1d(self._undecided, never, assume_unique=True)
            changed = np.setdiff1d(changed, never, assume_unique=True)
        if changed.size:
            self._changes.append((len(self.times), changed))
        self.times.append(float(time))

    def save(self) -> dict[str, NDArray[Any]]:
        """Arrays that `load` continues from: the first and the present bonds, and the changes between."""
        return {
            "times": np.array(self.times, float),
            "first": self._first,
            "bonded": self._bonded,
            "undecided": self._undecided,
            "frames": np.array([frame for frame, keys in self._changes for _ in keys], np.int64),
            "keys": np.concatenate([np.empty(0, np.int64), *(keys for _, keys in self._changes)]),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Continue from what `save` gave for the same number of atoms."""
        times = saved_array(saved, "times", "f", None).tolist()
        frames = saved_array(saved, "frames", "i", None).astype(np.int64)
        pairs = {
            name: saved_array(saved, name, "i", None if name != "keys" else len(frames)).astype(np.int64)
            for name in ("first", "bonded", "undecided", "keys")
        }
        if any(not before < after for before, after in pairwise(times)):
            raise CheckpointError("times of bonds do not increase")
        if frames.size and not (0 < frames[0] and frames[-1] < len(times) and (np.diff(frames) >= 0).all()):
            raise CheckpointError(f"changes of bonds are not in the order of {len(times)} frames")
        for name, keys in pairs.items():
            if keys.size and not (0 <= keys.min() and keys.max() < self.n * self.n):
                raise CheckpointError(f"{name} has a bond of an atom beyond the {self.n} atoms")
        self.times = times
        self._first, self._bonded, self._undecided = (pairs[one] for one in ("first", "bonded", "undecided"))
        starts = np.flatnonzero(np.diff(frames, prepend=-1))
        split = np.split(pairs["keys"], starts[1:])
        self._changes = [(int(frames[k]), keys) for k, keys in zip(starts, split, strict=False)]

    def first_bonds(self) -> list[tuple[int, int]]:
        """Bonds of the first frame."""
        return [divmod(key, self.n) for key in self._first.tolist()]

    def changes(self) -> tuple[list[BondChange], int]:
        """Changes that last, in the order of time, and the number of changes that nobody can judge.

        Nobody can judge a change that is closer to the last frame than the shortest lifetime: it is left out.
        """
        toggles: dict[int, list[int]] = {}
        for frame, keys in self._changes:
            for key in keys.tolist():
                toggles.setdefault(key, []).append(frame)
        at_start, late = set(self._first.tolist()), 0
        found: dict[int, BondChange] = {}
        for key, frames in toggles.items():
            bonded = key in at_start
            kept, is_late = self._lasting(frames)
            late += is_late
            for frame in kept:
                change = found.setdefault(frame, BondChange(frame, [], []))
                (change.broken if bonded else change.formed).append(divmod(key, self.n))
                bonded = not bonded
        return [found[frame] for frame in sorted(found)], late

    def _lasting(self, frames: list[int]) -> tuple[list[int], bool]:
        """Frames of the changes of one pair that last, and whether its last change is too late to judge."""
        times, kept, k = self.times, [], 0
        least = self.rule.lifetime - ROUNDING
        while k < len(frames):
            end = times[frames[k + 1]] if k + 1 < len(frames) else times[-1]
            if end - times[frames[k]] >= least:
                kept.append(frames[k])
                k += 1
            elif k + 1 == len(frames):
                return kept, True
            else:
                k += 2  # The change and its reversal.
        return kept, False
