"""Heat current and thermal conductivity."""

from typing import TYPE_CHECKING

import numpy as np

from taichimd.core.units import FS
from taichimd.estimators.transport import green_kubo_conductivity
from taichimd.observables.green_kubo import GreenKuboObservable
from taichimd.observables.observable import Result

if TYPE_CHECKING:
    from taichimd.forcefields.base import ForceField


class Heat(GreenKuboObservable):
    """Heat current, and the thermal conductivity by Green-Kubo."""

    name, tables, picture = "heat", ("heat_current", "kappa"), "kappa"
    sums = "heat"

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if its heat current is not known."""
        forcefield.check_heat_current()

    def result(self) -> Result:
        """Result of the run, with errors from the autocorrelation."""
        run, rows = self.run, self.series.rows()
        names = [f"{part}_{axis}_eVA_per_fs" for part in ("potential", "kinetic") for axis in "xyz"]
        found = green_kubo_conductivity(
            rows[:, :3] + rows[:, 3:6], run.dt, float(np.mean(run.volumes)), self.temperature(rows),
            run.window, run.plateau,
        )  # fmt: skip
        columns = dict(zip(names, rows.T[:6] * FS, strict=True))
        return self.of_series(columns, found, ("x", "y", "z"), "W/(m K)")
