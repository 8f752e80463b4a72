"""Conductance of an interface in equilibrium: Green-Kubo of the heat flow through it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taichimd.core.units import PS
from taichimd.estimators.conduction import equilibrium_conductance, exchange_time, without_exchange
from taichimd.estimators.green_kubo import GreenKubo, scaled
from taichimd.estimators.series import Mean
from taichimd.transport.layout import Halves
from taichimd.transport.nemd import MEGAWATT
from taichimd.transport.runs import RunSamples
from taichimd.transport.settings import KappaSettings

_EARLY = 0.3
"""Share of the exchange time at which a plateau should have ended."""


@dataclass(frozen=True)
class Boundary:
    """What runs in equilibrium say of an interface."""

    halves: Halves  # the two sides
    conductance: GreenKubo  # running integral, MW/(m^2 K), of one interface, the mean of two
    # MW/(m^2 K): the mean on the plateau without the decay by exchange of energy between the sides; NaN if
    # they exchange their energy before the plateau
    corrected: Mean
    resistance: Mean  # Kapitza resistance, m^2 K/GW, of the corrected conductance
    exchange: float  # ps, in which the two sides come to one temperature
    notes: tuple[str, ...]  # what makes it doubtful


def boundary_of(
    runs: Sequence[RunSamples], halves: Halves, temperature: float, settings: KappaSettings,
    plateau: tuple[float, float],
) -> Boundary:  # fmt: skip
    """Conductance from finished runs; its error is the scatter of the runs, of one by autocorrelation."""
    dt = float(runs[0].found["interval"][0]) * PS
    flows = [run.found["flow"] / PS for run in runs]
    whole = equilibrium_conductance(flows, dt, temperature, settings.lags * dt, plateau)
    found = scaled(whole, PS / (halves.area * MEGAWATT))
    sides = len(halves.first), len(halves.second)
    capacity = exchange_time(1.0, sides) * PS / (halves.area * MEGAWATT)  # internal time MW/(m^2 K)
    inside = (found.time >= plateau[0] - 0.5 * dt) & (found.time <= plateau[1] + 0.5 * dt)
    times, swing = found.time[inside], float(np.std(found.running_mean.value[inside]))
    value, slope = without_exchange(float(found.mean.value), times, capacity)
    corrected = replace(found.mean, value=value, error=slope * float(found.mean.error))
    resistance = 1.0e3 / value if value > 0.0 else np.nan
    exchange = capacity / PS / value if value > 0.0 else np.inf
    notes = []
    if np.isnan(value):
        notes.append(
            "the two sides come to one temperature before the plateau, so there is no conductance; take an "
            "earlier --plateau or a longer cell"
        )
    elif plateau[1] / PS > _EARLY * exchange:
        notes.append(
            f"the two sides come to one temperature in about {exchange:.3g} ps, and the integral falls in "
            f"that time; let the plateau end before {_EARLY * exchange:.3g} ps (--window, --plateau), or "
            "take a longer cell"
        )
    if swing > abs(float(found.mean.value)):
        notes.append(
            f"the integral swings by {swing:.3g} MW/(m² K) around its mean on the plateau, "
            f"{found.mean.value:.3g}: sound waves do work against the stress of the two sides; relax the "
            "cell to zero stress, or use --method nemd"
        )
    return Boundary(
        halves, found, corrected, Mean(resistance, resistance * corrected.error / value, found.mean.samples),
        exchange, tuple(notes),
    )  # fmt: skip
