"""trajectory.extxyz: frames that ASE and OVITO open, every number written so that it reads back exactly.

ASE's own writer rounds to eight decimals and formats atom by atom. This one writes the shortest text that
gives the same double, formatted by Polars on all cores.

Columns: `species`, `pos` (Å), `momenta` and `forces` (eV/Å).
Velocities are there once, as momenta, the only form from which ASE's reader makes velocities; the comment
line has their unit as `momenta_unit`. It also has the
cell, `pbc`, `step`, `time_ps`, `energy` (eV) and `stress` (eV/Å^3, ASE's sign, potential part). On demand
there are columns `energies` (eV, which ASE gives as potential energies of atoms) and `virials` (eV, the nine
components of each row after row), and the comment line has energies of terms, such as `E_bond_eV`. With
charges there is a column `charges` (e). Where atoms do not have the
masses that ASE gives their elements, there is a column `masses` (amu): without it ASE would make other
velocities of the momenta. Where atoms are fixed
there is a column `move_mask` (F: fixed), of which ASE makes `FixAtoms`; `forces` are those of the potential,
of fixed atoms, too.

Format: https://github.com/libAtoms/extxyz
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError
from taichimd.io.files import AppendedFile
from taichimd.io.snapshot import FrameWriter, Snapshot

_PROPERTIES = "species:S:1:pos:R:3:momenta:R:3:forces:R:3"
_MOMENTA = "momenta:R:3:"
MOMENTA_UNIT = "sqrt(eV*amu)"
"""ASE's: a mass in amu times a velocity in Å / (Å sqrt(amu/eV)); divided by masses in amu, ASE's velocity."""
_COLUMNS = {"energy": "energies:R:1", "virial": "virials:R:9"}
AT_ONCE = 2**18
"""Atoms whose lines are in memory together."""
_VOIGT_AS_3X3 = (0, 5, 4, 5, 1, 3, 4, 3, 2)


class TrajectoryWriter(FrameWriter, AppendedFile):
    """Appends frames as text."""

    def _open(self, drop_from: int | None) -> None:
        flags = " ".join("T" if periodic else "F" for periodic in self._pbc)
        self._flags = f'pbc="{flags}"'
        keep = None if drop_from is None else lambda: offset_of_step(self.path, drop_from)
        AppendedFile.__init__(self, self.path, keep)

    def set_atoms(self, symbols: Sequence[str], masses: Array | None) -> None:
        """Write frames of these atoms from now on."""
        super().set_atoms(symbols, masses)
        self.__dict__.pop("_names", None)

    @cached_property
    def _names(self) -> Any:
        """(n,) symbols, for Polars, which is imported when the first frame is written."""
        import polars

        return polars.Series("name", self._symbols, dtype=polars.String)

    def append_frame(self, frame: Snapshot) -> None:
        """Write a frame and hand it to the system."""
        columns = [frame.positions, frame.forces]
        if frame.momenta is not None:
            columns.insert(1, frame.momenta)
        more = {"energy": frame.energies, "virial": frame.virials}
        columns += [np.asarray(more[name]) for name in self._per_atom]
        if self._own_masses:
            columns.append(frame.masses)
        columns += list(frame.values.values())
        lattice = f'Lattice="{_numbers(frame.cell)}" ' if np.any(frame.cell) else ""
        properties = ":".join(
            [_PROPERTIES, *(_COLUMNS[name] for name in self._per_atom), *["masses:R:1"] * self._own_masses]
        )
        properties += "".join(f":{name}:R:1" for name in frame.values)
        if frame.fixed is not None:
            properties += f":move_mask:L:{frame.fixed.ndim * 2 - 1}"
        unit, time = f' momenta_unit="{MOMENTA_UNIT}"', f" time_ps={frame.time_ps!r}"
        if frame.time_ps is None:
            properties, unit, time = properties.replace(_MOMENTA, "", 1), "", ""
        comment = f"{lattice}Properties={properties} {self._flags}{unit} step={frame.step}{time}"
        comment += f" energy={frame.energy!r}"
        comment += "".join(f" {name}={value!r}" for name, value in frame.terms.items())
        if frame.stress is not None:
            comment += f' stress="{_numbers(frame.stress[list(_VOIGT_AS_3X3)])}"'
        head = f"{len(self._symbols)}\n{comment}\n".encode()
        for text in rows_of_atoms(self._names, columns, frame.fixed):
            self.append(head + text)
            head = b""


def rows_of_atoms(
    names: Any, columns: Sequence[Array], fixed: NDArray[np.bool_] | None = None
) -> Iterator[bytes]:
    """Lines of an XYZ file, for some atoms after the other, formatted by Polars on all cores.

    Numbers have the shortest digits that read back as the same float64. `names`: a series of Polars; `fixed`:
    (n,) or (n, 3), the last columns, F where an atom is fixed.
    """
    import polars

    n = len(names)
    flat = [np.reshape(column, (n, -1)) for column in columns]
    for first in range(0, n, AT_ONCE):
        part = slice(first, min(first + AT_ONCE, n))
        series = [names[part].alias("name")]
        for values in flat:
            rows = np.ascontiguousarray(values[part].T)
            series += [polars.Series(f"{len(series) + k}", row) for k, row in enumerate(rows)]
        if fixed is not None:
            letters = np.where(fixed[part], "F", "T").reshape(part.stop - part.start, -1)
            series += [polars.Series(f"move{k}", column) for k, column in enumerate(letters.T)]
        buffer = BytesIO()
        polars.DataFrame(series).write_csv(buffer, include_header=False, separator=" ", quote_style="never")
        yield buffer.getvalue()


def _numbers(values: Array) -> str:
    return " ".join(map(repr, np.asarray(values, dtype=float).ravel().tolist()))


def offset_of_step(path: Path, step: int) -> int:
    """Byte offset of the first frame at or after `step`, or of a frame that a killed run left unfinished."""
    with open(path, "rb") as file:
        while True:
            offset = file.tell()
            count, comment = file.readline(), file.readline()
            if not comment.endswith(b"\n"):
                return offset
            try:
                n_atoms = int(count)
                frame_step = int(comment.split(b" step=", 1)[1].split(None, 1)[0])
            except (ValueError, IndexError):
                raise OutputError(
                    f"{path} is not a trajectory that taichimd wrote, at byte {offset}; choose another "
                    "--output"
                ) from None
            if frame_step >= step:
                return offset
            last = b"\n"
            for _ in range(n_atoms):
                last = file.readline()
            if not last.endswith(b"\n"):
                return offset
