"""trajectory.nc: frames in AMBER's binary format, which OVITO, VMD, MDAnalysis and ASE open.

The container is NetCDF (classic, 64-bit offsets): a header, then one record of equal length for each frame.
The header is written with the first frame. Each further frame is one record more, and then the number of
records in the header. So a file whose writer was killed within a frame reads up to the frame before. Numbers
of each atom are float32, as AMBER's convention has them; all others, and the masses, are float64.

The names and units are those of AMBER's convention: `coordinates` (Å), `velocities` (Å/ps), `forces`
(kcal/mol/Å), `cell_lengths`, `cell_angles`, `time` (ps). Stored are the numbers of the run; `scale_factor`
makes the convention's units of them. `atom_types` are atomic numbers. More than the convention knows: `step`,
`energy` (eV), `stress` (eV/Å^3), `cell_vectors` (Å), `masses` (amu), `fixed`, `charges` (e), `energies` and
`virials` (eV) of each atom, energies of terms.

Formats: https://ambermd.org/netcdf/nctraj.xhtml and
https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from ase.cell import Cell
from ase.units import kcal, mol
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError
from taichimd.core.units import PS
from taichimd.io.files import open_own, writing
from taichimd.io.snapshot import FrameWriter, Snapshot
from taichimd.system.constraints import fix

PROGRAM = "taichimd"
_SIZES = {"spatial": 3, "voigt": 6, "cell_spatial": 3, "cell_angular": 3, "label": 5, "nine": 9}
_DAMAGED = (
    OSError, ValueError, TypeError, KeyError, AttributeError, IndexError, MemoryError, OverflowError,
    AssertionError,
)  # fmt: skip
"""What SciPy raises of a damaged header."""
_HEAD = 4096
"""Bytes in which the attributes of the file are."""
_BEGIN = re.compile(rb"frames_begin_at\0.{8}(\d{20})", re.DOTALL)
"""The attribute that says at which byte frames begin: name, type and length, digits."""
_COUNT_AT = 4
"""Byte of the header where the number of records is, four bytes."""
_UNITS = {
    "time": "picosecond", "step": "MD step", "cell_lengths": "angstrom", "cell_angles": "degree",
    "cell_vectors": "angstrom", "coordinates": "angstrom", "velocities": "angstrom/picosecond",
    "forces": "kilocalorie/mole/angstrom", "energy": "eV", "stress": "eV/angstrom^3, xx yy zz yz xz xy",
    "energies": "eV", "virials": "eV", "charges": "e",
}  # fmt: skip
_SCALES = {"velocities": PS, "forces": mol / kcal}
"""What the stored numbers, in ASE's unit and eV/Å, are multiplied by to have the units above."""
_DIMENSIONS: dict[str, tuple[str, ...]] = {
    "cell_lengths": ("cell_spatial",), "cell_angles": ("cell_angular",),
    "cell_vectors": ("cell_spatial", "spatial"), "stress": ("voigt",), "coordinates": ("atom", "spatial"),
    "velocities": ("atom", "spatial"), "forces": ("atom", "spatial"), "virials": ("atom", "nine"),
}  # fmt: skip
"""Dimensions of what a frame has, besides `frame`; all else is a number for each atom, or one number."""
_SINGLE, _DOUBLE = ">f4", ">f8"
_TYPES = {"S1": 2, "i4": 4, "f4": 5, "f8": 6}
"""Numbers of the format for the types of variables and attributes."""


@dataclass(frozen=True)
class Layout:
    """Where the frames of a file are."""

    begin: int  # byte at which the first one begins
    record: np.dtype[Any]  # type of a frame, a field for each of its variables
    count: int  # frames that are complete

    def frames(self, path: Path) -> NDArray[Any]:
        """(count,) frames, read from the disk when they are used."""
        if not self.count:
            return np.empty(0, self.record)
        return np.memmap(path, self.record, "r", offset=self.begin, shape=(self.count,))


