"""What an ffield file defines for some species, in words, and what it leaves to a rule or has not."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, product

from taichimd.forcefields.reaxff.ffield import FField
from taichimd.forcefields.reaxff.rules import (
    acts,
    angles_by_types,
    by_pair,
    form_name,
    missing_bonds,
    torsions_by_types,
    types_of,
)
from taichimd.forcefields.reaxff.suspicious import warnings_of

_LISTED = 12
_WIDTH = 16

Types = tuple[int, ...]


def describe(ffield: FField, species: Sequence[str] | None = None) -> str:
    """Describe a file.

    Args:
        ffield: the file.
        species: chemical symbols, described as for a structure of them; None: all atoms of the file.

    Returns:
        Lines of text, without a final line break.

    Raises:
        MissingParameterError: the file lacks one of the species.
    """
    names = list(dict.fromkeys(ffield.names)) if species is None else list(species)
    kinds = types_of(ffield, names)
    warnings = warnings_of(ffield, species)
    lines = [
        *_file(ffield, names),
        *_pairs(ffield, names, kinds),
        *_angles(ffield, kinds),
        *_torsions(ffield, kinds),
        *_hydrogen_bonds(ffield, kinds),
        *([_line("range", ffield.header.valid_range)] if ffield.header.valid_range else []),
        *(_line("warning", text) for text in (*ffield.header.warnings, *warnings)),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _line(label: str, text: str) -> str:
    return f"{label:{_WIDTH}}{text}"


def _file(ffield: FField, names: Sequence[str]) -> Iterator[str]:
    header = ffield.header
    title = header.citation or "; ".join(header.notes)
    yield _line("file", f"{ffield.path.name}: ReaxFF{', ' + title if title else ''}")
    yield _line("atoms", f"{' '.join(names)} (of {' '.join(ffield.names)})")
    general = ffield.general
    dispersion = ", low-gradient dispersion" if ffield.lg else ""
    yield _line("van der Waals", f"{form_name(ffield.atoms[0])}{dispersion}, to {general['swb']:g} angstrom")
    yield _line("bond orders", f"above {0.01 * general['cutoff']:g}")


def _pairs(ffield: FField, names: Sequence[str], kinds: Sequence[int]) -> Iterator[str]:
    missing = missing_bonds(ffield, names)
    pairs = [pair for pair in combinations_with_replacement(kinds, 2) if ffield.label(pair) not in missing]
    yield _line("bonds", _listing(ffield, pairs))
    if missing:
        yield _line("", f"missing: {_cut(missing)}; structures with such a pair are refused")
    mixed = by_pair(ffield.off_diagonals)
    yield _line("off-diagonals", _listing(ffield, [pair for pair in pairs if frozenset(pair) in mixed]))
    yield _line(
        "", f"by the combination rules: {_listing(ffield, [p for p in pairs if frozenset(p) not in mixed])}"
    )


def _angles(ffield: FField, kinds: Sequence[int]) -> Iterator[str]:
    found = angles_by_types(ffield)
    triples = _once(kinds, 3)
    yield _line("angles", _listing(ffield, [triple for triple in triples if triple in found]))
    if several := [triple for triple in triples if len(found.get(triple, ())) > 1]:
        yield _line("", f"several entries, which add up: {_listing(ffield, several)}")
    yield _line("", f"without: {_listing(ffield, [triple for triple in triples if triple not in found])}")


def _torsions(ffield: FField, kinds: Sequence[int]) -> Iterator[str]:
    explicit, any_end = torsions_by_types(ffield)
    quadruples = _once(kinds, 4)
    own = [types for types in quadruples if types in explicit]
    middles = [types for types in _once(kinds, 2) if types in any_end]
    none = [types for types in quadruples if types not in explicit and types[1:3] not in any_end]
    yield _line("torsions", _listing(ffield, own))
    yield _line("", f"of any ends: {_listing(ffield, [(0, *middle, 0) for middle in middles])}")
    yield _line("", f"without: {_listing(ffield, none)}")


def _hydrogen_bonds(ffield: FField, kinds: Sequence[int]) -> Iterator[str]:
    last = {entry.types: entry for entry in ffield.hydrogen_bonds}
    acting = [types for types in product(kinds, repeat=3) if types in last and acts(ffield, last[types])]
    yield _line("hydrogen bonds", _listing(ffield, acting))


def _once(kinds: Sequence[int], number: int) -> list[Types]:
    """All tuples of so many atoms, of a tuple and its reverse only one."""
    return [types for types in product(kinds, repeat=number) if types <= types[::-1]]


def _listing(ffield: FField, entries: Iterable[Types]) -> str:
    return _cut([ffield.label(types) for types in entries])


def _cut(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return (", ".join(names[:_LISTED]) or "none") + (f" and {more} more" if more > 0 else "")
