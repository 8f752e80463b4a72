"""What kernels are compiled for, and the arguments that follow from it."""

from dataclasses import dataclass, replace
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, Selection, types_of
from taichimd.core.runtime import DEVICE_LOOPS
from taichimd.ensembles.bath_arrays import BathArrays
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.drives.arrays import DriveArrays
from taichimd.ensembles.held import HELD
from taichimd.enumerate.group import TermGroup
from taichimd.enumerate.outputs import Outputs
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.dangerous_pairs import LOOKED_AT
from taichimd.neighbours.near_list import GroupArrays
from taichimd.neighbours.pages import in_pages
from taichimd.neighbours.rows import VerletRows
from taichimd.system.cell import CellArrays, taken_cells
from taichimd.system.state import Atoms


class Reach(Bundle):
    """How far atoms may go: squares of distances, angstrom^2."""

    most_step2: Any = Number("real", "in one step")
    most_near2: Any = Number("real", "since the last cut, with the near lists")
    most_drift2: Any = Number("real", "since the last build, where near lists are cut")


class SystemTables(Bundle):
    """All that most kernels take of one system."""

    atoms: Any = Atoms
    verlet: Any = VerletRows
    listed_at: Any = ArrayField("vec", "n", "positions from which displacements count, angstrom")
    groups: Any = GroupArrays
    control: Any = CONTROL
    bath: Any = BathArrays
    cells: Any = CellArrays
    drives: Any = DriveArrays
    reach: Any = Reach
    held: Any = HELD


NOTHING = Coupling()
"""But forces acts."""


class LoopFlags(Bundle):
    """Flags of loops on the device: whether each continues."""

    going: Any = ArrayField("i32", "", "steps")
    acting: Any = ArrayField("i32", "", "actions of a barostat")
    cutting: Any = ArrayField("i32", "", "cuts")
    building: Any = ArrayField("i32", "", "builds")
    builds_allowed: Any = Number("i32", "builds, of all calls, before the host looks")
    most_age: Any = Number("i32", "steps after which a list is built again")


FEW = 2_000
"""Atoms up to which a loop that only moves them is serial on a CPU: a parallel loop costs 20 us or more."""


@dataclass(frozen=True)
class Variant:
    """What kernels are compiled for."""

    groups: tuple[TermGroup, ...]  # the terms and how they are done
    real: Any  # ti.f64 or ti.f32, of positions, velocities, forces
    term: Any  # the same or ti.f32, of what is computed from distances
    backend: str  # "cuda" or "cpu"
    split: bool = False  # whether each group has kernels of its own, because one kernel cannot take them all
    unroll: int = 1  # steps per call of `steps`
    # most blocks of a CUDA grid, which callers set with `runtime.grid`; kernels of different grids are
    # different ones
    blocks: int = 0
    coupling: Coupling = NOTHING  # what acts on atoms and cell besides forces
    few: bool = False  # whether one thread of a CPU moves all atoms sooner than others begin (`FEW`)

    @property
    def on_gpu(self) -> bool:
        """Whether a thread waits long for memory."""
        return self.backend == "cuda"

    @property
    def adds_groups(self) -> bool:
        """Whether groups, or a queued one alone, leave forces in arrays of their own, which are added up."""
        return len(self.groups) > 1 or self.queued

    @property
    def outputs(self) -> tuple[Selection, ...]:
        """Where steps leave, or find, the forces of each group; a group alone leaves them with the atoms."""
        if not self.adds_groups:
            return ()
        of_queued = ("force", "virial") if self.coupling.moves_cell else ("force",)
        return tuple(Outputs.only(*(of_queued if g.terms.queued else ("force",))) for g in self.groups)

    @property
    def of_call(self) -> dict[str, Any]:
        """Arguments of a call of steps."""
        return {
            "system": self.system(),
            "outputs": self.outputs,
            "sort": LOOKED_AT if self.to_the_end else None,
            "old": Atoms.only("pos"),
            "loops": LoopFlags.only("going"),
            "dt": Number("real", "time step"),
        }

    @property
    def near_list(self) -> bool:
        """Whether force loops read near lists, or the Verlet list itself."""
        return self.groups[0].near_list

    @property
    def pages(self) -> int:
        """Number of arrays that hold the rows of the Verlet list."""
        return self.groups[0].pages

    @property
    def queued(self) -> bool:
        """Whether the host queues kernels of a group before those of each step."""
        return any(group.terms.queued for group in self.groups)

    @property
    def loops(self) -> bool:
        """Whether steps loop on the device."""
        return DEVICE_LOOPS and not (self.queued or self.split)

    @property
    def to_the_end(self) -> bool:
        """Whether a list serves until it lacks a pair, not only until an atom has gone half the skin."""
        return not (self.split or self.near_list or self.groups[0].all_pairs or self.coupling.moves_cell)

    @property
    def types(self) -> dict[str, Any]:
        """The types behind the words of tables."""
        return types_of(self.real, self.term)

    @property
    def outside_steps(self) -> "Variant":
        """One for all ensembles with the same kernels outside of steps."""
        return replace(self, coupling=self.coupling.outside_steps, few=False)

    @property
    def bath(self) -> Selection | None:
        """The arrays of what acts besides forces, if something does."""
        if not self.coupling.counts_steps and not self.coupling.driven:
            return None
        return self.coupling.arrays

    def cells(self, *names: str) -> Selection | None:
        """What a kernel takes of moving cells: some arrays, or all; None of cells at rest."""
        if not self.coupling.moves_cell:
            return None
        return taken_cells(self.coupling.batch, *names, deforms=self.coupling.deforms)

    def system(self, **others: Any) -> Selection:
        """What a kernel of all groups takes of `SystemTables`; `others` in place of some of it."""
        one_species = all(group.terms.one_species for group in self.groups)
        parts: dict[str, Any] = {
            **SystemTables.fields,
            "verlet": in_pages(VerletRows, tuple(VerletRows.fields), "entries", self.pages),
            "atoms": Atoms.only(*(name for name in Atoms.fields if not (name == "kind" and one_species))),
            "groups": tuple(group.arguments for group in self.groups),
            "bath": self.bath,
            "cells": self.cells(),
            "held": HELD if self.coupling.holds else None,
            "drives": DriveArrays if self.coupling.drives.some else None,
        }
        return SystemTables.only(**(parts | others))
