"""How a ReaxFF potential is evaluated, besides what its file says."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from taichimd.core.arguments import Bundle, Number
from taichimd.core.errors import SettingsError
from taichimd.core.units import KCAL_PER_MOL

COUPLING = 14.4
"""Of the charge equilibration, eV angstrom/e^2: the same in all programs of this family."""
NORM = "sqrt(sum of r^2/eta)/|b|, for s and for t"
"""Of residuals r of the charge equilibration, which its tolerance bounds."""
EV = 23.02
"""kcal/mol that these programs take for 1 eV."""


INTERVALS = 1000
"""Of the look-up tables of pairs."""


LEAST_TOLERANCE = 1e-14
CHARGES = ("converged", "extended-lagrangian")
"""Charges of a step: solved to the tolerance, or those of an extended Lagrangian (`extended`)."""
MATRIX_PRECISIONS = ("float64", "float32")


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance of the charges that is out of range.

    Raises:
        SettingsError: it is.
    """
    if not LEAST_TOLERANCE <= tolerance < 1.0:
        raise SettingsError(f"charge_tolerance is {tolerance}, expected {LEAST_TOLERANCE} to 1; try 1e-6")


class Constants(Bundle):
    """Of the energies that charges have."""

    coulomb: Any = Number("f64", "of the Coulomb energy, eV angstrom/e^2")
    polarisation: Any = Number("f64", "of the polarisation energy, eV of energy for each eV of chi and eta")


CONSTANTS = {
    "lammps": Constants(332.06371 * KCAL_PER_MOL, EV * KCAL_PER_MOL),
    "puremd": Constants(332.0638 * KCAL_PER_MOL, EV * KCAL_PER_MOL),
    "consistent": Constants(COUPLING * EV * KCAL_PER_MOL, EV * KCAL_PER_MOL),
}
"""By the name that users type. With "consistent" the energy is stationary where charges are equilibrated."""


@dataclass(frozen=True)
class Options:
    """What `ReaxFF` takes besides the file.

    Raises:
        SettingsError: a name that is none, or a tolerance out of range.
    """

    constants: str = "lammps"
    charge_tolerance: float = 1e-6
    net_charge: float = 0.0
    lammps_forces: bool = False
    tables: bool = True
    charges: str = "converged"
    matrix_precision: str = "float64"
    max_iterations: int = 200

    def __post_init__(self) -> None:
        for name, choices in (
            ("constants", tuple(CONSTANTS)),
            ("charges", CHARGES),
            ("matrix_precision", MATRIX_PRECISIONS),
        ):
            if getattr(self, name) not in choices:
                raise SettingsError(
                    f"{name} is {getattr(self, name)!r}, expected one of {', '.join(choices)}"
                )
        check_tolerance(self.charge_tolerance)
        if not 1 <= self.max_iterations < 2**31:
            raise SettingsError(f"max_iterations is {self.max_iterations}, expected 1 to 2^31 - 1; try 200")
        if not isfinite(self.net_charge):
            raise SettingsError(f"net_charge is {self.net_charge}, expected a finite number (e)")
