"""The host's side of drives: their rows, what is read of them, and what a checkpoint keeps."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.runtime import ti
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.arrays import DriveKinds
from taichimd.ensembles.drives.base import Row, Start
from taichimd.ensembles.drives.given import GroupDrive, drive_of_record, packed, unpacked
from taichimd.ensembles.drives.kernels import drive_kernels
from taichimd.ensembles.drives.motion import Drag, Momentum, Move, kept
from taichimd.ensembles.drives.pack import pack
from taichimd.ensembles.drives.removal import without_momentum
from taichimd.ensembles.thermostats.layout import ENERGY_BITS
from taichimd.system.state import State

EV = 2.0**-ENERGY_BITS
"""eV in a unit of the sums of energies."""


@dataclass
class _Own:
    """A drive of a system.

    Attributes:
        drive: as given. rows: the numbers of its rows. started: energy in units of the sums when the first
            step began; None: not yet.
        taken: what the host has done, eV.
    """

    drive: GroupDrive
    rows: list[int]
    started: int | None = None
    taken: list[float] = field(default_factory=list)


class Drives:
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
        self._state, self._by_slot = state, backend == "cuda"
        self._own: list[list[_Own]] = []
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
                found.append(_Own(drive, list(range(len(packed_rows), len(packed_rows) + len(rows)))))
                for row in rows:
                    bits[firsts[number] + row.atoms, 0] |= 1 << (len(packed_rows) - first_row)
                    packed_rows.append((number, row))
            self._own.append(found)
        self.kinds = DriveKinds(
            tuple(sorted({row.kind for _, row in packed_rows})),
            tuple(sorted({row.weight for _, row in packed_rows})),
            tuple(sorted({row.timing for _, row in packed_rows})), state.batch,
        )  # fmt: skip
        arrays = pack(bits, packed_rows, state)
        self._table, self._blocks = arrays.table, arrays.blocks
        self.numbers = ti.ndarray(ti.i64, len(arrays.numbers))
        self.values = ti.ndarray(ti.f64, len(arrays.values))
        self.sums = ti.ndarray(ti.i64, max(len(packed_rows), 1) * of.SUMS * of.SLOTS)
        self.numbers.from_numpy(arrays.numbers)
        self.values.from_numpy(arrays.values)
        self.sums.fill(0)
        self._timestep: float | None = None
        self._seen: Any = None

    @property
    def kernels(self) -> Any:
        """`DriveKernels`."""
        return drive_kernels(self.kinds, self._state.real, self._by_slot)

    def of_system(self, number: int) -> list[GroupDrive]:
        """The drives of a system."""
        return [own.drive for own in self._own[number]]

    def moves_centre(self, number: int) -> bool:
        """Whether the momentum of a system is not conserved."""
        return any(
            not own.drive.what.keeps_momentum and not own.drive.partner is not None
            for own in self._own[number]
        )

    def forget(self) -> None:
        """The device has gone on: what was read is void."""
        self._seen = None

    def _row(self, row: int) -> slice:
        return slice(of.VALUES_HEAD + row * of.ROW, of.VALUES_HEAD + (row + 1) * of.ROW)

    def _read_values(self) -> Array:
        """A copy of `values`, with what the device has changed."""
        found: Array = self.values.to_numpy()
        return found

    def _sums(self) -> NDArray[np.int64]:
        """(rows, SUMS) whole numbers."""
        return np.asarray(self.sums.to_numpy().reshape(-1, of.SUMS, of.SLOTS).sum(axis=2))

    # Time.

    def begin(self, step: int, timestep: float, measure: Any) -> None:
        """Steps of a length (internal) begin at a step; `measure` queues energies there.

        Time goes on continuously where the length changes.
        """
        if self._timestep != timestep:
            values, numbers = self._read_values(), self.numbers.to_numpy()
            if self._timestep is None:
                values[of.TIME_ORIGIN] = 0.0
            else:
                values[of.TIME_ORIGIN] += (step - int(numbers[of.STEP_ORIGIN])) * self._timestep
            values[of.TIMESTEP], numbers[of.STEP_ORIGIN] = timestep, step
            for own in (one for each in self._own for one in each):
                if isinstance(own.drive.what, Drag):
                    factor = kept(timestep, own.drive.what.coupling_time * units.FS)
                    values[self._row(own.rows[0])][of.FACTOR] = factor
            self.values.from_numpy(values)
            self.numbers.from_numpy(numbers)
            self._timestep = timestep
        if any(own.started is None for each in self._own for own in each):
            measure()
            sums = self._sums()
            for own in (one for each in self._own for one in each):
                if own.started is None:
                    own.started = sum(int(sums[row, of.REACTION]) for row in own.rows)

    def check_time(self, step: int, timestep: float) -> None:
        """Raise if a run until a step, with a time step (internal), lasts longer than a table.

        Raises:
            SettingsError: which one, and when it ends.
        """
        numbers = self.numbers.to_numpy()
        origin, begun = float(self.values.to_numpy()[of.TIME_ORIGIN]), int(numbers[of.STEP_ORIGIN])
        old = self._timestep or timestep
        for own in (one for each in self._own for one in each):
            last = own.drive.what.last_time()
            end = (origin + (step - begun) * (timestep if self._timestep is None else old)) / units.FS
            if last is not None and end > last * (1.0 + 1e-12):
                raise SettingsError(
                    f"the table of {own.drive.name} ends at {last:g} fs, and the run at {end:g} fs; give "
                    "the table more lines, or "
                    "run fewer steps"
                )

    def next_removal(self, step: int) -> int | None:
        """The next step at which momentum is taken away; None if none is."""
        each = [own.drive.what.every for own in self._all() if isinstance(own.drive.what, Momentum)]
        return min(((step // every + 1) * every for every in each), default=None)

    def _all(self) -> list[_Own]:
        return [one for each in self._own for one in each]

    def removes(self, number: int, step: int) -> bool:
        """Whether momentum of a system is taken away at a step."""
        return any(
            isinstance(own.drive.what, Momentum) and step % own.drive.what.every == 0
            for own in self._own[number]
        )

    def remove(self, number: int, step: int, masses: Array, positions: Array, velocities: Array) -> Array:
        """Velocities (n, 3) of a system without the momentum that is taken away at a step."""
        for own in self._own[number]:
            what = own.drive.what
            if isinstance(what, Momentum) and step % what.every == 0:
                velocities, gained = without_momentum(
                    own.drive.atoms, masses, positions, velocities, what.linear, what.angular
                )
                own.taken.append(gained)
                own.taken[:] = [fsum(own.taken)]
        return velocities

    # Results.

    def found(self, number: int, measure: Any) -> dict[str, dict[str, Any]]:
        """Energy and work (eV), force (eV/Å) and impulse (eV fs/Å) of each drive of a system, by name.

        Args:
            number: of the system.
            measure: queues energies and reactions of the present positions.
        """
        if self._seen is None:
            measure()
            self._seen = self._sums(), self._read_values()
        sums, values = self._seen
        return {own.drive.name: self._of(own, sums, values) for own in self._own[number]}

    def _of(self, own: _Own, sums: NDArray[np.int64], values: Array) -> dict[str, Any]:
        what, rows = own.drive.what, own.rows
        work = sum(int(sums[row, of.WORK]) for row in rows)
        energy = sum(int(sums[row, of.REACTION]) for row in rows)
        found: dict[str, Any] = {}
        if what.counts_energy:
            found["energy"] = energy * EV
        elif own.started is not None:
            work -= energy - own.started
        found["work"] = work * EV + fsum(own.taken)
        if not rows:
            return found
        row = values[self._row(rows[0])]
        force = sums[rows[0], of.REACTION + 1 : of.REACTION + 4] * EV
        if self._table[rows[0], of.KIND] == of.CENTRE:
            found["energy"], force = float(row[of.ENERGY]), -row[of.FORCE : of.FORCE + 3]
        found["force"] = force.tolist()
        found["push"] = -float(force @ row[of.VECTOR : of.VECTOR + 3])
        found["impulse"] = int(sums[rows[0], of.IMPULSE]) * EV / units.FS
        found["point"], found["velocity"] = row[of.POINT : of.POINT + 3], row[of.VELOCITY : of.VELOCITY + 3]
        return found

    def time(self, step: int) -> float:
        """Time (internal) of a step, from which drives count."""
        begun = int(self.numbers.to_numpy()[of.STEP_ORIGIN])
        origin, length = self.values.to_numpy()[[of.TIME_ORIGIN, of.TIMESTEP]].tolist()
        return float(origin + (step - begun) * length)

    def take_failures(self) -> int | None:
        """The number, among all systems, of an atom behind a wall, once; None if there is none."""
        if not self.kinds.fails:
            return None
        numbers = self.numbers.to_numpy()
        found = int(numbers[of.FAILED])
        if found == of.NOBODY:
            return None
        numbers[of.FAILED] = of.NOBODY
        self.numbers.from_numpy(numbers)
        return found

    def velocity_of(self, number: int) -> list[tuple[NDArray[np.int64], Array]]:
        """Atoms of a system that move as they are told, and their velocity (internal)."""
        return [
            (own.drive.atoms, np.array(own.drive.what.velocity) / units.PS)
            for own in self._own[number]
            if isinstance(own.drive.what, Move)
        ]

    # Other states.

    def folded(self, number: int, by: Array, measure: Any) -> None:
        """Positions of a system have changed by (n, 3) Å, whole cell vectors; `measure` as of `found`.

        Must be called after the change. What positions are compared with follows them.
        """
        before, part = self._folding, self._state.parts[number]
        values = self._read_values()
        for own in self._own[number]:
            for row in own.rows:
                kind = int(self._table[row, of.KIND])
                if kind in (of.TETHER, of.MOVE):
                    where = self._blocks[row]
                    values[where] = (values[where].reshape(-1, 3) + by).ravel()
                if kind == of.CENTRE:
                    atoms = (
                        own.drive.atoms
                        if row == own.rows[0] or own.drive.partner is None
                        else own.drive.partner
                    )
                    m = (
                        1.0
                        / self._state.inverse_mass.to_numpy()[self._state.sorted_of.to_numpy()[part]][atoms]
                    )
                    share = m * values[self._row(row)][of.SCALE]
                    at = self._row(row).start + of.OFFSET
                    values[at : at + 3] -= [fsum((share * by[atoms, a]).tolist()) for a in range(3)]
        self.values.from_numpy(values)
        if before is not None:
            measure()
            after = self._sums()
            for own in self._own[number]:
                if own.started is not None and not own.drive.what.counts_energy:
                    own.started += sum(
                        int(after[row, of.REACTION] - before[row, of.REACTION]) for row in own.rows
                    )

    _folding: NDArray[np.int64] | None = None

    def before_folding(self, measure: Any) -> None:
        """Positions may be folded: keep the energies."""
        measure()
        self._folding = self._sums()

    def stop(self, number: int) -> None:
        """From now on the drives of a system do nothing."""
        numbers = self.numbers.to_numpy()
        stride = 2 if self._state.batch else 1
        part = self._state.parts[number]
        numbers[of.HEAD + stride * part.start : of.HEAD + stride * part.stop : stride] = 0
        self.numbers.from_numpy(numbers)

    def state(self, number: int) -> list[dict[str, Any]]:
        """What a restart needs of a system, with the drives themselves: JSON-able, and exact."""
        values, sums, numbers = self.values.to_numpy(), self._sums(), self.numbers.to_numpy()
        clock = [int(numbers[of.STEP_ORIGIN]), float(values[of.TIME_ORIGIN]), self._timestep]
        found = []
        for own in self._own[number]:
            state: dict[str, Any] = {"clock": clock, "started": own.started, "taken": own.taken}
            state["rows"] = [
                {
                    "sums": sums[row, : of.LASTING].tolist(),
                    "values": packed(values[self._row(row)]),
                    **(
                        {"block": packed(values[self._blocks[row]].reshape(-1, 3)[atoms])}
                        if self._keeps(row)
                        else {}
                    ),
                }
                for row, atoms in zip(own.rows, _atoms_of_rows(own.drive), strict=False)
            ]
            found.append({**own.drive.record(), "state": state})
        return found

    def _keeps(self, row: int) -> bool:
        """Whether numbers of atoms of a row are places."""
        return int(self._table[row, of.KIND]) in (of.TETHER, of.MOVE)

    def set_state(self, number: int, state: Sequence[dict[str, Any]]) -> None:
        """Go on from what `state` returned.

        Raises:
            SettingsError: it is of other groups or drives.
        """
        ours = [own.drive.record() for own in self._own[number]]
        theirs = [drive_of_record(one).record() for one in state]
        if ours != theirs:
            names = [", ".join(one["name"] for one in each) or "none" for each in (theirs, ours)]
            raise SettingsError(
                f"the state of drives ({names[0]}) is of other groups or settings than those here "
                f"({names[1]})"
            )
        values, sums = self._read_values(), self.sums.to_numpy().reshape(-1, of.SUMS, of.SLOTS)
        numbers = self.numbers.to_numpy()
        for own, one in zip(self._own[number], state, strict=True):
            if one.get("state") is None:
                continue
            kept_state = one["state"]
            numbers[of.STEP_ORIGIN], values[of.TIME_ORIGIN], self._timestep = kept_state["clock"]
            values[of.TIMESTEP] = self._timestep or 0.0
            own.started, own.taken = kept_state["started"], list(kept_state["taken"])
            atoms_of = _atoms_of_rows(own.drive)
            for row, atoms, kept_row in zip(own.rows, atoms_of, kept_state["rows"], strict=False):
                sums[row] = 0
                sums[row, : of.LASTING, 0] = kept_row["sums"]
                values[self._row(row)] = unpacked(kept_row["values"])
                if "block" in kept_row:
                    block = values[self._blocks[row]].reshape(-1, 3)
                    block[atoms] = unpacked(kept_row["block"])
                    values[self._blocks[row]] = block.ravel()
        self.values.from_numpy(values)
        self.numbers.from_numpy(numbers)
        self.sums.from_numpy(np.ascontiguousarray(sums.ravel()))
        self.forget()


def _atoms_of_rows(drive: GroupDrive) -> list[NDArray[np.int64]]:
    return [drive.atoms] if drive.partner is None else [drive.atoms, drive.partner]
