"""The fingerprint of a potential: one number of what is computed."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taichimd.forcefields.term import Term

MARK = "v2:"
"""Begins a fingerprint, and says how it is made."""


def fingerprint_of(terms: Sequence["Term"], species: Sequence[str]) -> str:
    """`MARK` and a SHA-256 of a sum of terms on these species, in any order of the sum.

    It covers the bound parameters with all bits, how pair terms end, and the code of every function that is
    reached. Values that shifting makes are not in it: a device may round their last digit otherwise.
    """
    computed = {
        "species": list(species),
        "terms": _sorted(term.computed(species) for term in terms),
    }
    return MARK + hashlib.sha256(json.dumps(computed, sort_keys=True).encode()).hexdigest()


def _sorted(terms: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """By kind, and terms of one kind in an order of their own."""
    return sorted(terms, key=lambda term: (term["kind"], json.dumps(term, sort_keys=True)))
