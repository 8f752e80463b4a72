"""Many systems on the device at once: one `Device` for all, for each a `Member`, which is like an `Engine`.

The atoms of all systems stand one system after the other. Lists hold no pair of two systems, and sums are
those of each system: nothing else knows that there are several (docs/decisions, 022).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import CapacityError, EvaluationError, SettingsError, StructureError, TaichimdError
from taichimd.core.matrix3 import determinant
from taichimd.core.runtime import start, ti
from taichimd.ensembles.barostats.base import Barostat
from taichimd.ensembles.barostats.layout import RAN_AWAY
from taichimd.ensembles.batch_bath import BatchBath
from taichimd.ensembles.registry import NVE, Ensemble
from taichimd.forcefields.base import ForceField
from taichimd.neighbours.control import NONE, Control
from taichimd.program import explosion
from taichimd.program.accepted import accepted, check_system
from taichimd.program.batchable import called, errors_name, listed
from taichimd.program.decomposition import by_tuple, choose
from taichimd.program.device import Device, Energy
from taichimd.program.groups import Choice
from taichimd.program.member import Member
from taichimd.program.results import NotCopied
from taichimd.system.batch_cell import BatchCell, MemberCell
from taichimd.system.checks import (
    check_atoms,
    check_neighbours,
    check_options,
    check_steps,
)
from taichimd.system.constraints import check_fixed, of_free
from taichimd.system.state import State


class Batch(NotCopied):
    """Evaluates and integrates several sets of atoms under one force field, in the same kernels.

        >>> from ase.build import bulk
        >>> from taichimd import Batch, load_forcefield
        >>> silicon = bulk("Si", cubic=True)
        >>> batch = Batch([silicon, silicon.repeat(2)], load_forcefield("Si.sw"))
        >>> [round(member.evaluate().energy, 2) for member in batch.members]
        [-34.69, -277.54]

    Each system has the bits that it has alone: no pair, sum or random number knows of another system.

    Args:
        systems: as for `Engine`; their elements may differ.
        forcefield: for all.
        backend, precision, skin, decomposition: as for `Engine`.
        ensembles: one for each system, or one for all; NVE if None. One class;
            barostats with one control, axes and period.
        fixed: of each system, as for `Engine`.
        names: what messages call the systems; None: by their numbers.

    Raises:
        StructureError, MissingParameterError, SettingsError: as for `Engine`; the message names the system.
        SettingsError: no systems, a potential with charges or without lists, ensembles of several kinds.
        BackendError: the backend cannot be started.
        CapacityError: they do not fit the memory; the message says how many would.

    Attributes:
        members: the systems. names: what messages call them. step: steps done.
        alive: numbers of the systems that go on.
    """

    def __init__(
        self,
        systems: Sequence[Atoms],
        forcefield: ForceField | Sequence[Any],
        *,
        backend: str = "auto",
        precision: str = "float64",
        skin: float | None = None,
        ensembles: Ensemble | Sequence[Ensemble] | None = None,
        decomposition: str = "auto",
        fixed: Sequence[NDArray[np.bool_] | None] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if not systems:
            raise SettingsError("a batch of no systems: give one structure or more")
        check_options(precision, skin)
        self.forcefield = forcefield = listed(accepted(forcefield, precision, decomposition, False))
        self.precision, self.n_systems = precision, len(systems)
        self.names = [called(k) for k in range(len(systems))] if names is None else list(names)
        self.backend = start(backend)
        for number, atoms in enumerate(systems):
            with errors_name(self.names[number]):
                check_atoms(atoms)
        kinds_of_all = [tuple(sorted(set(atoms.symbols))) for atoms in systems]
        for kinds in dict.fromkeys(kinds_of_all):
            with errors_name(self.names[kinds_of_all.index(kinds)]):
                forcefield.bind(list(kinds))
        species = sorted(set().union(*kinds_of_all))
        bounds = forcefield.bind(species)
        many_body = any(bound.terms.many_body or bound.terms.passes for bound in bounds)
        cells, held = [], []
        for number, atoms in enumerate(systems):
            with errors_name(self.names[number]):
                cells.append(MemberCell(atoms.cell.array, atoms.pbc.copy()))
                check_system(forcefield, atoms, cells[-1], precision)
                check_neighbours(forcefield.list_cutoff, many_body, cells[-1].frame, atoms.positions)
                held.append(check_fixed(None if fixed is None else fixed[number], len(atoms)))
        self.decomposition = choose(decomposition, [bound.terms for bound in bounds], False, self.backend)
        masses = [atoms.get_masses().astype(float) for atoms in systems]
        self._state = state = State(
            np.concatenate([[species.index(s) for s in atoms.symbols] for atoms in systems]).astype(np.int32),
            np.concatenate(masses),
            precision,
            _joined(_mask(held[k], len(atoms)) for k, atoms in enumerate(systems)),
            sizes=[len(atoms) for atoms in systems],
        )
        each = list(ensembles) if isinstance(ensembles, Sequence) else [ensembles or NVE()] * len(systems)
        self._bath = BatchBath(each, masses, cells, held, state)
        self._cell = BatchCell(cells, state.system if self._bath.moves_cell else None)
        for number, one in enumerate(each):
            with errors_name(self.names[number]):
                self._check_barostat(one, number)
        state.set("pos", np.concatenate([atoms.positions for atoms in systems]))
        state.set("vel", _joined(of_free(atoms.get_velocities(), held[k]) for k, atoms in enumerate(systems)))
        self._seen: dict[str, Any] = {}
        self.step = 0
        self.alive = list(range(len(systems)))
        chosen = tuple(by_tuple(self.decomposition, bound.terms) for bound in bounds)
        choice = Choice(
            bounds, chosen, self.backend, False, None if skin is None else float(skin), batch=True
        )
        with self._all_that_fit():
            self.device = Device(state, choice, self._bath, cell=self._cell)  # type: ignore[arg-type]
        self.members = [
            Member(self, number, atoms, one, self._bath.members[number], cells[number], held[number])
            for number, (atoms, one) in enumerate(zip(systems, each, strict=True))
        ]
        # Where a system is put that has left physics: any place that makes sense.
        self._sane = [(atoms.positions.copy(), atoms.cell.array.copy()) for atoms in systems]

    def _check_barostat(self, ensemble: Ensemble, number: int) -> None:
        """Refuse a barostat that does not suit its system, as `Engine` does."""
        if isinstance(ensemble, Barostat):
            self.forcefield.check_virial("a barostat")
            bath, cell = self._bath.members[number], self._cell.cells[number]
            ensemble.check_cell(cell.vectors, cell.frame.pbc)
            wanted = 3.0 * ensemble.most_pressure * units.GPA * abs(determinant(cell.vectors))
            bath.check_sums(wanted, bath.freedom * units.KB * ensemble.temperature)

    @contextmanager
    def _all_that_fit(self) -> Iterator[None]:
        """Say how many systems would fit, if not all do."""
        try:
            yield
        except CapacityError as error:
            if error.part is None:
                raise
            fit = int(self.n_systems * error.part)
            raise CapacityError(
                f"a batch of {self.n_systems} systems, {self._state.n} atoms in all: {error}; about {fit} "
                "systems of this size fit at a time"
            ) from error

    @contextmanager
    def _named_system(self) -> Iterator[None]:
        """Say of which system an evaluation has failed."""
        try:
            yield
        except EvaluationError as error:
            if error.system is not None:
                error.args = (f"{self.names[error.system]}: {error}",)
            raise

    def part(self, number: int) -> slice:
        """Where the atoms of a system stand."""
        first = int(self._state.firsts[number])
        return slice(first, first + int(self._state.sizes[number]))

    # What members ask for. Read once for all of them, until something changes.

    def seen(self, name: str, read: Callable[[], Any]) -> Any:
        """What `read` returns, once for each state."""
        if name not in self._seen:
            self._seen[name] = read()
        return self._seen[name]

    def forget(self) -> None:
        """The state has changed."""
        self._seen.clear()
        self._bath.forget()
        self._cell.forget()

    def vectors(self, name: str) -> Array:
        """(n, 3) of all systems: "pos", "vel" or "force"."""
        if name == "force":
            self.device.need_forces()
        return np.asarray(self.seen(name, lambda: self._state.get(name)))

    def outputs(self) -> tuple[Array, Array]:
        """(n,) energies and (n, 3, 3) virials, eV, of all systems."""

        def read() -> tuple[Array, Array]:
            self.evaluate()
            order = self._state.sorted_of.to_numpy()
            energies, virials = (array.to_numpy() for array in self.device.outputs)
            return energies[order].astype(float), virials.reshape(-1, 3, 3)[order].astype(float)

        found: tuple[Array, Array] = self.seen("outputs", read)
        return found

    def sums(self, what: str) -> Array:
        """(systems, columns) of `program.totals`."""

        def read() -> Array:
            self.evaluate()
            return self.present(what)

        return np.asarray(self.seen(f"sums {what}", read))

    def present(self, what: str) -> Array:
        """`sums` of what the last forces have left on the device, be that outdated or not."""
        assert self.device.sums is not None
        return self.device.sums.of(what, *self.device.outputs)

    def evaluate(self) -> None:
        """Energies, forces and virials of the present positions of all systems."""
        with self._all_that_fit(), self._named_system():
            self.device.need_outputs()

    def energies(self, known: Sequence[float | None] | None = None) -> list[Energy]:
        """Of all systems, as `Device.energies`."""
        with self._all_that_fit(), self._named_system():
            return self.device.energies(known)

    def set_vectors(self, name: str, values: dict[int, Array]) -> None:
        """Other positions ("pos") or velocities ("vel") of some systems, (n, 3) each."""
        of_all = self._state.get(name)
        for number, own in values.items():
            of_all[self.part(number)] = own
        self._state.set(name, of_all)
        self.forget()
        if name == "pos":
            self.device.moved()

    def set_cells(self, cells: dict[int, Array]) -> None:
        """Other cells of some systems, (3, 3) angstrom each."""
        for number, vectors in cells.items():
            self._cell.cells[number].set(vectors)
        self.outdate()

    def go_to(self, step: int) -> None:
        """Another step counter."""
        if step != self.step:
            for member in self._bath.members:
                member.leave(self.step)
            self.step = step

    def outdate(self) -> None:
        """Cells are others than those of forces and lists."""
        self._cell.renew()
        self.device.cell_moved()
        self.forget()
        self.device.forces_known = self.device.evaluated = False
        self.device.lists.outdate()

    # Time.

    def advance(self, n_steps: int, timestep: float) -> None:
        """Steps of all systems that go on, as `Engine.advance`.

        A system that leaves physics stops, and no error is raised: its member has it (`Member.error`), and
        the state of the failed step.

        Raises:
            EvaluationError: an external potential failed; the message names the system.
        """
        check_steps(n_steps, timestep)
        if n_steps == 0 or not self.alive:
            return
        self.forcefield.check_bounded()
        for member in self.members:
            member.ensemble.check_timestep(timestep)
        with self._named_system():
            self.device.need_forces()
            self.device.settle()
            self.forget()
            for step, blown in self.device.steps(self.step, n_steps, float(timestep), self._renew):
                self.step = step
                if blown != NONE:
                    self._stop_those_that_failed(blown, timestep)
        self.forget()

    def _renew(self) -> None:
        """Bring lists up to date; a system with atoms on top of each other stops."""
        lists = self.device.lists
        while True:
            try:
                self.device.renew()
                return
            except StructureError as error:
                atom = lists.atom_too_close()
                number = self.system_of(atom)
                told = str(error).split(": ", 1)[1].split(";")[0]
                self._stop(number, explosion.exploded(self.step, told, atom - self.part(number).start))

    def system_of(self, atom: int) -> int:
        """The system of an atom."""
        return int(np.searchsorted(self._state.firsts, atom, side="right")) - 1

    def _stop_those_that_failed(self, blown: int, timestep: float) -> None:
        """Stop the systems whose atoms have gone too far in one step, or whose cell has.

        Args:
            blown: such an atom; or `RAN_AWAY - k`, of system k.
            timestep: internal time units.
        """
        self.forget()
        moves, x = timestep * self.vectors("vel"), self.vectors("pos")
        ran: set[int] = set()
        if self._bath.moves_cell and (self.step - 1) % self._bath.coupling.period == 0:
            ran = set(self._cell.run_away())
            moves = np.einsum("iac,ic->ia", self._cell.read("drift")[self._state.system_of_atoms], moves)
        most = self.device.reach.most_step2
        fine = ((moves * moves).sum(axis=1) <= most) & np.isfinite(x).all(axis=1)
        if blown <= RAN_AWAY:
            ran.add(RAN_AWAY - blown)
        else:
            fine[blown] = False
        for number in sorted(ran | {self.system_of(one) for one in np.flatnonzero(~fine).tolist()}):
            member, own = self.members[number], fine[self.part(number)]
            if member.error is None:
                atom = RAN_AWAY if number in ran else int(np.argmin(own))
                self._stop(number, explosion.of_step(member, atom, most**0.5))
        control = self.device.lists.control
        seen = Control(control.to_numpy())
        seen.blown = NONE
        control.from_numpy(seen.values)

    def _stop(self, number: int, error: TaichimdError) -> None:
        """From now on a system stands still, at a place that makes sense: the others do not notice."""
        self.members[number].stop(error)
        self.alive.remove(number)
        part = self.part(number)
        inverse = self._state.inverse_mass.to_numpy()
        inverse[part] = 0.0
        self._state.inverse_mass.from_numpy(inverse)
        positions, cell = self._sane[number]
        for name, own in (("pos", positions), ("vel", 0.0)):
            of_all = self._state.get(name)
            of_all[part] = own
            self._state.set(name, of_all)
        self._bath.stop(number)
        self._cell.cells[number].set(cell)
        self._cell.cells[number].rest()
        self._cell.renew()
        self.forget()
        self.device.lists.outdate()

    def warm_up(self) -> float:
        """Compile what a run needs without changing the state; returns the seconds it took."""
        begin = time.perf_counter()
        self.device.warm_up(self.step)
        return time.perf_counter() - begin

    def statistics(self) -> dict[str, Any]:
        """Figures of neighbour lists, for reports."""
        return {**self.device.statistics(), "decomposition": self.decomposition, "systems": self.n_systems}

    def synchronize(self) -> None:
        """Wait for the device."""
        ti.sync()


def _joined(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(parts))


def _mask(fixed: NDArray[np.bool_] | None, n: int) -> NDArray[np.bool_]:
    return np.zeros(n, bool) if fixed is None else fixed
