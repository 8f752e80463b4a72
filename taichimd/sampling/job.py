"""The job behind `taichimd mc`: a Markov chain with its folder, restarts and what the terminal shows."""

import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ase import Atoms
from rich.console import Console

from taichimd.app.job import load_with_remarks, same_path
from taichimd.app.outputs import CheckpointKeeper, OutputFolder, RunFiles, cut_trajectory, dropped_from
from taichimd.app.progress import duration
from taichimd.app.restart import changes_of_machine
from taichimd.app.saving import state_of
from taichimd.app.setting_types import absolute, each, of_each
from taichimd.app.simulation import RunResult, Simulation
from taichimd.app.summary import potential_rows, print_rows, print_stopped
from taichimd.app.supervised import to_the_end
from taichimd.core.errors import CheckpointError, SettingsError
from taichimd.core.signals import StopRequest
from taichimd.io.checkpoint import Checkpoint, check_same_system, read_checkpoint
from taichimd.io.lock import locked
from taichimd.io.potential import differences
from taichimd.io.report import host, read_report, segments, versions, write_report
from taichimd.io.structures import read_structure
from taichimd.program.results import require_finite
from taichimd.sampling.chain import MonteCarlo
from taichimd.sampling.files import SweepFrames, SweepTable, averages
from taichimd.sampling.progress import SweepProgress
from taichimd.sampling.settings import MCSettings
from taichimd.system.constraints import check_fixed, fixed_atoms

_OF_EACH_RUN = ("sweeps", "output", "restart", "overwrite")


@dataclass(frozen=True)
class MCJob:
    """Checked settings, with what the chain starts from.

    Attributes:
        settings: all layers merged. steps: sweeps of this run, with what is left of the equilibration.
        atoms: the system; of a restart the checkpoint's. forcefield: what acts between them.
        checkpoint: what is continued, or None.
        notes: remarks for the user.
    """

    settings: MCSettings
    steps: int
    atoms: Atoms
    forcefield: Any
    checkpoint: Checkpoint | None
    notes: list[str]


def prepare_mc(flags: Mapping[str, Any]) -> MCJob:
    """Merge and check settings, read structure and potential; touches neither device nor output.

    Args:
        flags: what was given, by the names of options.

    Raises:
        SettingsError, StructureError, CheckpointError, ParameterFileError: as messages say.
    """
    settings, checkpoint = MCSettings(**flags), None
    if settings.restart is not None:
        checkpoint = _read_chain(settings.restart)
        saved = {key: value for key, value in checkpoint.settings.items() if key not in _OF_EACH_RUN}
        settings = MCSettings(**{"output": str(Path(settings.restart).parent), **saved, **flags})
    for key, known in (("structure", checkpoint or settings.structure), ("potential", settings.potential)):
        if known is None:
            raise SettingsError(f"no {key} given: expected taichimd mc STRUCTURE --potential FILE")
    forcefield, notes = load_with_remarks(settings.potential)
    if checkpoint is None:
        atoms = read_structure(str(settings.structure))
        steps = settings.equilibration + (settings.sweeps or 0)
        if settings.sweeps is None:
            raise SettingsError("the length of the run is not given: expected --sweeps N")
        if settings.equilibration == 0:
            notes.append("no equilibration: step sizes are not tuned (--equilibration SWEEPS tunes them)")
    else:
        atoms = checkpoint.atoms()
        steps = settings.sweeps or checkpoint.last_step - checkpoint.step
        if steps <= 0:
            raise SettingsError(
                f"the run of {settings.restart} is complete: say how far to go on with --sweeps"
            )
        if "structure" in flags:
            check_same_system(str(settings.restart), checkpoint, read_structure(flags["structure"]))
    changes: dict[str, Any] = {"potential": of_each(settings.potential or "", absolute)}
    if settings.structure is not None:
        changes["structure"] = absolute(settings.structure, folder=True)
    settings = MCSettings(**{**settings.record(), **changes})
    return MCJob(settings, steps, atoms, forcefield, checkpoint, notes)


def _read_chain(path: str) -> Checkpoint:
    checkpoint = read_checkpoint(path)
    if not checkpoint.of_markov_chain:
        raise CheckpointError(
            f"checkpoint {path} is of molecular dynamics; go on with taichimd run --restart, or start Monte "
            f"Carlo from it: taichimd mc {path}"
        )
    return checkpoint


