"""What a run is to do: settings, structure or checkpoint and plan, checked before anything is written."""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.app import observing
from taichimd.app.acting import Acting, acting_of_new, acting_of_restart
from taichimd.app.exchanging import check_exchange
from taichimd.app.notes import before_run, of_start, where_it_goes_on
from taichimd.app.output_folder import OutputFolder
from taichimd.app.restart import at_rest, cut_ramp, new_bath, read_run, redrawn
from taichimd.app.trust import check_trusted
from taichimd.core.errors import SettingsError
from taichimd.ensembles.drives.given import uses_charges
from taichimd.exchange.base import Exchange
from taichimd.io.checkpoint import Checkpoint, check_same_system
from taichimd.io.report import plot_format_of, read_report
from taichimd.io.structures import has_velocities, read_noted, remarks
from taichimd.observables.plan import Plan
from taichimd.observables.planning import saved_plan
from taichimd.settings.acting import with_molecule
from taichimd.settings.config import check_velocities, make_settings
from taichimd.settings.run import SETTINGS, RunSettings
from taichimd.settings.types import DRAW, FILE, absolute, of_each
from taichimd.system.constraints import check_fixed, constrained
from taichimd.system.velocities import temperature


@dataclass(frozen=True)
class Job:
    """Validated settings, with what they start from."""

    settings: RunSettings  # all layers merged; `structure` and `potential` absolute where they are files
    steps: int  # steps of this run
    atoms: Atoms  # the system; of a restart the checkpoint's
    forcefield: Any  # what acts between the atoms
    checkpoint: Checkpoint | None  # what is continued, or None
    notes: list[str]  # remarks for the user
    plan: Plan | None = None  # of what the run observes, or None
    acting: Acting | None = None  # groups of atoms, and what acts on them; None: nothing
    # options that this run's user gave; of a restart, without those of its checkpoint
    given: frozenset[str] = frozenset()

    @property
    def exchanges(self) -> list[Exchange]:
        """Insertions and deletions of molecules."""
        return [] if self.acting is None else self.acting.exchanges

    @property
    def fixed(self) -> NDArray[np.bool_] | None:
        """(n,) which atoms are fixed, or (n, 3) along which directions they are held; None if none is."""
        return check_fixed(constrained(self.atoms), len(self.atoms))


def prepare_job(
    flags: Mapping[str, Any],
    job_file: Path | None = None,
    *,
    trust: bool = False,
    derived: Collection[str] = (),
) -> Job:
    """Merge and check settings, read structure and potential; touches neither device nor output.

    With `restart`, what is not given comes from the checkpoint; the run continues in the checkpoint's folder
    unless `output` is given. `steps` and `time` count this run alone; without them the run that was cut short
    is completed. Flags win over the job file, that over a checkpoint. `trust`: whether Python code that only
    the checkpoint names may run; `derived`: options that nobody has asked for, and that may be of no use.
    """
    given = make_settings(flags, job_file)
    start = given.system
    if start.restart is not None:
        return _prepare_restart(given, flags, job_file, trust)
    for key, value in (("structure", start.structure), ("potential", given.potential.file)):
        if value is None:
            raise SettingsError(f"no {key} given: expected {SETTINGS[key].values.expected}")
    if given.run.number_of_steps() is None:
        raise SettingsError("the length of the run is not given: expected --steps N or --time 10ps")
    atoms, read = _read(given)
    check_fixed(constrained(atoms), len(atoms))
    if start.velocities == DRAW:
        atoms.arrays.pop("momenta", None)
    elif start.velocities == FILE and not has_velocities(atoms):
        raise SettingsError(
            f"velocities = {FILE}: {start.structure} has none (ASE's momenta); choose auto or {DRAW}"
        )
    if has_velocities(atoms):
        check_velocities(
            given, given.given - set(derived), f"the structure file ({temperature(atoms):.0f} K)"
        )
    forcefield, told = load_with_remarks(_absolute(given).potential.file)
    if "timestep" not in given.given:
        given = given.changed(timestep=forcefield.timestep)
    steps = given.run.number_of_steps() or 0
    given.run.check_equilibration(steps)
    begin = given.run.equilibration_steps
    plan = observing.plan_of(given, begin, steps - begin)
    observing.check(plan, atoms, forcefield)
    acting = acting_of_new(given, atoms, steps)
    notes = [*read, *remarks(atoms, uses_charges(acting.baths)), *of_start(atoms)]
    check_exchange(acting.exchanges, atoms, forcefield, given.run.timestep)
    observing.check_exchange(plan, acting.exchanges)
    _check_frames(given, acting)
    notes += told + before_run(given, atoms, forcefield) + acting.notes
    if "step" in atoms.info:
        step = f"step {atoms.info['step']} of {start.structure}"
        notes.append(f"a new run from {step}: its own steps and time begin at 0")
    settings = _absolute(given).with_intervals(steps, len(atoms))
    return Job(settings, steps, atoms, forcefield, None, notes, plan, acting, given.given)


