"""The host's side of drives: time, removal of momentum, results, folded positions."""

from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.motion import Drag, Momentum, Move, kept
from taichimd.ensembles.drives.removal import without_momentum
from taichimd.ensembles.drives.rows import DriveRows, OwnDrive
from taichimd.ensembles.thermostats.layout import ENERGY_BITS

EV = 2.0**-ENERGY_BITS
"""eV in a unit of the sums of energies."""


class Drives(DriveRows):
    """Drives of all systems as a run uses them; arguments as of `DriveRows`."""

    # Time.

    def begin(self, step: int, timestep: float, measure: Any) -> None:
        """Steps of a length (internal) begin at a step; `measure` queues energies there.

        Time goes on continuously where the length changes.
        """
        if self.timestep != timestep:
            values, numbers = self.read_values(), self.numbers.to_numpy()
            if self.timestep is None:
                values[of.TIME_ORIGIN] = 0.0
            else:
                values[of.TIME_ORIGIN] += (step - int(numbers[of.STEP_ORIGIN])) * self.timestep
            values[of.TIMESTEP], numbers[of.STEP_ORIGIN] = timestep, step
            for own in (one for each in self.own for one in each):
                if isinstance(own.drive.what, Drag):
                    factor = kept(timestep, own.drive.what.coupling_time * units.FS)
                    values[self.row_values(own.rows[0])][of.FACTOR] = factor
            self.values.from_numpy(values)
            self.numbers.from_numpy(numbers)
            self.timestep = timestep
        if any(own.started is None for each in self.own for own in each):
            measure()
            sums = self.read_sums()
            for own in (one for each in self.own for one in each):
                if own.started is None:
                    own.started = sum(int(sums[row, of.REACTION]) for row in own.rows)

    def check_time(self, step: int, last: int, timestep: float) -> None:
        """Raise a SettingsError if a run from a step to the last one lasts longer than a table."""
        begun = 0.0 if self.timestep is None else self.time(step)
        end = (begun + (last - step) * timestep) / units.FS
        for own in self._all():
            until = own.drive.what.last_time()
            if until is not None and end > until * (1.0 + 1e-12):
                raise SettingsError(
                    f"the table of {own.drive.name} ends at {until:g} fs, and the run at {end:g} fs; give "
                    "the table more lines, or run fewer steps"
                )

    def next_removal(self, step: int) -> int | None:
        """The next step at which momentum is taken away; None if none is."""
        each = [own.drive.what.every for own in self._all() if isinstance(own.drive.what, Momentum)]
        return min(((step // every + 1) * every for every in each), default=None)

    def _all(self) -> list[OwnDrive]:
        return [one for each in self.own for one in each]

    def removes(self, number: int, step: int) -> bool:
        """Whether momentum of a system is taken away at a step."""
        return any(
            isinstance(own.drive.what, Momentum) and step % own.drive.what.every == 0
            for own in self.own[number]
        )

    def remove(
        self,
        number: int,
        step: int,
        masses: Array,
        positions: Array,
        velocities: Array,
        still: NDArray[np.bool_] | None,
    ) -> Array:
        """Velocities (n, 3) of a system without the momentum that is taken away at a step."""
        for own in self.own[number]:
            what = own.drive.what
            if isinstance(what, Momentum) and step % what.every == 0:
                velocities, gained = without_momentum(
                    own.drive.atoms, masses, positions, velocities, what.linear, what.angular, still
                )
                own.taken.append(gained)
                own.taken[:] = [fsum(own.taken)]
        return velocities

    # Results.

    def found(self, number: int, measure: Any) -> dict[str, dict[str, Any]]:
        """Energy and work (eV), force (eV/Å) and impulse (eV fs/Å) of each drive of a system, by name."""
        if self.seen is None:
            measure()
            self.seen = self.read_sums(), self.read_values()
        sums, values = self.seen
        return {own.drive.name: self._of(own, sums, values) for own in self.own[number]}

    def _of(self, own: OwnDrive, sums: NDArray[np.int64], values: Array) -> dict[str, Any]:
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
        row = values[self.row_values(rows[0])]
        force = sums[rows[0], of.REACTION + 1 : of.REACTION + 4] * EV
        if self.table[rows[0], of.KIND] == of.CENTRE:
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
        found = int(self.sums.to_numpy()[-1])
        if found == of.NOBODY:
            return None
        self.write_sums(self.slots())
        return found

    def velocity_of(self, number: int) -> list[tuple[NDArray[np.int64], Array]]:
        """Atoms of a system whose motion is given, and their velocity (internal)."""
        return [
            (own.drive.atoms, np.array(own.drive.what.velocity) / units.PS)
            for own in self.own[number]
            if isinstance(own.drive.what, Move)
        ]

    # Other states.

    def folded(self, number: int, by: Array, measure: Any) -> None:
        """Positions of a system have changed by (n, 3) Å, whole cell vectors; `measure` as of `found`.

        Must be called after the change. What positions are compared with follows them.
        """
        before, part = self._folding, self.atoms.parts[number]
        values = self.read_values()
        for own in self.own[number]:
            for row in own.rows:
                kind = int(self.table[row, of.KIND])
                if kind in (of.TETHER, of.MOVE):
                    where = self.blocks[row]
                    values[where] = (values[where].reshape(-1, 3) + by).ravel()
                if kind == of.CENTRE:
                    atoms = (
                        own.drive.atoms
                        if row == own.rows[0] or own.drive.partner is None
                        else own.drive.partner
                    )
                    m = 1.0 / self.atoms.inverse_mass.to_numpy()[self.atoms.sorted_of.to_numpy()[part]][atoms]
                    share = m * values[self.row_values(row)][of.SCALE]
                    at = self.row_values(row).start + of.OFFSET
                    values[at : at + 3] -= [fsum((share * by[atoms, a]).tolist()) for a in range(3)]
        self.values.from_numpy(values)
        if before is not None:
            measure()
            after = self.read_sums()
            for own in self.own[number]:
                if own.started is not None and not own.drive.what.counts_energy:
                    own.started += sum(
                        int(after[row, of.REACTION] - before[row, of.REACTION]) for row in own.rows
                    )

    _folding: NDArray[np.int64] | None = None

    def before_folding(self, measure: Any) -> None:
        """Positions may be folded: keep the energies."""
        measure()
        self._folding = self.read_sums()

    def stop(self, number: int) -> None:
        """From now on the drives of a system do nothing."""
        numbers = self.numbers.to_numpy()
        stride = 2 if self.atoms.batch else 1
        part = self.atoms.parts[number]
        bits = numbers[of.HEAD + of.NUMBERS * len(self.table) :]
        bits[stride * part.start : stride * part.stop : stride] = 0
        self.numbers.from_numpy(numbers)
