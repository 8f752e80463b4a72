"""The public way to add a many-body force field whose atoms need sums over their neighbours first.

    @neighbour_sum("density")
    def density(r, p, mine, theirs):
        return exp(-2.0 * p.q * (r / p.r0 - 1.0))

    @each_atom("slope")
    def embedding(mine):
        root = sqrt(mine.density)
        return -root, -0.5 / root

    @pair_forces
    def bond(r, p, mine, theirs):
        ...
        return u, dU_i/dr, dU_j/dr

    cohesion = ManyBody("cohesion", [density, embedding, bond], arrays=("density", "slope"), params={...})
    forcefield = cohesion(q=2.3, r0=2.55, cutoff=5.0)

Each function is a loop over all atoms, done before the next one begins. `mine` and `theirs` have the numbers
that earlier passes have left with an atom and its neighbour. A number can be a state of the atom, kept from
step to step: it moves with the atom in a spatial sort, stands in checkpoints and frames, and comes back in a
restart.
"""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.enumerate.terms import EACH_ATOM, NEIGHBOUR_SUM, PAIR_FORCES, LookUp, Pass, Passes, takes_row
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.code import label
from taichimd.forcefields.declare import HasParameters, check_tables, rows_of
from taichimd.forcefields.source import Expected, attributes_of, check_attributes, place, place_of
from taichimd.forcefields.table import BACK, Row, Table
from taichimd.forcefields.term import PASSES, Term, source_of
from taichimd.forcefields.traced import traced

Function = Callable[..., Any]
_ARGUMENTS = ("r", "p", "mine", "theirs")
_SUM = Expected(_ARGUMENTS, ("the number to sum",))
_FORCES = Expected(_ARGUMENTS, ("u", "dU_i/dr", "dU_j/dr"))


def _of_atom(writes: tuple[str, ...], function: Function) -> Expected:
    """Return what is expected of f(mine), or of f(mine, p) with the parameters of the atom's element."""
    hint = "an atom alone has no distance: expected f(mine) or f(mine, p)"
    return Expected(("mine", "p") if takes_row(function) else ("mine",), ("u", *writes), hint=hint)


def _expected(one: Pass) -> Expected:
    of_pairs = {NEIGHBOUR_SUM: _SUM, PAIR_FORCES: _FORCES}
    return of_pairs[one.kind] if one.kind in of_pairs else _of_atom(one.writes, one.function)


def _known(name: str, what: str, given: Sequence[str], params: Collection[str]) -> tuple[str, ...]:
    """Names of parameters, which have to be declared."""
    if isinstance(given, str):
        raise SettingsError(f"{name}: {what} is a list of names, as ('{given}',)")
    if unknown := [one for one in given if one not in params]:
        raise SettingsError(
            f"{name}: {what} names '{unknown[0]}', expected some of {', '.join(params) or 'no names'}"
        )
    return tuple(given)


def _check_names(decorator: str, names: tuple[Any, ...], example: str) -> None:
    """Refuse a decorator without its names: Python would pass the function in their place."""
    for name in names:
        if not isinstance(name, str):
            what = place(name) if isinstance(name, FunctionType) else repr(name)
            raise SettingsError(f"{what}: {decorator} takes names of arrays, as @{decorator}({example})")


def neighbour_sum(into: str, *, each_step: bool = False) -> Callable[[Function], Pass]:
    """Declare f(r, p, mine, theirs), whose sum over the neighbours of an atom is stored as `into`.

        >>> from taichimd import neighbour_sum
        >>> @neighbour_sum("count")
        ... def coordination(r, p, mine, theirs):
        ...     return 1.0
        >>> coordination.kind
        'neighbour sum'

    Args:
        into: name of the array that takes the sums.
        each_step: True: once in each step of a run, for a state; False: whenever forces are evaluated.

    Returns:
        A decorator, which makes a pass for `ManyBody`.
    """
    _check_names("neighbour_sum", (into,), '"density"')
    return lambda function: Pass(NEIGHBOUR_SUM, traced(function, _SUM), (into,), each_step)


