"""What a user sees while a run continues: a live bar, plain lines (80 columns), a line of a notebook."""

import time
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from taichimd.app.averages import DRIFT_UNIT, short_drift
from taichimd.app.notebook import Line
from taichimd.app.observer import Observer
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.estimators.average import MIN_INDEPENDENT
from taichimd.estimators.slope import slope_of
from taichimd.program.results import Thermo

if TYPE_CHECKING:
    from typing_extensions import Self

PLAIN_SECONDS = 5.0
"""Least time between plain lines, so that a log of a long run stays short."""
NOTEBOOK_SECONDS = 0.5
"""Least time between two texts of the line of a notebook."""
_FIRST_LINE_SECONDS = 1.0
_STALE_SECONDS = 2.0
_FS_PER_NS = 1.0e6
_SECONDS_PER_DAY = 86400.0


class ProgressObserver(Observer):
    """Shows steps, speed, time left, temperature and the drift of the conserved energy.

    Within `with` it is a live bar on a terminal. In a Jupyter notebook it is one line that rewrites itself.
    Otherwise it prints a line every few seconds.

        >>> from ase.build import bulk
        >>> from taichimd import ProgressObserver, Simulation
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw")
        >>> with ProgressObserver() as progress:
        ...     result = simulation.run(20, observers=[progress])  # doctest: +ELLIPSIS
              step  done     left   ns/day atom-step/s    T (K) drift (µeV/atom/ps)
                20  100% ...

    Args:
        console: a console of rich, which decides between live and plain output; None: standard output.
        first_step: step counter at the start; None: the first step of `Simulation.run`.
        last_step: step counter at the end; None: the last step of `Simulation.run`.
    """

    totals_only = True

    def __init__(
        self, console: Console | None = None, first_step: int | None = None, last_step: int | None = None
    ) -> None:
        self._console = Console() if console is None else console
        self._first, self._last = first_step, last_step
        self._follows = last_step is None
        self._drift = _Drift()
        self._thermo: Thermo | None = None
        self._seen = -1.0e9
        self._live: Live | None = None
        self._line: Line | None = None
        self._opened = False
        self._bar = Progress(
            TextColumn("{task.fields[steps]} steps"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]} left"),
            console=self._console,
            expand=True,
        )
        self._task = self._bar.add_task("", total=None, steps="", left="")
        self._start()

    def _start(self) -> None:
        self._started = time.perf_counter()
        self._since: tuple[int, float] | None = None
        self._pause = PLAIN_SECONDS
        self._printed = self._started - PLAIN_SECONDS + _FIRST_LINE_SECONDS
        if self._console.is_jupyter:
            self._line, self._pause = Line(), NOTEBOOK_SECONDS

    def __enter__(self) -> "ProgressObserver":
        self._start()
        if self._console.is_terminal:
            self._live = Live(self._bar, console=self._console, refresh_per_second=4)
            self._live.start()
        else:
            self._open()
        return self

    def _open(self) -> None:
        """The head of the lines, once."""
        if self._live is None and self._line is None and not self._opened:
            self._console.print(
                f"{'step':>10} {'done':>5} {'left':>8} {'ns/day':>8} {'atom-step/s':>11} {'T (K)':>8}"
                f" {f'drift ({DRIFT_UNIT})':>19}",
                highlight=False,
            )
        self._opened = True

    def _follow(self, simulation: SimulatedSystem) -> None:
        """Take the steps of another call of `Simulation.run`."""
        if self._first is None or (self._follows and self._last != simulation.last_step):
            self._first = simulation.step
            self._drift = _Drift()
            self._start()
        if self._follows:
            self._last = simulation.last_step
        self._open()

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def report(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        """Keep the newest temperature and energy."""
        self._follow(simulation)
        self._thermo, self._seen = thermo, time.perf_counter()
        self._drift.add(simulation.time_ps, thermo.conserved)
        if simulation.step == self._last:
            self._show(simulation)

    def needs_reports(self) -> bool:
        """No: it shows the newest report that there is."""
        return False

    def tick(self, simulation: SimulatedSystem) -> None:
        """Refresh the output, if enough time has passed."""
        self._follow(simulation)
        now = time.perf_counter()
        if self._since is None and simulation.step > (self._first or 0):
            self._since = (simulation.step, now)
        if self._live is None and now - self._printed < self._pause:
            return
        if now - self._seen > _STALE_SECONDS:
            self._thermo, self._seen = simulation.thermo(), now
        if simulation.step != self._last:
            self._show(simulation)

    def _rate(self, step: int) -> float | None:
        """Steps in a second since the first piece, which waits for kernels; None in the first piece.

        A run of a single piece has the rate of this piece.
        """
        begun, since = self._since or (step, 0.0)
        if begun == step:
            if step != self._last:
                return None
            begun, since = self._first or 0, self._started
        return (step - begun) / max(time.perf_counter() - since, 1e-9)

    def _show(self, simulation: SimulatedSystem) -> None:
        first, last = self._first or 0, self._last or 0
        done = simulation.step - first
        rate, left, ns_day, atom_steps = self._rate(simulation.step), "-", "-", "-"
        if rate:
            left = duration((last - simulation.step) / rate)
            ns_day = f"{rate * simulation.timestep / _FS_PER_NS * _SECONDS_PER_DAY:.3g}"
            atom_steps = f"{rate * simulation.engine.n_atoms:.2e}"
        self._printed = time.perf_counter()
        thermo = self._thermo
        temperature = f"{thermo.temperature:.1f}" if thermo else "-"
        drift = self._drift.shown(simulation.engine.n_atoms)
        speed = f"{ns_day} ns/day · {atom_steps} atom-step/s · {temperature} K"
        steps = f"{simulation.step:,}/{last:,}"
        percent = 100 * done // max(last - first, 1)
        if self._line is not None:
            words = [f"{steps} steps ({percent}%)", f"{left} left", speed, f"drift {drift} {DRIFT_UNIT}"]
            self._line.show(words)
        elif self._live is not None:
            self._bar.update(self._task, total=last - first, completed=done, steps=steps, left=left)
            line = f"{speed} · drift {drift} {DRIFT_UNIT}"
            self._live.update(Group(self._bar, Text(line, style="dim")))
        else:
            self._console.print(
                f"{simulation.step:>10} {percent:>4}% {left:>8} {ns_day:>8} {atom_steps:>11}"
                f" {temperature:>8} {drift:>19}",
                highlight=False,
            )


class LineDisplay:
    """A line that is renewed on a terminal; elsewhere plain lines every few seconds, below a head.

    Args:
        console: which decides between the two.
        head: of the plain lines.
        wait: seconds before the first plain line.
    """

    def __init__(self, console: Console, head: str, wait: float = 0.0) -> None:
        self._console, self._head, self._next = console, head, time.monotonic() + wait
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None

    def __enter__(self) -> "Self":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def due(self) -> bool:
        """Whether it is time for a line."""
        return self._live is not None or time.monotonic() >= self._next

    def show(self, renewed: str, plain: str) -> None:
        """Renew the line, or print a plain one."""
        if self._live is not None:
            self._live.update(Text(renewed))
        else:
            self._next = time.monotonic() + PLAIN_SECONDS
            # An error before the first line has no head above it.
            self._console.print(
                f"{self._head}\n{plain}" if self._head else plain, highlight=False, markup=False
            )
            self._head = ""


class _Drift:
    """The slope of the conserved energy so far, from at most 2,000 means over equally many reports each."""

    _MAX_MEANS = 2000

    def __init__(self) -> None:
        self._means: list[tuple[float, float]] = []
        self._open: list[tuple[float, float]] = []
        self._size = 1

    def add(self, time_ps: float, conserved: float | None) -> None:
        """Take a report; None, where nothing is conserved, forgets those before it."""
        if conserved is None:
            self._means, self._open = [], []
            return
        self._open.append((time_ps, conserved))
        if len(self._open) < self._size:
            return
        self._means.append(_mean(self._open))
        self._open = []
        if len(self._means) == self._MAX_MEANS:
            self._size *= 2
            self._means = [_mean(self._means[k : k + 2]) for k in range(0, self._MAX_MEANS, 2)]

    def shown(self, n_atoms: int) -> str:
        """Slope ± error, µeV/atom/ps; "none" below two errors, "-" as long as it has no error."""
        if len(self._means) < MIN_INDEPENDENT:
            return "-"
        times, energies = np.array(self._means).T
        if not np.isfinite(energies).all():
            return "-"  # a run that is about to explode
        found = slope_of(times, (energies - energies[0]) / n_atoms * 1e6)
        if found is None or found.error is None:
            return "-"
        return short_drift(found.value, found.error)


def _mean(reports: list[tuple[float, float]]) -> tuple[float, float]:
    return sum(one[0] for one in reports) / len(reports), sum(one[1] for one in reports) / len(reports)


def duration(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
