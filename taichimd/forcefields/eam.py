"""The embedded-atom method, of files (`.eam.alloy`, `.eam.fs`, `.eam`) or of curves.

    U_i = F_i(rho_i) + 1/2 sum_j phi_ij(r_ij),   rho_i = sum_j f_ij(r_ij)

f_ij is the density that atom j makes at atom i. In an EAM file it depends on the element of j alone. In a
file of Finnis-Sinclair form it depends on both elements, and f_ij is not f_ji. With slopes of the embedding
energy,

    dU_i/dr_ij = 1/2 phi' + F_i' f_ij',   dU_j/dr_ij = 1/2 phi' + F_j' f_ji'.

M. S. Daw, M. I. Baskes, Phys. Rev. B 29, 6443 (1984), doi:10.1103/PhysRevB.29.6443; M. W. Finnis,
J. E. Sinclair, Phil. Mag. A 50, 45 (1984), doi:10.1080/01418618408244210.

Files tabulate r phi. Curves are splines (`tabulated`); F is a straight line beyond its last point.
"""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.errors import ParameterFileError
from taichimd.enumerate.terms import Pass
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.formats.funcfl import mixed, read_funcfl
from taichimd.forcefields.formats.setfl import EamFile, read_setfl
from taichimd.forcefields.passes import ManyBody, each_atom, neighbour_sum, pair_forces
from taichimd.forcefields.table import Row
from taichimd.forcefields.tabulated import Tabulated
from taichimd.forcefields.term import Source, source_of

JUMP = 1e-5
"""eV: a larger jump of the pair energy at the cutoff is worth a warning."""
NEGATIVE = 1e-3
"""Share of the largest density: a density less than this below 0 is noise of the file."""


@neighbour_sum("density")
def density(r, p, mine, theirs):
    """The density of one neighbour."""
    f, _ = p.density(r)
    return f


@each_atom("slope", within={"density": "embedding"})
def embedding(mine, p):
    """Embedding energy and its slope."""
    energy, slope = p.embedding(mine.density)
    return energy, slope


@pair_forces
def forces(r, p, mine, theirs):
    """Half of the pair energy, and slopes of the energies of both atoms."""
    z, dz = p.rphi(r)
    _, df = p.density(r)
    _, dg = p.density_back(r)
    inverse = 1.0 / r
    phi = z * inverse
    half = 0.5 * (dz - phi) * inverse
    return 0.5 * phi, half + mine.slope * df, half + theirs.slope * dg


@pair_forces
def forces_of_one_element(r, p, mine, theirs):
    """The same where both atoms make the same density: one curve less to look up."""
    z, dz = p.rphi(r)
    _, df = p.density(r)
    inverse = 1.0 / r
    phi = z * inverse
    half = 0.5 * (dz - phi) * inverse
    return 0.5 * phi, half + mine.slope * df, half + theirs.slope * df


def _program(last: Pass, ordered: tuple[str, ...]) -> ManyBody:
    made = ManyBody(
        "embedded atoms",
        [density, embedding, last],
        arrays=("density", "slope"),
        params={},
        tables={"embedding": "eV", "density": "1", "rphi": "eV Å"},
        of_atoms=("embedding",),
        ordered=ordered,
        reference="M. S. Daw, M. I. Baskes, Phys. Rev. B 29, 6443 (1984), doi:10.1103/PhysRevB.29.6443",
    )
    made.program = replace(made.program, local=True)
    return made


EAM = _program(forces, ("density",))
EAM_OF_ONE_ELEMENT = _program(forces_of_one_element, ())


