"""How wide the skins should be: learnt while a run continues, since no result depends on them.

A wide skin makes every force loop longer, a narrow one makes lists outdate sooner. Costs are in units of a
force loop over the neighbours within the cutoff, and go with the volume that a list covers; how fast lists
outdate is measured. Relative costs of a cut and a build are measured.

The time until some atom has gone a distance d is taken as d^p: 1 for free flight, 2 for diffusion, more in a
crystal, whose atoms come back. Cuts and builds, at two distances, tell p.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Costs:
    """Relative costs: part of a force loop that grows with the list it reads, a cut, a build."""

    loop: float
    cut: float
    build: float


PAIR, BODY, BOTH = Costs(1.0, 0.9, 4.0), Costs(0.1, 0.4, 3.0), Costs(0.2, 0.4, 0.5)
"""Pair terms alone; three-body terms; both, each with a near list of its own. The last, loop and build, are
of Vashishta's silica on a CPU: its pair term costs so much that entries beyond the cutoff and builds cost
little beside it."""
BOTH_IN_WARPS = Costs(1.0, 0.28, 1.0)
"""The same on a GPU: a warp pays for an entry beyond the cutoff as long as one of its atoms has one
within."""
BOND = Costs(0.1, 0.2, 3.0)
"""Bond-order terms, on which a cut waits less: their near list holds bonds only."""
PASSES = Costs(1.0, 0.3, 1.2)
"""Terms of passes on a GPU, whose loops take some three times as long as the loop of a pair term."""
QUEUED = Costs(0.15, 0.1, 0.6)
"""Terms with kernels of their own, such as ReaxFF, whose step costs as much as a build: of its loops the cut
of the matrix alone reads the near list."""
MAX_OUTER, MAX_OUTER_OF_QUEUED = 0.8, 0.3
"""Outer skin over cutoff. A longer one saves a step of queued terms less than a hundredth, and its rows cost
memory: of water 4 kB an atom from 2.5 to 6 angstrom."""
LEAST_OUTER = 0.05
"""Outer skin over cutoff below which lists that do not fit the memory are not made shorter."""
MAX_INNER = 0.14
"""Inner skin over cutoff. Three-body potentials end between shells of neighbours: a near list that reaches
the next shell is three times as long."""
MAX_INNER_OF_BONDS = 0.1
"""The same of bond-order terms, which do something for every entry: all of a warp wait for the atom that has
one more than its bonds. docs/decisions/008-skins-and-near-lists.md."""

MAX_POWER = 4.0


@dataclass
class Skins:
    """Outer and inner skin, angstrom; the same where force loops read the Verlet list itself.

    Attributes:
        cutoff: longest cutoff, angstrom. many_body: whether there are three-body terms.
        near_list: whether there is a near list.
        both: whether pair terms have another one. warps: whether a GPU reads it.
        bonds: whether the three-body term is a bond order, of so many atoms that work counts, not waiting.
        fixed: the user's outer skin, or None.
        queued: whether terms have kernels of their own, beside which lists cost little.
        passes: whether a GPU does terms of passes.
        idle_cut, idle_build: steps' worth of time that a cut and a build cost besides the work: the rest of a
            batch, the host.
    """

    cutoff: float
    many_body: bool
    near_list: bool = True
    fixed: float | None = None
    idle_cut: float = 0.0
    idle_build: float = 0.0
    both: bool = False
    warps: bool = False
    bonds: bool = False
    queued: bool = False
    passes: bool = False

    def __post_init__(self) -> None:
        self._most_outer = (MAX_OUTER_OF_QUEUED if self.queued else MAX_OUTER) * self.cutoff
        first = MAX_OUTER_OF_QUEUED if self.queued else 0.32 if self.near_list and not self.both else 0.13
        self.outer = self.fixed or first * self.cutoff
        most = MAX_INNER_OF_BONDS if self.bonds else MAX_INNER
        self.inners = np.linspace(0.02, most, 13) * self.cutoff
        self.inner = self.first_inner

    @property
    def first_inner(self) -> float:
        """The inner skin to begin with: many a step until a cut."""
        if not self.near_list:
            return self.outer
        return min(0.11 * self.cutoff, float(self.inners[-1]), 0.4 * self.outer)

    @property
    def near(self) -> float:
        """How far an atom may move before the list that force loops read is outdated."""
        return 0.5 * self.inner

    @property
    def drift(self) -> float:
        """How far an atom may have moved since the build when the near list is cut."""
        return 0.5 * (self.outer - self.inner)

    def shrink(self) -> bool:
        """Take shorter skins from now on, since lists do not fit the memory; whether there are any."""
        outer = 0.8 * self.outer
        if self.fixed or outer < LEAST_OUTER * self.cutoff:
            return False
        self.outer = self._most_outer = outer
        self.inner = min(self.inner, 0.6 * outer) if self.near_list else outer
        return True

    def learn(self, steps: int, cuts: int) -> bool:
        """Adapt to a list that lasted some steps and cuts; whether the skins have changed."""
        if steps < 1 or (self.fixed and not self.near_list):
            return False
        outer = np.array([self.fixed]) if self.fixed else np.linspace(0.04, 0.8, 77) * self.cutoff
        if not self.fixed:
            outer = np.minimum(outer, self._most_outer)
        if self.near_list:
            outer, inner = (grid.ravel() for grid in np.meshgrid(outer, self.inners))
        else:
            inner = outer
        costs = self._cost(outer, inner, steps, cuts)
        best = int(np.argmin(costs))
        if not np.isfinite(costs[best]):
            # The user gave a skin that is shorter than every inner skin: the first inner skin stays.
            return False
        # Half of the way: a single event is a noisy measure.
        wanted = 0.5 * (self.outer + float(outer[best])), 0.5 * (self.inner + float(inner[best]))
        if abs(wanted[0] / self.outer - 1) < 0.05 and abs(wanted[1] / self.inner - 1) < 0.05:
            return False
        self.outer, self.inner = wanted
        return True

    def _cost(self, outer: np.ndarray, inner: np.ndarray, steps: int, cuts: int) -> np.ndarray:
        """Return the estimated cost of a step, if lists outdate as fast as the last ones."""
        both = BOTH_IN_WARPS if self.warps else BOTH
        of_body = BOND if self.bonds else BODY
        of_pairs = PASSES if self.passes else PAIR
        costs = QUEUED if self.queued else both if self.both else of_body if self.many_body else of_pairs
        covered = _volume(outer / self.cutoff)
        cost = 1.0 + costs.loop * (_volume(inner / self.cutoff) - 1.0)
        if not self.near_list:
            return cost + (costs.build * covered + self.idle_build) * (self.near / steps) / (0.5 * outer)
        power = self._power(cuts)
        gap = np.maximum(outer - inner, 1e-9)
        cut_rate = max(cuts, 1) / steps * (2.0 * self.near / inner) ** power
        build_rate = (2.0 * self.drift / gap) ** power / steps
        cost = cost + (costs.cut * covered + self.idle_cut) * cut_rate
        cost = cost + (costs.build * covered + self.idle_build) * build_rate
        return np.where(gap < 0.02 * self.cutoff, np.inf, cost)

    def _power(self, cuts: int) -> float:
        """The power p, from how many cuts a build has lasted; 1 where the two distances are alike."""
        if cuts < 2 or self.drift < 1.2 * self.near:
            return 1.0
        return float(np.clip(np.log(cuts) / np.log(self.drift / self.near), 1.0, MAX_POWER))


def _volume(x: np.ndarray) -> np.ndarray:
    return (1.0 + x) ** 3
