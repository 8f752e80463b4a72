"""The host's side of a thermostat: its two device arrays, and what of them a checkpoint keeps."""

from typing import Any

import numpy as np

from taichimd import units
from taichimd.dynamics import thermostats as at
from taichimd.dynamics.ensembles import Ensemble, Thermostat, degrees_of_freedom
from taichimd.errors import SettingsError
from taichimd.runtime import ti


class Bath:
    """Parameters and state of an ensemble on the device; of NVE, two arrays that no kernel reads.

    Args:
        ensemble: what is held constant.
        n_atoms: how many atoms.

    Attributes:
        freedom: degrees of freedom among which the kinetic energy is shared.
        arrays: `ledger` and `bath`, as kernels take them.
        local: whether the thermostat acts on each atom alone. whole: whether on the whole system.
    """

    def __init__(self, ensemble: Ensemble, n_atoms: int) -> None:
        self.ensemble = ensemble
        self.freedom = degrees_of_freedom(ensemble, n_atoms)
        self.local = isinstance(ensemble, Thermostat) and ensemble.name == "nvt-langevin"
        self.whole = isinstance(ensemble, Thermostat) and not self.local
        self._ledger = ti.ndarray(ti.i64, at.SLOT + at.SLOTS)
        self._bath = ti.ndarray(ti.f64, at.BATH_SIZE)
        self.arrays = self._ledger, self._bath
        self._ledger.fill(0)
        self._bath.fill(0.0)
        if isinstance(ensemble, Thermostat):
            self._load(ensemble)

    def _load(self, ensemble: Thermostat) -> None:
        first, last = ensemble.ramp or (0, 1)
        start = ensemble.temperature
        end = start if ensemble.final_temperature is None else ensemble.final_temperature
        values = np.zeros(at.BATH_SIZE)
        values[[at.START, at.END]] = start * units.KB, end * units.KB
        values[at.MASS_KT] = start * units.KB
        values[[at.RAMP_FIRST, at.RAMP_STEPS]] = first, last - first
        values[at.COUPLING] = ensemble.coupling_time * units.FS
        values[at.FREEDOM] = self.freedom
        self._bath.from_numpy(values)
        ledger = np.zeros(at.SLOT + at.SLOTS, np.int64)
        ledger[at.SEED] = ensemble.seed
        self._ledger.from_numpy(ledger)

    def received(self) -> float:
        """Energy that the bath has received since the first step, eV; waits for the device."""
        if self.local:
            return self._given() * 2.0**-at.ENERGY_BITS
        return float(self._bath.to_numpy()[at.RECEIVED]) if self.whole else 0.0

    def _given(self) -> int:
        return int(self._ledger.to_numpy()[at.SLOT :].sum())

    def state(self) -> dict[str, Any]:
        """What a restart needs besides the settings: JSON-able, and exact."""
        if self.local:
            return {"ensemble": self.ensemble.name, "ledger": self._given()}
        if self.whole:
            return {"ensemble": self.ensemble.name, "bath": self._bath.to_numpy()[at.STATE].tolist()}
        return {}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned.

        Raises:
            SettingsError: it is the state of another ensemble.
        """
        if state.get("ensemble", "nve") != self.ensemble.name:
            raise SettingsError(
                f"the state of a {state.get('ensemble', 'nve')} thermostat cannot be that of {self.ensemble.name}"
            )
        if self.local:
            ledger = self._ledger.to_numpy()
            ledger[at.SLOT :] = 0
            ledger[at.SLOT] = state["ledger"]
            self._ledger.from_numpy(ledger)
        elif self.whole:
            values = self._bath.to_numpy()
            values[at.STATE] = state["bath"]
            self._bath.from_numpy(values)
