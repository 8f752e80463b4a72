"""Is a force field consistent? Forces and virial against finite differences, symmetries, and what jumps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.elements import is_symbol
from taichimd.core.errors import ParameterFileError
from taichimd.core.markup import code
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import BODIES
from taichimd.program.ends import JUMP, OPEN, PairEnd, lone_energies, pair_ends, straight_kink, triplet_jump
from taichimd.program.engine import Engine

TOLERANCE = 1e-6
"""Largest relative error that passes."""
STEP, SHORTER_STEP = 3e-4, 3e-5
"""Displacement of the five-point differences, angstrom. The shorter one is tried if they disagree: a second
derivative may jump within the first, as where Tersoff's cutoff function begins to fall."""
SHORT_STEP = 2e-5
"""The same where bonds end: the slopes of their terms jump at thresholds."""


@dataclass(frozen=True)
class Check:
    """What was found; `print` it."""

    name: str
    force_error: float  # largest |F + dU/dx| over the largest force
    virial_error: float  # largest |W + dU/dstrain| over the largest component
    sum_error: float  # largest component of the sum of forces over the largest force
    # relative change of the energy when atoms are renumbered: a triplet function that cares which neighbour
    # comes first shows here
    order_error: float
    ends: tuple[PairEnd, ...]  # by how much energy and force of each pair jump at its cutoff, for information
    # by how much three-body energy (eV) and forces (eV/angstrom; for information) jump at a cutoff; None
    # without a three-body term
    triplet_jump: tuple[float, float] | None
    # by how much three-body forces jump at an angle of 0 or 180 degrees, eV/angstrom; infinite where they or
    # the energy are not finite; None without a three-body term
    kink: float | None
    clusters: int  # number of random clusters
    lone: dict[str, float]  # energy of an atom without neighbours, eV, by element
    charged: bool = False  # whether charges were solved again for each difference

    @property
    def ok(self) -> bool:
        """Whether all is finite, every error is below `TOLERANCE`, and three-body terms do not jump."""
        errors = (self.force_error, self.virial_error, self.sum_error, self.order_error)
        jumps = ((self.triplet_jump or (0.0,))[0], self.kink or 0.0)
        small = all(error < TOLERANCE for error in errors) and all(jump <= JUMP for jump in jumps)
        return small and not self.not_finite

    @property
    def not_finite(self) -> list[str]:
        """Where energies or forces are infinite or not a number."""
        errors = (self.force_error, self.virial_error, self.sum_error, self.order_error)
        found = [] if np.isfinite(errors).all() else ["a random cluster"]
        found += [f"a lone {one} atom" for one, energy in self.lone.items() if not np.isfinite(energy)]
        found += [f"a pair {end.pair} at its cutoff" for end in self.ends if not end.finite]
        body = (*(self.triplet_jump or ()), *(() if self.kink is None else (self.kink,)))
        return found + ([] if np.isfinite(body).all() else ["three atoms"])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return code(str(self))

    def __str__(self) -> str:
        """Several lines for a terminal."""
        verdict = "consistent" if self.ok else "NOT CONSISTENT"
        lines = [
            f"{self.name}: {verdict} ({self.clusters} random clusters, tolerance {TOLERANCE:g})",
            f"forces against finite differences   {self.force_error:.1e}",
            f"virial against strain derivatives   {self.virial_error:.1e}",
            f"sum of forces                       {self.sum_error:.1e}",
            f"energy after renumbering the atoms  {self.order_error:.1e}",
            *(f"energy of a lone {one} atom {energy:.6g} eV" for one, energy in self.lone.items() if energy),
            *map(str, self.ends),
        ]
        if self.triplet_jump is not None:
            energy, force = self.triplet_jump
            end = "energy and forces end at zero"
            if not np.isfinite((energy, force)).all():
                end = "energy or forces are not finite"
            elif energy > JUMP:
                end = (
                    f"the energy jumps by {energy:.2g} eV: energies will drift; multiply it by a function "
                    "that goes to zero at the cutoff"
                )
            elif force > JUMP:
                end = f"forces jump by {force:.2g} eV/Å, the energy ends at zero"
            lines.append(f"three-body term at its cutoffs: {end}")
        if self.kink is not None:
            angle = "forces are smooth"
            if np.isinf(self.kink):
                angle = "energy or forces are not finite: avoid divisions by the sine of the angle"
            elif self.kink > JUMP:
                angle = f"the force jumps by {self.kink:.2g} eV/Å: energies will drift"
            lines.append(f"three-body term at angles of 0 and 180 degrees: {angle}")
        if self.not_finite:
            lines.append(
                f"energy or forces are not finite of: {', '.join(self.not_finite)}; look for a logarithm or "
                "a root of 0, and for divisions by 0"
            )
        if self.charged:
            lines += [
                "charges are solved again for each difference, with constants=consistent and to 1e-12",
                "with other constants forces are the derivative at fixed charges, not at charges solved "
                "again",
            ]
        return "\n  ".join(lines)


