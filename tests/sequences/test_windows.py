"""Which terms a score has: exactly those of the definition, each once, in each way to visit them."""

from itertools import combinations

import numpy as np
import pytest
from random_chains import random_chains

from taichimd.sequences.chains import LABELS, Chain
from taichimd.sequences.counts import SIX_CLASSES, Counts, Residues, Shape, separations
from taichimd.sequences.kernels import METHODS
from taichimd.sequences.score import Scorer
from taichimd.sequences.table import Table

GROUPS = 3 * (SIX_CLASSES,)


def random_units(shape, seed=1):
    """Whole numbers in place of energies."""
    rng, (a, b, c), s = np.random.default_rng(seed), map(len, shape.groups), shape.fragment
    cells = len(separations(s))
    sizes = (a, 3), (s - 1, b, b, 3, 3), (cells, c, c, c, 3, 3, 3)
    return [rng.integers(-(2**40), 2**40, size) for size in sizes]


def expected(shape, units, chain):
    """The sums by their definition: pairs closer than a fragment, triplets with a span below it."""
    one = Residues.of([chain])
    a, s = [classes[one.letter] for classes in shape.classes], one.label
    n, cells = len(chain), {step: k for k, step in enumerate(separations(shape.fragment))}
    singlets = sum(int(units[0][a[0][i], s[i]]) for i in range(n))
    doublets = sum(
        int(units[1][j - i - 1, a[1][i], a[1][j], s[i], s[j]])
        for i, j in combinations(range(n), 2)
        if j - i < shape.fragment
    )
    triplets = sum(
        int(units[2][cells[j - i, k - j], a[2][i], a[2][j], a[2][k], s[i], s[j], s[k]])
        for i, j, k in combinations(range(n), 3)
        if k - i < shape.fragment
    )
    return singlets, doublets, triplets


@pytest.mark.parametrize("method", METHODS)
def test_each_term_counts_once(method):
    """No two residues have the same class and label: a term left out for one that comes twice would show."""
    rng = np.random.default_rng(2)
    for fragment in range(3, 16):
        shape = Shape(fragment, GROUPS)
        units = random_units(shape, fragment)
        chains = []
        for length in range(fragment, 16):
            pairs = rng.permutation(18)[:length]
            sequence = "".join(SIX_CLASSES[p // 3][0] for p in pairs)
            chains.append(Chain(f"{length}", sequence, "".join(LABELS[p % 3] for p in pairs)))
        found = Scorer(Table(Counts.empty(shape)), method, units).units(chains)
        assert found.tolist() == [list(expected(shape, units, one)) for one in chains]


def test_chains_do_not_see_each_other_and_unknown_residues_have_no_terms():
    shape = Shape(5, GROUPS)
    units = random_units(shape)
    chains = random_chains([5, 30, 7, 100, 6], residues="ACDEX")
    with_zeros = [
        np.pad(u, [(0, 0)] * k + [(0, 1)] * m + [(0, 0)] * m)
        for u, k, m in zip(units, (0, 1, 1), (1, 2, 3), strict=True)
    ]
    for method in METHODS:
        scorer = Scorer(Table(Counts.empty(shape)), method, units)
        found = scorer.units(chains)
        assert found.tolist() == [list(expected(shape, with_zeros, one)) for one in chains]
        assert np.array_equal(scorer.units(chains[::-1])[::-1], found)
        assert np.array_equal(np.vstack([scorer.units([one]) for one in chains]), found)
