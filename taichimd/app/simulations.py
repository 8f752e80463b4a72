"""Many systems that run together: a `Simulation` of each, and one loop.

from taichimd import Simulation
simulations = Simulation([cold, hot], "Si.tersoff", temperature=[300, 900], seed=[1, 2])
simulations.run(1000)
print([one.thermo().temperature for one in simulations])
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, overload

import numpy as np
from ase import Atoms

from taichimd.app.loop import RunResult, Watched, check_length, run_loop
from taichimd.app.observer import Observer, Sampler
from taichimd.app.saving import named
from taichimd.app.simulation import Asked, Simulation, drawn_at
from taichimd.core.errors import SettingsError, TaichimdError, TaichimdWarning
from taichimd.core.printable import printable
from taichimd.core.seeds import derived_seed
from taichimd.ensembles.registry import NVE, Ensemble
from taichimd.program.batch import Batch
from taichimd.program.batchable import called, errors_name
from taichimd.program.results import NotCopied, Thermo
from taichimd.settings.run import SETTINGS
from taichimd.system.checks import require_atoms
from taichimd.system.constraints import fixed_atoms


class Simulations(NotCopied, Sequence[Simulation]):
    """Molecular dynamics of many systems in one launch; each has the bits that it has alone.

        >>> from ase.build import bulk
        >>> from taichimd import Simulation
        >>> two = Simulation([bulk("Si", cubic=True)] * 2, "Si.sw", temperature=[300, 600])
        >>> result = two.run(20)
        >>> [one.step for one in two]
        [20, 20]

    It is a sequence of `Simulation`s. They have everything but `run`, since systems step together.

    Args:
        systems: the structures; velocities as of `Simulation`.
        forcefield, timestep, backend, precision, decomposition: of all, as of `Simulation`.
        temperature: K, of all or a list; as of `Simulation`. A list is of thermostats, too, if these are not
            a list themselves.
        seed: a list, or one from which the seed of each system is derived with its number
            (`derived_seed(seed, {"system": number})`), so that each has noise of its own.
        ensemble: one for all, with the temperature and seed of each system, or a list of one kind, where
            seeds that repeat are replaced by derived ones.
        common_noise: whether all systems have `seed` itself: the same noise, and the same velocities but for
            their temperatures. For differences between systems, such as of two structures.

    Raises:
        SettingsError: no systems, lists of other lengths, what `Batch` does not serve.
        StructureError, MissingParameterError, BackendError, CapacityError: as of `Batch`, of a system that
            is named.

    Attributes:
        batch: the engine of all systems.
    """

    instead = "save each of its systems with save(path), or begin anew from atoms()"

    def __init__(
        self,
        systems: Sequence[Atoms],
        forcefield: Any,
        *,
        timestep: float | None = None,
        temperature: float | Sequence[float] | None = None,
        seed: int | Sequence[int] = 1,
        ensemble: Ensemble | Sequence[Ensemble] | None = None,
        backend: str = "auto",
        precision: str = "float64",
        decomposition: str = "auto",
        common_noise: bool = False,
    ) -> None:
        from taichimd.forcefields.load import load_forcefield

        n = len(systems)
        if not (common_noise or isinstance(seed, list | tuple | np.ndarray)):
            first = int(SETTINGS["seed"].read(seed))
            seed = [derived_seed(first, {"system": k}) for k in range(n)]
        seeds = _of_each("seed", seed, n)
        temperatures = _of_each("temperature", temperature, n)
        ensembles = _of_each("ensemble", ensemble or NVE(), n)
        if not isinstance(ensemble, list | tuple):
            own = temperatures if isinstance(temperature, list | tuple | np.ndarray) else [None] * n
            ensembles = [_own(*each) for each in zip(ensembles, own, seeds, strict=True)]
        elif not common_noise:
            ensembles = _with_seeds(ensembles)
        for number, atoms in enumerate(systems):
            with errors_name(called(number)):
                require_atoms(atoms)
        potential = load_forcefield(forcefield)
        potential.check_bounded()
        self.batch = Batch(
            systems,
            potential,
            backend=backend,
            precision=precision,
            decomposition=decomposition,
            ensembles=ensembles,
            fixed=[fixed_atoms(atoms) for atoms in systems],
        )
        told: list[str] = []
        self._each: list[Simulation] = []
        for k, (member, atoms) in enumerate(zip(self.batch.members, systems, strict=True)):
            one = Simulation.__new__(Simulation)
            one._start(potential.timestep if timestep is None else timestep)
            drawn = drawn_at(temperatures[k], ensembles[k])
            told += one._begin(
                member, atoms, Asked(named(forcefield), drawn, seeds[k], backend, decomposition)
            )
            self._each.append(one)
        for remark in dict.fromkeys(told):
            warnings.warn(printable(remark), TaichimdWarning, stacklevel=3)
        self.timestep = self._each[0].timestep

    @overload
    def __getitem__(self, index: int) -> Simulation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Simulation]: ...
    def __getitem__(self, index: Any) -> Any:
        """A system, or several."""
        return self._each[index]

    def __len__(self) -> int:
        return len(self._each)

    def __iter__(self) -> Iterator[Simulation]:
        return iter(self._each)

    @property
    def step(self) -> int:
        """MD step counter of all that go on."""
        return self.batch.step

    @property
    def errors(self) -> dict[int, TaichimdError]:
        """Why systems have stopped, by their numbers."""
        return {k: member.error for k, member in enumerate(self.batch.members) if member.error is not None}

    def run(
        self,
        steps: int,
        *,
        every: int = 100,
        observers: Sequence[Sequence[Observer]] = (),
        samplers: Sequence[Sequence[Sampler]] = (),
        progress: Observer | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        report_first: bool = True,
    ) -> RunResult:
        """Advance all systems by `steps`, as `Simulation.run`.

        A system that explodes stops, and a warning names it; the others go on.

        Args:
            steps: steps of this call.
            every: steps between reports, or an observer's own.
            observers: those of each system, in a list of lists; none of any if it is empty.
            samplers: likewise.
            progress: told of all systems as one, such as a `ProgressObserver`.
            should_stop: asked after each piece.
            report_first: whether to report before the first step.

        Raises:
            SettingsError: steps or every not above zero, lists of other lengths.
            BlowUpError: every system has left physics.
            CapacityError: lists that do not fit the memory.
        """
        check_length(steps, every)
        looks = _of_each("observers", observers or None, len(self), ())
        samples = _of_each("samplers", samplers or None, len(self), ())
        watched = [Watched(*each) for each in zip(self._each, looks, samples, strict=True)]

        def stopped(number: int) -> None:
            warnings.warn(f"{self.errors[number]}; the other systems go on", TaichimdWarning, stacklevel=5)

        result = run_together(
            self.batch, watched, steps, together=() if progress is None else (progress,), stopped=stopped,
            every=every, should_stop=should_stop, report_first=report_first,
        )  # fmt: skip
        if not self.batch.alive:
            raise next(iter(self.errors.values()))
        return result


class Together:
    """Systems of a batch as one simulation, for a `ProgressObserver`.

    Attributes:
        engine: this itself. timestep: fs. last_step: where the run ends.
    """

    def __init__(self, batch: Batch, simulations: Sequence[Simulation]) -> None:
        self._batch, self._each = batch, simulations
        self.timestep, self.engine, self.last_step = simulations[0].timestep, self, 0

    @property
    def time_ps(self) -> float:
        """Simulated time of the first system; all have the same time step."""
        return self._each[0].time_ps

    @property
    def _going(self) -> list[Simulation]:
        return [self._each[k] for k in self._batch.alive]

    @property
    def error(self) -> TaichimdError | None:
        """None as long as a system goes on."""
        members = self._batch.members
        return None if self._batch.alive else members[-1].error

    @property
    def n_atoms(self) -> int:
        """Of the systems that go on."""
        return sum(one.engine.n_atoms for one in self._going)

    @property
    def step(self) -> int:
        """MD step counter."""
        return self._batch.step

    def thermo(self) -> Thermo:
        """Sums of energies (none is conserved once a system has stopped), and the mean temperature."""
        each = [one.thermo() for one in self._going]
        if not each:
            return Thermo(self.step, 0.0, 0.0, 0.0, None, None, None, None)
        kept = [one.conserved for one in each if one.conserved is not None]
        return Thermo(
            self.step,
            sum(one.potential for one in each),
            sum(one.kinetic for one in each),
            float(np.mean([one.temperature for one in each])),
            None,
            None,
            None,
            sum(kept) if len(kept) == len(self._each) else None,
        )


def run_together(
    batch: Batch,
    watched: Sequence[Watched],
    steps: int,
    *,
    together: Sequence[Observer] = (),
    stopped: Callable[[int], None] = lambda number: None,
    **more: Any,
) -> RunResult:
    """`run_loop` of the systems of a batch; those that have stopped are left alone.

    Args:
        batch: the engine.
        watched: its systems, in its order.
        steps: of this run.
        together: told of all systems as one, after their own observers.
        stopped: told the number of a system that has left physics.
        **more: as of `run_loop`.
    """
    whole: Any = Together(batch, [one.simulation for one in watched])
    before = set(batch.alive)

    def going(one: Watched) -> bool:
        for number in sorted(before - set(batch.alive)):
            before.remove(number)
            stopped(number)
        engine: Any = one.simulation.engine
        return engine.error is None

    return run_loop(
        batch, [*watched, *([Watched(whole, together)] if together else [])], steps, going=going, **more
    )


def _of_each(name: str, given: Any, n: int, missing: Any = None) -> list[Any]:
    """What is given of each system, from a value for all or a list.

    Raises:
        SettingsError: a list of another length.
    """
    if given is None or not isinstance(given, list | tuple | np.ndarray):
        return [missing if given is None else given] * n
    if len(given) != n:
        raise SettingsError(f"{name}: expected one of each of the {n} systems, got a list of {len(given)}")
    return list(given)


def _own(ensemble: Ensemble, temperature: float | None, seed: int) -> Ensemble:
    """The ensemble of one system: with its temperature, if it has one, and with its seed."""
    given = {"temperature": temperature, "seed": seed}
    names = {one.name for one in fields(ensemble)}
    return replace(ensemble, **{k: v for k, v in given.items() if k in names and v is not None})


def _with_seeds(ensembles: Sequence[Ensemble]) -> list[Ensemble]:
    """Ensembles whose seeds differ: as they are, or with seeds derived from theirs and their numbers."""
    seeds = [getattr(one, "seed", None) for one in ensembles]
    if None in seeds or len(set(seeds)) == len(seeds):
        return list(ensembles)
    return [
        _own(one, None, derived_seed(getattr(one, "seed", 0), {"system": k}))
        for k, one in enumerate(ensembles)
    ]
