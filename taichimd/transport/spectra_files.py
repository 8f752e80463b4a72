"""Spectra of a conductivity as a table, a panel, rows of a summary and entries of a record."""

from functools import partial
from typing import Any

import numpy as np

from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import band, finding, plus_minus
from taichimd.observables.observable import Result
from taichimd.transport.kappa import Kappa
from taichimd.transport.spectra import Spectral

_CONVECTIVE = 0.01
"""Share of the current above which a note says that atoms carry it along."""


def add_spectra(result: Result, details: dict[str, Any], found: Kappa) -> None:
    """Add table, panel, rows and values to a result, and entries to those of a record."""
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
    x = spectra[0].w / (2.0 * np.pi)
    result.panels.append(partial(curves, x=x, lines=lines, x_label="frequency (THz)", y_label=label))
    for s in spectra:
        what = "kappa" if found.conduction is None else "conductance"
        result.rows += [
            (f"integral of {what}(w)", f"{plus_minus(s.total)} {s.unit}, potential part"),
            ("with quantum correction", f"{plus_minus(s.corrected)} {s.unit}"),
            ("convective share", f"{s.convective.value:.2%}"),
        ]
    details["spectra"] = [
        {
            "integral": finding(s.total.value, s.total.error, s.unit, note=s.total.note).entry(),
            "with_quantum_correction": finding(s.corrected.value, s.corrected.error, s.unit).entry(),
            "convective_share": finding(s.convective.value, s.convective.error, "1").entry(),
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
