"""Dipole moment of a system with charges that respond, and its infrared spectrum."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.core.saved import saved_array
from taichimd.core.units import PS
from taichimd.estimators.infrared import FASTEST, infrared_spectrum
from taichimd.estimators.molecules import made_whole
from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import OK, band, finding
from taichimd.observables.observable import Result, RunObservable
from taichimd.observables.observed_run import ObservedRun

if TYPE_CHECKING:
    from taichimd.forcefields.base import ForceField

NO_ERROR = "no error: samples of a series follow each other"
PLACE = "no error: the place of a maximum"


class DipoleSeries:
    """The dipole moment of each sample, e angstrom: sum of q x of positions that are not wrapped.

    Molecules are made whole at the first sample, and stay as they are: an atom keeps the image that it had.
    """

    def __init__(self, run: ObservedRun) -> None:
        self._run = run
        self._rows: list[Array] = []
        self._images: NDArray[np.int64] | None = None

    def sample(self, state: Any, energies: Any, virials: Any, centre: Any) -> None:
        """Add one sample."""
        engine = self._run.engine
        positions, cell = engine.positions(), engine.cell
        if self._images is None:
            bonds = engine.bonds()
            strong = bonds.order > self._run.plan.bond_order
            self._images = made_whole(positions, cell, engine.pbc, bonds.i[strong], bonds.j[strong])
        charges = engine.atom_values()["charges"]
        self._rows.append(charges @ (positions + self._images @ cell))

    def rows(self) -> Array:
        """(samples, 3) e angstrom so far."""
        return np.array(self._rows).reshape(-1, 3)

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep."""
        n = self._run.engine.n_atoms
        images = np.zeros((0, 3), np.int64) if self._images is None else self._images
        return {"rows": self.rows(), "images": images.reshape(-1, 3)[:n]}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave, or raise a CheckpointError."""
        self._rows = list(saved_array(saved, "rows", "f", None, 3))
        images = saved_array(saved, "images", "i", None, 3)
        self._images = images.astype(np.int64) if len(images) else None


class _OfDipole(RunObservable):
    """What follows from the series of the dipole moment."""

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        self._series = run.sampler("dipole", DipoleSeries)

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if it has no charges and no bonds."""
        forcefield.check_bonds()


class Dipole(_OfDipole):
    """Dipole moment, and polarisation where there is a volume."""

    name, tables, picture = "dipole", ("dipole",), "dipole"

    def result(self) -> Result:
        """Return the series of the dipole moment in the run, and its mean."""
        rows, volumes = self._series.rows(), np.array(self.run.volumes)
        time = self.run.plan.interval * np.arange(float(len(rows)))
        table: dict[str, Array] = {"time_ps": time}
        table |= {f"dipole_{axis}_eA": rows[:, k] for k, axis in enumerate("xyz")}
        if np.isfinite(volumes).all():
            table |= {
                f"polarisation_{axis}_e_per_A2": rows[:, k] / volumes[: len(rows)]
                for k, axis in enumerate("xyz")
            }
        result, lines = Result([table], [], []), {}
        for k, axis in enumerate("xyz"):
            lines[axis] = rows[:, k], np.zeros(len(rows))
            result.values[f"dipole_{axis}"] = finding(rows[:, k].mean(), None, "e angstrom", OK, NO_ERROR)
        mean = ", ".join(f"{value:.4g}" for value in rows.mean(axis=0))
        result.rows.append(("dipole", f"{mean} e angstrom (x, y, z), mean of {len(rows)} samples"))
        result.panels.append(lambda axis: curves(axis, time, lines, "time (ps)", "dipole moment (e Å)"))
        return result


class Ir(_OfDipole):
    """Infrared spectrum: the transform of the autocorrelation of the derivative of the dipole moment."""

    name, tables, picture = "ir", ("ir",), "ir"
    correlated = True

    def result(self) -> Result:
        """Return the infrared spectrum of the run, with errors over its blocks."""
        plan = self.run.plan
        rows = self._series.rows()
        lags = min(plan.lags, (len(rows) - 2) // plan.blocks - 1)
        if lags < 1:
            raise AnalysisError(f"observe = ir: {len(rows)} samples are too few; take more samples")
        return infrared_result(rows, self.run.plan.interval, lags, plan.blocks)


def infrared_result(rows: Array, interval: float, lags: int, blocks: int) -> Result:
    """Table, picture and summary of the infrared spectrum of dipole moments (samples, 3), e angstrom."""
    found = infrared_spectrum(rows, interval * PS, lags, blocks)
    frequency = found.frequency * PS
    density = found.density
    scale = PS**-1
    table = {
        "frequency_THz": frequency,
        "wavenumber_per_cm": frequency * 33.35640952,
        "absorption_e2A2_per_ps": density.value / scale,
        "error_e2A2_per_ps": density.error / scale,
    }
    top = int(density.value.argmax())
    result = Result([table], [], [])
    told = f"highest at {frequency[top]:.3g} THz ({table['wavenumber_per_cm'][top]:.0f} 1/cm)"
    result.rows.append(("infrared", told))
    reach = f"frequencies up to {frequency[-1]:.3g} THz: {FASTEST:g} of the sampling rate"
    result.rows.append(("", reach))
    result.values["ir_position"] = finding(frequency[top], None, "THz", OK, PLACE)
    if density.note:
        result.notes.append(f"infrared spectrum: {density.note}")
    value, width = band(density)
    lines = {"": (value / scale, width / scale)}
    result.panels.append(
        lambda axis: curves(
            axis, table["wavenumber_per_cm"], lines, "wavenumber (1/cm)", "absorption (e² Å²/ps)"
        )
    )
    return result
