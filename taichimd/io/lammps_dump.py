"""Text dumps of LAMMPS (`dump custom`, `dump atom`), frame after frame, with all that ASE's reader drops.

Unwrapped columns and image flags give positions that are never folded, TIMESTEP and TIME give the clock,
UNITS the units. Atoms are sorted by their ids. https://docs.lammps.org/dump.html
"""

import gzip
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError
from taichimd.io.elements import element_named, element_of, is_element
from taichimd.io.lammps_units import ASSUMED, LammpsUnits, assumed, units_named
from taichimd.io.other_formats import chosen_frame

_TEXTS = ("element", "typelabel")
_READ = (
    "id", "type", *_TEXTS, "mass", "x", "y", "z", "xs", "ys", "zs", "xu", "yu", "zu", "xsu", "ysu", "zsu",
    "ix", "iy", "iz", "vx", "vy", "vz",
)  # fmt: skip
_WHOLE = ("id", "type", "ix", "iy", "iz")


@dataclass(frozen=True)
class DumpFrame:
    """One frame, in this program's units."""

    step: int  # TIMESTEP
    time: float | None  # ps, of the item TIME; None without one
    cell: Array  # (3, 3) Å, rows
    pbc: NDArray[np.bool_]  # (3,)
    # (n,) rising; None if the dump has none: then atoms are sorted by their kinds
    ids: NDArray[np.int64] | None
    kinds: NDArray[np.str_]  # (n,) elements, or types as texts ("1")
    masses: Array | None  # (n,) amu, or None
    positions: Array  # (n, 3) Å
    unwrapped: bool  # whether they are known never to be folded
    velocities: Array | None  # (n, 3) internal units, or None


def is_dump(path: Path) -> bool:
    """Whether a file begins as a text dump of LAMMPS does."""
    try:
        with opened(path) as file:
            return file.readline(64).startswith("ITEM: ")
    except (OSError, UnicodeDecodeError, EOFError):
        return False


