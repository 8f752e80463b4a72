"""Frames of a trajectory one by one, as arrays: ours, a LAMMPS dump, or any that ASE reads."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError
from taichimd.core.units import PS
from taichimd.io.lammps_dump import Dump, identified, is_dump
from taichimd.io.other_formats import dropped_or_guessed, format_of
from taichimd.io.structures import check_elements, each_structure, reason_of
from taichimd.io.xyz import VELOCITIES
from taichimd.system.checks import check_occupancies

_STEPS, _TIMES = ("step", "Step", "timestep", "Timestep"), ("time", "Time")


@dataclass(frozen=True)
class Image:
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


def each_image(
    path: Path,
    units: str | None = None,
    elements: Sequence[str] | None = None,
    more: dict[str, Any] | None = None,
) -> Iterator[Image]:
    """The frames of a file one by one, for who does not want all of them in memory.

    Arguments as `read_frames`.
    `more` gets what is known of the whole file: `notes`, `interval`, `unit_unknown`.
    """
    more = {} if more is None else more
    more["notes"] = []
    if is_dump(path):
        return _of_dump(path, units, elements, more)
    if elements is not None:
        raise StructureError(f"elements: {path} is not a LAMMPS dump; leave it out")
    return _of_ase(path, units, more)


def _of_dump(
    path: Path, units: str | None, elements: Sequence[str] | None, more: dict[str, Any]
) -> Iterator[Image]:
    """Frames of a LAMMPS dump."""
    dump, ids, kinds, kept = Dump(path, units), None, None, None
    for number, one in enumerate(dump.frames()):
        if ids is not None and not np.array_equal(one.ids if one.ids is not None else ids, ids):
            raise StructureError(
                f"trajectory {path}: frame {number} has different atoms (ids) than the first frame; expected "
                "the same in every frame"
            )
        if kinds is None or not np.array_equal(one.kinds, kinds):
            kept = identified(one, elements, path)
            kinds, ids = one.kinds, one.ids
        assert kept is not None
        n = len(one.kinds)
        yield Image(
            kept[0], kept[1], one.positions, one.velocities, one.cell, one.pbc, np.zeros(n, bool), one.time,
            float(one.step), None, unwrapped=one.unwrapped, ordered=one.ids is not None,
        )  # fmt: skip
    more["notes"] += dump.notes


def _of_ase(path: Path, units: str | None, more: dict[str, Any]) -> Iterator[Image]:
    """Frames of a file that ASE reads; `more` gains what is known of the whole file."""
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
        raise StructureError(
            f"trajectory {path} cannot be read: {reason_of(error, Path(path))}; expected a format that "
            "ase.io.read knows"
        ) from None


def _from_ase(image: Any, more: dict[str, Any]) -> Image:
    info, n = image.info, len(image)
    clock = next((_number(info[name]) for name in _STEPS if name in info), None)
    if clock is None:
        clock = next((_number(info[name]) for name in _TIMES if name in info), None)
        more["unit_unknown"] = clock is not None
    velocities, column = image.get_velocities() if image.has("momenta") else None, ""
    if velocities is None:
        named = (name for name in VELOCITIES if np.shape(image.arrays.get(name)) == (n, 3))
        if column := next(named, ""):
            velocities = np.array(image.arrays[column], np.float64)
    masses = image.get_masses()
    if not image.has("masses") and np.shape(image.arrays.get("mass")) == (n,):
        masses = np.array(image.arrays["mass"], np.float64)
    energy = image.calc.results.get("energy") if image.calc is not None else None
    return Image(
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


def _held(image: Any) -> NDArray[np.bool_]:
    """(n,) which atoms are held; other constraints do not matter to who only looks on."""
    held = np.zeros(len(image), bool)
    if not image.constraints:
        return held
    from ase.constraints import FixAtoms  # imports SciPy

    for constraint in image.constraints:
        if isinstance(constraint, FixAtoms):
            held[constraint.index] = True
    return held


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
