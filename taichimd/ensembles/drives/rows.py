"""The rows of drives on the device: which drive has which rows, and where their numbers stand."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.runtime import ti
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.arrays import DriveKinds
from taichimd.ensembles.drives.base import Row, Start
from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.drives.kernels import drive_kernels
from taichimd.ensembles.drives.pack import pack
from taichimd.system.state import State

FEW = 4
"""Kernels are compiled for a number of rows up to this one: places of what they read are then known."""


@dataclass
class OwnDrive:
    """A drive of a system."""

    drive: GroupDrive  # as given
    rows: list[int]  # the numbers of its rows
    started: int | None = None  # energy in units of the sums when the first step began; None: not yet
    taken: list[float] = field(default_factory=list)  # what the host has done, eV


class DriveRows:
    """Parameters and state of drives on the device.

    Args:
        drives: of each system.
        state: the atoms of all systems.
        masses, positions, cells, pbc: of each system, (n,) amu, (n, 3) Å, (3, 3) Å, (3,).
        backend: "cpu" or "cuda".

    Raises:
        SettingsError: a drive that cannot begin, such as a wall with atoms behind it.

    Attributes:
        kinds: what kernels are compiled for. numbers, values, sums: arrays (`DriveArrays`).
        own: drives of each system, with their rows. atoms: the state of all systems.
        table, blocks: as of `Packed`. timestep: internal, of the steps that began last; None: none began.
        seen: sums and values that the host has read, until the device continues.
    """

    def __init__(
        self,
        drives: Sequence[Sequence[GroupDrive]],
        state: State,
        masses: Sequence[Array],
        positions: Sequence[Array],
        cells: Sequence[Array],
        pbc: Sequence[NDArray[np.bool_]],
        backend: str,
    ) -> None:
        self.atoms, self._by_slot = state, backend == "cuda"
        self.own: list[list[OwnDrive]] = []
        firsts = state.firsts.tolist()
        stride = 2 if state.batch else 1
        bits = np.zeros((state.n, stride), np.int64)
        packed_rows: list[tuple[int, Row]] = []
        for number, own in enumerate(drives):
            first_row, part = len(packed_rows), state.parts[number]
            if state.batch:
                bits[part, 1] = first_row
            found = []
            for drive in own:
                start = Start(
                    drive.atoms,
                    drive.own,
                    drive.partner,
                    masses[number],
                    positions[number],
                    cells[number],
                    pbc[number],
                )
                check = getattr(drive.what, "check", None)
                if check is not None and drive.begins:
                    check(start, f"{type(drive.what).__name__} {drive.name}")
                rows = drive.what.rows(start)
                found.append(OwnDrive(drive, list(range(len(packed_rows), len(packed_rows) + len(rows)))))
                for row in rows:
                    bits[firsts[number] + row.atoms, 0] |= 1 << (len(packed_rows) - first_row)
                    packed_rows.append((number, row))
            self.own.append(found)
        of_all = (1 << len(packed_rows)) - 1
        self.kinds = DriveKinds(
            tuple(sorted({row.kind for _, row in packed_rows})),
            tuple(sorted({row.weight for _, row in packed_rows})),
            tuple(sorted({row.timing for _, row in packed_rows})), state.batch,
            not state.batch and of_all > 0 and bool((bits == of_all).all()),
            len(packed_rows) if not state.batch and len(packed_rows) <= FEW else 0,
        )  # fmt: skip
        arrays = pack(bits, packed_rows, state)
        self.table, self.blocks = arrays.table, arrays.blocks
        self.numbers = ti.ndarray(ti.i64, len(arrays.numbers))
        self.values = ti.ndarray(ti.f64, len(arrays.values))
        self.sums = ti.ndarray(ti.i64, max(len(packed_rows), 1) * of.SUMS * of.SLOTS + 1)
        self.numbers.from_numpy(arrays.numbers)
        self.values.from_numpy(arrays.values)
        self.write_sums(np.zeros((max(len(packed_rows), 1), of.SUMS, of.SLOTS), np.int64))
        self.timestep: float | None = None
        self.seen: Any = None

    @property
    def kernels(self) -> Any:
        """`DriveKernels`."""
        return drive_kernels(self.kinds, self.atoms.real, self._by_slot)

    def of_system(self, number: int) -> list[GroupDrive]:
        """The drives of a system."""
        return [own.drive for own in self.own[number]]

    def moves_centre(self, number: int) -> bool:
        """Whether the momentum of a system is not conserved."""
        return any(
            not own.drive.what.keeps_momentum and own.drive.partner is None for own in self.own[number]
        )

    def forget(self) -> None:
        """The device has continued: what was read is void."""
        self.seen = None

    def row_values(self, row: int) -> slice:
        """Where `values` has the numbers of a row."""
        return slice(of.VALUES_HEAD + row * of.ROW, of.VALUES_HEAD + (row + 1) * of.ROW)

    def read_values(self) -> Array:
        """A copy of `values`, with what the device has changed."""
        found: Array = self.values.to_numpy()
        return found

    def read_sums(self) -> NDArray[np.int64]:
        """(rows, SUMS) whole numbers."""
        return np.asarray(self.slots().sum(axis=2))

    def slots(self) -> NDArray[np.int64]:
        """(rows, SUMS, SLOTS) parts of the sums."""
        return np.asarray(self.sums.to_numpy()[:-1].reshape(-1, of.SUMS, of.SLOTS))

    def write_sums(self, slots: NDArray[np.int64]) -> None:
        """Set the parts of the sums; no atom is behind a wall."""
        self.sums.from_numpy(np.append(slots, of.NOBODY))
