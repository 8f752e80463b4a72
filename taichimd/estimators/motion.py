"""What moving atoms tell: mean square displacement, diffusion, velocity autocorrelation, density of states.

Trajectories are (frames, atoms, 3) at equal intervals, positions never wrapped. All time origins are used
(windowed averages). The error is the scatter over `blocks` pieces of the trajectory, each a sample of its
own; atoms of one piece are not independent of each other and do not count.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.estimators.average import MIN_INDEPENDENT
from taichimd.estimators.blocks import block_note, with_note
from taichimd.estimators.green_kubo import positive
from taichimd.estimators.series import Mean, autocorrelation, check_window, finite, mean_of

BALLISTIC = 2.0**1.5
"""Growth of the displacement in twice the time that counts as ballistic: 4 in free flight, 2 in diffusion."""
LINE_WIDTH = 1.276
"""Full width at half maximum of a line of the density of states, times the window."""
_CHUNK = 2_000_000
"""Numbers that one FFT takes at a time, so that memory does not grow with the atoms."""


@dataclass(frozen=True)
class Diffusion:
    """Mean square displacement and the slope of its linear part."""

    time: Array  # (m,) from 0
    msd: Mean  # (m, 3) along x, y, z, angstrom^2
    total: Mean  # (m,) their sum
    components: Mean  # (3,) diffusion coefficients along x, y, z, angstrom^2 / time
    mean: Mean  # D, the mean of the three
    fit: tuple[float, float]  # (t1, t2), where the line was fitted
    # False if the automatic choice found no end of the ballistic part; True if it did, or if the times were
    # given
    diffusive: bool = True


@dataclass(frozen=True)
class DensityOfStates:
    """Vibrations by frequency."""

    frequency: Array  # (m,) cycles (not radians) per time; multiply an angular one by 2 pi
    density: Mean  # (m,) states per frequency; the trapezoid sum over all frequencies is 3N


def _pieces(trajectory: Any, name: str, lags: int, blocks: int) -> Array:
    """(blocks, frames, atoms, 3), what does not fill a block left out at the start."""
    frames = finite(trajectory, name, 3)
    if frames.shape[2] != 3 or frames.shape[1] == 0:
        raise AnalysisError(f"{name} have the shape {frames.shape}, expected (frames, atoms, 3)")
    if blocks < 1:
        raise AnalysisError(f"{blocks} blocks: expected 1 or more")
    length = len(frames) // blocks
    check_window(lags, length, "run" if blocks == 1 else f"block ({blocks} of {len(frames)} frames)")
    return frames[len(frames) - blocks * length :].reshape(blocks, length, *frames.shape[1:])


def _over_atoms(piece: Array, lags: int, weights: Array, squares: bool) -> Array:
    """Weighted sum over atoms of autocorrelations, or of mean square displacements; (lags + 1, 3)."""
    total = np.zeros((lags + 1, 3))
    chunk = max(1, _CHUNK // (6 * len(piece)))
    for first in range(0, piece.shape[1], chunk):
        x = piece[:, first : first + chunk]
        if squares:
            x = x - x.mean(axis=0)
        values = autocorrelation(x, lags)
        if squares:
            values = _squares(x, lags) - 2.0 * values
            values[0] = 0.0
        total += np.einsum("kac,a->kc", values, weights[first : first + chunk])
    return total


def _squares(x: Array, lags: int) -> Array:
    """Mean over i of x_i^2 + x_{i+k}^2, for all k (the part of the displacement that is no correlation)."""
    n = len(x)
    sums = np.concatenate([np.zeros_like(x[:1]), np.cumsum(x * x, axis=0)])
    k = np.arange(lags + 1)
    return np.asarray((sums[n - k] + sums[n] - sums[k]) / (n - k)[:, None, None])


def diffusion_from_msd(
    positions: Any, dt: float, window: float, fit: tuple[float, float] | None = None, blocks: int = 5
) -> Diffusion:
    """D along x, y, z as half the slope of the mean square displacement (Einstein 1905), by a linear fit.

    Displacements, of all time origins, by FFT: V. Calandrini et al., Collection SFN 12, 201 (2011),
    doi:10.1051/sfn/201112010. Positions (frames, atoms, 3), angstrom, are never wrapped; the error is of
    `blocks` pieces; the fit as in `fit_diffusion`, which says how far to trust it.
    """
    positive(dt=dt, window=window)
    lags = round(window / dt)
    pieces = _pieces(positions, "positions", lags, blocks)
    n = pieces.shape[2]
    msd = np.array([_over_atoms(piece, lags, np.full(n, 1.0 / n), True) for piece in pieces])
    return fit_diffusion(msd, dt, fit)


def fit_diffusion(squares: Array, dt: float, fit: tuple[float, float] | None = None) -> Diffusion:
    """D from mean square displacements (samples, m, 3) of independent samples at the times 0, dt, 2 dt ...

    `fit`: times between which the line is fitted; None: from 0.2 to 1 times the longest, without the
    ballistic part, where displacements grow as t^2. It ends at the first time t > 0 whose doubling multiplies
    the displacement by 2^1.5 or less, half-way between t^2 and t. If there is none, the second half is
    fitted, and the result is not `diffusive`.
    """
    msd = finite(squares, "mean square displacements", 3)
    lags = msd.shape[1] - 1
    time: Array = dt * np.arange(lags + 1, dtype=np.float64)
    diffusive = True
    if fit is None:
        if lags < 2:
            raise AnalysisError(
                "no line through one time alone: expected two or more beyond 0; take a longer window"
            )
        end, diffusive = _ballistic_end(msd.sum(axis=2).mean(axis=0))
        fit = (dt * max(round(0.2 * lags), end), time[-1])
    first, last = fit
    a, b = round(first / dt), round(last / dt)
    if not 0 <= a < b <= lags:
        raise AnalysisError(
            f"line from {first:g} to {last:g}: expected two times in rising order within the window of "
            f"{time[-1]:g}, at least one frame ({dt:g}) apart"
        )
    t = time[a : b + 1] - time[a : b + 1].mean()
    slopes = np.einsum("t,stc->sc", t, msd[:, a : b + 1]) / (t @ t)
    note = block_note(slopes.mean(axis=1))
    return Diffusion(
        time=time,
        msd=with_note(mean_of(msd), note),
        total=with_note(mean_of(msd.sum(axis=2)), note),
        components=with_note(mean_of(0.5 * slopes), note),
        mean=with_note(mean_of(0.5 * slopes.mean(axis=1)), note),
        fit=(float(time[a]), float(time[b])),
        diffusive=diffusive,
    )


def _ballistic_end(total: Array) -> tuple[int, bool]:
    """Where the displacement, (m,), stops growing as t^2, and whether it does; else half of the times."""
    half = (len(total) - 1) // 2
    k = np.arange(1, half + 1)
    slower = np.flatnonzero(total[2 * k] <= BALLISTIC * total[k])
    return (int(k[slower[0]]), True) if slower.size else (half, False)


def velocity_autocorrelation(velocities: Any, lags: int, weights: Any = None, blocks: int = 1) -> Array:
    """Mean over atoms and all time origins of w v(t0) v(t0 + t), (blocks, lags + 1, 3), by FFT.

    Velocities (frames, atoms, 3); weights (atoms,), such as the masses, or None: 1.
    """
    pieces = _pieces(velocities, "velocities", lags, blocks)
    n = pieces.shape[2]
    w = np.ones(n) if weights is None else finite(weights, "weights", 1)
    if len(w) != n:
        raise AnalysisError(f"{len(w)} weights for {n} atoms")
    return np.array([_over_atoms(piece, lags, w / n, False) for piece in pieces])


def density_of_states(
    velocities: Any, masses: Any, dt: float, window: float, blocks: int = 5
) -> DensityOfStates:
    """Vibrational density of states: cosine transform of the mass-weighted velocity autocorrelation.

    J. M. Dickey and A. Paskin, Phys. Rev. 188, 1407 (1969). The correlation is multiplied by the window of E.
    Parzen, Technometrics 3, 167 (1961), which makes lines 1.3/T wide (`LINE_WIDTH`) with T the longest time.
    Its transform, (sin x / x)^4, is nowhere negative, so that a line leaks no negative density to other
    frequencies. Frequencies reach up to 1/(2 dt); faster vibrations fold back.
    """
    positive(dt=dt, window=window)
    lags = round(window / dt)
    correlation = velocity_autocorrelation(velocities, lags, masses, blocks).sum(axis=2)
    return spectrum(correlation, len(np.asarray(masses)), dt)


def spectrum(correlations: Array, n_atoms: int, dt: float) -> DensityOfStates:
    """Density of states from velocity autocorrelations of independent samples, as in `density_of_states`.

    Correlations (samples, m) are mass-weighted, the three directions added up; their scale does not matter.
    """
    correlation = finite(correlations, "velocity autocorrelation", 2)
    lags = correlation.shape[1] - 1
    if not (correlation[:, 0] > 0).all():
        raise AnalysisError("atoms at rest have no density of states")
    normalised = correlation / correlation[:, :1] * parzen(lags)
    # Real part of the FFT of the even continuation; its trapezoid sum is 3N exactly.
    even = np.concatenate([normalised, normalised[:, -2:0:-1]], axis=1)
    density = 3 * n_atoms * 2.0 * dt * np.fft.rfft(even, axis=1).real
    note = joint_note(correlation)
    return DensityOfStates(np.arange(lags + 1) / (2.0 * lags * dt), with_note(mean_of(density), note))


def parzen(lags: int) -> Array:
    """Parzen's window at the lags 0 to `lags`, where it ends: 1 at 0, and of a transform above zero."""
    x = np.arange(lags + 1) / lags
    return np.where(x <= 0.5, 1.0 - 6.0 * x**2 * (1.0 - x), 2.0 * (1.0 - x) ** 3)


