"""Conductivity and conductance by frequency, from what runs have kept of their spectra."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taichimd.core.arrays import Array
from taichimd.estimators.blocks import block_note, with_note
from taichimd.estimators.series import Mean, mean_of
from taichimd.estimators.spectra import PER_CONDUCTANCE, PER_KAPPA, frequencies, integral, quantum, spectrum
from taichimd.transport.layout import Layout
from taichimd.transport.nemd import Interface
from taichimd.transport.runs import RunSamples
from taichimd.transport.settings import KappaSettings

_APART = 0.1
"""Share by which the heat through an interface may differ from the heat of the baths without a note."""


@dataclass(frozen=True)
class Spectral:
    """What is resolved by frequency."""

    w: Array  # (m,) rad/ps, centres of equal cells
    values: Mean  # (m,) W/(m K)/THz of HNEMD, GW/(m^2 K)/THz of NEMD
    out: Mean  # (m,) the part of velocities along z
    total: Mean  # its integral, of the potential part of the heat current alone
    correction: Array  # (m,) quantum correction f(w)
    corrected: Mean  # integral with it
    convective: Mean  # share of the current that moving atoms carry along, which the values do not contain
    unit: str  # of the integrals
    temperature: float  # K, of the correction
    within: Mean  # integral of the part in the plane of x and y
    outside: Mean  # integral of the part out of this plane
    place: float = np.nan  # of an interface, angstrom; NaN of the whole


def spectral(
    runs: Sequence[RunSamples], settings: KappaSettings, volume: float, temperature: float,
    layout: Layout | None,
) -> Spectral:  # fmt: skip
    """Mean of the spectra over runs, or over the blocks of one run; volume for HNEMD, layout of NEMD."""
    if layout is None:
        assert settings.driving_force is not None
        shares = np.array([PER_KAPPA / (volume * temperature * settings.driving_force)])
        return _resolved(runs, shares, 0, temperature, "W/(m K)")
    assert settings.difference is not None
    per = PER_CONDUCTANCE / (layout.area * settings.difference * len(layout.pieces))
    shares = np.array([
        sign * per / (end - begin) for sign, (begin, end) in zip(layout.signs, layout.pieces, strict=True)
    ])  # fmt: skip
    return _resolved(runs, shares, 0, temperature, "GW/(m² K)")


def across_interfaces(
    runs: Sequence[RunSamples], layout: Layout, interfaces: Sequence[Interface], whole: Spectral
) -> list[Spectral]:
    """Conductance of each interface of NEMD by frequency: heat flow through it over its temperature jump."""
    jumps = {one.place: one.jump.value or np.nan for one in interfaces}
    found = []
    for k, place in enumerate(layout.interfaces):
        share = layout.sign_at(place) * PER_CONDUCTANCE / (layout.area * jumps.get(place, np.nan))
        one = _resolved(runs, np.array([share]), len(layout.paths) + k, whole.temperature, "GW/(m² K)")
        found.append(replace(one, place=place))
    return found


def notes_on_flow(across: Sequence[Spectral], interfaces: Sequence[Interface]) -> list[str]:
    """Notes on interfaces through which less or more heat flows than the baths give.

    Both conductances are of one temperature jump, so that only the heat can differ.
    """
    notes = []
    by_place = {one.place: one.conductance for one in interfaces}
    for one in across:
        bath = by_place.get(one.place)
        if bath is None or not np.isfinite([one.total.value, one.total.error, bath.value]).all():
            continue
        share = 1.0e3 * one.total.value / bath.value
        error = 1.0e3 * one.total.error / bath.value
        if abs(share - 1.0) > max(2.0 * error, _APART):
            notes.append(
                f"through the interface at {one.place:g} Å flows {share:.0%} ± {error:.0%} of the heat that "
                "the baths give: the flow is not steady yet; take a longer --window"
            )
    return notes


def _resolved(
    runs: Sequence[RunSamples], shares: Array, first: int, temperature: float, unit: str
) -> Spectral:
    """Weighted sum of the spectra of groups from number `first` on."""
    one_run, interval = len(runs) == 1, float(runs[0].found["interval"][0])
    groups = slice(first, first + len(shares))

    def of(name: str) -> Array:
        return runs[0].found[name] if one_run else np.array([run.found[name].mean(axis=0) for run in runs])

    plus, minus, carried = (of("K_plus")[:, :, groups], of("K_minus")[:, :, groups], of("carried")[:, groups])
    lags = plus.shape[1]
    each = np.array([spectrum(p, m, interval) for p, m in zip(plus, minus, strict=True)])
    scaled = np.einsum("rmgc,g->rmc", each, shares)
    total, out = scaled.sum(axis=-1), scaled[..., 2]
    w = frequencies(lags, interval)
    f = quantum(w, temperature)
    moving, sums = carried @ shares, integral(total.T, lags, interval)
    outside = integral(out.T, lags, interval)
    share = float(sums.mean() + moving.mean())
    return Spectral(
        w, mean_of(total), mean_of(out), with_note(mean_of(sums), block_note(sums, consecutive=one_run)), f,
        mean_of(integral((total * f).T, lags, interval)),
        mean_of(moving / share) if share else Mean(np.nan, np.nan, 0), unit, temperature,
        mean_of(sums - outside), mean_of(outside),
    )  # fmt: skip
