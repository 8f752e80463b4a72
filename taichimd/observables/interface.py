"""Heat flow through an interface, and its conductance in equilibrium."""

from typing import TYPE_CHECKING

import numpy as np

from taichimd.core.units import KB, PS
from taichimd.estimators.average import average_of
from taichimd.estimators.conduction import equilibrium_conductance
from taichimd.estimators.green_kubo import scaled
from taichimd.estimators.series import Mean
from taichimd.observables.green_kubo import green_kubo_result, growth_notes
from taichimd.observables.numbers import finding, plus_minus
from taichimd.observables.observable import Result, RunObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.samplers.between import BetweenSeries
from taichimd.observables.samplers.sum_series import SumSeries
from taichimd.observables.sides import named, sides_of
from taichimd.program.across import Between
from taichimd.system.velocities import degrees_of_freedom

if TYPE_CHECKING:
    from taichimd.forcefields.base import ForceField

NANOWATT = 160.2176634
"""nW of 1 eV/ps."""


class Interface(RunObservable):
    """Heat that flows between two groups of atoms, Q(t), and the integral of its autocorrelation."""

    correlated = about_centre = True
    name, tables, picture = "interface", ("heat_flow", "conductance"), "conductance"

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        sides = sides_of(run, run.plan.interface_of, "interface_of")
        self.series = BetweenSeries(Between(run.engine, *sides), run.engine.n_atoms)
        self._kinetic = SumSeries("stress")
        run.samplers |= {"interface": self.series, "interface_kinetic": self._kinetic}

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if its heat current is not known."""
        forcefield.check_heat_current()

    def result(self) -> Result:
        """Return heat flow and conductance of the whole interface, with errors from the autocorrelation."""
        run, flow, name = self.run, self.series.rows(), self.run.plan.interface_of
        kinetic = float(self._kinetic.rows()[:, 6].mean())
        temperature = 2.0 * kinetic / (degrees_of_freedom(run.engine.n_atoms) * KB)
        found = equilibrium_conductance([flow], run.dt, temperature, run.window, run.plateau)
        result = green_kubo_result(scaled(found, NANOWATT * PS), ("interface",), "conductance", "nW/K")
        result.notes = growth_notes(found, "conductance", "--observe-window")
        time = np.asarray(run.plan.interval * np.arange(len(flow)), float)
        result.tables.insert(0, {"time_ps": time, f"heat_flow_{named(name)}_eV_per_ps": flow * PS})
        mean = average_of(flow * PS)
        error = np.nan if mean.error is None else mean.error
        result.values[f"flow_{named(name)}"] = finding(mean.value, error, "eV/ps", note=mean.note)
        through = plus_minus(Mean(mean.value, error, 1))
        result.rows.insert(0, (f"heat flow {name}", f"{through} eV/ps, zero in equilibrium"))
        return result