def joint_note(correlations: Array) -> str:
    """Why velocity autocorrelations (blocks, m) of consecutive blocks give no error; "" if they do.

    The record must be ten correlation times long, 2 times the integral of the square of the normalised
    autocorrelation: R. Zwanzig and N. K. Ailawadi, Phys. Rev. 182, 280 (1969). A block is taken to be two
    windows long.
    """
    blocks, lags = len(correlations), correlations.shape[1] - 1
    mean = correlations.mean(axis=0) / correlations[:, 0].mean()
    time = 2.0 * (np.sum(mean**2) - 0.5 * (mean[0] ** 2 + mean[-1] ** 2))
    lengths = 2.0 * lags * blocks / max(time, 1e-300)
    if blocks > 1 and round(lengths) < MIN_INDEPENDENT:
        return f"no error: the record is {lengths:.1f} correlation times long, shorter than {MIN_INDEPENDENT}"
    return block_note(correlations[:, 0])


def unwrapped(positions: Any, cells: Any, pbc: Any) -> tuple[Array, int]:
    """Undo the folding of atoms into the cell; returns positions, and how many jumps were undone.

    Between frames each atom takes the shortest way: right if no atom really moves by half a cell.
    """
    x, boxes = finite(positions, "positions", 3).copy(), finite(cells, "cells", 3)
    periodic = np.asarray(pbc, bool) & (np.linalg.norm(boxes, axis=2).min(axis=0) > 0)
    jumps = 0
    if not periodic.any():
        return x, jumps
    # Vectors of directions without periodicity may be anything; they take no part.
    inverses = np.linalg.pinv(boxes[:, periodic])
    for k in range(1, len(x)):
        # In units of the cell, so that a cell that changes turns no atom that is many cells away.
        turns = np.round(x[k] @ inverses[k] - x[k - 1] @ inverses[k - 1])
        jumps += int(np.count_nonzero(turns.any(axis=1)))
        x[k] -= turns @ boxes[k][periodic]
    return x, jumps


def at_mean_cell(positions: Any, cells: Any, pbc: Any) -> Array:
    """Positions (frames, atoms, 3) as they were in the mean cell: without the strain of a cell that changes.

    With it an atom that is n cells away moves by n times every change of the cell, which is no diffusion: S.
    von Bülow, J. T. Bullerjahn, G. Hummer, J. Chem. Phys. 153, 021101 (2020), doi:10.1063/5.0008316.
    """
    x, boxes = finite(positions, "positions", 3), finite(cells, "cells", 3)
    periodic = np.asarray(pbc, bool) & (np.linalg.norm(boxes, axis=2).min(axis=0) > 0)
    if not periodic.any():
        return x
    rows = boxes[:, periodic]
    return np.asarray(x + (x @ np.linalg.pinv(rows)) @ (rows.mean(axis=0) - rows))


def without_drift(trajectory: Any, masses: Any) -> Array:
    """Positions or velocities relative to the centre of mass, which neither diffuses nor vibrates."""
    x = finite(trajectory, "trajectory", 3)
    w = np.asarray(masses, float) / np.sum(masses)
    return np.asarray(x - np.einsum("fac,a->fc", x, w)[:, None])
