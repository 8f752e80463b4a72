"""Formats that ASE reads for us, and what its readers drop or guess in them."""

import re
import warnings
from pathlib import Path
from typing import Any

from ase import Atoms

from taichimd.core.errors import StructureError
from taichimd.core.printable import counted

_POSCAR = "vasp"
_OWN_UNITS = {"cfg": "AtomEye CFG", "gpumd": "GPUMD's xyz.in", "netcdftrajectory": "NetCDF trajectories"}
"""Formats whose velocities ASE takes for its own unit, which the file need not have."""
_FLAG = re.compile(r"[TF]")
_NUMBER_OR_FLAG = re.compile(r"[TF]|[-+]?[0-9.]+(e[-+]?[0-9]+)?", re.IGNORECASE)


def chosen_frame(path: Path, frame: int | None, count: int, what: str = "frames") -> tuple[int, list[str]]:
    """The frame that is wanted of so many, None: the last, with a remark; or a StructureError."""
    wanted = -1 if frame is None else frame
    if not -count <= wanted < count:
        raise StructureError(
            f"trajectory {path} has {counted(count, 'frame')}; from_frame = {frame}: expected {-count} to "
            f"{count - 1}"
        )
    last = f"{path.name} has {count:,} {what}; the last is used (--from-frame selects a different one)"
    return wanted, [last] if frame is None and count > 1 else []


def format_of(path: Path) -> str | None:
    """ASE's name of the format of a file, or None if it knows none."""
    from ase.io.formats import UnknownFileTypeError, filetype, ioformats

    try:
        name = filetype(str(path))
    except UnknownFileTypeError:
        return None
    return name if name in ioformats else None


def read_other(path: Path, frame: int | None) -> tuple[Atoms, list[str]]:
    """A frame of a file in any format of ASE, None: the last; and remarks on what was guessed and dropped."""
    from ase.io import read
    from ase.io.formats import ioformats

    name = format_of(path)
    options: dict[str, Any] = {"do_not_split_by_at_sign": True, "format": name}
    notes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # readers warn about what a simulation does not need
        if frame is None:
            single = name is None or ioformats[name].single
            frames: Any = [read(path, **options)] if single else read(path, index=slice(-2, None), **options)
            if not frames:
                raise StructureError(f"structure file {path} contains no structure")
            atoms = frames[-1]
            if len(frames) > 1:
                notes.append(
                    f"{path.name} has several frames; the last is used (--from-frame selects a different one)"
                )
        else:
            if frame < -1:
                _check_frame(path, frame, options)  # ASE takes some other frame for one before the first
            try:
                atoms = read(path, index=frame, **options)
            except Exception:
                _check_frame(path, frame, options)
                raise
    if not isinstance(atoms, Atoms):
        raise StructureError(f"structure file {path} contains no structure")
    return atoms, notes + dropped_or_guessed(path, atoms, name)


def dropped_or_guessed(path: Path, atoms: Atoms, name: str | None) -> list[str]:
    """Remarks on what ASE's reader dropped and guessed; velocities whose unit it guessed leave the atoms."""
    check = _CHECKS.get(name or "")
    notes = check(path, atoms) if check is not None else []
    if name in _OWN_UNITS and atoms.has("momenta"):
        del atoms.arrays["momenta"]
        notes.append(f"velocities of {_OWN_UNITS[name]} have no agreed unit and are not used")
    return notes


def _check_frame(path: Path, frame: int, options: dict[str, Any]) -> None:
    """Raise a StructureError if a readable file has no such frame."""
    from ase.io import iread

    try:
        count = sum(1 for _ in iread(path, index=":", **options))
    # Unreadable in any way: the first error says how.
    except Exception:
        return
    chosen_frame(path, frame, count)


