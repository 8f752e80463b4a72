"""Thermal conductivity from independent runs: velocities, equilibration, sampling of the heat current.

    from taichimd.observables.transport.kappa import thermal_conductivity
    from taichimd.observables.transport.settings import KappaSettings

    settings = KappaSettings(temperature=500.0, supercell=(4, 4, 4))
    found = thermal_conductivity(silicon, "Si_1989.tersoff", settings)
    print(found.mean.value, "+-", found.mean.error, "W/(m K)")

green-kubo: NVE, kappa from the autocorrelation of the heat current (`green_kubo_conductivity`). hnemd: a
driving force and a Nose-Hoover chain, kappa from the mean current (`hnemd_conductivity`). The cell stays as
it is given: its thermal expansion is the user's choice. A run is determined by its seed, and equal settings
give equal samples.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.app.protocols import Array, ThermoLike
from taichimd.app.simulation import Observer, Sampler, Simulation
from taichimd.core.errors import SettingsError, StructureError
from taichimd.core.units import FS, KB
from taichimd.dynamics.ensembles import Langevin, NoseHoover
from taichimd.io.structures import UNUSED
from taichimd.observables.estimators.green_kubo import GreenKubo
from taichimd.observables.estimators.series import Mean, mean_of
from taichimd.observables.estimators.transport import Driven, green_kubo_conductivity, hnemd_conductivity
from taichimd.observables.samplers.sum_series import SumSeries
from taichimd.observables.transport.runs import (
    RunSamples,
    RunUnderWay,
    read_run,
    read_under_way,
    write_run,
    write_under_way,
)
from taichimd.observables.transport.settings import KappaSettings
from taichimd.system.checks import require_atoms
from taichimd.system.constraints import binding
from taichimd.system.velocities import drift

Progress = Callable[[int, str, float], None]
"""Called with the number of the run (from 0), what it does, and the fraction done."""


EQUILIBRATION = "equilibration"
KEEP_SECONDS = 60.0
"""Between the times that a run under way is kept."""


def _forget(run: RunUnderWay) -> None:
    """Keep nothing."""


MOST_ATOMS = 2**27
"""Of a supercell: more have no number in a list."""


@dataclass(frozen=True)
class Kappa:
    """Thermal conductivity from several runs, W/(m K).

    Attributes:
        mean: green-kubo: mean of the directions; hnemd: along the driving force.
        channels: (3,) along x, y, z, of a sheet (2,); hnemd: J_a / (T V F), of which only the driven one is a
            conductivity.
        temperature: K, mean of the runs, with which kappa was computed.
        volume: angstrom^3, of the cell or of the sheet in it.
        n_atoms: of the cell.
        runs: how many.
        green_kubo: correlation and running integral, or None.
        driven: running average, or None.
        decompositions: of the runs.
        moved: angstrom, mean over the runs of how far atoms moved in one.
    """

    mean: Mean
    channels: Mean
    temperature: Mean
    volume: float
    n_atoms: int
    runs: int
    green_kubo: GreenKubo | None = None
    driven: Driven | None = None
    decompositions: tuple[str, ...] = ()
    moved: float = float("nan")


def thermal_conductivity(
    atoms: Atoms,
    forcefield: Any,
    settings: KappaSettings,
    *,
    folder: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda run, what, fraction: None,
) -> Kappa | None:
    """Run what is missing, and compute kappa from all runs.

    Args:
        atoms: structure, periodic in three directions, a sheet in the plane of x and y; velocities are drawn,
            constraints are refused: a heat current needs all atoms to move.
        forcefield: a parameter file, a shipped name, "file.py:name" or a force-field object; a list is their
            sum.
        settings: see there.
        folder: where each finished run leaves its samples (`run-01.npz` ...) and finds earlier ones.
        should_stop: asked several times a second; True leaves the present run unfinished. The folder keeps
            it (`run-01.part.npz`), and a later call goes on with it.
        progress: told how far it is.

    Returns:
        Kappa of the runs that are finished, or None if there is none.

    Raises:
        SettingsError, StructureError: input that cannot be run.
        OutputError: runs of other settings are in the folder, or it cannot be written.
    """
    from taichimd.forcefields.load import load_forcefield

    require_atoms(atoms)
    potential = load_forcefield(forcefield)
    potential.check_heat_current()
    system = supercell(atoms, settings)
    record = potential.describe(system.get_chemical_symbols())
    identity = {**settings.of_one_run(), "system": _hash(system), "potential": record["fingerprint"]}
    found: list[RunSamples] = []
    for number in range(settings.runs):
        file = None if folder is None else folder / f"run-{number + 1:02d}.npz"
        samples = None if file is None else read_run(file, identity, record)
        if samples is None:
            begun, keep = None, _forget
            if file is not None:
                part = file.with_suffix(".part.npz")
                begun = read_under_way(part, identity, record)
                keep = partial(write_under_way, part, identity, record)
            samples = sample_run(system, potential, settings, number, should_stop, progress, begun, keep)
            if samples is None:
                break
            if file is not None:
                write_run(file, identity, record, samples)
                part.unlink(missing_ok=True)
        found.append(samples)
    return conductivity(found, settings, volume_of(system, settings), len(system)) if found else None


def supercell(atoms: Atoms, settings: KappaSettings) -> Atoms:
    """The system that is run, without velocities.

    Raises:
        SettingsError: the structure has constraints.
        StructureError: not periodic in three directions; or a sheet that is not so in the plane of x and y.
    """
    held = binding(atoms)
    if held:
        raise SettingsError(
            f"the structure has a constraint {type(held[0]).__name__}, but the heat current needs all atoms "
            "to move; take it away (atoms.set_constraint(), or in the file)"
        )
    pbc = atoms.pbc.tolist()
    if settings.thickness is None:
        if not atoms.pbc.all() or abs(atoms.cell.volume) < 1e-6:
            raise StructureError(
                "a thermal conductivity needs a cell that is periodic in three directions, or the thickness "
                f"of a sheet; pbc is {pbc}"
            )
    elif not (all(pbc[:2]) and abs(atoms.cell[:2, 2]).max() < 1e-9 and _area(atoms) > 1e-6):
        raise StructureError(
            "a sheet (thickness) must be periodic along the first two cell vectors, and these lie in the "
            f"plane of x and y; pbc is {pbc}, they are {atoms.cell[:2].round(3).tolist()}"
        )
    n = len(atoms) * prod(settings.supercell)
    if n < 2:
        raise StructureError("a single atom conducts no heat; give a --supercell, such as 4 4 4")
    if n > MOST_ATOMS:
        raise StructureError(
            f"supercell = {settings.supercell} makes {n:,} atoms; expected {MOST_ATOMS:,} at most"
        )
    system = atoms.copy()
    system.set_constraint()
    # Velocities are drawn, so no simulation need say that it does not use these.
    for name in ("momenta", *UNUSED):
        if system.has(name):
            del system.arrays[name]
    return system.repeat(settings.supercell)


def volume_of(system: Atoms, settings: KappaSettings) -> float:
    """Of what conducts heat, angstrom^3: the cell, or area times thickness of a sheet in it."""
    if settings.thickness is None:
        return float(system.get_volume())
    return _area(system) * settings.thickness


def _area(atoms: Atoms) -> float:
    return float(np.linalg.norm(np.cross(atoms.cell[0], atoms.cell[1])))


class _Current(Sampler):
    def __init__(self, n: int, every: int) -> None:
        self.series, self.every, self._seen = SumSeries("heat", n), every, -1

    def resume(self, begun: RunUnderWay) -> None:
        self.series.load({"rows": begun.rows})
        self._seen = begun.step if len(begun.rows) else -1

    def sample(self, simulation: Simulation) -> None:
        if simulation.step > self._seen:
            simulation.engine.observe(self.series.sample)


class _Tell(Observer):
    """Tells how far a stage is, and keeps it now and then."""

    def __init__(self, tell: Callable[[float], None], keep: Callable[[], None], steps: int) -> None:
        self._tell, self._keep, self._steps = tell, keep, steps
        self._kept_at = monotonic()

    def tick(self, simulation: Simulation) -> None:
        self._tell(simulation.step / self._steps)
        if monotonic() - self._kept_at >= KEEP_SECONDS:
            self._keep()
            self._kept_at = monotonic()

    def report(self, simulation: Simulation, thermo: ThermoLike) -> None:
        """Nothing: `tick` tells."""


def sample_run(
    system: Atoms,
    potential: Any,
    settings: KappaSettings,
    number: int,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda run, what, fraction: None,
    begun: RunUnderWay | None = None,
    keep: Callable[[RunUnderWay], None] = _forget,
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
        simulation: Simulation, steps: int, what: str, start: Array, current: _Current | None = None
    ) -> bool:
        if begun is not None and begun.stage == what:
            simulation.engine.set_state(
                positions=begun.positions, velocities=begun.velocities, forces=begun.forces, step=begun.step,
                bath=begun.bath or None,
            )  # fmt: skip
            if current is not None:
                current.resume(begun)

        def save() -> None:
            engine, rows = simulation.engine, np.empty((0, 7)) if current is None else current.series.rows()
            state = engine.positions(), engine.velocities(), engine.forces(), engine.bath_state()
            keep(RunUnderWay(what, engine.step, *state, start, rows))

        tell = _Tell(lambda fraction: progress(number, what, fraction), save, steps)
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
    current = _Current(len(system), settings.every)
    if not go(simulation, settings.steps, settings.method, before, current):
        return None
    rows = current.series.rows()
    kinetic = float(rows[:, 6].mean())
    measured = 2.0 * kinetic / (max(3 * len(system) - 3, 3) * KB)
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


def conductivity(runs: list[RunSamples], settings: KappaSettings, volume: float, n_atoms: int) -> Kappa:
    """Kappa of finished runs.

    For the error each run is one sample; a single one is cut into five, a single driven one into ten. It is
    not a number where only one of several has been finished, and the window does not fit its fifths.

    Raises:
        AnalysisError: a window that the runs do not fill.
    """
    dt, several = settings.every * settings.timestep * FS, len(runs) > 1
    measured = mean_of(np.array([run.temperature for run in runs]))
    of_all = volume, n_atoms, len(runs)
    decompositions = tuple(run.decomposition for run in runs)
    moved = float(np.mean([run.moved for run in runs]))
    if settings.method == "hnemd":
        # Of solids: there the kinetic part has no share in what the force drives, only in the noise.
        driven = hnemd_conductivity(
            [run.current[:, :3] for run in runs],
            dt,
            volume,
            measured.value,
            settings.force,
            settings.lags * dt,
        )
        return Kappa(driven.kappa, driven.components, measured, *of_all, None, driven, decompositions, moved)
    across = len(settings.axes)
    fits = settings.lags <= len(runs[0].current) // 5 - 2
    found = green_kubo_conductivity(
        [(run.current[:, :3] + run.current[:, 3:])[:, :across] for run in runs], dt, volume, measured.value,
        settings.lags * dt, _plateau(settings), 1 if several or not fits else None,
    )  # fmt: skip
    return Kappa(found.mean, found.channels, measured, *of_all, found, None, decompositions, moved)


def _plateau(settings: KappaSettings) -> tuple[float, float]:
    """Internal times. Not searched for: few noisy runs look settled at the first dip of the integral."""
    if settings.plateau is not None:
        return settings.plateau[0] * FS, settings.plateau[1] * FS
    window = settings.lags * settings.every * settings.timestep * FS
    return 0.5 * window, window


def _hash(system: Atoms) -> str:
    arrays = system.positions, system.numbers, system.cell.array, system.pbc, system.get_masses()
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()[:16]
