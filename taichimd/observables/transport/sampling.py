"""Runs of a thermal conductivity, one or several in a launch: equilibration, then samples of the current."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.app.observer import Observer, Sampler
from taichimd.app.simulation import Simulation
from taichimd.core.units import KB
from taichimd.dynamics.ensembles import Langevin, NoseHoover
from taichimd.observables.samplers.sum_series import SumSeries
from taichimd.observables.transport.runs import RunSamples, RunUnderWay
from taichimd.observables.transport.settings import KappaSettings
from taichimd.program.results import Array, Thermo
from taichimd.system.velocities import drift

Progress = Callable[[int, str, float], None]
"""Called with the number of the run (from 0; in one launch the last), what it does, and the fraction done."""

EQUILIBRATION = "equilibration"
KEEP_SECONDS = 60.0
"""Between the times that a run under way is kept."""


def forget(run: RunUnderWay) -> None:
    """Keep nothing."""


class Current(Sampler):
    """Samples of the heat current, and of the kinetic energy."""

    def __init__(self, n: int, every: int) -> None:
        self.series, self.every, self._seen = SumSeries("heat", n), every, -1

    def resume(self, begun: RunUnderWay) -> None:
        """Go on with the samples of a run under way."""
        self.series.load({"rows": begun.rows})
        self._seen = begun.step if len(begun.rows) else -1

    def sample(self, simulation: Simulation) -> None:
        """Take a sample, unless it is there."""
        if simulation.step > self._seen:
            simulation.engine.observe(self.series.sample)


class Tell(Observer):
    """Tells how far a stage is, and keeps it now and then."""

    def __init__(self, tell: Callable[[float], None], keep: Callable[[], None], steps: int) -> None:
        self._tell, self._keep, self._steps = tell, keep, steps
        self._kept_at = monotonic()

    def tick(self, simulation: Simulation) -> None:
        """Tell, and keep if it is time."""
        self._tell(simulation.step / self._steps)
        if monotonic() - self._kept_at >= KEEP_SECONDS:
            self._keep()
            self._kept_at = monotonic()

    def report(self, simulation: Simulation, thermo: Thermo) -> None:
        """Nothing: `tick` tells."""


def go_on(simulation: Simulation, begun: RunUnderWay, current: Current | None) -> None:
    """Bring a simulation, and its samples, to where a run under way is."""
    simulation.engine.set_state(
        positions=begun.positions, velocities=begun.velocities, forces=begun.forces, step=begun.step,
        bath=begun.bath or None,
    )  # fmt: skip
    if current is not None:
        current.resume(begun)


def under_way(simulation: Simulation, stage: str, start: Array, current: Current | None) -> RunUnderWay:
    """The state of a run that has not ended, whose stage began at positions `start`."""
    engine, rows = simulation.engine, np.empty((0, 7)) if current is None else current.series.rows()
    state = engine.positions(), engine.velocities(), engine.forces(), engine.bath_state()
    return RunUnderWay(stage, engine.step, *state, start, rows)


def sample_run(
    system: Atoms,
    potential: Any,
    settings: KappaSettings,
    number: int,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda run, what, fraction: None,
    begun: RunUnderWay | None = None,
    keep: Callable[[RunUnderWay], None] = forget,
) -> RunSamples | None:
    """One independent run; None if it was stopped.

    Args:
        system: of `supercell`.
        potential: a force-field object.
        settings: see there.
        number: of the run, from 0; its seed is that much above the first.
        should_stop: asked several times a second.
        progress: told how far it is.
        begun: the same run, where it goes on; None begins it.
        keep: given the state of a run that is stopped, and each minute.
    """
    common = {key: getattr(settings, key) for key in ("backend", "precision", "decomposition")}

    def go(
        simulation: Simulation, steps: int, what: str, start: Array, current: Current | None = None
    ) -> bool:
        if begun is not None and begun.stage == what:
            go_on(simulation, begun, current)

        def save() -> None:
            keep(under_way(simulation, what, start, current))

        tell = Tell(lambda fraction: progress(number, what, fraction), save, steps)
        finished = simulation.step == steps or simulation.run(
            steps - simulation.step, every=steps, observers=[tell], should_stop=should_stop,
            samplers=() if current is None else (current,),
        ).finished  # fmt: skip
        if not finished:
            save()
        return finished

    if begun is None or begun.stage == EQUILIBRATION:
        seed, temperature = settings.seed + number, settings.temperature
        warm = Simulation(
            system, potential, timestep=settings.timestep, temperature=temperature, seed=seed,
            ensemble=Langevin(temperature, seed=seed), **common,
        )  # fmt: skip
        steps = max(1, round(settings.equilibrate / settings.timestep))
        if not go(warm, steps, EQUILIBRATION, system.positions):
            return None
        before, velocities, masses = warm.positions(), warm.velocities(), warm.engine.masses
        # The noise has left the centre of mass moving, which would carry energy along.
        velocities -= drift(masses, velocities)
        simulation = _production(system, potential, settings, common)
        simulation.engine.set_state(positions=before, velocities=velocities)
    else:
        before, simulation = begun.start, _production(system, potential, settings, common)
    current = Current(len(system), settings.every)
    if not go(simulation, settings.steps, settings.method, before, current):
        return None
    return samples_of(current, simulation, before, settings)


def samples_of(
    current: Current, simulation: Simulation, before: Array, settings: KappaSettings
) -> RunSamples:
    """What a run that has ended has found.

    Args:
        current: its samples.
        simulation: at its end.
        before: (n, 3) angstrom at its beginning.
        settings: of the run.
    """
    rows, n = current.series.rows(), len(before)
    measured = 2.0 * float(rows[:, 6].mean()) / (max(3 * n - 3, 3) * KB)
    # Ripples of a sheet are no flow.
    step = (simulation.positions() - before)[:, : len(settings.axes)]
    moved = float(np.sqrt(((step - step.mean(axis=0)) ** 2).sum(axis=1).mean()))
    return RunSamples(rows[:, :6], measured, simulation.engine.decomposition, moved)


def _production(system: Atoms, potential: Any, settings: KappaSettings, common: Any) -> Simulation:
    from taichimd.program.engine import Engine

    if settings.method == "hnemd":
        more: dict[str, Any] = {"driving_force": settings.force, "ensemble": NoseHoover(settings.temperature)}
    else:
        more = {}
    return Simulation.from_engine(Engine(system, potential, **common, **more), timestep=settings.timestep)


def sample_together(
    system: Atoms,
    potential: Any,
    settings: KappaSettings,
    numbers: Sequence[int],
    should_stop: Callable[[], bool],
    progress: Progress,
    begun: Mapping[int, RunUnderWay],
    keep: Callable[[int, RunUnderWay], None],
) -> list[RunSamples] | None:
    """`sample_run` of several runs in one launch, with the same bits; None if they were stopped.

    Args:
        system: of `supercell`.
        potential: a force-field object.
        settings: of green-kubo.
        numbers: of the runs, from 0.
        should_stop: asked several times a second.
        progress: told how far they are.
        begun: runs that go on, all of them at one step of one stage, or none.
        keep: given the number and the state of each run when they are stopped, and each minute.

    Raises:
        BlowUpError: a run that has left physics; the others are kept.
    """
    from taichimd.app.simulations import Simulations

    common: dict[str, Any] = {
        key: getattr(settings, key) for key in ("backend", "precision", "decomposition")
    }
    common["timestep"] = settings.timestep
    n, of = len(numbers), _Several(numbers, should_stop, progress, begun, keep)
    stages = {one.stage for one in begun.values()} or {EQUILIBRATION}
    if stages == {EQUILIBRATION}:
        temperature, seeds = settings.temperature, [settings.seed + number for number in numbers]
        baths = [Langevin(temperature, seed=seed) for seed in seeds]
        each = Simulations(
            [system] * n, potential, temperature=temperature, seed=seeds, ensemble=baths, **common
        )
        steps = max(1, round(settings.equilibrate / settings.timestep))
        if not of.go(each, steps, EQUILIBRATION, [system.positions] * n, ()):
            return None
        before = [one.positions() for one in each]
        velocities = [one.velocities() - drift(one.engine.masses, one.velocities()) for one in each]
        each = Simulations([system] * n, potential, **common)
        each.batch.set_vectors("pos", dict(enumerate(before)))
        each.batch.set_vectors("vel", dict(enumerate(velocities)))
    else:
        before = [begun[number].start for number in numbers]
        each = Simulations([system] * n, potential, **common)
    currents = [Current(len(system), settings.every) for _ in numbers]
    if not of.go(each, settings.steps, settings.method, before, currents):
        return None
    return [samples_of(*each_of, settings) for each_of in zip(currents, each, before, strict=True)]


@dataclass(frozen=True)
class _Several:
    """Runs in one launch; attributes are the arguments of `sample_together`."""

    numbers: Sequence[int]
    should_stop: Callable[[], bool]
    progress: Progress
    begun: Mapping[int, RunUnderWay]
    keep: Callable[[int, RunUnderWay], None]

    def go(
        self, each: Any, steps: int, what: str, starts: Sequence[Array], currents: Sequence[Current]
    ) -> bool:
        """A stage of all runs to its end; whether it has come there."""
        looks: list[Current | None] = list(currents) or [None] * len(self.numbers)
        for number, one, current in zip(self.numbers, each, looks, strict=True):
            if number in self.begun and self.begun[number].stage == what:
                go_on(one, self.begun[number], current)

        def save() -> None:
            for k in each.batch.alive:
                self.keep(self.numbers[k], under_way(each[k], what, starts[k], looks[k]))

        tell = Tell(lambda fraction: self.progress(self.numbers[-1], what, fraction), save, steps)
        finished = each.step == steps or each.run(
            steps - each.step, every=steps, progress=tell, should_stop=self.should_stop,
            samplers=[[current] for current in currents],
        ).finished  # fmt: skip
        if each.errors or not finished:
            save()
        for error in each.errors.values():
            raise error
        return bool(finished)
