"""Groups with a given motion, friction, and the removal of momentum.

moved     x = x0 + V t; the work is that against the forces on the group, - sum F . V dt
drag      v' = v exp(-dt/tau) in the middle of the drift, exact for free atoms
momentum  v' = v - P/M, and v' = v - omega x (r - R) with omega = I^-1 L, every n steps
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import ClassVar

import numpy as np

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_whole
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.base import VELOCITY, Drive, Row, Start


@dataclass(frozen=True)
class Move(Drive):
    """A group whose atoms all move at one constant velocity; forces do not change their motion.

    These atoms have no temperature. No bath and no other drive may act on them.

        >>> from taichimd import Move
        >>> Move((0.5, 0, 0), on="top").columns()
        ('work', 'force')

    Args:
        velocity: Å/ps.

    Raises:
        SettingsError: a velocity that is not three numbers.
    """

    kind: ClassVar[str] = "move"
    velocity: tuple[float, float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._vector("velocity", "Å/ps")

    @property
    def moves_with_time(self) -> bool:
        """True: the group always moves."""
        return True

    def columns(self) -> tuple[str, ...]:
        """Names of the work, and of the force of the other atoms on the group."""
        return ("work", "force")

    def rows(self, start: Start) -> list[Row]:
        """The drive as one row of the tables of kernels."""
        row = Row(of.MOVE, start.atoms, timing=of.STEADY, block=start.positions[start.atoms])
        row.values[of.VELOCITY : of.VELOCITY + 3] = np.array(self.velocity) * VELOCITY
        return [row]


@dataclass(frozen=True)
class Drag(Drive):
    """Friction: free atoms slow down as exp(-t/coupling_time).

        >>> from taichimd import Drag
        >>> Drag(1000.0).columns()
        ('work',)

    Args:
        coupling_time: fs.

    Raises:
        SettingsError: the coupling time is not a number above 0.
    """

    kind: ClassVar[str] = "drag"
    coupling_time: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._number("coupling_time", "fs", 0.0)

    def acts_along(self, own: Array | None) -> str:
        """No axis: the drive has no energy."""
        return ""

    def rows(self, start: Start) -> list[Row]:
        """The drive as one row of the tables of kernels."""
        row = Row(of.DRAG, start.atoms)
        row.values[of.STRENGTH] = self.coupling_time * units.FS
        return [row]


def kept(timestep: float, coupling_time: float) -> float:
    """exp(-timestep/coupling_time), rounded once, so that it is the same on every machine."""
    context = Context(prec=40)
    exponent = context.divide(Decimal(timestep), Decimal(coupling_time))
    return float(context.exp(context.minus(exponent)))


@dataclass(frozen=True)
class Momentum(Drive):
    """Removes the momentum of a group every few steps.

        >>> from taichimd import Momentum
        >>> Momentum(100, angular=True).columns()
        ('work',)

    Args:
        every: steps between two removals.
        linear: whether the velocity of the centre of mass is removed.
        angular: whether the rotation about the centre of mass is removed; the system must not be periodic.

    Raises:
        SettingsError: `every` is not a whole number above 0, or neither momentum is to be removed.
    """

    kind: ClassVar[str] = "momentum"
    keeps_momentum: ClassVar[bool] = True
    every: int
    linear: bool = True
    angular: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_whole(self.every) and self.every > 0):
            raise SettingsError(f"every = {self.every!r}: expected a number of steps, 1 or more")
        if not (self.linear or self.angular):
            raise SettingsError("Momentum has neither linear nor angular: it would take nothing away")

    def check(self, start: Start, called: str) -> None:
        """Raise if the rotation cannot be removed.

        Raises:
            SettingsError: angular momentum of a periodic system, or of a single atom.
        """
        if self.angular and start.pbc.any():
            raise SettingsError(
                f"{called}: angular momentum needs a system without periods; leave angular out"
            )

    def acts_along(self, own: Array | None) -> str:
        """No axis: the drive has no energy."""
        return ""

    def rows(self, start: Start) -> list[Row]:
        """No rows, because the host removes the momentum."""
        return []