class Dump:
    """A dump, as text or compressed by gzip, read frame after frame; its `notes` are complete at the end.

    `units`: name of its unit system; None: what the item UNITS says, else metal.
    """

    def __init__(self, path: Path, units: str | None = None) -> None:
        self.path, self.where = path, f"trajectory {path}"
        self.notes: list[str] = []
        self._given = None if units is None else units_named(units, f"input_units = {units}")
        self._stated: LammpsUnits | None = None

    def frames(self) -> Iterator[DumpFrame]:
        """All frames in turn; an unfinished last one, of a killed run, is left out and noted."""
        with opened(self.path) as file:
            frame: dict[str, Any] = {}
            number = 0
            try:
                while line := file.readline():
                    if not line.strip():
                        continue
                    if not line.startswith("ITEM: "):
                        raise StructureError(
                            f"{self.where}: frame {number}: found {line.strip()[:40]!r}, expected a line "
                            "that begins with ITEM:"
                        )
                    item = line[6:].strip()
                    if item.startswith("ATOMS"):
                        yield self._frame(file, item.split()[1:], frame, number)
                        frame, number = {}, number + 1
                    else:
                        self._header(file, item, frame)
            except EOFError:
                if number == 0:
                    raise StructureError(
                        f"{self.where} ends within its first frame; expected a complete frame"
                    ) from None
                self.notes.append(f"the last frame of {self.path.name} is incomplete and was left out")
            except (ValueError, IndexError) as error:
                reason = " ".join(str(error).split())[:80]
                raise StructureError(f"{self.where}: frame {number} cannot be read: {reason}") from None
        if self._given is None and self._stated is None:
            self.notes.append(assumed(self.path.name))

    @property
    def units(self) -> LammpsUnits:
        """In which the frames are read."""
        return self._given or self._stated or ASSUMED

    def _header(self, file: IO[str], item: str, frame: dict[str, Any]) -> None:
        """One item before the atoms."""
        name = item.split()[0] if item.split() else ""
        if name == "UNITS":
            stated = _lines(file, 1)[0].strip()
            self._stated = None if self._given else units_named(stated, self.where)
        elif name == "TIME":
            frame["time"] = float(_lines(file, 1)[0])
        elif name == "TIMESTEP":
            frame["step"] = int(_lines(file, 1)[0].split()[0])
        elif item == "NUMBER OF ATOMS":
            frame["count"] = int(_lines(file, 1)[0])
        elif item.startswith("BOX BOUNDS"):
            frame["box"] = item.split()[2:], np.loadtxt(_lines(file, 3), ndmin=2)
        else:
            raise StructureError(f"{self.where}: unknown item {item[:40]!r} of a dump")

    def _frame(self, file: IO[str], names: list[str], frame: dict[str, Any], number: int) -> DumpFrame:
        missing = {"step": "TIMESTEP", "count": "NUMBER OF ATOMS", "box": "BOX BOUNDS"}
        for key, item in missing.items():
            if key not in frame:
                raise StructureError(f"{self.where}: frame {number} has no item {item}")
        columns = _columns(_lines(file, frame["count"]), names) if frame["count"] else {}
        if not columns:
            raise StructureError(f"{self.where}: frame {number} has no atoms")
        unit = self.units
        cell, origin, pbc = _box(*frame["box"])
        cell, origin = cell * unit.length, origin * unit.length
        positions, unwrapped = self._positions(columns, cell, origin, number)
        kinds = self._kinds(columns, number)
        order = np.argsort(columns["id"] if "id" in columns else kinds, kind="stable")
        if "id" in columns and (np.diff(columns["id"][order]) == 0).any():
            raise StructureError(
                f"{self.where}: frame {number} has two atoms with the same id; expected one id for each atom"
            )
        velocities = _triple(columns, "vx vy vz")
        return DumpFrame(
            step=frame["step"],
            time=frame["time"] * unit.time_ps if "time" in frame else None,
            cell=cell,
            pbc=pbc,
            ids=columns["id"][order] if "id" in columns else None,
            kinds=kinds[order],
            masses=columns["mass"][order] * unit.mass if "mass" in columns else None,
            positions=positions[order],
            unwrapped=unwrapped,
            velocities=None if velocities is None else velocities[order] * unit.velocity,
        )

    def _positions(
        self, columns: dict[str, Any], cell: Array, origin: Array, number: int
    ) -> tuple[Array, bool]:
        """Å, and whether they are never folded; unfolded columns first, then flags, then what there is."""
        length = self.units.length
        flags = _triple(columns, "ix iy iz")
        shift = 0.0 if flags is None else flags @ cell
        if (x := _triple(columns, "xu yu zu")) is not None:
            return x * length, True
        if (x := _triple(columns, "xsu ysu zsu")) is not None:
            return origin + x @ cell, True
        if (x := _triple(columns, "x y z")) is not None:
            return x * length + shift, flags is not None
        if (x := _triple(columns, "xs ys zs")) is not None:
            return origin + x @ cell + shift, flags is not None
        raise StructureError(
            f"{self.where}: frame {number} has no positions; expected columns x y z, xs ys zs, xu yu zu or "
            "xsu ysu zsu"
        )

    def _kinds(self, columns: dict[str, Any], number: int) -> NDArray[np.str_]:
        for name in ("element", "typelabel", "type"):
            if name in columns:
                return np.asarray(columns[name]).astype(str)
        raise StructureError(
            f"{self.where}: frame {number} has neither a column element nor type; dump one of them"
        )


def identified(
    frame: DumpFrame, elements: Sequence[str] | None, path: Path
) -> tuple[NDArray[np.str_], Array]:
    """Elements and masses (amu) of the atoms of a frame; `elements`: of the types 1, 2 ..., if given."""
    kinds = sorted(set(frame.kinds.tolist()))
    types = [kind for kind in kinds if kind.isdigit()]
    named = {kind: kind for kind in kinds}
    if types:
        listed, needed = ", ".join(types), max(int(kind) for kind in types)
        if elements is None and frame.masses is not None:
            mass = {kind: float(frame.masses[frame.kinds == kind][0]) for kind in types}
            where = f"trajectory {path}, atom type"
            elements = [
                element_of(mass[str(k)], "", f"{where} {k}").symbol if str(k) in mass else "H"
                for k in range(1, needed + 1)
            ]
        if elements is None:
            raise StructureError(
                f"trajectory {path} has the atom types {listed} and no elements; give --elements, one for "
                "each type in turn, such as --elements Si,O"
            )
        if needed > len(elements) or "0" in types:
            raise StructureError(
                f"trajectory {path} has the atom types {listed}, but --elements names {len(elements)}: "
                "expected one element for each type from 1"
            )
        named |= {kind: elements[int(kind) - 1] for kind in types}
    found = {}
    for kind, name in named.items():
        if not is_element(name):
            raise StructureError(
                f"trajectory {path}: unknown element {name!r} (atoms {kind}); give --elements"
            )
        found[kind] = element_named(name)
    symbols = np.array([found[kind].symbol for kind in frame.kinds.tolist()])
    masses = np.array([found[kind].mass for kind in frame.kinds.tolist()])
    return symbols, masses if frame.masses is None else frame.masses


