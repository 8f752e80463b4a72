"""LAMMPS's `.tersoff` format: entries of three elements and fourteen numbers, `#` comments anywhere.

An entry (it may be spread over several lines, but starts on a line of its own) reads

    i j k  m gamma lambda3 c d costheta0 n beta lambda2 B R D lambda1 A

**The order of the elements, where users stumble.** `i` is the centre: the atom whose bond order is computed.
`j` is its bond partner: the bond is i-j. `k` is the third body that weakens the bond i-j. So the entry
`Si C Ge` says how a Ge neighbour of a Si atom acts on that Si atom's bond to C; exchanging j and k gives a
different parameter. A structure of N elements needs all N*N*N entries.

**Which numbers of an entry are used.** An entry with j == k also defines the bond i-j: its n, beta, lambda2,
B, lambda1 and A (with R and D as the bond's cutoff) are the two-body part. In an entry with j != k these six
are ignored and are usually written as 0; only m, gamma, lambda3, c, d, costheta0 and the cutoff R, D of the
distance i-k are used. The bond i-j is thus described by `i j j`, and j-i by `j i i`.

Units are LAMMPS's "metal": A, B in eV; lambda1, lambda2, lambda3 in 1/angstrom; R, D in angstrom; the rest
are plain numbers. The smooth cutoff falls from 1 at R-D to 0 at R+D. Tersoff's papers give R_T = R-D and
S_T = R+D.

Sources: J. Tersoff, Phys. Rev. B 37, 6991 (1988), doi:10.1103/PhysRevB.37.6991; Phys. Rev. B 39, 5566
(1989), doi:10.1103/PhysRevB.39.5566; LAMMPS manual, page pair_style tersoff.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from taichimd.core.scalars import digits
from taichimd.forcefields.formats.text import LONGEST
from taichimd.forcefields.formats.triples import Layout, Triple

FIELDS = (
    "m", "gamma", "lambda3", "c", "d", "costheta0", "n",
    "beta", "lambda2", "B", "R", "D", "lambda1", "A",
)  # fmt: skip
"""The numbers of an entry, in the file's order."""

_NOT_NEGATIVE = ("gamma", "c", "d", "n", "beta", "lambda2", "B", "R", "D", "lambda1", "A")


@dataclass(frozen=True)
class TersoffEntry:
    """One entry; the module's text says which numbers count for j == k and for j != k."""

    m: float  # 1 or 3, power of the distance difference in the three-body weight
    gamma: float  # factor of the angular function
    lambda3: float  # decay of the three-body weight (1/angstrom); any sign
    c: float  # strength of the angular function
    d: float  # sharpness of the angular function; not 0
    costheta0: float  # preferred cosine of the angle j-i-k (Tersoff's h)
    n: float  # exponent of the bond order
    beta: float  # factor of the coordination in the bond order
    lambda2: float  # decay of the attraction (1/angstrom; Tersoff's mu)
    B: float  # strength of the attraction (eV), with Tersoff's chi multiplied in
    R: float  # middle of the cutoff region (angstrom)
    D: float  # half width of the cutoff region (angstrom); 0 is a sharp cutoff
    lambda1: float  # decay of the repulsion (1/angstrom; Tersoff's lambda)
    A: float  # strength of the repulsion (eV)

    @property
    def cutoff(self) -> float:
        """R + D, where the smooth cutoff ends (angstrom)."""
        return self.R + self.D


def mistake(triple: Triple, of: Mapping[str, float]) -> tuple[str, str] | None:
    """Numbers for which the energy is undefined or not a Tersoff potential."""
    if of["m"] not in (1.0, 3.0):
        return "m", "1 or 3"
    for field in _NOT_NEGATIVE:
        if of[field] < 0.0:
            return field, "a number that is not negative"
    if of["d"] == 0.0:
        return "d", "a positive number: the angular function divides by d"
    if found := wrong_cutoff(of):
        return found
    # Entries with j != k carry no two-body part, and files write 0 there.
    if triple[1] == triple[2] and of["n"] == 0.0:
        return "n", "a positive number: the bond order has the exponent 1/(2n)"
    return None


def wrong_cutoff(of: Mapping[str, float]) -> tuple[str, str] | None:
    """Numbers R and D that are no cutoff region."""
    if of["D"] > of["R"]:
        return "D", f"at most R = {digits(of['R'])}: the cutoff region starts at R - D"
    if of["R"] + of["D"] > LONGEST:
        return "R", f"R + D of {LONGEST:g} angstrom or less"
    return None


read_tersoff = Layout(
    kind="tersoff",
    roles=("centre", "bond partner", "third body"),
    fields=FIELDS,
    make=TersoffEntry,
    mistake=mistake,
    others="tersoff/mod and tersoff/zbl files have other columns: call them .tersoff.mod, .tersoff.zbl",
).read
"""Read a LAMMPS `.tersoff` file; see `Layout.read`."""
