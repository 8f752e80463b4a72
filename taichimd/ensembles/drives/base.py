"""What all drives have in common: their atoms, their names, and the row that each fills."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number, plain
from taichimd.ensembles.drives import layout as of

VELOCITY = 1.0 / units.PS
"""Internal velocity of 1 Å/ps."""


@dataclass
class Row:
    """A row of the arrays, before it is packed."""

    kind: int  # as `layout` says
    atoms: NDArray[np.int64]  # whom it acts on
    weight: int = of.UNIT  # as `layout` says
    timing: int = of.CONSTANT  # as `layout` says
    values: Array = field(default_factory=lambda: np.zeros(of.ROW))  # (ROW,)
    block: Array | None = None  # numbers of each of these atoms, or None
    table: Array | None = None  # (m, 4), or None
    partner: bool = False  # whether the centre of mass of the row before this one is the other end


@dataclass(frozen=True)
class Start:
    """What a drive finds of the system when it begins."""

    atoms: NDArray[np.int64]  # whom it acts on
    own: Array | None  # charges (e) or forces (eV/Å) of these atoms
    partner: NDArray[np.int64] | None  # the atoms of the other group
    masses: Array  # (n,) amu, of the system
    positions: Array  # (n, 3) Å, of the system
    cell: Array  # (3, 3) Å
    pbc: NDArray[np.bool_]  # (3,)


@dataclass(frozen=True)
class Drive:
    """What acts on atoms besides the potential. Not used itself, only its subclasses.

    Args:
        on: the atoms: the name of a group, a selection, a mask (n,), or numbers of atoms. None: all that
            move.
        name: part of the names of columns; None: the name of the group, or what the drive is.
    """

    kind: ClassVar[str]
    keeps_momentum: ClassVar[bool] = False
    """Whether the momentum of the system stays what it is."""
    counts_energy: ClassVar[bool] = False
    """Whether it has an energy of its own, which the conserved energy counts."""
    on: Any = field(default=None, kw_only=True, compare=False, repr=False)
    name: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.name != "on":
                object.__setattr__(self, one.name, plain(getattr(self, one.name)))
        if self.name is not None and not (isinstance(self.name, str) and self.name.isidentifier()):
            raise SettingsError(
                f"name = {self.name!r}: the name of a drive has letters, digits and _, and begins with a "
                "letter"
            )

    def rows(self, start: Start) -> list[Row]:
        """The drive as rows of the tables of kernels."""
        raise NotImplementedError

    @property
    def moves_with_time(self) -> bool:
        """Whether the drive depends on time."""
        return False

    def last_time(self) -> float | None:
        """Time until which the drive is defined, fs; None: there is no end."""
        return None

    def acts_along(self, own: Array | None) -> str:
        """Axes along which the drive pulls or its energy changes; the cell must not change along these.

        Args:
            own: charges or forces of the atoms of the drive, if the drive has them.
        """
        return "xyz"

    def columns(self) -> tuple[str, ...]:
        """Names of the quantities of the drive that tables contain."""
        return ("work",)

    def settings(self) -> dict[str, Any]:
        """The arguments of the drive, JSON-able."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("on", "name")}

    def _number(self, key: str, unit: str, least: float | None = None) -> None:
        """Raise if an argument is not a finite number (above `least`)."""
        value = getattr(self, key)
        if not is_number(value) or (least is not None and not value > least):
            above = "" if least is None else f" above {least:g}"
            given = f"{key} is missing" if value is None else f"{key} = {value!r}"
            raise SettingsError(f"{given}: {type(self).__name__} expects a number{above} ({unit})")

    def _vector(self, key: str, unit: str) -> None:
        """Raise if an argument is not three finite numbers."""
        value = getattr(self, key)
        if not is_vector(value):
            raise SettingsError(f"{key} = {value!r}: {type(self).__name__} expects three numbers ({unit})")
        object.__setattr__(self, key, tuple(float(one) for one in value))


def axes_of(values: Any) -> str:
    """Axes along which some of (..., 3) numbers are not 0."""
    return "".join(axis for k, axis in enumerate("xyz") if np.any(np.asarray(values)[..., k]))


def is_vector(value: object) -> bool:
    """Whether it is three finite numbers."""
    return isinstance(value, list | tuple) and len(value) == 3 and all(is_number(one) for one in value)
