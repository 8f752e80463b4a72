"""A test of external potentials: whether one keeps the contract of `contract`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.core.arrays import Array
from taichimd.core.errors import EvaluationError
from taichimd.core.matrix3 import volume_of
from taichimd.forcefields.contract import ExternalPotential, PotentialResult, evaluate

STRAIN = 5e-4
"""Strain of the finite differences with which a virial is compared."""
MAX_ATOMS = 8
"""Atoms whose forces are compared with finite differences."""
SAME = 1e-8
"""Relative difference of results that count as the same."""


def assert_conforms(
    potential: ExternalPotential,
    atoms: Atoms,
    *,
    tolerance: float = 1e-4,
    step: float = 1e-3,
    translation: bool = True,
    seed: int = 0,
) -> None:
    """Fail unless an external potential fulfils the interface `ExternalPotential` for a structure.

    Tested are: shapes and finite numbers; arguments stay as they are; the same result for the same structure
    again; energies of atoms add up to the energy; forces of up to eight atoms against finite differences of
    the energy; the virial against finite differences with respect to strain, where the structure is periodic
    in three directions; energy and forces after a translation that takes atoms out of the cell.

        >>> from ase.build import bulk
        >>> from ase.calculators.emt import EMT
        >>> from taichimd import from_ase
        >>> from taichimd.testing import assert_conforms, rattled
        >>> assert_conforms(from_ase(EMT()), rattled(bulk("Cu", cubic=True)))

    Args:
        potential: an external potential; for an ASE calculator the result of `taichimd.from_ase`.
        atoms: a structure with forces and a stress that are not zero by symmetry.
        tolerance: largest error of a force, eV/angstrom, or relative to the largest force if that is above 1;
            of the virial the same in eV for each atom.
        step: of the finite differences, angstrom; longer for a potential in single precision.
        translation: whether the energy is invariant under translations (False with an external field).
        seed: of the choice of atoms.

    Raises:
        AssertionError: one line that says what is wrong, and where.
    """
    _Conformance(potential, atoms, tolerance, step, seed).check(translation)


class _Conformance:
    """The tests of one potential on one structure."""

    def __init__(
        self, potential: ExternalPotential, atoms: Atoms, tolerance: float, step: float, seed: int
    ) -> None:
        assert isinstance(potential, ExternalPotential), (
            f"{type(potential).__name__} is no external potential: it needs name, has_virial and evaluate"
        )
        self._potential, self._atoms, self._name = potential, atoms, potential.name
        self._tolerance, self._step = tolerance, step
        self._random = np.random.default_rng(seed)
        self._x, self._cell = atoms.positions.copy(), atoms.cell.array.copy()
        self._virial = (
            bool(potential.has_virial and atoms.pbc.all()) and volume_of(atoms.cell.array) is not None
        )

    def check(self, translation: bool) -> None:
        """All tests; the first that fails raises an AssertionError."""
        first = self._result(self._x, self._cell, virial=self._virial)
        self._result(self._x + 0.01, self._cell)
        self._same(first, self._result(self._x, self._cell), "when the same structure comes again")
        self._check_sum(first)
        self._check_forces(first)
        if first.virial is not None:
            self._check_virial(first.virial)
        if translation:
            shift = np.array([1.7, -2.3, 0.9]) + 1.3 * self._cell.sum(axis=0)
            moved = self._result(self._x + shift, self._cell)
            self._same(first, moved, f"after a translation by {shift.round(2).tolist()} angstrom", 1e2 * SAME)

    def _result(self, x: Array, cell: Array, virial: bool = False) -> PotentialResult:
        atoms = self._atoms
        try:
            return evaluate(self._potential, x, atoms.numbers, cell, atoms.pbc, virial=virial)
        except EvaluationError as error:
            raise AssertionError(str(error)) from error

    def _energy(self, x: Array, cell: Array) -> float:
        return self._result(x, cell).energy

    def _same(self, first: PotentialResult, other: PotentialResult, when: str, most: float = SAME) -> None:
        change = abs(other.energy - first.energy)
        assert change <= most * max(1.0, abs(first.energy)), (
            f"{self._name}: the energy changes by {change:.3g} eV {when}"
        )
        changes = abs(other.forces - first.forces)
        atom = int(np.argmax(changes.max(axis=1)))
        assert changes.max() <= most * max(1.0, abs(first.forces).max()), (
            f"{self._name}: the force on atom {atom} changes by {changes[atom].max():.3g} eV/angstrom {when}"
        )

    def _check_sum(self, first: PotentialResult) -> None:
        atoms = self._atoms
        given: Any = self._potential.evaluate(
            self._x.copy(), atoms.numbers.copy(), self._cell.copy(), atoms.pbc.copy(), virial=False
        )
        if given.energies is not None:
            total = float(np.sum(given.energies))
            assert abs(total - first.energy) <= SAME * max(1.0, abs(first.energy)), (
                f"{self._name}: the energies of the atoms add up to {total:.10g} eV, the energy is "
                f"{first.energy:.10g} eV"
            )

    def _check_forces(self, first: PotentialResult) -> None:
        n = len(self._x)
        most = self._tolerance * max(1.0, abs(first.forces).max())
        for atom in sorted(self._random.permutation(n)[:MAX_ATOMS].tolist()):
            for axis in range(3):

                def energy(by: float, at: tuple[int, int] = (atom, axis)) -> float:
                    x = self._x.copy()
                    x[at] += by
                    return self._energy(x, self._cell)

                expected, found = -_slope(energy, self._step), float(first.forces[atom, axis])
                assert abs(found - expected) <= most, (
                    f"{self._name}: the {'xyz'[axis]} component of the force on atom {atom} is {found:.8g} "
                    f"eV/angstrom, minus the derivative of the energy is {expected:.8g}"
                )

    def _check_virial(self, virial: Array) -> None:
        most = self._tolerance * len(self._x) * max(1.0, abs(virial).max() / len(self._x))
        for a, b in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)):

            def energy(by: float, at: tuple[int, int] = (a, b)) -> float:
                strain = np.eye(3)
                strain[at] += by
                return self._energy(self._x @ strain, self._cell @ strain)

            expected = -_slope(energy, STRAIN)
            for c, d in {(a, b), (b, a)}:
                found = float(virial[c, d])
                assert abs(found - expected) <= most, (
                    f"{self._name}: the {'xyz'[c]}{'xyz'[d]} component of the virial is {found:.8g} eV, "
                    f"minus the derivative of the energy with respect to strain is {expected:.8g}"
                )


def _slope(function: Callable[[float], float], h: float) -> float:
    """Derivative at 0 by central differences, with an error of h^4."""
    near = (function(h) - function(-h)) / (2.0 * h)
    far = (function(2.0 * h) - function(-2.0 * h)) / (4.0 * h)
    return (4.0 * near - far) / 3.0
