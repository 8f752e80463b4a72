"""Tables of counts with what makes energies of them, and their JSON files."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.errors import ParameterFileError, SettingsError
from taichimd.io.files import write_atomically
from taichimd.sequences.chains import LABELS, Chain, Ints
from taichimd.sequences.counts import Counts, Shape, separations

FORMAT, VERSION = "cssp-table", 1
BACKGROUND, INDEPENDENT = "background", "independent"
REFERENCES = (BACKGROUND, INDEPENDENT)
PSEUDO_COUNTS = (1.0, 300.0, 1000.0)
"""Counts of three orders: chosen by cross-validation of fifty chains. More chains need smaller ones."""


@dataclass(frozen=True)
class Table:
    """Counts, and how energies are made of them.

    Raises:
        SettingsError: pseudo-counts that are not three numbers above 0, or an unknown reference state.
    """

    counts: Counts  # of the chains that it was trained with
    # counts of the reference state that are added to each cell of a singlet, a doublet, a triplet; above 0
    pseudo_counts: tuple[float, ...] = PSEUDO_COUNTS
    reference: str = BACKGROUND  # "background" or "independent" (`sequences.energies`)

    def __post_init__(self) -> None:
        numbers = self.pseudo_counts
        if len(numbers) != 3 or not all(1e-9 <= one <= 1e12 for one in numbers):
            raise SettingsError(
                f"pseudo-counts {','.join(map(str, numbers))}: expected three numbers from 1e-9 to 1e12, "
                "as 1,300,1000"
            )
        if self.reference not in REFERENCES:
            raise SettingsError(f"reference = {self.reference!r}: expected {' or '.join(REFERENCES)}")

    @property
    def shape(self) -> Shape:
        """What its cells are."""
        return self.counts.shape

    def check_fragment(self, fragment: int | None, name: object = "the table") -> None:
        """Raise a SettingsError if a fragment size is given and is not the table's."""
        if fragment not in (None, self.shape.fragment):
            raise SettingsError(
                f"{name} was trained with fragments of {self.shape.fragment} residues, not {fragment}: take "
                f"--fragment {self.shape.fragment}, or train a table with --fragment {fragment}"
            )

    def rows(self) -> Iterator[tuple[str, int, int, int]]:
        """For each order: name, cells, cells with counts, counts."""
        both = self.counts.singlets[0], self.counts.doublets[0], self.counts.triplets
        for name, counts, of_cell in zip(("singlets", "doublets", "triplets"), both, (3, 9, 27), strict=True):
            cells = counts.reshape(-1, of_cell).sum(axis=1)
            yield name, cells.size, int(np.count_nonzero(cells)), int(cells.sum())


def train(
    chains: Sequence[Chain],
    shape: Shape | None = None,
    pseudo_counts: tuple[float, ...] = PSEUDO_COUNTS,
    reference: str = BACKGROUND,
) -> Table:
    """A table of the counts of chains, which are not shorter than a fragment."""
    return Table(Counts.of(chains, shape or Shape()), pseudo_counts, reference)


def write_table(path: Path, table: Table) -> None:
    """Write a JSON file: counts and no energies, so that pseudo-counts and reference can be changed later.

    A key is "A" for a singlet, "A.C.2" for a doublet of separation 2, "A.C.D.2.1" for a triplet of
    separations 2 and 1. A class of residues is named by its first letter. Counts run over the labels C, E,
    H, the last residue's fastest. Cells without counts are left out.

    Raises:
        OutputError: it cannot be written.
    """
    counts, steps = table.counts, _steps(table.shape)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "window": table.shape.fragment,
        "labels": LABELS,
        "groups": table.shape.groups,
        "kappa": table.pseudo_counts,
        "reference": table.reference,
        "singlets": [
            _cells(c, groups, [()]) for c, groups in zip(counts.singlets, table.shape.groups, strict=True)
        ],
        "doublets": [{}, *(_cells(counts.doublets[k - 1], table.shape.groups[k], steps[0]) for k in (1, 2))],
        "triplets": _cells(counts.triplets, table.shape.groups[2], steps[1]),
    }
    write_atomically(path, lambda file: file.write(json.dumps(content, sort_keys=True).encode()))


def _steps(shape: Shape) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Separations of doublets and of triplets, in the order of the arrays."""
    return [(d,) for d in range(1, shape.fragment)], [*separations(shape.fragment)]


def _keys(order: int, groups: Sequence[str], steps: Sequence[tuple[int, ...]]) -> Iterator[str]:
    names = [group[0] for group in groups]
    return (
        ".".join((*classes, *map(str, step))) for step in steps for classes in product(names, repeat=order)
    )


def _cells(counts: Any, groups: Sequence[str], steps: Sequence[tuple[int, ...]]) -> dict[str, list[int]]:
    order = len(steps[0]) + 1
    rows = counts.reshape(-1, 3**order)
    keys = zip(_keys(order, groups, steps), rows, strict=True)
    return {key: row.tolist() for key, row in keys if row.any()}


def read_table(path: str | Path) -> Table:
    """Read such a file; a ParameterFileError if it is no such table."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterFileError(
            f"there is no table {path}; train one with `taichimd cssp train`, or name another with --table"
        ) from None
    except OSError as error:
        raise ParameterFileError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise ParameterFileError(f"{path} is not a JSON file: {error}; train it again") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ParameterFileError(
            f'{path} is not a table of `taichimd cssp train`: expected "format": "{FORMAT}"'
        )
    for name, expected in (("version", VERSION), ("labels", LABELS)):
        if content.get(name) != expected:
            raise ParameterFileError(
                f"{path}: {name} = {content.get(name)!r}, expected {expected!r}; train it "
                "again with this version"
            )
    try:
        return _table_of(content)
    except SettingsError as error:
        raise ParameterFileError(f"{path}: {error}") from error
    except KeyError as error:
        raise ParameterFileError(f"{path}: {error.args[0]} is missing; train it again") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ParameterFileError(f"{path} is broken: {error}; train it again") from error


def _table_of(content: dict[str, Any]) -> Table:
    first, second, third = (tuple(map(str, classes)) for classes in content["groups"])
    shape = Shape(int(content["window"]), (first, second, third))
    counts, steps = Counts.empty(shape), _steps(shape)
    for order in range(3):
        _fill(counts.singlets[order], content["singlets"][order], shape.groups[order], [()], "singlets")
        if order:
            cells = content["doublets"][order]
            _fill(counts.doublets[order - 1], cells, shape.groups[order], steps[0], "doublets")
    _fill(counts.triplets, content["triplets"], shape.groups[2], steps[1], "triplets")
    return Table(counts, tuple(map(float, content["kappa"])), content["reference"])


def _fill(
    counts: Ints, cells: dict[str, Any], groups: Sequence[str], steps: Sequence[tuple[int, ...]], name: str
) -> None:
    order = len(steps[0]) + 1
    rows = counts.reshape(-1, 3**order)
    place = {key: k for k, key in enumerate(_keys(order, groups, steps))}
    for key, values in cells.items():
        if key not in place:
            raise ValueError(f"{name} has a cell {key!r}, which its classes and fragments do not have")
        if len(values) != 3**order or not all(type(v) is int and 0 <= v < 2**53 for v in values):
            raise ValueError(f"cell {key!r} of {name} is not {3**order} counts")
        rows[place[key]] = values
