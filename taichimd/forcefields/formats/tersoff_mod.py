"""LAMMPS's formats for the modified Tersoff potential: `.tersoff.mod` and `.tersoff.modc`.

An entry (it may be spread over several lines, but starts on a line of its own) reads

    i j k  beta alpha h eta beta_ters lambda2 B R D lambda1 A n c1 c2 c3 c4 c5        (.tersoff.mod)
    i j k  beta alpha h eta beta_ters lambda2 B R D lambda1 A n c1 c2 c3 c4 c5 c0     (.tersoff.modc)

with centre i, bond partner j and third body k. An entry with j == k also defines the bond i-j: its eta,
lambda2, B, lambda1, A, n and c0. The other entries give alpha, beta, h, c1 to c5 and the cutoff R, D of the
distance i-k. beta_ters is 1 and not used.

Units: A, B, c0 in eV; alpha, lambda1, lambda2 in 1/angstrom; R, D in angstrom.

Sources: T. Kumagai et al., Comput. Mater. Sci. 39, 457 (2007), doi:10.1016/j.commatsci.2006.07.013;
G. P. Purja Pun, Y. Mishin, Phys. Rev. B 95, 224103 (2017), doi:10.1103/PhysRevB.95.224103 (c0); LAMMPS
manual, page pair_style tersoff/mod.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from taichimd.forcefields.formats import tersoff
from taichimd.forcefields.formats.triples import Layout, Triple

FIELDS = (
    "beta", "alpha", "h", "eta", "beta_ters", "lambda2", "B", "R", "D", "lambda1", "A", "n",
    "c1", "c2", "c3", "c4", "c5",
)  # fmt: skip
"""The numbers of an entry of `.tersoff.mod`, in the file's order; `.tersoff.modc` has c0 after them."""
_NOT_NEGATIVE = ("eta", "lambda2", "B", "R", "D", "lambda1", "A", "n", "c3", "c5")


@dataclass(frozen=True)
class TersoffModEntry:
    """One entry; the module's text says which numbers count for j == k."""

    beta: float  # 1 or 3, power of the distance difference in the three-body weight
    alpha: float  # decay of the three-body weight (1/angstrom); any sign
    h: float  # preferred cosine of the angle j-i-k
    eta: float  # exponent of zeta in the bond order
    beta_ters: float  # 1, not used
    lambda2: float  # decay of the attraction (1/angstrom)
    B: float  # strength of the attraction (eV)
    R: float  # middle of the cutoff region (angstrom)
    D: float  # half width of the cutoff region (angstrom)
    lambda1: float  # decay of the repulsion (1/angstrom)
    A: float  # strength of the repulsion (eV)
    n: float  # the bond order has the exponent -1/(2n)
    c1: float  # c1 to c5 of the angular function
    c2: float
    c3: float
    c4: float
    c5: float
    c0: float = 0.0  # energy of a bond that does not decay (eV)

    @property
    def cutoff(self) -> float:
        """R + D, where the smooth cutoff ends (angstrom)."""
        return self.R + self.D


def _mistake(triple: Triple, of: Mapping[str, float]) -> tuple[str, str] | None:
    """Numbers for which the energy is undefined or is computed differently elsewhere."""
    if of["beta"] not in (1.0, 3.0):
        return "beta", "1 or 3"
    if of["beta_ters"] != 1.0:
        return "beta_ters", "1: this number is not used, and other values are often a shifted column"
    return _wrong_range(of) or _wrong_bond(triple, of)


def _wrong_range(of: Mapping[str, float]) -> tuple[str, str] | None:
    for field in _NOT_NEGATIVE:
        if of[field] < 0.0:
            return field, "a number that is not negative"
    if of["c3"] == 0.0:
        return "c3", "a positive number: the angular function divides by c3"
    return tersoff.wrong_cutoff(of)


def _wrong_bond(triple: Triple, of: Mapping[str, float]) -> tuple[str, str] | None:
    if triple[1] == triple[2]:
        for field in ("n", "eta"):
            if of[field] == 0.0:
                return field, "a positive number: the bond order has the exponent eta/(2n)"
    return None


_ROLES = ("centre", "bond partner", "third body")

_ALIKE = ("A", "lambda1", "R", "D")

read_tersoff_mod = Layout(
    kind="tersoff/mod",
    roles=_ROLES,
    fields=FIELDS,
    make=TersoffModEntry,
    mistake=_mistake,
    others="a file with c0 is called .tersoff.modc",
    alike=_ALIKE,
).read
"""Read a LAMMPS `.tersoff.mod` file; see `Layout.read`."""

read_tersoff_modc = Layout(
    kind="tersoff/mod/c",
    roles=_ROLES,
    fields=(*FIELDS, "c0"),
    make=TersoffModEntry,
    mistake=_mistake,
    others="a file without c0 is called .tersoff.mod",
    alike=(*_ALIKE, "c0"),
).read
"""Read a LAMMPS `.tersoff.modc` file; see `Layout.read`."""