def run_mc_job(job: MCJob, console: Console) -> int:
    """Run a prepared job, write its files, show its progress.

    Returns:
        Exit code, as `taichimd.app.supervised.to_the_end`.

    Raises:
        TaichimdError: anything that stops the run.
    """
    folder = OutputFolder(Path(job.settings.output), frames=job.settings.frames)
    with locked(folder.path):
        restart = job.settings.restart
        appending = restart is not None and same_path(Path(restart).parent, folder.path)
        folder.check(overwrite=job.settings.overwrite or appending)
        if appending and job.checkpoint is not None:
            folder.check_format()
            job.notes.extend(folder.gap_in_frames(job.checkpoint.settings.get("frames"), job.checkpoint.step))
        return _Run(job, folder, console, appending).execute()


class _Run:
    """One run from its start to its last file."""

    def __init__(self, job: MCJob, folder: OutputFolder, console: Console, appending: bool) -> None:
        self.job, self.folder, self.console, self.appending = job, folder, console, appending
        self.earlier = read_report(folder.report) if appending else {}
        self.potential = job.forcefield.describe(job.atoms.get_chemical_symbols())
        self.started, self.clock = time.time(), time.perf_counter()
        self.chain = chain = _chain_of(job)
        if (checkpoint := job.checkpoint) is not None:
            if checkpoint.potential_hash != self.potential["fingerprint"]:
                raise CheckpointError(
                    f"checkpoint {job.settings.restart} was made with another potential than "
                    f"{' + '.join(each(job.settings.potential or ''))}: "
                    f"{differences(checkpoint.potential, self.potential)}; give the same one"
                )
            chain.set_state(step=checkpoint.step, bath=checkpoint.bath)
            job.notes.extend(changes_of_machine(checkpoint, chain))
        _print_header(console, job, chain)
        first = chain.evaluate()
        require_finite(first.energy, first.forces, chain.symbols)
        self.compiling = chain.warm_up()
        self.simulation = Simulation.from_engine(chain, timestep=1.0)
        self.first_step = chain.step
        self.last_step = chain.step + job.steps
        if not appending:
            folder.clear()

    def execute(self) -> int:
        """Sample, write, report; the exit code."""
        settings, files = self.job.settings, self._files()
        keeper = CheckpointKeeper(
            self.folder.checkpoint, self._checkpoint, files.sync, settings.checkpoint_interval,
            self.first_step if self.appending else None,
        )  # fmt: skip
        self._write_report("running", None)

        def step(stop: StopRequest) -> RunResult:
            if self.appending and not same_path(Path(str(settings.restart)), keeper.path):
                keeper.save(self.simulation)  # an older checkpoint was chosen: the newer one is void now
            with SweepProgress(self.console, self.first_step, self.last_step) as progress:
                return self.simulation.run(
                    self.job.steps,
                    every=settings.every,
                    observers=(*files.observers, keeper, progress),
                    should_stop=stop,
                    report_first=not self.appending,
                )

        return to_the_end(
            self.simulation, files, keeper, self.console, step=step,
            finish=lambda reason, result: self._finish(reason, result, keeper),
            failed=lambda reason: self._write_report(reason, None),
        )  # fmt: skip

    def _files(self) -> RunFiles:
        settings, path, frames = self.job.settings, self.folder.trajectory, None
        if path is not None:
            every = settings.frames_every or settings.every
            frames = SweepFrames(path, every, drop_from=self._dropped_from("frames_every"))
        elif self.appending:
            for file in self.folder.trajectories:
                if file.exists():
                    cut_trajectory(file, self.first_step + 1)
        files = RunFiles(SweepTable(self.folder.thermo, drop_from=self._dropped_from("every")), frames)
        files.open(self.simulation)
        return files

    def _dropped_from(self, rhythm: str) -> int | None:
        if not self.appending or self.job.checkpoint is None:
            return None
        before = self.job.checkpoint.settings
        return dropped_from(self.first_step, before.get(rhythm) or before["every"], self.job.steps)

    def _checkpoint(self, simulation: Simulation) -> Checkpoint:
        self.chain.compare()
        return Checkpoint(
            **state_of(simulation),
            pbc=self.job.atoms.pbc,
            numbers=self.job.atoms.numbers,
            settings=self.job.settings.record(),
            potential_hash=self.potential["fingerprint"],
            potential=self.potential,
            last_step=self.last_step,
            first_total=None,
        )

    def _finish(self, reason: str, result: RunResult, keeper: CheckpointKeeper) -> None:
        report = self._write_report(reason, result)
        _print_summary(self.console, report, self.folder)
        if reason != "finished":
            command = f"taichimd mc --restart {shlex.quote(os.path.relpath(keeper.path))}"
            print_stopped(self.console, reason, result.last_step, self.last_step, command)

    def _write_report(self, reason: str, result: RunResult | None) -> dict[str, Any]:
        from taichimd.core.runtime import info

        chain, job = self.chain, self.job
        report: dict[str, Any] = {
            "exit_reason": reason,
            "settings": job.settings.record(),
            "n_atoms": chain.n_atoms,
            "n_fixed": 0 if chain.fixed is None else int(chain.fixed.sum()),
            "formula": job.atoms.get_chemical_formula(),
            "decomposition": chain.decomposition,
            "potential": self.potential,
            "first_step": self.first_step,
            "last_step": chain.step,
            "planned_last_step": self.last_step,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.started)),
            "wall_seconds": time.perf_counter() - self.clock,
            "compile_seconds": self.compiling,
            "versions": versions(),
            "runtime": info(),
            "host": host(),
            "notes": job.notes,
        }
        if result is not None:
            sweeps = result.last_step - result.first_step
            report |= {
                "seconds_per_sweep": result.stepping_seconds / sweeps if sweeps else None,
                "moves": vars(chain.moves) | {"acceptance": chain.moves.acceptance},
                "volume_moves": vars(chain.volume_moves) | {"acceptance": chain.volume_moves.acceptance},
                "energy_check": {
                    "comparisons": chain.check.times,
                    "largest_difference_eV": chain.check.largest,
                },
                "averages": {
                    name: {"mean": mean.value, "error": mean.error}
                    for name, mean in averages(self.folder.thermo, job.settings.equilibration).items()
                },
                "last_cell_A": chain.cell,
                "statistics": chain.statistics(),
            }
        report["segments"] = segments(self.earlier, report)
        write_report(self.folder.report, report)
        return report