def each_atom(
    *writes: str, each_step: bool = False, within: Mapping[str, str] | None = None
) -> Callable[[Function], Pass]:
    """Declare f(mine) or f(mine, p) -> (u, x, ...): an energy of the atom (eV), and a number for each name.

    p are the parameters of the atom's element, from the row of the pair of two such atoms.

        >>> from taichimd import each_atom
        >>> @each_atom("slope")
        ... def embedding(mine):
        ...     return -mine.count, -1.0
        >>> embedding.writes
        ('slope',)

    Args:
        writes: names of the arrays that take the numbers.
        each_step: True: once in each step of a run, for a state; False: whenever forces are evaluated.
        within: the curve in which a number is looked up, by name of the number, as {"density": "F"}. A run
            then counts how often the number is beyond the last point of the curve, and reports the count.

    Returns:
        A decorator, which makes a pass for `ManyBody`.
    """
    _check_names("each_atom", writes, '"slope"')

    def declared(function: Function) -> Pass:
        compiled = traced(function, _of_atom(writes, function))
        if not within:
            return Pass(EACH_ATOM, compiled, writes, each_step)
        return LookUp(EACH_ATOM, compiled, writes, each_step, tuple(within.items()))

    return declared


def pair_forces(function: Function) -> Pass:
    """Declare f(r, p, mine, theirs) -> (u, dU_i/dr, dU_j/dr) of atom i (mine) and its neighbour j (theirs).

        >>> from taichimd import pair_forces
        >>> @pair_forces
        ... def spring(r, p, mine, theirs):
        ...     return p.k * r, p.k, p.k
        >>> spring.kind
        'pair forces'

    u is the contribution of the pair to the energy of i (eV), half of a pair energy. dU_i/dr and dU_j/dr
    (eV/angstrom) are the derivatives of the energies of i and j with respect to their distance. The pass must
    be the last pass of `ManyBody`.
    """
    return Pass(PAIR_FORCES, traced(function, _FORCES))


