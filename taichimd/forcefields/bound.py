"""Force fields on the species of one structure: flat tables of parameters, and how far terms reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.enumerate.terms import Compiled, Terms, Triples
from taichimd.forcefields.flat import flat_rows
from taichimd.forcefields.term import ANGLE, BOND_ORDER, COORDINATION, PAIR, PASSES, TRIPLET, Term
from taichimd.forcefields.truncate import ended, truncated

BODIES = TRIPLET, BOND_ORDER, ANGLE, COORDINATION
"""Kinds of three-body terms."""
SHORT = 0.7
"""Up to this part of the pair term's cutoff (a third of its volume) a three-body term has its own list."""


@dataclass(frozen=True)
class Bound:
    """A force field on the species of one structure."""

    terms: Terms  # what to compile
    pair_table: NDArray[np.float64]  # parameters of pairs, row after row
    body_table: NDArray[np.float64]  # parameters of three-body terms, row after row
    # (species, species) list cutoff of each pair, angstrom; -1 where nothing acts
    cutoffs: NDArray[np.float64]
    # the same of the near list: of the three-body term alone, if it is short
    near_cutoffs: NDArray[np.float64]
    pair_cutoffs: NDArray[np.float64]  # the same of the pair term alone
    name: str  # of the terms
    room: Any = None  # of a queued group, makes what a near list asks to grow
    # of the first of some queued groups, makes what queues their kernels, of state, near lists, outputs,
    # backend; span: how many groups these are
    evaluator: Any = None
    span: int = 0
    triples: Triples | None = None  # of a queued group that is a sum over triples, what is added up


def bound(terms: Sequence[Term], species: Sequence[str]) -> Bound:
    """Tables of a group of terms: at most one pair and one three-body term, or one of passes."""
    by_kind = {term.kind: term for term in terms}
    n = len(species)
    cutoffs = near_cutoffs = pair_cutoffs = np.full((n, n), -1.0)
    short = False
    pair_table = body_table = np.zeros(1)
    found: dict[str, Any] = {}
    # First: where one file gives both terms, it is its triples that a user looks for.
    if body := next((by_kind[kind] for kind in BODIES if kind in by_kind), None):
        table = body.table
        rows = table.values(species, body.name)
        triples = np.reshape([row["cutoff"] for row in rows], (n, n, n))
        reach = _reaches(triples, body.kind == BOND_ORDER)
        cutoffs = near_cutoffs = np.maximum(cutoffs, reach)
        flat = flat_rows(table, species, body.name).with_column("reach", np.repeat(reach.ravel(), n))
        body_table = flat.joined()
        found[body.kind.replace(" ", "_")] = Compiled(body.function, flat.columns)
    if pair := by_kind.get(PAIR) or by_kind.get(PASSES):
        function, table = pair.function, pair.table
        truncation = pair.truncation or "truncated"
        rows = table.values(species, pair.name)
        pair_cutoffs = np.reshape([row["cutoff"] for row in rows], (n, n))
        cutoffs = np.maximum(cutoffs, pair_cutoffs)
        short = bool(body and near_cutoffs.max() < SHORT * cutoffs.max())
        flat = flat_rows(table, species, pair.name)
        flat = ended(function, flat, truncation)
        pair_table = flat.joined()
        if pair.kind == PAIR:
            found["pair"] = Compiled(truncated(function, truncation), flat.columns)
        else:
            found["passes"] = Compiled(function, flat.columns)
    slots = {"pair": None, "triplet": None, "bond_order": None, **found}
    terms_of = Terms(n_kinds=n, short_body=short, **slots)
    name = " + ".join(dict.fromkeys(term.name for term in terms))
    return Bound(
        terms_of, pair_table, body_table, cutoffs, near_cutoffs if short else cutoffs, pair_cutoffs, name
    )


def _reaches(cutoff: NDArray[np.float64], bond_order: bool) -> NDArray[np.float64]:
    """Longest distance of pair (i, j) in any triple centred on either, from cutoffs of (i, j, k).

    A triplet's row (i, j, k) limits r_ij, its mirror (i, k, j) limits r_ik, and so it is with coordination; a
    bond order's row (i, j, k) limits r_ik, and (i, j, j) the bond.
    """
    one_way = cutoff.max(axis=1) if bond_order else cutoff.max(axis=2)
    return np.maximum(one_way, one_way.T)
