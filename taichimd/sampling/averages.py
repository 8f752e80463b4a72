"""Averages of a Markov chain over its production, from the table of its sweeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from taichimd.estimators import average
from taichimd.estimators.average import Average, average_of, production_start, trend_of

if TYPE_CHECKING:
    from pathlib import Path

    from taichimd.sampling.chain import MonteCarlo

AVERAGED = ("potential_eV", "pressure_GPa", "volume_A3")
CONDITIONS = ("temperature", "pressure", "ensemble")
"""Settings that decide what is sampled."""
METHOD = f"start detected from energy, pressure and volume: {average.METHOD}"


@dataclass(frozen=True)
class Production:
    """Means over the production of a chain."""

    first: int | None  # sweep of the first row of production; None without a row
    last: int | None  # sweep of the last row
    rows: int  # how many
    every: int  # sweeps between these
    method: str  # how the start was found
    averages: dict[str, Average]  # of each column that has values, by its name

    def record(self) -> dict[str, Any]:
        """`production` and `averages` of run.json."""
        means = {
            name: {
                "mean": one.value,
                "error": one.error,
                "independent_samples": one.independent,
                "note": one.note or None,
            }
            for name, one in self.averages.items()
        }
        own = {"first_sweep": self.first, "last_sweep": self.last, "rows": self.rows, "every": self.every}
        return {"production": {**own, "method": self.method}, "averages": means}


def conditions_since(segments: Sequence[Mapping[str, Any]]) -> int:
    """The sweep from which temperature, pressure and ensemble are the present ones, by segments."""
    present, since = segments[-1]["settings"], segments[-1]["first_step"]
    for one in reversed(segments[:-1]):
        settings = one.get("settings", {})
        if any(settings.get(key) != present[key] for key in CONDITIONS):
            break
        since = one["first_step"]
    return int(since)


def rhythm(segments: Sequence[Mapping[str, Any]]) -> int:
    """Sweeps between rows at equal intervals, where runs of a folder had different ones."""
    return lcm(*(int(one.get("settings", {}).get("every") or 1) for one in segments))


def production_of(
    table: "Path", equilibration: int, since: int, every: int, chain: "MonteCarlo"
) -> Production:
    """Averages over the production of a chain, of rows after the sweeps `equilibration` and `since`."""
    rows = np.atleast_1d(np.genfromtxt(table, delimiter=",", names=True))
    begin = max(equilibration, since)
    rows = rows[(rows["sweep"] > begin) & (rows["sweep"] % every == 0)]
    what = "the equilibration" if equilibration >= since else "the last change of conditions"
    method = f"{METHOD} after {what}, sweep {begin:,}" if begin else METHOD
    columns = {name: rows[name] for name in AVERAGED if len(rows) and np.isfinite(rows[name]).all()}
    start = production_start(list(columns.values()))
    found = {name: _average(name, values, start, chain) for name, values in columns.items()}
    sweeps = rows["sweep"][start:].astype(int).tolist()
    first, last = (sweeps[0], sweeps[-1]) if sweeps else (None, None)
    return Production(first, last, len(sweeps), every, method, found)


def _average(name: str, values: NDArray[np.float64], start: int, chain: "MonteCarlo") -> Average:
    found = average_of(values, start)
    moves = chain.volume_moves if name == "volume_A3" else chain.moves
    if moves.tried and not moves.accepted:
        option = "--volume-move" if moves is chain.volume_moves else "--move"
        why = f"no error: none of {moves.tried:,} trial moves was accepted; take a smaller {option}"
        return replace(found, error=None, note=f"{why}, or an --equilibration, which tunes it")
    if found.error is not None and (trend := trend_of(values, start)).significant:
        return replace(found, note=f"{trend}: not in equilibrium; take a longer --equilibration")
    return found
