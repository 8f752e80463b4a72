"""Files of GPUMD: shc.out, hac.out, kappa.out and compute.out as tables in the units of taichimd.

Columns and units as GPUMD's manual has them (Z. Fan et al., J. Chem. Phys. 157, 114801 (2022)). Its natural
unit of time is angstrom sqrt(amu/eV) = 10.180506 fs. Newer versions print K of shc.out after the Hann window,
older ones before it; J of the same file tells which. The table has K without the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import OutputError
from taichimd.estimators.spectra import PER_CONDUCTANCE, PER_KAPPA, hann

NATURAL_FS = 10.180506
"""fs of angstrom sqrt(amu/eV)."""
FILES = ("shc.out", "hac.out", "kappa.out", "compute.out")
Tables = dict[str, dict[str, Array]]
"""Columns of tables, by the names of their files without suffix."""
_QUANTITIES = {
    "temperature": 1, "potential": 1, "force": 3, "virial": 9, "jp": 3, "jk": 3, "momentum": 3,
}  # fmt: skip
"""Columns of one group in compute.out, in this order."""
_UNITS = {
    "temperature": "K", "potential": "eV", "force": "eV_per_A", "virial": "eV", "jp": "eVA_per_fs",
    "jk": "eVA_per_fs",
    "momentum": "amuA_per_fs",
}  # fmt: skip


@dataclass(frozen=True)
class GpumdRun:
    """What files of GPUMD do not say."""

    volume: float | None = None  # angstrom^3, for a conductivity or a conductance from shc.out
    temperature: float | None = None  # K
    driving_force: float | None = None  # 1/angstrom, of HNEMD
    difference: float | None = None  # K, of NEMD
    # Nc of compute_shc; needed where shc.out has several calculations one after the other
    lags: int | None = None
    quantities: tuple[str, ...] = ()  # of compute.out, in GPUMD's order
    interval: float | None = None  # fs between its rows


def read_gpumd(path: Path, of: GpumdRun) -> Tables:
    """Tables of one file, whose name says what it is; an OutputError if it cannot be read or is cut."""
    if path.name not in FILES:
        raise OutputError(f"{path}: expected a file of GPUMD called {', '.join(FILES[:-1])} or {FILES[-1]}")
    if path.name == "shc.out":
        return _shc(path, of)
    rows = _rows(path)
    if path.name == "hac.out":
        return _hac(path, rows)
    if path.name == "kappa.out":
        return _kappa(path, rows)
    return _compute(path, rows, of)


def _lines(path: Path) -> list[list[float]]:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(f"{path} cannot be read: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        try:
            if words:
                found.append([float(word) for word in words])
        except ValueError:
            raise OutputError(f"{path}, line {number}: expected numbers, got {line.strip()[:40]!r}") from None
    if not found:
        raise OutputError(f"{path} has no numbers; expected the output of a run of GPUMD that has finished")
    return found


def _rows(path: Path) -> Array:
    found = _lines(path)
    widths = {len(one) for one in found}
    if len(widths) > 1:
        raise OutputError(
            f"{path} has rows of {min(widths)} and {max(widths)} numbers; expected rows of one length: the "
            "file may be cut off"
        )
    return np.array(found)


def _width(path: Path, rows: Array, width: int) -> None:
    if rows.shape[1] != width:
        raise OutputError(f"{path} has {rows.shape[1]} columns, expected {width}")


def _shc(path: Path, of: GpumdRun) -> Tables:
    rows = _rows(path)
    _width(path, rows, 3)
    # Times rise from -(Nc - 1) d, frequencies start above 0.
    lags = of.lags or (int(np.argmin(np.abs(rows[:, 0]))) + 1 if rows[0, 0] < 0 else 0)
    middle = 2 * lags - 1
    if lags < 1 or len(rows) <= middle or abs(rows[lags - 1, 0]) > 1e-9:
        raise OutputError(f"{path}: expected 2 Nc - 1 rows of times around 0, then rows of frequencies")
    time, w = rows[:middle], rows[middle:]
    if (np.diff(w[:, 0]) <= 0).any():
        raise OutputError(f"{path} has several calculations; give each as a file of its own")
    j = w[:, 1:]
    k = _without_window(time, w, np.concatenate([hann(lags)[:0:-1], hann(lags)])[:, None])
    spectral = {
        "frequency_THz": w[:, 0] / (2 * np.pi), "w_rad_per_ps": w[:, 0], "J_all": j.sum(axis=1),
        "J_all_out": j[:, 1],
    }  # fmt: skip
    if of.volume and of.temperature and of.driving_force:
        scale = PER_KAPPA / (of.volume * of.temperature * of.driving_force)
        spectral |= {
            "kappa_W_per_mK_per_THz": scale * j.sum(axis=1), "kappa_out_W_per_mK_per_THz": scale * j[:, 1],
        }  # fmt: skip
    if of.volume and of.difference:
        scale = PER_CONDUCTANCE / (of.volume * of.difference)
        spectral |= {"conductance_GW_per_m2K_per_THz": scale * j.sum(axis=1)}
    return {
        "spectrum": spectral,
        "spectrum_correlation": {"time_ps": time[:, 0], "K_all": k.sum(axis=1), "K_all_out": k[:, 1]},
    }


def _without_window(time: Array, w: Array, window: Array) -> Array:
    """K without the window: as it is printed, or over the window if J is the sum of what is printed."""
    k, cosines = time[:, 1:], np.cos(np.outer(w[:, 0], time[:, 0]))
    step = 2.0 * (time[1, 0] - time[0, 0]) if len(time) > 1 else 0.0
    before, after = (np.abs(step * cosines @ (k * one) - w[:, 1:]).max() for one in (window, 1.0))
    return np.asarray(k if before < after else k / window)


def _hac(path: Path, rows: Array) -> Tables:
    _width(path, rows, 11)
    # 1 eV^3/amu = (eV angstrom per natural time)^2.
    unit = 1.0 / NATURAL_FS**2
    parts = ("x_in", "x_out", "y_in", "y_out", "z")
    table = {"time_ps": rows[:, 0]}
    table |= {f"correlation_{part}_eVA_per_fs_2": unit * rows[:, 1 + k] for k, part in enumerate(parts)}
    table |= {f"kappa_{part}_W_per_mK": rows[:, 6 + k] for k, part in enumerate(parts)}
    return {"kappa": table}


def _kappa(path: Path, rows: Array) -> Tables:
    _width(path, rows, 5)
    running = np.cumsum(rows, axis=0) / np.arange(1.0, len(rows) + 1)[:, None]
    table: dict[str, Array] = {"row": np.arange(1.0, len(rows) + 1)}
    for k, part in enumerate(("x_in", "x_out", "y_in", "y_out", "z")):
        table |= {f"kappa_{part}_W_per_mK": rows[:, k], f"running_kappa_{part}_W_per_mK": running[:, k]}
    return {"kappa": table}


def _compute(path: Path, rows: Array, of: GpumdRun) -> Tables:
    unknown = [one for one in of.quantities if one not in _QUANTITIES]
    if unknown or not of.quantities:
        what = f"unknown {unknown[0]!r}" if unknown else "compute.out does not say its quantities"
        raise OutputError(f"{path}: {what}; expected --quantities with some of {', '.join(_QUANTITIES)}")
    chosen = [one for one in _QUANTITIES if one in of.quantities]
    width = sum(_QUANTITIES[one] for one in chosen)
    own = rows.shape[1] - 2 * ("temperature" in chosen)
    if own < width or own % width:
        raise OutputError(f"{path} has {rows.shape[1]} columns; expected a multiple of {width}")
    groups, at = own // width, 0
    table: dict[str, Array] = {"row": np.arange(1.0, len(rows) + 1)}
    if of.interval:
        table = {"time_ps": of.interval / 1000.0 * np.arange(1.0, len(rows) + 1)}
    scale = {"jp": 1.0 / NATURAL_FS, "jk": 1.0 / NATURAL_FS, "momentum": 1.0 / NATURAL_FS}
    # Column after column of each quantity, of all groups.
    for one in chosen:
        parts = _QUANTITIES[one]
        names = {1: ("",), 3: ("_x", "_y", "_z")}.get(parts, tuple(f"_{a}{b}" for a in "xyz" for b in "xyz"))
        for part in names:
            for g in range(groups):
                table[f"{one}_{g}{part}_{_UNITS[one]}"] = rows[:, at] * scale.get(one, 1.0)
                at += 1
    if "temperature" in chosen:
        table |= {"heat_source_eV": rows[:, at], "heat_sink_eV": rows[:, at + 1]}
    return {"flow": table}


def names_of(quantities: Sequence[str]) -> tuple[str, ...]:
    """Quantities of a text such as "temperature,jp"."""
    return tuple(one.strip() for one in quantities if one.strip())
