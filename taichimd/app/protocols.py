"""What the run driver needs of an engine: the driver and its tests depend on this, not on Taichi."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ThermoLike(Protocol):
    """State functions at one step, as `Engine.thermo` returns them."""

    @property
    def step(self) -> int:
        """MD step."""

    @property
    def potential(self) -> float:
        """Energy in eV."""

    @property
    def kinetic(self) -> float:
        """Energy in eV."""

    @property
    def temperature(self) -> float:
        """K."""

    @property
    def pressure(self) -> float | None:
        """In GPa, with the kinetic part; None without a volume."""

    @property
    def volume(self) -> float | None:
        """Å^3, or None."""

    @property
    def stress(self) -> Array | None:
        """(6,) eV/Å^3, potential part, ASE's sign and order; None without a volume."""

    @property
    def conserved(self) -> float | None:
        """Total energy and what thermostat and cell have received, eV; None where nothing is conserved."""

    @property
    def charge_iterations(self) -> int | None:
        """Of the charge equilibration of this step; None of a force field without charges."""


class EvaluationLike(Protocol):
    """The energy and what each atom has, as `Engine.evaluate` returns it."""

    @property
    def energy(self) -> float:
        """Of all atoms, eV."""

    @property
    def forces(self) -> Array:
        """(n, 3) eV/angstrom."""

    @property
    def energies(self) -> Array:
        """(n,) eV."""

    @property
    def virials(self) -> Array:
        """(n, 3, 3) eV."""

    @property
    def stress(self) -> Array | None:
        """(6,) eV/Å^3, potential part, ASE's sign and order; None if the cell vectors span no volume."""

    @property
    def charges(self) -> Array | None:
        """(n,) e; None of a force field without charges."""


class EngineLike(Protocol):
    """The part of `taichimd.program.engine.Engine` that a simulation uses.

    `advance` must return only when the device has finished, and its result must not depend on how a number
    of steps is split into calls: on both rest the timing, the Ctrl-C and the bit-for-bit restart.
    """

    n_atoms: int
    symbols: list[str]
    forcefield: Any
    ensemble: Any
    precision: str
    masses: Array
    pbc: NDArray[np.bool_]
    decomposition: str
    step: int
    fixed: NDArray[np.bool_] | None
    """(n,) which atoms are fixed; None if none is."""

    @property
    def cell(self) -> Array:
        """(3, 3) Å at the present step, cell vectors in rows."""

    def positions(self) -> Array:
        """(n, 3) Å, the user's order, never wrapped."""

    def velocities(self) -> Array:
        """(n, 3) in internal units, the user's order."""

    def forces(self) -> Array:
        """(n, 3) eV/Å, the user's order."""

    def set_state(
        self,
        *,
        positions: Array | None = None,
        velocities: Array | None = None,
        forces: Array | None = None,
        step: int | None = None,
        bath: dict[str, Any] | None = None,
    ) -> None:
        """Replace positions, velocities, forces, step or the thermostat's state; what is not given stays."""

    def atom_states(self) -> dict[str, Array]:
        """What the force field keeps of each atom, (n,) each."""

    def atom_values(self) -> dict[str, Array]:
        """What a frame shows of each atom: states of the force field, charges (e); (n,) each."""

    def bonds(self) -> Any:
        """A `BondTable` of the present positions; None of a force field without bonds."""

    def set_atom_states(self, states: dict[str, Array]) -> None:
        """Set what `atom_states` returned."""

    def bath_state(self) -> dict[str, Any]:
        """What the thermostat remembers, for `set_state`; JSON-able, empty in NVE."""

    def advance(self, n_steps: int, timestep: float) -> None:
        """Steps of the engine's ensemble; time step in internal units."""

    def warm_up(self) -> float:
        """Compile what a run needs; seconds it took."""

    def thermo(self) -> ThermoLike:
        """State functions at the present step; leaves the state alone."""

    def pressures(self) -> Array | None:
        """(6,) GPa, xx yy zz yz xz xy, with the kinetic part; None without a volume."""

    def observe(self, take: Callable[[Any, Any, Any], None]) -> None:
        """Lend state, energies and virials on the device to a sampler."""

    def evaluate(self) -> EvaluationLike:
        """Energies and virials of the atoms at the present step; leaves the state alone."""

    def statistics(self) -> dict[str, Any]:
        """Figures for the report: list rebuilds, neighbours, skin ..."""