class NetcdfTrajectoryWriter(FrameWriter):
    """Appends frames in AMBER's format; a file that an earlier version began in float64 continues so."""

    @property
    def single(self) -> bool:  # type: ignore[override]
        """Whether positions, velocities and forces are written in float32."""
        return self._layout is None or self._layout.record["coordinates"].base.itemsize == 4

    def _open(self, drop_from: int | None) -> None:
        path = self.path
        self._layout: Layout | None = None
        if drop_from is not None and path.exists() and cut_netcdf(path, drop_from):
            self._layout = layout_of(path)
            if self._layout.record["coordinates"].shape != (len(self._symbols), 3):
                raise OutputError(f"{path} has a different number of atoms; choose another --output")
        with writing(path):
            mode = "r+" if self._layout is not None else "w"
            self._file = os.fdopen(open_own(path, mode), f"{mode}b")

    def append_frame(self, frame: Snapshot) -> None:
        """Write a frame and hand it to the system; an OutputError if its quantities are not those before."""
        values = self._values(frame)
        with writing(self.path):
            if self._layout is None:
                record = _record(values)
                header = _header(record, self._of_file(frame))
                self._layout = Layout(len(header), record, 1)
                self._file.write(header)
                self._file.write(_filled(record, values).data)
                self._file.flush()
                return
            begin, record, count = self._layout.begin, self._layout.record, self._layout.count
            if set(record.names or ()) != set(values):
                other = ", ".join(sorted(set(record.names or ()) ^ set(values)))
                raise OutputError(
                    f"{self.path} has frames with different quantities ({other}): all frames of this format "
                    "have the quantities of the first frame; choose another --output"
                )
            self._file.seek(begin + count * record.itemsize)
            self._file.write(_filled(record, values).data)
            self._file.flush()
            self._layout = Layout(begin, record, count + 1)
            _write_count(self._file, count + 1)

    def _values(self, frame: Snapshot) -> dict[str, Any]:
        """The values of a frame that the file holds, in the order of the file."""
        lengths = Cell(frame.cell).lengths() * self._pbc
        found: dict[str, Any] = {
            "time": frame.time_ps,
            "step": float(frame.step),
            "cell_lengths": lengths,
            "cell_angles": Cell(frame.cell).angles(),
            "cell_vectors": frame.cell,
            "coordinates": frame.positions,
            "velocities": frame.velocities,
            "forces": frame.forces,
            "energy": frame.energy,
            "stress": frame.stress,
            "energies": frame.energies,
            "virials": None if frame.virials is None else np.reshape(frame.virials, (-1, 9)),
            **frame.values,
            **frame.terms,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _of_file(self, frame: Snapshot) -> dict[str, NDArray[Any]]:
        """What all frames have in common."""
        found: dict[str, NDArray[Any]] = {"atom_types": self._numbers.astype("i4"), "masses": self._masses}
        if frame.fixed is not None:
            found["fixed"] = frame.fixed.astype("i4")
        return {**found, "periodic": self._pbc.astype("i4")}


def _record(values: dict[str, Any]) -> np.dtype[Any]:
    """Type of a frame; what has a row for each atom is float32."""
    fields = []
    for name, value in values.items():
        shape = np.shape(value)
        of_atoms = bool(shape) and _DIMENSIONS.get(name, ("atom",))[0] == "atom"
        fields.append((name, _SINGLE if of_atoms else _DOUBLE, shape))
    return np.dtype(fields)


def _filled(record: np.dtype[Any], values: dict[str, Any]) -> NDArray[Any]:
    """A frame as the file has it."""
    one = np.empty((), record)
    for name, value in values.items():
        one[name] = value
    return one


def _header(record: np.dtype[Any], of_file: dict[str, NDArray[Any]]) -> bytes:
    """Everything before the first frame, with the number of frames 1 (the format's specification, CDF-2)."""
    from taichimd import __version__

    numbers = {"frame": 0, **_SIZES, "atom": len(of_file["atom_types"])}
    once: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {
        "spatial": (("spatial",), np.array(list("xyz"), "S1")),
        "cell_spatial": (("cell_spatial",), np.array(list("abc"), "S1")),
        "cell_angular": (
            ("cell_angular", "label"),
            np.array([list("alpha"), list("beta "), list("gamma")], "S1"),
        ),
    }
    for name, values in of_file.items():
        along = ("spatial",) if name == "periodic" else ("atom", "spatial")[: values.ndim]
        once[name] = along, values.astype(values.dtype.newbyteorder(">"))
    data = [_padded(values.tobytes()) for _, values in once.values()]
    begin = 0
    for _ in range(2):  # the header says where frames begin, in digits of fixed length
        about = {
            "Conventions": "AMBER", "ConventionVersion": "1.0", "application": PROGRAM, "program": PROGRAM,
            "programVersion": __version__, "title": "molecular dynamics", "frames_begin_at": f"{begin:020}",
        }  # fmt: skip
        at, variables = begin - sum(map(len, data)), []
        for (name, (along, values)), content in zip(once.items(), data, strict=True):
            variables.append(_variable(name, [*numbers], along, values.dtype, len(content), at))
            at += len(content)
        for name in record.names or ():
            kind = record[name]
            along = ("frame", *_DIMENSIONS.get(name, ("atom",) if kind.shape else ()))
            variables.append(_variable(name, [*numbers], along, kind.base, kind.itemsize, at))
            at += kind.itemsize
        dimensions = [_named(name) + _integers(length) for name, length in numbers.items()]
        attributes = [_attribute(name, text) for name, text in about.items()]
        parts = _listed(10, dimensions), _listed(12, attributes), _listed(11, variables), *data
        header = b"CDF\x02" + _integers(1) + b"".join(parts)
        begin = len(header)
    return header


def _variable(
    name: str, of_file: list[str], along: tuple[str, ...], kind: np.dtype[Any], size: int, begin: int
) -> bytes:
    """What a header says of a variable with these dimensions, of so many bytes (in a frame), at a place."""
    attributes = [_attribute("units", _UNITS[name])] if name in _UNITS else []
    if name in _SCALES:
        attributes.append(_attribute("scale_factor", _SCALES[name]))
    places = _integers(len(along), *(of_file.index(one) for one in along))
    about = _integers(_TYPES[kind.str.strip("<>|")], size) + np.array(begin, ">i8").tobytes()
    return _named(name) + places + _listed(12, attributes) + about


def _attribute(name: str, value: str | float) -> bytes:
    if isinstance(value, str):
        return _named(name) + _integers(_TYPES["S1"], len(value.encode())) + _padded(value.encode())
    return _named(name) + _integers(_TYPES["f8"], 1) + np.array(value, _DOUBLE).tobytes()


def _listed(tag: int, entries: list[bytes]) -> bytes:
    return _integers(tag if entries else 0, len(entries)) + b"".join(entries)


def _named(name: str) -> bytes:
    return _integers(len(name.encode())) + _padded(name.encode())


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)


