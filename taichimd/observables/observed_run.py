"""What observables know of the run that they are of."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.core.units import PS
from taichimd.observables.plan import Plan
from taichimd.system.constraints import wholly
from taichimd.system.groups import Numbers

if TYPE_CHECKING:
    from taichimd.program.system import System


class ObservedRun:
    """A run with its plan, and what has been sampled so far.

    Attributes:
        engine: of the run. plan: of its samples. groups: numbers of atoms, by name.
        species: symbols, sorted. kinds: (n,) number of each atom's species.
        numbers: atoms of each species. n_free: of them those that are not fixed.
        fixed: (n,) which atoms are fixed, or move at a given velocity.
        volumes: of each sample so far, angstrom^3; NaN without a volume.
        samplers: by name, in the order in which they sample. Each has `sample(state, energies, virials,
            centre)`, for what `Engine.observe` lends, and `save` and `load` of what checkpoints keep.
        notes: what the reader should know.
        doubts: status of observables that something in the run spoils, by their names.
    """

    def __init__(self, engine: "System", plan: Plan, groups: Mapping[str, Numbers] | None = None) -> None:
        self.engine, self.plan, self.groups = engine, plan, dict(groups or {})
        self.species = sorted(set(engine.symbols))
        self.kinds = np.array([self.species.index(symbol) for symbol in engine.symbols], np.int32)
        self.fixed = np.zeros(len(self.kinds), bool) if engine.still is None else wholly(engine.still)
        self.numbers = np.bincount(self.kinds)
        self.n_free = np.bincount(self.kinds[~self.fixed], minlength=len(self.species))
        self.volumes: list[float] = []
        self.samplers: dict[str, Any] = {}
        self.notes: list[str] = []
        self.doubts: dict[str, str] = {}

    def sampler(self, name: str, make: Callable[["ObservedRun"], Any]) -> Any:
        """A sampler that several observables share, made for the first."""
        if name not in self.samplers:
            self.samplers[name] = make(self)
        return self.samplers[name]

    @property
    def taken(self) -> int:
        """Samples so far; while one is taken, those before it."""
        return len(self.volumes)

    @property
    def that_move(self) -> list[tuple[int, str]]:
        """Numbers and symbols of the species of which some atom is not fixed."""
        return [(k, name) for k, name in enumerate(self.species) if self.n_free[k]]

    @property
    def dt(self) -> float:
        """Internal time between samples."""
        return self.plan.interval * PS

    @property
    def window(self) -> float:
        """Longest correlation time, internal."""
        return self.plan.lags * self.dt

    @property
    def plateau(self) -> tuple[float, float]:
        """The second half of the window; the curves are there to choose better."""
        return self.dt * (self.plan.lags // 2), self.window
