"""Where can a force field jump? Pairs and triplets at their cutoffs, and angles of 0 and 180 degrees."""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from ase import Atoms

from taichimd.core.arrays import Array
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import BODIES
from taichimd.forcefields.term import BOND_ORDER, COORDINATION, Term
from taichimd.program.engine import Engine

JUMP = 1e-6
"""Energies (eV) and forces (eV/angstrom) that are smaller count as zero."""
SIDE = 1e-10
"""Angstrom below and above a cutoff."""
BENDS = (1e-6, 1e-3)
"""Radian, on either side of a straight angle."""
_KINK = 0.1
"""Share of its size by which a force changes at a kink only: without a kink it changes as the bend does."""
_ANGLES = (53.0, 77.0, 108.0, 151.0)
_SHORTEST = 0.01
"""Angstrom: a shorter cutoff switches a term off."""
OPEN = 8.0
"""Angstrom: taken for the cutoff of a force field that has none."""

Shape = tuple[tuple[str, ...], Array]
"""Symbols and positions of a cluster of one to three atoms."""


@dataclass(frozen=True)
class PairEnd:
    """What is left of a pair just below its cutoff: by so much energy and force jump there."""

    pair: str  # elements, such as Si-C
    cutoff: float  # angstrom
    energy: float  # eV
    slope: float  # dE/dr, eV/angstrom

    @property
    def finite(self) -> bool:
        """Whether energy and force are numbers on either side."""
        return bool(np.isfinite([self.energy, self.slope]).all())

    def __str__(self) -> str:
        """A line with a verdict."""
        line = f"pair {self.pair} at its cutoff of {self.cutoff:g} Å: "
        if not self.finite:
            return line + "energy or force is not finite just below or just above it"
        if max(abs(self.energy), abs(self.slope)) <= JUMP:
            return line + "energy and force end at zero"
        line += f"{self.energy:.2g} eV, slope {self.slope:.2g} eV/Å: "
        if abs(self.energy) <= JUMP:
            return line + f"the force jumps by {abs(self.slope):.2g} eV/Å, the energy ends at zero"
        return line + f"the energy jumps by {abs(self.energy):.2g} eV: energies will drift"


def pair_ends(forcefield: ForceField, species: list[str], decomposition: str) -> tuple[PairEnd, ...]:
    """What jumps at the cutoff of each pair of species, in an isolated dimer."""
    bounds = forcefield.bind(species)
    with_pairs = [term for term in forcefield.terms if term.kind in (BOND_ORDER, COORDINATION)]
    ends: list[tuple[int, int, float]] = []
    for i, j in combinations_with_replacement(range(len(species)), 2):
        cutoffs = {bound.pair_cutoffs[i, j] for bound in bounds}
        for term in with_pairs:
            reach = _cutoffs_of_triples(term, species)
            cutoffs |= {reach[i, j, j], reach[j, i, i]}
        ends += [(i, j, float(c)) for c in sorted(cutoffs) if c > _SHORTEST]
    found = []
    for side in (-SIDE, SIDE):
        dimers: list[Shape] = [
            ((species[i], species[j]), np.array([[0, 0, 0], [c + side, 0, 0]])) for i, j, c in ends
        ]
        found.append(_evaluated(dimers, forcefield, species, decomposition))
    return tuple(
        PairEnd(f"{species[i]}-{species[j]}", c, below[0] - above[0], float(below[1][0, 0] - above[1][0, 0]))
        for (i, j, c), below, above in zip(ends, *found, strict=True)
    )


def lone_energies(forcefield: ForceField, species: list[str], decomposition: str) -> dict[str, float]:
    """Energy of an atom without neighbours, eV, by its element; not a number where its force is none."""
    found = _evaluated([((one,), np.zeros((1, 3))) for one in species], forcefield, species, decomposition)
    return {
        one: energy if np.isfinite(force).all() else np.nan
        for one, (energy, force) in zip(species, found, strict=True)
    }


def triplet_jump(forcefield: ForceField, species: list[str], decomposition: str) -> tuple[float, float]:
    """By how much three-body energy (eV) and forces (eV/angstrom) jump as an atom leaves a trimer."""
    sides = [
        (symbols, cutoff, share * near, angle, turned)
        for symbols, cutoff, near in _trimers(forcefield, species)
        for share in (0.55, 0.8)
        for angle in np.radians(_ANGLES)
        for turned in (False, True)
    ]
    below, above = (
        _three_body(
            [_trimer(symbols, c + side, near, angle, turned) for symbols, c, near, angle, turned in sides],
            forcefield, species, decomposition,
        )
        for side in (-SIDE, SIDE)
    )  # fmt: skip
    energy, force = (float(np.max(abs(a - b), initial=0.0)) for a, b in zip(below, above, strict=True))
    return energy, force


