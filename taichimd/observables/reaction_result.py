"""What a history of bonds says about reactions: tables, picture and summary, of a run and of a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taichimd.estimators.bond_history import BondHistory
from taichimd.estimators.reaction_rates import (
    Lifetime,
    Rate,
    lifetimes,
    network,
    population,
    rates,
    shown_part,
)
from taichimd.estimators.reactions import Reactions, find_reactions
from taichimd.estimators.series import Mean
from taichimd.io.analysis_files import curves, draw, write_table
from taichimd.io.reaction_files import draw_network, write_events, write_lifetimes, write_rates
from taichimd.observables.numbers import finding, plus_minus
from taichimd.observables.observable import Result, Rows, Values

MAX_SHOWN = 7
"""Reactions and species in the picture and the summary, the most frequent ones."""
MAX_SPECIES = 12
"""Species in the picture of the network."""
NETWORK = "reaction_network"
"""Name of that picture."""
TABLES = ("reactions", "rates", "lifetimes")
"""Names of the tables before the table of species."""


@dataclass(kw_only=True)
class ReactionResult(Result):
    """Reactions, rate constants and lifetimes of species."""

    found: Reactions  # events and molecules
    speeds: list[Rate]  # rates of the reactions
    lives: list[Lifetime]  # lifetimes of the species; the most frequent first
    labels: Sequence[int]  # number of each atom for the user
    symbols: Sequence[str]  # of the atoms
    volume: float | None  # angstrom^3, for rate constants of concentrations; None without

    @property
    def lacks_volume(self) -> bool:
        """Whether a rate constant of concentrations is unknown because there is no volume."""
        return self.volume is None and any(one.molecularity > 1 for one in self.speeds)

    def write(self, files: list[Path], title: str) -> None:
        """Write reactions, rates, lifetimes, numbers of molecules, their picture, the network: six files."""
        write_events(files[0], self.found.events, self.labels, self.symbols)
        write_rates(files[1], self.speeds, self.volume)
        write_lifetimes(files[2], self.lives)
        write_table(files[3], self.tables[0])
        draw(files[4], title, self.panels)
        of_all = network(self.found)
        edges = shown_part(of_all, MAX_SPECIES)
        species = len({name for pair in of_all for name in pair})
        more = f", {MAX_SPECIES} most frequent of {species:,} species" if species > MAX_SPECIES else ""
        draw_network(files[5], f"{title.replace(': species', '')}: reactions{more}", edges)


def reactions_of(
    history: BondHistory, symbols: Sequence[str], labels: Sequence[int], volume: float | None
) -> ReactionResult:
    """Everything that is known about the reactions of a history of bonds, of two frames or more.

    Without a volume (angstrom^3) rate constants are for each combination of reactants only.
    """
    found = find_reactions(history, symbols)
    speeds, lives = rates(found), lifetimes(found)
    times, counts = population(found)
    shown = {name: (counts[name], np.zeros(len(times))) for name in list(counts)[:MAX_SHOWN]}
    return ReactionResult(
        [{"time_ps": times, **counts}],
        [lambda axis: curves(axis, times, shown, "time (ps)", "molecules")],
        _summary(found, speeds, lives, volume),
        _values(found, speeds, lives, volume),
        _notes(history, found),
        found=found,
        speeds=speeds,
        lives=lives,
        labels=labels,
        symbols=symbols,
        volume=volume,
    )


def _notes(history: BondHistory, found: Reactions) -> list[str]:
    notes, lifetime = [], 1000 * history.rule.lifetime
    spacing = 1000 * float(np.median(np.diff(history.times)))
    if spacing > 0.5 * lifetime:
        notes.append(
            f"frames are {spacing:g} fs apart, which hardly resolves the shortest lifetime of {lifetime:g} "
            "fs: take bonds more often, or give a longer --bond-lifetime"
        )
    if found.late:
        notes.append(
            f"{found.late} changes of bonds are within {lifetime:g} fs of the end: whether they last is "
            "unknown, so they were left out"
        )
    return notes


def _summary(found: Reactions, speeds: list[Rate], lives: list[Lifetime], volume: float | None) -> Rows:
    rows = [("reactions", f"{len(found.events):,} events of {len(speeds):,} reactions")]
    for one in speeds[:MAX_SHOWN]:
        value, low, high = one.constants(volume)
        unit = "1/ps" if volume is None else one.unit
        rate = f"k = {value:.3g} ({low:.3g} to {high:.3g}) {unit}" if np.isfinite(value) else "no k"
        rows.append(("reaction", f"{one.reaction}: {one.count:,} times, {rate}"))
    if len(speeds) > MAX_SHOWN:
        rows.append(("", f"and {len(speeds) - MAX_SHOWN:,} rarer reactions in rates.csv"))
    for life in lives[:MAX_SHOWN]:
        text = f"above {life.low:.3g}" if not life.ended else plus_minus(Mean(life.value, life.error, 0))
        rows.append((f"lifetime {life.formula}", f"{text} ps, {life.ended:,} of {life.molecules:,} ended"))
    return rows


def _values(found: Reactions, speeds: list[Rate], lives: list[Lifetime], volume: float | None) -> Values:
    values = {"reaction_events": finding(len(found.events), len(found.events) ** 0.5, "1")}
    for one in speeds[:MAX_SHOWN]:
        value = one.constants(volume)[0]
        unit = "1/ps" if volume is None else one.unit
        values[f"rate {one.reaction}"] = finding(value, value / one.count**0.5, unit)
    for life in lives[:MAX_SHOWN]:
        values[f"lifetime_{life.formula}"] = finding(life.value, life.error, "ps")
    return values
