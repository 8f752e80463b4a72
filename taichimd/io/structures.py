"""Read any structure file that ASE reads, and say in one line what is wrong with one that cannot be used."""

import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from ase.data import chemical_symbols

from taichimd.core.errors import OutputError, SettingsError, StructureError
from taichimd.program.results import Array
from taichimd.system.constraints import moving_fixed

UNUSED = ("vel", "velo", "velocities")
"""Columns that look like velocities and say no unit."""
_WITH_VELOCITIES = (".xyz", ".extxyz")
_LAMMPS_DATA = re.compile(r"^\s*\d+\s+atoms\s*$.*^\s*\S+\s+\S+\s+xlo\s+xhi", re.MULTILINE | re.DOTALL)
_ELEMENTS = re.compile(rb"^\s*(Masses|Atom Type Labels)\b", re.MULTILINE)
"""Sections of LAMMPS data that say which elements the atom types are."""
_DUMP_OF_TYPES = re.compile(r"^ITEM: ATOMS (?!.*\belement\b).*\btype\b", re.MULTILINE)
_XYZ_OF_NUMBERS = re.compile(r"\A\s*\d+[ \t]*\n(?!.*\bProperties=(?!species:S:1)).*\n[ \t]*\d+[ \t]")
_ATOM_STYLE = re.compile(r"^\s*Atoms\s*#\s*(\w+)", re.MULTILINE)


def read_structure(path: str | Path, frame: int | None = None) -> Atoms:
    """Atoms of a structure file; of a trajectory the last frame, of a run its checkpoint.

    Args:
        path: extxyz, CIF, POSCAR, PDB, LAMMPS data (units metal) or any other format of `ase.io.read`; a
            checkpoint; or the folder of a run: its checkpoint, or with `frame` its trajectory.
        frame: of a trajectory; 0 is the first, -1 the last. None: the last.

    Returns:
        Positions and cell in Å; velocities, if the file has them, in ASE's unit. Nothing is wrapped.
        `info` of a checkpoint has its `step`.

    Raises:
        StructureError: the file is missing, empty or unreadable, has no such frame, or holds no atoms, an
            unknown element, a mass that is not above zero, a number that is not finite, or LAMMPS data
            without masses.
        CheckpointError: a checkpoint that cannot be used.
    """
    path = _in_folder(Path(path), frame)
    if not path.exists():
        raise StructureError(f"structure file {path} does not exist")
    if path.is_file() and path.stat().st_size == 0:
        raise StructureError(f"structure file {path} is empty")
    atoms = _read_checkpoint(path, frame) if path.suffix == ".npz" else _read(path, frame)
    _check(atoms, path)
    atoms.calc = None
    return atoms


def write_structure(path: Path, atoms: Atoms, *, overwrite: bool) -> None:
    """Write atoms with ASE.

    Args:
        path: the file; its suffix says the format.
        atoms: with velocities or without.
        overwrite: whether a file that is there may be replaced.

    Raises:
        SettingsError: a suffix that ASE does not know, or velocities for a format that may drop them.
        OutputError: the file is there, or cannot be written.
    """
    from ase.io import write

    if has_velocities(atoms) and path.suffix not in _WITH_VELOCITIES:
        raise SettingsError(f"{path}: velocities need a file named *{' or *'.join(_WITH_VELOCITIES)}")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} is there already; give --overwrite to replace it, or another --out")
    try:
        write(path, atoms)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; choose another --out") from error
    # ASE's writers, like its readers, fail in any way on what they do not know.
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise SettingsError(
            f"{path} cannot be written: {reason}; expected a suffix that ASE writes, such as .xyz or .cif"
        ) from None


def _in_folder(path: Path, frame: int | None) -> Path:
    """Of the folder of a run the file to start from; other paths stay."""
    if not path.is_dir():
        return path
    names = ("checkpoint.npz",) if frame is None else ("trajectory.extxyz", "trajectory.traj")
    there = [path / name for name in names if (path / name).is_file()]
    if there:
        return there[0]
    if frame is not None:
        raise StructureError(f"folder {path} holds no trajectory, so there is no frame {frame} to start from")
    return path


def _read_checkpoint(path: Path, frame: int | None) -> Atoms:
    from taichimd.io.checkpoint import read_checkpoint

    checkpoint = read_checkpoint(path)
    if frame not in (None, 0, -1):
        raise StructureError(f"checkpoint {path} holds one state, no frame {frame}; give the trajectory")
    atoms = checkpoint.atoms()
    atoms.info["step"] = checkpoint.step
    return atoms


def _read(path: Path, frame: int | None) -> Atoms:
    from ase.io import read

    options: dict[str, Any] = {"index": -1 if frame is None else frame, "do_not_split_by_at_sign": True}
    options |= _lammps_options(path)
    if frame is not None and frame < -1:
        _check_frame(path, frame)  # ASE takes some other frame for one before the first
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # readers warn about what a simulation does not need
            atoms = read(_with_elements(path) or path, **options)
    # ASE's readers fail on bad files in any way (StopIteration, AttributeError, struct.error ...).
    except Exception as error:
        if frame is not None:
            _check_frame(path, frame)
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise StructureError(
            f"structure file {path} cannot be read: {reason}; expected a format that ase.io.read knows "
            "(extxyz, CIF, POSCAR, PDB, LAMMPS data ...)"
        ) from None
    if not isinstance(atoms, Atoms):
        raise StructureError(f"structure file {path} holds no structure")
    return atoms


