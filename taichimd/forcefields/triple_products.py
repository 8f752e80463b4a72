"""All triples of Axilrod-Teller by products of matrices, of NumPy or PyTorch.

The energy of a triple is a polynomial in its squared sides, over the product of their powers 5/2
(`axilrod_teller`). Take matrices U_m = (r_ij^2)^(m - 5/2) with zero diagonals. Sums over triples are traces,
and sums over third atoms k products:

    E = nu/16 (2/3 Tr U1 U1 U1 - 3 Tr U3 U0 U0 + 6 Tr U2 U1 U0)
    A0 = U0 U0,  A1 = U1 U0 + U0 U1,  A2 = 3 U2 U0 + 2 U1 U1 + 3 U0 U2,  A3 = U3 U0 - U2 U1 - U1 U2 + U0 U3
    dE/da_ij = 3/8 nu a^(-5/2) (5/2 A3/a - A2/2 - a A1/2 - a^2 A0/2),  a = r_ij^2
    sum over k of u_ijk = 3/8 nu a^(-5/2) (a A2/3 + a^2 A1 - a^3 A0 - A3)

All matrices are symmetric: blocks I <= J of pairs of atoms are enough. The energy takes 4 n^3 floating-point
operations, and slopes dE/da take 10 n^3. The trace form, E = -nu/18 Tr T^3 with a matrix T of 3n rows, takes
54 n^3, by blocks I <= J <= K 9 n^3. Entries beyond a cutoff are zero: then all three sides are below it.
Several species: products over the atoms k of one at a time.

Virials of atoms need sums over k of dE/da_ij r_k, too: products with the columns of one factor times a
coordinate.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 2000
"""Atoms of a block: products of smaller blocks leave parts of a GPU idle."""


class Products:
    """Sums over all triples of atoms at positions (n, 3), float64 of NumPy or PyTorch, angstrom.

    `nu`: (kinds, kinds, kinds) strengths, eV angstrom^9; the cutoff is that of all three sides; `least`:
    atoms of a block.
    """

    def __init__(
        self,
        positions: Any,
        nu: NDArray[np.float64],
        kinds: NDArray[np.int32],
        cutoff: float = np.inf,
        least: int = LEAST,
    ) -> None:
        n = len(kinds)
        self._x, self._kinds, self._nu = positions - positions.mean(0), kinds, nu
        ends = np.linspace(0, n, max(1, n // least) + 1).astype(int).tolist()
        self._blocks = [slice(*two) for two in pairwise(ends)]
        self._columns: list[Any] = [slice(None)]
        if len(nu) > 1:
            self._columns = [np.flatnonzero(kinds == species) for species in range(len(nu))]
        self._u = [_room(positions, n, n) for _ in range(4)]
        for i, j in self._pairs(half=False):
            a, same = self._squares(i, j), np.arange(i.stop - i.start)
            u = a**-2.5
            u[a >= cutoff * cutoff] = 0.0
            if i == j:
                u[same, same] = 0.0
            for power in self._u:
                power[i, j] = u
                u = u * a

    def energy(self) -> float:
        """The energy of all triples, eV."""
        found = 0.0
        for i, j in self._pairs():
            u1, u2, u3 = (self._u[m][i, j] for m in (1, 2, 3))
            for strength, once, both in self._sums(i, j):
                one = (2.0 / 3.0) * u1 * once(1, 1) + 3.0 * u2 * both(1, 0) - 3.0 * u3 * once(0, 0)
                found += float((strength * one).sum()) / (16.0 if i == j else 8.0)
        return found

    def forces(self) -> Any:
        """Forces (n, 3), eV/angstrom."""
        forces = 0.0 * self._x
        for i, j in self._pairs():
            slope = 2.0 * self._slopes(i, j)
            self._add(forces, i, j, slope, slope)
        return forces

    def everything(self) -> Any:
        """(n, 13): force, energy and virial (rows) of each atom, eV and angstrom.

        The virial of atom i is -2/3 sum_j (sum_k dE/da_ij (r_j + r_k - 2 r_i)) (x) (r_j - r_i): the sum over
        its triples of (r_i - c) (x) f_i with their centres c.
        """
        found = _room(self._x, len(self._x), 13)
        forces, energies = found[:, :3], found[:, 3]
        for i, j in self._pairs():
            sums, slope = self._energies(i, j) / 6.0, self._slopes(i, j)
            energies[i] += sums.sum(1)
            if i != j:
                energies[j] += sums.sum(0)
            self._add(forces, i, j, 2.0 * slope, 2.0 * slope)
            for axis in range(3):
                x, virials = self._x[:, axis], found[:, 4 + 3 * axis : 7 + 3 * axis]
                moment, here, there = self._slopes(i, j, x), x[i, None], x[None, j]
                ours, theirs = moment + slope * (there - 2.0 * here), moment + slope * (here - 2.0 * there)
                self._add(virials, i, j, (-2.0 / 3.0) * ours, (-2.0 / 3.0) * theirs)
        return found

    def _pairs(self, half: bool = True) -> Iterator[tuple[slice, slice]]:
        """Blocks (I, J), or only those with I <= J."""
        return ((i, j) for at, i in enumerate(self._blocks) for j in self._blocks[at * half :])

    def _squares(self, i: slice, j: slice) -> Any:
        """Squared distances of a block, with 1 on the diagonal."""
        a: Any = 0.0
        for axis in range(3):
            d = self._x[i, axis][:, None] - self._x[None, j, axis]
            a = d * d + a
        if i == j:
            same = np.arange(i.stop - i.start)
            a[same, same] = 1.0
        return a

    def _sums(self, i: slice, j: slice, weight: Any = None) -> Iterator[tuple[Any, Any, Any]]:
        """For each species of k: strengths with the pairs of a block; U_p U_q and U_p U_q + U_q U_p."""
        for species, of in enumerate(self._columns):
            strength: Any = self._nu[0, 0, 0]
            if len(self._nu) > 1:
                strength = _like(self._nu[:, :, species][np.ix_(self._kinds[i], self._kinds[j])], self._x)

            def once(p: int, q: int, i: slice = i, j: slice = j, of: Any = of) -> Any:
                left = self._u[p][i][:, of]
                return (left if weight is None else left * weight[of]) @ self._u[q][j][:, of].T

            def both(p: int, q: int, once: Any = once) -> Any:
                first = once(p, q)
                return first + (first.T if i == j else once(q, p))

            yield strength, once, both

    def _slopes(self, i: slice, j: slice, weight: Any = None) -> Any:
        """dE/da of the pairs of a block, or the sum over k of its terms times a weight."""
        a, found = self._squares(i, j), 0.0
        for strength, once, both in self._sums(i, j, weight):
            one = (2.5 / a) * (both(3, 0) - both(2, 1)) - 1.5 * both(2, 0) - once(1, 1)
            one -= (0.5 * a) * (both(1, 0) + a * once(0, 0))
            found = found + strength * one
        return 0.375 * self._u[0][i, j] * found

    def _energies(self, i: slice, j: slice) -> Any:
        """The sum over k of u_ijk of the pairs of a block."""
        a, found = self._squares(i, j), 0.0
        for strength, once, both in self._sums(i, j):
            one = a * (both(2, 0) + (2.0 / 3.0) * once(1, 1) + a * (both(1, 0) - a * once(0, 0)))
            found = found + strength * (one - both(3, 0) + both(2, 1))
        return 0.375 * self._u[0][i, j] * found

    def _add(self, total: Any, i: slice, j: slice, ours: Any, theirs: Any) -> None:
        """Add sum_j f_ij (r_j - r_i), to the atoms of both sides of a block."""
        x = self._x
        total[i] += ours @ x[j] - ours.sum(1)[:, None] * x[i]
        if i != j:
            total[j] += theirs.T @ x[i] - theirs.sum(0)[:, None] * x[j]


def _room(like: Any, *shape: int) -> Any:
    """An array of the library, and on the device, of another one."""
    return np.zeros(shape) if isinstance(like, np.ndarray) else like.new_zeros(shape)


def _like(values: NDArray[Any], other: Any) -> Any:
    """The same for values."""
    return values if isinstance(other, np.ndarray) else other.new_tensor(values)
