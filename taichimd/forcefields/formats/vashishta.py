"""LAMMPS's `.vashishta` format: entries of three elements and fourteen numbers.

    i j k  H eta Zi Zj lambda1 D lambda4 W rc B gamma r0 C costheta0

`i` is the centre of the angle j-i-k. **Which numbers of an entry are used.** B, C and costheta0 belong to
the angle, so they count in every entry. An entry with j == k defines the pair i-j: H, eta, Zi, Zj, lambda1,
D, lambda4, W and rc of the two-body term, gamma and r0 of i-j in every angle centred on i; in other
entries they are ignored and mostly written as 0. The two-body term does not depend on the order of its ends,
so `i j j` and `j i i` must describe one pair; `i j k` and `i k j` one angle. gamma and r0 may depend on which
end is centre.

Units are LAMMPS's "metal": H in eV angstrom^eta, D in eV angstrom^4, W in eV angstrom^6, B in eV; Zi, Zj in
elementary charges; lambda1, lambda4, rc, gamma, r0 in angstrom; the rest are plain numbers.

Source: LAMMPS manual, page pair_style vashishta, with the notation of P. S. Branicio, J. P. Rino, C. K. Gan,
H. Tsuzuki, J. Phys.: Condens. Matter 21, 095002 (2009), doi:10.1088/0953-8984/21/9/095002.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from taichimd.core.scalars import digits
from taichimd.forcefields.formats.text import LONGEST
from taichimd.forcefields.formats.triples import Layout, Triple, TripleFile

FIELDS = (
    "H", "eta", "Zi", "Zj", "lambda1", "D", "lambda4", "W", "rc", "B", "gamma", "r0", "C", "costheta0",
)  # fmt: skip
"""The numbers of an entry, in the file's order."""
ANGLE_FIELDS = ("B", "C", "costheta0")
"""Those that an entry with j != k gives."""
SIGNED = ("Zi", "Zj", "costheta0")


@dataclass(frozen=True)
class VashishtaEntry:
    """One entry; the module's text says which numbers count for j == k and for j != k."""

    H: float  # strength of the steric repulsion (eV angstrom^eta)
    eta: float  # its power
    Zi: float  # charge of the centre (elementary charges)
    Zj: float  # charge of the neighbour (elementary charges)
    lambda1: float  # screening length of the Coulomb term (angstrom)
    D: float  # strength of the charge-dipole attraction (eV angstrom^4)
    lambda4: float  # its screening length (angstrom)
    W: float  # strength of the van der Waals attraction (eV angstrom^6)
    rc: float  # where the two-body term ends, with no energy and no force (angstrom)
    B: float  # strength of the angle (eV)
    gamma: float  # decay of the angle's strength with the distance (angstrom)
    r0: float  # where the angle ends (angstrom)
    C: float  # saturation of the angle's strength
    costheta0: float  # preferred cosine of the angle j-i-k

    @property
    def has_pair(self) -> bool:
        """Whether there is a two-body term."""
        return bool(self.H or self.Zi * self.Zj or self.D or self.W)


VashishtaFile = TripleFile[VashishtaEntry]


def _mistake(triple: Triple, of: Mapping[str, float]) -> tuple[str, str] | None:
    """Numbers that make no Vashishta potential."""
    for field in FIELDS:
        if field not in SIGNED and of[field] < 0.0:
            return field, "a number that is not negative"
    if abs(of["costheta0"]) > 1.0:
        return "costheta0", "a cosine, between -1 and 1"
    if of["rc"] > LONGEST:
        return "rc", f"{LONGEST:g} angstrom or less"
    return _mistake_of_pair(of) if triple[1] == triple[2] else None


def _mistake_of_pair(of: Mapping[str, float]) -> tuple[str, str] | None:
    """Numbers of an entry with j = k that make no pair."""
    charges = of["Zi"] * of["Zj"]
    for length, strength in (("lambda1", charges), ("lambda4", of["D"])):
        if strength and of[length] == 0.0:
            return length, "a positive screening length"
    if of["rc"] == 0.0 and (of["H"] or charges or of["D"] or of["W"]):
        return "rc", "a positive number: an entry with j = k says how far the pair i-j reaches"
    if of["r0"] > of["rc"]:
        return "r0", f"at most rc, {digits(of['rc'])}: three-body terms end within the two-body term"
    if of["B"] and of["r0"] == 0.0:
        return "r0", "a positive number: an entry with j = k says how far the angles of i-j reach"
    return None


read_vashishta = Layout(
    kind="vashishta",
    roles=("centre", "first neighbour", "second neighbour"),
    fields=FIELDS,
    make=VashishtaEntry,
    mistake=_mistake,
    others="is this a file of another format?",
).read
"""Read a LAMMPS `.vashishta` file; see `Layout.read`."""
