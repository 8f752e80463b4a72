"""Conductivity from heat that flows between baths: conductance, kappa(L), profile, interfaces, lengths.

    G = Q/(A (T_hot - T_cold)),   kappa(L) = G L,   1/kappa(L) = (1/kappa)(1 + lambda/L)

Q is the heat per time through one path: of a periodic cell half of what the source gives. T_hot and T_cold
are the temperatures of thermostats as they are set; of baths of constant power those that their atoms have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.core.units import PS, WATT_PER_METRE_KELVIN
from taichimd.estimators.blocks import block_note, with_note
from taichimd.estimators.conduction import (
    Extrapolated,
    Line,
    extrapolate,
    jump,
    line_through,
    notes_on_lengths,
    why_not_steady,
)
from taichimd.estimators.series import Mean, mean_of
from taichimd.observables.trajectory import BLOCKS
from taichimd.transport.layout import Layout, bins_of
from taichimd.transport.runs import RunSamples
from taichimd.transport.settings import KappaSettings

MEGAWATT = 1.0e-4 * WATT_PER_METRE_KELVIN * PS
"""One MW/(m^2 K) in eV/(ps angstrom^2 K)."""
_TREND = 0.1
"""Share of the heat by which it may change from half to half of the runs without a note."""
_SLIP = 0.1
"""Share of the difference by which a bath may miss its temperature without a note."""


@dataclass(frozen=True)
class Interface:
    """A temperature jump."""

    place: float  # angstrom
    jump: Mean  # K
    resistance: Mean  # Kapitza resistance, m^2 K/GW
    conductance: Mean  # MW/(m^2 K)


@dataclass(frozen=True)
class OfLength:
    """What runs of one length have found."""

    layout: Layout  # of the baths
    n_atoms: int  # of the system
    given: Mean  # heat per time of the source, eV/ps
    taken: Mean  # heat per time of the sink, eV/ps
    heat: Mean  # through one path, eV/ps
    difference: Mean  # of the temperatures of the baths, K
    hot: Mean  # as measured, K
    cold: Mean  # as measured, K
    conductance: Mean  # MW/(m^2 K)
    kappa: Mean  # kappa(L), W/(m K); NaN where heat does not flow steadily
    gradient: Mean  # W/(m K) from the slopes of the lines, of paths without interfaces; NaN if there are none
    lines: tuple[Line, ...]  # of all pieces
    interfaces: tuple[Interface, ...]  # of all jumps
    place: Array  # (bins,) angstrom
    profile: Mean  # (bins,) K
    not_steady: str  # why there is no kappa; "" if there is one
    notes: tuple[str, ...] = ()  # what makes it doubtful


@dataclass(frozen=True)
class Conduction:
    """What NEMD has found."""

    lengths: tuple[OfLength, ...]  # of each length, in the order given
    kappa: Mean  # W/(m K): of the one length, or of infinite length
    extrapolated: Extrapolated | None  # of several lengths; None if there is one, or if it cannot be done
    notes: tuple[str, ...]  # what makes it doubtful


def conduction(
    layouts: Sequence[Layout], runs: Sequence[Sequence[RunSamples]], n_atoms: Sequence[int],
    settings: KappaSettings,
) -> Conduction:  # fmt: skip
    """What finished runs of one or several lengths say."""
    found = tuple(of_length(*each, settings) for each in zip(layouts, runs, n_atoms, strict=True))
    prefix = [f"{one.layout.length / 10:.3g} nm: " if len(found) > 1 else "" for one in found]
    notes = [f"{said}{note}" for one, said in zip(found, prefix, strict=True) for note in one.notes]
    notes += [
        f"{said}heat does not flow steadily, so there is no kappa: {one.not_steady}; take a longer --window "
        "or a longer --equilibrate"
        for one, said in zip(found, prefix, strict=True)
        if one.not_steady
    ]
    if len(found) == 1:
        return Conduction(found, found[0].kappa, None, tuple(notes))
    good = [one for one in found if np.isfinite(one.kappa.value) and not one.not_steady]
    lengths, kappa, errors = (
        np.array([pick(one) for one in good])
        for pick in (lambda o: o.layout.length, lambda o: o.kappa.value, lambda o: o.kappa.error)
    )
    try:
        line = extrapolate(lengths, kappa, errors)
    except AnalysisError as error:
        return Conduction(found, Mean(np.nan, np.nan, 0), None, (*notes, f"no extrapolation: {error}"))
    notes += notes_on_lengths(line, lengths, kappa, errors)
    return Conduction(found, line.kappa, line, tuple(notes))


def of_length(layout: Layout, runs: Sequence[RunSamples], n_atoms: int, settings: KappaSettings) -> OfLength:
    """What finished runs of one length say; errors are the scatter of the runs, or of the blocks of one."""
    interval = float(runs[0].found["interval"][0])
    rates = {name: _rates(runs, f"heat_{name}", interval) for name in ("hot", "cold")}
    warm = {name: _blocks(runs, f"temperature_{name}") for name in ("hot", "cold")}
    given, taken = rates["hot"], -rates["cold"]
    paths, one_run = len(layout.pieces), len(runs) == 1
    heat = 0.5 * (given + taken) / paths
    measured = warm["hot"] - warm["cold"]
    is_set = settings.bath != "power"
    apart = np.full(len(heat), settings.difference) if is_set else measured
    scale = layout.area * MEGAWATT
    with np.errstate(divide="ignore", invalid="ignore"):
        conductance = heat / apart / scale
    not_steady = why_not_steady(given, taken, one_run) if is_set else _why_drifting(runs, measured, one_run)
    kappa = conductance * scale / layout.area * layout.length / (WATT_PER_METRE_KELVIN * PS)
    if not_steady:
        conductance, kappa = np.full_like(kappa, np.nan), np.full_like(kappa, np.nan)
    place, profile = runs[0].found["place"], _profile(runs)
    means = {name: _mean(one, one_run) for name, one in warm.items()}
    notes = []
    if is_set:
        for name, wanted in zip(("hot", "cold"), settings.bath_temperatures, strict=True):
            if abs(means[name].value - wanted) > _SLIP * (settings.difference or 0.0):
                notes.append(
                    f"the {name} bath has {means[name].value:.4g} K, not {wanted:g} K: it couples too weakly "
                    "for the heat that flows; take a longer --bath-length or a shorter --coupling-time"
                )
    if trend := _trend_of_heat(runs, interval, paths):
        notes.append(trend)
    lines = _lines(layout, place, profile.value)
    flow = _mean(heat, one_run)
    return OfLength(
        layout, n_atoms, _mean(given, one_run), _mean(taken, one_run), flow, _mean(apart, one_run),
        means["hot"], means["cold"], _mean(conductance, one_run), _mean(kappa, one_run),
        _of_slopes(layout, lines, flow, not_steady),
        lines, _jumps(layout, lines, flow, not_steady), place, profile, not_steady, tuple(notes),
    )  # fmt: skip


def _mean(samples: Array, one_run: bool) -> Mean:
    if np.isnan(samples).any():
        return Mean(np.nan, np.nan, 0)
    return with_note(mean_of(samples), block_note(samples, consecutive=one_run))


def _cut(series: Array) -> list[Array]:
    """Equal blocks of one run; what does not fill them is left out at the start."""
    blocks = max(1, min(BLOCKS, len(series) // 4))
    length = len(series) // blocks
    return list(series[len(series) - blocks * length :].reshape(blocks, length))


def _pieces(runs: Sequence[RunSamples], name: str) -> list[Array]:
    return _cut(runs[0].found[name]) if len(runs) == 1 else [run.found[name] for run in runs]


def _rates(runs: Sequence[RunSamples], name: str, interval: float) -> Array:
    """Energy per time, eV/ps, of each run, or of the blocks of one."""
    return np.array([(one[-1] - one[0]) / (interval * max(1, len(one) - 1)) for one in _pieces(runs, name)])


def _blocks(runs: Sequence[RunSamples], name: str) -> Array:
    return np.array([one.mean() for one in _pieces(runs, name)])


def _profile(runs: Sequence[RunSamples]) -> Mean:
    if len(runs) == 1:
        return Mean(runs[0].found["profile"], runs[0].found["profile_error"], 1)
    return mean_of(np.array([run.found["profile"] for run in runs]))


def _why_drifting(runs: Sequence[RunSamples], difference: Array, one_run: bool) -> str:
    """Why constant power, whose source and sink are equal, is not steady; empty if nothing is wrong."""
    if one_run:
        note = block_note(difference)
        return note.removeprefix("no error: ") if note.startswith("no error: the") else ""
    change = []
    for run in runs:
        series = run.found["temperature_hot"] - run.found["temperature_cold"]
        half = len(series) // 2
        change.append(series[half:].mean() - series[:half].mean())
    found = mean_of(np.array(change))
    if abs(found.value) > max(2.0 * found.error, 0.05 * abs(float(difference.mean()))):
        return (
            f"the difference of the baths' temperatures changed by {found.value:.3g} ± {found.error:.2g} K "
            "from the first to the second half of the runs"
        )
    return ""


def _trend_of_heat(runs: Sequence[RunSamples], interval: float, paths: int) -> str:
    """A note if heat changes in the runs: source and sink give too much while the material warms or cools."""
    if len(runs) < 3:
        return ""
    change, heat = [], []
    for run in runs:
        both = 0.5 * (run.found["heat_hot"] - run.found["heat_cold"]) / paths
        half = len(both) // 2
        first, second = (both[half] - both[0]) / half, (both[-1] - both[half]) / (len(both) - 1 - half)
        change.append((second - first) / interval)
        heat.append(0.5 * (first + second) / interval)
    found, mean = mean_of(np.array(change)), float(np.mean(heat))
    if abs(found.value) <= max(2.0 * found.error, _TREND * abs(mean)):
        return ""
    return (
        f"the heat of the baths changes by {found.value:.3g} ± {found.error:.2g} eV/ps from the first to the "
        f"second half of the runs, of {mean:.3g}: the flow is not steady yet; take a longer --window"
    )


def _lines(layout: Layout, place: Array, profile: Array) -> tuple[Line, ...]:
    """Through the pieces between baths and interfaces."""
    x, number = bins_of(layout, place) if layout.periodic else (place, np.arange(len(place)))
    found = []
    for begin, end in layout.pieces:
        edges = [begin, *sorted(one for one in layout.interfaces if begin < one < end), end]
        found += [line_through(x, profile[number], a, b) for a, b in pairwise(edges)]
    return tuple(line for line in found if line is not None)


def _of_slopes(layout: Layout, lines: Sequence[Line], heat: Mean, not_steady: str) -> Mean:
    """Conductivity from the gradients of paths without interfaces, W/(m K)."""
    if not_steady or layout.interfaces or not lines:
        return Mean(np.nan, np.nan, 0)
    slopes = np.array([abs(line.slope) for line in lines])
    slope, error = slopes.mean(), np.sqrt(sum(line.error**2 for line in lines)) / len(lines)
    value = heat.value / (layout.area * slope) / (WATT_PER_METRE_KELVIN * PS)
    return Mean(value, abs(value) * float(np.hypot(error / slope, heat.error / heat.value)), heat.samples)


def _jumps(layout: Layout, lines: Sequence[Line], heat: Mean, not_steady: str) -> tuple[Interface, ...]:
    """Jumps where a line ends and the next one begins."""
    found = []
    for place in () if not_steady else layout.interfaces:
        left = [line for line in lines if line.end == place]
        right = [line for line in lines if line.begin == place]
        if not (left and right):
            continue
        value, error = jump(left[0], right[0], place)
        value, flux = abs(value), heat.value / layout.area
        share = float(np.hypot(error / value, heat.error / heat.value)) if value else np.nan
        conductance = flux / value / MEGAWATT if value else np.nan
        resistance = 1.0e3 / conductance
        found.append(
            Interface(
                place,
                Mean(value, error, heat.samples),
                Mean(resistance, resistance * share, heat.samples),
                Mean(conductance, conductance * share, heat.samples),
            )
        )
    return tuple(found)
