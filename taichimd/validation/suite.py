"""`taichimd.validate`: all checks of a force field on a structure, as a certificate."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from ase import Atoms

from taichimd.core.errors import (
    BackendError,
    CapacityError,
    PropertyError,
    SettingsError,
    StructureError,
    TaichimdError,
)
from taichimd.core.markup import element, figure_picture, joined, table
from taichimd.core.names import hint
from taichimd.core.runtime import start
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.load import load_forcefield
from taichimd.program.engine import Engine
from taichimd.validation import (
    bits,
    clusters,
    derivatives,
    drift,
    heat,
    peers,
    precision,
    processes,
    rest,
    symmetries,
    work,
)
from taichimd.validation.case import Case
from taichimd.validation.crystals import crystal_for
from taichimd.validation.levels import LEVELS, Level
from taichimd.validation.measures import FAILED, NOT_RUN, PASSED, Check, Found, NotRun, Outcome, outcome_of
from taichimd.validation.plots import limits_figure

CHECKS: tuple[Check, ...] = (
    *derivatives.CHECKS,
    *clusters.CHECKS,
    *symmetries.CHECKS,
    *work.CHECKS,
    *rest.CHECKS,
    *drift.CHECKS,
    *heat.CHECKS,
    *bits.CHECKS,
    *processes.CHECKS,
    *precision.CHECKS,
    *peers.CHECKS,
)
NAMES = tuple(measure.name for check in CHECKS for measure in check.measures)
"""Names of all measures, in the order of the table."""
CANNOT = (SettingsError, PropertyError, BackendError, CapacityError, StructureError)
"""Errors that say that something cannot be done here, not that a result is wrong."""


@dataclass(frozen=True)
class Certificate:
    """What the suite has found; `print` it."""

    name: str  # of the force field
    potential: dict[str, Any]  # its record (`ForceField.describe`), with parameters, code and fingerprint
    # formula, number of atoms, periodic directions, cell lengths (angstrom), temperature (K) of runs, and
    # what a relaxation has found
    structure: dict[str, Any]
    level: str  # quick or full
    outcomes: tuple[Outcome, ...]  # one for each measure
    seconds: float  # of wall clock
    seed: int  # of displacements and velocities

    def count(self, status: str) -> int:
        """Number of measures of a status: "passed", "failed" or "not run"."""
        return sum(one.status == status for one in self.outcomes)

    @property
    def ok(self) -> bool:
        """Whether something passed and nothing failed."""
        return self.count(FAILED) == 0 and self.count(PASSED) > 0

    @property
    def failed(self) -> list[str]:
        """Names of the measures that failed."""
        return [one.name for one in self.outcomes if one.status == FAILED]

    @property
    def verdict(self) -> str:
        """A line: how many passed, failed and were not run, and the names of those that failed."""
        told = f"{self.count(PASSED)} passed, {self.count(FAILED)} failed, {self.count(NOT_RUN)} not run"
        return told + (f": {', '.join(self.failed)}" if self.failed else "")

    def __getitem__(self, name: str) -> Outcome:
        """The outcome of a measure."""
        return next(one for one in self.outcomes if one.name == name)

    def __str__(self) -> str:
        """A table for a terminal."""
        rows = [(one.name, one.status, one.number, one.allowed, one.detail) for one in self.outcomes]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([f"{self.name}: {self.verdict}", *lines])

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the table, and each value over its limit."""
        rows = [(one.name, one.status, one.number, one.allowed, one.detail) for one in self.outcomes]
        parts: list[Any] = [element("b", f"{self.name}: {self.verdict}")]
        parts.append(table(("check", "status", "value", "limit", "note"), rows))
        if (figure := limits_figure(self.outcomes)) is not None:
            parts.append(figure_picture(figure, "values over limits"))
        return joined(parts)

    def record(self) -> dict[str, Any]:
        """A JSON-able dictionary of all of it."""
        found = asdict(self)
        found["ok"], found["verdict"] = self.ok, self.verdict
        return found


