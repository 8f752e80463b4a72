"""What an engine reports."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """Energy and its derivatives at one configuration, float64, in the user's order.

    Attributes:
        energy: eV. energies: (n,) eV, sum = energy.
        forces: (n, 3) eV/angstrom.
        virials: (n, 3, 3) eV, W_i = -1/2 sum_j r_ij (x) F_ij; sum = -stress * volume.
        stress: (6,) eV/angstrom^3, ASE's sign and Voigt order, or None without a volume.
    """

    energy: float
    energies: Array
    forces: Array
    virials: Array
    stress: Array | None


@dataclass(frozen=True)
class Thermo:
    """Totals at one step: eV, K, eV/angstrom^3, angstrom^3.

    Attributes:
        pressure: -trace(stress)/3 plus the kinetic part; None unless periodic in three directions.
        stress: (6,) potential part, ASE's sign and Voigt order, or None likewise.
        conserved: eV; total energy and what a thermostat has received since the first step.
    """

    step: int
    potential: float
    kinetic: float
    temperature: float
    pressure: float | None
    volume: float | None
    stress: Array | None
    conserved: float
