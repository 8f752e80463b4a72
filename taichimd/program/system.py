"""One of several systems on the device, as a simulation and its observers see it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError, TaichimdError
from taichimd.core.matrix3 import determinant
from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.drives.saved import state_of
from taichimd.ensembles.drives.shown import shown
from taichimd.ensembles.groups.given import GroupBath
from taichimd.program.device import Device
from taichimd.program.extract import Extract
from taichimd.program.heat import HeatCurrent
from taichimd.program.recorder import Recorder
from taichimd.program.results import Evaluation, NotCopied, Thermo
from taichimd.program.systems import Systems
from taichimd.program.thermo import thermo_of
from taichimd.program.totals import stress_of
from taichimd.system.checks import check_digits, check_positions, check_shape, check_turns, check_vectors
from taichimd.system.constraints import of_free, wholly
from taichimd.system.folding import shifts
from taichimd.system.frame import Frame, make_frame
from taichimd.system.state import State


class System(NotCopied):
    """A system of `Systems`; of a batch, a member.

    Attributes:
        systems, number: whose it is.
        n_atoms, symbols, masses, pbc, fixed, ensemble, forcefield, precision, decomposition, backend: as of
            `Engine`. held: (n,) or (n, 3), as given for `fixed`, which has atoms held along all directions.
        still: the same with atoms that a drive moves, which no force moves.
    """

    instead = "make another batch"

    def __init__(self, systems: Systems, number: int) -> None:
        self.systems, self.number = systems, number
        self.symbols, self.masses = systems.symbols[number], systems.masses[number]
        self.pbc, self.held = systems.pbc[number], systems.fixed[number]
        self.still = systems.still[number]
        self.fixed = None if self.held is None or not wholly(self.held).any() else wholly(self.held)
        self.n_atoms, self._part = len(self.symbols), systems.state.parts[number]
        self.ensemble = systems.baths.ensembles[number]
        self.forcefield, self.precision = systems.forcefield, systems.precision
        self.decomposition, self.backend = systems.decomposition, systems.backend
        self._extract: Extract | None = None

    @property
    def error(self) -> TaichimdError | None:
        """Why the system has stopped; None if it has not."""
        stopped = self.systems.stopped.get(self.number)
        return None if stopped is None else stopped.error

    @property
    def device(self) -> Device:
        """Kernels and arrays of all systems."""
        return self.systems.device

    @property
    def step(self) -> int:
        """Step counter of all systems; of a system that has stopped, the step that failed."""
        stopped = self.systems.stopped.get(self.number)
        return self.systems.step if stopped is None else stopped.step

    # State, in the user's order and in float64.

    def positions(self) -> Array:
        """Positions, (n, 3) angstrom, not wrapped."""
        stopped = self.systems.stopped.get(self.number)
        if stopped is not None:
            return stopped.positions.copy()
        found, turns = self._vectors("pos"), self.turns
        return found if turns is None else found + shifts(turns, self.cell)

    @property
    def turns(self) -> NDArray[np.int64] | None:
        """(n, 3) cells by which `folded_positions` have been folded (`system.folding`); None if none was."""
        return None if self.error is not None else self.systems.state.turns_of(self._part)

    def folded_positions(self) -> Array:
        """(n, 3) angstrom, `positions` less turns times cell vectors: with `turns` all bits of the state."""
        return self.positions() if self.turns is None else self._vectors("pos")

    def velocities(self) -> Array:
        """Velocities, (n, 3) angstrom per internal time unit (ASE's)."""
        stopped = self.systems.stopped.get(self.number)
        if stopped is not None:
            return stopped.velocities.copy()
        found, drives = of_free(self._vectors("vel"), self.still), self.systems.drives
        for atoms, velocity in () if drives is None else drives.velocity_of(self.number):
            found[atoms] = velocity
        return found

    def forces(self) -> Array:
        """Forces at the present positions, (n, 3) eV/angstrom; fixed atoms included."""
        self._check_going()
        return self._vectors("force")

    def single_vectors(self) -> tuple[Any, Any, Any] | None:
        """Positions, velocities and forces, rounded to float32 on the device.

        None in a batch, and if atoms are held, driven or folded: the host then changes the arrays.
        """
        systems = self.systems
        plain = self.still is None and systems.drives is None and self.turns is None
        if systems.state.batch or self.error is not None or not plain:
            return None
        with systems.evaluating():
            systems.device.need_forces()
        x, v, f = systems.state.single()
        return x, v, f

    def _vectors(self, name: str) -> Array:
        own = self.systems.vectors(name)[self._part]
        return own.copy() if self.systems.state.batch else own

    @property
    def cell(self) -> Array:
        """Cell vectors in rows, (3, 3) angstrom; after steps with a barostat this waits for the device."""
        stopped = self.systems.stopped.get(self.number)
        return self.systems.cells.vectors(self.number) if stopped is None else stopped.cell.copy()

    @property
    def frame(self) -> Frame:
        """The lattice."""
        if self.error is not None:
            return make_frame(self.cell, self.pbc)
        return self.systems.cells.frame(self.number)

    @property
    def volume(self) -> float | None:
        """Volume of the cell (angstrom^3) if it is periodic in three directions, else None."""
        return abs(determinant(self.cell)) if self.pbc.all() else None

    def set_state(
        self,
        *,
        positions: Array | None = None,
        turns: NDArray[Any] | None = None,
        velocities: Array | None = None,
        forces: Array | None = None,
        step: int | None = None,
        cell: Array | None = None,
        bath: dict[str, Any] | None = None,
    ) -> None:
        """Set parts of the state; arrays (n, 3) are in the order of the structure.

        Args:
            positions: angstrom.
            turns: cells by which these positions have been folded; None: they are not folded.
            velocities: angstrom per internal time unit; velocities of fixed atoms become 0.
            forces: eV/angstrom at these positions, for a restart. If None, and in a batch, forces are
                computed when they are needed.
            step: the step counter; in a batch all systems share it.
            cell: (3, 3) angstrom.
            bath: state of the thermostat, as `bath_state` returned it.

        Raises:
            StructureError: as for a new engine.
            SettingsError: the state of a different ensemble.
        """
        systems, number = self.systems, self.number
        if cell is not None and not np.array_equal(cell, self.cell):
            if positions is None and self.turns is not None:
                # In another cell turns would be other vectors.
                positions = self.positions()
            systems.set_cells({number: np.array(cell, float)})
        if positions is not None:
            positions = np.asarray(positions, float)
            check_positions(positions, self.n_atoms)
            check_turns(positions, systems.cells.frame(number))
            check_digits(positions, self.precision)
            systems.set_vectors("pos", {number: positions})
            if turns is not None:
                check_shape(np.asarray(turns), self.n_atoms, "turns")
                systems.state.add_turns(self._part, np.asarray(turns, np.int64))
        if velocities is not None:
            velocities = np.asarray(velocities, float)
            check_vectors(velocities, self.n_atoms, "velocity", "velocities")
            systems.set_vectors("vel", {number: of_free(velocities, self.still)})
        if forces is not None:
            check_shape(np.asarray(forces), self.n_atoms, "forces")
            # Of several systems they are known only if those of all are: they are computed, the same bits.
            if not systems.state.batch:
                systems.set_vectors("force", {number: np.asarray(forces, float)})
        if step is not None:
            systems.go_to(step, forces is not None)
        if bath is not None:
            systems.set_bath(number, bath)

    def atom_states(self) -> dict[str, Array]:
        """Values that the force field keeps for each atom from step to step, by name, (n,) each."""
        carried = self.systems.seen("carried", self.systems.state.carried_values)
        return {name: values[self._part] for name, values in carried.items()}

    def set_atom_states(self, states: dict[str, Array]) -> None:
        """Set what `atom_states` returned.

        Raises:
            SettingsError: states of a different force field, or of a different number of atoms.
        """
        self.systems.set_carried(self.number, states)

    def bath_state(self) -> dict[str, Any]:
        """State of thermostat and barostat, for a checkpoint; empty in NVE."""
        found, drives = self.systems.baths.state(self.number), self.systems.drives
        if drives is not None and drives.of_system(self.number):
            found["drives"] = state_of(drives, self.number)
        return found

    @property
    def moves_centre(self) -> bool:
        """Whether the noise of the thermostat moves the centre of mass."""
        others = self.systems.baths.groups, self.systems.drives
        return self.ensemble.moves_centre or any(
            one is not None and one.moves_centre(self.number) for one in others
        )

    def heats(self) -> dict[str, float]:
        """Energy that each bath of a group has given to the atoms since the first step, eV, by group name."""
        return self.systems.heats(self.number)

    def deformation(self) -> tuple[Array, float] | None:
        """Deformation gradient F (3, 3) since the start, and the work on the atoms, eV; None without one.

        Cell vectors are rows: h = h0 F, up to flips of the cell. F_xx - 1 is the engineering strain along x.
        Row y, column x is the shear xy.
        """
        return self.systems.baths.deformation(self.number)

    @property
    def acting(self) -> list[GroupBath | GroupDrive]:
        """Baths of groups and drives of this system."""
        groups = self.systems.baths.groups
        return [*([] if groups is None else groups.of_system(self.number)), *self._own_drives]

    @property
    def _own_drives(self) -> list[GroupDrive]:
        return [] if self.systems.drives is None else self.systems.drives.of_system(self.number)

    def drives(self) -> dict[str, dict[str, Any]]:
        """Work, energy and force of each drive, by name; work and impulse count from the first step.

        Returns:
            For each drive the quantities that it has: "work" and "energy" (eV), "force" on the drive (three
            components, eV/Å), "push" on a wall (eV/Å), "impulse" on a wall that reflects (eV fs/Å), "place"
            of an indenter (three coordinates, Å).
        """
        drives = self.systems.drives
        if drives is None:
            return {}
        results, time = self.systems.drive_results(self.number), drives.time(self.step)
        return {drive.name: shown(drive, results[drive.name], time) for drive in self._own_drives}

    def atom_values(self) -> dict[str, Array]:
        """Values of each atom that frames contain, by name, (n,) each: kept values, charges (e)."""
        systems = self.systems
        carried = systems.seen("shown", lambda: systems.state.carried_values(shown=True))
        of_all = {**carried, **systems.seen("atom values", self.device.atom_values)}
        return {name: values[self._part] for name, values in of_all.items()}

    def bonds(self) -> Any:
        """The `forcefields.reaxff.bond_table.BondTable` of the present positions; None without bonds.

        Raises:
            CapacityError: the table does not fit the memory.
        """
        found = self.systems.seen("bonds", self.device.bonds)
        return found.of(self._part) if self.systems.state.batch and found is not None else found

    def bond_watch(self, formed: float, broken: float) -> Callable[..., Any]:
        """A function that returns which bonds have changed since its last call, found on the device.

        Args:
            formed: bond order above which a pair becomes bonded.
            broken: bond order at or below which a bond breaks.

        Returns:
            The function; it takes what `reaxff.bond_watch.BondWatch.look` calls `before`.
        """
        from taichimd.forcefields.reaxff.bond_watch import BondWatch

        watch = BondWatch(self._part, formed, broken, self.backend)
        return lambda before: self.device.bonds(partial(watch.look, before=before))

    def energy_terms(self) -> dict[str, float]:
        """Energy of each term (eV) at the present positions, for contributions that report their terms."""
        found: dict[str, float] = self.systems.seen("terms", self.device.terms)[self.number]
        return found

    def _check_going(self) -> None:
        if self.error is not None:
            raise self.error

    # Evaluation.

    def evaluate(self) -> Evaluation:
        """Energies, forces and virials at the present positions; the state is not changed."""
        self._check_going()
        systems = self.systems
        total = systems.sums("totals")[self.number]
        energies, virials = (of_all[self._part] for of_all in systems.outputs())
        if systems.state.batch:
            energies, virials = energies.copy(), virials.copy()
        stress = stress_of(total[2:].reshape(3, 3), self.cell)
        charges = systems.seen("atom values", self.device.atom_values).get("charges")
        if charges is not None:
            charges = charges[self._part].copy() if systems.state.batch else charges
        return Evaluation(float(total[0]), energies, self.forces(), virials, stress, charges)

    def thermo(self) -> Thermo:
        """Totals at the present positions and velocities, in the units of `Thermo`."""
        self._check_going()
        return thermo_of(self.systems, self.number, self.drives())

    def pressures(self) -> Array | None:
        """Pressure tensor xx, yy, zz, yz, xz, xy with the kinetic part, (6,) GPa.

        None if the cell is not periodic in three directions, or the potential has no virial. The mean of the
        first three components is `thermo().pressure`.
        """
        self._check_going()
        if self.volume is None or not self.forcefield.has_virial:
            return None
        return np.asarray(self.systems.sums("stress")[self.number][:6] / self.volume / units.GPA)

    def heat_current(self) -> HeatCurrent:
        """Heat current at the present positions and velocities, summed on the device.

        A call costs one sum over atoms; steps cost the same with and without calls.

        Returns:
            Potential and kinetic part, (3,) each, eV angstrom per internal time unit; see `program.heat` for
            the equations.

        Raises:
            PropertyError: a force field with charges.
        """
        self._check_going()
        self.forcefield.check_heat_current()
        return HeatCurrent(*self.systems.sums("heat")[self.number][:6].reshape(2, 3))

    def observe(self, take: Callable[[State, Any, Any], None]) -> None:
        """Lend the device's arrays, or copies in a batch, to a sampler (`taichimd.observables.samplers`).

        Args:
            take: called with the state, the energies (n) and the virials (9n) of the atoms at the present
                positions, all in spatial order. `take` may read them only during the call.
        """
        self._check_going()
        systems = self.systems
        lent = systems.lend()
        take(*(systems.seen(f"copy of {self.number}", self._copied) if systems.state.batch else lent))

    def _copied(self) -> tuple[State, Any, Any]:
        """State, energies and virials of the system alone, evaluated."""
        if self._extract is None:
            species = sorted(set(self.symbols))
            kinds = np.array([species.index(symbol) for symbol in self.symbols], np.int32)
            self._extract = Extract(State(kinds, self.masses, self.precision, self.still))
        of_all, *outputs = self.systems.lend()
        return self._extract.take(of_all, (outputs[0], outputs[1]), self._part.start)

    # Time.

    def recorder(self) -> Recorder | None:
        """The recorder that reports totals of all systems later; None: totals are reported at once."""
        return self.systems.recorder()

    def advance(self, n_steps: int, timestep: float) -> None:
        """Refuse: systems of a batch step together.

        Raises:
            SettingsError: always.
        """
        raise SettingsError("systems of a batch step together: call the batch's own run or advance")

    def warm_up(self) -> float:
        """Compile what a run needs without changing the state; returns the seconds it took."""
        return self.systems.warm_up()

    def synchronize(self) -> None:
        """Wait for the device."""
        self.systems.synchronize()

    def statistics(self) -> dict[str, Any]:
        """Statistics of the neighbour lists of all systems, and of a charge equilibration, for reports."""
        return self.systems.statistics()
