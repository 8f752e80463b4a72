"""Spectra of a conductivity as a table, a panel, rows of a summary and entries of a record."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import band, finding, plus_minus
from taichimd.observables.observable import Result
from taichimd.transport.free_paths import FreePaths
from taichimd.transport.kappa import Kappa
from taichimd.transport.spectra import Spectral

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CONVECTIVE = 0.01
"""Share of the current above which a note says that atoms carry it along."""


def add_spectra(result: Result, details: dict[str, Any], found: Kappa, sheet: bool) -> None:
    """Add table, panel, rows and values to a result, and entries to the details of its record."""
    spectra = found.spectra
    lengths = (
        [np.nan] if found.conduction is None else [one.layout.length for one in found.conduction.lengths]
    )
    name = "kappa_W_per_mK_per_THz" if found.conduction is None else "conductance_GW_per_m2K_per_THz"
    columns = {
        "length_A": np.concatenate([np.full(len(s.w), x) for s, x in zip(spectra, lengths, strict=True)]),
        "frequency_THz": np.concatenate([s.w for s in spectra]) / (2.0 * np.pi),
        name: np.concatenate([s.values.value for s in spectra]),
        f"error_{name}": np.concatenate([s.values.error for s in spectra]),
        f"{name}_out": np.concatenate([s.out.value for s in spectra]),
        "quantum_correction": np.concatenate([s.correction for s in spectra]),
        f"{name}_quantum": np.concatenate([s.values.value * s.correction for s in spectra]),
    }
    if found.conduction is None:
        del columns["length_A"]
    result.tables.append(columns)
    lines = {
        "" if len(spectra) == 1 else f"{x / 10:.3g} nm": band(s.values)
        for s, x in zip(spectra, lengths, strict=True)
    }
    label = f"{'κ' if found.conduction is None else 'G'}(ω) ({spectra[0].unit}/THz)"
    if found.paths is not None:
        columns["free_path_nm"] = found.paths.paths
    if found.paths is None and len(spectra) == 1 and sheet:
        lines["out of the plane"] = band(spectra[0].out)
    x = spectra[0].w / (2.0 * np.pi)
    result.panels.append(partial(curves, x=x, lines=lines, x_label="frequency (THz)", y_label=label))
    for s in spectra:
        what = "kappa" if found.conduction is None else "conductance"
        result.rows += [
            (f"integral of {what}(w)", f"{plus_minus(s.total)} {s.unit}, potential part"),
            ("with quantum correction", f"{plus_minus(s.corrected)} {s.unit}"),
            ("convective share", f"{s.convective.value:.2%}"),
        ]
        if sheet:
            parts = f"{plus_minus(s.within)} in the plane, {plus_minus(s.outside)} out of it {s.unit}"
            result.rows.append((f"{what} of velocities", parts))
    details["spectra"] = [
        {
            "integral": finding(s.total.value, s.total.error, s.unit, note=s.total.note).entry(),
            "with_quantum_correction": finding(s.corrected.value, s.corrected.error, s.unit).entry(),
            "convective_share": finding(s.convective.value, s.convective.error, "1").entry(),
            "in_plane": finding(s.within.value, s.within.error, s.unit).entry(),
            "out_of_plane": finding(s.outside.value, s.outside.error, s.unit).entry(),
        }
        for s in spectra
    ]


def notes_on(found: Spectral) -> list[str]:
    """What a reader of a spectrum must know."""
    notes = [
        "the quantum correction holds for harmonic transmission, amorphous solids and interfaces; for a "
        "crystal, where phonons scatter each other, it makes kappa too small"
    ]
    share, error = abs(found.convective.value), float(np.nan_to_num(found.convective.error))
    if share > max(_CONVECTIVE, 2.0 * error):
        notes.append(f"atoms carry {share:.1%} of the current along, which the spectrum does not contain")
    return notes


def add_interfaces(result: Result, details: dict[str, Any], found: Kappa) -> None:
    """Add what is resolved by frequency of each interface of NEMD: a table, a panel, rows and entries."""
    name, spectra = "conductance_GW_per_m2K_per_THz", found.across
    result.tables.append({
        "place_A": np.concatenate([np.full(len(s.w), s.place) for s in spectra]),
        "frequency_THz": np.concatenate([s.w for s in spectra]) / (2.0 * np.pi),
        name: np.concatenate([s.values.value for s in spectra]),
        f"error_{name}": np.concatenate([s.values.error for s in spectra]),
        "quantum_correction": np.concatenate([s.correction for s in spectra]),
        f"{name}_quantum": np.concatenate([s.values.value * s.correction for s in spectra]),
    })  # fmt: skip
    lines = {f"{s.place:g} Å": band(s.values) for s in spectra}
    x, label = spectra[0].w / (2.0 * np.pi), f"G(ω) of interfaces ({spectra[0].unit}/THz)"
    result.panels.append(partial(curves, x=x, lines=lines, x_label="frequency (THz)", y_label=label))
    for s in spectra:
        result.rows += [
            (f"integral of G(w) at {s.place:g} Å", f"{plus_minus(s.total)} {s.unit}"),
            ("with quantum correction", f"{plus_minus(s.corrected)} {s.unit}"),
        ]
    details["interface_spectra"] = [
        {
            "place_A": s.place,
            "integral": finding(s.total.value, s.total.error, s.unit, note=s.total.note).entry(),
            "with_quantum_correction": finding(s.corrected.value, s.corrected.error, s.unit).entry(),
        }
        for s in spectra
    ]


def add_free_paths(result: Result, details: dict[str, Any], found: FreePaths) -> None:
    """Add kappa(L) and the accumulation of kappa: a table, a panel, a row and entries."""
    result.tables.append({
        "length_nm": found.lengths,
        "kappa_of_length_W_per_mK": found.kappa,
        "accumulated_W_per_mK": found.accumulated,
    })  # fmt: skip
    none = np.zeros(len(found.lengths))
    lines = {"κ(L)": (found.kappa, none), "free paths up to L": (found.accumulated, none)}

    def panel(axis: "Axes") -> None:
        curves(axis, found.lengths, lines, "length L (nm)", "kappa (W/(m K))")
        axis.set_xscale("log")

    result.panels.append(panel)
    unknown = f", {found.unknown:.3g} W/(m K) of unknown free path" if found.unknown else ""
    result.rows.append(("mean free paths", f"half of kappa below {found.half:.3g} nm{unknown}"))
    details["free_paths"] = {"half_below_nm": found.half, "unknown_W_per_mK": found.unknown}
