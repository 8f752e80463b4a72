"""ForceField: tuple functions with parameter values, and its binding to the species of a structure."""

import hashlib
import json
import warnings
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from taichimd.core.cuda_driver import devices
from taichimd.core.errors import PropertyError, SettingsError, TaichimdWarning
from taichimd.forcefields.bound import BODIES, Bound, bound
from taichimd.forcefields.contribution import ALL_PAIRS, Contribution
from taichimd.forcefields.term import PAIR, PASSES, QUEUED, Source, Term, about
from taichimd.neighbours.control import MAX_GROUPS

DAY = 86400.0
_SHOWN = 3
"""Suspicions that a warning spells out."""
_warned: set[tuple[Source | None, tuple[str, ...]]] = set()
"""What has been warned of in this process."""
BOND = 3.5
"""Angstrom: longer bonds of reactive force fields are weak."""


@dataclass(frozen=True)
class ForceField:
    """A sum of contributions, with parameters.

    Made by `LennardJones`, `Tersoff`, `StillingerWeber`, a declared potential, or `+` of two of them.

    Attributes:
        name: for reports and messages.
        contributions: what is added up.
        file: the Python file that it was loaded from, or None.
        python_files: that file and the modules beside it that it imported, of a sum those of all parts.
    """

    name: str
    contributions: tuple[Contribution, ...]
    file: Source | None = None
    python_files: tuple[Source, ...] = ()
    _described: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, name: str, *terms: Term, enumeration: str = "neighbours") -> "ForceField":
        """A force field of one contribution."""
        return cls(name, (Contribution(name, terms, enumeration),))

    def of_file(self, file: Any, remarks: Sequence[str] = (), **changes: Any) -> "ForceField":
        """The same terms with what a parameter file that was read says of itself; the file cites first.

        `remarks`: what a user should know of the file, after the warnings of its header; `changes`: what is
        not as `about` has it.
        """
        known = about(file) | changes
        known["citation"] = known["citation"] or self.terms[0].citation
        known["cautions"] = (*file.header.warnings, *remarks)
        return ForceField.of(known["name"], *(replace(term, **known) for term in self.terms))

    def __add__(self, other: "ForceField") -> "ForceField":
        if not isinstance(other, ForceField):
            return NotImplemented
        for one in (self, other):
            if one.enumeration == ALL_PAIRS:
                raise SettingsError(
                    f"cannot add {self.name} and {other.name}: a sum needs neighbour lists, and {one.name} "
                    f'has the enumeration "{ALL_PAIRS}"; give it the enumeration "neighbours"'
                )
        files = tuple(dict.fromkeys((*self.python_files, *other.python_files)))
        parts = (*self.contributions, *other.contributions)
        return ForceField(f"{self.name} + {other.name}", parts, python_files=files)

    def __radd__(self, other: Any) -> "ForceField":
        # So that `sum` works, which begins with 0.
        return self if other == 0 else NotImplemented

    @property
    def terms(self) -> tuple[Term, ...]:
        """Terms of all contributions."""
        return tuple(term for one in self.contributions for term in one.terms)

    @property
    def enumeration(self) -> str:
        """How tuples are visited: "neighbours" or "all-pairs"."""
        return self.contributions[0].enumeration

    @property
    def citation(self) -> str | None:
        """Where formulas and parameters come from, each citation once."""
        return "; ".join(dict.fromkeys(term.citation for term in self.terms if term.citation)) or None

    @property
    def source(self) -> str | None:
        """The file that it was loaded from; else the files of its terms, each once."""
        return "; ".join(file.path for file in self._sources) or None

    @property
    def _sources(self) -> list[Source]:
        if self.file is not None:
            return [self.file]
        return list(dict.fromkeys(term.source for term in self.terms if term.source))

    @property
    def cutoff(self) -> float:
        """Longest distance at which anything acts, angstrom; infinity where a term has no cutoff."""
        return self.cutoffs[-1]

    @property
    def list_cutoff(self) -> float:
        """Longest cutoff of a neighbour list, angstrom: terms without a cutoff need none."""
        return max((cutoff for cutoff in self.cutoffs if isfinite(cutoff)), default=0.0)

    @property
    def body_cutoff(self) -> float:
        """Longest distance at which a three-body term or bonds act, angstrom; `cutoff` if there is none."""
        bodies = [term.cutoff for term in self.terms if term.kind in BODIES]
        return max(bodies + [BOND for term in self.terms if term.has_bonds], default=self.cutoff)

    @property
    def cutoffs(self) -> list[float]:
        """The distinct cutoffs of all rows, angstrom, ascending."""
        return sorted({row["cutoff"] for term in self.terms for row in term.table.rows.values()})

    @property
    def elements(self) -> tuple[str, ...] | None:
        """Elements with parameters in every contribution, or None if it takes any."""
        named = [set(one.elements) for one in self.contributions if one.elements is not None]
        return tuple(sorted(set.intersection(*named))) if named else None

    @property
    def charged(self) -> bool:
        """Whether it equilibrates charges."""
        return not all(term.local for term in self.terms)

    @property
    def timestep(self) -> float:
        """Time step of a run that gives none, fs."""
        return min((term.timestep for term in self.terms), default=Term.timestep)

    def remarks_on_timestep(self, timestep: float, species: Sequence[str]) -> list[str]:
        """That a time step (fs) is long for these species, if that is so."""
        limits = ((term.name, term.longest_timestep(species)) for term in self.terms)
        return [
            f"time step of {timestep:g} fs: {name} with hydrogen needs {limit:g} fs or less, and "
            f"{self.timestep:g} fs is usual; energy may not be conserved"
            for name, limit in limits
            if limit is not None and timestep > limit
        ]

    def remarks_on_time(self, n: int, evaluations: int, backend: str) -> list[str]:
        """That so many evaluations (or steps) of n atoms would take days, if that is so."""
        known = backend if backend != "auto" else "cuda" if devices() else "cpu"
        return [
            f"{term.name}: all triples of {n:,} atoms, {evaluations:,} times, would take about "
            f"{seconds / DAY:.2g} days on {known}; use fewer atoms or steps, or a cutoff"
            for term in self.terms
            if (seconds := evaluations * term.seconds(n, known)) > DAY
        ]

    def remarks_on_charges(self) -> list[str]:
        """That other potentials take no part in an equilibration of charges, if there are others."""
        others = [term.name for term in self.terms if term.local]
        return [
            f"charges follow from {term.name} alone; {', '.join(others)} acts on the same atoms"
            for term in self.terms
            if others and not term.local
        ]

    @property
    def about(self) -> list[str]:
        """Range and warnings that parameter files give, as lines for a terminal."""
        told: dict[str, None] = {}
        for term in self.terms:
            if term.valid_range:
                told[f"range of {term.name}: {term.valid_range}"] = None
            told |= dict.fromkeys(f"warning of {term.name}: {caution}" for caution in term.cautions)
        return list(told)

    @property
    def errors_of_tables(self) -> list[str]:
        """How far tables that were made of functions are from these, as lines for a terminal."""
        largest: dict[tuple[str, str], float] = {}
        for term in self.terms:
            for row in term.table.rows.values():
                for column in term.table.curves:
                    error = getattr(row.get(column), "error", None)
                    if error is not None:
                        key = term.name, column
                        largest[key] = max(error, largest.get(key, 0.0))
        return [f"table {column} of {name}: largest error {e:.1e}" for (name, column), e in largest.items()]

    def warn_of_suspicions(self, species: Sequence[str]) -> None:
        """Warn, once in a process, of what in its parameter files is hardly meant so."""
        for term in self.terms:
            found = term.suspicions(sorted(set(species)))
            key = term.source, tuple(found)
            if not found or key in _warned:
                continue
            _warned.add(key)
            more = len(found) - _SHOWN
            rest = f"; and {more} more" if more > 0 else ""
            warnings.warn(
                f"{term.name} is suspicious: {'; '.join(found[:_SHOWN])}{rest} (`taichimd check` lists all)",
                TaichimdWarning,
                stacklevel=3,
            )

    def stationary(self) -> "ForceField":
        """This force field, so that its forces are the whole derivative of its energy; see `Term`."""
        parts = (replace(one, terms=tuple(t.stationary() for t in one.terms)) for one in self.contributions)
        return replace(self, contributions=tuple(parts))

    def check_heat_current(self) -> None:
        """Raise a PropertyError unless the energy is a sum of functions of an atom and its neighbours."""
        for term in self.terms:
            if term.external:
                raise PropertyError(
                    f"{term.name} has no heat current: an external potential gives no virial of each atom; "
                    "take a potential of taichimd, or observe rdf, msd, vacf or viscosity"
                )
            if not term.local:
                raise PropertyError(
                    f"{term.name} has no heat current: its charges solve one system of equations for all "
                    "atoms, and no local heat current is derived for that; take a potential without charges, "
                    "or observe rdf, msd, vacf, viscosity or species"
                )

    @property
    def external(self) -> bool:
        """Whether other code evaluates a term (`external`)."""
        return any(term.external for term in self.terms)

    @property
    def has_virial(self) -> bool:
        """Whether an evaluation gives the virial, and so the pressure."""
        return all(term.has_virial for term in self.terms)

    def check_virial(self, what: str) -> None:
        """Raise a PropertyError if an evaluation gives no virial; `what` needs it."""
        for term in self.terms:
            if not term.has_virial:
                raise PropertyError(
                    f"{term.name} gives no stress, which {what} needs; take a potential with a stress, or a "
                    "constant cell"
                )

    def check_compiled(self, what: str) -> None:
        """Raise a SettingsError if other code evaluates a term; `what` takes terms of kernels alone."""
        for term in self.terms:
            if term.external:
                raise SettingsError(
                    f"{term.name} is evaluated by other code, for all atoms of a system together, which does "
                    f"not go with {what}; take a potential of taichimd"
                )

    def check_bonds(self) -> None:
        """Raise a PropertyError unless an evaluation leaves bonds with their orders."""
        if not any(term.has_bonds for term in self.terms):
            raise PropertyError(
                f"{self.name} has no table of bonds, of which molecules are made; expected a reactive force "
                "field such as ReaxFF"
            )

    def check_bounded(self) -> None:
        """Raise a SettingsError if no term repels: nothing would keep moving atoms apart."""
        if all(term.unbounded for term in self.terms):
            raise SettingsError(
                f"{self.name} alone is unbounded below: three atoms in a row attract each other without "
                "end; add a pair potential that repels, as in --potential Ar.lj --potential Ar.atm"
            )

    def describe(self, species: Sequence[str] | None = None) -> dict[str, Any]:
        """The record of this potential: a JSON-able dictionary.

        Args:
            species: elements of a structure, in any order; None without a structure.

        Returns:
            Name, elements, citation, file, longest cutoff, enumeration, and under `terms` each term apart,
            with every row of its parameters (`Term.describe`). With species the rows that are bound for them,
            the code of each term, and the `fingerprint`. It is of the moment when it was first asked for.

        Raises:
            MissingParameterError: species without parameters.
        """
        kinds = None if species is None else tuple(sorted(set(species)))
        if kinds not in self._described:
            self._described[kinds] = self._record(kinds)
        found: dict[str, Any] = deepcopy(self._described[kinds])
        return found

    def _record(self, kinds: tuple[str, ...] | None) -> dict[str, Any]:
        record: dict[str, Any] = {
            "name": self.name,
            "elements": list(self.elements or []) or "any",
            "citation": self.citation,
            "source": self.source,
            "source_sha256": self._sources[0].sha256 if len(self._sources) == 1 else None,
            "python_files": {file.path: file.sha256 for file in self.python_files},
            "cutoff_A": self.cutoff if isfinite(self.cutoff) and not self.external else None,
            "enumeration": self.enumeration,
            "terms": [
                {"contribution": one.name, **term.describe(kinds)}
                for one in self.contributions
                for term in one.terms
            ],
        }
        if kinds is not None:
            record |= {"species": list(kinds), "fingerprint": fingerprint_of(self.terms, kinds)}
        return record

    def fingerprint(self, species: Sequence[str]) -> str:
        """A number of what is computed for these species: parameters that are bound, and all code.

        Names, citations, comments and files do not count, nor does the order of a sum.

        Returns:
            "v2:" and a SHA-256 in hexadecimal digits.

        Raises:
            MissingParameterError: species without parameters.
        """
        return str(self.describe(species)["fingerprint"])

    def check_species(self, species: Sequence[str]) -> None:
        """Raise a MissingParameterError for elements without parameters."""
        for one in self.contributions:
            one.check_species(species)

    def bind(self, species: Sequence[str]) -> tuple[Bound, ...]:
        """Tables for these species, in this order: one of each group of terms whose loops run together.

        A contribution of a pair term alone and one of a three-body term alone make a group, if they follow
        each other in the sum. MissingParameterError: elements, pairs or triples without parameters.
        """
        self.warn_of_suspicions(species)
        groups: list[list[Contribution]] = []
        for one in self.contributions:
            one.check_species(species)
            if one.term(QUEUED) is None and groups and _complete_each_other(groups[-1], one):
                groups[-1].append(one)
            else:
                groups.append([one])
        if len(groups) > MAX_GROUPS:
            raise SettingsError(
                f"{self.name}: a sum of {len(groups)} potentials; expected at most {MAX_GROUPS}: write some "
                "of them as one function"
            )
        found: list[Bound] = []
        for group in groups:
            terms: list[Any] = [term for one in group for term in one.terms]
            found += terms[0].bind(species) if terms[0].kind == QUEUED else [bound(terms, species)]
        return tuple(found)


def _complete_each_other(group: list[Contribution], other: Contribution) -> bool:
    """Whether a pair term alone meets a three-body term alone."""
    kinds = [term.kind for one in (*group, other) for term in one.terms]
    return len(group) == 1 and len(kinds) == 2 and kinds.count(PAIR) == 1 and not {PASSES, QUEUED} & {*kinds}


MARK = "v2:"
"""Begins a fingerprint, and says how it is made."""


def fingerprint_of(terms: Sequence[Term], species: Sequence[str]) -> str:
    """`MARK` and a SHA-256 of a sum of terms on these species, in any order of the sum.

    It covers the bound parameters with all bits, how pair terms end, and the code of every function that is
    reached. Values that shifting makes are not in it: a device may round their last digit otherwise.
    """
    computed = {"species": list(species), "terms": _sorted(term.computed(species) for term in terms)}
    return MARK + hashlib.sha256(json.dumps(computed, sort_keys=True).encode()).hexdigest()


def _sorted(terms: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """By kind, and terms of one kind in an order of their own."""
    return sorted(terms, key=lambda term: (term["kind"], json.dumps(term, sort_keys=True)))
