"""How wide the skins should be: learnt while a run goes on, since no result depends on them.

A wide skin makes every force loop longer, a narrow one makes lists outdate sooner. Costs are in units of a
force loop over the neighbours within the cutoff, and go with the volume that a list covers; how fast lists
outdate is measured. Relative costs of a cut and a build are from profiles on an H100.
"""

from dataclasses import dataclass

import numpy as np

BUILD_PAIR, BUILD_BODY, CUT = 11.0, 2.0, 0.4
LOOP_BODY = 0.1
"""Part of a three-body force loop that grows with the near list's volume."""
MOST_INNER = 0.14
"""Inner skin over cutoff. Three-body potentials end between shells of neighbours: a near list that reaches
the next shell is three times as long."""


@dataclass
class Skins:
    """Outer and inner skin, angstrom (a pair potential uses the outer one alone).

    Attributes:
        cutoff: longest cutoff, angstrom. many_body: whether there is a near list.
        fixed: the user's outer skin, or None.
        idle: steps' worth of time that an outdated near list costs besides the cut: the rest of the batch.
    """

    cutoff: float
    many_body: bool
    fixed: float | None = None
    idle: float = 0.0

    def __post_init__(self) -> None:
        self.outer = self.fixed or (0.32 if self.many_body else 0.16) * self.cutoff
        self.inner = min(0.11 * self.cutoff, 0.4 * self.outer) if self.many_body else self.outer

    @property
    def near(self) -> float:
        """How far an atom may move before the list that force loops read is outdated."""
        return 0.5 * self.inner

    @property
    def drift(self) -> float:
        """How far an atom may have moved since the build when the near list is cut."""
        return 0.5 * (self.outer - self.inner)

    def learn(self, steps: int, cuts: int) -> bool:
        """Adapt to a list that lasted some steps and cuts; whether the skins have changed."""
        if steps < 1 or (self.fixed and not self.many_body):
            return False
        outer = np.array([self.fixed]) if self.fixed else np.linspace(0.04, 0.5, 47) * self.cutoff
        if not self.many_body:
            speed = self.near / steps
            cost = _volume(outer / self.cutoff) * (1.0 + BUILD_PAIR * speed / (0.5 * outer))
            inner = outer
        else:
            fastest, drifting = self.near * max(cuts, 1) / steps, self.drift / steps
            outer, inner = (
                grid.ravel() for grid in np.meshgrid(outer, np.linspace(0.03, MOST_INNER, 12) * self.cutoff)
            )
            gap = np.maximum(outer - inner, 1e-9)
            covered = _volume(outer / self.cutoff)
            cost = 1.0 + LOOP_BODY * (_volume(inner / self.cutoff) - 1.0)
            cost = cost + (CUT * covered + self.idle) * fastest / (0.5 * inner)
            cost = cost + BUILD_BODY * covered * drifting / (0.5 * gap)
            cost = np.where(gap < 0.02 * self.cutoff, np.inf, cost)
        best = int(np.argmin(cost))
        # Half of the way: a single event is a noisy measure.
        wanted = 0.5 * (self.outer + float(outer[best])), 0.5 * (self.inner + float(inner[best]))
        if abs(wanted[0] / self.outer - 1) < 0.05 and abs(wanted[1] / self.inner - 1) < 0.05:
            return False
        self.outer, self.inner = wanted
        return True


def _volume(x: np.ndarray) -> np.ndarray:
    return (1.0 + x) ** 3
