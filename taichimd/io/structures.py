"""Read any structure file that ASE reads, and say in one line what is wrong with one that cannot be used."""

import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from ase.data import chemical_symbols
from ase.formula import Formula

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError, SettingsError, StructureError, TaichimdError
from taichimd.io.cif import cif_structures, is_cif, read_cif
from taichimd.io.elements import isotopes_told
from taichimd.io.lammps_data import is_lammps_data, read_lammps_data
from taichimd.io.lammps_dump import is_dump, read_dump_frame
from taichimd.io.netcdf_trajectory import is_netcdf, netcdf_frames
from taichimd.io.other_formats import chosen_frame, format_of, read_other
from taichimd.io.pdb import is_pdb, pdb_models, read_pdb
from taichimd.io.xyz import VELOCITIES, each_frame, has_other_names, is_xyz, read_xyz
from taichimd.settings.types import TRAJECTORIES
from taichimd.system.checks import check_occupancies
from taichimd.system.constraints import moving_fixed

_WITH_VELOCITIES = (".xyz", ".extxyz")


def read_structure(
    path: str | Path, frame: int | None = None, *, units: str | None = None, atom_style: str | None = None
) -> Atoms:
    """Atoms of a structure file; of a trajectory the last frame, of a run its checkpoint.

    What is assumed about the file, taken from it or not used is a warning (`read_noted` returns it instead).

    Args:
        path: extxyz, CIF, POSCAR, PDB, LAMMPS data and dumps or any other format of `ase.io.read`; a
            checkpoint; or the folder of a run: its checkpoint, or with `frame` its trajectory.
        frame: of a trajectory; 0 is the first, -1 the last. None: the last.
        units: unit system of LAMMPS files, and of velocities in a column of an XYZ file that names no unit;
            one of `taichimd.io.lammps_units.UNITS`. None: what the file states, else metal.
        atom_style: of a LAMMPS data file whose line `Atoms` names none.

    Returns:
        Positions and cell in Å; velocities, if the file has them, in ASE's unit. Nothing is wrapped.
        `info` of a checkpoint has its `step`.

    Raises:
        StructureError: the file is missing, empty or unreadable, has no such frame, or has no atoms, an
            unknown element, a site that is partly occupied, a mass that is not above zero, a number that is
            not finite, units lj, or atom types whose elements are not known.
        SettingsError: units or an atom style of a file that has units of its own, or no styles.
        CheckpointError: a checkpoint that cannot be used.
    """
    atoms, notes = read_noted(path, frame, units=units, atom_style=atom_style)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return atoms


def read_noted(
    path: str | Path, frame: int | None = None, *, units: str | None = None, atom_style: str | None = None
) -> tuple[Atoms, list[str]]:
    """As `read_structure`, with what it would warn of."""
    path = _in_folder(Path(path), frame)
    os.fsencode(path)  # a name that the locale cannot write would seem to be missing
    if not path.exists():
        raise StructureError(f"structure file {path} does not exist")
    if path.is_file() and path.stat().st_size == 0:
        raise StructureError(f"structure file {path} is empty")
    if path.suffix == ".npz":
        _no_options({"input_units": units, "atom_style": atom_style}, path)
        atoms, notes = _read_checkpoint(path, frame), list[str]()
    else:
        atoms, notes = _read(path, frame, units, atom_style)
        check_elements(atoms, f"structure file {path}")
        check_occupancies(atoms, f"structure file {path}")
        notes += isotopes_told(atoms)
    _check(atoms, path)
    atoms.calc = None
    return atoms, notes


