"""Whether the response to a driving force is linear: conductivities of F and F/2 beside each other."""

from dataclasses import dataclass

import numpy as np

from taichimd.estimators.series import Mean
from taichimd.observables.numbers import SIGNIFICANT, plus_minus


@dataclass(frozen=True)
class Linear:
    """Conductivities of HNEMD, W/(m K), of independent runs with the driving force F and with F/2."""

    force: float  # F, 1/angstrom
    full: Mean  # of F
    half: Mean  # of F/2

    @property
    def difference(self) -> Mean:
        """Conductivity of F minus that of F/2; NaN as the error if one of them has none."""
        error = float(np.hypot(self.full.error, self.half.error))
        return Mean(self.full.value - self.half.value, error, min(self.full.samples, self.half.samples))

    @property
    def agrees(self) -> bool | None:
        """Whether the two are the same within two standard errors; None if an error is missing."""
        found = self.difference
        return None if np.isnan(found.error) else bool(abs(found.value) <= SIGNIFICANT * found.error)

    @property
    def verdict(self) -> str:
        """The row of a summary."""
        agrees = {True: "agree within errors", False: "DIFFER", None: "no error, so no comparison"}
        return (
            f"{plus_minus(self.full)} of F = {self.force:g} 1/Å, {plus_minus(self.half)} of F/2 W/(m K): "
            f"{agrees[self.agrees]}"
        )

    @property
    def notes(self) -> list[str]:
        """What makes the conductivity doubtful."""
        if self.agrees is not False:
            return []
        return [
            f"kappa of the driving force and of half of it differ by {plus_minus(self.difference)} W/(m K): "
            f"the response is not linear; take --driving-force {self.force / 2:g} or less"
        ]

    def entry(self) -> dict[str, object]:
        """For a report."""
        found = self.difference
        return {
            "driving_forces_per_A": [self.force, self.force / 2],
            "kappa_W_per_mK": [self.full.value, self.half.value],
            "error_W_per_mK": [self.full.error, self.half.error],
            "difference_W_per_mK": found.value,
            "error_of_difference_W_per_mK": found.error,
            "agrees": self.agrees,
        }
