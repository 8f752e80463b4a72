"""DYNAMO's funcfl format: an EAM potential of one element (`.eam`), and how several of them are mixed.

    one comment line
    Z mass a lattice
    nrho drho nr dr cutoff
    F(rho) (nrho values), Z(r) (nr values), f(r) (nr values)

r phi_ij = 27.2 * 0.529 Z_i(r) Z_j(r), with DYNAMO's numbers for a hartree (eV) and a bohr (angstrom): files
are fitted with these. f_ij(r) is f of the atom that makes the density.

Files are brought to one grid, also a single file: the largest spacings, as many points as the largest range
holds without the last point, values by Lagrange's polynomial through four points. The cutoff is the largest
of all files.

Sources: M. S. Daw, M. I. Baskes, Phys. Rev. B 29, 6443 (1984), doi:10.1103/PhysRevB.29.6443; S. M. Foiles,
M. I. Baskes, M. S. Daw, Phys. Rev. B 33, 7983 (1986), doi:10.1103/PhysRevB.33.7983; LAMMPS manual, page
pair_style eam.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from ase.data import chemical_symbols

from taichimd.core.arrays import Array
from taichimd.core.errors import ParameterFileError
from taichimd.forcefields.formats.eam_words import Reader, content, counts, in_either_way
from taichimd.forcefields.formats.header import Header, parse_comments
from taichimd.forcefields.formats.setfl import EamFile
from taichimd.forcefields.formats.text import read_lines

HARTREE_BOHR = 27.2 * 0.529


@dataclass(frozen=True)
class Element:
    """A funcfl file."""

    path: Path  # where it was read from
    header: Header  # what it says about itself
    symbol: str  # of the atomic number on line 2
    drho: float  # spacing of densities
    dr: float  # spacing of distances, angstrom
    cutoff: float  # angstrom
    embedding: Array  # F (nrho,), eV
    charge: Array  # Z(r) (nr,)
    density: Array  # f (nr,)
    dropped: tuple[int, ...]  # numbers of the lines on which values were dropped


def read_funcfl(path: str | Path) -> Element:
    """Read a funcfl file."""
    path = Path(path)
    lines = read_lines(path)
    header = parse_comments(lines[:1], path)
    if len(lines) <= 3:
        raise ParameterFileError(
            f"{path} ends on line {len(lines) - (not lines[-1])}, expected a comment line, Z mass a lattice, "
            "nrho drho nr dr cutoff, and three tables (funcfl)"
        )
    if len(lines) > 4 and len(lines[4].split()) >= 5 and not lines[2].split("#")[0].strip()[:1].isdigit():
        raise ParameterFileError(
            f"{path} line 3 has no numbers, but line 5 has: this is an EAM file of three comment lines "
            "(setfl); call it .eam.alloy or .eam.fs"
        )
    head = Reader(path, content(lines[:2], 2), False, [])
    z = int(head.head("the element").words[0]) if head.lines else 0
    if not 1 <= z < len(chemical_symbols):
        raise ParameterFileError(f"{path} line 2: atomic number {z}, expected Z mass a lattice")
    line = content(lines[:3], 3)
    grid = counts(line[0] if line else None, path, 3)
    body = content(lines, 4)

    def read(reader: Reader) -> Element:
        nrho, drho, nr, dr, cutoff = grid
        arrays = reader.array(nrho, "F"), reader.array(nr, "Z(r)"), reader.array(nr, "f")
        reader.end()
        dropped = tuple(reader.dropped)
        return Element(path, header, chemical_symbols[z], drho, dr, cutoff, *arrays, dropped)

    return in_either_way(path, body, read)


def mixed(files: Sequence[Element]) -> EamFile:
    """One potential of funcfl files of different elements, on one grid."""
    symbols = [one.symbol for one in files]
    for k, one in enumerate(files):
        if one.symbol in symbols[:k]:
            first = files[symbols.index(one.symbol)]
            raise ParameterFileError(
                f"{first.path} and {one.path} are both files of {one.symbol}; give one file for each element"
            )
    drho, dr = max(one.drho for one in files), max(one.dr for one in files)
    rho_end = max((len(one.embedding) - 1) * one.drho for one in files)
    r_end = max((len(one.density) - 1) * one.dr for one in files)
    rho: Array = np.arange(int(rho_end / drho + 0.5), dtype=np.float64) * drho
    r: Array = np.arange(int(r_end / dr + 0.5), dtype=np.float64) * dr
    density = {one.symbol: _lagrange(one.density, one.dr, r) for one in files}
    charge = {one.symbol: _lagrange(one.charge, one.dr, r) for one in files}
    both = [(a, b) for a in symbols for b in symbols]
    rphi = {pair: HARTREE_BOHR * charge[min(pair)] * charge[max(pair)] for pair in both}
    first = files[0]
    header = first.header if len(files) == 1 else _common([one.header for one in files])
    remarks = tuple(
        f"{one.path.name}: values beyond the end of an array were dropped on line {one.dropped[0]}"
        for one in files
        if one.dropped
    )
    return EamFile(
        first.path, header, tuple(symbols), drho, dr, max(one.cutoff for one in files),
        {one.symbol: _lagrange(one.embedding, one.drho, rho) for one in files},
        {(a, b): density[b] for a, b in both},
        rphi, remarks,
    )  # fmt: skip


def _common(headers: Sequence[Header]) -> Header:
    """What is said of several files together."""
    texts = list(dict.fromkeys(one.citation for one in headers if one.citation))
    ranges = list(dict.fromkeys(one.valid_range for one in headers if one.valid_range))
    return replace(
        headers[0], citation="; ".join(texts) or None, doi=None, valid_range="; ".join(ranges) or None
    )


def _lagrange(y: Array, spacing: float, x: Array) -> Array:
    """Values at x of the polynomials through four points around the interval of x."""
    k = np.clip((x / spacing).astype(int), 1, len(y) - 3)
    t = np.minimum(x / spacing - k, 2.0)
    found: Array = (
        -t * (t - 1.0) * (t - 2.0) / 6.0 * y[k - 1]
        + (t * t - 1.0) * (t - 2.0) / 2.0 * y[k]
        - t * (t + 1.0) * (t - 2.0) / 2.0 * y[k + 1]
        + t * (t * t - 1.0) / 6.0 * y[k + 2]
    )
    return found
