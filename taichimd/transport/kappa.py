"""Thermal conductivity from independent runs: velocities, equilibration, sampling of the heat current.

    from taichimd.transport.kappa import thermal_conductivity
    from taichimd.transport.settings import KappaSettings

    settings = KappaSettings(temperature=500.0, supercell=(4, 4, 4))
    found = thermal_conductivity(silicon, "Si_1989.tersoff", settings)
    print(found.mean.value, "+-", found.mean.error, "W/(m K)")

green-kubo: NVE, kappa from the autocorrelation of the heat current (`green_kubo_conductivity`). hnemd: a
driving force and a Nose-Hoover chain, kappa from the mean current (`hnemd_conductivity`). The cell stays as
it is given: its thermal expansion is the user's choice. A run is determined by its seed, and equal settings
give equal samples.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from taichimd.core.errors import SettingsError
from taichimd.core.markup import facts
from taichimd.core.units import FS
from taichimd.estimators.green_kubo import GreenKubo
from taichimd.estimators.series import Mean, mean_of
from taichimd.estimators.transport import (
    Driven,
    green_kubo_conductivity,
    hnemd_conductivity,
    stacie_conductivity,
)
from taichimd.estimators.without_window import WithoutWindow, check_stacie
from taichimd.program.batchable import why_not_batchable
from taichimd.system.checks import require_atoms
from taichimd.transport.boundary import Boundary, boundary_of
from taichimd.transport.cells import supercell, volume_of
from taichimd.transport.free_paths import FreePaths, check_ballistic, paths_of
from taichimd.transport.layout import Halves, Layout, cells_for, halves_of, layout_of
from taichimd.transport.linear import Linear
from taichimd.transport.nemd import Conduction, conduction
from taichimd.transport.runs import RunSamples, RunUnderWay
from taichimd.transport.sampling import Progress, sample_runs
from taichimd.transport.settings import AXES, KappaSettings
from taichimd.transport.spectra import Spectral, across_interfaces, notes_on_flow, spectral
from taichimd.transport.tasks import Case, Task

BUSY = 64_000
"""Atoms that keep a GPU busy: runs of fewer go together."""
MARGIN = 2.0
"""Angstrom by which atoms of a solid may come closer to an interface than their places are."""


@dataclass(frozen=True)
class Kappa:
    """Thermal conductivity from several runs, W/(m K)."""

    # green-kubo: mean of the directions; hnemd: along the driving force; nemd: along the heat flow, of
    # several lengths the extrapolated one
    mean: Mean
    # (3,) along x, y, z, of a sheet (2,); hnemd: J_a / (T V F), of which only the driven one is a
    # conductivity; of several directions it comes first
    channels: Mean
    # K, mean of the runs, with which kappa was computed; its error is the scatter of the runs, of one run
    # from the autocorrelation
    temperature: Mean
    volume: float  # angstrom^3, of the cell or of the sheet in it
    n_atoms: int  # of the cell
    runs: int  # how many
    green_kubo: GreenKubo | None = None  # correlation and running integral, or None
    driven: Driven | None = None  # running average, or None
    decompositions: tuple[str, ...] = ()  # of the runs
    moved: float = float("nan")  # angstrom, mean over the runs of how far atoms moved in one
    seeds: tuple[int, ...] = ()  # of velocities and noise of each run
    conduction: Conduction | None = None  # nemd: what heat does between the baths, or None
    spectra: tuple[Spectral, ...] = ()  # with `spectrum`, of each length
    linear: Linear | None = None  # with `check_force`, conductivities of F and F/2
    boundary: Boundary | None = None  # of `interface`, whose conductance (MW/(m^2 K)) is then `mean`
    # with `spectrum` and `interface`, conductances of each length and interface by frequency
    across: tuple[Spectral, ...] = ()
    paths: FreePaths | None = None  # with `ballistic`, mean free paths
    stacie: WithoutWindow | None = None  # with `stacie`, the estimate without a window

    def _repr_html_(self) -> str:
        """What a notebook shows: conductivity, temperature and runs."""
        what = ("thermal conductivity", "W/(m K)")
        if self.boundary is not None:
            what = ("conductance of an interface", "MW/(m² K)")
        rows = [
            (what[0], self.mean.texts(what[1])[0]),
            ("temperature", self.temperature.texts("K")[0]),
            ("system", f"{self.n_atoms:,} atoms, {self.volume:.8g} Å³"),
            ("runs", str(self.runs)),
        ]
        return facts(rows + [("note", self.mean.note)] * bool(self.mean.note))


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
            it (`run-01.part.npz`), and a later call continues with it.
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
    check_potential(potential, settings)
    cases = [Case(*one, settings, k) for k, one in enumerate(systems_of(atoms, settings, potential.cutoff))]
    if settings.check_force:
        cases.append(Case(cases[0].system, None, settings.of_half_force, 1))
    record = potential.describe(cases[0].system.get_chemical_symbols())
    tasks, found = dict[int, Task](), dict[int, RunSamples]()
    for case in cases:
        identity = {
            **case.settings.of_one_run(), "system": _hash(case.system), "potential": record["fingerprint"],
        }  # fmt: skip
        where = None if folder is None else folder / case.folder
        for number in range(settings.runs):
            tasks[len(tasks)] = Task(case, where, (identity, record), number)
    for item, task in tasks.items():
        if (one := task.read(RunSamples)) is not None:
            found[item] = one
    missing = {item: task for item, task in tasks.items() if item not in found}
    for group in _groups(missing, potential, settings):
        of = [tasks[item] for item in group]
        begun = {item: place for item in group if (place := tasks[item].read(RunUnderWay)) is not None}
        ended = sample_runs(
            [task.case.system for task in of], potential, settings, group, should_stop, progress, begun,
            lambda item, run: tasks[item].keep(run), [task.case.layout for task in of],
            [settings.seed_of(task.number, task.case.number) for task in of],
            [task.case.settings.force_of(task.number) for task in of],
        )  # fmt: skip
        if ended is None:
            break
        for item, samples in zip(group, ended, strict=True):
            tasks[item].keep(samples)
            found[item] = samples
    return _concluded(cases, tasks, found, settings)


def check_potential(potential: Any, settings: KappaSettings) -> None:
    """Raise a PropertyError if a force field does not have what a method needs."""
    if settings.ballistic is not None:
        check_ballistic(settings.ballistic)
    if settings.stacie:
        check_stacie()
    if settings.method != "nemd" or settings.spectrum:
        potential.check_heat_current()


def systems_of(
    atoms: Atoms, settings: KappaSettings, cutoff: float = np.inf
) -> list[tuple[Atoms, Layout | Halves | None]]:
    """The systems that are run: one, or of nemd one for each length, with baths, or sides of an interface."""
    if settings.method == "interface":
        whole = supercell(atoms, settings)
        return [(whole, halves_of(whole, settings))]
    if settings.method != "nemd":
        return [(supercell(atoms, settings), None)]
    systems = []
    for length in settings.lengths or (None,):
        cells = list(settings.supercell)
        if length is not None:
            cells[AXES.index(settings.along or "x")] = cells_for(atoms, settings, length)
        systems.append(supercell(atoms, settings, (cells[0], cells[1], cells[2])))
    sizes = [len(one) for one in systems]
    if len(set(sizes)) < len(sizes):
        raise SettingsError(
            f"lengths = {settings.lengths}: two lengths give the same number of cells along "
            f"{settings.along}; expected lengths that differ by more than half a cell"
        )
    return [(one, layout_of(one, settings, cutoff + MARGIN)) for one in systems]


def _concluded(
    cases: Sequence[Case], tasks: Mapping[int, Task], found: Mapping[int, RunSamples], settings: KappaSettings
) -> Kappa | None:
    """Kappa of the runs that are finished; None if there are none, or of one length."""
    of_case = [
        [item for item, task in tasks.items() if task.case is case and item in found] for case in cases
    ]
    if not all(of_case):
        return None
    seeds = tuple(
        settings.seed_of(tasks[item].number, tasks[item].case.number) for items in of_case for item in items
    )
    runs = [[found[item] for item in items] for items in of_case]
    system = cases[0].system
    if isinstance(halves := cases[0].layout, Halves):
        return replace(_of_boundary(runs[0], halves, settings, len(system)), seeds=seeds)
    if settings.method != "nemd":
        volume = volume_of(system, settings)
        each = [
            conductivity(one, case.settings, volume, len(system), [tasks[item].number for item in items])
            for one, case, items in zip(runs, cases, of_case, strict=True)
        ]
        of_all = each[0]
        if settings.check_force:
            linear = Linear(settings.driving_force or 0.0, of_all.mean, each[1].mean)
            of_all = replace(of_all, linear=linear)
        by_frequency = (
            (spectral(runs[0], settings, volume, of_all.temperature.value, None),)
            if settings.spectrum
            else ()
        )
        if settings.ballistic is not None and by_frequency:
            (one,) = by_frequency
            of_all = replace(of_all, paths=paths_of(one.w, one.values.value, settings.ballistic))
        return replace(of_all, seeds=seeds, spectra=by_frequency)
    layouts = [case.layout for case in cases if isinstance(case.layout, Layout)]
    flow = conduction(layouts, runs, [len(case.system) for case in cases], settings)
    every = [run for one in runs for run in one]
    spectra = [
        spectral(one, settings, np.nan, _temperature(list(one)).value, layout)
        for one, layout in zip(runs if settings.spectrum else [], layouts, strict=False)
    ]
    across: list[Spectral] = []
    for k in range(len(spectra)):
        jumps = flow.lengths[k].interfaces
        of_length = across_interfaces(runs[k], layouts[k], jumps, spectra[k])
        across += of_length
        flow = replace(flow, notes=(*flow.notes, *notes_on_flow(of_length, jumps)))
    return Kappa(
        flow.kappa, flow.kappa, _temperature(every), volume_of(system, settings), len(system),
        min(len(one) for one in runs), decompositions=tuple(run.decomposition for run in every), seeds=seeds,
        moved=float(np.mean([run.moved for run in every])), conduction=flow,
        spectra=tuple(spectra), across=tuple(across),
    )  # fmt: skip


def _of_boundary(runs: list[RunSamples], halves: Halves, settings: KappaSettings, n_atoms: int) -> Kappa:
    """Conductance of an interface from finished runs."""
    measured = _temperature(runs)
    found = boundary_of(runs, halves, measured.value, settings, _plateau(settings))
    mean = found.conductance.mean
    return Kappa(
        mean, mean, measured, np.nan, n_atoms, len(runs), found.conductance, boundary=found,
        decompositions=tuple(run.decomposition for run in runs),
        moved=float(np.mean([run.moved for run in runs])),
    )  # fmt: skip


def _groups(missing: Mapping[int, Task], potential: Any, settings: KappaSettings) -> list[list[int]]:
    """Runs that go together: at one step of one stage, and as many as keep the device busy."""
    most = settings.at_once
    if most is None:
        from taichimd.core.runtime import start

        on_gpu = start(settings.backend) == "cuda"
        largest = max((len(task.case.system) for task in missing.values()), default=1)
        most = max(1, BUSY // largest) if on_gpu else 1
    if why_not_batchable(potential) is not None:
        most = 1
    if most == 1:
        return [[item] for item in missing]
    places: dict[Any, list[int]] = {}
    for item, task in missing.items():
        begun = task.read(RunUnderWay)
        places.setdefault(None if begun is None else (begun.stage, begun.step), []).append(item)
    return [group[k : k + most] for group in places.values() for k in range(0, len(group), most)]


def conductivity(
    runs: list[RunSamples], settings: KappaSettings, volume: float, n_atoms: int, numbers: Sequence[int] = (),
) -> Kappa:  # fmt: skip
    """Kappa of finished runs; `numbers` are theirs, from 0, where hnemd drives along x, y and z in turn.

    For the error each run is one sample. The error of a single run comes from the autocorrelation; it is not
    a number, and a note says why, if the run has fewer than ten independent samples.
    """
    dt, measured = settings.every * settings.timestep * FS, _temperature(runs)
    of_all = volume, n_atoms, len(runs)
    decompositions = tuple(run.decomposition for run in runs)
    moved = float(np.mean([run.moved for run in runs]))
    if settings.method == "hnemd":
        # Of solids: there the kinetic part has no share in what the force drives, only in the noise.
        axes = [settings.direction_of(number) for number in numbers or range(len(runs))]
        turned = settings.direction == "xyz"
        driven = hnemd_conductivity(
            # With several directions the driven one of each run comes first.
            [np.roll(one.current[:, :3], -a * turned, axis=1) for one, a in zip(runs, axes, strict=True)],
            dt,
            volume,
            measured.value,
            settings.force_of(0),
            settings.lags * dt,
        )
        return Kappa(driven.kappa, driven.components, measured, *of_all, None, driven, decompositions, moved)
    across = len(settings.axes)
    currents = [(run.current[:, :3] + run.current[:, 3:])[:, :across] for run in runs]
    found = green_kubo_conductivity(
        currents, dt, volume, measured.value, settings.lags * dt, _plateau(settings)
    )
    other = stacie_conductivity(currents, dt, volume, measured.value) if settings.stacie else None
    return Kappa(
        found.mean, found.channels, measured, *of_all, found, None, decompositions, moved, stacie=other
    )


def _temperature(runs: list[RunSamples]) -> Mean:
    """Mean of the runs, K."""
    mean = mean_of(np.array([run.temperature for run in runs]))
    if len(runs) > 1:
        return mean
    if runs[0].temperature_error is not None:
        return replace(mean, error=runs[0].temperature_error)
    return replace(mean, note="no error: one run with fewer than ten independent samples of the temperature")


def _plateau(settings: KappaSettings) -> tuple[float, float]:
    """Internal times. Not searched for: few noisy runs look settled at the first dip of the integral."""
    if settings.plateau is not None:
        return settings.plateau[0] * FS, settings.plateau[1] * FS
    window = settings.lags * settings.every * settings.timestep * FS
    return 0.5 * window, window


def _hash(system: Atoms) -> str:
    arrays = system.positions, system.numbers, system.cell.array, system.pbc, system.get_masses()
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()[:16]
