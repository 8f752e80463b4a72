"""All frames of a trajectory as arrays: ours, a LAMMPS dump, or any that ASE reads."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from ase.constraints import FixAtoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError
from taichimd.core.units import PS
from taichimd.io.lammps_dump import Dump, identified, is_dump
from taichimd.io.other_formats import dropped_or_guessed, format_of
from taichimd.io.report import read_report
from taichimd.io.structures import check_elements, each_structure
from taichimd.settings.types import NONE, TRAJECTORIES
from taichimd.system.checks import check_occupancies

VELOCITY_COLUMNS = ("vel", "velo", "velocity", "velocities")
"""Columns of other programs, whose unit no file states."""
_STEPS, _TIMES = ("step", "Step", "timestep", "Timestep"), ("time", "Time")
_SAME = 1e-3
"""Ångström by which a repeated frame may differ, since it was rounded."""


@dataclass(frozen=True)
class Frames:
    """A trajectory.

    Attributes:
        symbols: (n,) chemical symbols.
        masses: (n,) amu.
        positions: (frames, n, 3) Å.
        velocities: same shape, internal units (of a column without a unit: those of the file); None if the
            file has none.
        cells: (frames, 3, 3) Å, rows are the vectors.
        pbc: (3,) whether a direction is periodic.
        times: (frames,) ps, or None if the file does not say.
        fixed: (n,) atoms that `FixAtoms` holds in every frame.
        wrapped: whether atoms may have been folded into the cell; only of our own files and of dumps with
            unwrapped columns or image flags it is known.
        clock: (frames,) what rises with time, besides times: steps, or times of no stated unit; or None.
        counted: whether the clock counts steps.
        interval: ps between frames that the file's header promises, or None.
        backward: which frame goes back in time; empty if none does.
        ordered: whether an atom has the same place in every frame.
        energies: (frames,) potential energy, eV, or None.
        notes: what the reader should know.
    """

    symbols: NDArray[np.str_]
    masses: Array
    positions: Array
    velocities: Array | None
    cells: Array
    pbc: NDArray[np.bool_]
    times: Array | None
    wrapped: bool
    fixed: NDArray[np.bool_]
    clock: Array | None = None
    counted: bool = True
    interval: float | None = None
    backward: str = ""
    ordered: bool = True
    energies: Array | None = None
    notes: list[str] = field(default_factory=list)

    def only(self, keep: NDArray[np.bool_]) -> "Frames":
        """The frames of a (frames,) mask."""
        some: dict[str, Any] = {
            name: None if (values := getattr(self, name)) is None else values[keep]
            for name in ("positions", "velocities", "cells", "times", "clock", "energies")
        }
        return replace(self, **some)


@dataclass(frozen=True)
class _Image:
    """One frame of any file; units as in `Frames`."""

    symbols: NDArray[np.str_]
    masses: Array
    positions: Array
    velocities: Array | None
    cell: Array
    pbc: NDArray[np.bool_]
    fixed: NDArray[np.bool_]
    time: float | None
    clock: float | None
    energy: float | None
    own: bool = False
    column: str = ""
    unwrapped: bool = False
    ordered: bool = True


def _of_run(path: Path) -> Path:
    """Of the folder of a run its trajectory; other files stay.

    Raises:
        StructureError: there is none.
    """
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
        raise StructureError(f"folder {path} holds no trajectory ({' or '.join(names)})")
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
) -> tuple[list[_Image], dict[str, Any]]:
    """Frames after `skip`, and what is known of the whole file."""
    images: list[_Image] = []
    more: dict[str, Any] = {}
    count = 0
    for count, image in enumerate(each_image(path, units, elements, more), 1):
        if count > skip:
            images.append(image)
            first = images[0]
            if not np.array_equal(image.symbols, first.symbols) or not np.array_equal(image.pbc, first.pbc):
                raise StructureError(
                    f"trajectory {path}: frame {count - 1} has other atoms or periodic directions than the "
                    "first"
                )
    if not count or (images and len(images[0].symbols) == 0):
        raise StructureError(f"trajectory {path} holds no atoms")
    if not images:
        raise StructureError(f"trajectory {path} has {count} frames; skip = {skip} leaves none")
    return images, more


def _assembled(path: Path, images: list[_Image], more: dict[str, Any], timestep: float | None) -> Frames:
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
            raise StructureError(f"timestep of {1000 * timestep:g} fs, but {path} states times; leave it out")
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


def _of_dump(
    path: Path, units: str | None, elements: Sequence[str] | None, more: dict[str, Any]
) -> Iterator[_Image]:
    """Frames of a LAMMPS dump."""
    dump, ids, kinds, kept = Dump(path, units), None, None, None
    for number, one in enumerate(dump.frames()):
        if ids is not None and not np.array_equal(one.ids if one.ids is not None else ids, ids):
            raise StructureError(
                f"trajectory {path}: frame {number} has other atoms than the first (their ids)"
            )
        if kinds is None or not np.array_equal(one.kinds, kinds):
            kept = identified(one, elements, path)
            kinds, ids = one.kinds, one.ids
        assert kept is not None
        n = len(one.kinds)
        yield _Image(
            kept[0], kept[1], one.positions, one.velocities, one.cell, one.pbc, np.zeros(n, bool), one.time,
            float(one.step), None, unwrapped=one.unwrapped, ordered=one.ids is not None,
        )  # fmt: skip
    more["notes"] += dump.notes


def _of_ase(path: Path, units: str | None, more: dict[str, Any]) -> Iterator[_Image]:
    """Frames of a file that ASE reads.

    Args:
        path: the file.
        units: of LAMMPS data; None: as the file states, else metal.
        more: gains what is known of the whole file.

    Raises:
        StructureError: it cannot be read, has units of its own and others are given, or has an atom of no
            known element.
    """
    from ase.io import iread

    more["interval"] = _promised_interval(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = each_structure(path, units)
            if own is not None:
                for image, notes in own:
                    check_elements(image, f"trajectory {path}")
                    more["notes"] += [note for note in notes if note not in more["notes"]]
                    yield _from_ase(image, more)
                return
            for number, image in enumerate(iread(path, index=":", do_not_split_by_at_sign=True)):
                check_elements(image, f"trajectory {path}")
                check_occupancies(image, f"trajectory {path}")
                if number == 0:
                    more["notes"] += dropped_or_guessed(path, image, format_of(path))
                yield _from_ase(image, more)
    except StructureError:
        raise
    # ASE's readers fail on bad files in any way.
    except Exception as error:
        if isinstance(error, MemoryError):
            raise
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise StructureError(
            f"trajectory {path} cannot be read: {reason}; expected a format that ase.io.read knows"
        ) from None


def _from_ase(image: Any, more: dict[str, Any]) -> _Image:
    info, n = image.info, len(image)
    clock = next((_number(info[name]) for name in _STEPS if name in info), None)
    if clock is None:
        clock = next((_number(info[name]) for name in _TIMES if name in info), None)
        more["unit_unknown"] = clock is not None
    velocities, column = image.get_velocities() if image.has("momenta") else None, ""
    if velocities is None:
        named = (name for name in VELOCITY_COLUMNS if np.shape(image.arrays.get(name)) == (n, 3))
        if column := next(named, ""):
            velocities = np.array(image.arrays[column], np.float64)
    masses = image.get_masses()
    if not image.has("masses") and np.shape(image.arrays.get("mass")) == (n,):
        masses = np.array(image.arrays["mass"], np.float64)
    energy = image.calc.results.get("energy") if image.calc is not None else None
    return _Image(
        np.array(image.get_chemical_symbols()), masses, image.positions, velocities, image.cell.array,
        np.array(image.pbc), _held(image), _number(info.get("time_ps")), clock, _number(energy),
        own="time_ps" in info and "step" in info, column=column,
    )  # fmt: skip


def _number(value: Any) -> float | None:
    """A real number, or None of anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _promised_interval(path: Path) -> float | None:
    """Ps between frames, from the header that ASE's dynamics write into a trajectory; None of others."""
    if path.suffix != ".traj":
        return None
    from ase.io.trajectory import TrajectoryReader

    try:
        with TrajectoryReader(str(path)) as file:
            said = file.description
    # Of a file that cannot be read, reading the frames says why.
    except Exception:
        return None
    if not isinstance(said, dict) or said.get("type") != "molecular-dynamics":
        return None
    timestep, every = _number(said.get("timestep")), _number(said.get("interval", 1))
    return timestep * every / PS if timestep and every else None


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


def _held(image: Any) -> NDArray[np.bool_]:
    """(n,) which atoms are held; other constraints do not matter to who only looks on."""
    held = np.zeros(len(image), bool)
    for constraint in image.constraints:
        if isinstance(constraint, FixAtoms):
            held[constraint.index] = True
    return held


def each_image(
    path: Path,
    units: str | None = None,
    elements: Sequence[str] | None = None,
    more: dict[str, Any] | None = None,
) -> Iterator[_Image]:
    """The frames of a file one by one, for who does not want all of them in memory.

    Args:
        path: a LAMMPS dump, or any file that ASE reads.
        units: as of `read_frames`.
        elements: likewise.
        more: gets what is known of the whole file: `notes`, `interval`, `unit_unknown`.

    Raises:
        StructureError: a frame that cannot be read; those before it have been given.
    """
    more = {} if more is None else more
    more["notes"] = []
    if is_dump(path):
        return _of_dump(path, units, elements, more)
    if elements is not None:
        raise StructureError(f"elements: {path} is no LAMMPS dump; leave it out")
    return _of_ase(path, units, more)
