"""trajectory.traj: frames in ASE's own binary format, which `ase.io.read` and `ase gui` open.

ASE writes it (`ase.io.trajectory`): no format and no dependency of our own. A frame holds positions (Å),
momenta (ASE's unit, sqrt(eV*amu), from which ASE makes velocities), cell (Å), the results energy (eV), forces
(eV/Å) and stress (eV/Å^3, ASE's sign, potential part), and in `info` step and time_ps. Numbers are float64,
as they are in the run. The first frame has `description`: the unit of each quantity. On demand the
results have `energies` (eV) and `info` has `virials` (eV, (n, 3, 3)) and energies of terms, such as
`E_bond_eV`. Fixed atoms have `FixAtoms`.

The container is ULM: of each frame arrays and a JSON text, and a table of where these texts begin. The count
of frames is written last, so a file whose writer was killed within a frame reads up to the frame before.

Format: the docstring of `ase.io.ulm`.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError
from taichimd.io.files import open_own, writing
from taichimd.io.snapshot import FrameWriter, Snapshot
from taichimd.io.trajectory import MOMENTA_UNIT
from taichimd.system.constraints import fix

DESCRIPTION = {
    "program": "taichimd",
    "positions": "Å, never wrapped",
    "momenta": f"{MOMENTA_UNIT}; divided by masses (amu) velocities in Å/(Å sqrt(amu/eV)), ASE's unit",
    "cell": "Å",
    "energy": "eV",
    "forces": "eV/Å",
    "stress": "eV/Å^3, xx yy zz yz xz xy, without the kinetic part",
    "energies": "eV",
    "virials": "eV",
    "charges": "e",
    "time_ps": "ps",
    "E_..._eV": "eV, energy of a term",
}
"""Units, in the first frame of each file."""


class BinaryTrajectoryWriter(FrameWriter):
    """Appends frames in ASE's format."""

    def _open(self, drop_from: int | None) -> None:
        from ase.io.trajectory import TrajectoryWriter

        path = self.path
        keep = drop_from is not None and path.exists()
        if keep:
            keep = cut_frames(path, int(drop_from or 0)) > 0
        with writing(path):
            opened = os.fdopen(open_own(path, "r+" if keep else "w"), "r+b" if keep else "wb")
            if keep:
                opened.close()  # ASE reads what is there, and so opens it itself
            # One process writes, even where ASE finds MPI.
            self._frames: Any = TrajectoryWriter(
                str(path) if keep else opened, "a" if keep else "w", master=True
            )
            self._frames.set_description(DESCRIPTION)
        self._whole = True

    def set_atoms(self, symbols: Sequence[str], masses: Array | None) -> None:
        """Write frames of these atoms from now on."""
        super().set_atoms(symbols, masses)
        self._atoms = Atoms(self._symbols, pbc=self._pbc)
        if self._own_masses:
            self._atoms.set_masses(self._masses)

    def append_frame(self, frame: Snapshot) -> None:
        """Write a frame and hand it to the system."""
        atoms = self._atoms.copy()
        atoms.set_cell(frame.cell)
        atoms.positions = frame.positions
        if frame.momenta is not None:
            atoms.set_momenta(frame.momenta)
        fix(atoms, frame.fixed)
        values = dict(frame.values)
        results: dict[str, Any] = {"energy": frame.energy, "forces": frame.forces}
        if "charges" in values:
            results["charges"] = values.pop("charges")
        # ASE's format has no columns of one's own.
        time = {} if frame.time_ps is None else {"time_ps": frame.time_ps}
        atoms.info = {"step": frame.step, **time, **frame.terms, **values}
        if frame.stress is not None:
            results["stress"] = frame.stress
        if frame.energies is not None:
            results["energies"] = np.asarray(frame.energies)
        if frame.virials is not None:
            atoms.info["virials"] = np.asarray(frame.virials)
        atoms.calc = SinglePointCalculator(atoms, **results)
        with writing(self.path):
            self._whole = False
            self._frames.write(atoms)
            self._whole = True

    def _handle(self) -> int:
        return int(self._frames.backend.fd.fileno())

    def close(self) -> None:
        """Close the file."""
        with writing(self.path):
            # ASE would try to complete a frame that a full disk has cut.
            (self._frames if self._whole else self._frames.backend.fd).close()


def cut_frames(path: Path, step: int) -> int:
    """Drop the frames at or after a step, and what a killed run left of an unfinished one.

    Returns how many stay.
    What stays are the bytes that the file had before the first of them was written.
    """
    from ase.io.ulm import InvalidULMFileError, Reader, read_header

    if path.stat().st_size == 0:
        return 0
    try:
        with Reader(path) as frames, open(path, "rb") as file:
            kept = len(frames)
            while kept and int(frames[kept - 1].info["step"]) >= step:
                kept -= 1
            offsets = [int(offset) for offset in read_header(file)[4][:kept]]
    except (
        InvalidULMFileError,
        AttributeError,
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        OSError,
        MemoryError,
    ):
        raise OutputError(
            f"{path} is not a trajectory that taichimd wrote; choose another --output"
        ) from None
    with writing(path), os.fdopen(open_own(path, "r+"), "r+b") as file:
        _truncate(file, offsets)
    return kept


def _truncate(file: IO[bytes], offsets: list[int]) -> None:
    """Leave the first frames of a ULM file; `offsets`: where the JSON text of each begins, after its arrays.

    The table of offsets grows with the frames: it has room for 1, 42, 42^2 ... of them. The first is in the
    header, each later one after the frame for which the list before had no room.
    """
    from ase.io.ulm import N1

    def end_of(frame: int) -> int:
        file.seek(offsets[frame])
        return offsets[frame] + 8 + int(np.frombuffer(file.read(8), "<i8")[0])

    room = 1
    while room < len(offsets):
        room *= N1
    table, end = 48, end_of(len(offsets) - 1) if offsets else 56
    if room > 1:
        table = -(-end_of(room // N1) // 8) * 8
        end = max(end, table + 8 * room)
    entries = np.array([*offsets, *[0] * (room - len(offsets))], "<i8")
    file.seek(table)
    file.write(entries.tobytes())
    file.seek(32)
    file.write(np.array([len(offsets), table], "<i8").tobytes())
    file.truncate(end)
