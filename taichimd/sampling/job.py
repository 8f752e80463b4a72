"""The job behind `taichimd mc`: chains, each with its folder, that are sampled and written side by side."""

import os
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from taichimd.app.job import goes_on
from taichimd.app.loop import RunResult
from taichimd.app.output_folder import OutputFolder
from taichimd.app.simulation import Simulation
from taichimd.app.summary import print_stopped
from taichimd.app.supervised import Supervised, to_the_end
from taichimd.app.trust import more_to_go_on
from taichimd.core.signals import StopRequest
from taichimd.io.lock import locked
from taichimd.sampling.chain_folder import ChainFolder, Folders, nothing_left
from taichimd.sampling.prepare import CHECKPOINT, MCJob
from taichimd.sampling.progress import SweepProgress
from taichimd.sampling.shown import print_header, print_summary
from taichimd.sampling.tempering import Chains


def run_mc_job(job: MCJob, console: Console) -> int:
    """Run a prepared job, write its files, show its progress.

    Returns:
        Exit code, as `taichimd.app.supervised.to_the_end`.

    Raises:
        TaichimdError: anything that stops the run.
    """
    with ExitStack() as stack:
        folders = []
        if len(job.chains) > 1 and job.chains[0].checkpoint is None:
            # A checkpoint of one chain there would be what a restart takes.
            whole = OutputFolder(Path(job.chains[0].settings.output).parent)
            whole.check(overwrite=job.chains[0].settings.overwrite)
            whole.clear()
        for chain in job.chains:
            settings = chain.settings
            folder = OutputFolder(Path(settings.output), frames=settings.frames)
            stack.enter_context(locked(folder.path))
            appending = goes_on(folder, chain.checkpoint, settings.restart, settings.overwrite, job.notes)
            folders.append((chain, folder, appending))
        return _run(job, [ChainFolder(job, *one) for one in folders], console)


def _run(job: MCJob, chains: list[ChainFolder], console: Console) -> int:
    """Sample, write, report; the exit code."""
    print_header(console, job, chains)
    with nothing_left(chains):
        for one in chains:
            one.prepare()
    first = chains[0]
    engine: Any = first.chain
    if len(chains) > 1:
        engine = Chains([one.chain for one in chains], job.exchange, job.rungs)
    simulation, folders = Simulation.from_engine(engine, timestep=1.0), Folders(chains)
    with nothing_left(chains):
        folders.open()

    def step(stop: StopRequest) -> RunResult:
        with SweepProgress(console, first.first_step, first.last_step) as progress:
            return simulation.run(
                job.steps,
                every=first.settings.every or 1,
                observers=(*folders.observers, folders, progress),
                should_stop=stop,
                report_first=not first.appending,
            )

    def finish(reason: str, result: RunResult) -> None:
        reports = [one.write_report(reason, result, len(chains)) for one in chains]
        print_summary(console, reports, [one.folder for one in chains])
        if reason != "finished":
            whole = Path(first.settings.output)
            whole = whole.parent if len(chains) > 1 else whole / CHECKPOINT
            command = f"taichimd mc --restart {shlex.quote(os.path.relpath(whole))}"
            command += more_to_go_on(first.settings.potential)
            print_stopped(console, reason, result.last_step, first.last_step, command)

    def failed(reason: str) -> None:
        for one in chains:
            one.fail(reason)

    run = Supervised(simulation, folders, folders, finish, failed)  # type: ignore[arg-type]
    return to_the_end([run], console, step)