def write_structure(path: Path, atoms: Atoms, *, overwrite: bool) -> None:
    """Write atoms with ASE, in the format of the suffix.

    SettingsError: a suffix that ASE does not know, or velocities for a format that may drop them.
    OutputError: the file is there, or cannot be written.
    """
    from ase.io import write

    if has_velocities(atoms) and path.suffix not in _WITH_VELOCITIES:
        raise SettingsError(f"{path}: velocities need a file named *{' or *'.join(_WITH_VELOCITIES)}")
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder; give the name of a file as --out")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} already exists; give --overwrite to replace it, or another --out")
    try:
        # ASE opens a name, and would follow a link that somebody has put there; a rename replaces the link.
        with tempfile.TemporaryDirectory(prefix=".taichimd-", dir=path.parent) as folder:
            write(Path(folder) / path.name, atoms)
            os.replace(Path(folder) / path.name, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; choose another --out") from error
    # ASE's writers, like its readers, fail in any way on what they do not know.
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise SettingsError(
            f"{path} cannot be written: {reason}; expected a suffix that ASE writes, such as .xyz or .cif"
        ) from None


def _in_folder(path: Path, frame: int | None) -> Path:
    """The file to start from in the folder of a run; other paths are returned unchanged."""
    if not path.is_dir():
        return path
    names = ("checkpoint.npz",) if frame is None else TRAJECTORIES
    there = [path / name for name in names if (path / name).is_file()]
    if there:
        return there[0]
    if frame is not None:
        raise StructureError(f"folder {path} has no trajectory, so there is no frame {frame} to start from")
    if not (path / "metadata.json").exists():  # of a trajectory of ASE that is a folder
        raise StructureError(
            f"folder {path} has no checkpoint.npz; expected a structure file, or the folder of a run"
        )
    return path


def _read_checkpoint(path: Path, frame: int | None) -> Atoms:
    from taichimd.io.checkpoint import read_checkpoint

    checkpoint = read_checkpoint(path)
    if frame not in (None, 0, -1):
        raise StructureError(f"checkpoint {path} has one state and no frame {frame}; give the trajectory")
    atoms = checkpoint.atoms()
    atoms.info["step"] = checkpoint.step
    return atoms


def _read(
    path: Path, frame: int | None, units: str | None, atom_style: str | None
) -> tuple[Atoms, list[str]]:
    """Atoms and remarks, from the reader of the file's format; what a reader raises becomes one line."""
    head = _head(path)
    kind = "LAMMPS data" if is_lammps_data(head) else ""
    try:
        if kind:
            return read_lammps_data(path, units, atom_style)
        _no_options({"atom_style": atom_style}, path)
        if is_dump(path):
            kind = "a LAMMPS dump"
            return read_dump_frame(path, frame, units)
        if is_netcdf(path):
            kind = "AMBER NetCDF"
            return _read_netcdf(path, frame)
        if is_xyz(path, head):
            kind = "(extended) XYZ"
            return read_xyz(path, frame, units)
        _no_options({"input_units": units}, path)
        if is_cif(path, head):
            kind = "CIF"
            return read_cif(path, frame)
        if is_pdb(path, head):
            kind = "PDB"
            return read_pdb(path, frame)
        return read_other(path, frame)
    except TaichimdError:
        raise
    # Readers of ASE fail on bad files in any way (StopIteration, AttributeError, struct.error ...).
    except Exception as error:
        kind = kind or format_of(path) or ""
        raise StructureError(
            f"structure file {path} cannot be read"
            + (f" as {kind}" if kind else "")
            + f": {reason_of(error, path)}; expected a format that ase.io.read knows (extxyz, CIF, POSCAR, "
            "PDB, LAMMPS data ...), and a name that says which"
        ) from None


def reason_of(error: Exception, path: Path) -> str:
    """What a reader of ASE says about a line of a file, in words about the file."""
    text = " ".join(str(error).split())
    if isinstance(error, UnicodeDecodeError):
        return f"it is not text: byte {error.start + 1:,} is not UTF-8"
    if type(error).__name__ == "UnknownFileTypeError":
        name = text if len(text.split()) == 1 else path.suffix.lstrip(".")
        return f"the format {name} is not known"
    if found := re.search(
        r"Expected xyz header but got: invalid literal for int\(\) with base 10: '(.*?)(\\n)?'$", text
    ):
        return f"{found[1]!r} is not the number of atoms"
    if "inhomogeneous shape" in text:
        return "its lines have different numbers of values"
    if found := re.fullmatch(r"could not convert string to float: '(.*)'", text):
        word = found[1]
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        at = [number for number, line in enumerate(lines, 1) if word in line.split()]
        return (f"line {at[0]}: " if len(at) == 1 else "") + f"{word!r} is not a number"
    if found := re.match(
        r"could not broadcast input array from shape \((\d+),\) into shape \((\d+),\)", text
    ):
        return f"a line has {found[1]} numbers instead of {found[2]}"
    return text[:120] or type(error).__name__


def _read_netcdf(path: Path, frame: int | None) -> tuple[Atoms, list[str]]:
    """A frame of a trajectory that this program wrote in AMBER's format; None is the last."""
    try:
        (atoms,) = netcdf_frames(path, -1 if frame is None else frame)
    except IndexError:
        chosen_frame(path, frame, sum(1 for _ in netcdf_frames(path)))
        raise
    last = f"{path.name}: the last frame is used (--from-frame selects a different one)"
    return atoms, [last] if frame is None else []


def each_structure(path: Path, units: str | None) -> Iterator[tuple[Atoms, list[str]]] | None:
    """All structures, with remarks, of a file in which ASE's readers drop or guess something; else None.

    Such are LAMMPS data, a CIF, a PDB file, and an XYZ file with names that are no elements.
    """
    head = _head(path)
    if is_lammps_data(head):
        return iter([read_lammps_data(path, units, None)])
    if units is not None:
        raise StructureError(f"input_units: {path} is not a LAMMPS dump or data file; leave it out")
    if is_netcdf(path):
        return ((atoms, []) for atoms in netcdf_frames(path))
    if is_cif(path, head):
        return cif_structures(path)
    if has_other_names(path):
        return each_frame(path)
    return pdb_models(path) if is_pdb(path, head) else None


def _no_options(options: dict[str, str | None], path: Path) -> None:
    """Refuse options that say something about LAMMPS files where the file is none."""
    for name, value in options.items():
        if value is not None:
            of = "LAMMPS data files" if name == "atom_style" else "LAMMPS files and columns of XYZ files"
            raise SettingsError(f"{name} = {value} is for {of}, and {path} is not such a file; leave it out")


def _head(path: Path) -> str:
    """The first characters of a file; none of a folder."""
    if not path.is_file():
        return ""
    with open(path, "rb") as file:
        return file.read(20_000).decode("utf-8", errors="replace")


def check_elements(atoms: Atoms, where: str) -> None:
    """Raise a StructureError for no atoms, and for atomic numbers that are no element's, such as 0 (X)."""
    if len(atoms) == 0:
        raise StructureError(f"{where} has no atoms")
    unknown = np.flatnonzero((atoms.numbers <= 0) | (atoms.numbers >= len(chemical_symbols)))
    if unknown.size:
        raise StructureError(
            f"{where}: the element of atom {unknown[0]} is not known (a dummy, X); delete the "
            "atom or name its element"
        )


def _check(atoms: Atoms, path: Path) -> None:
    check_elements(atoms, f"structure file {path}")
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
        raise StructureError(f"structure file {path}: the cell is not finite; expected finite numbers (Å)")
    flat = np.flatnonzero(atoms.pbc & ~atoms.cell.array.any(axis=1))
    if flat.size:
        raise StructureError(
            f"structure file {path}: periodic along cell vector {'abc'[flat[0]]}, which has no length; "
            "give the "
            'cell, or pbc="F F F"'
        )


def hold_results(
    atoms: Atoms, energy: float, forces: Array, stress: Array | None, charges: Array | None = None
) -> None:
    """Give atoms ASE's single-point calculator with these results; what is None is left out."""
    results = {
        "energy": energy, "free_energy": energy, "forces": forces, "stress": stress, "charges": charges,
    }  # fmt: skip
    # ASE leaves out what is None.
    atoms.calc = SinglePointCalculator(atoms, **results)


def formula_of(atoms: Atoms) -> str:
    """Chemical formula in Hill's order, of large systems sooner than ASE, which counts atom by atom."""
    kinds, counts = np.unique(atoms.numbers, return_counts=True)
    numbers = {chemical_symbols[kind]: int(count) for kind, count in zip(kinds, counts, strict=True)}
    return str(Formula.from_dict(numbers).format("hill"))


def has_velocities(atoms: Atoms) -> bool:
    """Whether the structure carries velocities (all of them zero counts: a start at 0 K)."""
    return bool(atoms.has("momenta"))


def remarks(atoms: Atoms, charged: bool = False) -> list[str]:
    """What the structure holds and the run will not use, one sentence each; `charged`: charges are used."""
    notes = moving_fixed(atoms) + ([] if charged else unused_charges(atoms))
    for name in VELOCITIES:
        if atoms.has(name) and not atoms.has("momenta"):
            notes.append(
                f"the column {name!r} has no agreed unit and is not used; ASE keeps velocities in 'momenta', "
                "and --input-units real (Å/fs) or metal (Å/ps) says the unit of a column of an XYZ file"
            )
    return notes


def unused_charges(atoms: Atoms) -> list[str]:
    """That charges of the structure are not used, if it has any."""
    if not (atoms.has("initial_charges") and atoms.get_initial_charges().any()):
        return []
    return ["charges of the structure are not used: ReaxFF computes its own, other potentials have none"]