def _integers(*values: int) -> bytes:
    return np.array(values, ">u4").tobytes()


def _write_count(file: IO[bytes], count: int) -> None:
    """Say in the header how many frames there are, once they are there."""
    file.seek(_COUNT_AT)
    file.write(np.array(count, ">i4").tobytes())
    file.flush()


def is_netcdf(path: Path) -> bool:
    """Whether a file is a trajectory of `NetcdfTrajectoryWriter`."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return head.startswith(b"CDF\x02") and _BEGIN.search(head) is not None


def layout_of(path: Path) -> Layout:
    """Where the frames of a file are; an OutputError if it is no trajectory of this program."""
    try:
        return _read_header(path)[0]
    except _DAMAGED:
        raise OutputError(
            f"{path} is not a trajectory that taichimd wrote; choose another --output"
        ) from None


def _read_header(path: Path) -> tuple[Layout, dict[str, NDArray[Any]]]:
    """Where frames are, and what all of them have in common.

    SciPy reads the header alone, without frames: one that is cut off would be an error to it.
    """
    from scipy.io import netcdf_file

    with open(path, "rb") as file:
        found = _BEGIN.search(file.read(_HEAD))
        if found is None:
            raise ValueError(path)
        begin = int(found.group(1))
        file.seek(0)
        header = bytearray(file.read(begin))
    counted = slice(_COUNT_AT, _COUNT_AT + 4)
    count = int.from_bytes(header[counted], "big")
    header[counted] = bytes(4)
    fields, common = [], {}
    with netcdf_file(BytesIO(bytes(header)), "r", mmap=False) as content:
        for name, variable in content.variables.items():
            if variable.isrec:
                fields.append((name, f">f{variable.itemsize()}", variable.shape[1:]))
            elif variable.data.dtype.kind in "if":
                common[name] = np.array(variable.data, variable.data.dtype.newbyteorder("="))
    record = np.dtype(fields)
    there = (path.stat().st_size - begin) // record.itemsize
    return Layout(begin, record, max(min(count, there), 0)), common


def cut_netcdf(path: Path, step: int) -> int:
    """As `binary_trajectory.cut_frames`; a file without any frame is empty."""
    if path.stat().st_size == 0:
        return 0
    layout = layout_of(path)
    steps = layout.frames(path)["step"]
    kept = int(np.argmax(steps >= step)) if (steps >= step).any() else layout.count
    del steps
    with writing(path), os.fdopen(open_own(path, "r+"), "r+b") as file:
        if kept:
            _write_count(file, kept)
        file.truncate(layout.begin + kept * layout.record.itemsize if kept else 0)
    return kept


def netcdf_frames(path: Path, only: int | None = None) -> Iterator[Atoms]:
    """All frames, or `only` one, of which -1 is the last, of a file of `NetcdfTrajectoryWriter`.

    An IndexError if there is no such frame; for a damaged file whatever SciPy raises.
    """
    layout, common = _read_header(path)
    frames = layout.frames(path)
    for row in frames if only is None else [frames[only]]:
        yield _atoms(row, layout.record.names or (), common)


def _atoms(row: Any, names: Sequence[str], common: dict[str, NDArray[Any]]) -> Atoms:
    """A frame as ASE has it."""

    def values(name: str) -> Array:
        return np.array(row[name], float)

    atoms = Atoms(
        common["atom_types"], values("coordinates"), cell=values("cell_vectors"), pbc=common["periodic"] != 0
    )
    if not np.array_equal(common["masses"], atoms.get_masses()):
        atoms.set_masses(common["masses"])
    if "velocities" in names:
        atoms.set_momenta(values("velocities") * common["masses"][:, None])
    if "fixed" in common:
        fix(atoms, common["fixed"] != 0)
    atoms.info["step"] = int(row["step"])
    if "time" in names:
        atoms.info["time_ps"] = float(row["time"])
    results: dict[str, Any] = {"energy": float(row["energy"]), "forces": values("forces")}
    results |= {name: values(name) for name in ("stress", "energies", "charges") if name in names}
    for name in names:
        if name == "virials":
            atoms.info["virials"] = values(name).reshape(-1, 3, 3)
        elif name not in _UNITS:
            atoms.info[name] = values(name) if np.ndim(row[name]) else float(row[name])
    atoms.calc = SinglePointCalculator(atoms, **results)
    return atoms
