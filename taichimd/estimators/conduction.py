"""Steady heat flow: gradients between baths, jumps at interfaces, whether it is steady, and longer lengths.

NEMD: T. Schelling, S. R. Phillpot, P. Keblinski, Phys. Rev. B 65, 144306 (2002); total difference over length
in place of the slope in the middle: Z. Li et al., J. Chem. Phys. 151, 234105 (2019), doi:10.1063/1.5132543.
"""

from dataclasses import dataclass

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.core.units import KB
from taichimd.estimators.blocks import block_note
from taichimd.estimators.green_kubo import GreenKubo, integrate, positive
from taichimd.estimators.series import Mean, mean_of

MARGIN = 0.15
"""Share of a piece between baths or interfaces that a straight line leaves out at each of its ends."""
FEWEST = 3
"""Bins of a line."""
_UNEQUAL = 0.05
"""Share of the heat flow by which source and sink may differ, whatever the errors are."""


def equilibrium_conductance(
    flows: list[Array], dt: float, temperature: float, window: float, plateau: tuple[float, float]
) -> GreenKubo:
    """Conductance of an interface in equilibrium: 1/(k_B T^2) times the integral of <Q(0) Q(t)>.

    With baths at both ends this is the conductance from bath to bath. In a closed system the integral falls
    behind its plateau, because Q is the change of the energy of a finite part: the plateau ends long before
    the time in which the parts exchange their energy (`exchange_time`). The first maximum is no plateau. Q
    (samples,) of each run is in eV per internal time, times are internal, the result is eV/(internal time K)
    of the whole interface.
    """
    positive(temperature=temperature)
    factor = 1.0 / (KB * temperature**2)
    return integrate([flow[:, None] for flow in flows], dt, window, factor, plateau)


def exchange_time(conductance: float, atoms: tuple[int, int]) -> float:
    """Time in which two parts of a closed system come to one temperature, C/G with 1/C = 1/C_A + 1/C_B.

    The conductance G is in eV/(time K); each atom has the heat capacity 3 k_B of a classical harmonic
    crystal.
    """
    capacity = 3.0 * KB * atoms[0] * atoms[1] / (atoms[0] + atoms[1])
    return capacity / conductance if conductance > 0.0 else np.inf


def without_exchange(integral: float, times: Array, capacity: float) -> tuple[float, float]:
    """Conductance G between two parts of a closed system from its Green-Kubo integral, which decays.

    The energy difference of two parts relaxes as exp(-t G/C), so the integral is G exp(-t G/C), and its mean
    on a plateau is G times the mean of this exponential. (With E the energy of a part and Q = -dE/dt the
    integral of <Q(0) Q(t)> is -d/dt <E(0) E(t)>, and <E^2> = k_B T^2 C.) C is G times the exchange time.
    Returns G and dG/d(integral): NaN if the parts exchange their energy before the plateau.
    """
    if not (np.isfinite(integral) and integral > 0.0):
        return integral, 1.0
    low, high = 0.0, capacity / float(np.max(times))  # there the mean grows with G

    def mean(g: float) -> float:
        return g * float(np.exp(-times * g / capacity).mean())

    if mean(high) < integral:
        return np.nan, np.nan
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if mean(middle) < integral else (low, middle)
    decay = times * high / capacity
    return high, 1.0 / float(((1.0 - decay) * np.exp(-decay)).mean())


@dataclass(frozen=True)
class Line:
    """A straight line through the temperatures of one piece."""

    begin: float  # of the piece, angstrom
    end: float  # of the piece, angstrom
    slope: float  # K/angstrom
    error: float  # of the slope, K/angstrom
    value: float  # temperature in the middle of the bins, K
    at: float  # middle of the bins, angstrom
    error_value: float  # of the temperature, K
    bins: int  # how many bins it goes through

    def temperature(self, x: float) -> tuple[float, float]:
        """Temperature on the line at x (angstrom), and its error, K."""
        d = x - self.at
        return self.value + self.slope * d, float(np.hypot(self.error_value, d * self.error))


def line_through(x: Array, y: Array, begin: float, end: float) -> Line | None:
    """Least-squares line through the bins (angstrom, K) well within a piece; None if fewer than `FEWEST`.

    Errors come from the scatter about the line: errors of neighbouring bins are not independent of each other
    in time, but their scatter is what the line does not explain.
    """
    cut = MARGIN * (end - begin)
    used = (x >= begin + cut) & (x <= end - cut) & np.isfinite(y)
    n = int(used.sum())
    if n < FEWEST:
        return None
    at = float(x[used].mean())
    d, t = x[used] - at, y[used]
    slope, value = float(d @ t / (d @ d)), float(t.mean())
    left = t - value - slope * d
    scatter = float(left @ left) / (n - 2)
    return Line(
        begin, end, slope, float(np.sqrt(scatter / (d @ d))), value, at, float(np.sqrt(scatter / n)), n
    )


