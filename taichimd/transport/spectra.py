"""Conductivity and conductance by frequency, from what runs have kept of their spectra."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taichimd.core.arrays import Array
from taichimd.estimators.blocks import block_note, with_note
from taichimd.estimators.series import Mean, mean_of
from taichimd.estimators.spectra import (
    PER_CONDUCTANCE,
    PER_KAPPA,
    frequencies,
    integral,
    quantum,
    spectrum,
)
from taichimd.transport.layout import Layout
from taichimd.transport.runs import RunSamples
from taichimd.transport.settings import KappaSettings


@dataclass(frozen=True)
class Spectral:
    """What is resolved by frequency.

    Attributes:
        w: (m,) rad/ps, centres of equal cells.
        values: (m,) W/(m K)/THz of HNEMD, GW/(m^2 K)/THz of NEMD. out: (m,) the part of velocities along z.
        total: its integral, of the potential part of the heat current alone.
        correction: (m,) quantum correction f(w). corrected: integral with it.
        convective: share of the current that moving atoms carry along, which the values do not contain.
        unit: of the integrals.
    """

    w: Array
    values: Mean
    out: Mean
    total: Mean
    correction: Array
    corrected: Mean
    convective: Mean
    unit: str


def spectral(
    runs: Sequence[RunSamples], settings: KappaSettings, volume: float, temperature: float,
    layout: Layout | None,
) -> Spectral:  # fmt: skip
    """Mean over runs, or over the blocks of one run.

    Args:
        runs: finished, with spectra.
        settings: of the runs.
        volume: angstrom^3, of HNEMD.
        temperature: K, mean of the runs.
        layout: of NEMD.
    """
    alone, interval = len(runs) == 1, float(runs[0].found["interval"][0])
    plus, minus = (
        runs[0].found[f"K_{side}"]
        if alone
        else np.array([run.found[f"K_{side}"].mean(axis=0) for run in runs])
        for side in ("plus", "minus")
    )
    carried = (
        runs[0].found["carried"] if alone else np.array([run.found["carried"].mean(axis=0) for run in runs])
    )
    if layout is None:
        assert settings.driving_force is not None
        shares = np.array([PER_KAPPA / (volume * temperature * settings.driving_force)])
        unit = "W/(m K)"
    else:
        assert settings.difference is not None
        per = PER_CONDUCTANCE / (layout.area * settings.difference * len(layout.pieces))
        shares = np.array([
            sign * per / (end - begin) for sign, (begin, end) in zip(layout.signs, layout.pieces, strict=True)
        ])  # fmt: skip
        unit = "GW/(m² K)"
    lags = plus.shape[1]
    each = np.array([spectrum(p, m, interval) for p, m in zip(plus, minus, strict=True)])
    scaled = np.einsum("rmgc,g->rmc", each, shares)
    total, out = scaled.sum(axis=-1), scaled[..., 2]
    w = frequencies(lags, interval)
    f = quantum(w, temperature)
    moving, sums = carried @ shares, integral(total.T, lags, interval)
    whole = float(sums.mean() + moving.mean())
    return Spectral(
        w, mean_of(total), mean_of(out), with_note(mean_of(sums), block_note(sums, consecutive=alone)), f,
        mean_of(integral((total * f).T, lags, interval)),
        mean_of(moving / whole) if whole else Mean(np.nan, np.nan, 0), unit,
    )  # fmt: skip