@np.errstate(all="ignore")  # what is not finite is said in the report
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
        forcefield: any force field.
        elements: species to use; None: all that the force field defines (argon if it takes any element).
        clusters: number of clusters.
        seed: of the positions.
        decomposition: particle, tuple or auto, as for `Engine`.

    Returns:
        Errors of forces and virial against finite differences of the energy; `ok` says whether all pass.

    Raises:
        SettingsError: an unknown decomposition, or one that does not fit the force field.
        ParameterFileError: no label of the force field is a chemical symbol.
    """
    forcefield.check_compiled("this check (see taichimd.testing.assert_conforms)")
    forcefield = forcefield.stationary()
    species = list(elements or _symbols(forcefield.elements) or ["Ar"])
    rng = np.random.default_rng(seed)
    worst = np.zeros(4)
    for k in range(clusters):
        # Every second one is dense enough for three-body terms that end before the pair term.
        longest = forcefield.list_cutoff or OPEN
        reach = (longest, min(forcefield.body_cutoff, longest))[k % 2]
        spacing = reach * (0.4, 0.55, 0.7)[k % 3]
        atoms = _cluster(species, spacing, forcefield.cutoffs, rng)
        worst = np.maximum(worst, _errors(atoms, forcefield, rng, decomposition))
    kinds = sorted(set(species))
    jump = kink = None
    if any(term.kind in BODIES for term in forcefield.terms):
        jump = triplet_jump(forcefield, kinds, decomposition)
        kink = straight_kink(forcefield, kinds, decomposition, rng)
    ends = pair_ends(forcefield, kinds, decomposition)
    lone = lone_energies(forcefield, kinds, decomposition)
    force, virial, total, order = map(float, worst)
    return Check(
        forcefield.name, force, virial, total, order, ends, jump, kink, clusters, lone, forcefield.charged
    )


def _symbols(elements: Iterable[str] | None) -> list[str]:
    """Those labels of a parameter file that are species, or a ParameterFileError if none is."""
    labels = list(elements or ())
    symbols = [label for label in labels if is_symbol(label)]
    if labels and not symbols:
        raise ParameterFileError(
            f"the labels {', '.join(labels)} of the potential are not chemical symbols; expected elements"
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
    x, exact = atoms.positions, engine.evaluate()
    largest = max(abs(exact.forces).max(), 1e-12)
    virial = exact.virials.sum(axis=0)
    symmetric = 0.5 * (virial + virial.T)

    def energy(positions: NDArray[np.float64]) -> float:
        engine.set_state(positions=positions)
        return engine.evaluate().energy

    def slope(direction: NDArray[np.float64], step: float) -> float:
        values = [energy(x + k * step * direction) for k in (-2, -1, 1, 2)]
        return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)

    def differences(step: float) -> tuple[float, float]:
        """Errors of forces and virial."""
        forces = -np.reshape([slope(move, step) for move in np.eye(x.size).reshape(-1, *x.shape)], x.shape)
        # A strain moves outer atoms further than the step; scaled so that none moves by more.
        extent = abs(x).max()
        strained = np.zeros((3, 3))
        for a, b in np.ndindex(3, 3):
            direction = np.zeros_like(x)
            direction[:, a] += 0.5 * x[:, b] / extent
            direction[:, b] += 0.5 * x[:, a] / extent
            strained[a, b] = -slope(direction, step) * extent
        return (
            abs(exact.forces - forces).max() / largest,
            abs(symmetric - strained).max() / max(abs(strained).max(), 1e-12),
        )

    for step in (SHORT_STEP,) if forcefield.charged else (STEP, SHORTER_STEP):
        errors = differences(step)
        if max(errors) < TOLERANCE:
            break
    order = rng.permutation(len(atoms))
    renumbered = Engine(atoms[order], forcefield, decomposition=decomposition).evaluate().energy
    return np.array([
        *errors,
        abs(exact.forces.sum(axis=0)).max() / largest,
        abs(renumbered - exact.energy) / max(abs(exact.energy), 1e-12),
    ])  # fmt: skip
