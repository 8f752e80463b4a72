"""What one potential adds to a force field."""

from collections.abc import Sequence
from dataclasses import dataclass

from taichimd.core.errors import MissingParameterError, SettingsError
from taichimd.forcefields.table import ANY
from taichimd.forcefields.term import Term

ALL_PAIRS = "all-pairs"
ENUMERATIONS = ("neighbours", ALL_PAIRS)


@dataclass(frozen=True)
class Contribution:
    """What one potential adds to a force field: a pair and a three-body term at most, or one of passes."""

    name: str  # for reports and messages
    terms: tuple[Term, ...]  # each with its function, parameters, truncation, citation and file
    enumeration: str = "neighbours"  # "neighbours", or "all-pairs" without lists

    def __post_init__(self) -> None:
        if self.enumeration not in ENUMERATIONS:
            raise SettingsError(f"enumeration is '{self.enumeration}', expected {' or '.join(ENUMERATIONS)}")
        for term in self.terms:
            term.table.check(self.name, term.kind)
            if not term.local and self.enumeration == ALL_PAIRS:
                raise SettingsError(
                    f'{self.name} needs neighbour lists; the enumeration "{ALL_PAIRS}" has none'
                )

    def term(self, *kinds: str) -> Term | None:
        """The first term of these kinds, or None."""
        return next((term for term in self.terms if term.kind in kinds), None)

    @property
    def elements(self) -> tuple[str, ...] | None:
        """Elements with parameters, or None if it takes any."""
        sets = [{e for key in term.table.rows for e in key} for term in self.terms]
        # A row for all takes any element, whatever other rows name.
        named = [s for s in sets if ANY not in s]
        return tuple(sorted(set.intersection(*named))) if named else None

    def check_species(self, species: Sequence[str]) -> None:
        """Raise a MissingParameterError for elements without parameters."""
        elements = self.elements
        if elements is not None and (unknown := [s for s in species if s not in elements]):
            defined = ", ".join(elements) or "none in all of its terms"
            raise MissingParameterError(
                f"{self.name} has no parameters for {', '.join(unknown)}; it defines: {defined}"
            )
