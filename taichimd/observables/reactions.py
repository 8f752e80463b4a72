"""Reactions of a run while it continues: events, rate constants, lifetimes of species."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import CheckpointError, SettingsError
from taichimd.estimators.bond_history import BondHistory
from taichimd.observables.observable import RunObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.plan import Plan
from taichimd.observables.reaction_result import NETWORK, TABLES, ReactionResult, reactions_of

if TYPE_CHECKING:
    from taichimd.forcefields.base import ForceField

_CONSTANT = 1e-9
"""Relative change of a volume that is rounding."""


class ReactionEvents(RunObservable):
    """Changes of the set of molecules that last, as `taichimd analyze` finds them in the bonds of a run.

    The device compares the bonds of a sample with those of the last sample. Only changes come to the host.
    """

    name, tables, picture = "reactions", (*TABLES, "reaction_species"), "reaction_species"

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        self._history = BondHistory(run.engine.n_atoms, run.plan.bond_rule)
        self._watch: Any = None
        run.samplers["reactions"] = self

    @classmethod
    def files(cls, plot_format: str = "png") -> list[str]:
        """Tables, and the pictures of the numbers of molecules and of the network."""
        return [*super().files(plot_format), f"{NETWORK}.{plot_format}"]

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if it has no bonds."""
        forcefield.check_bonds()

    @classmethod
    def check_system(
        cls, plan: Plan, symbols: list[str], masses: NDArray[np.float64], cell: NDArray[np.float64]
    ) -> None:
        """Raise a SettingsError if there is one sample only: then no bond can change."""
        if plan.samples < 2:
            raise SettingsError(
                f"observe = reactions: the run would take {plan.samples} sample (observe_every = "
                f"{plan.every}); expected 2 or more: take them more often, or a longer run"
            )

    def sample(self, state: Any, energies: Any, virials: Any, centre: Any) -> None:
        """Read the changes of the bonds; all bonds at the first sample and after very many changes."""
        engine, history, time = self.run.engine, self._history, self.run.plan.interval * self.run.taken
        found = None
        if history.times:
            self._watch = self._watch or engine.bond_watch(history.rule.formed, history.rule.broken)
            found = self._watch(history.present)
        if found is None:
            bonds = engine.bonds()
            history.add(time, bonds.i, bonds.j, bonds.order)
        else:
            history.change(time, found)

    def save(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        return self._history.save()

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` gave.

        Raises:
            CheckpointError: it is damaged.
        """
        self._history.load(saved)
        if (frames := len(self._history.times)) != self.run.taken:
            raise CheckpointError(f"bonds of {frames} samples, expected {self.run.taken}")

    def result(self) -> ReactionResult:
        """Result of the run, with the mean volume of the cell."""
        volumes = np.array(self.run.volumes)
        volume = None if np.isnan(volumes).any() else float(volumes.mean())
        symbols = self.run.engine.symbols
        result = reactions_of(self._history, symbols, range(len(symbols)), volume)
        if result.lacks_volume:
            result.notes.append(
                "rate constants of concentrations need a cell that is periodic in three directions"
            )
        elif volume is not None and np.ptp(volumes) > _CONSTANT * volume:
            result.notes.append(
                f"the volume changed by {100 * np.ptp(volumes) / volume:.2g} %: rate constants of "
                "concentrations were computed with the mean volume"
            )
        return result