def validate(
    potential: Any,
    atoms: Atoms | None = None,
    *,
    quick: bool = False,
    only: Sequence[str] | None = None,
    elements: Sequence[str] | None = None,
    temperature: float | None = None,
    seed: int = 1,
    backend: str = "auto",
    on_check: Callable[[str], None] = lambda title: None,
) -> Certificate:
    """Validate a force field on this machine: derivatives, symmetries, dynamics, reproducibility, LAMMPS.

        >>> from taichimd import validate
        >>> found = validate("Si.sw", quick=True, only=["forces", "third-law"])
        >>> found["forces"].status, found.ok
        ('passed', True)

    A check that cannot run here (no GPU, no LAMMPS, a property that the force field lacks) has the status
    "not run", with the reason.

    Args:
        potential: a file, a shipped name, "my_file.py:name" or a force field; a list is their sum.
        atoms: the structure; None: a crystal of the force field's elements, relaxed.
        quick: True: smaller systems and shorter runs, without the second runtime.
        only: names of the checks to run (`taichimd.validation.suite.NAMES`); None: all.
        elements: of the crystal and of random clusters, if the force field takes any element.
        temperature: of the first velocities, K; None: 300 K, or less for a weakly bound crystal.
        seed: of displacements and velocities.
        backend: auto, cuda or cpu.
        on_check: called with the name of each check before the check starts, and with the parts of the
            energy drift, as "energy drift: waiting for LAMMPS".

    Returns:
        The certificate: each check with status, number and limit; `ok` is False if a check failed.

    Raises:
        SettingsError: an unknown name, or no crystal of these elements is known.
        ParameterFileError, MissingParameterError, StructureError, BackendError: as for `Engine`.
    """
    begun = time.perf_counter()
    chosen = _chosen(only)
    level, forcefield = LEVELS["quick" if quick else "full"], load_forcefield(potential)
    start(backend)
    case = replace(case_of(forcefield, atoms, level, elements, temperature, seed), says=on_check)
    outcomes = _outcomes(case, chosen, on_check)
    facts = {
        "formula": case.atoms.get_chemical_formula(), "atoms": len(case.atoms), "built": case.built,
        "periodic": case.atoms.pbc.tolist(), "cell_A": case.atoms.cell.lengths().tolist(),
        "temperature_K": case.kelvin, "relaxation": case.facts,
    }  # fmt: skip
    record = forcefield.describe(case.species)
    seconds = time.perf_counter() - begun
    return Certificate(forcefield.name, record, facts, level.name, tuple(outcomes), seconds, seed)


def _outcomes(case: Case, chosen: set[str], on_check: Callable[[str], None]) -> list[Outcome]:
    """The outcomes of the chosen measures; late checks are started before the others, and end after them."""
    seconds: dict[str, float] = defaultdict(float)

    def timed(check: Check, work: Callable[[], Any]) -> Any:
        on_check(check.title)
        clock = time.perf_counter()
        found = taken(check, work)
        seconds[check.title] += time.perf_counter() - clock
        return found

    wanted = [one for one in CHECKS if chosen & {measure.name for measure in one.measures}]
    found: dict[str, Any] = {}
    for check in sorted(wanted, key=lambda one: not one.late):
        if case.level.name == "quick" and not check.quick:
            left_out = NotRun("--quick leaves it out; --full runs it")
            found[check.title] = {measure.name: left_out for measure in check.measures}
        else:
            found[check.title] = timed(check, partial(check.run, case))
    for check in wanted:
        if callable(finish := found[check.title]):
            found[check.title] = timed(check, finish)
    return [
        outcome_of(measure, found[check.title][measure.name], seconds[check.title])
        for check in wanted
        for measure in check.measures
        if measure.name in chosen
    ]


def _chosen(only: Sequence[str] | None) -> set[str]:
    some = f"expected some of {', '.join(NAMES)}"
    if unknown := [name for name in only or () if name not in NAMES]:
        raise SettingsError(f"no check is called {unknown[0]!r}; {hint(unknown[0], NAMES, otherwise=some)}")
    if only is not None and not only:
        raise SettingsError("no check is named; expected names of checks, such as forces,virial")
    return set(NAMES if only is None else only)


def case_of(
    forcefield: ForceField,
    atoms: Atoms | None,
    level: Level,
    elements: Sequence[str] | None = None,
    temperature: float | None = None,
    seed: int = 1,
) -> Case:
    """The force field on the structure, or on a relaxed crystal; arguments as of `validate`."""
    if atoms is not None:
        Engine(atoms, forcefield)  # what is wrong with the structure is said at once
        return Case(
            forcefield.name, forcefield, atoms.copy(), level, temperature, elements, seed, built=False
        )
    crystal = crystal_for(forcefield, elements, level.atoms)
    forcefield.bind(sorted(set(crystal.get_chemical_symbols())))
    still = rest.rested(crystal, forcefield)
    return Case(
        forcefield.name, forcefield, still.atoms, level, temperature, elements, seed, facts=still.facts
    )


def taken(check: Check, work: Callable[[], Any]) -> Any:
    """What `work` of a check returns; its errors become findings of the measures of the check."""
    try:
        return work()
    except CANNOT as error:
        return {one.name: NotRun(str(error)) for one in check.measures}
    except TaichimdError as error:
        return {one.name: Found(math.nan, str(error)) for one in check.measures}
