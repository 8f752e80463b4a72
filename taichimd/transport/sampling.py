"""Runs of a thermal conductivity, one or several in a launch: equilibration, then samples of the current."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms

from taichimd.app.live import Observations
from taichimd.app.loop import Watched, run_loop
from taichimd.app.notes import of_system
from taichimd.app.observer import Observer, Sampler
from taichimd.app.restart import set_first_velocities
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.app.simulation import Simulation
from taichimd.core.arrays import Array
from taichimd.core.errors import TaichimdWarning
from taichimd.core.printable import printable
from taichimd.core.units import FS, KB
from taichimd.ensembles.groups.given import GroupBath
from taichimd.ensembles.registry import Ensemble, Langevin, NoseHoover
from taichimd.ensembles.thermostats.base import Thermostat
from taichimd.estimators.average import average_of
from taichimd.observables.samplers.joint import Lent, Sample
from taichimd.observables.samplers.sum_series import SumSeries
from taichimd.program.batch import Batch
from taichimd.program.engine import Engine
from taichimd.program.totals import LABORATORY
from taichimd.system.constraints import constrained
from taichimd.system.velocities import drift
from taichimd.transport.layout import Halves, Layout
from taichimd.transport.observed import check_observed, found_by, observations_of
from taichimd.transport.runs import RunSamples, RunUnderWay
from taichimd.transport.settings import KappaSettings

Progress = Callable[[int, str, float], None]
"""Called with the number of the run (from 0; in one launch the last), what it does, and the fraction done."""

Force = tuple[float, float, float]
"""A driving force, 1/angstrom."""

EQUILIBRATION = "equilibration"
KEEP_SECONDS = 60.0
"""Between the times that a run under way is kept."""


class Current(Sampler):
    """Samples of the heat current, and of the kinetic energy."""

    def __init__(self, every: int) -> None:
        self.series, self.every, self._seen = SumSeries("heat"), every, -1

    def resume(self, begun: RunUnderWay) -> None:
        """Continue with the samples of a run under way."""
        self.series.load({"rows": begun.rows})
        self._seen = begun.step if len(begun.rows) else -1

    def sample(self, simulation: SimulatedSystem) -> None:
        """Take a sample, unless it is there."""
        self.sample_all([(self, simulation)])

    @classmethod
    def sample_all(cls, due: "Sequence[tuple[Current, SimulatedSystem]]") -> None:
        """Take a sample of each, unless it is there."""
        new = [(one.series, simulation.engine) for one, simulation in due if simulation.step > one._seen]
        if new:
            lent, numbers = Lent(*new[0][1].systems.lend()), [engine.number for _, engine in new]
            sample = Sample(lent, numbers, [LABORATORY] * len(new))
            SumSeries.sample_all([series for series, _ in new], sample)


class Tell(Observer):
    """Tells how far a stage is, and keeps it now and then."""

    def __init__(self, tell: Callable[[float], None], keep: Callable[[], None], steps: int) -> None:
        self._tell, self._keep, self._steps = tell, keep, steps
        self._kept_at = monotonic()

    def tick(self, simulation: SimulatedSystem) -> None:
        """Tell, and keep if it is time."""
        self._tell(simulation.step / self._steps)
        if monotonic() - self._kept_at >= KEEP_SECONDS:
            self._keep()
            self._kept_at = monotonic()


class Looks(NamedTuple):
    """What samples a run: the heat current, and observables, if there are any."""

    current: Current
    observations: Observations | None

    @property
    def samplers(self) -> tuple[Sampler, ...]:
        """Those that there are."""
        return (self.current,) if self.observations is None else (self.current, self.observations)


def go_on(simulation: SimulatedSystem, begun: RunUnderWay, looks: Looks | None) -> None:
    """Bring a simulation, and its samples, to where a run under way is."""
    simulation.engine.set_state(
        positions=begun.positions, turns=begun.turns, velocities=begun.velocities, forces=begun.forces,
        step=begun.step, bath=begun.bath or None,
    )  # fmt: skip
    if looks is not None:
        looks.current.resume(begun)
        if looks.observations is not None and begun.found:
            looks.observations.load(begun.found)


def under_way(simulation: SimulatedSystem, stage: str, start: Array, looks: Looks | None) -> RunUnderWay:
    """The state of a run that has not ended, whose stage began at positions `start`."""
    engine, rows = simulation.engine, np.empty((0, 7)) if looks is None else looks.current.series.rows()
    found = {} if looks is None or looks.observations is None else looks.observations.save()
    turns = np.zeros((engine.n_atoms, 3)) if engine.turns is None else engine.turns.astype(float)
    state = engine.folded_positions(), engine.velocities(), engine.forces(), engine.bath_state()
    return RunUnderWay(stage, engine.step, *state, start, rows, turns, found)


@dataclass(frozen=True)
class _Stages:
    """Runs that go together; attributes are arguments of `sample_runs`."""

    numbers: Sequence[int]
    should_stop: Callable[[], bool]
    progress: Progress
    begun: Mapping[int, RunUnderWay]
    keep: Callable[[int, RunUnderWay], None]

    def go(
        self,
        stepper: Engine | Batch,
        each: Sequence[Simulation],
        steps: int,
        what: str,
        starts: Sequence[Array],
        looks: Sequence[Looks | None] = (),
    ) -> bool:
        """A stage of all runs to its end; whether it has come there."""
        looks = looks or [None] * len(self.numbers)
        for number, one, look in zip(self.numbers, each, looks, strict=True):
            if number in self.begun and self.begun[number].stage == what:
                go_on(one, self.begun[number], look)

        def save() -> None:
            for number, one, start, look in zip(self.numbers, each, starts, looks, strict=True):
                if one.engine.error is None:
                    self.keep(number, under_way(one, what, start, look))

        tell = Tell(lambda fraction: self.progress(self.numbers[-1], what, fraction), save, steps)
        watched = [
            Watched(one, samplers=() if look is None else look.samplers)
            for one, look in zip(each, looks, strict=True)
        ]
        left, finished = steps - stepper.step, True
        if left:
            finished = run_loop(
                stepper,
                watched,
                left,
                every=steps,
                should_stop=self.should_stop,
                report_first=True,
                of_all=(tell,),
            ).finished
        errors = [one.engine.error for one in each if one.engine.error is not None]
        if errors or not finished:
            save()
        for error in errors:
            raise error
        return finished


def sample_runs(
    system: Atoms | Sequence[Atoms],
    potential: Any,
    settings: KappaSettings,
    numbers: Sequence[int],
    should_stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda run, what, fraction: None,
    begun: Mapping[int, RunUnderWay] = MappingProxyType({}),
    keep: Callable[[int, RunUnderWay], None] = lambda number, run: None,
    layouts: Sequence[Layout | Halves | None] = (),
    seeds: Sequence[int] = (),
    forces: Sequence[Force] = (),
) -> list[RunSamples] | None:
    """Independent runs, one or several in one launch, with the same bits; None if stopped.

    `numbers` from 0 give each run its seed and force, unless `seeds` and `forces` do. `begun`: runs that
    continue, all of them at one step of one stage, or none. `keep` is given the number and the state of each
    run when they are stopped, and each minute; finished ones are kept when one diverges (BlowUpError).
    """
    names = ("timestep", "backend", "precision", "decomposition")
    common: dict[str, Any] = {name: getattr(settings, name) for name in names}
    systems = [system] * len(numbers) if isinstance(system, Atoms) else list(system)
    of = _Stages(numbers, should_stop, progress, begun, keep)
    seeds = seeds or [settings.seed_of(number) for number in numbers]
    layouts = layouts or [None] * len(numbers)
    forces = forces or [settings.force_of(number) for number in numbers]
    if not begun or {one.stage for one in begun.values()} == {EQUILIBRATION}:
        baths = [Langevin(settings.temperature, seed=seed) for seed in seeds]
        warmer, warm = _together(systems, potential, common, ensembles=baths)
        for remark in of_system(systems[0], potential, baths[0], settings.timestep):
            warnings.warn(printable(remark), TaichimdWarning, stacklevel=2)
        for one, atoms, seed in zip(warm, systems, seeds, strict=True):
            set_first_velocities(one.engine, atoms, settings.temperature, seed)
        steps = max(1, round(settings.equilibrate / settings.timestep))
        if not of.go(warmer, warm, steps, EQUILIBRATION, [atoms.positions for atoms in systems]):
            return None
        before = [one.positions() for one in warm]
        velocities = [_at_rest(one) for one in warm]
        stepper, each = _production(systems, potential, settings, common, layouts, seeds, forces)
        for one, x, v in zip(each, before, velocities, strict=True):
            one.engine.set_state(positions=x, velocities=v)
    else:
        before = [begun[number].start for number in numbers]
        stepper, each = _production(systems, potential, settings, common, layouts, seeds, forces)
    looks = [
        Looks(Current(settings.every), observations_of(one.engine, settings, layout, force))
        for one, layout, force in zip(each, layouts, forces, strict=True)
    ]
    if not of.go(stepper, each, settings.steps, settings.method, before, looks):
        return None
    return [samples_of(*each_of, settings) for each_of in zip(looks, each, before, strict=True)]


def _at_rest(simulation: Simulation) -> Array:
    """Velocities without the motion of the centre of mass that noise has left, unless atoms are fixed."""
    velocities = simulation.velocities()
    if simulation.engine.fixed is not None and simulation.engine.fixed.any():
        return velocities
    return velocities - drift(simulation.engine.masses, velocities)


def samples_of(
    looks: Looks, simulation: SimulatedSystem, before: Array, settings: KappaSettings
) -> RunSamples:
    """What a run that has ended has found; `before`: (n, 3) positions at its beginning, angstrom."""
    rows, n = looks.current.series.rows(), len(before)
    to_kelvin = 2.0 / (max(3 * n - 3, 3) * KB)
    kinetic = average_of(rows[:, 6])
    measured = float(rows[:, 6].mean()) * to_kelvin
    uncertain = None if kinetic.error is None else kinetic.error * to_kelvin
    # Ripples of a sheet are no flow.
    step = (simulation.positions() - before)[:, : len(settings.axes)]
    moved = float(np.sqrt(((step - step.mean(axis=0)) ** 2).sum(axis=1).mean()))
    found = {} if looks.observations is None else found_by(looks.observations)
    return RunSamples(rows[:, :6], measured, simulation.engine.decomposition, moved, uncertain, found)


def _production(
    systems: Sequence[Atoms],
    potential: Any,
    settings: KappaSettings,
    common: dict[str, Any],
    layouts: Sequence[Layout | Halves | None],
    seeds: Sequence[int],
    forces: Sequence[Force],
) -> tuple[Engine | Batch, list[Simulation]]:
    """What is sampled: constant energy, a driving force and its thermostat, or a hot and a cold bath."""
    if settings.method == "hnemd":
        chains = [NoseHoover(settings.temperature)] * len(systems)
        return _together(systems, potential, common, chains, forces=forces)
    acting = [one.baths(settings, seed) for one, seed in zip(layouts, seeds, strict=True) if one is not None]
    return _together(systems, potential, common, None, acting or None)


def check_runs(atoms: Atoms, settings: KappaSettings, layout: Layout | Halves | None) -> None:
    """Raise a SettingsError if thermostats or observables do not fit the runs of a system."""
    acting: list[Any] = [Langevin(settings.temperature)]
    acting += [NoseHoover(settings.temperature)] * (settings.method == "hnemd")
    acting += [one.what for one in layout.baths(settings, 1)] if isinstance(layout, Layout) else []
    for one in acting:
        if isinstance(one, Thermostat):
            one.check_timestep(settings.timestep * FS)
    check_observed(atoms, settings, layout)


def _together(
    systems: Sequence[Atoms],
    potential: Any,
    common: dict[str, Any],
    ensembles: Sequence[Ensemble] | None,
    acting: Sequence[Sequence[GroupBath]] | None = None,
    forces: Sequence[Force] | None = None,
) -> tuple[Engine | Batch, list[Simulation]]:
    """What advances systems, and a simulation of each."""
    own = {name: value for name, value in common.items() if name != "timestep"}
    fixed = [held if held.any() else None for held in map(constrained, systems)]
    stepper: Engine | Batch
    if len(systems) == 1:
        stepper = Engine(
            systems[0], potential, **own, fixed=fixed[0],
            ensemble=None if ensembles is None else ensembles[0],
            acting=None if acting is None else acting[0],
            driving_force=None if forces is None else forces[0],
        )  # fmt: skip
    else:
        stepper = Batch(
            systems, potential, ensembles=ensembles, acting=acting, fixed=fixed, driving_forces=forces, **own
        )
    each = [Simulation.from_engine(one, timestep=common["timestep"]) for one in stepper.members]
    return stepper, each
