"""What looks at a running simulation: `Observer` between pieces of steps, `Sampler` on the device."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from taichimd.app.simulated_system import SimulatedSystem
from taichimd.program.results import Thermo

if TYPE_CHECKING:
    from typing_extensions import Self


class Observer:
    """Base class of observers of a running simulation. Every method is optional. Observers change nothing.

        >>> from ase.build import bulk
        >>> from taichimd import Observer, Simulation
        >>> class Steps(Observer):
        ...     every = 10
        ...     def report(self, simulation, thermo):
        ...         print(thermo.step)
        >>> result = Simulation(bulk("Si", cubic=True), "Si.sw").run(20, observers=[Steps()])
        0
        10
        20

    Attributes:
        every: steps between reports to this observer; None: the `every` of `Simulation.run`.
        totals_only: whether a report needs only `thermo`, step, time and cell. If so, the run does not wait
            for the report. The report may come later, in its order, and before the next tick unless
            `needs_reports` says otherwise. Positions are then positions of a later step.
    """

    every: int | None = None
    totals_only: bool = False

    def report(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        """Called at the first step, at each multiple of `every`, and at the last step."""

    def needs_reports(self) -> bool:
        """Called before each tick: whether the tick waits for the reports of all steps before it."""
        return type(self).tick is not Observer.tick

    def tick(self, simulation: SimulatedSystem) -> None:
        """Called after each piece of steps, a few times a second."""

    def ended(self) -> None:
        """Called before `run` returns: everything that was reported must now be written."""


class Sampler:
    """Base class of samplers: `sample` is called at every multiple of `every` of the step counter.

    A sampler changes nothing. Unlike for an `Observer`, no totals are computed, so samples can be taken every
    few steps.

        >>> from ase.build import bulk
        >>> from taichimd import Sampler, Simulation
        >>> class Current(Sampler):
        ...     every, found = 5, []
        ...     def sample(self, simulation):
        ...         self.found.append(simulation.engine.heat_current().total)
        >>> result = Simulation(bulk("Si", cubic=True), "Si.sw").run(20, samplers=[Current()])
        >>> len(Current.found)
        5
    """

    every: int = 1

    def sample(self, simulation: SimulatedSystem) -> None:
        """Called at multiples of `every`, also at the first step of a run if that step is a multiple."""

    @classmethod
    def sample_all(cls, due: "Sequence[tuple[Self, SimulatedSystem]]") -> None:
        """Called for samplers of this class, one of each system, of systems that step together.

        A class may override it to take all samples in one launch.
        """
        for sampler, simulation in due:
            sampler.sample(simulation)
