"""What the user of a run should know, one sentence each, before it starts and after it has ended."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.app.averages import observed_equilibration
from taichimd.core.printable import counted
from taichimd.settings.run import RunSettings
from taichimd.system.constraints import constrained
from taichimd.system.overlaps import notes_on_overlap
from taichimd.system.velocities import drift_share

_SAME = 1e-6
"""Angstrom: what a file may round away."""

_DRIFTS = 1e-3
"""Share of the kinetic energy beyond which the motion of the centre of mass is worth a remark."""

TORN = 1.5
"""Growth of the volume beyond what solids and liquids do under a pressure that holds them together."""


_LARGE_SHARE, _LITTLE_SECONDS = 0.2, 5.0
"""Share of the time that output may take, and seconds that nobody minds."""
_SHORT_STEP = 0.02
"""fs: no atom needs so short a time step."""


def of_timestep(timestep: float) -> list[str]:
    """That a time step (fs) looks like one in picoseconds, if it does."""
    if timestep >= _SHORT_STEP:
        return []
    return [
        f"time step of {timestep:g} fs: LAMMPS's metal units count ps, this program counts fs; 1 fs is usual"
    ]


_SLOW, _FAST = 1e4, 1e11
"""1/s: a rate below is likely per step, and one above is faster than sound crosses a small cell."""


def of_rates(rates: Mapping[str, float], timestep: float) -> list[str]:
    """That the rate of a deformation (1/s) looks like one per step, or is very high, if it does."""
    told = []
    for name, rate in rates.items():
        if abs(rate) < _SLOW:
            told.append(
                f"{name} = {rate:g}/s changes the cell by {abs(rate) * 1e-9:.1g} in a nanosecond: rates are "
                f"per time, not per step; {rate:g} per step of {timestep:g} fs is "
                f"{rate / (timestep * 1e-15):.3g}/s"
            )
        elif abs(rate) > _FAST:
            told.append(
                f"{name} = {rate:g}/s changes the cell by {abs(rate) * 1e-12:.1%} in a picosecond: stress "
                "has no time to spread; 1e8/s to 1e10/s is usual"
            )
    return told


_FAST_ATOMS, _SLOW_WAY = 50.0, 0.01
"""Å/ps, about the speed of sound; Å, a way in a run that is likely that of a velocity per step."""


def of_speeds(speeds: Mapping[str, float], steps: int, timestep: float) -> list[str]:
    """That the velocity of a drive (Å/ps) looks like one per step or per femtosecond, if it does."""
    told = []
    for name, speed in speeds.items():
        way = speed * steps * timestep * 1e-3
        if speed > _FAST_ATOMS:
            told.append(
                f"{name} moves at {speed:g} Å/ps, faster than sound: velocities are in Å/ps, not in Å/fs"
            )
        elif 0.0 < way < _SLOW_WAY:
            told.append(
                f"{name} moves {way:.1g} Å in this run: velocities are in Å/ps, not per step; {speed:g} Å "
                f"per step of {timestep:g} fs is {speed / timestep * 1e3:g} Å/ps"
            )
    return told


REDRAW = "--velocities draw draws new velocities at --temperature"
"""What helps against velocities of zero on the command line."""
REDRAW_IN_PYTHON = 'without them, del atoms.arrays["momenta"], others are drawn at the temperature'
"""What helps against velocities of zero in Python."""


def of_start(atoms: Atoms, cure: str = REDRAW) -> list[str]:
    """That a structure has velocities, and all of them are zero, if that is so; and the cure."""
    if not atoms.has("momenta") or atoms.get_momenta().any():
        return []
    return [f"velocities of the structure are 0 K, and are used: all atoms start at rest; {cure}"]


def of_system(atoms: Atoms, forcefield: Any, ensemble: Any, timestep: float) -> list[str]:
    """What the user of a run should know, on the command line and in Python."""
    notes = of_timestep(timestep)
    notes += forcefield.remarks_on_timestep(timestep, atoms.get_chemical_symbols())
    notes += forcefield.remarks_on_charges()
    if ensemble.deforms and not isinstance(ensemble, type):
        notes += of_rates(ensemble.rates, timestep)
    if ensemble.moves_cell and not atoms.pbc.all():
        along = "".join(axis for axis, flag in zip("xyz", atoms.pbc, strict=True) if flag)
        notes.append(
            f"periodic along {along} only: pressure and volume stay empty in thermo.csv; the barostat takes "
            "the volume of the whole cell, with any vacuum in it, and frames have the cells"
        )
    share = drift_share(atoms.get_masses(), atoms.get_velocities())
    # With fixed atoms nothing is counted relative to the centre of mass.
    if share > _DRIFTS and not constrained(atoms).any() and not ensemble.moves_centre:
        notes.append(
            f"the centre of mass moves, with {share:.2%} of the kinetic energy, which temperature_K "
            "includes; --observe measures relative to the centre of mass"
        )
    return notes


def before_run(settings: RunSettings, atoms: Atoms, forcefield: Any) -> list[str]:
    """What the settings mean for this structure."""
    steps = settings.run.number_of_steps() or 0
    return [
        *notes_on_overlap(atoms, refuse=True),
        *of_system(atoms, forcefield, settings.ensemble.kind, settings.run.timestep),
        *(of_rates(settings.ensemble.rates, settings.run.timestep) if settings.ensemble.kind.deforms else ()),
        *forcefield.remarks_on_time(len(atoms), steps, settings.compute.backend),
    ]


def faster_runtime(running: Mapping[str, Any]) -> list[str]:
    """That another runtime is faster, if that is so; who has chosen Taichi is told on a GPU alone."""
    if not running["runtime"].startswith("taichi "):
        return []
    cure = "pip install '.[quadrants]' in the checkout installs quadrants, and the next run uses it"
    if running["backend"] == "cuda":
        return [
            "on a GPU the runtime quadrants is faster, several times so for small systems, and gives the "
            f"CPU's bits; {cure}"
        ]
    if "not installed" not in running["chosen"]:
        return []
    return [f"the runtime quadrants is faster and starts sooner, also on a CPU; {cure}"]


def where_it_goes_on(atoms: Atoms, structure: Atoms) -> list[str]:
    """That a restart does not begin at the structure that it was given, if that is so."""
    v = atoms.get_velocities()
    as_fast = np.allclose(v, structure.get_velocities(), rtol=0, atol=_SAME * abs(v).max())
    other = {
        "positions": not np.allclose(atoms.positions, structure.positions, rtol=0, atol=_SAME),
        "cell": not np.allclose(atoms.cell.array, structure.cell.array, rtol=0, atol=_SAME),
        "velocities": structure.has("momenta") and not as_fast,
    }
    if not any(other.values()):
        return []
    what = ", ".join(name for name, differs in other.items() if differs)
    return [f"the run continues from the checkpoint; not used of the structure, which differs: {what}"]


def of_output(report: Mapping[str, Any]) -> list[str]:
    """That output took a large part of the time, and what helps, if that is so."""
    output = report.get("output_seconds", 0.0)
    if output < _LITTLE_SECONDS:
        return []
    share = output / (output + report["stepping_seconds"] + report["sampling_seconds"])
    if share < _LARGE_SHARE:
        return []
    fewer = "--n-frames 50 writes fewer frames, --frames none writes no frames"
    cures = {"extxyz": f"--frames netcdf writes faster, {fewer}", "none": "--n-rows 200 writes fewer rows"}
    cure = cures.get(report["settings"]["frames"], fewer)
    return [f"output took {share:.0%} of the time of the run ({output:.1f} s): {cure}"]


def beyond_tables(report: Mapping[str, Any]) -> list[str]:
    """That densities of an EAM potential were beyond its table, if that is so."""
    count = report.get("statistics", {}).get("beyond_tables", 0)
    if not count:
        return []
    times = counted(count, "time")
    return [
        f"a density was beyond the table of the embedding energy {times} (atoms times evaluations), and the "
        "energy is a straight line there: atoms came closer than the potential was made for"
    ]


def after_run(report: dict[str, Any]) -> list[str]:
    """What the figures of a run (run.json) mean."""
    told = [*observed_equilibration(report), *of_output(report), *beyond_tables(report)]
    told += report.get("exchange", {}).get("notes", [])
    first, last = report.get("first_volume_A3"), report.get("last_volume_A3")
    if first is None or last is None or 1.0 / TORN < last / first < TORN:
        return told
    return [
        *told,
        f"the volume went from {first:.5g} to {last:.5g} Å³, by a factor of {last / first:.3g}: look at the "
        "last frame; a crystal may be torn apart (a pressure below 0 pulls), have evaporated or collapsed",
    ]
