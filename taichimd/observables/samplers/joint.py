"""Samplers of systems that step together: one launch adds a sample of each, with the bits that it has alone.

A sampler is of one system. Its arrays on the device are those of a room, in which samplers of other systems
may be, too. A room is made when samplers sample together for the first time, and again if others do.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

    from taichimd.program.totals import Centre
    from taichimd.system.state import State


class Lent(NamedTuple):
    """Arrays of all systems that step together, in spatial order: `Systems.lend`."""

    state: "State"
    energies: Any
    virials: Any


class Sample(NamedTuple):
    """One sample of several systems."""

    lent: Lent  # arrays of all systems
    numbers: Sequence[int]  # of the systems that are sampled
    centres: Sequence["Centre"]  # what positions and velocities of each of them count relative to

    def of(self, places: Sequence[int]) -> "Sample":
        """The sample of some of the systems."""
        return Sample(self.lent, [self.numbers[k] for k in places], [self.centres[k] for k in places])


class Joint(ABC):
    """A sampler of one system, which samples together with those of other systems."""

    def sample(self, state: "State", energies: Any, virials: Any, centre: Any = None) -> None:
        """Add a sample of a system as `Engine.observe` lends it; velocities relative to a given centre."""
        from taichimd.program.totals import LABORATORY

        sample = Sample(Lent(state, energies, virials), [0], [centre or LABORATORY])
        self.sample_all([self], sample)

    @classmethod
    @abstractmethod
    def sample_all(cls, each: Sequence["Self"], sample: Sample) -> None:
        """Add one sample to each of several systems."""


class Room(Protocol):
    """Arrays on the device of several samplers."""

    def leave(self) -> None:
        """Bring to the host what samplers need in another room."""


R = TypeVar("R", bound=Room)


class Tenant(Joint, Generic[R]):
    """A sampler whose arrays on the device are those of a room, None: there are none; `others` share it."""

    room: R | None = None
    others: Sequence["Tenant[R]"] = ()

    def leave(self) -> None:
        """Leave the room; the others do, too."""
        if self.room is not None:
            self.room.leave()
            for one in self.others:
                one.room = None

    @staticmethod
    def together(each: Sequence["Tenant[R]"], make: Callable[[], R]) -> R:
        """The room of these samplers and no others."""
        room, others = each[0].room, each[0].others
        if (
            room is not None
            and len(others) == len(each)
            and all(a is b for a, b in zip(others, each, strict=True))
        ):
            return room
        for one in each:
            one.leave()
        room = make()
        for one in each:
            one.room, one.others = room, each
        return room
