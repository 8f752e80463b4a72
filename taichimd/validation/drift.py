"""Does the total energy stay where it was? NVE, the slope with its error, the scatter, LAMMPS beside it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from ase import Atoms, units

from taichimd.core.arrays import Array
from taichimd.core.errors import TaichimdError
from taichimd.validation.case import Case
from taichimd.validation.elsewhere import Elsewhere
from taichimd.validation.measures import Check, Findings, Found, Measure, NotRun

TITLE = "energy drift"
SLOPE = 1e-6
"""eV/atom/ps beyond three standard errors."""
DRIFT = Measure(
    "drift", "Is the drift of the total energy in NVE zero within three standard errors?", SLOPE, "eV/atom/ps"
)
SCATTER = 0.05
"""Velocity Verlet gives a harmonic oscillator the ratio (ω Δt)²/4: 0.05 at 14 time steps a period."""
FLUCTUATION = Measure(
    "fluctuation",
    "Is the scatter of the total energy small beside the scatter of the kinetic energy?",
    SCATTER,
)
FOLLOWS = ", consistent constants; with those of the potential the total energy follows the charges:"
BESIDE = Measure(
    "drift-lammps",
    "Does LAMMPS have the same drift from the same start, within the errors?",
    SLOPE,
    "eV/atom/ps",
)


def sample(engine: Any, timestep: float, steps: int, every: int) -> tuple[Array, Array, Array]:
    """Run, and take (n,) times (ns), total energies (eV per atom) and temperatures (K) on the way."""
    energies, temperatures = [], []
    for k in range(steps // every + 1):
        if k:
            engine.advance(every, timestep)
        thermo = engine.thermo()
        energies.append((thermo.potential + thermo.kinetic) / engine.n_atoms)
        temperatures.append(thermo.temperature)
    return times_of(len(energies), every, timestep), np.array(energies), np.array(temperatures)


def times_of(samples: int, every: int, timestep: float) -> Array:
    """(samples,) times in ns."""
    return np.asarray(np.arange(samples) * every * timestep / units.fs * 1e-6)


def reduce_energies(times: Array, energies: Array, n_blocks: int = 20) -> dict[str, float]:
    """Slope and error (eV/atom/ns), rms about the line, largest |E - E0| (eV/atom), length (ns) of a series.

    Samples of neighbouring steps are correlated, so the slope's error comes from a straight line through the
    means of 20 blocks, whose residuals are nearly independent.
    """
    slope, intercept = np.polyfit(times, energies - energies[0], 1)
    residual = energies - energies[0] - (slope * times + intercept)
    block_times = np.array([block.mean() for block in np.array_split(times, n_blocks)])
    block_residuals = np.array([block.mean() for block in np.array_split(residual, n_blocks)])
    spread = ((block_times - block_times.mean()) ** 2).sum()
    error = np.sqrt((block_residuals**2).sum() / (n_blocks - 2) / spread)
    return {
        "slope_eV_per_atom_ns": float(slope),
        "slope_error": float(error),
        "rms_eV_per_atom": float(residual.std()),
        "largest_eV_per_atom": float(np.abs(energies - energies[0]).max()),
        "length_ns": float(times[-1]),
    }


def drift(case: Case) -> Callable[[], Findings]:
    """Equilibrate and start LAMMPS from there; the function that is returned runs ours and compares.

    Where they exceed their limits, the run is repeated. With LAMMPS's constants the energy of ReaxFF is not
    stationary in the charges, so the total energy follows the charges; a run with consistent constants says
    whether anything else is wrong. What still fails is repeated with half the time step over the same time.
    The error of velocity Verlet at a given time falls with the square of the time step; the drift of a force
    that is not the gradient of its energy does not.
    """
    run = Run(case, 1)
    return lambda: _judged(case, run)


def _judged(case: Case, run: "Run") -> Findings:
    """What was found, or what repeated runs have found where it exceeds a limit."""
    found = run.ours()
    if case.forcefield.charged and _failed(found):
        case.says(f"{TITLE}: again with consistent constants")
        consistent = replace(case, forcefield=case.gradient, temperature=case.kelvin)
        again = Run(consistent, 1, beside=False).ours()
        for one in _failed(found):
            if not _exceeds(again[one.name], one):
                found[one.name] = _noted(again[one.name], f"{FOLLOWS} {_number(found, one)}")
    if failed := _failed(found):
        before = ", ".join(_number(found, one) for one in failed)
        note = f"; repeated with half the time step: with {case.timestep / units.fs:g} fs {before}"
        case.says(f"{TITLE}: again with half the time step")
        run.end()
        run = Run(case, 2)
        again = run.ours()
        found |= {one.name: _noted(again[one.name], note) for one in failed}
    return {**found, BESIDE.name: run.theirs()}


def _failed(found: Findings) -> list[Measure]:
    return [one for one in (DRIFT, FLUCTUATION) if _exceeds(found[one.name], one)]


def _number(found: Findings, measure: Measure) -> str:
    return f"{measure.name} {_value(found[measure.name]):.1e}"


def _noted(found: Found | NotRun, note: str) -> Found | NotRun:
    return replace(found, detail=found.detail + note) if isinstance(found, Found) else found


def _value(found: Found | NotRun) -> float:
    return found.value if isinstance(found, Found) else float("nan")


def _exceeds(found: Found | NotRun, measure: Measure) -> bool:
    return isinstance(found, Found) and found.value > (found.limit or measure.limit)


class Run:
    """A system, equilibrated with a part of the time step of the force field, and LAMMPS from there.

    Args:
        case: the force field and the start.
        division: of the time step; the run takes so many times the steps.
        beside: whether LAMMPS runs as well, in another process.
    """

    def __init__(self, case: Case, division: int, beside: bool = True) -> None:
        self._case, self._division, self._timestep = case, division, case.timestep / division
        self._engine = case.engine()
        self._engine.advance(case.level.equilibration * division, self._timestep)
        begin = case.moving.copy()
        begin.positions = self._engine.positions()
        begin.set_velocities(self._engine.velocities())
        self._other = _started(case, begin, division) if beside else NotRun("")

    def ours(self) -> dict[str, Found | NotRun]:
        """The drift and the fluctuation over the time of the level."""
        level = self._case.level
        self._times, energies, temperatures = sample(
            self._engine, self._timestep, level.drift * self._division, level.every * self._division
        )
        self._reduced = ours = reduce_energies(self._times, energies)
        slope, error = (1e-3 * ours[key] for key in ("slope_eV_per_atom_ns", "slope_error"))
        # In a run that is short beside slow motions, their fluctuation looks like a slope of this size.
        self._error = error = max(error, ours["rms_eV_per_atom"] / (1e3 * ours["length_ns"]))
        kinetic = 1.5 * units.kB * temperatures
        ratio = ours["rms_eV_per_atom"] / max(float(kinetic.std()), 1e-12)
        length, kelvin = 1e3 * self._times[-1], temperatures.mean()
        told = f"{slope:.1e} ± {error:.0e} eV/atom/ps over {length:.3g} ps at {kelvin:.0f} K"
        series = {"times_ns": self._times.tolist(), "energies_eV_per_atom": energies.tolist()}
        self._data: dict[str, Any] = {**ours, **series}
        return {
            "drift": Found(abs(slope), told, SLOPE + 3.0 * error, self._data),
            "fluctuation": Found(ratio, f"rms {ours['rms_eV_per_atom']:.1e} eV/atom"),
        }

    def theirs(self) -> Found | NotRun:
        """LAMMPS's drift beside the drift of `ours`; its series joins the data of that one."""
        if isinstance(self._other, NotRun):
            return self._other
        self._case.says(f"{TITLE}: waiting for LAMMPS")
        found = _beside(self._other, self._reduced, self._times, self._error, self._engine.n_atoms)
        if isinstance(found, Found):
            self._data["lammps"] = found.data
            found = replace(found, data={})
        return found

    def end(self) -> None:
        """End LAMMPS's run, which nobody waits for."""
        if isinstance(self._other, Elsewhere):
            self._other.end()


