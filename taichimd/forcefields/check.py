"""Is a force field consistent? Forces and virial against finite differences of the energy, and symmetries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.engine import Engine
from taichimd.errors import ParameterFileError, SettingsError
from taichimd.forcefields.base import ForceField
from taichimd.formats.text import is_symbol

TOLERANCE = 1e-6
"""Largest relative error that passes."""
STEP = 3e-4
"""Displacement of the five-point differences, angstrom."""


@dataclass(frozen=True)
class Check:
    """What was found; `print` it.

    Attributes:
        force_error: largest |F + dU/dx| over the largest force.
        virial_error: largest |W + dU/dstrain| over the largest component.
        sum_error: largest component of the sum of forces over the largest force.
        order_error: relative change of the energy when atoms are renumbered: a triplet function that
            cares which neighbour comes first shows here.
        jump: energy and force of a dimer just below the cutoff (eV, eV/angstrom), for information.
        clusters: number of random clusters. ok: all errors are below the tolerance.
    """

    name: str
    force_error: float
    virial_error: float
    sum_error: float
    order_error: float
    jump: tuple[float, float]
    clusters: int

    @property
    def ok(self) -> bool:
        """Whether every error is below `TOLERANCE`."""
        errors = (self.force_error, self.virial_error, self.sum_error, self.order_error)
        return all(error < TOLERANCE for error in errors)

    def __str__(self) -> str:
        """Several lines for a terminal."""
        verdict = "consistent" if self.ok else "NOT CONSISTENT"
        return (
            f"{self.name}: {verdict} ({self.clusters} random clusters, tolerance {TOLERANCE:g})\n"
            f"  forces against finite differences   {self.force_error:.1e}\n"
            f"  virial against strain derivatives   {self.virial_error:.1e}\n"
            f"  sum of forces                       {self.sum_error:.1e}\n"
            f"  energy after renumbering the atoms  {self.order_error:.1e}\n"
            f"  at the cutoff a dimer has           {self.jump[0]:.2e} eV, {self.jump[1]:.2e} eV/angstrom"
        )


def check_forcefield(
    forcefield: ForceField,
    elements: Sequence[str] | None = None,
    *,
    clusters: int = 6,
    seed: int = 0,
    decomposition: str = "auto",
) -> Check:
    """Check a force field on random clusters of its elements, from dense to loose.

        >>> from taichimd import LennardJones, check_forcefield
        >>> check_forcefield(LennardJones(epsilon=0.01, sigma=3.4, cutoff=8.5), clusters=1).ok
        True

    Args:
        forcefield: any.
        elements: species to use; all that it defines if None (argon if it takes any).
        clusters: how many.
        seed: of their positions.
        decomposition: particle, tuple or auto, of the engine.

    Raises:
        SettingsError: no cluster with finite, non-zero forces could be made; a decomposition that is none, or
            that does not fit the force field.
        ParameterFileError: labels of which none is a chemical symbol.
    """
    species = list(elements or _symbols(forcefield.elements) or ["Ar"])
    rng = np.random.default_rng(seed)
    worst = np.zeros(4)
    for k in range(clusters):
        # Every second one is dense enough for three-body terms that end before the pair term.
        reach = (forcefield.cutoff, forcefield.body_cutoff)[k % 2]
        spacing = reach * (0.4, 0.55, 0.7)[k % 3]
        atoms = _cluster(species, spacing, forcefield.cutoffs, rng)
        worst = np.maximum(worst, _errors(atoms, forcefield, rng, decomposition))
    if not np.isfinite(worst).all():
        raise SettingsError(f"{forcefield.name}: energies or forces of a random cluster are not finite")
    dimer = Atoms(species[:1] * 2, [[0, 0, 0], [forcefield.cutoff * (1 - 1e-9), 0, 0]])
    end = Engine(dimer, forcefield, decomposition=decomposition).evaluate()
    force, virial, total, order = map(float, worst)
    jump = (end.energy, float(abs(end.forces).max()))
    return Check(forcefield.name, force, virial, total, order, jump, clusters)


def _symbols(elements: Iterable[str] | None) -> list[str]:
    """Those labels of a parameter file that are species.

    Raises:
        ParameterFileError: it has labels, and none is a chemical symbol.
    """
    labels = list(elements or ())
    symbols = [label for label in labels if is_symbol(label)]
    if labels and not symbols:
        raise ParameterFileError(
            f"the potential's labels {', '.join(labels)} are no chemical symbols, and so no species"
        )
    return symbols


def _cluster(species: list[str], spacing: float, cutoffs: list[float], rng: np.random.Generator) -> Atoms:
    """Atoms about `spacing` apart, no pair so near a cutoff that a difference would straddle it."""
    n = max(6, 2 * len(species))
    corners = np.array(list(np.ndindex(3, 3, 3)))[:n] * spacing
    while True:
        x = corners + rng.uniform(-0.15, 0.15, (n, 3)) * spacing
        r = np.linalg.norm(x[:, None] - x[None], axis=-1)[np.triu_indices(n, 1)]
        if abs(r[:, None] - cutoffs).min() > 5 * STEP:
            return Atoms([species[i % len(species)] for i in range(n)], x)


def _errors(
    atoms: Atoms, forcefield: ForceField, rng: np.random.Generator, decomposition: str
) -> NDArray[np.float64]:
    engine = Engine(atoms, forcefield, decomposition=decomposition)
    x = atoms.positions
    exact = engine.evaluate()

    def energy(positions: NDArray[np.float64]) -> float:
        engine.set_state(positions=positions)
        return engine.evaluate().energy

    def slope(direction: NDArray[np.float64]) -> float:
        values = [energy(x + k * STEP * direction) for k in (-2, -1, 1, 2)]
        return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * STEP)

    largest = max(abs(exact.forces).max(), 1e-12)
    moves = np.eye(x.size).reshape(-1, *x.shape)
    forces = -np.reshape([slope(move) for move in moves], x.shape)
    virial = exact.virials.sum(axis=0)
    # A strain moves outer atoms further than STEP; scaled so that none moves by more.
    extent = abs(x).max()
    strained = np.zeros((3, 3))
    for a, b in np.ndindex(3, 3):
        direction = np.zeros_like(x)
        direction[:, a] += 0.5 * x[:, b] / extent
        direction[:, b] += 0.5 * x[:, a] / extent
        strained[a, b] = -slope(direction) * extent
    symmetric = 0.5 * (virial + virial.T)
    order = rng.permutation(len(atoms))
    renumbered = Engine(atoms[order], forcefield, decomposition=decomposition).evaluate().energy
    return np.array([
        abs(exact.forces - forces).max() / largest,
        abs(symmetric - strained).max() / max(abs(strained).max(), 1e-12),
        abs(exact.forces.sum(axis=0)).max() / largest,
        abs(renumbered - exact.energy) / max(abs(exact.energy), 1e-12),
    ])  # fmt: skip
