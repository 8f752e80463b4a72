"""LAMMPS's `.tersoff.zbl` format: the entries of `.tersoff` with four more numbers for close atoms.

    i j k  m gamma lambda3 c d costheta0 n beta lambda2 B R D lambda1 A  Z_i Z_j ZBLcut ZBLexpscale

The four count in entries with j == k: atomic numbers, the distance r_C (angstrom) at which the ZBL energy
goes over into Tersoff's, and how sharply (1/angstrom).

Sources: R. Devanathan, T. Diaz de la Rubia, W. J. Weber, J. Nucl. Mater. 253, 47 (1998),
doi:10.1016/S0022-3115(97)00304-8; LAMMPS manual, page pair_style tersoff/zbl.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from taichimd.forcefields.formats import tersoff
from taichimd.forcefields.formats.triples import Layout, Triple

FIELDS = (*tersoff.FIELDS, "Z_i", "Z_j", "ZBLcut", "ZBLexpscale")
"""The numbers of an entry, in the file's order."""


@dataclass(frozen=True)
class TersoffZBLEntry(tersoff.TersoffEntry):
    """An entry of a `.tersoff` file, with four more numbers."""

    Z_i: float  # Z_i, Z_j: atomic numbers
    Z_j: float
    ZBLcut: float  # distance at which both energies count alike (angstrom)
    ZBLexpscale: float  # slope of the transition (1/angstrom)


def _mistake(triple: Triple, of: Mapping[str, float]) -> tuple[str, str] | None:
    if found := tersoff.mistake(triple, of):
        return found
    for field in ("Z_i", "Z_j", "ZBLcut", "ZBLexpscale"):
        if of[field] < 0.0 or (triple[1] == triple[2] and of[field] == 0.0):
            return field, "a positive number"
    return None


read_tersoff_zbl = Layout(
    kind="tersoff/zbl",
    roles=("centre", "bond partner", "third body"),
    fields=FIELDS,
    make=TersoffZBLEntry,
    mistake=_mistake,
    others="tersoff and tersoff/mod files have other columns and other endings of their names",
    alike=("A", "lambda1", "R", "D", "ZBLcut", "ZBLexpscale"),
).read
"""Read a LAMMPS `.tersoff.zbl` file; see `Layout.read`."""
