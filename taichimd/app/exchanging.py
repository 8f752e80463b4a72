"""A stepper whose systems lose and gain molecules between two steps.

At a multiple of an item's interval, before the next step, the state goes to a new engine with other atoms, as
a restart's state goes; of several systems all go to a new batch. A checkpoint of that step has the atoms
before the exchange, which a restart repeats: places and velocities depend on the seed and the step alone. So
a run has the same bits however it is cut, and whatever steps beside it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.app.saving import state_of
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import (
    ChargeError,
    EvaluationError,
    MissingParameterError,
    PropertyError,
    TaichimdError,
)
from taichimd.ensembles.drives.given import drive_of_record
from taichimd.ensembles.groups.given import of_record
from taichimd.estimators.molecules import count_formulas, molecules
from taichimd.exchange.base import Change, Exchange, named
from taichimd.exchange.delete import Delete, bonds_by_distance
from taichimd.exchange.insert import Insert
from taichimd.exchange.ledger import Ledger
from taichimd.exchange.renumbered import changed, held_atoms
from taichimd.program.results import require_finite

_SHOWN = 6
"""Formulas of the last look that a note names."""


def split_acting(acting: Sequence[Any] | None) -> tuple[list[Any] | None, list[Any]]:
    """Baths and drives of a list, and its insertions and deletions, whose names differ."""
    if not isinstance(acting, list | tuple):
        return acting, []  # type: ignore[return-value]
    others = [one for one in acting if not isinstance(one, Exchange)]
    return others, named([one for one in acting if isinstance(one, Exchange)])


def check_exchange(
    items: Sequence[Exchange],
    atoms: Atoms,
    forcefield: Any,
    timestep: float,
    saved: Mapping[str, Any] | None = None,
    step: int = 0,
) -> None:
    """Raise a TaichimdError if insertions and deletions do not go with a system; `saved`: of a ledger.

    A region that is full at the start is refused here, before anything is compiled.
    """
    done = (saved or {}).get("items", {})
    for item in items:
        item.interval(timestep)
        if not isinstance(item, Insert):
            item.inside(atoms.positions[:1], atoms)
            continue
        symbols = sorted({*atoms.symbols, *item.atoms.symbols})
        try:
            forcefield.bind(symbols)
        except MissingParameterError as error:
            raise MissingParameterError(f"{item.called}: {error}") from None
        before = done.get(item.called, {}).get("molecules", 0)
        if item.number is None or before < item.number:
            item.change(atoms, step, before)


class Relay:
    """The recorder of the present engine: totals that wait are reported before the engine changes."""

    def __init__(self, engine: Any) -> None:
        self.to(engine)

    def to(self, engine: Any) -> None:
        """Record a new engine from now on."""
        self._recorder = engine.recorder()

    def add(self, report: Callable[[], None]) -> None:
        """Have the totals of the present state reported later."""
        if self._recorder is None:
            report()
        else:
            self._recorder.add(report)

    def most_runs(self, n_steps: int) -> int:
        """One: exchanges come between runs of steps."""
        return 1

    def before_tick(self, all_reported: bool) -> None:
        """As of `Recorder`."""
        if self._recorder is not None:
            self._recorder.before_tick(all_reported)

    def flush(self) -> None:
        """Have everything reported now."""
        if self._recorder is not None:
            self._recorder.flush()

    def close(self) -> None:
        """Report no more."""
        if self._recorder is not None:
            self._recorder.close()


class ExchangingSystems:
    """Steps simulations that step together, and exchanges molecules between steps.

    Args:
        engine: of the simulations, an `Engine` or a `Batch`.
        simulations: in their first states; their engines are replaced at each exchange, and the `exchange` of
            each is its ledger.
        items: of each simulation insertions and deletions with different names.
        how: arguments of each new engine: backend, precision, decomposition, as the user gave them.
        saved: of each ledger, from a checkpoint.

    Attributes:
        engine: the present one. simulations: as given.
    """

    def __init__(
        self,
        engine: Any,
        simulations: Sequence[SimulatedSystem],
        items: Sequence[Sequence[Exchange]],
        how: dict[str, Any],
        saved: Sequence[Any],
    ) -> None:
        self.engine, self.simulations, self._how = engine, list(simulations), dict(how)
        self._items = [list(own) for own in items]
        self._relay: Relay | None = None
        for simulation, own, account in zip(simulations, items, saved, strict=True):
            if own:
                simulation.exchange = Ledger(own, account)

    @property
    def members(self) -> list[Any]:
        """Engines of the simulations; the engine of one that has stopped is of an earlier batch."""
        return [one.engine for one in self.simulations]

    @property
    def alive(self) -> list[int]:
        """Numbers of the simulations that continue."""
        return [number for number, one in enumerate(self.members) if one.error is None]

    @property
    def step(self) -> int:
        """Steps done."""
        return int(self.engine.step)

    def recorder(self) -> Relay | None:
        """What has totals reported later; None if the engine reports them at once."""
        self._relay = None if self.engine.recorder() is None else Relay(self.engine)
        return self._relay

    def advance(self, n_steps: int, timestep: float) -> None:
        """Do steps; the time step is in internal units. Exchanges that are due come first."""
        last = self.step + n_steps
        while self.step < last and self.alive:
            if self.step > 0:
                self._exchange()
            every = [self._every(number, item) for number in self.alive for item in self._items[number]]
            ends = [(self.step // one + 1) * one for one in every]
            if self.alive:
                self.engine.advance(min([last, *ends]) - self.step, timestep)

    def _every(self, number: int, item: Exchange) -> int:
        return item.interval(self.simulations[number].timestep)

    def _exchange(self) -> None:
        """Let all items that are due act on the present states, one of each system at a time."""
        due = {
            number: [item for item in self._items[number] if self.step % self._every(number, item) == 0]
            for number in self.alive
        }
        for turn in range(max(map(len, due.values()), default=0)):
            changes: dict[int, tuple[Exchange, Change]] = {}
            for number, items in due.items():
                if turn < len(items) and self.members[number].error is None:
                    with self._stopping(number):
                        change = self._change(self.simulations[number], items[turn])
                        if change is not None:
                            changes[number] = items[turn], change
            if changes:
                self._take(changes)

    @contextmanager
    def _stopping(self, number: int) -> Iterator[None]:
        """An error within stops this simulation if there are several."""
        try:
            yield
        except TaichimdError as error:
            if len(self.simulations) == 1:
                raise
            self.engine.stop(self.members[number].number, error)

    def _change(self, simulation: SimulatedSystem, item: Exchange) -> Change | None:
        """What an item does to a system."""
        assert simulation.exchange is not None
        own, engine = simulation.exchange.of[item.called], simulation.engine
        if item.number is not None and own["molecules"] >= item.number:
            return None
        atoms = Atoms(engine.symbols, positions=engine.positions(), cell=engine.cell, pbc=engine.pbc)
        atoms.set_masses(engine.masses)
        if isinstance(item, Insert):
            return item.change(atoms, self.step, own["molecules"])
        assert isinstance(item, Delete)
        try:
            engine.forcefield.check_bonds()
            found = engine.bonds()
        except PropertyError:
            bonds = bonds_by_distance(atoms)
        else:
            strong = found.order > item.bond_order
            bonds = found.i[strong], found.j[strong]
        own["looks"] += 1
        if not own["molecules"]:
            counts = count_formulas(engine.symbols, molecules(len(atoms), *bonds))
            own["seen"] = dict(counts.most_common(_SHOWN))
        held = held_atoms(len(atoms), engine.held, engine.bath_state().get("drives", []))
        return item.change(atoms, bonds, own["molecules"], held)

    def _take(self, changes: Mapping[int, tuple[Exchange, Change]]) -> None:
        """Replace the engine, and book what the changes of some systems have changed."""
        if self._relay is not None:
            self._relay.flush()
            self._relay.close()
        states: dict[int, dict[str, Any]] = {}
        before: dict[int, tuple[Any, Any]] = {}
        for number in self.alive:
            with self._stopping(number):
                engine, state = self.members[number], state_of(self.simulations[number])
                if number in changes:
                    before[number] = engine.thermo(), _momentum(engine)
                    state = changed(state, changes[number][1])
                states[number] = state
        self._replace(states, changes)
        for number in before.keys() & states.keys():
            with self._stopping(number):
                self._book(number, *changes[number], *before[number])
        if self._relay is not None:
            self._relay.to(self.engine)

    def _replace(
        self, states: dict[int, dict[str, Any]], changes: Mapping[int, tuple[Exchange, Change]]
    ) -> None:
        """A new engine with these states; a system that it cannot evaluate stops, and leaves `states`."""
        while states:
            new = self._made(states, changes)
            try:
                for member in new.members:
                    member.evaluate()
            except (EvaluationError, ChargeError) as error:
                if len(self.simulations) == 1 or error.system is None:
                    raise
                number = list(states)[error.system]
                error.args = (str(error).removeprefix(f"{new.names[error.system]}: "),)
                self.engine.stop(self.members[number].number, error)
                del states[number]
                continue
            self.engine = new
            for member, (number, state) in zip(new.members, states.items(), strict=True):
                self.simulations[number].exchanged(member, state["groups"] if number in changes else None)
            return

    def _book(self, number: int, item: Exchange, change: Change, before: Any, momentum: Any) -> None:
        """Book what a change has changed."""
        simulation = self.simulations[number]
        new, ledger = simulation.engine, simulation.exchange
        assert ledger is not None
        after = new.thermo()
        require_finite(after.potential, new.forces(), new)
        energy = after.potential + after.kinetic - before.potential - before.kinetic
        known = before.conserved is not None and after.conserved is not None
        received = after.conserved - before.conserved if known else 0.0  # type: ignore[operator]
        ledger.book(item, change.molecules, energy, _momentum(new) - momentum, received)

    def _made(
        self, states: Mapping[int, dict[str, Any]], changes: Mapping[int, tuple[Exchange, Change]]
    ) -> Any:
        """An engine, or a batch, of new states."""
        from taichimd.program.batch import Batch
        from taichimd.program.engine import Engine

        old = [self.members[number] for number in states]
        atoms, acting = [], []
        for engine, (number, state) in zip(old, states.items(), strict=True):
            symbols = list(engine.symbols)
            if number in changes:
                change = changes[number][1]
                symbols = [symbol for symbol, kept in zip(symbols, change.kept, strict=True) if kept]
                symbols += [] if change.new is None else list(change.new.symbols)
            one = Atoms(symbols, positions=state["positions"], cell=state["cell"], pbc=engine.pbc)
            one.set_masses(state["masses"])
            atoms.append(one)
            acting.append(
                [of_record(bath) for bath in state["bath"].get("acting", [])]
                + [drive_of_record(drive) for drive in state["bath"].get("drives", [])]
            )
        fixed, forcefield = [state["fixed"] for state in states.values()], old[0].forcefield
        new: Any
        if len(self.simulations) == 1:
            new = Engine(
                atoms[0], forcefield, ensemble=old[0].ensemble, fixed=fixed[0], acting=acting[0], **self._how
            )
        else:
            names = [self.engine.names[engine.number] for engine in old]
            new = Batch(
                atoms, forcefield, ensembles=[engine.ensemble for engine in old], fixed=fixed, acting=acting,
                names=names, **self._how,
            )  # fmt: skip
        for member, state in zip(new.members, states.values(), strict=True):
            member.set_state(
                positions=state["positions"], turns=state["turns"], velocities=state["velocities"],
                step=state["step"], bath=state["bath"] or None,
            )  # fmt: skip
        # After all positions: setting positions says that atoms have jumped, of all systems.
        for member, state in zip(new.members, states.values(), strict=True):
            if state["states"]:
                member.set_atom_states(state["states"])
        return new


def _momentum(engine: Any) -> Any:
    """(3,) momentum, amu times the internal unit of velocities."""
    return (np.asarray(engine.masses)[:, None] * engine.velocities()).sum(axis=0)
