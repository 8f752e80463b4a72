"""What heat current and stress share: a series of sums over atoms, and a Green-Kubo integral over it."""

from typing import TYPE_CHECKING

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.units import FS, KB, PS
from taichimd.estimators.green_kubo import GreenKubo, growing
from taichimd.estimators.series import Mean
from taichimd.estimators.transport import green_kubo_conductivity, green_kubo_viscosity
from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import OK, Finding, band, finding, joined, never_negative, plus_minus
from taichimd.observables.observable import Result, RunObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.system.velocities import degrees_of_freedom

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from taichimd.forcefields.base import ForceField

NOT_CONVERGED = "not converged"
"""Status of an integral that still changes at the end of its window."""


class GreenKuboObservable(RunObservable):
    """A transport coefficient of a run, from a series of sums, whose word of `SumSeries` is `sums`."""

    correlated = needs_volume = green_kubo = True
    sums: str

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        from taichimd.observables.samplers.sum_series import SumSeries

        self.series = SumSeries(self.sums)
        run.samplers[self.name] = self.series

    def of_series(
        self, columns: dict[str, Array], found: GreenKubo, names: tuple[str, ...], unit: str
    ) -> Result:
        """The series as a table (without time), then the integral."""
        integral = green_kubo_result(found, names, self.picture, unit)
        time = self.run.plan.interval * np.arange(len(self.run.volumes), dtype=np.float64)
        integral.notes = growth_notes(found, self.picture, "--observe-window")
        integral.tables.insert(0, {"time_ps": time, **columns})
        return integral

    def temperature(self, rows: Array) -> float:
        """Mean over the run of a series, K."""
        return float(2.0 * rows[:, 6].mean() / (degrees_of_freedom(self.run.engine.n_atoms) * KB))


def green_kubo_result(found: GreenKubo, names: tuple[str, ...], quantity: str, unit: str) -> Result:
    """Autocorrelations and running integrals of a Green-Kubo coefficient, such as kappa in W/(m K)."""
    time = found.time / PS
    suffix = unit.replace("(", "").replace(")", "").replace("/", "_per_").replace(" ", "")
    scale = found.correlation.value[0].mean() or 1.0
    whole, running, none = found.correlation.value.mean(axis=1) / scale, found.running, np.zeros_like(time)
    columns: dict[str, Array] = {"time_ps": time, "correlation": whole}
    columns |= {f"correlation_{name}": found.correlation.value[:, k] / scale for k, name in enumerate(names)}
    columns |= {f"{quantity}_{suffix}": found.running_mean.value, "error": found.running_mean.error}
    whole_value = _coefficient(found, found.mean, unit)
    lines = {f"mean: {whole_value.label}": band(found.running_mean)}
    values, each = {quantity: whole_value}, []
    for k, name in enumerate(names):
        columns |= {f"{quantity}_{name}": running.value[:, k], f"error_{name}": running.error[:, k]}
        lines[name] = running.value[:, k], none
        channel = Mean(found.channels.value[k], found.channels.error[k], 0, found.channels.note)
        values[f"{quantity}_{name}"] = _coefficient(found, channel, unit)
        each.append(f"{name} {plus_minus(channel)}")
    first, last = (t / PS for t in found.plateau)

    def integral(axis: "Axes") -> None:
        curves(axis, time, lines, "correlation time (ps)", f"{quantity} ({unit})")
        axis.axvspan(first, last, color="#999999", alpha=0.15, linewidth=0)

    where = f"{', '.join(each)}; read off from {first:.3g} to {last:.3g} ps"
    rows = [(quantity, f"{whole_value.number}{whole_value.doubt}"), ("", where)]
    return Result([columns], [
        lambda axis: curves(axis, time, {"": (whole, none)}, "correlation time (ps)",
                            "autocorrelation / its first value"),
        integral,
    ], rows, values)  # fmt: skip


def _coefficient(found: GreenKubo, mean: Mean, unit: str) -> Finding:
    """A transport coefficient: it is never negative, and it is none yet if the integral still grows."""
    status, note = (NOT_CONVERGED, "the running integral still changes") if growing(found) else (OK, "")
    return never_negative(finding(mean.value, mean.error, unit, status, joined(note, mean.note)))


def growth_notes(found: GreenKubo, quantity: str, option: str) -> list[str]:
    """What to do (with an option) about a window too short for a Green-Kubo integral; empty if it is not."""
    if not growing(found):
        return []
    return [
        f"{quantity}: the running integral still changes at the end of the window: take a longer {option}, "
        f"longer or more runs; see {quantity}.png"
    ]


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
