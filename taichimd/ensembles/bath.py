"""The host's side of thermostats and barostats.

The bath of a system is a row of two device arrays. A checkpoint keeps the state of each bath.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import CapacityError, SettingsError
from taichimd.core.host_copies import on_host
from taichimd.core.one_of_each import one_of_each
from taichimd.core.runtime import ti
from taichimd.ensembles.barostats import layout as baro
from taichimd.ensembles.barostats.deformation import DeformedCell
from taichimd.ensembles.beside import check_beside, check_groups
from taichimd.ensembles.coupling import Coupling, coupling_of
from taichimd.ensembles.drives.host import Drives
from taichimd.ensembles.groups.baths import GroupBaths
from taichimd.ensembles.groups.given import GroupBath
from taichimd.ensembles.registry import NVE, Ensemble
from taichimd.ensembles.thermostats import layout as at
from taichimd.system.cell import Cells
from taichimd.system.constraints import directions, free_directions, wholly

MAX_SUM = 2.0 ** (62 - at.ENERGY_BITS)
"""eV: half of what sums of a barostat hold."""


class Baths:
    """Parameters and state of ensembles on the device, a row for each system.

    For NVE there are arrays, but no kernel reads them.

    Args:
        ensembles: what is held constant, one for each system, all of one class.
        masses: (n,) amu of each system.
        cells: which barostats move.
        fixed: of each system, (n,) True where an atom is fixed, or (n, 3) along which directions it is
            held; None: nowhere.
        driving_forces: of each system, 1/angstrom; None: nowhere.
        acting: baths of groups of each system; None: none.
        drives: forces, walls and other drives of all systems; None: none.

    Raises:
        SettingsError: baths of groups beside something that acts on all atoms; ensembles of several classes,
            or barostats with several controls, axes or periods; a driving force that is no vector, without
            its thermostat, or with fixed atoms.

    Attributes:
        ensembles, cells: as given. freedoms: degrees of freedom among which each system shares its kinetic
            energy.
        ledger, bath, system, firsts: arrays (`BathArrays`); the last two of several systems.
        groups: baths of groups, or None. arrays: those that kernels take: these, or those of `groups`.
        coupling: what kernels are compiled for. of_all: the part of it that acts on all atoms.
    """

    def __init__(
        self,
        ensembles: Sequence[Ensemble],
        masses: Sequence[Array],
        cells: Cells,
        fixed: Sequence[NDArray[np.bool_] | None] | None = None,
        driving_forces: Sequence[tuple[float, float, float]] | None = None,
        acting: Sequence[Sequence[GroupBath]] | None = None,
        drives: Drives | None = None,
    ) -> None:
        self.ensembles, self.cells = ensembles, cells
        self.coupling = self.of_all = _coupling_of_all(ensembles, driving_forces)
        driven = self.coupling.driven
        self.groups: GroupBaths | None = None
        if acting is not None and any(acting):
            check_groups(ensembles, driven, acting, fixed)
            self.groups = GroupBaths(acting, masses, self.of_all, fixed)
            self.coupling = self.groups.beside(self.of_all)
        if any(held is not None and held.ndim == 2 for held in fixed or ()):
            self.coupling = replace(self.coupling, holds=True)
        if drives is not None:
            check_beside(ensembles, driven, drives)
            self.coupling = replace(self.coupling, drives=drives.kinds)
        self.freedoms: list[int] = []
        first = []
        for number, (ensemble, own) in enumerate(zip(ensembles, masses, strict=True)):
            held = None if fixed is None else fixed[number]
            n_fixed = 0 if held is None else int(np.count_nonzero(wholly(held)))
            partly = held is not None and held.ndim == 2
            if (n_fixed or partly) and driven:
                raise SettingsError(
                    "a driving force needs all atoms to move; leave fixed, or driving_force, out"
                )
            freedom = ensemble.degrees_of_freedom(len(own), n_fixed, held)
            if any(one is not None and one.moves_centre(number) for one in (self.groups, drives)):
                freedom = free_directions(directions(held, len(own)), moves_centre=True)
            self.freedoms.append(freedom)
            force = driving_forces[number] if driving_forces else None
            first.append(_first_values(ensemble, self.of_all, freedom, own, force))
        values, ledgers = (np.array(rows) for rows in zip(*first, strict=True))
        self._shapes = values.shape, ledgers.shape
        self.system, self.firsts = cells.arrays.system, _firsts([len(own) for own in masses])
        self._joined = self.groups if self.of_all.moves_cell else None
        if self._joined is not None:
            self._joined.join(values.ravel(), ledgers.ravel(), self.system, self.firsts)
            return
        self.bath, self.ledger = ti.ndarray(ti.f64, values.size), ti.ndarray(ti.i64, ledgers.size)
        self.write(values, ledgers)

    @property
    def arrays(self) -> Any:
        """What kernels take."""
        return self if self.groups is None else self.groups

    @property
    def moves_cell(self) -> bool:
        """Whether there are barostats."""
        return self.coupling.moves_cell

    def forget(self) -> None:
        """The device has gone on: the host's copies are void."""
        if self.groups is not None:
            self.groups.forget()
        self._seen: tuple[Array, NDArray[np.int64]] | None = None

    def read(self) -> tuple[Array, NDArray[np.int64]]:
        """The arrays `bath` and `ledger`, a row for each system, to be read only.

        After `forget`: waits for the device.
        """
        bath, ledger = self._shapes
        if self._joined is not None:
            values, ledgers = self._joined.joined()
            return values.reshape(bath), ledgers.reshape(ledger)
        if self._seen is None:
            self._seen = on_host(self.bath).reshape(bath), on_host(self.ledger).reshape(ledger)
        return self._seen

    def show(self, bath: Array | None, ledger: NDArray[np.int64] | None) -> Callable[[], None]:
        """Let the host read other values than those of `arrays`, if given; what is returned ends that."""
        if self.groups is not None:
            return self.groups.show(bath, ledger)
        before = self._seen
        if bath is not None and ledger is not None:
            self._seen = bath.reshape(self._shapes[0]), ledger.reshape(self._shapes[1])

        def end() -> None:
            self._seen = before

        return end

    def write(self, values: Array, ledgers: NDArray[np.int64]) -> None:
        """Put other rows in the place of all."""
        if self._joined is not None:
            self._joined.write_joined(values.ravel(), ledgers.ravel())
            return
        self._seen = values, ledgers
        self.bath.from_numpy(values.ravel())
        self.ledger.from_numpy(ledgers.ravel())

    def _flips_every(self, timestep: float) -> dict[int, int]:
        """Steps between two looks at the cells of systems that are sheared, by their numbers."""
        every = {
            number: ensemble.flips_every(timestep)
            for number, ensemble in enumerate(self.ensembles)
            if isinstance(ensemble, DeformedCell)
        }
        return {number: steps for number, steps in every.items() if steps}

    def flips(self, step: int, timestep: float) -> list[int]:
        """Numbers of the systems whose cells are looked at before a step, whether they are flipped."""
        if not self.coupling.deforms:
            return []
        return [number for number, every in self._flips_every(timestep).items() if step % every == 0]

    def next_flips(self, step: int, timestep: float) -> int:
        """The next step for which `flips` are not empty."""
        if not self.coupling.deforms:
            return sys.maxsize
        ends = [(step // every + 1) * every for every in self._flips_every(timestep).values()]
        return min(ends, default=sys.maxsize)

    def leave(self, step: int) -> None:
        """Prepare for a step counter that jumps from this step to a different one.

        A barostat may take the new step for one in which it has acted.

        Whatever deformation is known then, the drift behind its own step has done it.
        """
        if self.moves_cell and step % self.coupling.period != 0:
            for number in range(len(self.ensembles)):
                self.cells.rest(number)

    # The bath of one system.

    def _values(self, number: int) -> Array:
        return self.read()[0][number].copy()

    def _ledger(self, number: int) -> NDArray[np.int64]:
        return self.read()[1][number].copy()

    def _write(
        self, number: int, values: Array | None = None, ledger: NDArray[np.int64] | None = None
    ) -> None:
        of_all, ledgers = self.read()
        of_all, ledgers = of_all.copy(), ledgers.copy()
        if values is not None:
            of_all[number] = values
        if ledger is not None:
            ledgers[number] = ledger
        self.write(of_all, ledgers)

    def stop(self, number: int) -> None:
        """From now on the barostat leaves cell and atoms as they are."""
        if self.moves_cell:
            values = self._values(number)
            values[baro.AT_REST] = 1.0
            values[baro.VELOCITY_SCALE : baro.VELOCITY_SCALE + 9] = np.eye(3).ravel()
            self._write(number, values)

    def begin(self, number: int, step: int, timestep: float, virial: Callable[[], Array]) -> bool:
        """Begin a deformation that no action has come before, at a step; whether this was to be done."""
        cells, ensemble = self.cells, self.ensembles[number]
        if not isinstance(ensemble, DeformedCell) or step % self.coupling.period != 0:
            return False
        if cells.read("stretch")[number].any():
            return False
        values = self._values(number)
        x, drift = ensemble.begin(values, virial(), timestep)
        self._write(number, values)
        cells.to_come(number, x, drift)
        return True

    def deformation(self, number: int) -> tuple[Array, float] | None:
        """Deformation gradient F (3, 3) and work on the atoms, eV, since the start; None without one."""
        ensemble = self.ensembles[number]
        if not isinstance(ensemble, DeformedCell):
            return None
        return self.cells.read("gradient")[number].copy(), ensemble.work(self._values(number))

    def check_sums(self, number: int, virial: float, twice_kinetic: float) -> None:
        """Raise a CapacityError for more than half of what the 64-bit sums of a barostat hold, eV."""
        found = max(abs(virial), twice_kinetic)
        if self.moves_cell and not found < MAX_SUM:
            raise CapacityError(
                f"{self.ensembles[number].name}: virial or kinetic energy of the whole system, {found:.2g} "
                f"eV, is more than the {MAX_SUM:.2g} eV that the barostat's sums are made for; check "
                "pressure and bulk_modulus, relax the structure first, or use fewer atoms"
            )

    def received(self, number: int) -> float | None:
        """Energy that bath and cell have received since the first step, eV; waits for the device.

        None where nothing is conserved: with a driving force, and in ensembles that do not.
        """
        coupling, ensemble = self.of_all, self.ensembles[number]
        if coupling.driven or not ensemble.conserves:
            return None
        given = self._given(number) * 2.0**-at.ENERGY_BITS if coupling.local else 0.0
        if not coupling.whole:
            return given
        return given + ensemble.received(self._values(number), self.freedoms[number])

    @property
    def _slots(self) -> slice:
        """Where the ledger has the energies that a thermostat of each atom has received."""
        first = at.SLOT + self.of_all.given * at.SLOTS
        return slice(first, first + at.SLOTS)

    def _given(self, number: int) -> int:
        return int(self._ledger(number)[self._slots].sum())

    def state(self, number: int) -> dict[str, Any]:
        """What a restart needs besides the settings: JSON-able, and exact."""
        coupling, ensemble = self.of_all, self.ensembles[number]
        if coupling.none and self.groups is None:
            return {}
        found: dict[str, Any] = {"ensemble": ensemble.name, "identity": ensemble.identity}
        if self.groups is not None:
            found["acting"] = self.groups.state(number)
        if coupling.local:
            found["ledger"] = self._given(number)
        if coupling.whole:
            values = self._values(number)
            found["bath"] = values[at.STATE].tolist()
            if coupling.moves_cell:
                found["cell"] = [*self.cells.state(number), *values[baro.STATE].tolist()]
            if coupling.deforms:
                gradient = self.cells.read("gradient")[number].ravel()
                found["deformation"] = [*gradient.tolist(), *values[baro.DEFORMATION_STATE].tolist()]
        return found

    def set_state(self, number: int, state: dict[str, Any]) -> None:
        """Continue from what `state` returned.

        SettingsError: it is the state of another ensemble, or of one whose masses, axes or steps of action
        are others.
        """
        whose, coupling, ensemble = state.get("ensemble", NVE.name), self.of_all, self.ensembles[number]
        if whose != ensemble.name:
            raise SettingsError(
                f"{ensemble.name} cannot continue from the state of {whose}: start without the state"
            )
        if not ensemble.goes_on_from(state):
            raise SettingsError(
                f"a {ensemble.name} bath with {ensemble.identity[1:]} cannot continue from the state of one "
                f"with {state['identity'][1:]}: use the settings of the state, or start without the state"
            )
        if coupling.local:
            ledger = self._ledger(number)
            ledger[self._slots] = 0
            ledger[self._slots.start] = state["ledger"]
            self._write(number, ledger=ledger)
        if coupling.whole:
            values = self._values(number)
            values[at.STATE] = state["bath"]
            if coupling.moves_cell:
                of_barostat = len(values[baro.STATE])
                values[baro.STATE] = state["cell"][-of_barostat:]
                self.cells.set_state(number, state["cell"][:-of_barostat])
            if coupling.deforms:
                values[baro.DEFORMATION_STATE] = state["deformation"][9:]
                self.cells.set_gradient(number, np.reshape(state["deformation"][:9], (3, 3)))
            self._write(number, values)
        if "acting" in state and self.groups is not None:
            self.groups.set_state(number, state["acting"])
        elif "acting" in state:
            names = ", ".join(one["name"] for one in state["acting"])
            raise SettingsError(
                f"the state has baths of groups ({names}), and there are none here: give them as acting=[...]"
            )


def _firsts(sizes: list[int]) -> Any:
    """First atom of each system on the device; None of a single system."""
    if len(sizes) == 1:
        return None
    firsts = ti.ndarray(ti.i32, len(sizes))
    firsts.from_numpy((np.cumsum(sizes) - sizes).astype(np.int32))
    return firsts


def _coupling_of_all(
    ensembles: Sequence[Ensemble], driving_forces: Sequence[tuple[float, float, float]] | None
) -> Coupling:
    """The coupling that ensembles have in common."""
    forces = one_of_each("driving_forces", driving_forces, len(ensembles))
    couplings = [coupling_of(*each) for each in zip(ensembles, forces, strict=True)]
    names = sorted({ensemble.name for ensemble in ensembles})
    if len(names) > 1:
        raise SettingsError(
            f"systems of one batch must have one ensemble, got {', '.join(names)}; make one batch for each"
        )
    if len(set(couplings)) > 1:
        raise SettingsError(
            "barostats of one batch must have the same control, axes and period, and the settings of "
            f"{names[0]} differ; make one batch for each"
        )
    several = len(ensembles) > 1 and not couplings[0].none
    return replace(couplings[0], batch=several)


def _first_values(
    ensemble: Ensemble,
    coupling: Coupling,
    freedom: int,
    masses: Array,
    driving_force: tuple[float, float, float] | None,
) -> tuple[Array, NDArray[np.int64]]:
    """Rows of the arrays `bath` and `ledger` at the start."""
    values = np.zeros(coupling.bath_size)
    ledger = np.zeros(at.ledger_size(coupling.sums), np.int64)
    values[at.FREEDOM], values[at.TOTAL_MASS] = freedom, masses.sum()
    values[at.DRIVE : at.DRIVE + 3] = driving_force or (0.0, 0.0, 0.0)
    ensemble.fill(values, ledger)
    return values, ledger
