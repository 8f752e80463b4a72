"""Which of LAMMPS's own pair styles computes a force field, and how it gets the parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taichimd.core.errors import PropertyError
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.contribution import Contribution
from taichimd.forcefields.library import kind_of
from taichimd.forcefields.term import QUEUED, Term

FILES = (
    "tersoff",
    "tersoff/mod",
    "tersoff/mod/c",
    "tersoff/zbl",
    "sw",
    "sw/mod",
    "vashishta",
    "eam/alloy",
    "eam/fs",
    "edip/multi",
)
"""Kinds of parameter files that LAMMPS reads as they are; also names of its pair styles."""
TRUNCATIONS = {
    "truncated": ("lj/cut", ()),
    "energy-shifted": ("lj/cut", ("shift yes",)),
    "force-shifted": ("lj/smooth/linear", ()),
}
"""Pair style and arguments of pair_modify, by the truncation of a Lennard-Jones term."""


@dataclass(frozen=True)
class Style:
    """Commands for LAMMPS, as `lammps_evaluate` takes them."""

    pair_style: str  # with its arguments
    # arguments of the pair_coeff lines; `{elements}` stands for the elements of the types
    pair_coeff: tuple[str, ...]
    pair_modify: tuple[str, ...] = ()  # arguments of the pair_modify lines


def style_of(forcefield: ForceField, species: Sequence[str]) -> Style:
    """The pair style of LAMMPS that computes a force field; a PropertyError if there is none.

    It may be of parameter files for Tersoff, Stillinger-Weber and Vashishta, Lennard-Jones, or a sum of these
    in which no style occurs twice.
    """
    elements = sorted(set(species))
    parts = [_style_of(one, elements) for one in forcefield.contributions]
    if len(parts) == 1:
        return parts[0]
    names = [part.pair_style.split()[0] for part in parts]
    if len(set(names)) < len(names):
        raise PropertyError(f"{forcefield.name}: a sum in which LAMMPS's style {names[0]} would occur twice")
    coefficients: list[str] = []
    modify: list[str] = []
    for name, part in zip(names, parts, strict=True):
        for line in part.pair_coeff:
            first, second, rest = line.split(maxsplit=2)
            coefficients.append(f"{first} {second} {name} {rest}")
        modify += [f"pair {name} {line}" for line in part.pair_modify]
    style = "hybrid/overlay " + " ".join(part.pair_style for part in parts)
    return Style(style, tuple(coefficients), tuple(modify))


def _style_of(contribution: Contribution, elements: list[str]) -> Style:
    sources = {term.source.path for term in contribution.terms if term.source}
    kinds = {kind_of(Path(path)) for path in sources}
    if len(sources) == 1 and kinds <= set(FILES):
        (path,), (kind,) = sources, kinds
        return Style(str(kind), (f'* * "{Path(path).resolve()}" {{elements}}',))
    if len(contribution.terms) == 1 and _is_lennard_jones(contribution.terms[0]):
        return _lennard_jones(contribution.terms[0], elements)
    raise PropertyError(f"LAMMPS has no pair style of {contribution.name} that it could be compared with")


def _is_lennard_jones(term: Term) -> bool:
    from taichimd.forcefields.lennard_jones import lennard_jones

    return term.function is lennard_jones


def _lennard_jones(term: Term, elements: list[str]) -> Style:
    name, modify = TRUNCATIONS[str(term.truncation)]
    rows = term.table.bound_rows(elements, term.name)
    numbers = {element: k + 1 for k, element in enumerate(elements)}
    coefficients = tuple(
        f"{numbers[a]} {numbers[b]} {row['epsilon']!r} {row['sigma']!r} {row['cutoff']!r}"
        for (a, b), row in rows.items()
    )
    return Style(f"{name} {max(row['cutoff'] for row in rows.values())!r}", coefficients, modify)


def reaxff_file(forcefield: ForceField) -> Path | None:
    """The parameter file of ReaxFF alone, which LAMMPS's style reaxff reads; None of other force fields."""
    terms = forcefield.terms
    if len(terms) != 1 or terms[0].kind != QUEUED or terms[0].external or terms[0].source is None:
        return None
    return Path(terms[0].source.path).resolve() if terms[0].has_bonds else None
