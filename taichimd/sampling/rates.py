"""What a chain counts: trial moves with their sizes, and checks of its energy."""

from dataclasses import dataclass

TARGET = 0.4
"""Acceptance that step sizes are tuned to."""


@dataclass
class Rate:
    """Trial moves of one kind."""

    size: float  # of the largest one
    tried: int = 0  # how many since the size last changed
    accepted: int = 0  # how many since the size last changed

    def count(self, accepted: int, tried: int = 1) -> None:
        """Add some."""
        self.tried += tried
        self.accepted += accepted

    def tune(self, most: float) -> None:
        """Another size, towards the target, and count again."""
        if self.tried:
            factor = self.accepted / self.tried / TARGET
            self.size = min(self.size * min(max(factor, 0.5), 1.5), most)
        self.tried = self.accepted = 0

    @property
    def acceptance(self) -> float | None:
        """Accepted part; None before the first."""
        return self.accepted / self.tried if self.tried else None


@dataclass
class Check:
    """The running energy beside a full evaluation: how often compared, and the largest difference (eV)."""

    times: int = 0
    largest: float = 0.0
