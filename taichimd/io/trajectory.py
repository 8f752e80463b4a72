"""trajectory.extxyz: frames that ASE and OVITO open, every number written so that it reads back exactly.

ASE's own writer rounds to eight decimals and formats atom by atom; this one writes the shortest text that
gives the same double, and about as fast. Columns: `species`, `pos` (Å), `momenta` and `forces` (eV/Å).
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

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from ase.data import atomic_masses, atomic_numbers
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError
from taichimd.io.files import AppendedFile
from taichimd.program.results import Thermo

if TYPE_CHECKING:
    from taichimd.program.engine import Engine

_PROPERTIES = "species:S:1:pos:R:3:momenta:R:3:forces:R:3"
_MOMENTA = "momenta:R:3:"
MOMENTA_UNIT = "sqrt(eV*amu)"
"""ASE's: a mass in amu times a velocity in Å / (Å sqrt(amu/eV)); divided by masses in amu, ASE's velocity."""
_COLUMNS = {"energy": "energies:R:1", "virial": "virials:R:9"}
_VOIGT_AS_3X3 = (0, 5, 4, 5, 1, 3, 4, 3, 2)


class TrajectoryWriter(AppendedFile):
    """Appends frames, each flushed to the system.

    Args:
        path: the trajectory.
        symbols: one per atom.
        pbc: (3,) whether a direction is periodic.
        drop_from: None starts a new file; a step keeps the frames before it and drops the others (restart).
        per_atom: columns more, some of "energy", "virial".
        masses: (n,) amu; None: those that ASE gives the elements.

    Raises:
        OutputError: it cannot be written, or what is there is no such trajectory.
    """

    def __init__(
        self,
        path: Path,
        symbols: list[str],
        pbc: NDArray[np.bool_],
        drop_from: int | None = None,
        per_atom: Sequence[str] = (),
        masses: Array | None = None,
    ) -> None:
        self._per_atom = tuple(per_atom)
        self._symbols = list(symbols)
        usual = atomic_masses[[atomic_numbers[symbol] for symbol in symbols]]
        self._own_masses = masses is not None and not np.array_equal(masses, usual)
        flags = " ".join("T" if periodic else "F" for periodic in pbc)
        more = [_COLUMNS[name] for name in self._per_atom] + ["masses:R:1"] * self._own_masses
        self._properties = ":".join([_PROPERTIES, *more])
        self._pbc = f'pbc="{flags}"'
        super().__init__(path, None if drop_from is None else lambda: offset_of_step(path, drop_from))

    def write(
        self,
        engine: "Engine",
        thermo: Thermo,
        time_ps: float | None,
        terms: Mapping[str, float] | None = None,
    ) -> None:
        """Append the present state of the engine as one frame.

        Args:
            engine: any.
            thermo: of its step.
            time_ps: ps; without a time there are no momenta.
            terms: energies of terms (eV) by names for `info`.
        """
        columns = [engine.positions(), engine.forces()]
        if time_ps is not None:
            columns.insert(1, engine.velocities() * np.asarray(engine.masses)[:, None])
        if self._per_atom:
            now = engine.evaluate()
            more = {"energy": now.energies[:, None], "virial": now.virials.reshape(-1, 9)}
            columns += [more[name] for name in self._per_atom]
        if self._own_masses:
            columns.append(np.asarray(engine.masses)[:, None])
        values = engine.atom_values()
        columns += [numbers[:, None] for numbers in values.values()]
        lattice = f'Lattice="{_numbers(engine.cell)}" ' if np.any(engine.cell) else ""
        properties, marks = self._properties, [""] * len(self._symbols)
        properties += "".join(f":{name}:R:1" for name in values)
        if engine.fixed is not None:
            properties += ":move_mask:L:1"
            marks = [" F" if fixed else " T" for fixed in engine.fixed]
        unit, time = f' momenta_unit="{MOMENTA_UNIT}"', f" time_ps={time_ps!r}"
        if time_ps is None:
            properties, unit, time = properties.replace(_MOMENTA, "", 1), "", ""
        comment = f"{lattice}Properties={properties} {self._pbc}{unit} step={thermo.step}{time}"
        comment += f" energy={float(thermo.potential)!r}"
        comment += "".join(f" {name}={float(value)!r}" for name, value in (terms or {}).items())
        if thermo.stress is not None:
            comment += f' stress="{_numbers(np.asarray(thermo.stress)[list(_VOIGT_AS_3X3)])}"'
        lines = [str(len(self._symbols)), comment]
        lines += [
            f"{symbol} {' '.join(map(repr, row))}{mark}"
            for symbol, row, mark in zip(self._symbols, np.hstack(columns).tolist(), marks, strict=True)
        ]
        self.append("\n".join(lines) + "\n")


def _numbers(values: Array) -> str:
    return " ".join(map(repr, np.asarray(values, dtype=float).ravel().tolist()))


def offset_of_step(path: Path, step: int) -> int:
    """Byte offset of the first frame at or after `step`, or of a frame that a killed run left unfinished.

    Raises:
        OutputError: what is there is no such trajectory.
    """
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
                    f"{path} is not a trajectory of this program at byte {offset}; choose another --output"
                ) from None
            if frame_step >= step:
                return offset
            last = b"\n"
            for _ in range(n_atoms):
                last = file.readline()
            if not last.endswith(b"\n"):
                return offset
