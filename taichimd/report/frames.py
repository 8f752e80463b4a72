"""Frames of a trajectory for a picture: some atoms of some frames, read without holding the whole file.

A trajectory that is still growing, or whose writer was killed, may end within a frame, which is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from ase.data import chemical_symbols
from ase.geometry import wrap_positions
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError, TaichimdError
from taichimd.io.images import each_image
from taichimd.io.structures import read_noted
from taichimd.report.groups import groups_of

MAX_ATOMS, MAX_FRAMES = 20_000, 100
"""Most atoms and frames of a 3D view: with more, a browser cannot turn the view smoothly."""
_SEED = 1
_LINE_END = 10
_CUT = "the last frame is cut off and left out"


@dataclass(frozen=True)
class Shown:
    """Atoms of a picture."""

    symbols: NDArray[np.str_]  # (n,) chemical symbols
    positions: Array  # (frames, n, 3) Å, within the cell where it is periodic
    cells: Array  # (frames, 3, 3) Å; a row is zero where there is no vector
    labels: Sequence[str]  # of the frames, such as "0.5 ps"
    notes: list[str] = field(default_factory=list)  # what was assumed about the file, and what is not shown
    # by name, (n,) whether an atom is in the group
    groups: dict[str, NDArray[np.bool_]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Frame:
    """One frame; `symbols` and `positions` of the atoms that are shown."""

    symbols: NDArray[np.str_]
    positions: Array
    cell: Array
    pbc: NDArray[np.bool_]
    label: str


def shown_frames(path: Path, units: str | None = None, elements: Sequence[str] | None = None) -> Shown:
    """Frames of a trajectory, structure or checkpoint: at most 100, with at most 20,000 atoms."""
    if not path.is_file():
        raise StructureError(f"{path} does not exist, or is not a file; expected a trajectory or a structure")
    if path.stat().st_size == 0:
        raise StructureError(f"{path} is empty")
    notes: list[str] = []
    own = units is None and elements is None
    if path.suffix == ".npz":
        atoms, said = read_noted(path)
        notes += said
        frames, total, n_atoms = [_of_atoms(atoms, f"step {atoms.info['step']:,}")], 1, len(atoms)
    elif own and path.suffix in (".xyz", ".extxyz"):
        frames, total, n_atoms = _of_text(path, notes)
    elif own and path.suffix == ".traj":
        frames, total, n_atoms = _of_binary(path, notes)
    else:
        frames, total, n_atoms = _of_any(path, units, elements, notes)
    first = frames[0]
    if any(not np.array_equal(one.symbols, first.symbols) for one in frames):
        raise StructureError(f"{path}: the frames have other atoms than the first; expected the same in all")
    if len(first.symbols) < n_atoms:
        notes.insert(0, f"{len(first.symbols):,} of {n_atoms:,} atoms are shown, drawn at random")
    if len(frames) < total:
        notes.append(f"{len(frames):,} of {total:,} frames are shown, at equal intervals")
    positions = np.array([_wrapped(one) for one in frames])
    if not np.isfinite(positions).all():
        raise StructureError(f"{path}: a position is not a finite number")
    cells, labels = np.array([one.cell for one in frames]), [one.label for one in frames]
    groups = groups_of(path, first.symbols, _kept(n_atoms))
    return Shown(first.symbols, positions, cells, labels, notes, groups)


def _wrapped(frame: _Frame) -> Array:
    """Positions within the cell, along its periodic vectors."""
    periodic = frame.pbc & frame.cell.any(axis=1)
    if not periodic.any():
        return frame.positions
    wrapped: Array = wrap_positions(frame.positions, frame.cell, periodic)
    return wrapped


def _of_atoms(atoms: Any, label: str) -> _Frame:
    kept = _kept(len(atoms))
    symbols = np.array(atoms.get_chemical_symbols())[kept]
    return _Frame(symbols, atoms.positions[kept], np.array(atoms.cell), np.array(atoms.pbc), label)


def _kept(n_atoms: int) -> NDArray[np.int64]:
    """Numbers of the atoms that are shown, rising; the same ones in every frame."""
    if n_atoms <= MAX_ATOMS:
        return np.arange(n_atoms)
    return np.sort(np.random.default_rng(_SEED).choice(n_atoms, MAX_ATOMS, replace=False))


def _chosen(total: int) -> list[int]:
    """Numbers of the frames that are shown: the first, the last, and others at equal intervals."""
    return np.unique(np.linspace(0, total - 1, min(total, MAX_FRAMES)).round().astype(int)).tolist()


def _of_text(path: Path, notes: list[str]) -> tuple[list[_Frame], int, int]:
    """Frames of an extended XYZ file: the frames, how many the file has, and number of atoms."""
    with open(path, "rb") as file:
        ranges, n_atoms, cut = _ranges(file, path)
        if cut:
            notes.append(_CUT)
        if not ranges:
            raise StructureError(f"{path} has no whole frame yet")
        frames, kept = [], _kept(n_atoms)
        for number in _chosen(len(ranges)):
            begin, end = ranges[number]
            file.seek(begin)
            frames.append(_parsed(file.read(end - begin), kept, path, number))
    return frames, len(ranges), n_atoms


def _ranges(file: BinaryIO, path: Path) -> tuple[list[tuple[int, int]], int, bool]:
    """Bytes of the whole frames of an extended XYZ file, number of atoms, and whether a frame is cut off."""
    ranges: list[tuple[int, int]] = []
    at, n_atoms, guess = 0, -1, 1 << 16
    while True:
        file.seek(at)
        count = file.readline()
        if not count.strip():
            if not count:
                return ranges, n_atoms, False
            at += len(count)
            continue
        if not count.strip().isdigit():
            word = count.decode(errors="replace").strip()[:60]
            raise StructureError(
                f"{path}, byte {at}: cannot be read as the number of atoms: {word!r}; expected (extended) "
                "XYZ, or a name that says which format it is"
            )
        if n_atoms not in (-1, int(count)):
            raise StructureError(f"{path}: the number of atoms changes; expected the same in all frames")
        # Comment and atoms.
        n_atoms, left, begin = int(count), int(count) + 1, at
        at += len(count)
        while left:
            chunk = file.read(guess)
            if not chunk:
                return ranges, n_atoms, True
            ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == _LINE_END)
            if len(ends) < left:
                left -= len(ends)
                at += len(chunk)
            else:
                at += int(ends[left - 1]) + 1
                left = 0
        guess = min(max(at - begin, 1 << 12), 1 << 24)
        ranges.append((begin, at))


def _parsed(data: bytes, kept: NDArray[np.int64], path: Path, number: int) -> _Frame:
    """A frame from its bytes."""
    from ase.io.extxyz import key_val_str_to_dict

    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _LINE_END).tolist()
    try:
        info = key_val_str_to_dict(data[ends[0] + 1 : ends[1]].decode(errors="replace").strip())
        species, position = _columns(str(info.get("Properties", "species:S:1:pos:R:3")))
        words = [data[ends[k + 1] + 1 : ends[k + 2]].split() for k in kept.tolist()]
        symbols = np.array([_symbol(one[species].decode()) for one in words])
        positions = np.array([one[position : position + 3] for one in words], float).reshape(-1, 3)
        # ASE's reader of the comment gives the vectors in columns.
        cell = np.array(info.get("Lattice", np.zeros((3, 3))), float).reshape(3, 3).T
        pbc = np.broadcast_to(np.array(info.get("pbc", cell.any(axis=1))), 3)
        label = _label(info, number)
    except (ValueError, TypeError, IndexError) as error:
        reason = " ".join(str(error).split())[:80]
        raise StructureError(f"{path}: frame {number} cannot be read: {reason}") from None
    return _Frame(symbols, positions, cell, np.array(pbc, bool), label)


def _columns(properties: str) -> tuple[int, int]:
    """Numbers of the columns of species and of the first coordinate."""
    at, found, words = 0, dict[str, int](), properties.split(":")
    for name, _, count in zip(words[::3], words[1::3], words[2::3], strict=True):
        found[name] = at
        at += int(count)
    if not found.keys() & {"species", "Z"} or "pos" not in found:
        raise ValueError("the columns species and pos are not there")
    return found.get("species", found.get("Z", 0)), found["pos"]


def _symbol(word: str) -> str:
    """An element; "X" of what is none, such as the name of a bead."""
    if word.isdigit() and int(word) < len(chemical_symbols):
        return chemical_symbols[int(word)]
    word = {"D": "H", "T": "H"}.get(word, word.capitalize())
    return word if word in chemical_symbols else "X"


def _label(info: dict[str, Any], number: int) -> str:
    """What a frame is called, from the comment of its file."""
    if "time_ps" in info:
        return f"{float(info['time_ps']):.6g} ps"
    return f"step {int(info['step']):,}" if "step" in info else f"frame {number:,}"


def _of_binary(path: Path, notes: list[str]) -> tuple[list[_Frame], int, int]:
    """Return the frames of ASE's binary format, as `_of_text`."""
    from ase.io.trajectory import TrajectoryReader

    try:
        with TrajectoryReader(str(path)) as file:
            total = len(file)
            if not total:
                raise StructureError(f"{path} has no whole frame yet")
            frames = []
            for number in _chosen(total):
                atoms = file[number]
                frames.append(_of_atoms(atoms, _label(atoms.info, number)))
    except TaichimdError:
        raise
    # ASE's reader fails on bad files in any way.
    except Exception as error:
        reason = " ".join(str(error).split())[:80] or type(error).__name__
        raise StructureError(f"{path} cannot be read: {reason}") from None
    return frames, total, len(atoms)


