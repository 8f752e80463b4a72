"""The contract of an external potential: positions in; energy, forces and virial out.

`taichimd.testing.assert_conforms` tests whether a potential keeps the contract. `taichimd.from_ase` makes
an external potential of an ASE calculator.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from ase.data import chemical_symbols
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import EvaluationError


@dataclass(frozen=True)
class PotentialResult:
    """Result of an external potential for one structure.

        >>> import numpy as np
        >>> from taichimd import PotentialResult
        >>> PotentialResult(energy=0.0, forces=np.zeros((2, 3))).virial is None
        True

    Attributes:
        energy: eV. forces: (n, 3) eV/angstrom, in the order of the positions.
        virial: (3, 3) eV, minus the derivative of the energy with respect to strain: minus the volume times
            ASE's stress. None if it is not needed.
        energies: (n,) eV, of each atom; their sum is the energy. None: each atom gets an equal part.
    """

    energy: float
    forces: Array
    virial: Array | None = None
    energies: Array | None = None


@runtime_checkable
class ExternalPotential(Protocol):
    """Interface of potentials of other programs: energy, forces and optionally the virial of a structure.

    >>> from taichimd import ExternalPotential, PotentialResult
    >>> class Springs:
    ...     name, has_virial = "springs to the origin", False
    ...     def evaluate(self, positions, numbers, cell, pbc, *, virial):
    ...         return PotentialResult((positions**2).sum(), -2.0 * positions)
    >>> isinstance(Springs(), ExternalPotential)
    True
    """

    @property
    def name(self) -> str:
        """Name for reports. A checkpoint continues only with this name, so put parameters into the name."""

    @property
    def has_virial(self) -> bool:
        """Whether `evaluate` can return the virial."""

    def evaluate(
        self,
        positions: Array,
        numbers: NDArray[np.int64],
        cell: Array,
        pbc: NDArray[np.bool_],
        *,
        virial: bool,
    ) -> PotentialResult:
        """Evaluate one structure. The result must depend only on the arguments, which must not be changed.

        Args:
            positions: (n, 3) angstrom; atoms may be outside of the cell.
            numbers: (n,) atomic numbers.
            cell: (3, 3) angstrom, cell vectors in rows; zero where there is none.
            pbc: (3,) whether the structure is periodic along each of them.
            virial: whether the virial is needed.

        Returns:
            Energy, forces, and the virial if it is needed.
        """


def evaluate(
    potential: ExternalPotential,
    positions: Array,
    numbers: NDArray[np.int64],
    cell: Array,
    pbc: NDArray[np.bool_],
    *,
    virial: bool,
) -> PotentialResult:
    """What a potential gives, with all numbers in float64 and energies of atoms that add up to the energy.

    EvaluationError: an exception of the potential, a result of another type or shape, numbers that are not
    finite, no virial where one is wanted, or arguments that were changed.
    """
    name, n = potential.name, len(positions)
    given: dict[str, Any] = {"positions": positions, "numbers": numbers, "cell": cell, "pbc": pbc}
    copies: dict[str, Any] = {what: values.copy() for what, values in given.items()}
    try:
        found = potential.evaluate(**copies, virial=virial)
    except Exception as error:
        told = " ".join(str(error).split())
        raise EvaluationError(f"{name} failed: {type(error).__name__}{': ' * bool(told)}{told}") from error
    for what, values in given.items():
        if not np.array_equal(copies[what], values):
            raise EvaluationError(
                f"{name} changed the {what} that it was given; expected it to leave them as they are"
            )
    if not isinstance(found, PotentialResult):
        raise EvaluationError(
            f"{name} returned a {type(found).__name__}, expected a taichimd.PotentialResult"
        )
    energy = _numbers(name, "energy", "eV", found.energy, ())
    forces = _numbers(name, "force", "eV/angstrom", found.forces, (n, 3), numbers)
    if virial and found.virial is None:
        raise EvaluationError(
            f"{name} gave no virial, which its has_virial promises; expected a (3, 3) array, eV"
        )
    total = _numbers(name, "virial", "eV", found.virial, (3, 3)) if virial else None
    energies = np.full(n, energy / n)
    if found.energies is not None:
        energies = _numbers(name, "energy", "eV", found.energies, (n,), numbers)
        energies = energies + (energy - energies.sum()) / n
    return PotentialResult(float(energy), forces, total, energies)


def _numbers(
    name: str, what: str, unit: str, value: Any, shape: tuple[int, ...], of: NDArray[np.int64] | None = None
) -> Any:
    """An array of finite float64 of this shape, or an EvaluationError; `of`: atomic numbers of its rows."""
    try:
        found = np.asarray(value)
        if found.dtype.kind not in "fiu":
            raise ValueError
    except ValueError:
        wanted = f"an array of shape {shape}" if shape else "a number"
        raise EvaluationError(
            f"{name}: the {what} is of type {type(value).__name__}, expected {wanted} ({unit})"
        ) from None
    if found.shape != shape:
        raise EvaluationError(f"{name}: the {what} has the shape {found.shape}, expected {shape} ({unit})")
    fine = np.isfinite(found)
    if fine.all():
        return found.astype(np.float64)
    which, wrong = f"the {what}", found
    if of is not None:
        atom = int(np.argmin(fine.reshape(len(found), -1).all(axis=1)))
        which, wrong = f"the {what} of atom {atom} ({chemical_symbols[of[atom]]})", found[atom]
    raise EvaluationError(f"{name}: {which} is {wrong.tolist()} {unit}, expected finite numbers")
