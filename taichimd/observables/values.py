"""Results as numbers: by a name that stays, a value with its standard error and unit."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from taichimd.core.units import CM2_PER_S, THZ
from taichimd.observables.estimators.green_kubo import GreenKubo
from taichimd.observables.estimators.motion import DensityOfStates, Diffusion
from taichimd.observables.estimators.series import Mean
from taichimd.observables.estimators.structure import RadialDistribution, coordination_number

Values = dict[str, dict[str, Any]]
"""By name: `value`, `error` (None where there is none) and `unit`."""


@dataclass(frozen=True)
class Shell:
    """The highest peak of a radial distribution, and what is within it.

    Attributes:
        position: angstrom. height: of g there.
        edge: angstrom, the lowest point behind it. neighbours: within that.
    """

    position: float
    height: Mean
    edge: float
    neighbours: Mean


def highest_shell(rdf: RadialDistribution) -> Shell | None:
    """The highest peak, and the neighbours up to the lowest point behind it; None without any pair."""
    g = rdf.g.value
    top = int(g.argmax())
    if g[top] == 0:
        return None
    behind = np.convolve(g, np.ones(3) / 3, "same")[top : int(1.7 * top) + 2]
    edge = float(rdf.edges[top + int(behind.argmin()) + 1])
    height = Mean(float(g[top]), float(rdf.g.error[top]), rdf.g.samples)
    return Shell(float(rdf.r[top]), height, edge, coordination_number(rdf, edge))


def rdf_values(found: dict[tuple[str, str], RadialDistribution]) -> Values:
    """Position and height of the highest peak, neighbours within the lowest point behind it."""
    values: Values = {}
    for (a, b), rdf in found.items():
        shell = highest_shell(rdf)
        if shell is None:
            continue
        if a <= b:
            values[f"rdf_{a}-{b}_position"] = _entry(shell.position, None, "Å")
            values[f"rdf_{a}-{b}_height"] = _of(shell.height, "1")
            values[f"rdf_{a}-{b}_edge"] = _entry(shell.edge, None, "Å")
        values[f"n_{b}_around_{a}"] = _of(shell.neighbours, "1")
    return values


def diffusion_values(found: dict[str, Diffusion]) -> Values:
    """D of each species."""
    return {f"D_{name}": _of(one.mean, "cm²/s", CM2_PER_S) for name, one in found.items()}


def spectrum_values(found: dict[str, DensityOfStates]) -> Values:
    """Where each density of states is highest."""
    return {
        f"dos_{name}_position": _entry(float(dos.frequency[dos.density.value.argmax()] / THZ), None, "THz")
        for name, dos in found.items()
    }


def green_kubo_values(found: GreenKubo, names: tuple[str, ...], quantity: str, unit: str) -> Values:
    """A coefficient and its channels; arguments as for `taichimd.observables.tables.write_green_kubo`."""
    values = {quantity: _of(found.mean, unit)}
    for name, value, error in zip(names, found.channels.value, found.channels.error, strict=True):
        values[f"{quantity}_{name}"] = _entry(float(value), float(error), unit)
    return values


def _of(mean: Mean, unit: str, size: float = 1.0) -> dict[str, Any]:
    return _entry(float(mean.value) / size, float(mean.error) / size, unit)


def _entry(value: float, error: float | None, unit: str) -> dict[str, Any]:
    # JSON knows no NaN, which the error of a single sample is.
    known = error is not None and math.isfinite(error)
    return {"value": value, "error": error if known else None, "unit": unit}
