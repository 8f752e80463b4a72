"""One system, or several that step together, as a user of Python sees them.

`loop` has the steps of a run. `driver` adds the files; here only `save` writes one.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, overload

from ase import Atoms

from taichimd.app import observing
from taichimd.app.exchanging import ExchangingSystems, check_exchange, split_acting
from taichimd.app.given import all_groups, baths_of_each, drawn_at, exchanges_of_each, given_of_each
from taichimd.app.loop import RunResult, Watched, check_length, run_loop
from taichimd.app.observer import Observer, Sampler
from taichimd.app.saved_system import SavedSystem
from taichimd.app.saving import potential_label
from taichimd.core.errors import TaichimdError, TaichimdWarning
from taichimd.core.one_of_each import one_of_each
from taichimd.core.printable import printable
from taichimd.ensembles.groups.given import group_baths
from taichimd.ensembles.registry import Ensemble
from taichimd.program.batchable import called, errors_name
from taichimd.program.results import NotCopied
from taichimd.system.checks import require_atoms
from taichimd.system.constraints import constrained, wholly
from taichimd.system.groups import Groups

if TYPE_CHECKING:
    from taichimd.app.live import Observations
    from taichimd.estimators.bond_history import BondRule
    from taichimd.program.batch import Batch


class Simulation(SavedSystem):
    """Molecular dynamics of one system: at constant energy, or with a thermostat, a barostat or both.

        >>> from ase.build import bulk
        >>> from taichimd import Simulation
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw", timestep=1.0, temperature=300)
        >>> result = simulation.run(20)
        >>> simulation.step, simulation.atoms().get_potential_energy() == simulation.energy()
        (20, True)

    Args:
        atoms: the structure, or a list of structures, which makes `Simulations`. Velocities are used if there
            are any, otherwise they are drawn (Maxwell-Boltzmann, no net momentum). The object is left alone;
            see `atoms()`. Atoms that `FixAtoms` holds stay in place (docs/fixed-atoms.md); other constraints
            are refused.
        forcefield: a parameter file, a shipped name, "file.py:name" or a force-field object; a list is their
            sum.
        timestep: fs; None: 0.25 with ReaxFF, else 1. If a time step is long for the potential, a warning says
            so.
        temperature: K, at which velocities are drawn; None: the temperature of the ensemble, in NVE 300 K.
        seed: of these velocities; the noise of a thermostat has a seed of its own.
        ensemble: None: NVE. Thermostats: `Langevin`, `Berendsen`, `Bussi` or `NoseHoover`. With a barostat:
            `BerendsenNPT`, `StochasticCellRescaling` or `MartynaTobiasKlein`. Others: see `combine`.
        backend: auto, cuda or cpu.
        precision: float64, mixed (see `Engine`) or float32.
        decomposition: particle, tuple or auto (see `Engine`).
        groups: groups of atoms by name, each a text such as "5 < x < 25", a mask (n,), numbers of atoms, or a
            `Group`; they are frozen.
        acting: baths of groups, such as `[Langevin(320.0, on="hot"), Source(-0.1, on=mask)]`, with the
            ensemble NVE alone (docs/ensembles/groups.md); drives; insertions and deletions of molecules,
            `Insert` and `Delete`, with any ensemble (docs/howto/insert.md).

    Raises:
        SettingsError: an invalid time step, temperature or seed, constraints other than fixed atoms, an empty
            group, an atom in two baths.
        StructureError, MissingParameterError, BackendError, CapacityError: as for `Engine`.
        ParameterFileError: as for `load_forcefield`.
    """

    def __new__(cls, atoms: Any = None, *args: Any, **more: Any) -> Any:
        """A list of structures makes `Simulations`."""
        if isinstance(atoms, list | tuple):
            return Simulations(atoms, *args, **more)
        return super().__new__(cls)

    instead = "use save(path) and Simulation.load(path), or begin a new one from atoms()"

    def __init__(
        self,
        atoms: Atoms,
        forcefield: Any,
        *,
        timestep: float | None = None,
        temperature: float | None = None,
        seed: int = 1,
        ensemble: Ensemble | None = None,
        backend: str = "auto",
        precision: str = "float64",
        decomposition: str = "auto",
        groups: Mapping[str, Any] | None = None,
        acting: Sequence[Any] | None = None,
    ) -> None:
        from taichimd.forcefields.load import load_forcefield
        from taichimd.program.engine import Engine

        temperature = drawn_at(temperature, ensemble)
        potential = load_forcefield(forcefield)
        self._start(potential.timestep if timestep is None else timestep)
        require_atoms(atoms)
        fixed = constrained(atoms)
        potential.check_bounded()
        of_atoms = Groups(atoms, groups, wholly(fixed))
        others, self._exchanges = split_acting(acting)
        baths, of_groups = group_baths(others, of_atoms, wholly(fixed))
        self.groups = all_groups(of_atoms, baths)
        engine = Engine(
            atoms, potential, backend=backend, precision=precision, ensemble=ensemble,
            decomposition=decomposition, fixed=fixed, acting=baths,
        )  # fmt: skip
        check_exchange(self._exchanges, atoms, potential, self.timestep)
        given = potential_label(forcefield), temperature, seed, backend, decomposition
        for remark in [*of_groups, *self._begin(engine, atoms, given)]:
            warnings.warn(printable(remark), TaichimdWarning, stacklevel=2)

    # Help and notebooks show these arguments, not those of `__new__`.
    __signature__ = Signature(list(signature(__init__).parameters.values())[1:])

    def run(
        self,
        steps: int,
        *,
        every: int = 100,
        observers: Sequence[Observer] = (),
        should_stop: Callable[[], bool] = lambda: False,
        report_first: bool = True,
        samplers: Sequence[Sampler] = (),
    ) -> RunResult:
        """Advance by `steps`; reports are made at multiples of `every` of the step counter.

        Args:
            steps: steps of this call.
            every: steps between reports, counted from step 0, so that a restart keeps the rhythm.
            observers: called at reports, and after each piece of steps. An observer may have its own `every`.
            should_stop: called after each piece of steps; True ends the run after a whole step.
            report_first: whether to report before the first step. A restart that appends already has that
                report.
            samplers: called at multiples of their own `every`. A sampler can be called twice for one step, at
                the end of a run and at the start of the next.

        Returns:
            Steps, times and whether the run was stopped early.

        Raises:
            SettingsError: steps or every not above zero.
            BlowUpError: the trajectory diverged.
            CapacityError: neighbour lists that do not fit the memory.
        """
        check_length(steps, every)
        backend = self._settings.get("backend", "auto")
        for remark in self.engine.forcefield.remarks_on_time(self.engine.n_atoms, steps, backend):
            warnings.warn(remark, TaichimdWarning, stacklevel=2)
        return run_loop(
            self._stepper(), [Watched(self, observers, samplers)], steps, every=every,
            should_stop=should_stop, report_first=report_first,
        )  # fmt: skip

    def _stepper(self) -> Any:
        """The engine, or what replaces it when molecules come and go."""
        if not self._exchanges:
            return self.engine
        how = {key: self._settings[key] for key in ("backend", "decomposition")}
        saved = None if self.exchange is None else self.exchange.save()
        how["precision"] = self.engine.precision
        return ExchangingSystems(self.engine, [self], [self._exchanges], how, [saved])

    def observe(
        self, kinds: str, steps: int, every: int = 10, bond_rule: "BondRule | None" = None, **options: Any
    ) -> "Observations":
        """What `--observe` measures, as a sampler of the next run, `run(steps, samplers=[it])`.

            >>> from ase.build import bulk
            >>> from taichimd import Simulation
            >>> slab = bulk("Si", cubic=True).repeat((4, 1, 1))
            >>> simulation = Simulation(slab, "Si.sw", groups={"left": "fx < 0.5"}, temperature=300)
            >>> flow = simulation.observe("flow,profile", 40, every=2)
            >>> result = simulation.run(40, samplers=[flow])
            >>> sorted(flow.found()["flow"].values)
            ['temperature_left']

        Args:
            kinds: some of rdf, msd, vacf, heat, viscosity, species, bonds, reactions, dipole, ir, flow,
                profile.
            steps: of the run, for the blocks that errors come from.
            every: steps between samples.
            bond_rule: thresholds and shortest lifetime of bonds, for reactions; None: the defaults.
            options: as for `taichimd.observables.planning.make_plan`: window (fs), r_max (Å),
                profile=("x", 5.0).

        Returns:
            The sampler; after the run its `found()` has the results by observable.

        Raises:
            SettingsError, AnalysisError, PropertyError: this system does not allow the observable.
        """
        from taichimd.app.live import Observations
        from taichimd.observables.planning import make_plan, parse_kinds

        plan = make_plan(parse_kinds(kinds), self.step, steps, self.timestep, every, **options)
        plan = plan if bond_rule is None else plan.with_rule(bond_rule)
        observing.check_exchange(plan, self._exchanges or self._exchanges_of_batch)
        return Observations(self.engine, plan, self.groups)


class Simulations(NotCopied, Sequence[Simulation]):
    """Molecular dynamics of many systems in one launch; each trajectory is bitwise that of the system alone.

        >>> from ase.build import bulk
        >>> from taichimd import Simulation
        >>> two = Simulation([bulk("Si", cubic=True)] * 2, "Si.sw", temperature=[300, 600])
        >>> result = two.run(20)
        >>> [one.step for one in two]
        [20, 20]

    It is a sequence of `Simulation`s. They have everything but `run`, since systems step together.

    Args:
        systems: the structures; velocities as for `Simulation`.
        forcefield, timestep, backend, precision, decomposition: for all systems, as for `Simulation`.
        temperature: K, for all systems or a list; as for `Simulation`. If `ensemble` is one thermostat, a
            list of temperatures also sets the thermostat of each system.
        seed: a list, or one number. From one number the seed of each system is derived
            (`derived_seed(seed, {"system": number})`), so noise differs between systems.
        ensemble: one for all, which takes the temperature and seed of each system; or a list of one kind. In
            a list, seeds that repeat are replaced by derived seeds.
        groups, acting: for all systems, as for `Simulation`, or a list with one entry for each system. From
            one `Insert` for all systems the seed of each system is derived.
        common_noise: whether all systems use `seed` itself. Their noise is then equal, and their first
            velocities differ only by a factor for the temperature. Use it for differences between systems.

    Raises:
        SettingsError: no systems, lists of different lengths, settings that `Batch` does not support.
        StructureError, MissingParameterError, BackendError, CapacityError: as for `Batch`; the message names
            the system.
    """

    instead = "save each of its systems with save(path), or begin again from atoms()"

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
        groups: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
        acting: Sequence[Any] | None = None,
        common_noise: bool = False,
    ) -> None:
        from taichimd.forcefields.load import load_forcefield
        from taichimd.program.batch import Batch

        given = given_of_each(len(systems), temperature, seed, ensemble, common_noise)
        for number, atoms in enumerate(systems):
            with errors_name(called(number)):
                require_atoms(atoms)
        fixed = [constrained(atoms) for atoms in systems]
        others, exchanges = exchanges_of_each(len(systems), acting)
        of_each, named, told = baths_of_each(systems, others, groups, fixed)
        potential = load_forcefield(forcefield)
        potential.check_bounded()
        how: dict[str, Any] = {"backend": backend, "precision": precision, "decomposition": decomposition}
        batch = Batch(
            systems, potential, ensembles=[one.ensemble for one in given], fixed=fixed, acting=of_each, **how
        )
        self._each: list[Simulation] = []
        label = potential_label(forcefield)
        for member, atoms, own, groups_of_one in zip(batch.members, systems, given, named, strict=True):
            one = Simulation.__new__(Simulation)
            one._start(potential.timestep if timestep is None else timestep)
            one.groups = groups_of_one
            told += one._begin(member, atoms, (label, own.temperature, own.seed, backend, decomposition))
            self._each.append(one)
        for remark in dict.fromkeys(told):
            warnings.warn(printable(remark), TaichimdWarning, stacklevel=3)
        self.timestep = self._each[0].timestep
        of_all = [item for own in exchanges for item in own]
        for number, (one, atoms, asked) in enumerate(zip(self._each, systems, exchanges, strict=True)):
            one._exchanges, one._exchanges_of_batch = asked, of_all
            with errors_name(called(number)):
                check_exchange(asked, atoms, potential, self.timestep)
        self._stepper: Any = batch
        if of_all:
            self._stepper = ExchangingSystems(batch, self._each, exchanges, how, [None] * len(exchanges))

    @property
    def batch(self) -> "Batch":
        """The present engine of all systems."""
        stepper = self._stepper
        found: Batch = stepper.engine if isinstance(stepper, ExchangingSystems) else stepper
        return found

    @overload
    def __getitem__(self, index: int) -> Simulation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Simulation]: ...
    def __getitem__(self, index: Any) -> Any:
        """A system, or several."""
        return self._each[index]

    def __len__(self) -> int:
        return len(self._each)

    @property
    def step(self) -> int:
        """Step counter of the systems that have not stopped."""
        return self.batch.step

    @property
    def errors(self) -> dict[int, TaichimdError]:
        """Errors of the systems that have stopped, by the numbers of the systems."""
        found = {number: one.engine.error for number, one in enumerate(self._each)}
        return {number: error for number, error in found.items() if error is not None}

    def _repr_html_(self) -> str:
        """What a notebook shows: a row for each system."""
        from taichimd.app.notebook import simulations_html

        return simulations_html(self._each)

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
        """Advance all systems by `steps`, as `Simulation.run` does.

        If a system diverges, it stops and a warning names it. The other systems continue.

        Args:
            steps: steps of this call.
            every: steps between reports; an observer may have its own `every`.
            observers: a list of observers for each system; empty: there are none.
            samplers: a list of samplers for each system; empty: there are none.
            progress: an observer of all systems together, such as a `ProgressObserver`.
            should_stop: called after each piece of steps; True ends the run.
            report_first: whether to report before the first step.

        Returns:
            Steps, times and whether the run was stopped early.

        Raises:
            SettingsError: steps or every not above zero, lists of different lengths.
            BlowUpError: every system has diverged.
            CapacityError: neighbour lists that do not fit the memory.
        """
        check_length(steps, every)
        looks = one_of_each("observers", observers or None, len(self), ())
        samples = one_of_each("samplers", samplers or None, len(self), ())
        watched = [Watched(*each) for each in zip(self._each, looks, samples, strict=True)]

        def stopped(number: int) -> None:
            warnings.warn(f"{self.errors[number]}; the other systems continue", TaichimdWarning, stacklevel=4)

        result = run_loop(
            self._stepper, watched, steps, every=every, should_stop=should_stop, report_first=report_first,
            of_all=() if progress is None else (progress,), stopped=stopped,
        )  # fmt: skip
        if len(self.errors) == len(self):
            raise next(iter(self.errors.values()))
        return result