def jump(left: Line, right: Line, x: float) -> tuple[float, float]:
    """Temperature on the left minus that on the right of an interface at x (angstrom), and its error, K."""
    (a, ea), (b, eb) = left.temperature(x), right.temperature(x)
    return a - b, float(np.hypot(ea, eb))


def why_not_steady(given: Array, taken: Array, consecutive: bool) -> str:
    """Why heat does not flow steadily from what source and sink give and take per time; empty if it does."""
    both, difference = mean_of(0.5 * (given + taken)), mean_of(given - taken)
    if both.value <= 0.0:
        return f"source and sink give {given.mean():.3g} and take {taken.mean():.3g} eV/ps: no heat flows"
    error = difference.error
    apart = abs(difference.value)
    if np.isfinite(error) and apart > 2.0 * error and apart > _UNEQUAL * both.value:
        return (
            f"the source gives {given.mean():.3g} eV/ps and the sink takes {taken.mean():.3g} eV/ps, which "
            f"differ by {apart:.2g} ± {error:.2g}"
        )
    if consecutive:
        note = block_note(0.5 * (given + taken))
        if note.startswith("no error: the"):
            return note.removeprefix("no error: ")
    return ""


@dataclass(frozen=True)
class Extrapolated:
    """A line through 1/kappa(L) = (1/kappa)(1 + lambda/L)."""

    kappa: Mean  # W/(m K) of infinite length
    free_path: Mean  # lambda, angstrom
    covariance: Array  # (2, 2) of kappa and lambda
    chi2: float  # sum of squares of deviations over errors
    freedom: int  # lengths minus 2
    residuals: Array  # (lengths,) deviations of 1/kappa over their errors


def extrapolate(lengths: Array, kappa: Array, errors: Array) -> Extrapolated:
    """Weighted least squares of 1/kappa against 1/L; errors from those of the points, not from the fit.

    AnalysisError: fewer than two lengths, numbers not above 0, a line that meets 1/L = 0 below 0.
    """
    lengths, kappa, errors = (np.asarray(one, float) for one in (lengths, kappa, errors))
    if len(lengths) < 2 or len(np.unique(lengths)) < 2:
        raise AnalysisError("an extrapolation needs two lengths or more")
    if not (np.isfinite([lengths, kappa, errors]).all() and (lengths > 0).all() and (kappa > 0).all()):
        raise AnalysisError("an extrapolation needs lengths and conductivities above 0, with errors")
    if not (errors > 0).all():
        raise AnalysisError("an extrapolation needs errors above 0: take several runs")
    y, sigma = 1.0 / kappa, errors / kappa**2
    design = np.stack([np.ones_like(lengths), 1.0 / lengths], axis=1) / sigma[:, None]
    covariance = np.linalg.inv(design.T @ design)
    cut, slope = covariance @ design.T @ (y / sigma)
    residuals = (y - cut - slope / lengths) / sigma
    if cut <= 0.0:
        raise AnalysisError(
            f"the line through 1/kappa against 1/L meets 1/L = 0 at {cut:.3g} ± "
            f"{np.sqrt(covariance[0, 0]):.2g}"
            " m K/W, not above 0: the lengths are too short, or their errors too large"
        )
    # d(kappa, lambda)/d(cut, slope), with kappa = 1/cut and lambda = slope/cut.
    chain = np.array([[-1.0 / cut**2, 0.0], [-slope / cut**2, 1.0 / cut]])
    found = chain @ covariance @ chain.T
    n = len(lengths)
    return Extrapolated(
        Mean(1.0 / cut, float(np.sqrt(found[0, 0])), n),
        Mean(slope / cut, float(np.sqrt(found[1, 1])), n),
        found,
        float(residuals @ residuals),
        n - 2,
        residuals,
    )


def notes_on_lengths(found: Extrapolated, lengths: Array, kappa: Array, errors: Array) -> list[str]:
    """What makes an extrapolation doubtful."""
    notes = []
    shortest, free = float(np.min(lengths)), found.free_path.value
    if shortest < free:
        notes.append(
            f"the shortest length, {shortest / 10:.3g} nm, is below the fitted mean free path, "
            f"{free / 10:.3g} "
            "nm: 1/kappa is not linear in 1/L there, and the extrapolation is too low; take longer lengths"
        )
    order = np.argsort(lengths)
    steps, sums = np.diff(kappa[order]), np.hypot(errors[order][1:], errors[order][:-1])
    if (np.abs(steps) < sums).any():
        k = int(np.argmax(np.abs(steps) < sums))
        a, b = lengths[order][k : k + 2] / 10
        notes.append(
            f"kappa at {a:.3g} and {b:.3g} nm differs by less than its errors: the mean free path is not "
            "known from these lengths; take more runs, or lengths further apart"
        )
    if found.freedom > 0 and found.chi2 > found.freedom + 3.0 * np.sqrt(2.0 * found.freedom):
        signs = "".join("+" if one > 0 else "-" for one in found.residuals[order])
        notes.append(
            f"chi^2 = {found.chi2:.1f} for {found.freedom} degrees of freedom (residuals {signs} from short "
            "to long): 1/kappa is not linear in 1/L"
        )
    return notes