def _lines(path: Path) -> list[str]:
    """Lines of a text file, none of a compressed one."""
    if path.suffix in (".gz", ".bz2", ".xz"):
        return []
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _of_poscar(path: Path, atoms: Atoms) -> list[str]:
    """Flags that ASE would take for free, velocities in units of the cell, elements from elsewhere."""
    lines, notes = _lines(path), []
    if len(lines) < 8:
        return []
    named = not lines[5].split()[0].isdigit()
    at = 7 if named else 6
    selective = lines[at].strip()[:1].lower() == "s"
    at += 2 if selective else 1
    for number, line in enumerate(lines[at : at + len(atoms)] if selective else [], start=at + 1):
        if wrong := [flag for flag in line.split()[3:6] if not _FLAG.fullmatch(flag)]:
            raise StructureError(
                f"structure file {path}, line {number}: flag {wrong[0]!r} of selective dynamics; expected "
                "T or F"
            )
    read = 6 if selective else 3
    if any(
        _NUMBER_OR_FLAG.fullmatch(word)
        for line in lines[at : at + len(atoms)]
        for word in line.split()[read:]
    ):
        notes.append(
            f"{path.name} has numbers or flags after the coordinates of atoms; they are not used"
            + ("" if selective else " without a line Selective dynamics")
        )
    if not named:
        kinds = ", ".join(dict.fromkeys(atoms.get_chemical_symbols()))
        notes.append(
            f"{path.name} has no line of elements; {kinds} come from its first line, or from a POTCAR or "
            "OUTCAR in its folder"
        )
    behind = lines[at + len(atoms)] if len(lines) > at + len(atoms) else ""
    if behind.strip()[:1].lower() == "d" and atoms.has("momenta"):
        del atoms.arrays["momenta"]
        notes.append(f"velocities of {path.name} in units of the cell (Direct) are not used")
    if atoms.has("momenta") and not atoms.get_momenta().any():
        # VASP writes zeros where it had no velocities.
        del atoms.arrays["momenta"]
    return notes


def _of_gro(path: Path, atoms: Atoms) -> list[str]:
    """Atoms that ASE drops where the line of the box is missing; elements, which the format has not."""
    lines = _lines(path)
    stated = lines[1].split()[0] if len(lines) > 1 and lines[1].split() else ""
    if lines and (not stated.isdigit() or int(stated) != len(atoms)):
        raise StructureError(
            f"structure file {path} cannot be read: line 2 says {stated[:20]!r} atoms, and {len(atoms)} come "
            "before the line of the box; expected as many"
        )
    found = dict(zip(atoms.arrays["atomtypes"].tolist(), atoms.get_chemical_symbols(), strict=True))
    shown = ", ".join(f"{name} as {symbol}" for name, symbol in list(found.items())[:8])
    if not atoms.cell.any():
        atoms.pbc = False
    return [f"a .gro file has no elements; they were taken from the names of atoms: {shown}"]


def _of_res(path: Path, atoms: Atoms) -> list[str]:
    """Partly occupied sites of SHELX, which ASE takes for whole."""
    for number, line in enumerate(_lines(path), start=1):
        words = line.split()
        if len(words) >= 6 and words[1].isdigit() and re.fullmatch(r"[A-Z][a-z]?\w*", words[0]):
            try:
                factors = [float(word) for word in words[2:6]]
            except ValueError:
                continue
            # 11 is 1, fixed; 10.5 is 0.5, fixed.
            occupancy = factors[3] % 10 if factors[3] > 5.0 else factors[3]
            if abs(occupancy - 1.0) > 1e-3:
                raise StructureError(
                    f"structure file {path}, line {number}: site {words[0]} has the occupancy {occupancy:g}; "
                    "expected 1, one atom on each site"
                )
    return []


def _of_castep(path: Path, atoms: Atoms) -> list[str]:
    """Sites that several elements share, which ASE takes for as many atoms."""
    for number, line in enumerate(_lines(path), start=1):
        if "MIXTURE" in re.split("[!#;]", line.upper())[0]:
            raise StructureError(
                f"structure file {path}, line {number}: {line.split()[0]} shares its site with other "
                "elements (MIXTURE); expected one atom on each site"
            )
    return []


def _of_molecule(path: Path, atoms: Atoms) -> list[str]:
    """Isotopes and further molecules, which ASE does not read."""
    lines, notes = _lines(path), []
    old = [line[34:36].strip() for line in lines[4 : 4 + len(atoms)]]
    if any(line.startswith("M  ISO") for line in lines) or any(one not in ("", "0") for one in old):
        notes.append(f"isotopes of {path.name} are not used: elements have their mean masses")
    count = sum(line.startswith("$$$$") for line in lines)
    return notes + ([f"{path.name} has {count} molecules; the first is taken"] if count > 1 else [])


_CHECKS = {
    _POSCAR: _of_poscar, "gromacs": _of_gro, "res": _of_res, "castep-cell": _of_castep,
    "mol": _of_molecule, "sdf": _of_molecule,
}  # fmt: skip