def _of_any(
    path: Path, units: str | None, elements: Sequence[str] | None, notes: list[str]
) -> tuple[list[_Frame], int, int]:
    """Return frames of other formats, as `_of_text`; files are read to the end, and some frames are kept."""
    frames: list[_Frame] = []
    last, stride, total, n_atoms = None, 1, 0, 0
    more: dict[str, Any] = {}
    images: Iterator[Any] = each_image(path, units, elements, more)
    try:
        for total, image in enumerate(images, 1):
            n_atoms = len(image.symbols)
            kept, label = _kept(n_atoms), f"frame {total - 1:,}"
            if image.time is not None:
                label = f"{image.time:.6g} ps"
            elif image.clock is not None:
                label = f"step {image.clock:,.0f}"
            last = _Frame(image.symbols[kept], image.positions[kept], image.cell, image.pbc, label)
            if (total - 1) % stride == 0:
                frames.append(last)
            if len(frames) > 2 * MAX_FRAMES:
                frames, stride = frames[::2], 2 * stride
    except StructureError:
        if not total:
            raise
        notes.append(_CUT)
    notes += more["notes"]
    if last is None or not n_atoms:
        raise StructureError(f"{path} has no atoms")
    if last is not frames[-1]:
        frames.append(last)
    return [frames[number] for number in _chosen(len(frames))], total, n_atoms
