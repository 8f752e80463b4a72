"""Chains of random residues and labels."""

import numpy as np

from taichimd.sequences.chains import LABELS, RESIDUES, Chain


def random_chains(lengths, seed=1, residues=RESIDUES, chances=None):
    """Chains of these lengths.

    Args:
        residues: letters, all as likely.
        chances: of the labels for each letter, {letter: (3,)}; None: all as likely.
    """
    rng = np.random.default_rng(seed)
    chains = []
    for k, length in enumerate(lengths):
        sequence = "".join(rng.choice(list(residues), length))
        p = [np.full(3, 1 / 3) if chances is None else chances[letter] for letter in sequence]
        draws = (rng.random(length)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
        chains.append(Chain(f"c{k}", sequence, "".join(LABELS[s] for s in draws)))
    return chains
