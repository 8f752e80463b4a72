"""One term of a force field with all that its record says."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isinf
from typing import Any, ClassVar

from ase import Atoms

from taichimd.enumerate.parameters import spline
from taichimd.forcefields.code import Code, code_of, label
from taichimd.forcefields.references import reference_to, restored
from taichimd.forcefields.table import Table, shown
from taichimd.forcefields.truncate import truncated
from taichimd.forcefields.user_files import digest

PAIR, TRIPLET, BOND_ORDER, ANGLE, PASSES = "pair", "triplet", "bond order", "angle", "passes"
COORDINATION, QUEUED = "coordination", "queued"
"""A term with kernels of its own, which the host queues: it has a method `bind` (`reaxff.forcefield`)."""
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s,;]+[^\s,;.)]")


@dataclass(frozen=True)
class Source:
    """A file that parameters or functions come from."""

    path: str  # as it was given
    sha256: str | None  # of the file's bytes when it was read; None if it is no file


def source_of(path: str | os.PathLike[str] | None) -> Source | None:
    """A file with the SHA-256 of its present bytes, or None without a path."""
    return None if path is None else Source(os.fspath(path), digest(path))


def about(file: Any) -> dict[str, Any]:
    """What the terms of a parameter file that was read say of it: name, citation, range and so on."""
    header = file.header
    source = source_of(file.path)
    known = {"citation": header.citation, "doi": header.doi, "source": source}
    return {"name": file.path.name, **known, "valid_range": header.valid_range, "cautions": header.warnings}


@dataclass(frozen=True)
class Term:
    """A tuple function with its parameters."""

    timestep: ClassVar[float] = 1.0  # of a run that gives none, fs
    # whether the energy of an atom depends on its neighbours alone. Where charges of all atoms follow from
    # each other it does not; then no heat current is known, and all is in float64.
    local: ClassVar[bool] = True
    unbounded: ClassVar[bool] = False  # whether atoms that come close have energies without a lower bound

    kind: str  # "pair", "triplet", "bond order", "angle", "coordination", "passes" or "queued"
    function: Any  # compiled function as `terms` says; of a bond order a `BondOrder`, of passes `Passes`
    table: Table  # parameters by elements
    name: str  # for reports
    truncation: str | None = None  # of a pair term, how it ends at its cutoff; None for the others
    mixing: str | None = None  # name of the rule for unlike pairs that are not given; None without
    citation: str | None = None  # where formula or parameters come from
    doi: str | None = None  # of the citation, or None
    source: Source | None = None  # the file of parameters or function, or None
    units: Mapping[str, str] = field(default_factory=dict)  # of the parameters, by name
    written_as: str | None = None  # "module:function" of the author's function, where `function` wraps it
    valid_range: str | None = None  # what the parameters were made for, or None
    cautions: tuple[str, ...] = ()  # what they are often used for and not made for
    has_bonds: ClassVar[bool] = False
    """Whether an evaluation leaves a table of bonds with their orders."""
    external: ClassVar[bool] = False
    """Whether other code evaluates it, on the host, for all atoms of a system together (`external`)."""

    def __reduce__(self) -> Any:
        """For pickle: the function by where it is found."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return restored, (type(self), state | {"function": reference_to(self.function, self.name)})

    def __copy__(self) -> "Term":
        """Itself: nothing of it changes."""
        return self

    def __deepcopy__(self, memo: Any) -> "Term":
        """Itself: nothing of it changes, and compiled functions cannot be copied."""
        return self

    @property
    def of_one_system(self) -> bool:
        """Whether it joins all atoms that it is given, so that they have to be those of one system."""
        return isinf(self.cutoff)

    @property
    def cutoff(self) -> float:
        """Longest cutoff of a row, angstrom."""
        return max(row["cutoff"] for row in self.table.rows.values())

    @property
    def has_virial(self) -> bool:
        """Whether an evaluation gives the virial."""
        return True

    def longest_timestep(self, species: Sequence[str]) -> float | None:
        """Time step (fs) above which these species need a warning, or None."""
        return None

    def stationary(self) -> "Term":
        """This term, so that its forces are the whole derivative of its energy, for finite differences."""
        return self

    def suspicions(self, species: Sequence[str]) -> list[str]:
        """What in its parameters, for these species, is hardly meant so; one sentence each."""
        return []

    def seconds(self, n: int, backend: str) -> float:
        """A rough estimate of what one evaluation of n atoms takes; 0 where nobody would wait."""
        return 0.0

    def check_structure(self, atoms: Atoms) -> None:
        """Refuse a structure that the term has no energy of, by a TaichimdError."""

    @property
    def code(self) -> Code:
        """What is computed with the parameters: this function and all that it uses."""
        return code_of(truncated(self.function, self.truncation) if self.truncation else self.function)

    def computed(self, species: Sequence[str]) -> dict[str, Any]:
        """What a fingerprint covers of this term, on these species in the order of the kernels."""
        return {
            "kind": self.kind,
            "truncation": self.truncation,
            "columns": self.table.columns,
            "rows": self.table.digits(species, self.name),
            "code": self.code.digest,
            # Only where there are some: other terms keep their fingerprints.
            **({"ordered": self.table.ordered} if self.table.ordered else {}),
            **({"spline": code_of(spline).digest} if self.table.curves else {}),
        }

    def describe(self, species: Sequence[str] | None = None) -> dict[str, Any]:
        """A JSON-able record: kind, name, function, citation, files and rows of parameters by elements.

        With species the rows that are bound for them, mixed ones included, and the `code`.
        """
        rows = self.table.rows if species is None else self.table.bound_rows(species, self.name)
        record: dict[str, Any] = {
            "kind": self.kind,
            "name": self.name,
            "function": self.written_as or label(self.function),
            "citation": self.citation,
            "doi": self.doi or found_doi(self.citation),
            "source": self.source.path if self.source else None,
            "source_sha256": self.source.sha256 if self.source else None,
            "truncation": self.truncation,
            "mixing": self.mixing,
            "cutoff_A": max(row["cutoff"] for row in rows.values()),
            "units": dict(self.units),
            "parameters": {
                "-".join(key): {column: shown(row[column]) for column in self.table.columns if column in row}
                for key, row in rows.items()
            },
        }
        if species is not None:
            record["code"] = dict(self.code.parts)
        return record


def found_doi(citation: str | None) -> str | None:
    """The DOI that a citation contains, or None."""
    match = _DOI.search(citation or "")
    return match.group() if match else None
