"""What NEMD has found as tables, pictures, rows of a summary and entries of a record."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.estimators.series import Mean
from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import Finding, band, finding, joined, never_negative, plus_minus
from taichimd.observables.observable import Result
from taichimd.transport.layout import description
from taichimd.transport.nemd import Conduction, OfLength
from taichimd.transport.settings import KappaSettings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOT_STEADY = "not steady"
"""Status of a conductivity where heat does not flow steadily."""


def nemd_result(found: Conduction, settings: KappaSettings) -> Result:
    """Tables (lengths; profiles), picture and rows."""
    lengths = found.lengths
    table = {"length_A": np.array([one.layout.length for one in lengths])}
    for name, pick in _COLUMNS.items():
        means = [pick(one) for one in lengths]
        table |= {
            name: np.array([m.value for m in means]),
            f"error_{name}": np.array([m.error for m in means]),
        }
    profile = {
        "length_A": np.concatenate([np.full(len(one.place), one.layout.length) for one in lengths]),
        f"{settings.along}_A": np.concatenate([one.place for one in lengths]),
        "temperature_K": np.concatenate([one.profile.value for one in lengths]),
        "error_temperature_K": np.concatenate([one.profile.error for one in lengths]),
    }
    kappa = _kappa(found)
    what = (
        "infinite length" if len(lengths) > 1 else f"{lengths[0].layout.length / 10:.3g} nm between the baths"
    )
    rows = [("kappa", f"{kappa.number}, {what}{kappa.doubt}"), *_rows(lengths, settings)]
    if found.extrapolated is not None:
        line = found.extrapolated
        rows.append(("mean free path", f"{plus_minus(_nm(line.free_path))} nm"))
        rows.append(("chi^2", f"{line.chi2:.2g}, {line.freedom} degrees of freedom"))
    panels: list[Any] = [partial(_profiles, lengths=lengths, along=str(settings.along))]
    if len(lengths) > 1:
        panels.append(partial(_inverse, found=found))
    return Result([table, profile], panels, rows, {"kappa": kappa}, list(found.notes))


_COLUMNS: dict[str, Any] = {
    "kappa_W_per_mK": lambda one: one.kappa,
    "conductance_MW_per_m2K": lambda one: one.conductance,
    "source_eV_per_ps": lambda one: one.given,
    "sink_eV_per_ps": lambda one: one.taken,
    "difference_K": lambda one: one.difference,
    "kappa_of_gradient_W_per_mK": lambda one: one.gradient,
}


def _kappa(found: Conduction) -> Finding:
    steady = all(not one.not_steady for one in found.lengths)
    mean = found.kappa
    note = joined(mean.note, *(one.not_steady for one in found.lengths if one.not_steady))
    return never_negative(
        finding(
            mean.value,
            mean.error,
            "W/(m K)",
            NOT_STEADY if not steady and len(found.lengths) == 1 else "ok",
            note,
        )
    )


def _nm(mean: Mean) -> Mean:
    return Mean(mean.value / 10, mean.error / 10, mean.samples)


def _rows(lengths: tuple[OfLength, ...], settings: KappaSettings) -> list[tuple[str, str]]:
    rows = []
    for one in lengths:
        said = f", {one.layout.length / 10:.3g} nm" if len(lengths) > 1 else ""
        if len(lengths) > 1:
            rows.append((f"kappa{said}", f"{plus_minus(one.kappa)} W/(m K)"))
        rows += [
            (f"heat in{said}", f"{plus_minus(one.given)} eV/ps"),
            (f"heat out{said}", f"{plus_minus(one.taken)} eV/ps"),
            (f"baths{said}", f"{one.hot.value:.4g} and {one.cold.value:.4g} K"),
            (f"conductance{said}", f"{plus_minus(one.conductance)} MW/(m² K)"),
        ]
        if np.isfinite(one.gradient.value):
            rows.append((f"kappa of gradient{said}", f"{plus_minus(one.gradient)} W/(m K)"))
        for each in one.interfaces:
            rows.append(
                (
                    f"interface at {each.place:g} Å{said}",
                    f"jump {plus_minus(each.jump)} K, {plus_minus(each.resistance)} m² K/GW",
                )
            )
    return rows


def _profiles(axis: "Axes", lengths: tuple[OfLength, ...], along: str) -> None:
    for one in lengths:
        line = band(one.profile)
        label = f"{one.layout.length / 10:.3g} nm" if len(lengths) > 1 else ""
        curves(axis, one.place, {label: line}, f"{along} (Å)", "temperature (K)")
        for fit in one.lines:
            ends = np.array([fit.begin, fit.end])
            axis.plot(ends, [fit.temperature(x)[0] for x in ends], "k--", linewidth=0.8)
    if len(lengths) > 1:
        axis.legend()


def _inverse(axis: "Axes", found: Conduction) -> None:
    x = np.array([10.0 / one.layout.length for one in found.lengths])
    kappa = np.array([one.kappa.value for one in found.lengths])
    error = np.array([one.kappa.error for one in found.lengths])
    axis.errorbar(x, 1 / kappa, error / kappa**2, fmt="o")
    line = found.extrapolated
    if line is not None:
        ends = np.array([0.0, 1.05 * np.nanmax(x)])
        axis.plot(ends, (1 + line.free_path.value / 10 * ends) / line.kappa.value, "k--", linewidth=0.8)
    axis.set_xlabel("1/length (1/nm)")
    axis.set_ylabel("1/kappa (m K/W)")


def details_of(found: Conduction, settings: KappaSettings) -> dict[str, Any]:
    """Entries of kappa.json."""
    line = found.extrapolated
    return {
        "lengths": [
            {
                **description(one.layout, settings),
                "n_atoms": one.n_atoms,
                **{name: _entry(pick(one)) for name, pick in _COLUMNS.items()},
                "hot_K": _entry(one.hot),
                "cold_K": _entry(one.cold),
                "not_steady": one.not_steady,
                "gradients": [
                    {
                        "from_A": fit.begin,
                        "to_A": fit.end,
                        "K_per_A": fit.slope,
                        "error": fit.error,
                        "bins": fit.bins,
                    }
                    for fit in one.lines
                ],
                "interfaces": [
                    {
                        "place_A": each.place,
                        "jump_K": _entry(each.jump),
                        "resistance_m2K_per_GW": _entry(each.resistance),
                        "conductance_MW_per_m2K": _entry(each.conductance),
                    }
                    for each in one.interfaces
                ],
            }
            for one in found.lengths
        ],
        "extrapolation": None
        if line is None
        else {
            "mean_free_path_A": _entry(line.free_path),
            "covariance": line.covariance.tolist(),
            "chi2": line.chi2,
            "freedom": line.freedom,
            "residuals": line.residuals.tolist(),
        },
    }


def _entry(mean: Mean) -> dict[str, Any]:
    """Value and error, null where there is none."""
    of = [float(one) if np.isfinite(one) else None for one in (mean.value, mean.error)]
    return {"value": of[0], "error": of[1], "note": mean.note}
