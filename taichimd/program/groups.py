"""Groups of terms of one system: how each is done, and the lists that it reads."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taichimd.core.runtime import ti
from taichimd.enumerate import threads_per_atom
from taichimd.enumerate.gather import zeta_from
from taichimd.enumerate.group import TermGroup
from taichimd.enumerate.terms import ByTuple
from taichimd.forcefields.bound import Bound
from taichimd.neighbours.lists import Lists
from taichimd.neighbours.near_list import NearList
from taichimd.neighbours.pages import pages_for
from taichimd.neighbours.rows import body_layout, row_width
from taichimd.neighbours.skins import Skins
from taichimd.neighbours.tuple_room import PairRows, TupleRoom
from taichimd.neighbours.verlet_list import Frames, guess
from taichimd.program.variant import Variant
from taichimd.system.state import State

NO_NEAR_LIST = 200_000
"""Atoms from which pair forces on a GPU read the Verlet list itself, which then serves until it lacks a pair:
a cut of the near list then costs more than it saves (docs/decisions/008-skins-and-near-lists.md)."""

FIRST_SKIN, FIRST_SKIN_OF_PAIRS = 0.32, 0.13
"""Outer skin over cutoff for which pages are counted: the one that skins begin with (`Skins`)."""
LEAST_WIDTH, WIDTH_OF_OPEN = 48, 160
"""Slots of a row for which pages are counted at least: rows of 16 entries have as many components of partial
forces. Without a volume the density is not known."""


@dataclass(frozen=True)
class Choice:
    """What is to be computed, and how."""

    bounds: tuple[Bound, ...]  # groups of terms with their parameters
    by_tuple: tuple[ByTuple, ...]  # of each group, the terms done by tuple decomposition
    backend: str  # "cuda" or "cpu"
    all_pairs: bool  # visit all pairs instead of neighbours
    skin: float | None  # the user's outer skin, angstrom, or None
    batch: bool = False  # whether there may be several systems, for which pair forces read near lists

    @property
    def many_body(self) -> bool:
        """Whether there are three-body terms."""
        return any(bound.terms.many_body for bound in self.bounds)

    @property
    def cutoff(self) -> float:
        """Longest cutoff, angstrom."""
        return max(max(float(bound.cutoffs.max()) for bound in self.bounds), 1e-3)

    def pages(self, state: State, frames: Frames) -> int:
        """How many arrays hold the rows of the longest list: several for more than `pages.PAGE` numbers.

        Rows have a half more slots than the density says, since no list can be divided into more pages later.
        """
        if self.all_pairs or not np.isfinite(self.cutoff):
            return 1
        pairs_alone = not self.many_body and len(self.bounds) == 1
        outer = self.skin or (FIRST_SKIN_OF_PAIRS if pairs_alone else FIRST_SKIN) * self.cutoff
        widths = [LEAST_WIDTH]
        for size, frame in zip(state.in_cells.tolist(), frames, strict=True):
            mean = guess(size, frame, self.cutoff + outer)
            widths.append(mean + mean // 2 if frame.pbc.all() else WIDTH_OF_OPEN)
        return pages_for(state.n, row_width(max(widths)))

    def groups(self, n_atoms: int, pages: int = 1) -> tuple[TermGroup, ...]:
        """How each group of terms is done, for so many atoms and pages."""
        other_terms = any(bound.terms.passes or bound.terms.queued for bound in self.bounds)
        several = len(self.bounds) > 1 or self.many_body or other_terms or any(self.by_tuple)
        pairs_do = self.backend != "cuda" or n_atoms < NO_NEAR_LIST
        # Pairs alone read the Verlet list in pages: two lists of long rows would take twice the memory.
        pairs_do = pairs_do and pages == 1
        near_list = not self.all_pairs and (several or self.batch or (pairs_do and self.skin is None))
        return tuple(
            TermGroup(
                bound.terms,
                number,
                by_tuple,
                threads_per_atom.threads_for(bound.terms, self.backend, n_atoms, self.all_pairs, by_tuple),
                self.all_pairs,
                near_list,
                pages,
            )
            for number, (bound, by_tuple) in enumerate(zip(self.bounds, self.by_tuple, strict=True))
        )

    def lists(self, state: State, variant: Variant) -> Lists:
        """Lists for the groups of a variant, and the arrays that their terms keep."""
        groups, unroll = variant.groups, variant.unroll
        on_cuda = self.backend == "cuda"
        # Idle loops, and waiting for the host, cost much on a small system, and little on a large one.
        small = min(1.0, 50_000 / state.n) if on_cuda else 0.0
        idle = (0.5, 6.0) if variant.loops else (0.5 * (unroll - 1), 20.0)
        short = any(bound.terms.short_body for bound in self.bounds)
        bonds = any(bound.terms.bond_order for bound in self.bounds)
        queued = any(bound.terms.queued for bound in self.bounds)
        passes = on_cuda and any(bound.terms.passes for bound in self.bounds)
        if queued:
            idle = (0.0, 0.2)
        near_list = groups[0].near_list
        skins = Skins(
            self.cutoff, self.many_body, near_list, self.skin, small * idle[0], small * idle[1],
            both=short, warps=on_cuda, bonds=bonds and small < 1.0, queued=queued,
            passes=passes,
        )  # fmt: skip
        straight = variant.loops or unroll == 1
        near = [
            _near_list(state, group, bound, zeta_from(group.terms, body_layout(self.backend), straight))
            for group, bound in zip(groups, self.bounds, strict=True)
        ]
        return Lists(
            state, near, cutoff=self.cutoff, near_list=near_list, all_pairs=self.all_pairs, unroll=unroll,
            loops=variant.loops, skins=skins, long_rows=short, pages=variant.pages,
            bits=31 if queued or any(self.by_tuple) else 32,
        )  # fmt: skip


def _near_list(state: State, group: TermGroup, bound: Bound, zeta: int) -> NearList:
    room = TupleRoom(state, bool(group.by_tuple), group.values_of_member, group.values_of_triplet)
    tuples: Any = PairRows(state, group.pages) if group.pair_rows else room
    if bound.room is not None:
        tuples = bound.room()
    return NearList(
        state,
        group.number,
        group.fields,
        cutoffs=bound.near_cutoffs,
        pair_cutoffs=bound.pair_cutoffs,
        per_atom=bound.terms.per_atom,
        tables={"pair_table": bound.pair_table, "body_table": bound.body_table},
        tuples=tuples,
        own=_own(state, bound),
        zeta_from=0 if group.by_tuple.bodies else zeta,
        by_component=group.pages > 1,
    )


def _own(state: State, bound: Bound) -> tuple[Any, ...]:
    """Arrays of a term of passes."""
    if bound.terms.passes is None:
        return ()
    program = bound.terms.passes.function
    return tuple(
        state.carry(f"{bound.name}_{name}") if name in program.state else ti.ndarray(state.real, state.n)
        for name in program.arrays
    )
