"""DYNAMO's setfl format for EAM potentials (`.eam.alloy`), and its Finnis-Sinclair form (`.eam.fs`).

    three comment lines
    N name1 ... nameN
    nrho drho nr dr cutoff
    per element:  Z mass a lattice, then F(rho) (nrho values), then f(r) (nr values); in `.eam.fs` N such f
    r phi(r) (nr values each) for the elements (1,1), (2,1), (2,2), (3,1), ...

In element b's section of a `.eam.fs` file the a-th f is what an atom of b makes at an atom of element a. rho
is counted from 0 in steps of drho, r (angstrom) from 0 in steps of dr; F in eV, r phi in eV angstrom. Names
of elements are those of line 4; Z is not used, because many files have a wrong one.

Sources: M. S. Daw, M. I. Baskes, Phys. Rev. B 29, 6443 (1984), doi:10.1103/PhysRevB.29.6443; M. W. Finnis,
J. E. Sinclair, Phil. Mag. A 50, 45 (1984), doi:10.1080/01418618408244210; LAMMPS manual, page pair_style eam.
"""

from dataclasses import dataclass
from pathlib import Path

from ase.data import atomic_numbers, chemical_symbols

from taichimd.core.arrays import Array
from taichimd.core.elements import is_symbol
from taichimd.core.errors import ParameterFileError
from taichimd.forcefields.formats.eam_words import Line, Reader, content, counts, in_either_way
from taichimd.forcefields.formats.header import Header, parse_comments
from taichimd.forcefields.formats.text import read_lines, shorten

HEAD = 5
"""Lines before the first element."""


@dataclass(frozen=True)
class EamFile:
    """Tables of an EAM potential."""

    path: Path  # where it was read from
    header: Header  # what it says about itself
    elements: tuple[str, ...]  # in the order of the file
    drho: float  # spacing of densities
    dr: float  # spacing of distances, angstrom
    cutoff: float  # angstrom
    embedding: dict[str, Array]  # F by element: (nrho,), eV
    density: dict[tuple[str, str], Array]  # by (element at which, element that makes it): (nr,)
    rphi: dict[tuple[str, str], Array]  # r phi by unordered pair, under both orders: (nr,), eV angstrom
    remarks: tuple[str, ...] = ()  # what a user should know of how the file was read


def read_setfl(path: str | Path, finnis_sinclair: bool = False) -> EamFile:
    """Read a setfl file; `finnis_sinclair`: each element has a density for each other one."""
    path = Path(path)
    lines = read_lines(path)
    header = parse_comments(lines[:3], path)
    if len(lines) <= HEAD:
        raise ParameterFileError(
            f"{path} has {len(lines)} lines, expected three comment lines, a line N name1 ... nameN, a line "
            "nrho drho nr dr cutoff, and tables"
        )
    number, names = _names(lines[3], path)
    head = content(lines[:HEAD], HEAD)
    grid = counts(head[0] if head else None, path, HEAD)
    body = content(lines, HEAD + 1)
    return in_either_way(
        path, body, lambda reader: _read(reader, header, number, names, grid, finnis_sinclair)
    )


def _names(text: str, path: Path) -> tuple[int, list[str]]:
    """N and the names of line 4, which may be missing."""
    words = text.split("#", 1)[0].split()
    count = words[0] if words else ""
    if not count.isascii() or not count.isdigit() or not 1 <= int(count) <= len(chemical_symbols):
        raise ParameterFileError(
            f"{path} line 4: {shorten(count)}, expected the number of elements and their names, as 2 Ni Al: "
            "is this an EAM file of three comment lines (setfl)?"
        )
    names = words[1:]
    if names and len(names) != int(count):
        raise ParameterFileError(
            f"{path} line 4 says {count} elements and names {len(names)} ({', '.join(names[:12])}); expected "
            "as many names"
        )
    for name in names:
        near = name.capitalize()
        if not is_symbol(name) and near in atomic_numbers:
            raise ParameterFileError(
                f"{path} line 4: element {shorten(name)}, expected a chemical symbol such as {near}"
            )
    if twice := [name for name in names if names.count(name) > 1]:
        raise ParameterFileError(f"{path} line 4 names {twice[0]} twice, expected each element once")
    return int(count), names


def _read(
    reader: Reader,
    header: Header,
    number: int,
    names: list[str],
    grid: tuple[int, float, int, float, float],
    finnis_sinclair: bool,
) -> EamFile:
    nrho, drho, nr, dr, cutoff = grid
    known = names or [f"element {k + 1}" for k in range(number)]
    embedding: list[Array] = []
    made: list[list[Array]] = []
    for k, name in enumerate(known):
        head = reader.head(name)
        if not names:
            name = _symbol(head, reader.path)
            if name in known[:k]:
                raise ParameterFileError(
                    f"{reader.path} line {head.number}: second element of atomic number {head.words[0]}; "
                    "line 4 names no elements, expected their names there"
                )
            known[k] = name
        embedding.append(reader.array(nrho, f"F of {name}"))
        of = [f" at {other}" for other in known] if finnis_sinclair else [""]
        made.append([reader.array(nr, f"f of {name}{other}") for other in of])
    pairs = [(a, b) for a in range(number) for b in range(a + 1)]
    rphi = {}
    for a, b in pairs:
        rphi[known[a], known[b]] = rphi[known[b], known[a]] = reader.array(
            nr, f"r phi of {known[a]}-{known[b]}"
        )
    reader.end()
    density = {
        (at, of): made[b][a if finnis_sinclair else 0]
        for a, at in enumerate(known)
        for b, of in enumerate(known)
    }
    return EamFile(
        reader.path, header, tuple(known), drho, dr, cutoff, dict(zip(known, embedding, strict=True)),
        density, rphi, tuple(_remarks(reader, names)),
    )  # fmt: skip


def _remarks(reader: Reader, names: list[str]) -> list[str]:
    found = []
    if not names:
        found.append("line 4 names no elements: they were taken from the atomic numbers")
    if reader.dropped:
        lines = ", ".join(map(str, reader.dropped[:3]))
        found.append(f"values beyond the end of an array were dropped on line {lines}")
    return found


def _symbol(head: Line, path: Path) -> str:
    z = int(head.words[0])
    if not 1 <= z < len(chemical_symbols):
        raise ParameterFileError(
            f"{path} line {head.number}: atomic number {z}, expected 1 to {len(chemical_symbols) - 1}, "
            "because line 4 names no elements"
        )
    return chemical_symbols[z]