def opened(path: Path) -> IO[str]:
    """A text file, or one compressed by gzip, to read."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return open(path, encoding="utf-8")


def _lines(file: IO[str], count: int) -> list[str]:
    """The next lines; EOFError if there are fewer, or the last is cut."""
    lines = list(islice(file, count))
    if len(lines) < count or not lines[-1].endswith("\n"):
        raise EOFError
    return lines


def _columns(lines: list[str], names: list[str]) -> dict[str, Any]:
    """Those columns that are read."""
    used = [(k, name) for k, name in enumerate(names) if name in _READ]
    kinds = [(name, "U16" if name in _TEXTS else np.int64 if name in _WHOLE else float) for _, name in used]
    table = np.loadtxt(lines, dtype=kinds, usecols=[k for k, _ in used], ndmin=1, comments=None)
    return {name: table[name] for _, name in used}


def _triple(columns: dict[str, Any], names: str) -> Array | None:
    """Three columns as (n, 3), or None."""
    wanted = names.split()
    if not all(name in columns for name in wanted):
        return None
    return np.column_stack([columns[name] for name in wanted]).astype(np.float64)


def _box(words: list[str], bounds: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Cell, origin, periodic directions of an item BOX BOUNDS, whose bounds are those of the bounding box."""
    flags = [word for word in words if len(word) == 2 and set(word) <= set("pfsm")]
    # LAMMPS before 2009 did not write them; its default is periodic.
    pbc = np.array([word == "pp" for word in flags] if len(flags) == 3 else [True] * 3)
    if words[:2] == ["abc", "origin"]:
        return bounds[:, :3], bounds[:, 3], pbc
    low, high = bounds[:, 0].copy(), bounds[:, 1].copy()
    xy, xz, yz = bounds[:, 2] if bounds.shape[1] > 2 else (0.0, 0.0, 0.0)
    low -= [min(0.0, xy) + min(0.0, xz), min(0.0, yz), 0.0]
    high -= [max(0.0, xy) + max(0.0, xz), max(0.0, yz), 0.0]
    lx, ly, lz = high - low
    return np.array([[lx, 0.0, 0.0], [xy, ly, 0.0], [xz, yz, lz]]), low, pbc


def read_dump_frame(path: Path, frame: int | None, units: str | None) -> tuple[Atoms, list[str]]:
    """A frame, None: the last, and remarks; unfolded where the dump says how, velocities if there are any."""
    dump, count = Dump(path, units), 0
    wanted = -1 if frame is None else frame
    kept: deque[DumpFrame] = deque(maxlen=max(1, -wanted))
    for one in dump.frames():
        if wanted < 0 or count == wanted:
            kept.append(one)
        count += 1
    _, notes = chosen_frame(path, frame, count)
    found, notes = kept[0], [*dump.notes, *notes]
    if found.masses is None and any(kind.isdigit() for kind in found.kinds.tolist()):
        types = ", ".join(sorted(set(found.kinds.tolist()))[:5])
        raise StructureError(
            f"structure file {path} has atom types ({types}) and no elements; write it with a column "
            "element: "
            "dump ID all custom N FILE id element x y z, dump_modify ID element Si O, one for each type"
        )
    symbols, masses = identified(found, None, path)
    atoms = Atoms(
        symbols.tolist(), positions=found.positions, cell=found.cell, pbc=found.pbc, masses=masses.tolist()
    )
    if found.velocities is not None:
        atoms.set_velocities(found.velocities)
    return atoms, notes
