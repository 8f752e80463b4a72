"""Stress and shear viscosity."""

from typing import TYPE_CHECKING

import numpy as np

from taichimd.estimators.transport import green_kubo_viscosity
from taichimd.observables.green_kubo import GreenKuboObservable
from taichimd.observables.observable import Result

if TYPE_CHECKING:
    from taichimd.forcefields.base import ForceField


class Viscosity(GreenKuboObservable):
    """Stress, and the shear viscosity by Green-Kubo."""

    name, tables, picture = "viscosity", ("stress", "viscosity"), "viscosity"
    sums = "stress"

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if it gives no stress."""
        forcefield.check_virial("the viscosity")

    def result(self) -> Result:
        """Result of the run, with errors from the autocorrelation."""
        run, rows, volumes = self.run, self.series.rows(), np.array(self.run.volumes)
        stress = -rows[:, :6] / volumes[:, None]
        found = green_kubo_viscosity(
            stress, run.dt, float(volumes.mean()), self.temperature(rows), run.window, run.plateau,
        )  # fmt: skip
        names = [f"{component}_eV_per_A3" for component in ("xx", "yy", "zz", "yz", "xz", "xy")]
        return self.of_series(dict(zip(names, stress.T, strict=True)), found, ("xy", "xz", "yz"), "Pa s")
