"""What a user sees while a chain continues: a live line on a terminal, plain lines elsewhere."""

import time

from rich.console import Console

from taichimd.app.observer import Observer
from taichimd.app.progress import LineDisplay, duration
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.sampling.chain import MonteCarlo

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
