"""Writes an ffield file from numbers: uniform columns, the names of the columns as comments."""

from collections.abc import Iterable, Iterator, Sequence

from taichimd.forcefields.reaxff import columns
from taichimd.forcefields.reaxff.ffield import Entry, FField


def ffield_text(ffield: FField, elements: Sequence[str], title: str) -> str:
    """The file of some elements of a parameter set, numbered in their order; entries keep theirs."""
    kinds = [ffield.names.index(element) + 1 for element in elements]
    place = {0: 0, **{kind: at for at, kind in enumerate(kinds, start=1)}}
    lines = [title, *_general(ffield), *_atoms(ffield, elements, kinds)]
    for name, entries, rows in (
        ("bonds", ffield.bonds, columns.BOND),
        ("off-diagonals", ffield.off_diagonals, (columns.OFF_DIAGONAL,)),
        ("angles", ffield.angles, (columns.ANGLE,)),
        ("torsions", ffield.torsions, (columns.TORSION,)),
        ("hydrogen bonds", ffield.hydrogen_bonds, (columns.HYDROGEN,)),
    ):
        kept = [entry for entry in entries if place.keys() >= set(entry.types)]
        lines += [
            f"{len(kept):3d} ! {name}: {' '.join(rows[0])}",
            *(f"    ! {' '.join(row)}" for row in rows[1:]),
        ]
        for entry in kept:
            lines += _rows(entry, "".join(f"{place[kind]:3d}" for kind in entry.types), rows)
    return "\n".join(lines) + "\n"


def _general(ffield: FField) -> Iterator[str]:
    yield f"{len(columns.GENERAL):3d} ! general parameters"
    yield from (f"{_number(ffield.general[name])} ! {name}" for name in columns.GENERAL)


def _atoms(ffield: FField, elements: Sequence[str], kinds: Sequence[int]) -> Iterator[str]:
    yield f"{len(kinds):3d} ! atoms: {' '.join(columns.ATOM[0])}"
    yield from (f"    ! {' '.join(row)}" for row in columns.ATOM[1:])
    for element, kind in zip(elements, kinds, strict=True):
        yield from _rows(ffield.atoms[kind - 1], f" {element:2s}", columns.ATOM)


def _rows(entry: Entry, label: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for at, row in enumerate(rows):
        yield (label if at == 0 else " " * len(label)) + "".join(_number(entry[name]) for name in row)


def _number(value: float) -> str:
    """The number in ten characters, four of them decimals, as all published files have it."""
    text = f"{value:10.4f}"
    if float(text) != value:
        raise ValueError(f"{value!r} has more than four decimals")
    return text
