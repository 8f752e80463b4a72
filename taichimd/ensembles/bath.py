"""The host's side of a thermostat: its two device arrays, and what of them a checkpoint keeps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import CapacityError, SettingsError
from taichimd.core.runtime import ti
from taichimd.ensembles.barostats import layout as baro
from taichimd.ensembles.coupling import coupling_of
from taichimd.ensembles.registry import NVE, Ensemble
from taichimd.ensembles.thermostats import layout as at
from taichimd.system.cell import Cell

MOST_SUM = 2.0 ** (62 - at.ENERGY_BITS)
"""eV: half of what sums of a barostat hold."""


class Bath:
    """Parameters and state of an ensemble on the device; of NVE, two arrays that no kernel reads.

    Args:
        ensemble: what is held constant.
        masses: (n,) amu.
        cell: which a barostat moves.
        driving_force: 1/angstrom, or None.
        fixed: (n,) True where an atom is fixed; None: nowhere.

    Raises:
        SettingsError: a driving force that is no vector, without its thermostat, or with fixed atoms.

    Attributes:
        freedom: degrees of freedom among which the kinetic energy is shared.
        ledger, bath: the arrays (`BathArrays`).
        coupling: what kernels are compiled for.
        moves_cell: whether there is a barostat.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        masses: Array,
        cell: Cell,
        driving_force: tuple[float, float, float] | None = None,
        fixed: NDArray[np.bool_] | None = None,
    ) -> None:
        self.ensemble, self._cell = ensemble, cell
        self.coupling = coupling_of(ensemble, driving_force)
        n_fixed = 0 if fixed is None else int(np.count_nonzero(fixed))
        if n_fixed and self.coupling.driven:
            raise SettingsError("a driving force needs all atoms to move; leave fixed, or driving_force, out")
        self.freedom = ensemble.degrees_of_freedom(len(masses), n_fixed)
        self.moves_cell = self.coupling.moves_cell
        sums = 1 + 3 * self.coupling.driven
        if self.moves_cell:
            sums = 2 * baro.parts_of(self.coupling.control, self.coupling.axes)
        values = np.zeros(baro.BATH_SIZE if self.moves_cell else at.BATH_SIZE)
        ledger = np.zeros(at.ledger_size(sums), np.int64)
        values[at.FREEDOM], values[at.TOTAL_MASS] = self.freedom, masses.sum()
        values[at.DRIVE : at.DRIVE + 3] = driving_force or (0.0, 0.0, 0.0)
        ensemble.fill(values, ledger)
        self._begin(values, ledger)

    def _begin(self, values: Array, ledger: NDArray[np.int64]) -> None:
        self.ledger, self.bath = ti.ndarray(ti.i64, len(ledger)), ti.ndarray(ti.f64, len(values))
        self._write(values, ledger)

    # The arrays as the device has them, and others in their place; where these are, a batch says in another way.

    def _values(self) -> Array:
        return np.asarray(self.bath.to_numpy())

    def _ledger(self) -> NDArray[np.int64]:
        return np.asarray(self.ledger.to_numpy())

    def _write(self, values: Array | None = None, ledger: NDArray[np.int64] | None = None) -> None:
        if values is not None:
            self.bath.from_numpy(values)
        if ledger is not None:
            self.ledger.from_numpy(ledger)

    def check_sums(self, virial: float, twice_kinetic: float) -> None:
        """Refuse what the sums of a barostat, whole numbers of 64 bits, do not hold.

        Args:
            virial: trace, eV.
            twice_kinetic: eV.

        Raises:
            CapacityError: more than half of what they hold.
        """
        found = max(abs(virial), twice_kinetic)
        if self.moves_cell and not found < MOST_SUM:
            raise CapacityError(
                f"{self.ensemble.name}: virial or kinetic energy of the whole system, {found:.2g} eV, is more than the "
                f"{MOST_SUM:.2g} eV that the barostat's sums are made for; check pressure and bulk_modulus, relax the "
                "structure first, or use fewer atoms"
            )

    def received(self) -> float | None:
        """Energy that bath and cell have received since the first step, eV; waits for the device.

        None where nothing is conserved: with a driving force, and in ensembles that do not.
        """
        if self.coupling.driven or not self.ensemble.conserves:
            return None
        if self.coupling.local:
            return self._given() * 2.0**-at.ENERGY_BITS
        return self.ensemble.received(self._values(), self.freedom)

    def leave(self, step: int) -> None:
        """The step counter goes from this step to another one, which a barostat may take for one in which it has acted.

        Whatever deformation is known then, the drift behind its own step has done it.
        """
        if self.moves_cell and step % self.coupling.period != 0:
            self._cell.rest()

    def _given(self) -> int:
        return int(self._ledger()[at.SLOT :].sum())

    def state(self) -> dict[str, Any]:
        """What a restart needs besides the settings: JSON-able, and exact."""
        whose = {"ensemble": self.ensemble.name, "identity": self.ensemble.identity}
        if self.coupling.local:
            return {**whose, "ledger": self._given()}
        if self.coupling.whole:
            values = self._values()
            found = {**whose, "bath": values[at.STATE].tolist()}
            if self.moves_cell:
                found["cell"] = [*self._cell.state(), *values[baro.STATE].tolist()]
            return found
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned.

        Raises:
            SettingsError: it is the state of another ensemble, or of one whose masses, axes or steps of
                action are others.
        """
        whose = state.get("ensemble", NVE.name)
        if whose != self.ensemble.name:
            raise SettingsError(f"the state of a {whose} thermostat cannot be that of {self.ensemble.name}")
        if not self.ensemble.goes_on_from(state):
            raise SettingsError(
                f"the state of a {self.ensemble.name} bath with {state['identity'][1:]} cannot be that of one with "
                f"{self.ensemble.identity[1:]}: begin a new one"
            )
        if self.coupling.local:
            ledger = self._ledger()
            ledger[at.SLOT :] = 0
            ledger[at.SLOT] = state["ledger"]
            self._write(ledger=ledger)
        elif self.coupling.whole:
            values = self._values()
            values[at.STATE] = state["bath"]
            if self.moves_cell:
                of_barostat = len(values[baro.STATE])
                values[baro.STATE] = state["cell"][-of_barostat:]
                self._cell.set_state(state["cell"][:-of_barostat])
            self._write(values)
