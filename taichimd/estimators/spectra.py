"""Heat currents resolved by frequency: from correlations with both signs of time to J(w), and what follows.

    K(t) = sum_i <[W_i(0)]_x . v_i(t)>,   J(w) = 2 int cos(w t) K(t) dt,   K(0) = int_0^inf J(w) dw/2pi

Z. Fan et al., Phys. Rev. B 92, 094301 (2015); K. Saaskilahti et al., Phys. Rev. B 91, 115426 (2015);
Y. Zhou and M. Hu, Phys. Rev. B 92, 195204 (2015); Z. Fan et al., Phys. Rev. B 99, 064308 (2019), lambda(w).
"""

import numpy as np

from taichimd.core.arrays import Array

HBAR_OVER_K = 7.638233
"""K of 1 rad/ps: hbar/k_B."""
PER_KAPPA = 1602.176634
"""W/(m K) of 1 eV/(ps angstrom K)."""
PER_CONDUCTANCE = 16021.76634
"""GW/(m^2 K) of 1 eV/(ps angstrom^2 K)."""


def hann(lags: int) -> Array:
    """(lags,) window h_n = (1 + cos(pi n/N))/2 of lags 0 to N - 1."""
    return 0.5 * (1.0 + np.cos(np.pi * np.arange(lags) / lags))


def frequencies(lags: int, interval: float) -> Array:
    """(2 lags,) rad/ps, centres of equal cells from 0 to pi/interval (ps)."""
    return np.pi / interval * (np.arange(2 * lags) + 0.5) / (2 * lags)


def spectrum(plus: Array, minus: Array, interval: float) -> Array:
    """J(w), (2 lags, ...), at `frequencies`: 2 d sum_n h_n K_n cos(w n d) over lags (ps) of both signs.

    Its sum over the cells times their width over 2 pi is K_0, to rounding, whatever interval and window are:
    this checks factors, and neither aliasing nor resolution.
    """
    lags = len(plus)
    both = plus + minus
    both[0] = plus[0]
    w = frequencies(lags, interval)
    cosines = np.cos(np.outer(w, interval * np.arange(lags))) * hann(lags)
    return np.asarray(2.0 * interval * np.tensordot(cosines, both, axes=(1, 0)))


def integral(values: Array, lags: int, interval: float) -> Array:
    """Integral over dw/2pi of values (2 lags, ...) at `frequencies`."""
    return np.asarray(values.sum(axis=0) / (4.0 * lags * interval))


def quantum(w: Array, temperature: float) -> Array:
    """f(x) = x^2 e^x/(e^x - 1)^2 with x = hbar w/(k_B T): the heat capacity of a mode over k_B; w in rad/ps.

    Exact for harmonic transmission; good for amorphous solids and interfaces. In crystals, where phonons
    scatter each other, it makes kappa too small, because classical scattering is too strong as well.
    """
    x = HBAR_OVER_K * np.asarray(w, float) / temperature
    small = np.maximum(x, 1e-8)
    return np.asarray(small**2 * np.exp(-small) / np.expm1(-small) ** 2)


def free_paths(kappa: Array, conductance: Array, error: Array) -> Array:
    """lambda(w) = kappa(w)/G(w), nm; NaN where G(w) is below three of its errors."""
    known = conductance > 3.0 * error
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(known, kappa / conductance, np.nan)


def kappa_of_length(kappa: Array, paths: Array, lengths: Array, width: float) -> Array:
    """kappa(L) = integral of kappa(w)/(1 + lambda(w)/L) dw/2pi, W/(m K), at each of some lengths (nm)."""
    known = np.isfinite(paths)
    share = 1.0 / (1.0 + np.maximum(paths[known], 0.0)[None] / np.asarray(lengths, float)[:, None])
    return np.asarray((kappa[known] * share).sum(axis=1) * width / (2.0 * np.pi))


def accumulation(kappa: Array, paths: Array, width: float) -> tuple[Array, Array]:
    """Free paths in rising order (nm), and kappa of all modes with paths up to each of them, W/(m K)."""
    known = np.isfinite(paths)
    order = np.argsort(paths[known])
    return paths[known][order], np.cumsum(kappa[known][order]) * width / (2.0 * np.pi)