def _started(case: Case, begin: Atoms, division: int) -> Elsewhere | NotRun:
    """LAMMPS's run from a state, with the steps of ours."""
    from taichimd.validation.peers import lammps_series

    level = case.level
    try:
        return lammps_series(
            case, begin, level.drift * division, level.every * division, case.timestep / division
        )
    except TaichimdError as reason:
        return NotRun(str(reason))


def _beside(
    other: Elsewhere, ours: dict[str, float], times: Array, error: float, atoms: int
) -> Found | NotRun:
    """The difference of LAMMPS's slope from ours; data is LAMMPS's series.

    Args:
        other: LAMMPS's run.
        ours: of `reduce_energies`.
        times: ns, of both series.
        error: of our slope, eV/atom/ps.
        atoms: their number.
    """
    try:
        energies = other.result() / atoms
    except TaichimdError as reason:
        return NotRun(str(reason))
    theirs = reduce_energies(times, energies)
    slope, their_slope = (1e-3 * one["slope_eV_per_atom_ns"] for one in (ours, theirs))
    their_error = 1e-3 * theirs["slope_error"]
    both = float(np.hypot(error, their_error))
    told = f"LAMMPS: {their_slope:.1e} ± {their_error:.0e} eV/atom/ps, rms {theirs['rms_eV_per_atom']:.1e}"
    data = {**theirs, "energies_eV_per_atom": energies.tolist()}
    return Found(abs(slope - their_slope), told, SLOPE + 3.0 * both, data)


CHECKS: tuple[Check, ...] = (Check((DRIFT, FLUCTUATION, BESIDE), drift, TITLE, late=True),)
