"""Energies and scores: limits that are known, and an independent program."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_chains import random_chains

from taichimd.core.errors import CapacityError, SequenceError, SettingsError
from taichimd.sequences.chains import Chain, read_chains
from taichimd.sequences.counts import LETTERS, Counts, Shape
from taichimd.sequences.energies import energies
from taichimd.sequences.kernels import METHODS
from taichimd.sequences.score import Scorer, score
from taichimd.sequences.table import REFERENCES, Table, read_table, train, write_table

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT.parent / "shared" / "tools" / "threebody_reference.py"
CHAINS = ROOT / "examples" / "protein_chains.csv"


def mean_energies(table):
    """Of doublets and triplets, over the counts of the table."""
    counts, found = table.counts, energies(table)
    pairs = (counts.doublets[0], found.doublets), (counts.triplets, found.triplets)
    return np.array([(n * u).sum() / n.sum() for n, u in pairs])


@pytest.mark.parametrize("reference", REFERENCES)
def test_labels_that_depend_on_their_own_residue_alone_have_no_doublets_and_triplets(reference):
    """Energies of independent labels fall as the inverse root of the counts."""
    two = ("ACDEFGHIKL", "MNPQRSTVWY")
    chances = {
        letter: p
        for group, p in zip(two, ((0.6, 0.3, 0.1), (0.2, 0.3, 0.5)), strict=True)
        for letter in group
    }
    shape, rms = Shape(4, (two, two, two)), []
    for many in (25, 400):
        table = train(random_chains([800] * many, chances=chances), shape, (1.0, 1.0, 1.0), reference)
        found, counts = energies(table), table.counts
        pairs = (counts.doublets[0], found.doublets), (counts.triplets, found.triplets)
        rms.append([np.sqrt((n * u**2).sum() / n.sum()) for n, u in pairs])
        # ln P(s|a)/P(s): P(C) = 0.4, P(C|a) = 0.6 or 0.2.
        assert found.singlets[:, 0] == pytest.approx([-np.log(1.5), np.log(2)], abs=0.2 / np.sqrt(many))
    assert np.allclose(np.divide(*rms), 4.0, rtol=0.25)
    assert max(rms[1]) < 0.02


@pytest.mark.parametrize("reference", REFERENCES)
def test_without_pseudo_counts_the_trained_chains_lower_their_energy(reference):
    """Gibbs: the mean of -ln(observed/reference) over the observed is not above 0."""
    table = train(random_chains([60] * 20), pseudo_counts=(1e-9, 1e-9, 1e-9), reference=reference)
    assert (mean_energies(table) < -0.1).all()


def test_large_pseudo_counts_leave_the_reference():
    table = train(random_chains([60] * 20), pseudo_counts=(1e12, 1e12, 1e12))
    assert all(abs(u).max() < 1e-8 for u in energies(table))


def test_a_cell_without_counts_has_no_energy():
    found = energies(train([Chain("a", "ACDACDACD", "CCEEHHCCE")], pseudo_counts=(0.1, 0.1, 0.1)))
    w = LETTERS.index("W")
    assert not found.singlets[w].any()
    assert not found.doublets[:, w].any()
    assert found.doublets[0, 0, 1].any()


def test_order_of_chains_does_not_matter():
    chains = random_chains([40, 90, 20])
    one, other = (energies(train(c)) for c in (chains, chains[::-1]))
    assert all(np.array_equal(u, v) for u, v in zip(one, other, strict=True))


def test_unknown_residues_score_nothing():
    table = train(random_chains([50] * 5))
    assert not score([Chain("x", "X" * 12, "CEH" * 4)], table).any()


def test_all_ways_have_the_same_bits_and_files_keep_them(tmp_path):
    chains = read_chains(CHAINS)
    table = train(chains)
    found = score(chains, table)
    assert all(np.array_equal(score(chains, table, method), found) for method in METHODS)
    write_table(tmp_path / "t.json", table)
    again = read_table(tmp_path / "t.json")
    assert np.array_equal(score(chains, again), found)
    assert again.shape == table.shape
    changed = replace(again, reference="independent", pseudo_counts=(1.0, 30.0, 100.0))
    assert not np.array_equal(score(chains, changed), found)


@pytest.mark.parametrize("reference", REFERENCES)
def test_agrees_with_an_independent_program(reference, tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM.name} is not beside this checkout")
    spec = importlib.util.spec_from_file_location("reference_program", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    chains = read_chains(CHAINS)[:12] + random_chains([80], residues="ACDX")
    other = program.Cssp(window=6, reference=reference)
    for one in chains:
        other.add(one.sequence, one.states)
    other.save(tmp_path / "other.json")
    table = train(chains, Shape(6), reference=reference)
    expected = [other.score_terms(one.sequence, one.states) for one in chains]
    for mine in (table, read_table(tmp_path / "other.json")):
        np.testing.assert_allclose(score(chains, mine), expected, rtol=0, atol=2e-8)
    write_table(tmp_path / "mine.json", table)
    theirs = program.Cssp.load(tmp_path / "mine.json")
    assert theirs.score_terms(chains[0].sequence, chains[0].states) == expected[0]


def test_a_sum_that_might_not_fit_is_refused():
    shape = Shape(3)
    units = [np.full(size, 2**55) for size in ((20, 3), (2, 20, 20, 3, 3), (1, 6, 6, 6, 3, 3, 3))]
    scorer = Scorer(Table(Counts.empty(shape)), units=units)
    with pytest.raises(CapacityError, match="chain c0 has 100 residues: its sum might not fit 64 bits"):
        scorer(random_chains([100]))


def test_no_chains_are_refused():
    with pytest.raises(SequenceError, match="no chains to score"):
        score([], Table(Counts.empty(Shape())))


def test_mistakes_of_settings_say_what_is_expected():
    counts = Counts.empty(Shape())
    for make, words in (
        (lambda: Table(counts, (1.0, 2.0)), r"pseudo-counts 1.0,2.0: expected three numbers"),
        (lambda: Table(counts, (1.0, 0.0, 1.0)), r"expected three numbers from 1e-9"),
        (lambda: Table(counts, reference="none"), r"reference = 'none': expected background or independent"),
        (lambda: Scorer(Table(counts), "all"), r"method = 'all': expected forward, windows"),
        (lambda: Shape(2), r"fragment = 2: expected 3 residues or more"),
        (lambda: Shape(7, (LETTERS, LETTERS, ("ACD",))), r"classes ACD: expected each of"),
        (lambda: Shape(60, (LETTERS, LETTERS, LETTERS)), r"take shorter fragments or fewer classes"),
    ):
        with pytest.raises(SettingsError, match=words):
            make()
