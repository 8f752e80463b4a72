"""Any number of systems on the device: one `Device` for all.

The atoms stand one system after the other. Lists hold no pair of two systems, and sums are those of each
system: nothing else knows that there are several (docs/decisions, 022).
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError, TaichimdError
from taichimd.core.matrix3 import determinant
from taichimd.core.one_of_each import one_of_each
from taichimd.core.runtime import start, ti
from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.bath import Baths
from taichimd.ensembles.beside import why_not_held
from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.drives.host import Drives
from taichimd.ensembles.drives.saved import set_state as set_drives
from taichimd.ensembles.groups.given import GroupBath
from taichimd.ensembles.registry import NVE, Ensemble
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import Bound
from taichimd.program.accepted import accepted, check_ensemble, check_structure
from taichimd.program.acting import check_drives, sorted_out, what_is_held
from taichimd.program.decomposition import by_tuple, choose, warn_of_unchanged
from taichimd.program.device import Device
from taichimd.program.energies import Energy, energies_of
from taichimd.program.folds import unfolded_state
from taichimd.program.groups import Choice
from taichimd.program.recorder import Recorder, Row, RowRoom
from taichimd.program.results import NotCopied
from taichimd.system.cell import Cells
from taichimd.system.checks import check_all_pairs, check_atoms, check_options
from taichimd.system.constraints import check_fixed, directions, of_free
from taichimd.system.frame import make_frame
from taichimd.system.species import elements_of, kinds_of, symbols_of
from taichimd.system.state import State


@dataclass(frozen=True)
class Stopped:
    """A system that has diverged, as it was after the failed step."""

    error: TaichimdError  # why
    step: int  # that failed
    positions: Array  # (n, 3) angstrom
    velocities: Array  # (n, 3) angstrom per internal time unit
    cell: Array  # (3, 3) angstrom


class Systems(NotCopied):
    """Systems under one force field, which the same kernels evaluate, and `stepping.advance` integrates.

    Args:
        systems, forcefield, backend, precision, skin, ensembles, decomposition, fixed: as for `Batch`.
        driving_forces: of each system, as for `Engine`; None: nowhere.
        acting: baths of groups of each system (`ensembles.groups.given`).

    Raises:
        TaichimdError: as for `Engine` and `Batch`.

    Attributes:
        forcefield, precision, backend, decomposition: as given, or as chosen.
        symbols, masses, pbc, fixed: of each system.
        device, state, baths, cells: of all.
        n_systems: how many. step: steps done. alive: numbers of those that continue. stopped: the others.
        shown: a row whose totals are shown in place of the present ones, or None.
        across: interfaces whose heat flow is observed (`program.across`).
    """

    _fused = True  # False: the plain stepper (`program.steps.step`), for tests

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
        driving_forces: Sequence[tuple[float, float, float]] | None = None,
        acting: Sequence[Sequence[GroupBath | GroupDrive]] | None = None,
    ) -> None:
        check_options(precision, skin)
        self.forcefield = accepted(forcefield, precision, decomposition, driving_forces is not None)
        self.precision, self.n_systems = precision, len(systems)
        for number, atoms in enumerate(systems):
            with self.named(number):
                check_atoms(atoms)
        # Before binding, which may run a kernel and so start the default backend.
        self.backend = start(backend)
        self.symbols = [symbols_of(atoms.numbers) for atoms in systems]
        self.masses = [atoms.get_masses().astype(float) for atoms in systems]
        self.pbc = [atoms.pbc.copy() for atoms in systems]
        bounds, species = self._bind([elements_of(atoms.numbers) for atoms in systems])
        terms = [bound.terms for bound in bounds]
        all_pairs = self.forcefield.enumeration == "all-pairs"
        each = one_of_each("ensembles", ensembles, len(systems), NVE())
        held = one_of_each("fixed", fixed, len(systems))
        self.fixed: list[NDArray[np.bool_] | None] = []
        many_body = any(one.many_body or one.passes for one in terms)
        for number, (atoms, ensemble) in enumerate(zip(systems, each, strict=True)):
            with self.named(number):
                check_structure(self.forcefield, atoms, self.precision, many_body)
                check_ensemble(self.forcefield, atoms, ensemble, driving_forces)
                self.fixed.append(check_fixed(held[number], len(atoms)))
                why = why_not_held(self.fixed[-1], ensemble)
                if why:
                    raise SettingsError(why)
        baths, given = sorted_out(acting or [[]] * len(systems))
        self.still = [what_is_held(*each) for each in zip(self.fixed, given, self.symbols, strict=True)]
        self.decomposition = choose(decomposition, terms, all_pairs, self.backend)
        warn_of_unchanged(decomposition, bounds)
        self.state = state = State(
            _joined(kinds_of(atoms.numbers, species) for atoms in systems),
            _joined(self.masses),
            precision,
            _joined(directions(f, len(m)) for m, f in zip(self.masses, self.still, strict=True)),
            sizes=[len(atoms) for atoms in systems],
        )
        vectors = [atoms.cell.array for atoms in systems]
        self.cells = Cells(vectors, self.pbc, state.system if state.batch else None)
        self.drives: Drives | None = None
        if any(given):
            check_drives(self.forcefield, given)
            x = [atoms.positions for atoms in systems]
            self.drives = Drives(given, state, self.masses, x, vectors, self.pbc, self.backend)
        self.baths = Baths(each, self.masses, self.cells, self.still, driving_forces, baths, self.drives)
        for number, (ensemble, cell) in enumerate(zip(each, vectors, strict=True)):
            if isinstance(ensemble, CellMotion):
                with self.named(number):
                    wanted = 3.0 * ensemble.most_pressure * units.GPA * abs(determinant(cell))
                    kinetic = self.baths.freedoms[number] * units.KB * ensemble.bath_temperature
                    self.baths.check_sums(number, wanted, kinetic)
        state.set("pos", _joined(atoms.positions for atoms in systems))
        state.set(
            "vel", _joined(of_free(a.get_velocities(), f) for a, f in zip(systems, self.still, strict=True))
        )
        self.step = 0
        self.alive = list(range(len(systems)))
        self.stopped: dict[int, Stopped] = {}
        self._seen: dict[str, Any] = {}
        self.shown: Row | None = None
        self._row_room: RowRoom | None = None
        self.across: list[Any] = []
        chosen = tuple(by_tuple(self.decomposition, one) for one in terms)
        outer = None if skin is None else float(skin)
        choice = Choice(bounds, chosen, self.backend, all_pairs, outer, batch=state.batch)
        with self.evaluating():
            self.device = Device(state, choice, self.baths, fused=self._fused, drives=self.drives)

    def _bind(self, of_each: Sequence[tuple[str, ...]]) -> tuple[tuple[Bound, ...], list[str]]:
        """The force field for the elements of each system; an error names the first that it does not know."""
        bounds: tuple[Bound, ...] = ()
        for kinds in dict.fromkeys(of_each):
            with self.named(of_each.index(kinds)):
                bounds = self.forcefield.bind(list(kinds))
        species = sorted(set[str]().union(*of_each))
        return bounds if len(set(of_each)) == 1 else self.forcefield.bind(species), species

    def named(self, number: int) -> AbstractContextManager[None]:
        """A context in which an error of a batch names this system."""
        return nullcontext()

    def evaluating(self) -> AbstractContextManager[None]:
        """A context for an evaluation of all systems: an error of a batch names the system."""
        return nullcontext()

    # What systems ask for. Of several it is read once for all of them, until something changes.

    def seen(self, name: str, read: Callable[[], Any]) -> Any:
        """The result of `read`; with several systems it is kept until the state changes."""
        if not self.state.batch:
            return read()
        if name not in self._seen:
            self._seen[name] = read()
        return self._seen[name]

    def forget(self) -> None:
        """Drop results that `seen` keeps, because the state has changed."""
        self._seen.clear()
        if self.drives is not None:
            self.drives.forget()

    def vectors(self, name: str) -> Array:
        """Positions, velocities or forces ("pos", "vel", "force") of all systems, (n, 3)."""
        if name == "force":
            with self.evaluating():
                self.device.need_forces()
        return np.asarray(self.seen(name, lambda: self.state.get(name)))

    def outputs(self) -> tuple[Array, Array]:
        """Energies (n,) and virials (n, 3, 3) of the atoms of all systems, eV."""

        def read() -> tuple[Array, Array]:
            self.evaluate()
            order = self.state.sorted_of.to_numpy()
            energies, virials = (array.to_numpy() for array in self.device.outputs)
            virials = virials.reshape(-1, 3, 3)
            return energies[order].astype(float, copy=False), virials[order].astype(float, copy=False)

        found: tuple[Array, Array] = self.seen("outputs", read)
        return found

    @property
    def row_room(self) -> RowRoom:
        """Memory for rows of totals, which later runs use again."""
        if self._row_room is None:
            self._row_room = RowRoom(self)
        return self._row_room

    def recorder(self) -> Recorder | None:
        """The recorder, which reports totals later: a GPU does the next steps meanwhile.

        None with drives and with a potential that depends on time: totals do not contain their work.
        """
        if self.drives is not None or self.device.works() is not None:
            return None
        return Recorder(self, while_busy=self.backend == "cuda")

    def work(self, number: int) -> float:
        """Work of the time-dependent part of the potential on a system, eV; 0 without such a part."""
        found = self.seen("work", self.device.works)
        return 0.0 if found is None else float(found[number])

    def charge_iterations(self, number: int) -> int | None:
        """Iterations of the last charge equilibration of a system; None without charges."""
        found = (
            self.seen("charge iterations", self.device.evaluators.charge_iterations)
            if self.shown is None
            else self.shown.charge_iterations
        )
        return None if found is None else int(found[number])

    def sums(self, what: str) -> Array:
        """Totals of each system, (systems, columns) as in `program.totals`."""
        if self.shown is not None:
            return self.shown.sums[what]

        def read() -> Array:
            self.evaluate()
            return self.device.sums(what)

        return np.asarray(self.seen(f"sums {what}", read))

    def evaluate(self) -> None:
        """Compute energies, forces and virials of all systems at the present positions."""
        with self.evaluating():
            self.device.need_outputs()

    def lend(self) -> tuple[State, Any, Any]:
        """State (not folded), energies (n) and virials (9n) of all systems, in spatial order."""
        self.evaluate()
        state = self.seen("unfolded", lambda: unfolded_state(self.state, self.cells))
        return state, *self.device.outputs

    def energies(self, known: Sequence[float | None] | None = None) -> list[Energy]:
        """Energies of all systems, as `energies_of`."""
        with self.evaluating():
            return energies_of(self.device, known)

    def stop(self, number: int, error: TaichimdError, cause: Exception | None = None) -> None:
        """Stop because a system has diverged; a `Batch` stops only this system.

        Raises:
            TaichimdError: always; the state is that of the failed step.
        """
        self.device.explode()
        raise error from cause

    def heats(self, number: int) -> dict[str, float]:
        """Energy that each bath of a group has given to the atoms of a system, eV, by the names of groups."""
        return {} if self.baths.groups is None else self.baths.groups.heats(number)

    # Other states.

    def set_vectors(self, name: str, values: Mapping[int, Array]) -> None:
        """Set "pos" (not folded), "vel" or "force" of some systems, (n, 3) each; see `vectors`."""
        if name == "pos":
            for number in values:
                self.state.forget_turns(self.state.parts[number])
        if self.state.batch:
            of_all = self.state.get(name)
            for number, own in values.items():
                of_all[self.state.parts[number]] = own
        else:
            of_all = values[0]
        self.state.set(name, of_all)
        self.forget()
        if name == "pos":
            self.device.moved()
        elif name == "force":
            self.device.forces_known, self.device.evaluated = True, False

    def set_cells(self, cells: Mapping[int, Array]) -> None:
        """Set the cells of some systems, (3, 3) angstrom each.

        Raises:
            StructureError: no volume along the periodic directions, or too thin where there are no lists.
        """
        if self.forcefield.enumeration == "all-pairs":
            for number, own in cells.items():
                check_all_pairs(make_frame(own, self.pbc[number]), self.forcefield.cutoff, many_body=False)
        self.cells.set(cells)
        self.device.jumped(True)
        self.outdate()

    def outdate(self) -> None:
        """Mark forces and lists as outdated, because a cell has changed."""
        self.forget()
        self.device.forces_known = self.device.evaluated = False
        # A deformed lattice moves pairs apart in a way the displacement test does not see.
        self.device.lists.outdate()

    def set_bath(self, number: int, state: dict[str, Any]) -> None:
        """Set the state of the thermostat of a system and, with a barostat, its cell.

        Raises:
            SettingsError: the state of a different ensemble.
        """
        before = self.cells.vectors(number)
        if self.drives is not None and "drives" in state:
            set_drives(self.drives, number, state["drives"])
        if "ensemble" in state:
            self.baths.set_state(number, state)
        self.forget()
        if self.baths.moves_cell:
            self.device.acted()
            if np.array_equal(self.cells.vectors(number), before):
                self.device.lists.outdate()
            else:
                self.outdate()

    def set_carried(self, number: int, states: dict[str, Array]) -> None:
        """Set the values that the force field keeps for each atom of a system, by name, (n,) each.

        Raises:
            SettingsError: states of a different force field, or of a different number of atoms.
        """
        of_all = self.state.carried_values() if self.state.batch else {}
        if of_all.keys() == states.keys():
            for name, own in states.items():
                of_all[name][self.state.parts[number]] = own
        else:
            of_all = states
        self.state.set_carried(of_all)
        self.forget()
        self.device.jumped(False)

    def go_to(self, step: int, forces_known: bool = False) -> None:
        """Set the step counter; forces of drives are computed again unless they are known."""
        if step != self.step:
            if self.drives is not None and not forces_known:
                self.device.forces_known = self.device.evaluated = False
            self.baths.leave(self.step)
            self.step = self.device.step = step

    def drive_results(self, number: int) -> dict[str, dict[str, Any]]:
        """Work, energy and force of each drive of a system, by name (`Drives.found`)."""
        if self.drives is None:
            return {}
        self.evaluate()
        return self.drives.found(number, self.device.measure_drives)

    def warm_up(self) -> float:
        """Compile what a run needs without changing the state; returns the seconds it took."""
        begin = time.perf_counter()
        self.device.warm_up(self.step)
        return time.perf_counter() - begin

    def statistics(self) -> dict[str, Any]:
        """Statistics of the neighbour lists, and of a charge equilibration, for reports."""
        return {**self.device.statistics(), "decomposition": self.decomposition}

    def synchronize(self) -> None:
        """Wait for the device."""
        ti.sync()


def _joined(parts: Iterable[Any]) -> NDArray[Any]:
    return np.concatenate(list(map(np.asarray, parts)))
