"""What a user sees while a run goes on: a live bar on a terminal, plain lines elsewhere; 80 columns."""

import time
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from taichimd.protocols import ThermoLike
from taichimd.simulation import Observer

if TYPE_CHECKING:
    from taichimd.simulation import Simulation

PLAIN_SECONDS = 5.0
"""Least time between plain lines, so that a log of a long run stays short."""
_FIRST_LINE_SECONDS = 1.0
_STALE_SECONDS = 2.0
_FS_PER_NS = 1.0e6
_SECONDS_PER_DAY = 86400.0


class ProgressObserver(Observer):
    """Shows steps, speed, time left, temperature and the drift of the conserved energy.

    Args:
        console: where to; decides between live and plain.
        first_step: step counter at the start.
        last_step: step at which the run ends.
        first_total: conserved energy (eV) from which the drift is counted; None takes the first report's.
    """

    def __init__(
        self, console: Console, first_step: int, last_step: int, first_total: float | None = None
    ) -> None:
        self._console = console
        self._first, self._last = first_step, last_step
        self._first_total = first_total
        self._thermo: ThermoLike | None = None
        self._seen = self._printed = -1.0e9
        self._started = time.perf_counter()
        self._live: Live | None = None
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.fields[steps]} steps"),
                BarColumn(bar_width=None),
                TaskProgressColumn(),
                TextColumn("{task.fields[left]} left"),
                console=console,
                expand=True,
            )
            self._task = self._bar.add_task("", total=last_step - first_step, steps="", left="")

    def __enter__(self) -> "ProgressObserver":
        self._started = time.perf_counter()
        self._printed = self._started - PLAIN_SECONDS + _FIRST_LINE_SECONDS
        if self._console.is_terminal:
            self._live = Live(self._bar, console=self._console, refresh_per_second=4)
            self._live.start()
        else:
            self._console.print(
                f"{'step':>10} {'done':>5} {'left':>8} {'ns/day':>8} {'atom-step/s':>11} {'T (K)':>8}"
                f" {'drift (meV/atom)':>17}",
                highlight=False,
            )
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def report(self, simulation: "Simulation", thermo: ThermoLike) -> None:
        """Keep the newest temperature and energy."""
        self._thermo, self._seen = thermo, time.perf_counter()
        if self._first_total is None:
            self._first_total = thermo.conserved
        if simulation.step == self._last:
            self._show(simulation)

    def tick(self, simulation: "Simulation") -> None:
        """Refresh what is shown, if it is time."""
        now = time.perf_counter()
        if self._live is None and now - self._printed < PLAIN_SECONDS:
            return
        if now - self._seen > _STALE_SECONDS:
            self._thermo, self._seen = simulation.thermo(), now
        if simulation.step != self._last:
            self._show(simulation)

    def _show(self, simulation: "Simulation") -> None:
        done = simulation.step - self._first
        elapsed = max(time.perf_counter() - self._started, 1e-9)
        rate = done / elapsed
        left = duration((self._last - simulation.step) / rate) if done else "-"
        ns_day = rate * simulation.timestep / _FS_PER_NS * _SECONDS_PER_DAY
        atom_steps = rate * simulation.engine.n_atoms
        thermo = self._thermo
        temperature = f"{thermo.temperature:.1f}" if thermo else "-"
        drift = "-"
        if thermo and thermo.conserved is not None and self._first_total is not None:
            drift = f"{(thermo.conserved - self._first_total) / simulation.engine.n_atoms * 1000:+.4f}"
        if self._live is not None:
            self._bar.update(
                self._task, completed=done, steps=f"{simulation.step:,}/{self._last:,}", left=left
            )
            line = (
                f"{ns_day:.3g} ns/day · {atom_steps:.2e} atom-step/s · {temperature} K · "
                f"drift {drift} meV/atom"
            )
            self._live.update(Group(self._bar, Text(line, style="dim")))
        else:
            percent = 100 * done // max(self._last - self._first, 1)
            self._printed = time.perf_counter()
            self._console.print(
                f"{simulation.step:>10} {percent:>4}% {left:>8} {ns_day:>8.3g} {atom_steps:>11.2e}"
                f" {temperature:>8} {drift:>17}",
                highlight=False,
            )


def duration(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
