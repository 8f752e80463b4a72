"""What a step on several GPUs should take: measured compute, atoms held twice, bytes, launches."""

from dataclasses import dataclass
from typing import Any

LINK = 300.0e9
"""Bytes a second that a GPU receives over NVLink in an all-gather. Assumed: two thirds of H100's 450 GB/s."""
LATENCY = 15.0e-6
"""Seconds of an all-gather of nothing. Assumed."""
LAUNCHES = 40.0e-6
"""Seconds of a step's kernels besides those of the forces. Assumed."""


@dataclass(frozen=True)
class Slabs:
    """A system cut into slabs.

    Attributes:
        atoms: of all. area: of a cut, square angstrom. density: atoms for each cubic angstrom.
        reach: angstrom beyond the slab within which a process holds atoms.
    """

    atoms: int
    area: float
    density: float
    reach: float

    def held(self, gpus: int) -> float:
        """Atoms that a process holds."""
        beside = 2.0 * self.reach * self.area * self.density if gpus > 1 else 0.0
        return min(self.atoms / gpus + beside, float(self.atoms))


def predicted(system: Slabs, seconds_per_atom: float, gpus: int) -> dict[str, Any]:
    """Milliseconds of a step, of its exchange, and the efficiency beside one GPU.

    Args:
        system: as it is cut.
        seconds_per_atom: of a step of `Engine.advance` on one GPU.
        gpus: how many.
    """
    exchange = 0.0
    if gpus > 1:
        exchange = LATENCY + 24.0 * system.atoms * (gpus - 1) / gpus / LINK
    step = seconds_per_atom * system.held(gpus) + exchange + LAUNCHES
    alone = seconds_per_atom * system.atoms
    return {
        "held_atoms": system.held(gpus), "exchange_ms": 1e3 * exchange, "ms_per_step": 1e3 * step,
        "efficiency": alone / gpus / step,
    }  # fmt: skip
