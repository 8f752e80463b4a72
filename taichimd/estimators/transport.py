"""Transport coefficients: thermal conductivity (Green-Kubo, HNEMD) and shear viscosity (Green-Kubo).

Green-Kubo: R. Kubo, J. Phys. Soc. Jpn. 12, 570 (1957); M. S. Green, J. Chem. Phys. 22, 398 (1954); for
many-body potentials Z. Fan et al., Phys. Rev. B 92, 094301 (2015). Plateau, window, samples and errors:
`taichimd.estimators.green_kubo`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.core.markup import facts
from taichimd.core.units import KB, PASCAL_SECOND, WATT_PER_METRE_KELVIN
from taichimd.estimators.average import average_of, production_start
from taichimd.estimators.blocks import block_note, with_note
from taichimd.estimators.green_kubo import GreenKubo, integrate, positive, runs_of
from taichimd.estimators.series import Mean, mean_of
from taichimd.estimators.without_window import WithoutWindow, stacie_integral


def green_kubo_conductivity(
    current: Any, dt: float, volume: float, temperature: float, window: float, plateau: tuple[float, float]
) -> GreenKubo:
    """Thermal conductivity kappa_aa = 1/(k_B T^2 V) times the integral of <J_a(0) J_a(t)>, in W/(m K).

    The mean current is not subtracted: in equilibrium it is zero, and the mean of a finite run is part of the
    fluctuations.

    Args:
        current: (steps, 3) heat current of one run, or a list of these, or (runs, steps, 3): of the whole
            cell, not divided by its volume, eV angstrom / internal time; (steps, 2) in the plane of a sheet.
        dt: internal time between samples.
        volume: angstrom^3.
        temperature: K.
        window: longest correlation time, internal.
        plateau: internal times between which the running integral is averaged.

    Returns:
        Running and final conductivity along x, y and z (`channels`) and their mean, W/(m K). The standard
        error is the scatter of the runs, or comes from the autocorrelation of a single run.

    Raises:
        AnalysisError: wrong shape or numbers, window longer than a run, plateau outside it.
    """
    positive(volume=volume, temperature=temperature)
    runs = runs_of(current, "heat current", 2)
    _check_width(runs, 3, "heat current", sheet=True)
    factor = 1.0 / (KB * temperature**2 * volume) / WATT_PER_METRE_KELVIN
    return integrate(runs, dt, window, factor, plateau)


def stacie_conductivity(current: Any, dt: float, volume: float, temperature: float) -> WithoutWindow:
    """The mean of kappa_aa of `green_kubo_conductivity`, W/(m K), by STACIE, which needs no window.

    SettingsError: this optional package is not installed.
    """
    positive(dt=dt, volume=volume, temperature=temperature)
    runs = runs_of(current, "heat current", 2)
    _check_width(runs, 3, "heat current", sheet=True)
    return stacie_integral(runs, dt, 1.0 / (KB * temperature**2 * volume) / WATT_PER_METRE_KELVIN)


@dataclass(frozen=True)
class Driven:
    """Conductivity from driven runs."""

    time: Array  # (m,) internal, ends of the running average, which begins where production begins
    # (m,) W/(m K), mean of the runs of the average of kappa over production up to each time, with the
    # standard error over the runs at that time; NaN of a single run
    running: Mean
    # W/(m K) along the driving force, with the standard error over the runs, or from the autocorrelation of
    # one
    kappa: Mean
    # (3,) W/(m K), J_a / (T V |F_e|): off the force's direction, zero in an isotropic system
    components: Mean
    of_runs: Array  # (runs,) W/(m K) along the driving force

    def _repr_html_(self) -> str:
        """What a notebook shows: the conductivity along the driving force, and the components."""
        unit = "W/(m K)"
        rows = [("thermal conductivity", self.kappa.texts(unit)[0]), ("runs", str(len(self.of_runs)))]
        rows += [
            (f"along {axis}", text) for axis, text in zip("xyz", self.components.texts(unit), strict=True)
        ]
        return facts(rows + [("note", self.kappa.note)] * bool(self.kappa.note))


def hnemd_conductivity(
    current: Any, dt: float, volume: float, temperature: float, driving_force: Any, skip: float = 0.0
) -> Driven:
    """Thermal conductivity from the mean heat current under a driving force: J_a / (T V) = kappa_ab F_b.

    Homogeneous non-equilibrium MD for many-body potentials: Z. Fan, H. Dong, A. Harju, T. Ala-Nissila,
    Phys. Rev. B 99, 064308 (2019); D. J. Evans, Phys. Lett. A 91, 457 (1982). The force must be small enough
    for a linear response; to test this, halve the force. `production_start` finds the start of production,
    after `skip`, in the mean of the runs. The error is the scatter of the runs, or for a single run the error
    of `average_of`.

    Args:
        current: (steps, 3) of one run, or a list of these; eV angstrom / internal time.
        dt: internal time between samples.
        volume: angstrom^3.
        temperature: K, of the thermostat.
        driving_force: (3,) 1/angstrom.
        skip: internal time at the start of each run that is left out, because the response builds up slowly.

    Returns:
        Conductivities and their standard errors, W/(m K).

    Raises:
        AnalysisError: wrong shape or numbers, no force, nothing left after `skip`.
    """
    positive(dt=dt, volume=volume, temperature=temperature)
    runs = runs_of(current, "heat current", 2)
    _check_width(runs, 3, "heat current")
    force = np.asarray(driving_force, float)
    size = float(np.linalg.norm(force)) if force.shape == (3,) else 0.0
    if not (np.isfinite(size) and size > 0):
        raise AnalysisError(
            f"driving force {force.tolist()}: expected three numbers in 1/Å, not all of them 0"
        )
    first, direction = round(skip / dt), force / size
    shortest = min(len(run) for run in runs)
    if not 0 <= first < shortest:
        raise AnalysisError(f"skip = {skip:g} leaves nothing of a run that lasts {shortest * dt:g}")
    mean = np.mean([run[first:shortest] @ direction for run in runs], axis=0)
    first += production_start([mean])
    kappa = [run[first:] / (temperature * volume * size) / WATT_PER_METRE_KELVIN for run in runs]
    of_runs = np.array([run.mean(axis=0) for run in kappa])
    along = np.array([run[: shortest - first] @ direction for run in kappa])
    count: Array = np.arange(1.0, along.shape[1] + 1)
    if len(runs) == 1:
        total = _over_time(kappa[0] @ direction)
        components = [_over_time(series) for series in kappa[0].T]
        of_components = Mean(
            of_runs[0],
            np.array([one.error for one in components]),
            total.samples,
            next((one.note for one in components if one.note), ""),
        )
    else:
        note = block_note(of_runs @ direction, consecutive=False)
        total, of_components = with_note(mean_of(of_runs @ direction), note), mean_of(of_runs)
    return Driven(
        time=dt * (first + count),
        running=mean_of(np.cumsum(along, axis=1) / count),
        kappa=total,
        components=of_components,
        of_runs=of_runs @ direction,
    )


def _over_time(series: Array) -> Mean:
    """Mean of one run; its error is NaN where `note` says why there is none."""
    found = average_of(series)
    error = np.nan if found.error is None else found.error
    return Mean(found.value, error, max(1, int(found.independent)), found.note)


def green_kubo_viscosity(
    stress: Any, dt: float, volume: float, temperature: float, window: float, plateau: tuple[float, float]
) -> GreenKubo:
    """Shear viscosity eta = V/(k_B T) times the integral of <s_ab(0) s_ab(t)>, ab = xy, xz, yz, in Pa s.

    Args:
        stress: (steps, 6) of one run, or a list of these: xx yy zz yz xz xy (ASE's order), eV/angstrom^3, of
            the whole cell and *with* the kinetic part; the sign does not matter.
        dt: internal time between samples.
        volume: angstrom^3.
        temperature: K.
        window: longest correlation time, internal.
        plateau: as for `green_kubo_conductivity`.

    Returns:
        Running and final viscosity of xy, xz and yz (`channels`) and their mean, Pa s, with a standard error.

    Raises:
        AnalysisError: wrong shape or numbers, window longer than a run, plateau outside it.
    """
    positive(volume=volume, temperature=temperature)
    runs = runs_of(stress, "stress", 2)
    _check_width(runs, 6, "stress")
    factor = volume / (KB * temperature) / PASCAL_SECOND
    return integrate([run[:, 3:][:, ::-1] for run in runs], dt, window, factor, plateau)


def _check_width(runs: list[Array], width: int, name: str, sheet: bool = False) -> None:
    for run in runs:
        if run.shape[1] != width and not (sheet and run.shape[1] == width - 1):
            raise AnalysisError(f"{name} has {run.shape[1]} components, expected {width}")
