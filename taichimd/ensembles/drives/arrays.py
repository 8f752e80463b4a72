"""The arrays of drives, as kernels take them, and what of drives kernels are compiled for."""

from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle
from taichimd.ensembles.drives import layout as of


class DriveArrays(Bundle):
    """What drives keep on the device; `layout` says what stands where."""

    numbers: Any = ArrayField("i64", "see `layout`", "whole numbers of the head, of atoms and of rows")
    values: Any = ArrayField("f64", "see `layout`", "time, parameters of rows, tables, numbers of atoms")
    sums: Any = ArrayField(
        "i64", "SUMS SLOTS of each row, 1", "sums over atoms: work, impulse, energy, force, centre of mass"
    )


@dataclass(frozen=True)
class DriveKinds:
    """What of drives kernels are compiled for."""

    kinds: tuple[int, ...] = ()  # of each row, of `layout`
    weights: tuple[int, ...] = ()  # of each row, of `layout`
    timings: tuple[int, ...] = ()  # of each row, of `layout`
    batch: bool = False  # whether there are several systems
    everyone: bool = False  # whether all rows act on all atoms of the only system
    rows: int = 0  # how many there are, if they are few and of one system; 0: that is read on the device

    @property
    def some(self) -> bool:
        """Whether there are any."""
        return bool(self.kinds)

    @property
    def pulls(self) -> bool:
        """Whether there are forces."""
        return bool({*self.kinds} - {of.REFLECT, of.DRAG, of.MOVE})

    @property
    def by_place(self) -> bool:
        """Whether an atom far from all walls has no force: all forces are those of walls of one system."""
        return self.pulls and not self.batch and {*self.kinds} <= {*of.WALLS, of.REFLECT, of.DRAG, of.MOVE}

    @property
    def centres(self) -> bool:
        """Whether centres of mass are summed."""
        return of.CENTRE in self.kinds

    @property
    def places(self) -> bool:
        """Whether the drift has more to do: walls that reflect, or groups that move."""
        return bool({of.REFLECT, of.MOVE} & {*self.kinds})

    @property
    def drags(self) -> bool:
        """Whether there is friction."""
        return of.DRAG in self.kinds

    @property
    def works(self) -> bool:
        """Whether work is counted where forces are known."""
        return of.MOVE in self.kinds or bool({*self.timings} - {of.CONSTANT})

    @property
    def fails(self) -> bool:
        """Whether an atom can be where no energy is defined."""
        return bool({of.LJ93, of.LJ126} & {*self.kinds})


NO_DRIVES = DriveKinds()
"""Kernels know nothing of drives."""
