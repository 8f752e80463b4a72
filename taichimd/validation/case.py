"""What is validated: a force field on a structure, with all that several checks need of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from ase import Atoms, units

from taichimd.core.arrays import Array
from taichimd.forcefields.base import ForceField
from taichimd.program.engine import Engine
from taichimd.system.velocities import set_temperature
from taichimd.validation.crystals import shaken
from taichimd.validation.levels import Level

MARGIN = 3e-4
"""Angstrom: no pair of the displaced structure is nearer to a cutoff, if that can be had."""
COHESION = 0.05
"""Most k_B T over the cohesive energy of a crystal whose temperature nobody has chosen."""


@dataclass(frozen=True)
class Case:
    """A force field on a structure."""

    name: str  # of the force field
    forcefield: ForceField  # as it is run
    atoms: Atoms  # the structure: as given, or a relaxed crystal
    level: Level  # how much is done
    # K, of first velocities; None: those of the structure, or a temperature that fits
    temperature: float | None = None
    # species of random clusters; None: all that the force field defines
    elements: Sequence[str] | None = None
    seed: int = 1  # of displacements and velocities
    built: bool = True  # whether the suite has chosen the structure
    facts: dict[str, Any] = field(default_factory=dict)  # what the relaxation has found
    says: Callable[[str], None] = lambda title: None  # called with what a long check does next

    @cached_property
    def species(self) -> list[str]:
        """Elements of the structure, sorted."""
        return sorted(set(self.atoms.get_chemical_symbols()))

    @cached_property
    def gradient(self) -> ForceField:
        """The force field whose forces are the whole derivative of its energy, for finite differences."""
        return self.forcefield.stationary()

    @cached_property
    def shaken(self) -> Atoms:
        """The structure with displaced atoms: forces that symmetry makes zero test nothing."""
        return shaken(self.atoms, self.forcefield.cutoffs, MARGIN, self.seed)

    @cached_property
    def kelvin(self) -> float:
        """Temperature of first velocities, K."""
        if self.temperature is not None:
            return self.temperature
        energy = Engine(self.atoms, self.forcefield).evaluate().energy / len(self.atoms)
        return float(min(300.0, COHESION * abs(energy) / units.kB)) if energy < 0.0 else 300.0

    @cached_property
    def moving(self) -> Atoms:
        """The structure with velocities and no net momentum, from which runs begin."""
        if not self.built and self.temperature is None and self.atoms.get_velocities().any():
            return self.atoms
        found = self.atoms.copy()  # displaced atoms would be far hotter, and out of equilibrium
        set_temperature(found, self.kelvin, self.seed + 1)
        return found

    @property
    def timestep(self) -> float:
        """Time step of runs, in ASE's unit of time."""
        return self.forcefield.timestep * units.fs

    @cached_property
    def start(self) -> tuple[Array, Array]:
        """Positions and velocities from which runs begin, each bit of them."""
        return self.moving.positions.copy(), self.moving.get_velocities()

    def engine(self, **options: Any) -> Engine:
        """An engine at the start of the runs."""
        self.forcefield.check_bounded()
        engine = Engine(self.moving, self.forcefield, **options)
        engine.set_state(velocities=self.start[1])
        return engine

    @cached_property
    def reference(self) -> "dict[str, Array]":
        """Positions, velocities and forces after the level's steps in one call."""
        engine = self.engine()
        engine.advance(self.level.steps, self.timestep)
        return state_of(engine)


def state_of(engine: Any) -> dict[str, Array]:
    """Positions, velocities, forces, energies and virials of an engine or of a system of a batch."""
    found = engine.evaluate()
    return {
        "positions": engine.positions(), "velocities": engine.velocities(), "forces": found.forces,
        "energies": np.asarray(found.energies, float), "virials": np.asarray(found.virials, float),
    }  # fmt: skip
