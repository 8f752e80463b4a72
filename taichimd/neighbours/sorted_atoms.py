"""Atoms in the order of space: what the sort leaves for the search, and how a search is compiled."""

from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, Selection, View

UNROLL = 4
"""Atoms that a thread of a GPU compares at a time."""
PAD = 16
"""Room after the last atom of `Sorted.folded`: a CPU compares so many at a time."""


@dataclass(frozen=True)
class Search:
    """How a search is compiled."""

    # ti.f64 or ti.f32, of the copies of the positions that are compared. Half the memory; the caller makes
    # the radius longer by what that may be wrong by.
    real: Any
    together: bool = False  # the threads of a chunk share an atom; for rows in chunks
    alike: bool = False  # all atoms have one inverse mass: the sort before leaves these where they are
    one_species: bool = False  # likewise the numbers of the species, which kernels then may lack
    batch: bool = False  # there are several systems, each with bins and images of its own
    pages: int = 1  # number of arrays that hold the rows (`neighbours.pages`)
    # only atoms near a slab get rows, those with `Sorted.away` <= `Sorted.needed`; others get empty rows
    some_rows: bool = False

    @property
    def sorted(self) -> Selection:
        """What of `Sorted` its kernels take."""
        left_out = (() if self.batch else OF_BATCH) + (() if self.some_rows else OF_SOME_ROWS)
        return Sorted.only(*(name for name in Sorted.fields if name not in left_out))


OF_BATCH = ("system", "layouts")
"""Arrays of `Sorted` that only a batch has."""
OF_SOME_ROWS = ("away", "needed")
"""Fields of `Sorted` that only a search for some rows has."""
BINS, REACH, PERIODIC = 0, 3, 6
FIRST_BIN, FIRST_CODE, LAYOUT = 9, 10, 11
"""In `Sorted.layouts`: three numbers each; bins and codes of images of the systems before; length of a
layout."""


class Sorted(Bundle):
    """Where atoms are in space: what the sort leaves for the search. `VerletList` makes the arrays."""

    radius2: Any = Number("real", "square of the radius of the search, angstrom^2")
    bins: Any = Number("ivec", "bins along each vector of the frame; of a batch all bins in one row")
    reach: Any = Number("ivec", "bins to visit on each side")
    periodic: Any = Number("ivec", "1 along periodic directions")
    most_image: Any = Number("ivec", "largest image along each vector that codes hold")
    grid: Any = ArrayField(
        "vec", "8 systems", "vectors of the frame, their inverse, origin of the bins, bins per unit"
    )
    starts: Any = ArrayField("i32", "bins + 1", "first atom of each bin")
    folded: Any = ArrayField("searched", "3 (n + 16)", "positions to compare, angstrom")
    turns: Any = ArrayField("ivec", "n", "whole cells that an atom is away from the first one")
    bin_of: Any = ArrayField("i32", "n", "bin of each atom")
    sorted_of: Any = ArrayField("i32", "n", "place of each user's number")
    counts: Any = ArrayField("i32", "bins", "atoms of each bin; 0 between two sorts")
    sums: Any = ArrayField("i32", "see `scan`", "room for the running sum")
    order: Any = ArrayField("i32", "n", "atoms bin by bin, in any order")
    turns_in: Any = ArrayField("ivec", "n", "`turns` before the sort")
    bin_in: Any = ArrayField("i32", "n", "`bin_of` before the sort")
    system: Any = ArrayField("i32", "n", "system of the atom at a place, which no sort changes")
    layouts: Any = ArrayField(
        "i32", "LAYOUT systems", "bins, reach, periodic directions and places of each system"
    )
    away: Any = ArrayField("real", "n", "distance of the atom of a number from a slab, angstrom")
    needed: Any = Number("real", "`away` up to which atoms get rows, angstrom")


class Ground(View):
    """Where the bins and the images of an atom's system are, among those of a batch.

    Attributes:
        bins, reach, periodic: as those of `Sorted`. grid: where the system's vectors begin in `Sorted.grid`.
        first_bin, first_code: number of bins, and of positive codes of images, of the systems before.
    """
