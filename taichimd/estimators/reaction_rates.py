"""Rate constants of reactions and lifetimes of species, with the errors of a Poisson process.

A reaction of N events has a rate constant k = N / X (maximum likelihood), where X is the time integral of
the number of combinations of its reactants: n_A for A, n_A n_B for A + B, n_A (n_A - 1) for 2 A, and so on.
With a volume V and m reactants the rate constant of concentrations is k V^(m-1).
M. Döntgen et al., J. Chem. Theory Comput. 11, 2517 (2015), https://doi.org/10.1021/acs.jctc.5b00201.

The range of a count is the central 68.27 % interval of its Poisson mean, by quantiles of chi squared:
F. Garwood, Biometrika 28, 437 (1936), https://doi.org/10.1093/biomet/28.3-4.437.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, nan

import numpy as np

from taichimd.core.arrays import Array
from taichimd.estimators.reactions import Reactions

ONE_SIGMA = 0.6827
CM3 = 1e-24
"""cm^3 of an angstrom^3."""
PER_SECOND = 1e12
"""1/s of a 1/ps."""


def poisson_range(count: int) -> tuple[float, float]:
    """Central 68.27 % interval of the mean of a Poisson process that gave this count."""
    from scipy.stats import chi2  # takes half a second to import

    tail = (1.0 - ONE_SIGMA) / 2.0
    low = float(chi2.ppf(tail, 2 * count)) / 2.0 if count else 0.0
    return low, float(chi2.ppf(1.0 - tail, 2 * count + 2)) / 2.0


@dataclass(frozen=True)
class Rate:
    """Rate of one reaction."""

    reaction: str  # such as "H + O2 -> HO2"
    molecularity: int  # number of reactants
    count: int  # events
    low: float  # lower limit of the mean count
    high: float  # upper limit of the mean count
    exposure: float  # ps, time integral of the number of combinations of the reactants

    @property
    def unit(self) -> str:
        """Unit of the rate constant of concentrations."""
        return "1/s" if self.molecularity == 1 else f"cm{3 * (self.molecularity - 1)}/s"

    def constants(self, volume: float | None = None) -> tuple[float, float, float]:
        """Rate constant with its range: for each combination of reactants, 1/ps, or with a volume in `unit`.

        NaN where the reactants never were there together.
        """
        if not self.exposure > 0.0:
            return nan, nan, nan
        factor = 1.0 if volume is None else PER_SECOND * (volume * CM3) ** (self.molecularity - 1)
        value, low, high = (factor * one / self.exposure for one in (self.count, self.low, self.high))
        return value, low, high


@dataclass(frozen=True)
class Lifetime:
    """Lifetime of one species.

    Attributes:
        formula: in Hill order. molecules: how many lived. ended: how many were consumed.
        lived: ps, the sum over all.
        value: ps, lived / ended; infinite if none ended. error: value / sqrt(ended).
        low, high: ps, its range.
    """

    formula: str
    molecules: int
    ended: int
    lived: float

    @property
    def value(self) -> float:
        """Mean, ps."""
        return self.lived / self.ended if self.ended else inf

    @property
    def error(self) -> float:
        """Standard error, ps."""
        return self.value / self.ended**0.5 if self.ended else nan

    @property
    def low(self) -> float:
        """Lower end, ps."""
        return self.lived / poisson_range(self.ended)[1]

    @property
    def high(self) -> float:
        """Upper end, ps."""
        return self.lived / poisson_range(self.ended)[0] if self.ended else inf


def rates(found: Reactions) -> list[Rate]:
    """Rates of all reactions of `find_reactions`, the most frequent first."""
    counts = Counter(event.reaction for event in found.events)
    reactants = {event.reaction: Counter(event.reactant_formulas) for event in found.events}
    times, numbers = population(found, {one for side in reactants.values() for one in side})
    lengths = np.diff(times)
    rows = []
    for reaction, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        combinations = np.ones(len(lengths))
        for formula, order in reactants[reaction].items():
            for taken in range(order):
                combinations *= np.maximum(numbers[formula][:-1] - taken, 0)
        exposure = float(combinations @ lengths)
        rows.append(Rate(reaction, reactants[reaction].total(), count, *poisson_range(count), exposure))
    return rows


def lifetimes(found: Reactions) -> list[Lifetime]:
    """Mean lifetimes of all species of `find_reactions`, the most frequent first.

    Lifetimes are taken to be exponential: all time that molecules lived, also of those that live at the end
    (censored) or were there at the start, over the number of those that ended.
    """
    molecules = Counter(one.formula for one in found.molecules)
    ended = Counter(one.formula for one in found.molecules if one.ended)
    lived = dict.fromkeys(molecules, 0.0)
    for one in found.molecules:
        lived[one.formula] += one.died - one.born
    order = sorted(molecules, key=lambda formula: (-molecules[formula], formula))
    return [Lifetime(one, molecules[one], ended[one], lived[one]) for one in order]


def population(found: Reactions, formulas: Iterable[str] | None = None) -> tuple[Array, dict[str, Array]]:
    """Times (ps) at which a number of molecules changes, with start and end; by formula numbers since."""
    wanted = [one.formula for one in lifetimes(found)] if formulas is None else list(formulas)
    ends = {found.start, found.end} | {t for one in found.molecules for t in (one.born, one.died)}
    times = np.array(sorted(ends))
    steps = {formula: np.zeros(len(times), np.int64) for formula in wanted}
    for one in found.molecules:
        if one.formula in steps:
            steps[one.formula][np.searchsorted(times, one.born)] += 1
            if one.ended:
                steps[one.formula][np.searchsorted(times, one.died)] -= 1
    return times, {formula: np.cumsum(step) for formula, step in steps.items()}


def network(found: Reactions) -> Counter[tuple[str, str]]:
    """For (reactant, product) the number of pairs of molecules that share atoms, over all events."""
    edges: Counter[tuple[str, str]] = Counter()
    for event in found.events:
        for used, before in zip(event.reactants, event.reactant_formulas, strict=True):
            for made, after in zip(event.products, event.product_formulas, strict=True):
                if used & made:
                    edges[before, after] += 1
    return edges


def shown_part(edges: Counter[tuple[str, str]], most: int) -> Counter[tuple[str, str]]:
    """The edges between the species with the most events, at most so many species."""
    weight: Counter[str] = Counter()
    for (before, after), count in edges.items():
        weight[before] += count
        weight[after] += count
    shown = {name for name, _ in sorted(weight.items(), key=lambda item: (-item[1], item[0]))[:most]}
    return Counter({pair: count for pair, count in edges.items() if shown.issuperset(pair)})
