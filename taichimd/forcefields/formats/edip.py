"""LAMMPS's `.edip` format, of `pair_style edip` (one element) and `edip/multi`.

An entry (it may be spread over several lines, but starts on a line of its own) reads

    i j k  A B cutoffA cutoffC alpha beta eta gamma lambda mu rho sigma Q0 u1 u2 u3 u4

with centre i and neighbours j and k. An entry with j == k also defines the pair i-j: its A, B, cutoffA,
cutoffC, alpha, beta, gamma, rho and sigma. The other entries give eta, lambda, mu, Q0 and u1 to u4, which
(i, j, k) and (i, k, j) have in common.

Units: A, lambda in eV; B, cutoffA, cutoffC, gamma, sigma in angstrom.

Source: LAMMPS manual, page pair_style edip.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from taichimd.forcefields.formats.text import LONGEST
from taichimd.forcefields.formats.triples import Layout, Triple

FIELDS = (
    "A", "B", "cutoffA", "cutoffC", "alpha", "beta", "eta", "gamma", "lambda", "mu", "rho", "sigma", "Q0",
    "u1", "u2", "u3", "u4",
)  # fmt: skip
"""The numbers of an entry, in the file's order."""
ANGLE_FIELDS = ("eta", "lambda", "mu", "Q0", "u1", "u2", "u3", "u4")
"""Those that an entry with j != k gives."""
PAIR_FIELDS = tuple(name for name in FIELDS if name not in ANGLE_FIELDS)
_SIGNED = ("u1", "u2", "u3", "u4")


@dataclass(frozen=True)
class EdipEntry:
    """One entry; the module's text says which numbers count for j == k."""

    numbers: Mapping[str, float]  # by the names of `FIELDS`


def _made(*numbers: float) -> EdipEntry:
    return EdipEntry(dict(zip(FIELDS, numbers, strict=True)))


def _mistake(triple: Triple, of: Mapping[str, float]) -> tuple[str, str] | None:
    """Numbers for which the energy is undefined or jumps at its end."""
    for field in FIELDS:
        if field not in _SIGNED and of[field] < 0.0:
            return field, "a number that is not negative"
    return _mistake_of_pair(of) if triple[1] == triple[2] else None


def _mistake_of_pair(of: Mapping[str, float]) -> tuple[str, str] | None:
    if of["cutoffA"] > LONGEST:
        return "cutoffA", f"{LONGEST:g} angstrom or less"
    if of["cutoffC"] >= of["cutoffA"]:
        return "cutoffC", "a number below cutoffA: neighbours count less from cutoffC on, and end at cutoffA"
    for field in ("alpha", "gamma", "sigma"):
        if of[field] == 0.0:
            return field, "a positive number: without it the energy jumps at cutoffA"
    return None


read_edip = Layout(
    kind="edip/multi",
    roles=("centre", "first neighbour", "second neighbour"),
    fields=FIELDS,
    make=_made,
    mistake=_mistake,
    others="is this a file of another format?",
).read
"""Read a LAMMPS `.edip` file; see `Layout.read`."""
