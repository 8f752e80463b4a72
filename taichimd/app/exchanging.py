"""A stepper whose system loses and gains molecules between two steps.

At a multiple of an item's interval, before the next step, the state goes to a new engine with other atoms, as
a restart's state goes. A checkpoint of that step has the atoms before the exchange, which a restart repeats:
places and velocities depend on the seed and the step alone. So a run has the same bits however it is cut.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms

from taichimd.app.saving import state_of
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import MissingParameterError, PropertyError, SettingsError
from taichimd.estimators.molecules import count_formulas, molecules
from taichimd.exchange.base import Change, Exchange, named
from taichimd.exchange.delete import Delete, bonds_by_distance
from taichimd.exchange.insert import Insert
from taichimd.exchange.ledger import Ledger
from taichimd.exchange.renumbered import changed, held_atoms
from taichimd.program.results import require_finite

if TYPE_CHECKING:
    from taichimd.program.engine import Engine

_SHOWN = 6
"""Formulas of the last look that a note names."""


def split_acting(acting: Sequence[Any] | None) -> tuple[list[Any] | None, list[Any]]:
    """Baths and drives of a list, and its insertions and deletions, whose names differ.

    Raises:
        SettingsError: two items of one name.
    """
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
    """Raise a TaichimdError if insertions and deletions do not go with a system.

    A region that is full at the start is refused here, before anything is compiled.

    Args:
        items: insertions and deletions.
        atoms: the structure.
        forcefield: what acts between the atoms.
        timestep: fs.
        saved: what the ledger of a checkpoint has.
        step: where the run begins.

    Raises:
        SettingsError: a time shorter than a step, a region without a place, or without room.
        MissingParameterError: an element of a molecule that the potential does not have.
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

    def flush(self) -> None:
        """Have everything reported now."""
        if self._recorder is not None:
            self._recorder.flush()

    def close(self) -> None:
        """Report no more."""
        if self._recorder is not None:
            self._recorder.close()


class ExchangingEngine:
    """Steps a simulation, and exchanges molecules between steps.

    Args:
        simulation: in its first state; its engine is replaced at each exchange, and its `exchange` is the
            ledger.
        items: insertions and deletions with different names.
        how: arguments of each `Engine`: backend, precision, decomposition, as the user gave them.
        saved: of the ledger, from a checkpoint.

    Attributes:
        simulation: as given.
    """

    n_systems = 1

    def __init__(
        self, simulation: SimulatedSystem, items: Sequence[Exchange], how: dict[str, Any], saved: Any = None
    ) -> None:
        self.simulation, self._items, self._how = simulation, list(items), dict(how)
        self._every = [item.interval(simulation.timestep) for item in items]
        self._ledger = simulation.exchange = Ledger(items, saved)
        self._relay: Relay | None = None

    @property
    def members(self) -> list[Any]:
        """The engine."""
        return [self.simulation.engine]

    @property
    def alive(self) -> Any:
        """As of the engine."""
        return self.simulation.engine.alive  # type: ignore[attr-defined]

    @property
    def step(self) -> int:
        """Steps done."""
        return self.simulation.step

    def recorder(self) -> Relay | None:
        """What has totals reported later; None if the engine reports them at once."""
        if self.simulation.engine.recorder() is None:
            return None
        self._relay = Relay(self.simulation.engine)
        return self._relay

    def advance(self, n_steps: int, timestep: float) -> None:
        """Do steps; the time step is in internal units. Exchanges that are due come first.

        Raises:
            SettingsError: no room for a molecule.
        """
        last = self.step + n_steps
        while self.step < last:
            for item, every in zip(self._items, self._every, strict=True):
                if self.step > 0 and self.step % every == 0:
                    self._exchange(item)
            ends = [(self.step // every + 1) * every for every in self._every]
            self.simulation.engine.advance(min(last, *ends) - self.step, timestep)

    def _exchange(self, item: Exchange) -> None:
        """Let an item act on the present state."""
        own = self._ledger.of[item.called]
        if item.number is not None and own["molecules"] >= item.number:
            return
        engine = self.simulation.engine
        atoms = Atoms(engine.symbols, positions=engine.positions(), cell=engine.cell, pbc=engine.pbc)
        atoms.set_masses(engine.masses)
        change = self._change(item, atoms)
        if change is not None:
            self._take(item, change)

    def _change(self, item: Exchange, atoms: Atoms) -> Change | None:
        own = self._ledger.of[item.called]
        if isinstance(item, Insert):
            return item.change(atoms, self.step, own["molecules"])
        assert isinstance(item, Delete)
        engine = self.simulation.engine
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

    def _take(self, item: Exchange, change: Change) -> None:
        """Replace the engine, and book what that has changed."""
        if self._relay is not None:
            self._relay.flush()
            self._relay.close()
        simulation, old = self.simulation, self.simulation.engine
        before, momentum = old.thermo(), _momentum(old)
        state = changed(state_of(simulation), change)
        new = self._made(state, change)
        simulation.exchanged(new, state["groups"])
        after = new.thermo()
        require_finite(after.potential, new.forces(), new)
        energy = after.potential + after.kinetic - before.potential - before.kinetic
        known = before.conserved is not None and after.conserved is not None
        received = after.conserved - before.conserved if known else 0.0  # type: ignore[operator]
        self._ledger.book(item, change.molecules, energy, _momentum(new) - momentum, received)
        if self._relay is not None:
            self._relay.to(new)

    def _made(self, state: dict[str, Any], change: Change) -> "Engine":
        """The engine of a new state."""
        from taichimd.ensembles.drives.given import drive_of_record
        from taichimd.ensembles.groups.given import of_record
        from taichimd.program.engine import Engine

        old, bath = self.simulation.engine, state["bath"]
        symbols = [symbol for symbol, kept in zip(old.symbols, change.kept, strict=True) if kept]
        symbols += [] if change.new is None else list(change.new.symbols)
        atoms = Atoms(symbols, positions=state["positions"], cell=state["cell"], pbc=old.pbc)
        atoms.set_masses(state["masses"])
        acting: list[Any] = [of_record(one) for one in bath.get("acting", [])]
        acting += [drive_of_record(one) for one in bath.get("drives", [])]
        new = Engine(
            atoms, old.forcefield, ensemble=old.ensemble, fixed=state["fixed"], acting=acting, **self._how
        )
        new.set_state(
            positions=state["positions"], turns=state["turns"], velocities=state["velocities"],
            step=state["step"], bath=bath or None,
        )  # fmt: skip
        return new


def _momentum(engine: Any) -> Any:
    """(3,) momentum, amu times the internal unit of velocities."""
    return (np.asarray(engine.masses)[:, None] * engine.velocities()).sum(axis=0)


def refuse_several(acting: Any) -> None:
    """Raise a SettingsError if systems that step together have insertions or deletions.

    Args:
        acting: what acts on all systems, or a list for each.
    """
    each = acting if isinstance(acting, list | tuple) else []
    for one in [item for own in each for item in (own if isinstance(own, list | tuple) else [own])]:
        if isinstance(one, Exchange):
            raise SettingsError(
                f"{one.called}: molecules are inserted and deleted in single simulations only; make one "
                "Simulation for each structure"
            )
