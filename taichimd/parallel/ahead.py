"""How many steps are queued before the host looks, and at which of them the device may rebuild lists."""

from dataclasses import dataclass

MAX_AHEAD = 50
"""Steps that are queued before the host looks."""
FIRST_AGE = 20.0
"""Steps that lists are expected to last, before there is experience."""
SPREAD = 1.05
"""By what the way that lists bear is multiplied, so that atoms go less far."""


def spread_of(gone: float, bears: float, made: int, served: float) -> float:
    """How far atoms will be from where they were chosen at the end of the next lists, angstrom, at most.

    `gone`: when hosts last made lists; `bears`: what lists allow; `made`: lists since; `served`: what is
    allowed now.
    """
    until = gone + SPREAD * (made + 2) * bears
    return min(until, served + SPREAD * bears) if made else until


@dataclass
class Ahead:
    """What is expected of lists."""

    age: int = 0  # steps since lists were built
    lasts: float = FIRST_AGE  # steps that lists are expected to last
    on_device: bool = False  # whether the device may rebuild lists without the host

    def steps(self, left: int) -> int:
        """How many steps to queue, of those left: steps after the end of lists cost less than a look."""
        if self.on_device:
            return min(left, MAX_AHEAD)
        return int(min(max(self.lasts + 1.0 - self.age, 0.15 * self.age, 2.0), left, MAX_AHEAD))

    def may_build(self, k: int) -> bool:
        """Whether a build is queued in step k since the host looked: lists are expected to end about there.

        A build that is not due costs as little as some launches. How many steps some lists last in a row is
        the less certain the more lists there are.
        """
        if not self.on_device:
            return False
        at = self.age + k
        lists = max(round(at / self.lasts), 1)
        return abs(at - lists * self.lasts) <= max(1.0, 0.1 * self.lasts) * (0.5 + 0.5 * lists)

    def went(self, steps: int, builds: int, last: int) -> None:
        """Take note of steps and builds, and of how many steps were done at the last of these."""
        if builds:
            self.ended((self.age + last) / builds)
            self.age = steps - last
        else:
            self.age += steps

    def ended(self, age: float) -> None:
        """Lists have lasted so many steps."""
        self.lasts = max(0.5 * (self.lasts + age), 2.0)
