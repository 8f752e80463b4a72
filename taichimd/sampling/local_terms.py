"""Terms whose change by the move of one atom is known without a full evaluation."""

from dataclasses import dataclass
from math import isinf
from typing import Any

from taichimd.enumerate.terms import Compiled, Triples
from taichimd.forcefields.bound import Bound

NOBODY, OTHER_CELLS, THE_BATCH = range(3)
"""Neighbours of a moving atom that are left out: none; those in other cells of the same colour, which are
out of range and move at the same time; those that move in the same batch."""


@dataclass(frozen=True)
class Local:
    """A term whose change is known, as kernels are compiled for it."""

    pair: Compiled | None = None  # a pair term; else None
    triple: Any = None  # function of a triple's energy; else None
    # whether all triples count, whatever their sides (`move_batch`); then `triple` is a `TripletFunction`
    everywhere: bool = False
    passes: Compiled | None = None  # embedded atoms; else None

    @property
    def reach(self) -> int:
        """Cutoffs beyond which the moves of two atoms do not know of each other."""
        return 2 if self.passes else 1


def locals_of(bounds: tuple[Bound, ...]) -> tuple[Local, ...] | None:
    """The terms of all groups, or None if one does not say how its energy changes with one atom."""
    found = []
    for bound in bounds:
        terms = bound.terms
        if isinstance(bound.triples, Triples):
            everywhere = isinf(bound.triples.cutoff)
            function = bound.triples.whole if everywhere else bound.triples.function
            found.append(Local(triple=function, everywhere=everywhere))
        elif terms.pair is not None and not (terms.many_body or terms.passes or terms.queued):
            found.append(Local(pair=terms.pair))
        elif terms.passes is not None and terms.passes.function.local:
            found.append(Local(passes=terms.passes))
        else:
            return None
    # Moves in batches need the change of each pair alone.
    if any(one.everywhere for one in found) and any(one.passes for one in found):
        return None
    return tuple(found)