def _head(path: Path) -> str:
    """The first characters of a file; none of a folder."""
    if not path.is_file():
        return ""
    with open(path, "rb") as file:
        return file.read(20_000).decode("utf-8", errors="replace")


def _with_elements(path: Path) -> io.StringIO | None:
    """An XYZ file with elements in the place of atomic numbers, which ASE does not read; None of others.

    Raises:
        ValueError, IndexError: a line that is none of such a file.
    """
    if not _XYZ_OF_NUMBERS.match(_head(path)):
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    first = 0
    while first < len(lines) and lines[first].strip():
        end = first + 2 + int(lines[first])
        for k in range(first + 2, end):
            number, rest = lines[k].split(maxsplit=1)
            lines[k] = f"{chemical_symbols[int(number)]} {rest}"
        first = end
    return io.StringIO("\n".join(lines) + "\n")


def _check_frame(path: Path, frame: int) -> None:
    """Raise a StructureError if a readable file has no such frame."""
    from ase.io import iread

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            count = sum(1 for _ in iread(path, index=":", do_not_split_by_at_sign=True))
    # Unreadable in any way: the first error says how.
    except Exception:
        return
    if not -count <= frame < count:
        raise StructureError(
            f"trajectory {path} has {count} frames; from_frame = {frame}: expected {-count} to {count - 1}"
        )


def _lammps_options(path: Path) -> dict[str, Any]:
    """ASE knows LAMMPS data files only if told: they have no fixed name and no magic first line.

    Raises:
        StructureError: a data file that does not say which elements its atom types are: ASE would take their
            numbers for atomic ones, 1 for hydrogen.
    """
    text = _head(path)
    if _XYZ_OF_NUMBERS.match(text):
        return {"format": "extxyz"}
    if not _LAMMPS_DATA.search(text):
        return {}
    if not _ELEMENTS.search(path.read_bytes()):
        raise StructureError(
            f"structure file {path}: LAMMPS data without a section Masses, so the elements of its atom types "
            'are not known; add one with a line "type mass" for each: Masses, an empty line, 1 28.0855'
        )
    style = _ATOM_STYLE.search(text)
    return {"format": "lammps-data", "units": "metal", "atom_style": style.group(1) if style else "atomic"}


def _check(atoms: Atoms, path: Path) -> None:
    if len(atoms) == 0:
        raise StructureError(f"structure file {path} holds no atoms")
    unknown = np.flatnonzero(atoms.numbers == 0)
    if unknown.size:
        raise StructureError(f"structure file {path}: the element of atom {unknown[0]} is not known")
    masses = atoms.get_masses()
    # Before velocities, which are momenta over these.
    wrong = np.flatnonzero(~(np.isfinite(masses) & (masses > 0.0)))
    if wrong.size:
        raise StructureError(
            f"structure file {path}: the mass of atom {wrong[0]} is {masses[wrong[0]]:g}; "
            "expected a number above 0 (amu)"
        )
    quantities = {"position": atoms.positions, "velocity": atoms.get_velocities()}
    for name, values in quantities.items():
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if bad.size:
            raise StructureError(f"structure file {path}: the {name} of atom {bad[0]} is not a finite number")
    if not np.isfinite(atoms.cell.array).all():
        raise StructureError(f"structure file {path}: the cell is not finite")


def hold_results(
    atoms: Atoms, energy: float, forces: Array, stress: Array | None, charges: Array | None = None
) -> None:
    """Give atoms ASE's single-point calculator with these results; what is None is left out."""
    results = {
        "energy": energy, "free_energy": energy, "forces": forces, "stress": stress, "charges": charges,
    }  # fmt: skip
    # ASE leaves out what is None.
    atoms.calc = SinglePointCalculator(atoms, **results)


def has_velocities(atoms: Atoms) -> bool:
    """Whether the structure carries velocities (all of them zero counts: a start at 0 K)."""
    return bool(atoms.has("momenta"))


def remarks(atoms: Atoms) -> list[str]:
    """What the structure holds and the run will not use, one sentence each.

    Raises:
        SettingsError: constraints other than fixed atoms.
    """
    notes = moving_fixed(atoms)
    for name in UNUSED:
        if atoms.has(name) and not atoms.has("momenta"):
            notes.append(
                f"the column {name!r} has no agreed unit and is not used; ASE keeps velocities in 'momenta'"
            )
    return notes


def numbers_for_elements(path: Path, atoms: Atoms) -> list[str]:
    """That a file has numbers where others have elements, if it has: they count as atomic numbers.

    Args:
        path: XYZ, extxyz or a LAMMPS dump; others say what their numbers are.
        atoms: that were read from it.
    """
    text = _head(path)
    if not (_DUMP_OF_TYPES.search(text) or _XYZ_OF_NUMBERS.match(text)):
        return []
    found = dict(zip(atoms.numbers.tolist(), atoms.get_chemical_symbols(), strict=True))
    shown = ", ".join(f"{number} as {found[number]}" for number in sorted(found)[:5])
    return [
        f"numbers in {path.name} were taken as atomic numbers: {shown}; write elements if they are atom types"
    ]
