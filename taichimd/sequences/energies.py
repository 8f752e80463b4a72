"""Energies of labels given residues, in kT: minus the logarithm of observed over reference.

Residues a, b, c with labels s, t, u and separations d, e. n counts a cell's labels, n(.) all of a cell; k1,
k2, k3 are pseudo-counts. All are counted in the alphabet of the order that they serve.

    P(s)         = (n(s) + 1) / (n + 3)
    P(s|a)       = (n(s,a) + k1 P(s)) / (n(a) + k1)                          U1 = -ln P(s|a) / P(s)
    Q2(s,t)      ~ P(s|a) P(t|b) [P_d(s,t) / (P(s) P(t))]                    normalised over 9 sets of labels
    P(s,t|a,b)   = (n(s,t,a,b,d) + k2 Q2) / (n(a,b,d) + k2)                  U2 = -ln P(s,t|a,b) / Q2
    Q3(s,t,u)    ~ K(P(s,t|a,b), P(t,u|b,c), P(s,u|a,c); P(s|a), P(t|b), P(u|c))
                   [P_de(s,t,u) / K(P_d, P_e, P_d+e; P, P, P)]               normalised over 27 sets of labels
    P(s,t,u|a,b,c) = (n + k3 Q3) / (n(a,b,c,d,e) + k3)                       U3 = -ln P(s,t,u|a,b,c) / Q3

K(f, g, h; x, y, z) = f(s,t) g(t,u) h(s,u) / (x(s) y(t) z(u)) is Kirkwood's superposition (J. Chem. Phys. 3,
300 (1935)). P_d and P_de count labels whatever the residues, one added to each set. Reference "background"
has the brackets: it takes out that labels come in runs. "independent" leaves them out. Pseudo-counts go to
the reference: a cell without counts has the energy 0.

Potentials of mean force of singlets, doublets, triplets: Li, Liu, Rata, Jakobsson, J. Chem. Inf. Model. 53,
500 (2013), whose reference state was not available to us: this one is our choice.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taichimd.core.philox import log
from taichimd.sequences.counts import separations
from taichimd.sequences.table import BACKGROUND, Table

Floats = NDArray[np.float64]


class Energies(NamedTuple):
    """Energies in kT; C is the number of classes of an order."""

    singlets: Floats  # (C, 3)
    doublets: Floats  # (separations, C, C, 3, 3)
    triplets: Floats  # (pairs of separations, C, C, C, 3, 3, 3)


def energies(table: Table) -> Energies:
    """Energies of all cells; the same bits on every machine."""
    counts, fragment = table.counts, table.shape.fragment
    k1, k2, k3 = table.pseudo_counts
    background = table.reference == BACKGROUND
    labels = [_normalised(1.0 + n.sum(axis=0)) for n in counts.singlets]
    ones = [_with_reference(n, labels[k], k1) for k, n in enumerate(counts.singlets)]
    twos, references, pairs = [], [], []
    for k in (1, 2):
        n = counts.doublets[k - 1]
        pairs.append([_normalised(1.0 + n[d - 1].sum(axis=(0, 1))) for d in range(1, fragment)])
        product = ones[k][:, None, :, None] * ones[k][None, :, None, :]
        shared = labels[k][:, None] * labels[k]
        q = np.stack([_normalised(product * (p / shared) if background else product, 2) for p in pairs[-1]])
        references.append(q)
        twos.append(_with_reference(n, q, k2, 2))
    triplets = np.zeros(counts.triplets.shape)
    for cell, (d, e) in enumerate(separations(fragment)):
        n = counts.triplets[cell]
        steps = (d - 1, e - 1, d + e - 1)
        q = _kirkwood([twos[1][step] for step in steps], ones[2])
        if background:
            of_labels = _kirkwood([pairs[1][step][None, None] for step in steps], labels[2][None])
            q = q * (_normalised(1.0 + n.sum(axis=(0, 1, 2)), 3) / of_labels)
        q = _normalised(q, 3)
        triplets[cell] = _mean_force(n, _with_reference(n, q, k3, 3), q, 3)
    return Energies(
        _mean_force(counts.singlets[0], ones[0], labels[0], 1),
        _mean_force(counts.doublets[0], twos[0], references[0], 2),
        triplets,
    )


def _kirkwood(two: list[Floats], one: Floats) -> Floats:
    """Superposition of three doublets (C, C, 3, 3) over the singlets (C, 3): (C, C, C, 3, 3, 3)."""
    ab, bc, ac = two
    numerator = ab[:, :, None, :, :, None] * bc[None, :, :, None, :, :] * ac[:, None, :, :, None, :]
    first, second, third = (
        one[:, None, None, :, None, None],
        one[None, :, None, None, :, None],
        one[None, None, :, None, None, :],
    )
    return numerator / (first * second * third)


def _total(x: Any, order: int) -> Floats:
    """Sum over the last axes, kept: term after term, as the order of NumPy's depends on the processor."""
    flat = x.reshape(*x.shape[:-order], 3**order)
    total = sum(flat[..., k] for k in range(1, 3**order)) + flat[..., 0]
    return np.asarray(total, float).reshape(*x.shape[:-order], *order * [1])


def _normalised(weights: Floats, order: int = 0) -> Floats:
    """Weights as probabilities of the sets of labels on the last axes; all axes unless said."""
    return weights / _total(weights, order or weights.ndim)


def _with_reference(n: Any, reference: Floats, pseudo_counts: float, order: int = 1) -> Floats:
    return (n + pseudo_counts * reference) / (_total(n, order) + pseudo_counts)


def _mean_force(n: Any, observed: Floats, reference: Floats, order: int) -> Floats:
    """Energies; exactly 0 without counts."""
    return np.where(_total(n, order) > 0.0, -log(observed / reference), 0.0)
