"""The host side of baths of groups: a row for each bath of each system, and the state for checkpoints."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.host_copies import on_host
from taichimd.core.philox import GLOBAL
from taichimd.core.runtime import ti
from taichimd.core.scalars import digits
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.groups import layout as of
from taichimd.ensembles.groups.functions import ROWS_OF_A_WARP
from taichimd.ensembles.groups.given import GroupBath, of_record
from taichimd.ensembles.groups.source import Source
from taichimd.ensembles.thermostats import layout as at
from taichimd.ensembles.thermostats.base import Thermostat


def acting_coupling(baths: Sequence[Sequence[GroupBath]], of_all: Coupling) -> Coupling:
    """What kernels are compiled for: baths of groups of several systems, beside what acts on all atoms."""
    every = [bath for own in baths for bath in own]
    kinds = {type(bath.what) for bath in every if isinstance(bath.what, Thermostat)}
    sources = [bath.what for bath in every if isinstance(bath.what, Source)]
    return Coupling(
        acting=tuple(sorted(kinds, key=lambda kind: kind.name)),
        rows=min(len(every), ROWS_OF_A_WARP + 1),
        has_sources=bool(sources),
        corrects=any(source.correction for source in sources),
        tensor_of_group=of_all.parts if any(bath.rescales for bath in every) else 0,
    )


class GroupBaths:
    """Parameters and state of baths of groups on the device.

    Args:
        baths: of each system.
        masses: (n,) amu of each system.
        of_all: what acts on all atoms: a motion of the cell, or nothing.
        held: of each system, (n,) which atoms are fixed, or (n, 3) along which directions they are held.

    Attributes:
        coupling: what kernels are compiled for.
        ledger, bath, numbers, bath_of, rows_from: arrays (`BathArrays`).
    """

    def __init__(
        self,
        baths: Sequence[Sequence[GroupBath]],
        masses: Sequence[Array],
        of_all: Coupling,
        held: Sequence[NDArray[np.bool_] | None] | None = None,
    ) -> None:
        self.coupling = acting_coupling(baths, of_all)
        self._period = of_all.period
        self._baths = [list(own) for own in baths]
        self._firsts = np.cumsum([0, *(len(own) for own in baths)])
        sizes = [len(own) for own in masses]
        rows = int(self._firsts[-1])
        numbers = np.zeros((rows, of.NUMBERS), np.int64)
        values = np.zeros((rows, of.ROW))
        bath_of = np.full(sum(sizes), -1, np.int32)
        for system, own in enumerate(self._baths):
            first_atom = sum(sizes[:system])
            for k, bath in enumerate(own):
                row = int(self._firsts[system]) + k
                bath_of[first_atom + bath.atoms] = row
                numbers[row, of.FIRST_ATOM] = first_atom
                # The first bath draws what a bath of the whole system would draw.
                numbers[row, of.WHOSE] = GLOBAL - k
                self._fill(bath, numbers[row], values[row])
                own_masses = masses[system][bath.atoms]
                values[row, at.TOTAL_MASS] = own_masses.sum()
                values[row, of.FREE_MASS : of.FREE_MASS + 3] = own_masses.sum()
                mask = None if held is None else held[system]
                if mask is not None and mask.ndim == 2:
                    free = ~mask[bath.atoms]
                    mass = (own_masses[:, None] * free).sum(axis=0)
                    values[row, of.FREE_MASS : of.FREE_MASS + 3] = np.where(mass > 0.0, mass, 1.0)
                    rest = bath.rescales * free.any(axis=0).sum()
                    values[row, at.FREEDOM] = free.sum() - rest
                    if free.sum() <= rest:
                        raise SettingsError(
                            f"group {bath.name}: at most one of its atoms is free along each direction, "
                            "so the bath has nothing to rescale; use Langevin, or a larger group"
                        )
        self._sums = self.coupling.sums_of_group
        ledger = np.zeros(at.ledger_size(self._sums * rows), np.int64)
        self.numbers, self.bath_of = ti.ndarray(ti.i64, numbers.size), ti.ndarray(ti.i32, len(bath_of))
        self.bath, self.ledger = ti.ndarray(ti.f64, values.size), ti.ndarray(ti.i64, len(ledger))
        self._numbers = numbers
        self.numbers.from_numpy(numbers.ravel())
        self.bath_of.from_numpy(bath_of)
        self.rows_from = ti.ndarray(ti.i32, len(self._firsts))
        self.rows_from.from_numpy(self._firsts.astype(np.int32))
        self._rows = rows
        self._write_all(values.ravel(), ledger)

    def beside(self, of_all: Coupling) -> Coupling:
        """What kernels are compiled for, beside what acts on all atoms: a motion of the cell, or nothing."""
        own = self.coupling
        if not of_all.moves_cell:
            return own
        return replace(
            of_all, acting=own.acting, rows=own.rows, has_sources=own.has_sources,
            tensor_of_group=own.tensor_of_group,
        )  # fmt: skip

    def join(self, bath: Array, ledger: NDArray[np.int64], system: Any, firsts: Any) -> None:
        """Put arrays of the motion of the cell, of all systems, at the end of both arrays."""
        before, ledger_before = self._read_all()
        self._ends = len(bath), len(ledger)
        self.bath = ti.ndarray(ti.f64, len(before) + len(bath))
        self.ledger = ti.ndarray(ti.i64, len(ledger_before) + len(ledger))
        self.system, self.firsts = system, firsts
        self._write_all(np.concatenate([before, bath]), np.concatenate([ledger_before, ledger]))

    def joined(self) -> tuple[Array, NDArray[np.int64]]:
        """The arrays of `join` as they are now, to be read only."""
        bath, ledger = self._read_all()
        return bath[-self._ends[0] :], ledger[-self._ends[1] :]

    def write_joined(self, bath: Array, ledger: NDArray[np.int64]) -> None:
        """Put other values into the arrays of `join`."""
        before, ledger_before = self._read_all()
        self._write_all(
            np.concatenate([before[: -len(bath)], bath]),
            np.concatenate([ledger_before[: -len(ledger)], ledger]),
        )

    def _fill(self, bath: GroupBath, numbers: NDArray[np.int64], values: Array) -> None:
        """Put into a row what never changes."""
        values[[at.FREEDOM, at.COUPLING, at.FACTOR, at.RAMP_STEPS]] = bath.freedom, 1.0, 1.0, 1.0
        what = bath.what
        if isinstance(what, Source):
            numbers[of.KIND] = of.SOURCE
            values[of.POWER] = what.power / (1000.0 * units.FS)
            values[of.CORRECTS] = float(what.correction)
            return
        numbers[of.KIND] = of.THERMOSTATS + self.coupling.acting.index(type(what))
        ledger = np.zeros(at.ledger_size(1), np.int64)
        what.fill(values, ledger)
        numbers[of.SEED] = ledger[at.SEED]

    def forget(self) -> None:
        """The device has gone on: the host's copies are void."""
        self._seen: tuple[Array, NDArray[np.int64]] | None = None

    def _read_all(self) -> tuple[Array, NDArray[np.int64]]:
        """Both arrays, to be read only. Waits for the device after `forget`."""
        if self._seen is None:
            self._seen = on_host(self.bath), on_host(self.ledger)
        return self._seen

    def _read(self) -> tuple[Array, NDArray[np.int64]]:
        """Rows of the array `bath`, and the ledger, to be read only."""
        bath, ledger = self._read_all()
        return bath[: self._rows * of.ROW].reshape(-1, of.ROW), ledger

    def show(self, bath: Array | None, ledger: NDArray[np.int64] | None) -> Callable[[], None]:
        """As of `Baths`."""
        before = self._seen
        if bath is not None and ledger is not None:
            self._seen = bath.ravel(), ledger.ravel()

        def end() -> None:
            self._seen = before

        return end

    def _write(self, values: Array, ledger: NDArray[np.int64]) -> None:
        bath, _ = self._read_all()
        self._write_all(np.concatenate([values.ravel(), bath[values.size :]]), ledger)

    def _write_all(self, bath: Array, ledger: NDArray[np.int64]) -> None:
        self._seen = bath, ledger
        self.bath.from_numpy(bath)
        self.ledger.from_numpy(ledger)

    def _slots(self, row: int) -> slice:
        """Where the ledger has the energy that the bath of each atom has received."""
        first = at.SLOT + (self._sums * row + of.HEAT) * at.SLOTS
        return slice(first, first + at.SLOTS)

    def of_system(self, number: int) -> list[GroupBath]:
        """The baths of a system."""
        return self._baths[number]

    def moves_centre(self, number: int) -> bool:
        """Whether noise moves the centre of mass of a system."""
        whats = [bath.what for bath in self._baths[number]]
        return any(isinstance(what, Thermostat) and what.moves_centre for what in whats)

    def check_timestep(self, timestep: float) -> None:
        """Raise a SettingsError if a thermostat cannot keep up with a time step (internal units)."""
        between = self._period * timestep / units.FS
        for own in self._baths:
            for bath in own:
                if not isinstance(bath.what, Thermostat):
                    continue
                bath.what.check_timestep(timestep)
                for name, time in bath.what.rescaling_times.items():
                    if between > time * (1.0 + 1e-12):
                        raise SettingsError(
                            f"the bath {bath.name} acts with the cell every {self._period} steps, "
                            f"{between:g} fs, which is longer than {name} = {digits(time)} fs; use a shorter "
                            "period (--barostat-period) or a longer coupling time"
                        )

    def heats(self, number: int) -> dict[str, float]:
        """Energy that each bath has given to the atoms of a system since the first step, eV, by group."""
        values, ledger = self._read()
        found = {}
        for row, bath in enumerate(self._baths[number], int(self._firsts[number])):
            if bath.rescales:
                found[bath.name] = 0.0 - float(values[row, at.RECEIVED])
            else:
                found[bath.name] = -int(ledger[self._slots(row)].sum()) * 2.0**-at.ENERGY_BITS
        return found

    def take_failures(self) -> dict[int, tuple[int, str]]:
        """Systems with a sink that has failed: the step, and what was too little for it; told once."""
        values, ledger = self._read()
        found: dict[int, tuple[int, str]] = {}
        for system, own in enumerate(self._baths):
            for row, bath in enumerate(own, int(self._firsts[system])):
                failed = int(values[row, of.FAILED])
                if failed and self._numbers[row, of.KIND] != of.IDLE and isinstance(bath.what, Source):
                    has = float(values[row, of.LACKING])
                    what = (
                        f"the source {bath.name} of {bath.what.power:g} eV/ps finds a kinetic energy of "
                        f"{has:.3g} eV in its {len(bath.atoms)} atoms relative to their centre of mass"
                    )
                    found[system] = failed, what
        if values[:, of.FAILED].any():
            values = values.copy()
            values[:, of.FAILED] = 0.0
            self._write(values, ledger)
        return found

    def stop(self, number: int) -> None:
        """From now on the baths of a system do nothing."""
        self._numbers[self._firsts[number] : self._firsts[number + 1], of.KIND] = of.IDLE
        self.numbers.from_numpy(self._numbers.ravel())

    def state(self, number: int) -> list[dict[str, Any]]:
        """What a restart needs of a system, with the groups themselves: JSON-able, and exact."""
        values, ledger = self._read()
        found = []
        for row, bath in enumerate(self._baths[number], int(self._firsts[number])):
            own = [x for part in of.STATE for x in values[row, part].tolist()]
            found.append({**bath.record(), "bath": own, "ledger": int(ledger[self._slots(row)].sum())})
        return found

    def set_state(self, number: int, state: Sequence[dict[str, Any]]) -> None:
        """Continue from what `state` returned for the same groups and baths."""
        ours = [bath.record() for bath in self._baths[number]]
        theirs = [of_record(one).record() for one in state]
        if ours != theirs:
            names = [", ".join(one["name"] for one in each) or "none" for each in (theirs, ours)]
            raise SettingsError(
                f"the state of baths of groups ({names[0]}) belongs to different groups or settings, "
                f"now {names[1]}"
            )
        values, ledger = self._read()
        values, ledger = values.copy(), ledger.copy()
        for row, one in enumerate(state, int(self._firsts[number])):
            if "bath" not in one:
                continue
            begin = 0
            for part in of.STATE:
                length = part.stop - part.start
                values[row, part] = one["bath"][begin : begin + length]
                begin += length
            values[row, of.FAILED] = 0.0
            ledger[self._slots(row)] = 0
            ledger[self._slots(row).start] = one["ledger"]
        self._write(values, ledger)