class ManyBody(HasParameters):
    """A term of passes with named parameters; called with values it gives a `ForceField`.

        >>> from taichimd import ManyBody, pair_forces
        >>> @pair_forces
        ... def spring(r, p, mine, theirs):
        ...     return 0.5 * p.k * r, 0.5 * p.k, 0.5 * p.k
        >>> ManyBody("spring", [spring], arrays=(), params={"k": "eV/Å"})(k=0.1, cutoff=3.0).cutoff
        3.0

    Args:
        name: for reports and messages.
        passes: the passes in their order.
        arrays: names of the numbers that passes store for each atom.
        params: unit of each parameter by name; every potential also has `cutoff` (angstrom).
        state: names of the arrays that keep their values from step to step; the first values are 0.
        reference: citation of the formula.
        tables: unit of each parameter that is a curve (`taichimd.table`), by name; `p.name(x)` is its value
            and slope.
        of_atoms: parameters that belong to an element, not to a pair: functions of `each_atom` read them, and
            only rows of like pairs give them.
        ordered: parameters that differ between the rows (i, j) and (j, i), which are then both given.
            `p.name` is of (i, j) with i the atom (mine), `p.name_back` of (j, i).

    Raises:
        SettingsError: a pass of the wrong kind or at the wrong place, or a number that is not declared.
    """

    def __init__(
        self,
        name: str,
        passes: Sequence[Pass],
        *,
        arrays: Sequence[str],
        params: Mapping[str, str],
        state: Sequence[str] = (),
        reference: str | None = None,
        tables: Mapping[str, str] | None = None,
        of_atoms: Sequence[str] = (),
        ordered: Sequence[str] = (),
    ) -> None:
        self.tables = check_tables(name, params, tables)
        if isinstance(arrays, str) or isinstance(state, str):
            raise SettingsError(f"{name}: arrays and state are lists of names, as ('density', 'slope')")
        if not passes:
            raise SettingsError(f"{name} has no pass; expected one or more functions")
        self.name, self.params, self.reference = name, {**params, **self.tables}, reference
        self.of_atoms, self.ordered = _known(name, "of_atoms", of_atoms, self.params), tuple(ordered)
        _known(name, "ordered", ordered, [one for one in self.params if one not in self.of_atoms])
        self.program = Passes(tuple(passes), tuple(arrays), tuple(state))
        self._check()
        self._check_reads()
        file = Path(inspect.unwrap(passes[0].function).__code__.co_filename)
        self.source = source_of(file) if file.is_file() else None

    def _check(self) -> None:
        for number, one in enumerate(self.program.passes):
            if not isinstance(one, Pass):
                what = place(one) if isinstance(one, FunctionType) else f"pass {number + 1}"
                raise SettingsError(
                    f"{self.name}: {what} is not a pass; decorate it with neighbour_sum, each_atom or "
                    "pair_forces"
                )
        kinds = [one.kind for one in self.program.passes]
        for number, one in enumerate(self.program.passes):
            where = f"{self.name}: pass {number + 1} ({one.kind})"
            if one.kind not in (NEIGHBOUR_SUM, EACH_ATOM, PAIR_FORCES):
                raise SettingsError(
                    f"{where}: no enumeration runs such a pass; expected {NEIGHBOUR_SUM}, {EACH_ATOM} or "
                    f"{PAIR_FORCES}"
                )
            if one.kind == PAIR_FORCES and number < len(kinds) - 1:
                raise SettingsError(f"{where}: forces are the last pass; put it after the others")
            if unknown := [name for name in one.writes if name not in self.program.arrays]:
                raise SettingsError(
                    f"{where} writes '{unknown[0]}', which is not declared; arrays: "
                    f"{', '.join(self.program.arrays)}"
                )
            for array, curve in one.within if isinstance(one, LookUp) else ():
                if array not in self.program.arrays or curve not in self.of_atoms or curve not in self.tables:
                    raise SettingsError(
                        f"{where}: within = {{'{array}': '{curve}'}}, expected one of arrays and a table of "
                        "of_atoms"
                    )
        if unknown := [name for name in self.program.state if name not in self.program.arrays]:
            raise SettingsError(f"{self.name}: state '{unknown[0]}' is not one of its arrays")

    def _check_reads(self) -> None:
        """Refuse a number that is not there, or is that of an earlier evaluation.

        A state is there from the beginning; other numbers are when an earlier pass has left them.
        """
        left = set(self.program.state)
        for one in self.program.passes:
            function, expected = inspect.unwrap(one.function), _expected(one)
            arrays = self.program.arrays
            of_pairs = [name for name in self.params if name not in self.of_atoms]
            backs = [name + BACK for name in self.ordered]
            own = self.params if one.kind == EACH_ATOM else (*of_pairs, *backs)
            known = {"p": (*own, "cutoff"), "mine": arrays, "theirs": arrays}
            check_attributes(function, expected, known)
            for name, node, argument in attributes_of(function, expected):
                if argument != "p" and node.attr not in left:
                    raise SettingsError(
                        f"{place_of(function, node)} reads {name}.{node.attr}, which no earlier pass has "
                        f"written; put the pass that writes it first, or declare it with "
                        f"state=('{node.attr}',)"
                    )
            left |= set(one.writes)

    def __call__(
        self, *, table: Mapping[Any, Row] | None = None, cutoff: float | None = None, **values: float
    ) -> ForceField:
        """A force field with these parameter values.

        Args:
            table: values by elements: ("Cu", "Ni"), in either order, or, with `ordered` parameters, in both.
            cutoff: angstrom; the default of every row of the table.
            values: one keyword for each declared parameter.

        Raises:
            SettingsError: a parameter that is missing or unknown, or a value that is not finite.
        """
        rows = rows_of(self.name, self.params, 2, table, cutoff, values, tuple(self.tables))
        functions = [one.function for one in self.program.passes]
        term = Term(
            PASSES,
            self.program,
            Table(2, self.columns, rows, None, tuple(self.tables), self.of_atoms, self.ordered),
            self.name,
            citation=self.reference,
            source=self.source,
            units=self.units,
            written_as=", ".join(label(function) for function in functions),
        )
        return ForceField.of(self.name, term)