def EmbeddedAtom(*files: str | PathLike[str]) -> ForceField:  # noqa: N802 - reads as what it makes
    r"""An embedded-atom force field.

        >>> from pathlib import Path
        >>> from taichimd import EmbeddedAtom
        >>> head = "a file\nof\nnobody\n1 Cu\n5 1.0 5 1.0 4.0\n29 63.5 3.6 fcc\n"
        >>> characters = Path("Cu.eam.alloy").write_text(head + "0 -1 -2 -3 -4\n" + "2 2 1 0 0\n" * 2)
        >>> EmbeddedAtom("Cu.eam.alloy").cutoff
        4.0

    Args:
        files: one `.eam.alloy` or `.eam.fs` file, or a `.eam` file for each element.

    Returns:
        The force field.

    Raises:
        ParameterFileError: a file cannot be found or read (the message names the line), or several files of
            alloys are given.
    """
    paths = [library.find(file) for file in files]
    kinds = [library.kind_of(path) for path in paths]
    if not paths or (len(paths) > 1 and set(kinds) != {"eam"}):
        names = ", ".join(path.name for path in paths) or "no file"
        raise ParameterFileError(
            f"EAM of {names}: expected one .eam.alloy or .eam.fs file, or a .eam file for each element"
        )
    if kinds[0] == "eam":
        parsed = mixed([read_funcfl(path) for path in paths])
    else:
        parsed = read_setfl(paths[0], finnis_sinclair=kinds[0] == "eam/fs")
    return _of_file(parsed, paths)


def _of_file(parsed: EamFile, paths: Sequence[Path]) -> ForceField:
    name = " ".join(path.name for path in paths)
    made = (EAM if len(parsed.elements) > 1 else EAM_OF_ONE_ELEMENT)(
        table=_rows(parsed), cutoff=parsed.cutoff
    )
    return made.of_file(parsed, (*parsed.remarks, *remarks_on(parsed)), name=name, source=_source(paths))


def _source(paths: Sequence[Path]) -> Source | None:
    """The file; of several files all their paths."""
    if len(paths) == 1:
        return source_of(paths[0])
    return Source(SEPARATOR.join(map(str, paths)), None)


SEPARATOR = " + "
"""Between the paths of several funcfl files that are one potential."""


def _rows(of: EamFile) -> dict[Any, Row]:
    """Curves by elements, in both orders of a pair."""
    densities: dict[int, Tabulated] = {}
    rphi: dict[int, Tabulated] = {}

    def curve(kept: dict[int, Tabulated], name: str, values: Any) -> Tabulated:
        # One object for one array: its digest is computed once.
        if id(values) not in kept:
            kept[id(values)] = Tabulated(name, 0.0, of.dr, values).up_to(of.cutoff)
        return kept[id(values)]

    found: dict[Any, Row] = {}
    for a in of.elements:
        for b in of.elements:
            row: dict[str, Any] = {
                "density": curve(densities, "density", of.density[a, b]),
                "rphi": curve(rphi, "rphi", of.rphi[a, b]),
            }
            if a == b:
                row["embedding"] = Tabulated("embedding", 0.0, of.drho, of.embedding[a])
            found[a, b] = row
    return found


def remarks_on(of: EamFile) -> list[str]:
    """What a user should know of the tables: jumps at the cutoff, where tables end, negative densities."""
    found = []
    jumps = {
        pair: float(Tabulated("", 0.0, of.dr, values)(of.cutoff)[0]) / of.cutoff
        for pair, values in of.rphi.items()
    }
    pair = max(jumps, key=lambda one: abs(jumps[one]))
    if abs(jumps[pair]) > JUMP:
        found.append(
            f"the pair energy of {'-'.join(pair)} jumps by {jumps[pair]:.2g} eV at the cutoff of "
            f"{of.cutoff:g} angstrom, and energy is conserved no better than that"
        )
    end = (len(next(iter(of.rphi.values()))) - 1) * of.dr
    if end < of.cutoff * (1.0 - 1e-6):
        found.append(
            f"tables end at {end:g} angstrom, before the cutoff of {of.cutoff:g}; their last values are kept"
        )
    negative = [pair for pair, f in of.density.items() if np.min(f) < -NEGATIVE * np.max(np.abs(f))]
    if negative:
        found.append(
            f"the density of {negative[0][1]} is negative at some distances; where a sum is below 0, the "
            "first piece of F continues"
        )
    return found