def _chain_of(job: MCJob) -> MonteCarlo:
    settings = job.settings
    return MonteCarlo(
        job.atoms,
        job.forcefield,
        temperature=settings.temperature,
        pressure=settings.pressure if settings.moves_volume else None,
        kind=settings.moves,
        move=settings.move,
        volume_move=settings.volume_move,
        equilibration=settings.equilibration,
        seed=settings.seed,
        backend=settings.backend,
        precision=settings.precision,
        decomposition=settings.decomposition,
        fixed=check_fixed(fixed_atoms(job.atoms, "Monte Carlo"), len(job.atoms)),
    )


def _print_header(console: Console, job: MCJob, chain: MonteCarlo) -> None:
    from taichimd import __version__
    from taichimd.core.runtime import info

    settings, machine = job.settings, info()
    periodic = "".join(axis for axis, flag in zip("xyz", job.atoms.pbc, strict=True) if flag) or "none"
    formula = job.atoms.get_chemical_formula(empirical=True)
    held = f"{settings.ensemble}, {settings.temperature:g} K"
    if settings.moves_volume:
        held += f", {settings.pressure:g} GPa"
    rows = [
        ("taichimd", f"{__version__} · {machine['runtime']} · {machine['backend']} ({machine['device']})"),
        ("system", f"{len(job.atoms):,} atoms, {formula}, periodic: {periodic}"),
        *potential_rows(job.forcefield),
        ("run", f"{job.steps:,} sweeps, moves: {settings.moves}, {held}, {settings.precision}"),
        ("decomposition", chain.decomposition),
    ]  # fmt: skip
    if job.checkpoint is not None:
        rows.append(("goes on", f"from {settings.restart}, sweep {job.checkpoint.step:,}"))
    print_rows(console, rows)
    for note in job.notes:
        console.print(f"note: {note}", highlight=False, markup=False)


def _print_summary(console: Console, report: dict[str, Any], folder: OutputFolder) -> None:
    sweeps, check = report["last_step"] - report["first_step"], report["energy_check"]
    rows = [("sweeps", f"{sweeps:,} in {duration(report['wall_seconds'])}, to sweep {report['last_step']:,}")]
    for name, unit in (("moves", " Å"), ("volume_moves", " of ln V")):
        rate = report[name]
        if rate["acceptance"] is not None:
            told = f"{rate['acceptance']:.1%} accepted, up to {rate['size']:.4g}{unit}"
            rows.append((name.replace("_", " "), told))
    for name, mean in report["averages"].items():
        what, _, unit = name.rpartition("_")
        error = "" if mean["error"] != mean["error"] else f" ± {mean['error']:.2g}"
        rows.append((what, f"{mean['mean']:.8g}{error} {unit.replace('A3', 'Å³')}"))
    largest, times = check["largest_difference_eV"], check["comparisons"]
    rows.append(("energy check", f"running sum within {largest:.1e} eV of {times} evaluations"))
    there = [file for file in folder.files() if file.exists()]
    rows.append(("files", " ".join(str(file) for file in there)))
    console.print()
    print_rows(console, rows)
