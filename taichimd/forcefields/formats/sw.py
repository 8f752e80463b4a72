"""LAMMPS's `.sw` format for Stillinger-Weber potentials: entries of three elements and eleven numbers.

    i j k  epsilon sigma a lambda gamma costheta0 A B p q tol

`i` is the centre of the angle j-i-k. **Which numbers of an entry are used.** An entry with j == k defines the
pair i-j: sigma, a, gamma and tol for every term that i-j takes part in, and epsilon, A, B, p, q for the
two-body term. lambda, epsilon and costheta0 belong to the angle, so they count in every entry; in one with
j != k the others are ignored and often written as 0. The pair i-j and the angle j-i-k do not depend on the
order of their ends, so `i j j` and `j i i` must describe one pair, `i j k` and `i k j` one angle.

Units are LAMMPS's "metal": epsilon in eV, sigma in angstrom; the rest are plain numbers. All terms end at
a sigma. A tol above 0 makes them end where the slower of the exponentials exp(sigma/(r - a sigma)) and
exp(gamma sigma/(r - a sigma)) has fallen to tol, 0.01 at most: what is left there is cut off.

Sources: F. H. Stillinger and T. A. Weber, Phys. Rev. B 31, 5262 (1985), doi:10.1103/PhysRevB.31.5262; LAMMPS
manual, page pair_style sw. The manual does not say how tol makes a distance; the rule above was found by
looking where the energy of two atoms becomes zero in LAMMPS (22 Jul 2025).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from taichimd.forcefields.formats.text import LONGEST
from taichimd.forcefields.formats.triples import Layout, Triple, TripleFile

FIELDS = ("epsilon", "sigma", "a", "lambda", "gamma", "costheta0", "A", "B", "p", "q", "tol")
"""The numbers of an entry, in the file's order."""
ANGLE_FIELDS = ("epsilon", "lambda", "costheta0")
"""Those that an entry with j != k gives."""
MAX_TOL = 0.01
"""Larger values of tol count as this."""


@dataclass(frozen=True)
class SWEntry:
    """One entry; the module's text says which numbers count for j == k and for j != k."""

    epsilon: float  # energy scale (eV)
    sigma: float  # length scale (angstrom)
    a: float  # cutoff over sigma
    lam: float  # strength of the angle (lambda in the paper)
    gamma: float  # decay of the angle's strength with the distance
    costheta0: float  # preferred cosine of the angle j-i-k
    A: float  # strength of the pair
    B: float  # strength of its repulsion
    p: float  # power of the repulsion
    q: float  # power of the attraction
    tol: float  # where the terms are cut off; 0: nowhere before a sigma

    @property
    def end(self) -> float:
        """The distance a sigma at which the exponentials vanish (angstrom)."""
        return self.a * self.sigma

    @property
    def cutoff(self) -> float:
        """Where the terms of the pair end: a sigma, or before if there is a tol (angstrom)."""
        return self.reach(min(self.tol, MAX_TOL)) if self.tol else self.end

    def reach(self, tol: float) -> float:
        """Where the slower of the two exponentials has fallen to tol, 0 < tol < 1 (angstrom)."""
        return self.end + min(1.0, self.gamma) * self.sigma / log(tol)


SWFile = TripleFile[SWEntry]


def _mistake(triple: Triple, of: Mapping[str, float]) -> tuple[str, str] | None:
    """Numbers that make no Stillinger-Weber potential."""
    for field in FIELDS:
        if field != "costheta0" and of[field] < 0.0:
            return field, "a number that is not negative"
    if abs(of["costheta0"]) > 1.0:
        return "costheta0", "a cosine, between -1 and 1"
    if of["a"] * of["sigma"] > LONGEST:
        return "sigma", f"a sigma, the cutoff, of {LONGEST:g} angstrom or less"
    acts = of["epsilon"] > 0.0 and (of["A"] > 0.0 or of["lambda"] > 0.0)
    if triple[1] == triple[2] and acts:
        for field in ("sigma", "a"):
            if of[field] == 0.0:
                return field, "a positive number: an entry with j = k says how far the pair i-j reaches"
    return None


read_sw = Layout(
    kind="sw",
    roles=("centre", "first neighbour", "second neighbour"),
    fields=FIELDS,
    make=SWEntry,
    mistake=_mistake,
    others="is the last number of an entry, tol, there twice, or is this no sw file?",
).read
"""Read a LAMMPS `.sw` file; see `Layout.read`."""
