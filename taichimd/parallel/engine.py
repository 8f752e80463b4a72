"""One system on several processes: each integrates its own atoms and sends positions to other processes."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.matrix3 import determinant
from taichimd.core.runtime import start
from taichimd.ensembles.bath import Baths
from taichimd.ensembles.registry import NVE, Ensemble
from taichimd.enumerate.reproducible_sum import ALL, FORCE
from taichimd.forcefields.base import ForceField
from taichimd.parallel.ahead import Ahead, spread_of
from taichimd.parallel.held import Held, Whole
from taichimd.parallel.kernels import Farthest
from taichimd.parallel.partition import Slabs
from taichimd.parallel.phases import Phases
from taichimd.parallel.together import in_all, totals_of
from taichimd.parallel.transport import transport_of
from taichimd.parallel.words import HOLDS, NEEDS_CHOICE
from taichimd.program import explosion
from taichimd.program.accepted import accepted, check_system
from taichimd.program.decomposition import by_tuple, choose
from taichimd.program.device import Device
from taichimd.program.ghosts import check_ghosts_do, reach_of, rows_reach
from taichimd.program.groups import Choice
from taichimd.program.results import NotCopied, Thermo
from taichimd.program.totals import stress_of
from taichimd.system.cell import Cells
from taichimd.system.checks import (
    check_atoms,
    check_options,
    check_steps,
)
from taichimd.system.species import elements_of, kinds_of, symbols_of

FASTER = 1.2
"""Largest displacement in a step that lists bear which serve until they lack a pair, over that with the lists
before."""
LEAST_LEFT, LITTLE_LEFT = 0.1, 0.5
"""Shares of the way that lists bear: if less is left to atoms until they must be chosen anew, they are chosen
at once; if less will be left to the next lists, they are chosen for these."""


class ParallelEngine(NotCopied):
    """Integrates one system in several processes. Every process makes the same calls.

    The bits are those of `Engine`, for any number of processes.

    Args:
        atoms: as for `Engine`; the same in all processes.
        forcefield: as for `Engine`; of finite cutoffs, with neighbour lists, without charges.
        processes: what `taichimd.parallel.join` returned, or another communicator of mpi4py.
        backend: "auto", "cuda" or "cpu".
        precision: "float64", "float32" or "mixed".
        ensemble: NVE, or one that acts on each atom alone (Langevin).
        transport: "auto": NCCL between GPUs if it works; "host": through the host.

    Raises:
        StructureError, MissingParameterError, BackendError, CapacityError: as for `Engine`.
        SettingsError: a force field that needs more than atoms within a range, another ensemble, fewer atoms
            than processes.

    Attributes:
        step: the step counter.
        transport: what exchanges positions: "host" or "nccl".
        builds, choices: how often all processes have made lists, and chosen their atoms anew.
    """

    def __init__(
        self,
        atoms: Atoms,
        forcefield: ForceField | Sequence[Any],
        processes: Any,
        *,
        backend: str = "auto",
        precision: str = "float64",
        ensemble: Ensemble | None = None,
        transport: str = "auto",
    ) -> None:
        check_options(precision, None)
        forcefield = accepted(forcefield, precision, "auto", False)
        check_atoms(atoms)
        check_ghosts_do(forcefield)
        self.ensemble: Ensemble = ensemble or NVE()
        if self.ensemble.acts_on == "system" or self.ensemble.moves_cell:
            raise SettingsError(
                f"{self.ensemble.name} acts on the whole system; several processes do nve and nvt-langevin"
            )
        if len(atoms) < processes.size:
            raise SettingsError(f"{len(atoms)} atoms for {processes.size} processes; take fewer processes")
        self._processes, self.rank = processes, processes.rank
        self.forcefield, self.precision = forcefield, precision
        self.n_atoms, self.symbols = len(atoms), symbols_of(atoms.numbers)
        self.masses: Array = atoms.get_masses().astype(float)
        self.pbc = atoms.pbc.copy()
        species = elements_of(atoms.numbers)
        self.backend = start(backend)
        bounds = forcefield.bind(species)
        self._cells = cells = Cells([atoms.cell.array], [self.pbc])
        check_system(forcefield, atoms, cells.frame(0), precision)
        how = choose("auto", [bound.terms for bound in bounds], False, self.backend)
        tuples = tuple(by_tuple(how, bound.terms) for bound in bounds)
        kinds = kinds_of(atoms.numbers, species)
        self._baths = Baths([self.ensemble], [self.masses], cells)
        whole = Whole(
            cells, kinds, self.masses, precision, Choice(bounds, tuples, self.backend, False, None),
            self._baths.coupling, max(map(reach_of, bounds)), max(map(rows_reach, bounds, tuples)),
        )  # fmt: skip
        self._way = way = transport_of(processes, self.backend if transport == "auto" else "cpu")
        self.transport = way.name
        self.step = self.builds = self.choices = self._since = self._on_device = 0
        self._by_host, self._ahead = 0, Ahead()
        self._gone, self._bears, self._choose_next = 0.0, 0.0, False
        self._held = Held(whole, Slabs.of(atoms.positions, cells.frame(0), processes.size), way, self.rank)
        real = self._held.real
        self._choose(
            way.xp.asarray(atoms.positions.astype(real)), way.xp.asarray(atoms.get_velocities().astype(real))
        )
        self._evaluate_all(lambda: self._device.finish(FORCE), anew=True)

    @property
    def _device(self) -> Device:
        assert self._held.device is not None
        return self._held.device

    # State, in the user's order and in float64. All processes call these together.

    def positions(self) -> Array:
        """(n, 3) angstrom, never folded into the cell."""
        return self._held.in_order(self._held.state.pos)

    def velocities(self) -> Array:
        """(n, 3) angstrom per internal time unit (ASE's)."""
        return self._held.in_order(self._held.state.vel)

    def forces(self) -> Array:
        """(n, 3) eV/angstrom at the present positions."""
        self._finish(FORCE)
        return self._held.in_order(self._held.state.force)

    @property
    def cell(self) -> Array:
        """(3, 3) angstrom, cell vectors in rows."""
        return self._cells.vectors(0)

    @property
    def volume(self) -> float | None:
        """Volume of the cell (angstrom^3) if it is periodic in three directions, else None."""
        return abs(determinant(self.cell)) if self.pbc.all() else None

    def thermo(self) -> Thermo:
        """Totals at the present positions and velocities, with the bits of `Engine.thermo`."""
        self._finish(ALL)
        sums = totals_of(self._held, self._processes)
        potential, kinetic, virial = sums[0], sums[1], np.array(sums[2:]).reshape(3, 3)
        temperature = 2.0 * kinetic / (self._baths.freedoms[0] * units.KB)
        pressure = stress = None
        if self.volume is not None:
            pressure = (2.0 * kinetic + float(np.trace(virial))) / (3.0 * self.volume) / units.GPA
            stress = stress_of(virial, self.cell)
        received = self._processes.allreduce(self._baths.received(0) or 0.0)
        conserved = potential + kinetic + received
        return Thermo(self.step, potential, kinetic, temperature, pressure, self.volume, stress, conserved)

    def exchange(self, times: int) -> None:
        """Queue so many exchanges of positions, which change nothing; for measurements."""
        held = self._held
        for _ in range(times):
            self._way.exchange(held.shared.sent, held.shared.received, held.route)

    def time_phases(self) -> Phases:
        """Measure phases of steps until the report, of some thousand steps; returns what reports them."""
        self._held.phases = found = Phases()
        found.mark("host")
        return found

    def statistics(self) -> dict[str, Any]:
        """Figures of this process, for reports."""
        shared = self._held.shared
        return {
            **self._device.statistics(), "transport": self.transport, "transport_reason": self._way.reason,
            "own_atoms": shared.last - shared.first, "held_atoms": self._held.state.n,
            "sent_vectors": shared.n_sent, "messages": len(self._held.route.sends),
            "common_builds": self.builds, "host_builds": self._by_host, "choices": self.choices,
        }  # fmt: skip

    # Time.

    def advance(self, n_steps: int, timestep: float) -> None:
        """Velocity Verlet, with the thermostat of the ensemble; as `Engine.advance`.

        Args:
            n_steps: how many steps.
            timestep: internal time units (see `units.FS`).

        Raises:
            BlowUpError: in all processes, as `Engine.advance`.
            TaichimdError: in all processes, what one of them has met.
        """
        check_steps(n_steps, timestep)
        if n_steps == 0:
            return
        self.ensemble.check_timestep(timestep)
        timestep = float(timestep)
        self._baths.forget()
        if self._device.blown:
            self._make_lists(last=False)
        else:
            self._finish(FORCE)
        if self._baths.coupling.local:
            self._device.call(self._held.kernels.prepare, self._baths, timestep)
        self._device.forces_known = self._device.evaluated = False
        done = 0
        while done < n_steps:
            ahead = self._ahead.steps(n_steps - done)
            done += self._steps(done, ahead, n_steps, timestep)
        self._finish(ALL)
        self._device.last_kick(timestep)
        self._held.phases.mark("end of run")

    def _steps(self, done: int, ahead: int, n_steps: int, timestep: float) -> int:
        """Queue `ahead` steps after those `done`, look, and mend what holds them; how many were done."""
        device, held, ends = self._device, self._held, done + ahead == n_steps
        first, limit = self._since - done, self._since + n_steps - done
        held.phases.mark("host")
        builds = False
        for k in range(1, ahead + 1):
            self._queue_move(first, limit, timestep)
            builds = self._ahead.may_build(k)
            if builds:
                held.renew(LITTLE_LEFT * self._bears)
                held.phases.mark("lists")
            if not (ends and k == ahead):
                device.jumped(True)
                device.queue_forces(want=FORCE)
                held.phases.mark("forces")
        device.forces_known = device.evaluated = False
        met = self._met()
        mine, count = int(met[self.rank, 2]), int(met[:, 2].max())
        self._refuse_blown(met)
        flags = int(np.bitwise_or.reduce(met[:, 0].astype(int)))
        alike = met[:, 2].min() == count
        if not alike:
            # Own lists did not fit the step before the last one, or nothing is to be mended.
            self._in_all(lambda: device.finish(FORCE) if mine < count else None)
            self._queue_move(first, self._since + count, timestep)
            self._refuse_blown(self._met())
        renewed = self._count(count, flags) and builds and alike
        if flags & HOLDS and not renewed:
            self._make_lists(last=ends and count == ahead)
        elif ends and count < ahead:
            self._in_all(lambda: device.finish(FORCE))
        return count

    def _queue_move(self, first: int, limit: int, timestep: float) -> None:
        """Queue the first part of a step, and the exchange of positions.

        `first`: steps from the last lists that hosts made to the begin of this run; `limit`: most steps since
        those lists.
        """
        device, held = self._device, self._held
        lists, shared, far = device.lists, held.shared, self._farthest
        far.near2 = lists.near2 if lists.near_list else self._noted**2
        device.call(
            held.kernels.begin, held.state, shared, held.places, lists.control, self._baths,
            lists.verlet.sort, far, first, limit, self.step - self._since, timestep,
        )  # fmt: skip
        held.phases.mark("move")
        self._way.exchange(shared.sent, shared.received, held.route)
        held.phases.mark("exchange")
        device.call(
            held.kernels.take, held.state, shared, held.places, lists.control, lists.verlet.sort, far, limit
        )
        held.phases.mark("take")

    def _count(self, steps: int, flags: int) -> bool:
        """Count steps and lists that were made on the device; whether the device has made some just now."""
        made, at, now = self._held.renewed() if self._ahead.on_device else (0, 0, False)
        builds, self._on_device = made - self._on_device, made
        self._ahead.went(steps, builds, at - self._since)
        self._device.lists.verlet.builds += builds
        self.builds += builds
        self.step += steps
        self._since += steps
        self._choose_next |= bool(flags & NEEDS_CHOICE)
        return now

    def _met(self) -> Array:
        """(processes, 3) `Held.met`, with steps since the host looked; waits for the device."""
        met = self._held.met()
        met[:, 2] -= self._since
        return met

    def _refuse_blown(self, met: Array) -> None:
        """Raise, in all processes, if an atom of one of them went too far in a step."""
        blown = met[:, 1][met[:, 1] >= 0]
        if len(blown):
            self.step += int(met[:, 2].max())
            self._device.explode()
            raise explosion.of_jump(self, int(blown.min()), self._device.reach.most_step2**0.5)

    # Lists, and which atoms a process has.

    def _choose(self, positions: Any, velocities: Any) -> None:
        """Choose atoms, of positions and velocities of all (n, 3)."""
        held = self._held
        fits = held.choose(positions, velocities)
        self._in_all(lambda: None if fits else held.make())
        if not fits:
            held.choose(positions, velocities)
        self.choices += 1
        held.phases.mark("assignment")

    def _make_lists(self, last: bool) -> None:
        """Rebuild the lists of all processes; assign atoms again if they have moved far; compute forces."""
        held = self._held
        self.builds += 1
        self._by_host += 1
        self._ahead.ended(self._ahead.age)

        def evaluate() -> None:
            self._device.settle() if last else self._device.finish(FORCE)
            held.phases.mark("first forces")

        held.phases.mark("host")
        enough = not self._choose_next
        if enough:
            self._device.lists.outdate()
            self._device.lists.made(self._ahead.age)
            enough = self._evaluate_all(evaluate, anew=False)
        if not enough:
            self._choose(held.all(held.state.pos), held.all(held.state.vel))
            self._evaluate_all(evaluate, anew=True)
        self._ahead.age = self._since = self._on_device = 0

    def _evaluate_all(self, evaluate: Any, anew: bool) -> bool:
        """Evaluate with new lists, and agree on how far atoms may move with them; whether that is enough."""
        lists, held = self._device.lists, self._held
        some_rows = held.whole.rows_reach > 0.0 and self._bears > 0.0
        gone, made = (0.0, 0) if anew else (self._gone, self._on_device)
        spread = spread_of(gone, self._bears, made, held.served) if some_rows else inf
        held.give_rows(spread)
        held.mark(anew, 0.0 if anew else max(0.8 * self._gone, 0.5 * self._bears))
        found = self._in_all(evaluate, held.bears)
        self._device.blown = False
        self._bears, allowed = (min(each[k] for each in found) for k in range(2))
        self._ahead.on_device = all(each[4] for each in found)
        bears = self._bears
        before, self._gone, pace = self._gone, max(each[2] for each in found), max(each[3] for each in found)
        of_choice = allowed - self._gone
        left = min(of_choice, spread - self._gone)
        most = FASTER * pace
        if not lists.near_list and 0.0 < most < 0.5 * bears:
            far, fast, self._noted = left, most, lists.skins.near - 1.01 * most - 1e-4
        else:
            # A little less than the lists bear: that a list is outdated is then found before, and by all.
            far, fast, self._noted = min(bears * (1.0 - 1e-6), left), inf, inf
        self._farthest = Farthest(far**2, fast**2, self._noted**2, self._device.reach.most_step2)
        grows = bears if anew else max(self._gone - before, 0.0) / (self._on_device + 1)
        self._choose_next = of_choice - grows < LITTLE_LEFT * bears
        return anew or left >= LEAST_LEFT * bears

    def _finish(self, want: int) -> None:
        """Forces, or all, at the present positions."""
        device = self._device
        if not (device.evaluated if want == ALL else device.forces_known):
            self._in_all(lambda: device.finish(want))

    def _in_all(self, do: Any, tell: Any = lambda: None) -> list[Any]:
        """See `together.in_all`."""
        return in_all(self, self._processes, self._held, do, tell)
