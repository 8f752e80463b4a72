"""All frames of a trajectory as arrays: ours, a LAMMPS dump, or any that ASE reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError
from taichimd.io.images import Image, each_image
from taichimd.io.report import read_report
from taichimd.settings.types import NONE, TRAJECTORIES

_SAME = 1e-3
"""Ångström by which a repeated frame may differ, since it was rounded."""


@dataclass(frozen=True)
class Frames:
    """A trajectory."""

    symbols: NDArray[np.str_]  # (n,) chemical symbols
    masses: Array  # (n,) amu
    positions: Array  # (frames, n, 3) Å
    # same shape, internal units (of a column without a unit: those of the file); None if the file has none
    velocities: Array | None
    cells: Array  # (frames, 3, 3) Å, rows are the vectors
    pbc: NDArray[np.bool_]  # (3,) whether a direction is periodic
    times: Array | None  # (frames,) ps, or None if the file does not say
    # whether atoms may have been folded into the cell; only of our own files and of dumps with unwrapped
    # columns or image flags it is known
    wrapped: bool
    fixed: NDArray[np.bool_]  # (n,) atoms that `FixAtoms` holds in every frame
    # (frames,) what rises with time, besides times: steps, or times of no stated unit; or None
    clock: Array | None = None
    counted: bool = True  # whether the clock counts steps
    interval: float | None = None  # ps between frames that the file's header promises, or None
    backward: str = ""  # which frame goes back in time; empty if none does
    ordered: bool = True  # whether an atom has the same place in every frame
    energies: Array | None = None  # (frames,) potential energy, eV, or None
    notes: list[str] = field(default_factory=list)  # what the reader should know

    def only(self, keep: NDArray[np.bool_]) -> "Frames":
        """The frames of a (frames,) mask."""
        some: dict[str, Any] = {
            name: None if (values := getattr(self, name)) is None else values[keep]
            for name in ("positions", "velocities", "cells", "times", "clock", "energies")
        }
        return replace(self, **some)


def _of_run(path: Path) -> Path:
    """The trajectory of the folder of a run; other paths are returned unchanged."""
    folder = path if path.is_dir() else path.parent
    names = [path.name] if folder != path else list(TRAJECTORIES)
    there = [folder / name for name in names if (folder / name).exists()]
    if there:
        return there[0]
    if read_report(folder / "run.json").get("settings", {}).get("frames") == NONE:
        raise StructureError(
            f"the run in {folder} wrote no trajectory (frames = {NONE}); run it with "
            "--frames extxyz, netcdf or traj"
        )
    if path.is_dir():
        raise StructureError(f"folder {path} has no trajectory ({' or '.join(names)})")
    raise StructureError(f"trajectory {path} does not exist")


def read_frames(
    path: str | Path,
    skip: int = 0,
    timestep: float | None = None,
    units: str | None = None,
    elements: Sequence[str] | None = None,
) -> Frames:
    """Read a trajectory.

    Args:
        path: trajectory of a run, or its folder, or a LAMMPS dump, or any format of `ase.io.read`.
        skip: frames at the start to leave out.
        timestep: ps; of files that number their frames by steps and state no time.
        units: of a LAMMPS dump or data file; None: as it states, else metal.
        elements: of the atom types 1, 2 ... of a LAMMPS dump.

    Returns:
        Frames in the order of the file. A frame that repeats an earlier one (a restart that appends) is left
        out, with a note.

    Raises:
        StructureError: missing, unreadable or empty file, nothing left after `skip`, a number that is not
            finite, an atom of no known element, atoms that change in number, kind or periodicity, or more
            frames than memory.
    """
    path = _of_run(Path(path))
    if skip < 0:
        raise StructureError(f"skip = {skip}: expected a number of frames, 0 or more")
    try:
        images, more = _read(path, skip, units, elements)
        frames = _assembled(path, images, more, timestep)
    except MemoryError:
        raise StructureError(
            f"trajectory {path} does not fit into memory; leave frames out with --skip, or write fewer"
        ) from None
    for name in ("positions", "velocities", "cells"):
        values = getattr(frames, name)
        if values is not None and not np.isfinite(values).all():
            bad = skip + int(np.argwhere(~np.isfinite(values))[0, 0])
            raise StructureError(f"trajectory {path}: frame {bad} has {name} that are not finite numbers")
    return _without_repeats(frames, skip)


def _read(
    path: Path, skip: int, units: str | None, elements: Sequence[str] | None
) -> tuple[list[Image], dict[str, Any]]:
    """Frames after `skip`, and what is known of the whole file."""
    images: list[Image] = []
    more: dict[str, Any] = {}
    count = 0
    for count, image in enumerate(each_image(path, units, elements, more), 1):
        if count > skip:
            images.append(image)
            first = images[0]
            if not np.array_equal(image.symbols, first.symbols) or not np.array_equal(image.pbc, first.pbc):
                raise StructureError(
                    f"trajectory {path}: frame {count - 1} has different atoms or periodic directions than "
                    "the first frame; expected the same in every frame"
                )
    if not count or (images and len(images[0].symbols) == 0):
        raise StructureError(f"trajectory {path} has no atoms")
    if not images:
        raise StructureError(f"trajectory {path} has {count} frames; skip = {skip} leaves none")
    return images, more


def _assembled(path: Path, images: list[Image], more: dict[str, Any], timestep: float | None) -> Frames:
    """Arrays of all frames, and their times."""
    first, notes = images[0], more["notes"]

    def all_have(name: str) -> Array | None:
        values = [getattr(image, name) for image in images]
        return None if any(value is None for value in values) else np.array(values, np.float64)

    times, clock = all_have("time"), all_have("clock")
    stepped = clock is not None and not more.get("unit_unknown", False)
    if timestep is not None:
        if not stepped:
            raise StructureError(f"timestep: {path} does not number its frames by steps; give --interval")
        counted = np.asarray(clock) * timestep
        if times is not None and not np.allclose(np.diff(times), np.diff(counted), rtol=1e-3, atol=1e-9):
            raise StructureError(
                f"timestep of {1000 * timestep:g} fs, but {path} has its own times; leave it out"
            )
        times = counted if times is None else times
    if columns := {image.column for image in images} - {""}:
        notes.append(
            f"the unit of the column {columns.pop()!r} is not stated: it is used where only ratios of "
            "velocities count"
        )
    return Frames(
        symbols=first.symbols,
        masses=first.masses,
        positions=np.array([image.positions for image in images]),
        velocities=all_have("velocities"),
        cells=np.array([image.cell for image in images]),
        pbc=first.pbc,
        times=times,
        wrapped=not (first.unwrapped or (times is not None and first.own)),
        fixed=np.logical_and.reduce([image.fixed for image in images]),
        clock=clock,
        counted=stepped,
        interval=more.get("interval"),
        ordered=first.ordered,
        energies=all_have("energy"),
        notes=notes,
    )


def _without_repeats(frames: Frames, skip: int) -> Frames:
    """Leave out frames that are there already, and find one that goes back in time."""
    clock = frames.clock if frames.times is None else frames.times
    seen: dict[float, int] = {}
    keep, backward, latest = np.ones(len(frames.positions), bool), "", -np.inf
    for k in range(len(keep)):
        if clock is None:
            # Without a clock only the same numbers twice in a row are a repeated frame.
            keep[k] = not (k and _same(frames, k - 1, k, 0.0) and not frames.fixed.all())
            continue
        now = float(clock[k])
        if now in seen and _same(frames, seen[now], k, _SAME):
            keep[k] = False
            continue
        if now <= latest and not backward:
            name = "step" if frames.counted else "time"
            what = f"{now:g} ps" if frames.times is not None else f"{name} {now:g}"
            twice = now in seen
            backward = f"frame {skip + k} ({what}) " + (
                f"is at the time of frame {skip + seen[now]}, with other positions" if twice else
                "goes back in time"
            )  # fmt: skip
        seen.setdefault(now, k)
        latest = max(latest, now)
    if not keep.all() and not (clock is None and np.count_nonzero(keep) == 1):
        notes = [*frames.notes, f"{np.count_nonzero(~keep):,} repeated frames were left out"]
        frames = replace(frames.only(keep), notes=notes)
    return replace(frames, backward=backward)


def _same(frames: Frames, one: int, other: int, tolerance: float) -> bool:
    """Whether two frames have the same positions, but for whole cell vectors."""
    apart = frames.positions[other] - frames.positions[one]
    cell = frames.cells[one]
    if not np.allclose(cell, frames.cells[other], rtol=0.0, atol=tolerance):
        return False
    if tolerance and (rows := cell[frames.pbc & cell.any(axis=1)]).size:
        apart = apart - np.round(apart @ np.linalg.pinv(rows)) @ rows
    return bool(np.abs(apart).max() <= tolerance)
