"""Mean free paths by frequency, kappa(L) and the accumulation of kappa, from kappa(w) and ballistic G(w)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.estimators.spectra import accumulation, free_paths, kappa_of_length
from taichimd.io.analysis_files import read_table

COLUMN = "conductance_GW_per_m2K_per_THz"
_DIFFERS = 0.1
"""Share by which conductances of two lengths may differ in the ballistic limit."""
_POINTS = 80
"""Lengths of the table."""


@dataclass(frozen=True)
class FreePaths:
    """What follows from kappa(w) and G(w)."""

    paths: Array  # (m,) lambda(w), nm, at the frequencies of kappa(w); NaN where G(w) is within three errors
    lengths: Array  # (k,) nm
    kappa: Array  # (k,) kappa(L), W/(m K)
    accumulated: Array  # (k,) kappa of modes with lambda <= L
    unknown: float  # W/(m K) of frequencies without a free path
    notes: tuple[str, ...]  # what makes it doubtful

    @property
    def half(self) -> float:
        """Free path (nm) up to which modes carry half of the kappa that is known."""
        return float(np.interp(0.5 * self.accumulated[-1], self.accumulated, self.lengths))


def paths_of(w: Array, spectrum: Array, file: str) -> FreePaths:
    """Free paths of kappa(w) of HNEMD with the ballistic conductance of a spectrum.csv of NEMD.

    Of several lengths in the file the shortest one counts.
    """
    frequency, conductance, error, notes = _read(file)
    nu = w / (2.0 * np.pi)
    inside = nu <= frequency[-1]
    g = np.where(inside, np.interp(nu, frequency, conductance), 0.0)
    paths = free_paths(spectrum, g, np.interp(nu, frequency, error))
    known = np.isfinite(paths) & (paths > 0.0)
    paths = np.where(known, paths, np.nan)
    width = float(w[1] - w[0])
    unknown = float(spectrum[~known].sum() * width / (2.0 * np.pi))
    if not known.any():
        raise SettingsError(
            f"ballistic = {file}: its conductance is nowhere above three of its errors; take longer or more "
            "runs of the short system"
        )
    ordered, summed = accumulation(spectrum, paths, width)
    lengths = np.geomspace(0.1 * ordered[0], 100.0 * ordered[-1], _POINTS)
    kappa = kappa_of_length(spectrum, paths, lengths, width)
    reached = np.searchsorted(ordered, lengths, side="right")
    return FreePaths(paths, lengths, kappa, np.concatenate([[0.0], summed])[reached], unknown, notes)


def check_ballistic(file: str) -> None:
    """Raise a SettingsError if a file has no ballistic conductance."""
    _read(file)


def _read(file: str) -> tuple[Array, Array, Array, tuple[str, ...]]:
    """Frequencies (THz), conductance and error of the shortest length, and notes."""
    wanted = ("length_A", "frequency_THz", COLUMN, f"error_{COLUMN}")
    table = read_table(Path(file)) if Path(file).is_file() else {}
    missing = [name for name in wanted if name not in table]
    if missing:
        what = "there is no such file" if not table else f"it has no column {missing[0]}"
        raise SettingsError(
            f"ballistic = {file}: {what}; expected spectrum.csv of taichimd kappa --method nemd --spectrum"
        )
    lengths = np.unique(table["length_A"])
    rows = table["length_A"] == lengths[0]
    frequency, conductance, error = (table[name][rows] for name in wanted[1:])
    if len(lengths) == 1:
        return frequency, conductance, error, (
            "one length of a ballistic system: whether heat is ballistic there is not known; give the short "
            "nemd two --lengths",
        )  # fmt: skip
    other = table[COLUMN][table["length_A"] == lengths[1]].sum()
    if abs(other - conductance.sum()) <= _DIFFERS * abs(conductance.sum()):
        return frequency, conductance, error, ()
    return frequency, conductance, error, (
        f"the conductances of {lengths[0] / 10:.3g} and {lengths[1] / 10:.3g} nm differ by "
        f"{abs(other / conductance.sum() - 1.0):.0%}: heat is not ballistic there, and free paths come out "
        "too short; take shorter lengths",
    )  # fmt: skip