def straight_kink(
    forcefield: ForceField, species: list[str], decomposition: str, rng: np.random.Generator
) -> float:
    """By how much three-body forces (eV/angstrom) jump at 0 or 180 degrees, or infinity."""
    trimers = [
        (symbols, 0.85 * cutoff, 0.5 * near, straight, _rotation(rng))
        for symbols, cutoff, near in _trimers(forcefield, species)
        for straight in (0.0, np.pi)
        for _ in range(4)  # as rounding puts the cosine on either side of 1
    ]
    forces = []
    for bend in (0.0, BENDS[0], -BENDS[0], BENDS[1], -BENDS[1]):
        shapes = []
        for symbols, far, near, straight, rotation in trimers:
            found, x = _trimer(symbols, far, near, straight + bend)
            shapes.append((found, x @ rotation))
        energies, f = _three_body(shapes, forcefield, species, decomposition)
        if not (np.isfinite(energies).all() and np.isfinite(f).all()):
            return np.inf
        forces.append(f)
    small, large = (abs(forces[k] - forces[k + 1]).max(axis=(1, 2), initial=0.0) for k in (1, 3))
    kinks = small[(small > _KINK * large) & (small > JUMP)]
    return float(kinks.max(initial=0.0))


def _trimers(forcefield: ForceField, species: list[str]) -> list[tuple[tuple[str, str, str], float, float]]:
    """Symbols of each triple, centre first, the cutoff of its second atom, and the shorter cutoff of both."""
    found: dict[tuple[tuple[str, str, str], float, float], None] = {}
    for term in forcefield.terms:
        if term.kind not in BODIES:
            continue
        cutoffs = _cutoffs_of_triples(term, species)
        for i, j, k in np.ndindex(cutoffs.shape):
            # A triplet's row (i, j, k) limits r_ij, a bond order's r_ik, and its row (i, j, j) the bond.
            sides = [(j, k, cutoffs[i, j, k], cutoffs[i, k, j])]
            if term.kind == BOND_ORDER:
                bond, third = cutoffs[i, j, j], cutoffs[i, j, k]
                sides = [(k, j, third, bond), (j, k, bond, third)]
            for moved, other, own, others in sides:
                if min(own, others) > _SHORTEST:
                    symbols = (species[i], species[moved], species[other])
                    found[symbols, float(own), float(min(own, others))] = None
    return list(found)


def _cutoffs_of_triples(term: Term, species: list[str]) -> Array:
    """(species, species, species) cutoffs of a three-body term, angstrom."""
    rows = term.table.values(species, term.name)
    return np.reshape([row["cutoff"] for row in rows], (len(species),) * 3)


def _trimer(
    symbols: tuple[str, str, str], far: float, near: float, angle: float, turned: bool = False
) -> Shape:
    """The centre, an atom at `far` and one at `near`; the last two in the other order if `turned`."""
    x = np.array([[0, 0, 0], [far, 0, 0], [near * np.cos(angle), near * np.sin(angle), 0]])
    order = [0, 2, 1] if turned else [0, 1, 2]
    return tuple(symbols[k] for k in order), x[order]


def _rotation(rng: np.random.Generator) -> Array:
    return np.linalg.qr(rng.standard_normal((3, 3)))[0]


def _three_body(
    trimers: list[Shape], forcefield: ForceField, species: list[str], decomposition: str
) -> tuple[Array, Array]:
    """Energies (trimers,) and forces (trimers, 3, 3) of trimers beyond those of their three dimers."""
    pairs = ([0, 1], [0, 2], [1, 2])
    shapes = list(trimers)
    for symbols, x in trimers:
        shapes += [((symbols[a], symbols[b]), x[[a, b]]) for a, b in pairs]
    found = _evaluated(shapes, forcefield, species, decomposition)
    n = len(trimers)
    energies = np.array([energy for energy, _ in found[:n]])
    forces = np.array([force for _, force in found[:n]]).reshape(n, 3, 3)
    for k, (energy, force) in enumerate(found[n:]):
        energies[k // 3] -= energy
        forces[k // 3, pairs[k % 3]] -= force
    return energies, forces


def _evaluated(
    shapes: list[Shape], forcefield: ForceField, species: list[str], decomposition: str
) -> list[tuple[float, Array]]:
    """Energy and forces of each cluster; all in one engine, too far apart to feel each other."""
    if not shapes:
        return []
    # An atom of each species: with as many species as other clusters they have the same kernels.
    lone = [((symbol,), np.zeros((1, 3))) for symbol in species]
    every = [*shapes, *lone]
    across = int(np.ceil(len(every) ** (1 / 3)))
    places = 4.0 * (forcefield.list_cutoff or OPEN) * np.array(list(np.ndindex(across, across, across)))
    symbols = [symbol for names, _ in every for symbol in names]
    x = np.vstack([x + place for (_, x), place in zip(every, places, strict=False)])
    found = Engine(Atoms(symbols, x), forcefield, decomposition=decomposition).evaluate()
    ends = np.cumsum([len(names) for names, _ in shapes])
    return [
        (float(found.energies[end - len(names) : end].sum()), found.forces[end - len(names) : end])
        for (names, _), end in zip(shapes, ends, strict=True)
    ]
