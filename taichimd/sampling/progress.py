"""What a user sees while a chain continues: a live line on a terminal, plain lines elsewhere."""

import time
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from taichimd.app.observer import Observer
from taichimd.app.progress import PLAIN_SECONDS, duration
from taichimd.app.simulated_system import SimulatedSystem


class SweepProgress(Observer):
    """Shows sweeps, time left, energy and acceptance within `with`.

    Args:
        console: where to; decides between live and plain.
        first, last: sweeps at which the run starts and ends.
    """

    def __init__(self, console: Console, first: int, last: int) -> None:
        self._console, self._first, self._last = console, first, last
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        self._began = time.perf_counter()
        self._printed = self._began - PLAIN_SECONDS + 1.0

    def __enter__(self) -> "SweepProgress":
        if self._live is not None:
            self._live.start()
        else:
            self._print(f"{'sweep':>10} {'done':>5} {'left':>8} {'energy (eV)':>18} {'accepted':>9}")
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False)

    def tick(self, simulation: SimulatedSystem) -> None:
        """Refresh what is shown, if it is time."""
        now, chain = time.perf_counter(), _chain(simulation)
        if self._live is None and now - self._printed < PLAIN_SECONDS and chain.step != self._last:
            return
        self._printed = now
        done, all_of_them = chain.step - self._first, max(self._last - self._first, 1)
        left = duration((now - self._began) / done * (self._last - chain.step)) if done else "-"
        accepted = "-" if chain.moves.acceptance is None else f"{chain.moves.acceptance:.1%}"
        if self._live is not None:
            line = f"sweep {chain.step:,}/{self._last:,} · {left} left · {chain.energy:.8g} eV"
            self._live.update(Text(f"{line} · {accepted} accepted"))
        else:
            percent = f"{100 * done // all_of_them}%"
            self._print(f"{chain.step:>10} {percent:>5} {left:>8} {chain.energy:>18.8f} {accepted:>9}")


def _chain(simulation: SimulatedSystem) -> Any:
    return simulation.engine
