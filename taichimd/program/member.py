"""One system of a batch, as a simulation and its observers see it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError, TaichimdError
from taichimd.core.matrix3 import determinant
from taichimd.ensembles.batch_bath import MemberBath
from taichimd.ensembles.registry import Ensemble
from taichimd.program.extract import Extract
from taichimd.program.heat import HeatCurrent
from taichimd.program.results import Evaluation, NotCopied, Thermo
from taichimd.program.totals import stress_of
from taichimd.system.batch_cell import MemberCell
from taichimd.system.checks import check_positions, check_shape, check_turns, check_vectors
from taichimd.system.constraints import of_free
from taichimd.system.frame import Frame, make_frame
from taichimd.system.state import State

if TYPE_CHECKING:
    from taichimd.program.batch import Batch


class Member(NotCopied):
    """A system of a `Batch`, with what an `Engine` has but its own steps.

    Attributes:
        batch, number: whose it is. error: why it has stopped, or None.
        n_atoms, symbols, masses, pbc, fixed, ensemble, forcefield, precision, decomposition, backend: as of
            `Engine`.
    """

    instead = "make another batch"

    def __init__(
        self,
        batch: "Batch",
        number: int,
        atoms: Atoms,
        ensemble: Ensemble,
        bath: MemberBath,
        cell: MemberCell,
        fixed: NDArray[np.bool_] | None,
    ) -> None:
        self.batch, self.number, self.ensemble, self.fixed = batch, number, ensemble, fixed
        self._bath, self._cell = bath, cell
        self.n_atoms, self.symbols = len(atoms), list(atoms.symbols)
        self.masses: Array = atoms.get_masses().astype(float)
        self.pbc = atoms.pbc.copy()
        self.forcefield, self.precision = batch.forcefield, batch.precision
        self.decomposition, self.backend = batch.decomposition, batch.backend
        self.error: TaichimdError | None = None
        self._last: dict[str, Array] = {}
        self._extract: Extract | None = None
        self._stopped_at = 0

    @property
    def step(self) -> int:
        """Step counter: that of the batch, or of the step that failed."""
        return self.batch.step if self.error is None else self._stopped_at

    def stop(self, error: TaichimdError) -> None:
        """Keep the present state, of a step that has failed."""
        self._stopped_at, self.error = self.batch.step, error
        error.args = (f"{self.batch.names[self.number]}: {error}", *error.args[1:])
        self._last = {name: self.batch.vectors(name)[self._part].copy() for name in ("pos", "vel")}
        self._last["cell"] = self._cell.raw()

    @property
    def _part(self) -> slice:
        return self.batch.part(self.number)

    def _vectors(self, name: str) -> Array:
        if name in self._last:
            return self._last[name].copy()
        return self.batch.vectors(name)[self._part].copy()

    def positions(self) -> Array:
        """(n, 3) angstrom, never folded into the cell."""
        return self._vectors("pos")

    def velocities(self) -> Array:
        """(n, 3) angstrom per internal time unit."""
        return of_free(self._vectors("vel"), self.fixed)

    def forces(self) -> Array:
        """(n, 3) eV/angstrom at the present positions."""
        self._check_going()
        return self._vectors("force")

    @property
    def cell(self) -> Array:
        """(3, 3) angstrom, cell vectors in rows."""
        return self._last["cell"].copy() if self._last else self._cell.vectors.copy()

    @property
    def frame(self) -> Frame:
        """The lattice."""
        return make_frame(self._last["cell"], self.pbc) if self._last else self._cell.frame

    @property
    def volume(self) -> float | None:
        """angstrom^3 if the cell is periodic in three directions, else None."""
        return abs(determinant(self.cell)) if self.pbc.all() else None

    def set_state(
        self,
        *,
        positions: Array | None = None,
        velocities: Array | None = None,
        forces: Array | None = None,
        step: int | None = None,
        cell: Array | None = None,
        bath: dict[str, Any] | None = None,
    ) -> None:
        """Set parts of the state, as `Engine.set_state`; a step counter is that of the whole batch.

        Raises:
            StructureError: as for a new engine.
            SettingsError: a bath of another ensemble.
        """
        if cell is not None and not np.array_equal(cell, self.cell):
            self.batch.set_cells({self.number: np.array(cell, float)})
        if positions is not None:
            positions = np.asarray(positions, float)
            check_positions(positions, self.n_atoms)
            check_turns(positions, self._cell.frame)
            self.batch.set_vectors("pos", {self.number: positions})
        if velocities is not None:
            velocities = np.asarray(velocities, float)
            check_vectors(velocities, self.n_atoms, "velocity", "velocities")
            self.batch.set_vectors("vel", {self.number: of_free(velocities, self.fixed)})
        if forces is not None:
            check_shape(np.asarray(forces), self.n_atoms, "forces")
            # Known only if all systems are told theirs: they are computed anew, with the same bits.
        if step is not None:
            self.batch.go_to(step)
        if bath is not None:
            self._bath.set_state(bath)
            if self._bath.moves_cell:
                self.batch.outdate()

    def atom_states(self) -> dict[str, Array]:
        """What contributions of the force field keep of each atom, (n,) each, by name."""
        carried: dict[str, Array] = self.batch.seen("carried", self.batch.device.state.carried_values)
        return {name: values[self._part] for name, values in carried.items()}

    def set_atom_states(self, states: dict[str, Array]) -> None:
        """Set what `atom_states` returned."""
        state = self.batch.device.state
        of_all = state.carried_values()
        for name, values in states.items():
            if name in of_all:
                of_all[name][self._part] = values
        state.set_carried(of_all if states or not of_all else states)
        self.batch.forget()

    def bath_state(self) -> dict[str, Any]:
        """What the thermostat remembers, for a checkpoint."""
        return self._bath.state()

    def atom_values(self) -> dict[str, Array]:
        """What a frame shows of each atom, (n,) each, by name."""
        return self.atom_states()

    def _check_going(self) -> None:
        if self.error is not None:
            raise self.error

    # Evaluation.

    def evaluate(self) -> Evaluation:
        """Energies, forces and virials at the present positions."""
        self._check_going()
        energies, virials = self.batch.outputs()
        total = self.batch.sums("totals")[self.number]
        virial = total[2:].reshape(3, 3)
        return Evaluation(
            float(total[0]),
            energies[self._part].copy(),
            self.forces(),
            virials[self._part].copy(),
            stress_of(virial, self.cell),
        )

    def thermo(self) -> Thermo:
        """Totals at the present positions and velocities."""
        self._check_going()
        total = self.batch.sums("totals")[self.number]
        potential, kinetic, virial = float(total[0]), float(total[1]), total[2:].reshape(3, 3)
        stress = stress_of(virial, self.cell) if self.pbc.all() else None
        pressure = None
        if self.volume is not None and self.forcefield.has_virial:
            trace = float(np.trace(virial))
            self._bath.check_sums(trace, 2.0 * kinetic)
            pressure = (2.0 * kinetic + trace) / (3.0 * self.volume) / units.GPA
        temperature = 2.0 * kinetic / (self._bath.freedom * units.KB)
        received = self._bath.received()
        conserved = None if received is None else potential + kinetic + received
        return Thermo(self.step, potential, kinetic, temperature, pressure, self.volume, stress, conserved)

    def pressures(self) -> Array | None:
        """(6,) GPa, xx yy zz yz xz xy, with the kinetic part; None without a volume."""
        self._check_going()
        if self.volume is None or not self.forcefield.has_virial:
            return None
        return np.asarray(self.batch.sums("stress")[self.number][:6] / self.volume / units.GPA)

    def heat_current(self) -> HeatCurrent:
        """Heat current at the present positions and velocities, as `Engine.heat_current`."""
        self._check_going()
        self.forcefield.check_heat_current()
        return HeatCurrent(*self.batch.sums("heat")[self.number][:6].reshape(2, 3))

    def observe(self, take: Callable[[Any, Any, Any], None]) -> None:
        """Lend the device's arrays of this system to a sampler."""
        self._check_going()
        self.batch.evaluate()
        if self._extract is None:
            species = sorted(set(self.symbols))
            kinds = np.array([species.index(symbol) for symbol in self.symbols], np.int32)
            self._extract = Extract(State(kinds, self.masses, self.precision, self.fixed))
        device = self.batch.device
        take(*self._extract.take(device.state, device.outputs, self._part.start))

    def advance(self, n_steps: int, timestep: float) -> None:
        """Refuse: systems of a batch step together.

        Raises:
            SettingsError: always.
        """
        raise SettingsError("systems of a batch step together: call the batch's own run or advance")

    def warm_up(self) -> float:
        """Compile what a run needs; seconds it took."""
        return self.batch.warm_up()

    def statistics(self) -> dict[str, Any]:
        """Figures of the whole batch, for reports."""
        return self.batch.statistics()
