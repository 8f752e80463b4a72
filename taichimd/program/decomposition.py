"""Particle or tuple decomposition: which threads do the work of a force field's tuples."""

import warnings
from collections.abc import Sequence

from taichimd.core.errors import SettingsError, TaichimdWarning
from taichimd.enumerate.terms import EACH_ATOM, ByTuple, Terms
from taichimd.forcefields.bound import Bound

PARTICLE, TUPLE, AUTO = DECOMPOSITIONS = ("particle", "tuple", "auto")
TUPLE_PAIRS = "tuple for pairs"
"""What "auto" may choose besides: pairs by tuple, three-body terms by particle."""


def check(decomposition: str) -> str:
    """The decomposition itself, or a SettingsError."""
    if decomposition not in DECOMPOSITIONS:
        raise SettingsError(
            f"decomposition is {decomposition!r}, expected one of {', '.join(DECOMPOSITIONS)}"
        )
    return decomposition


def choose(decomposition: str, groups: Sequence[Terms], all_pairs: bool, backend: str) -> str:
    """What a user gets who asks for this: "particle", "tuple" or `TUPLE_PAIRS`.

    "auto" is the fastest of those that have the bits of particle decomposition, which are the same on every
    backend: on a CPU a pair term that costs much is better evaluated once for each pair, side by side; on a
    GPU particle decomposition was faster in all that was measured.
    """
    if check(decomposition) == TUPLE and all_pairs:
        raise SettingsError(
            'decomposition "tuple" needs neighbour lists; the enumeration "all-pairs" has none'
        )
    if decomposition == TUPLE and not any(map(has_tuples, groups)):
        return PARTICLE
    if decomposition != AUTO:
        return decomposition
    return TUPLE_PAIRS if any(t.short_body for t in groups) and backend == "cpu" else PARTICLE


def has_tuples(terms: Terms) -> bool:
    """Whether a group has pairs or triplets of which lists can be made."""
    return pairs_by_tuple(terms) or bodies_by_tuple(terms)


def pairs_by_tuple(terms: Terms) -> bool:
    """Whether lists of pairs can be made: of a pair term, or of passes over neighbours."""
    passes = terms.passes.function.passes if terms.passes else ()
    return terms.pair is not None or any(one.kind != EACH_ATOM for one in passes)


def bodies_by_tuple(terms: Terms) -> bool:
    """Whether lists of triplets can be made."""
    return terms.many_body


def warn_of_unchanged(decomposition: str, groups: Sequence[Bound]) -> None:
    """Warn that tuple decomposition does not change some groups of terms, one sentence each."""
    names = dict.fromkeys(one.name for one in groups if not has_tuples(one.terms))
    for name in names if decomposition == TUPLE else ():
        warnings.warn(
            f'decomposition "{TUPLE}" does not change {name}, which has loops over atoms and no tuples',
            TaichimdWarning,
            stacklevel=5,
        )


def by_tuple(chosen: str, terms: Terms) -> ByTuple:
    """The terms of a group of which lists of tuples are made."""
    by_pairs = chosen == TUPLE or (chosen == TUPLE_PAIRS and terms.short_body)
    return ByTuple(by_pairs and pairs_by_tuple(terms), chosen == TUPLE and bodies_by_tuple(terms))
