"""All frames of a trajectory as arrays: ours, or any that ASE reads."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from ase.constraints import FixAtoms
from numpy.typing import NDArray

from taichimd.app.setting_types import NONE
from taichimd.core.errors import StructureError
from taichimd.io.report import read_report
from taichimd.program.results import Array


@dataclass(frozen=True)
class Frames:
    """A trajectory.

    Attributes:
        symbols: (n,) chemical symbols.
        masses: (n,) amu.
        positions: (frames, n, 3) Å.
        velocities: same shape, internal units; None if the file has none.
        cells: (frames, 3, 3) Å, rows are the vectors.
        pbc: (3,) whether a direction is periodic.
        times: (frames,) ps, or None if the file does not say.
        fixed: (n,) atoms that `FixAtoms` holds in every frame.
        wrapped: whether atoms may have been folded into the cell; only of our own files it is known.
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

    def only(self, keep: NDArray[np.bool_]) -> "Frames":
        """The frames of a (frames,) mask."""
        velocities = None if self.velocities is None else self.velocities[keep]
        times = None if self.times is None else self.times[keep]
        return replace(
            self, positions=self.positions[keep], velocities=velocities, cells=self.cells[keep], times=times
        )


def _of_run(path: Path) -> Path:
    """Of the folder of a run its trajectory; other files stay.

    Raises:
        StructureError: there is none.
    """
    folder = path if path.is_dir() else path.parent
    names = [path.name] if folder != path else ["trajectory.extxyz", "trajectory.traj"]
    there = [folder / name for name in names if (folder / name).exists()]
    if there:
        return there[0]
    if read_report(folder / "run.json").get("settings", {}).get("frames") == NONE:
        raise StructureError(
            f"the run in {folder} wrote no trajectory (frames = {NONE}); run it with --frames extxyz or traj"
        )
    if path.is_dir():
        raise StructureError(f"folder {path} holds no trajectory ({' or '.join(names)})")
    raise StructureError(f"trajectory {path} does not exist")


def read_frames(path: str | Path, skip: int = 0) -> Frames:
    """Read a trajectory.

    Args:
        path: trajectory of a run, or its folder, or any format of `ase.io.read`.
        skip: frames at the start to leave out.

    Raises:
        StructureError: missing, unreadable or empty file, nothing left after `skip`, a number that is not
            finite, or atoms that change in number, kind or periodicity.
    """
    from ase.io import read

    path = _of_run(Path(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            images: Any = read(path, index=":", do_not_split_by_at_sign=True)
    # ASE's readers fail on bad files in any way.
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise StructureError(
            f"trajectory {path} cannot be read: {reason}; expected a format that ase.io.read knows"
        ) from None
    if not images or len(images[0]) == 0:
        raise StructureError(f"trajectory {path} holds no atoms")
    if skip < 0:
        raise StructureError(f"skip = {skip}: expected a number of frames, 0 or more")
    if skip >= len(images):
        raise StructureError(f"trajectory {path} has {len(images)} frames; skip = {skip} leaves none")
    images = images[skip:]
    first = images[0]
    for k, image in enumerate(images):
        if not np.array_equal(image.numbers, first.numbers) or not np.array_equal(image.pbc, first.pbc):
            raise StructureError(
                f"trajectory {path}: frame {skip + k} has other atoms or periodic directions than the first"
            )
    moving = all(image.has("momenta") for image in images)
    timed = all("time_ps" in image.info for image in images)
    frames = Frames(
        symbols=np.array(first.get_chemical_symbols()),
        masses=first.get_masses(),
        positions=np.array([image.positions for image in images]),
        velocities=np.array([image.get_velocities() for image in images]) if moving else None,
        cells=np.array([image.cell[:] for image in images]),
        pbc=np.array(first.pbc),
        times=np.array([image.info["time_ps"] for image in images], float) if timed else None,
        wrapped=not (timed and "step" in first.info),
        fixed=np.logical_and.reduce([_held(image) for image in images]),
    )
    for name in ("positions", "velocities", "cells"):
        values = getattr(frames, name)
        if values is not None and not np.isfinite(values).all():
            bad = skip + int(np.argwhere(~np.isfinite(values))[0, 0])
            raise StructureError(f"trajectory {path}: frame {bad} has {name} that are not finite numbers")
    return frames


def _held(image: Any) -> NDArray[np.bool_]:
    """(n,) which atoms are held; other constraints do not matter to who only looks on."""
    held = np.zeros(len(image), bool)
    for constraint in image.constraints:
        if isinstance(constraint, FixAtoms):
            held[constraint.index] = True
    return held
