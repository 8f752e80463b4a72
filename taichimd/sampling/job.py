"""The job of `taichimd mc`: chains, each with its folder, that are sampled and written side by side."""

import os
import shlex
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from taichimd.app.checkpoint_keeper import SavedTogether
from taichimd.app.job import goes_on
from taichimd.app.loop import RunResult, run_loop
from taichimd.app.observer import Observer
from taichimd.app.output_folder import OutputFolder
from taichimd.app.progress import LineDisplay, duration
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.app.summary import print_stopped
from taichimd.app.supervised import to_the_end
from taichimd.app.trust import more_to_go_on
from taichimd.core.signals import StopRequest
from taichimd.io.lock import locked
from taichimd.sampling.chain import MonteCarlo
from taichimd.sampling.chain_folder import ChainFolder, nothing_left
from taichimd.sampling.prepare import CHECKPOINT, MCJob
from taichimd.sampling.shown import print_header, print_summary
from taichimd.sampling.tempering import Chains


def run_mc_job(job: MCJob, console: Console) -> int:
    """Run a prepared job, write its files, show its progress; the exit code is that of `to_the_end`."""
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
    first, reports = chains[0], list[dict[str, Any]]()
    stepper: Any = first.chain
    if len(chains) > 1:
        stepper = Chains([one.chain for one in chains], job.exchange, job.rungs)

    def finish(one: ChainFolder, reason: str, result: RunResult) -> None:
        reports.append(one.write_report(reason, result, len(chains)))
        if one is not chains[-1]:
            return
        print_summary(console, reports, [one.folder for one in chains])
        if reason != "finished":
            whole = Path(first.settings.output)
            whole = whole.parent if len(chains) > 1 else whole / CHECKPOINT
            command = f"taichimd mc --restart {shlex.quote(os.path.relpath(whole))}"
            command += more_to_go_on(first.settings.potential)
            print_stopped(console, reason, result.last_step, first.last_step, command)

    def step(stop: StopRequest) -> RunResult:
        saved = SavedTogether(lambda: [(one.keeper, one.simulation) for one in chains])
        with SweepProgress(console, first.chain, first.first_step, first.last_step) as progress:
            return run_loop(
                stepper,
                [one.watched() for one in chains],
                job.steps,
                every=first.settings.every or 1,
                should_stop=stop,
                report_first=not first.appending,
                of_all=(saved, progress),
            )

    with nothing_left(chains):
        runs = [one.open(partial(finish, one)) for one in chains]
    return to_the_end(runs, console, step)


HEAD = f"{'sweep':>10} {'done':>5} {'left':>8} {'energy (eV)':>18} {'accepted':>9}"


class SweepProgress(LineDisplay, Observer):
    """Shows sweeps, time left, energy and acceptance within `with`, of the first chain."""

    totals_only = True

    def __init__(self, console: Console, chain: MonteCarlo, first: int, last: int) -> None:
        super().__init__(console, HEAD, wait=1.0)
        self._chain, self._first, self._last = chain, first, last
        self._began = time.perf_counter()

    def tick(self, simulation: SimulatedSystem) -> None:
        """Refresh what is shown, if it is time."""
        chain = self._chain
        if not self.due and chain.step != self._last:
            return
        done, all_of_them = chain.step - self._first, max(self._last - self._first, 1)
        rate = (time.perf_counter() - self._began) / done if done else 0.0
        left = duration(rate * (self._last - chain.step)) if done else "-"
        accepted = "-" if chain.moves.acceptance is None else f"{chain.moves.acceptance:.1%}"
        percent = f"{100 * done // all_of_them}%"
        renewed = f"sweep {chain.step:,}/{self._last:,} · {left} left · {chain.energy:.8g} eV"
        self.show(
            f"{renewed} · {accepted} accepted",
            f"{chain.step:>10} {percent:>5} {left:>8} {chain.energy:>18.8f} {accepted:>9}",
        )