def _prepare_restart(given: RunSettings, flags: Mapping[str, Any], job_file: Path | None, trust: bool) -> Job:
    path = Path(str(given.system.restart))
    checkpoint = read_run(path)
    settings = make_settings(flags, job_file, checkpoint.settings)
    old = checkpoint.settings
    if flags.get("velocities") is None:
        # In a job file it says how the run began.
        settings = settings.changed(velocities="auto")
    if settings.system.velocities != DRAW:
        new = {key for key in given.given if given.record()[key] != old.get(key)}
        check_velocities(settings, new, f"checkpoint {path}")
    if given.system.from_frame is not None and given.system.structure is None:
        raise SettingsError(
            f"from_frame = {given.system.from_frame}: a restart continues from its checkpoint; give the "
            "trajectory as the structure of a new run"
        )
    steps = settings.run.number_of_steps()
    if steps is None:
        steps = checkpoint.last_step - checkpoint.step
        # A run that was killed after its last step has yet to write its results.
        here = "output" not in given.given or same_path(Path(given.output.folder), path.parent)
        if steps < 0 or (steps == 0 and not (here and _lacks_results(path, checkpoint, given))):
            raise SettingsError(
                f"the run of {path} is complete: say how far to continue with --steps or --time"
            )
    if "output" not in given.given:
        settings = settings.changed(output=str(path.parent))
    if settings.potential.file is None:
        raise SettingsError(f"checkpoint {path} does not name its potential file: give it with --potential")
    if "potential" not in given.given:
        files = checkpoint.potential.get("python_files", {})
        check_trusted(f"checkpoint {path}", settings.potential.file, files, trust)
    forcefield, told = load_with_remarks(settings.potential.file)
    # Of this run alone: what an earlier one was given counts from there.
    own = settings.run if "equilibrate" in given.given else replace(settings.run, equilibrate=None)
    own.check_equilibration(steps)
    plan, notes = observing.plan_of_restart(settings, checkpoint, steps, own.equilibration_steps)
    saved = checkpoint.atoms()
    checkpoint, rested = at_rest(checkpoint, settings)
    checkpoint, drawn = redrawn(checkpoint, settings, steps)
    atoms = checkpoint.atoms(folded=True)
    observing.check(plan, atoms, forcefield)
    notes += rested + drawn + new_bath(settings, checkpoint) + cut_ramp(settings, checkpoint, steps)
    acting, checkpoint = acting_of_restart(settings, checkpoint, steps)
    saved_exchange = checkpoint.exchange, checkpoint.step
    check_exchange(acting.exchanges, atoms, forcefield, settings.run.timestep, *saved_exchange)
    observing.check_exchange(plan, acting.exchanges)
    _check_frames(settings, acting)
    notes += acting.notes
    notes += told + before_run(settings, atoms, forcefield)
    if "structure" in given.given:
        structure, said = _read(given)
        notes += said
        check_same_system(path, checkpoint, structure)
        notes += where_it_goes_on(saved, structure)
    settings = _absolute(settings).with_intervals(steps, len(atoms))
    return Job(settings, steps, atoms, forcefield, checkpoint, notes, plan, acting, given.given)


def _check_frames(settings: RunSettings, acting: Acting) -> None:
    """Raise a SettingsError if frames would have several numbers of atoms, and their format has one."""
    if acting.exchanges and settings.output.frames == "netcdf":
        raise SettingsError(
            f"frames = netcdf: {acting.exchanges[0].called} changes the number of atoms, and a NetCDF "
            "trajectory has one number of atoms; choose --frames extxyz or traj"
        )


def _read(given: RunSettings) -> tuple[Atoms, list[str]]:
    """The structure of settings, and remarks on it."""
    start = given.system
    return read_noted(
        str(start.structure), start.from_frame, units=start.input_units, atom_style=start.atom_style
    )


def load_with_remarks(potential: Any) -> tuple[Any, list[str]]:
    """A force field, and what loading it warned of."""
    from taichimd.forcefields.load import load_forcefield

    with warnings.catch_warnings(record=True) as caught:
        forcefield = load_forcefield(potential)
    return forcefield, [" ".join(str(warning.message).split()) for warning in caught]


def _lacks_results(path: Path, checkpoint: Checkpoint, given: RunSettings) -> bool:
    """Whether a folder's own checkpoint is of the last step, while its run lacks a report or a picture."""
    report = read_report(OutputFolder(path.parent).report)
    asked = "plot_format" in given.given
    plot_format = given.output.plot_format if asked else plot_format_of(report)
    observed = observing.files_of(saved_plan(checkpoint.observed), plot_format)
    folder = OutputFolder(path.parent, observed, plot_format=plot_format)
    # Without a table it is not the folder of a run: Python saves a checkpoint anywhere.
    own = same_path(path, folder.checkpoint) and folder.thermo.exists()
    if not own or report.get("planned_last_step", checkpoint.step) != checkpoint.step:
        return False
    there = all(file.exists() for file in (folder.plot, *(folder.path / name for name in folder.observed)))
    return report.get("exit_reason") != "finished" or not there


def _absolute(settings: RunSettings) -> RunSettings:
    """Paths made absolute, so that a checkpoint can be continued from another folder."""
    changes: dict[str, Any] = {}
    if settings.system.structure:
        changes["structure"] = absolute(settings.system.structure, folder=True)
    if settings.potential.file:
        changes["potential"] = of_each(settings.potential.file, absolute)
    if settings.acting.insert:
        changes["insert"] = [with_molecule(text, Path.absolute) for text in settings.acting.insert]
    return settings.changed(**changes)


def same_path(one: Path, other: Path) -> bool:
    """Whether two paths lead to one place."""
    return one.resolve() == other.resolve()


def goes_on(
    folder: OutputFolder,
    checkpoint: Checkpoint | None,
    restart: str | None,
    overwrite: bool,
    notes: list[str],
) -> bool:
    """Whether a run appends to the files of a folder; remarks are added to the notes."""
    appending = checkpoint is not None and same_path(Path(str(restart)).parent, folder.path)
    folder.check(overwrite=overwrite or appending)
    if appending and checkpoint is not None:
        folder.check_format()
        notes.extend(folder.gap_in_frames(checkpoint.settings.get("frames"), checkpoint.step))
    return appending
