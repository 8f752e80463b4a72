"""One system on the device: atoms, force field, lists, steps. Both doors, CLI and ASE, stand on this."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError, TaichimdError
from taichimd.core.matrix3 import determinant
from taichimd.core.runtime import start, ti
from taichimd.ensembles.barostats.base import Barostat
from taichimd.ensembles.bath import Bath
from taichimd.ensembles.registry import NVE, Ensemble
from taichimd.forcefields.base import ForceField
from taichimd.neighbours.control import NONE
from taichimd.program import explosion
from taichimd.program.accepted import accepted, check_system
from taichimd.program.batchable import called
from taichimd.program.decomposition import by_tuple, choose
from taichimd.program.device import Device
from taichimd.program.groups import Choice
from taichimd.program.heat import HeatCurrent
from taichimd.program.results import Evaluation, NotCopied, Thermo
from taichimd.program.totals import heat_flows, momentum_flows, stress_of
from taichimd.system.cell import Cell
from taichimd.system.checks import (
    check_all_pairs,
    check_all_pairs_of,
    check_atoms,
    check_digits,
    check_neighbours,
    check_options,
    check_positions,
    check_shape,
    check_steps,
    check_turns,
    check_vectors,
)
from taichimd.system.constraints import check_fixed, of_free
from taichimd.system.frame import Frame, make_frame
from taichimd.system.state import State

if TYPE_CHECKING:
    from typing_extensions import Self


class Engine(NotCopied):
    """Evaluates and integrates one set of atoms under one force field.

        >>> from ase.build import bulk
        >>> from taichimd import Engine, load_forcefield
        >>> Engine(bulk("Si", cubic=True), load_forcefield("Si.sw")).forces().shape
        (8, 3)

    Args:
        atoms: positions, species, masses, cell and pbc are taken; never changed. Velocities are taken, too.
        forcefield: see `taichimd.load_forcefield`; a list of them is their sum.
        backend: "auto", "cuda" or "cpu".
        precision: "float64", "float32", or "mixed": float32 terms of float64 positions, summed and integrated
            in float64.
        skin: outer skin of the neighbour list, angstrom; chosen from the cutoff if None. No result
            depends on it.
        ensemble: what `advance` holds constant; NVE if None. See `taichimd.ensembles`.
        decomposition: "particle": a thread for each atom and its tuples; "tuple": lists of pairs and
            triplets, a thread for each; "auto": what was measured to be faster.
        driving_force: F_e of homogeneous non-equilibrium molecular dynamics, 1/angstrom: the force on each
            atom gets the term W_i^T F_e, in `forces()`, too. It needs a thermostat.
        fixed: (n,) bool, True where an atom stays in place (in a moving cell: keeps its fractional
            coordinates); None: all move. Constraints of `atoms` play no part: see `system.constraints`.

    Raises:
        StructureError: no atoms, positions that are not finite, coincident atoms, no volume along the
            periodic directions, masses that are not positive, all atoms fixed.
        MissingParameterError: species that the force field does not know.
        SettingsError: unknown precision, too small a skin, an enumeration that does not fit the system, a
            mask of another shape, fixed atoms with a driving force.
        BackendError: the backend cannot be started.
        PropertyError: a driving force where no heat current is known.
        CapacityError: lists that do not fit the memory; `advance` and what asks for forces raise it, too.
        ChargeError: of what asks for forces: charges that an equilibration does not find.

    Attributes:
        members, names, alive, n_systems: as of a `Batch` of one system.
    """

    _fused = True  # False: the plain stepper (`program.steps.step`), for tests
    n_systems = 1
    error: TaichimdError | None = None  # of a member of a `Batch` that has stopped; an engine raises

    def __init__(
        self,
        atoms: Atoms,
        forcefield: ForceField | Sequence[Any],
        *,
        backend: str = "auto",
        precision: str = "float64",
        skin: float | None = None,
        ensemble: Ensemble | None = None,
        driving_force: tuple[float, float, float] | None = None,
        decomposition: str = "auto",
        fixed: NDArray[np.bool_] | None = None,
    ) -> None:
        check_options(precision, skin)
        forcefield = accepted(forcefield, precision, decomposition, driving_force is not None)
        check_atoms(atoms)
        self.forcefield = forcefield
        self.precision = precision
        self.n_atoms = len(atoms)
        self.symbols = list(atoms.symbols)
        self.masses: Array = atoms.get_masses().astype(float)
        self.pbc = atoms.pbc.copy()
        species = sorted(set(self.symbols))
        # First: binding may run a kernel, which would start the default backend.
        self.backend = start(backend)
        bounds = forcefield.bind(species)
        many_body = any(bound.terms.many_body or bound.terms.passes for bound in bounds)
        cell = Cell(atoms.cell.array, self.pbc)
        frame = cell.frame
        check_system(forcefield, atoms, cell, precision)
        check_neighbours(forcefield.list_cutoff, many_body, frame, atoms.positions)
        self._all_pairs = forcefield.enumeration == "all-pairs"
        if self._all_pairs:
            check_all_pairs(frame, forcefield.cutoff, many_body)
        self.decomposition = choose(
            decomposition, [bound.terms for bound in bounds], self._all_pairs, self.backend
        )
        self.step = 0
        self.names, self.alive = [called(0)], [0]
        self.compile_seconds = 0.0

        self.ensemble: Ensemble = ensemble or NVE()
        if self._all_pairs:
            check_all_pairs_of(self.ensemble.moves_cell, driving_force)
        if isinstance(self.ensemble, Barostat):
            forcefield.check_virial("a barostat")
            self.ensemble.check_cell(cell.vectors, self.pbc)
        self.fixed = check_fixed(fixed, self.n_atoms)
        self._bath = Bath(self.ensemble, self.masses, cell, driving_force, self.fixed)
        if isinstance(self.ensemble, Barostat):
            wanted = 3.0 * self.ensemble.most_pressure * units.GPA * abs(determinant(cell.vectors))
            self._bath.check_sums(wanted, self._bath.freedom * units.KB * self.ensemble.temperature)
        kinds = np.array([species.index(s) for s in self.symbols], np.int32)
        self._state = State(kinds, self.masses, precision, self.fixed)
        self._state.set("pos", atoms.positions)
        self._state.set("vel", of_free(atoms.get_velocities(), self.fixed))
        self.device = Device(
            self._state,
            Choice(
                bounds, tuple(by_tuple(self.decomposition, bound.terms) for bound in bounds), self.backend,
                self._all_pairs, None if skin is None else float(skin),
            ),
            self._bath,
            cell=cell,
            fused=self._fused,
        )  # fmt: skip

    @property
    def members(self) -> "list[Self]":
        """Itself."""
        return [self]

    # State, in the user's order and in float64.

    def positions(self) -> Array:
        """(n, 3) angstrom, never folded into the cell."""
        return self._state.get("pos")

    def velocities(self) -> Array:
        """(n, 3) angstrom per internal time unit (ASE's)."""
        return of_free(self._state.get("vel"), self.fixed)

    def forces(self) -> Array:
        """(n, 3) eV/angstrom at the present positions, of fixed atoms, too."""
        self.device.need_forces()
        return self._state.get("force")

    @property
    def cell(self) -> Array:
        """(3, 3) angstrom, cell vectors in rows; after steps with a barostat it waits for the device."""
        return self.device.cell.vectors.copy()

    @property
    def frame(self) -> Frame:
        """The lattice."""
        return self.device.cell.frame

    @property
    def volume(self) -> float | None:
        """Volume of the cell (angstrom^3) if it is periodic in three directions, else None."""
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
        """Set parts of the state, (n, 3) in the user's order; the list is kept as long as it holds.

        Args:
            positions: angstrom.
            velocities: angstrom per internal time unit; those of fixed atoms become 0.
            forces: eV/angstrom, of these positions (a restart); computed when needed if None.
            step: the step counter.
            cell: (3, 3) angstrom.
            bath: of the thermostat, what `bath_state` returned.

        Raises:
            StructureError: as for a new engine.
            SettingsError: a bath of another ensemble.
        """
        device = self.device
        if cell is not None and not np.array_equal(cell, self.cell):
            cell = np.array(cell, float)
            if self._all_pairs:
                check_all_pairs(make_frame(cell, self.pbc), self.forcefield.cutoff, many_body=False)
            device.cell.set(cell)
            device.forces_known = device.evaluated = False
            device.jumped(True)
            # A deformed lattice moves pairs apart in a way the displacement test does not see.
            device.lists.outdate()
        if positions is not None:
            positions = np.asarray(positions, float)
            check_positions(positions, self.n_atoms)
            check_turns(positions, device.cell.frame)
            check_digits(positions, self.precision)
            self._state.set("pos", positions)
            device.moved()
        if velocities is not None:
            check_vectors(np.asarray(velocities, float), self.n_atoms, "velocity", "velocities")
            self._state.set("vel", of_free(np.asarray(velocities, float), self.fixed))
        if forces is not None:
            check_shape(np.asarray(forces), self.n_atoms, "forces")
            self._state.set("force", np.asarray(forces, float))
            device.forces_known, device.evaluated = True, False
        if step is not None:
            self._bath.leave(self.step)
            self.step = step
        if bath is not None:
            before = device.cell.vectors
            self._bath.set_state(bath)
            if self._bath.moves_cell:
                device.cell_moved()
                if not np.array_equal(device.cell.vectors, before):
                    device.forces_known = device.evaluated = False
                device.lists.outdate()

    def atom_states(self) -> dict[str, Array]:
        """What contributions of the force field keep of each atom from step to step, (n,) each, by name."""
        return self._state.carried_values()

    def set_atom_states(self, states: dict[str, Array]) -> None:
        """Set what `atom_states` returned.

        Raises:
            SettingsError: states of another force field, or of another number of atoms.
        """
        self._state.set_carried(states)
        self.device.jumped(False)

    def bath_state(self) -> dict[str, Any]:
        """What a thermostat remembers from step to step, for a checkpoint; empty in NVE."""
        return self._bath.state()

    def atom_values(self) -> dict[str, Array]:
        """What a frame shows of each atom, (n,) each, by name: states of contributions, charges (e)."""
        return {**self._state.carried_values(shown=True), **self.device.of_terms("atom_values")}

    def bonds(self) -> Any:
        """The `forcefields.reaxff.bond_table.BondTable` of the present positions; None without bonds.

        Raises:
            CapacityError: it does not fit the memory.
        """
        return self.device.bonds()

    def energy_terms(self) -> dict[str, float]:
        """Energy of each term (eV) of a contribution that knows them, at the present positions."""
        return self.device.of_terms("terms")

    # Evaluation.

    def evaluate(self) -> Evaluation:
        """Energies, forces and virials at the present positions; the state is not disturbed."""
        energy, _, virial = self.device.evaluate()
        order = self._state.sorted_of.to_numpy()
        energies, virials = (array.to_numpy() for array in self.device.outputs)
        return Evaluation(
            energy,
            energies[order].astype(float),
            self.forces(),
            virials.reshape(-1, 3, 3)[order].astype(float),
            stress_of(virial, self.cell),
            self.device.of_terms("atom_values").get("charges"),
        )

    def thermo(self) -> Thermo:
        """Totals at the present positions and velocities, in the units of `Thermo`."""
        potential, kinetic, virial = self.device.evaluate()
        stress = stress_of(virial, self.cell) if self.pbc.all() else None
        pressure = None
        if self.volume is not None and self.forcefield.has_virial:
            trace = float(np.trace(virial))
            self._bath.check_sums(trace, 2.0 * kinetic)
            pressure = (2.0 * kinetic + trace) / (3.0 * self.volume) / units.GPA
        temperature = 2.0 * kinetic / (self._bath.freedom * units.KB)
        received = self._bath.received()
        conserved = None if received is None else potential + kinetic + received
        totals = self.step, potential, kinetic, temperature, pressure, self.volume, stress, conserved
        return Thermo(*totals, self.device.charge_iterations())

    def heat_current(self) -> HeatCurrent:
        """Heat current at the present positions and velocities, added up on the device.

        The stepping kernels know nothing of it: each call takes what the last kernel of `advance` has left,
        and costs one sum over atoms.

        Returns:
            Potential and kinetic part, (3,) each, eV angstrom per internal time unit; see `program.heat`.

        Raises:
            PropertyError: a force field with charges.
        """
        self.forcefield.check_heat_current()
        self.device.need_outputs()
        return HeatCurrent(*heat_flows(self._state, *self.device.outputs))

    def pressures(self) -> Array | None:
        """Pressure along xx, yy, zz, yz, xz, xy, with the kinetic part, (6,) GPa.

        None unless periodic in three directions, with a potential that has a virial. The mean of the first
        three is `thermo().pressure`.
        """
        if self.volume is None or not self.forcefield.has_virial:
            return None
        self.device.need_outputs()
        return momentum_flows(self._state, *self.device.outputs) / self.volume / units.GPA

    def observe(self, take: Callable[[State, Any, Any], None]) -> None:
        """Lend the device's arrays to a sampler (`taichimd.observables.samplers`) without copying them.

        Args:
            take: called with the state, the energies (n) and the virials (9n) of the atoms at the present
                positions, all in spatial order. It may read them during the call; a later step replaces them.
        """
        self.device.need_outputs()
        take(self._state, *self.device.outputs)

    # Time.

    def advance(self, n_steps: int, timestep: float) -> None:
        """Velocity Verlet, with thermostat and barostat of the ensemble; waits until the device has finished.

        The result does not depend on how a number of steps is split into calls.

        Args:
            n_steps: how many steps.
            timestep: internal time units (see `units.FS`).

        Raises:
            BlowUpError: an atom moved by more than a quarter of the cutoff in one step, left the finite
                numbers, or landed on another one; the state is then that of the failed step.
            EvaluationError: an external potential failed; the state is then that of the failed step.
        """
        check_steps(n_steps, timestep)
        if n_steps == 0:
            return
        self.forcefield.check_bounded()
        self.ensemble.check_timestep(timestep)
        device = self.device
        device.need_forces()
        device.settle()
        try:
            for step, blown in device.steps(self.step, n_steps, float(timestep), device.renew):
                self.step = step
                if blown != NONE:
                    device.explode()
                    raise explosion.of_step(self, blown, device.reach.most_step2**0.5)
        except StructureError as error:
            device.explode()
            told = str(error).split(";")[0]
            raise explosion.exploded(self.step, told, device.lists.atom_too_close()) from error

    def warm_up(self) -> float:
        """Compile what a run needs without changing the state; returns the seconds it took."""
        begin = time.perf_counter()
        self.device.warm_up(self.step)
        seconds = time.perf_counter() - begin
        self.compile_seconds += seconds
        return seconds

    def synchronize(self) -> None:
        """Wait for the device."""
        ti.sync()

    def statistics(self) -> dict[str, Any]:
        """Figures of neighbour lists, and of a charge equilibration, for reports."""
        return {**self.device.statistics(), "decomposition": self.decomposition}
