"""What an engine reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import EvaluationError, SettingsError

Array = NDArray[np.float64]


class NotCopied:
    """What holds state on the device: `copy` and `pickle` are refused, in words rather than the runtime's.

    Attributes:
        instead: what to do.
    """

    instead = "make a new one, and give it the old one's state with set_state"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse.

        Raises:
            SettingsError: always.
        """
        raise SettingsError(
            f"{type(self).__name__} cannot be copied or pickled, because its state is on the device: "
            f"{self.instead}"
        )


@dataclass(frozen=True)
class Evaluation:
    """Energy and its derivatives at one configuration, float64, in the user's order.

    Attributes:
        energy: eV. energies: (n,) eV, sum = energy.
        forces: (n, 3) eV/angstrom.
        virials: (n, 3, 3) eV, W_i = sum_j r_ij (x) dU_j/dr_ji with r_ij = r_j - r_i: the share of the virial
            that carries heat (`program.heat`), not symmetric for three-body terms; sum = -stress * volume.
        stress: (6,) eV/angstrom^3, ASE's sign and Voigt order, or None without a volume.
        charges: (n,) e, or None of a force field without any.
    """

    energy: float
    energies: Array
    forces: Array
    virials: Array
    stress: Array | None
    charges: Array | None = None


@dataclass(frozen=True)
class Thermo:
    """Totals at one step: eV, K, angstrom^3.

    Attributes:
        pressure: GPa; -trace(stress)/3 plus the kinetic part. None unless periodic in three directions.
        stress: (6,) eV/angstrom^3, potential part, ASE's sign and Voigt order, or None likewise.
        conserved: eV; total energy and what thermostat and cell have received since the first step;
            None where nothing is conserved (weak coupling of the cell, driving force).
        charge_iterations: of the charge equilibration of this step, or None of a force field without charges.
    """

    step: int
    potential: float
    kinetic: float
    temperature: float
    pressure: float | None
    volume: float | None
    stress: Array | None
    conserved: float | None
    charge_iterations: int | None = None


def require_finite(energy: float, forces: Array, symbols: Sequence[str]) -> None:
    """Raise EvaluationError, naming the first atom whose force is not a finite number, or the energy."""
    bad = np.flatnonzero(~np.isfinite(forces).all(axis=1))
    if len(bad):
        i = int(bad[0])
        raise EvaluationError(
            f"TaichiMD: the force on atom {i} ({symbols[i]}) is {forces[i].tolist()} eV/angstrom, "
            "expected finite numbers; look for atoms on top of each other near it, or lengths in another unit"
        )
    if not np.isfinite(energy):
        raise EvaluationError(
            f"TaichiMD: the energy is {energy} eV, expected a finite number; look for overlapping atoms"
        )
