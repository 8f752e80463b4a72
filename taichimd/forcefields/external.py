"""An external potential (`contract`) as a force field: the host asks for forces before each step."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np
from ase.data import atomic_numbers
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import EvaluationError
from taichimd.core.host_copies import on_host, to_device
from taichimd.core.matrix3 import volume_of
from taichimd.core.runtime import ti
from taichimd.enumerate.evaluator import Evaluator
from taichimd.enumerate.outputs import Outputs
from taichimd.enumerate.reproducible_sum import FORCE
from taichimd.enumerate.terms import Terms
from taichimd.enumerate.triple_forces import NUMBERS, place_kernel, take_kernel
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import Bound
from taichimd.forcefields.code import Code
from taichimd.forcefields.contract import ExternalPotential, PotentialResult, evaluate
from taichimd.forcefields.references import restored
from taichimd.forcefields.table import ANY, Table
from taichimd.forcefields.term import QUEUED, Term
from taichimd.forcefields.triple_energies import placed_atoms
from taichimd.neighbours.control import ANY_TIME, NONE, STEP, Control
from taichimd.neighbours.near_list import NearList
from taichimd.system.state import State

LIST_CUTOFF = 3.0
"""Angstrom, of neighbour lists that notice atoms on top of each other. A run stops if an atom moves by more
than a quarter of it in one step."""


class ExternalEvaluator(Evaluator):
    """Evaluates an external potential for each system, one after the other; wherever that likes to run.

    Every atom gets the n-th part of the virial.
    """

    def __init__(
        self,
        potential: ExternalPotential,
        numbers: NDArray[np.int64],
        state: State,
        near: tuple[NearList],
        outputs: tuple[Outputs],
        backend: str,
    ) -> None:
        self._potential, self._state, self._outputs = potential, state, outputs[0]
        self._numbers = numbers[state.kind.to_numpy()[state.sorted_of.to_numpy()]]
        self._last: list[_Evaluated | None] = [None] * len(state.parts)
        self._placed = placed_atoms(state.n)
        self._found = {width: ti.ndarray(ti.f64, width * state.n) for width in (3, NUMBERS)}

    def queue(self, call: Any, verlet: Any, control: Any, when: int, want: int) -> None:
        """See `Evaluator`; waits for the device and the potential, whose EvaluationError names the system."""
        if not _goes(when, Control(on_host(control))):
            return
        real, everything = self._state.real, want != FORCE
        call(place_kernel(real), self._state, self._placed)
        positions = on_host(self._placed.pos)
        values = np.empty((self._state.n, NUMBERS if everything else 3))
        for number, (part, frame) in enumerate(zip(self._state.parts, self.cells.frames, strict=True)):
            cell = self.cells.vectors(number)
            found = self._evaluated(number, positions[part], cell, frame.pbc, everything)
            values[part, :3] = found.forces
            if everything:
                values[part, 3] = found.energies
                virial = np.full(9, np.nan) if found.virial is None else found.virial.ravel()
                values[part, 4:] = virial / (part.stop - part.start)
        array = self._found[values.shape[1]]
        to_device(array, values.ravel())
        call(take_kernel(real, everything), self._state, array, control, self._outputs, when)

    def _evaluated(
        self, number: int, positions: Array, cell: Array, pbc: NDArray[np.bool_], everything: bool
    ) -> PotentialResult:
        """The result for a system; that of the last evaluation if nothing has moved."""
        virial = everything and self._potential.has_virial and bool(pbc.any()) and volume_of(cell) is not None
        last = self._last[number]
        if last is not None and last.serves(positions, cell, virial):
            return last.result
        self._last[number] = None
        try:
            found = evaluate(
                self._potential, positions, self._numbers[self._state.parts[number]], cell, pbc, virial=virial
            )
        except EvaluationError as error:
            error.system = number
            raise
        self._last[number] = _Evaluated(positions, cell.copy(), virial, found)
        return found


@dataclass(frozen=True)
class _Evaluated:
    """A result, and of which positions and cell it is."""

    positions: Array
    cell: Array
    virial: bool
    result: PotentialResult

    def serves(self, positions: Array, cell: Array, virial: bool) -> bool:
        """Whether it is the result of these positions, with the virial if that is wanted."""
        same = np.array_equal(self.positions, positions) and np.array_equal(self.cell, cell)
        return same and (self.virial or not virial)


def _goes(when: int, seen: Control) -> bool:
    """`enumerate.queued.goes` on the host."""
    if seen.rebuild or seen.stale:
        return False
    return when == ANY_TIME or (seen.blown == NONE and (seen.remaining != 0) == (when == STEP))


@dataclass(frozen=True)
class ExternalTerm(Term):
    """An external potential, for any elements."""

    external: ClassVar[bool] = True

    def __reduce__(self) -> Any:
        """For pickle, which must know the potential."""
        return restored, (type(self), {one.name: getattr(self, one.name) for one in fields(self)})

    @property
    def has_virial(self) -> bool:
        """See `Term`."""
        return bool(self.function.has_virial)

    @property
    def code(self) -> Code:
        """Its class: what it computes is known to it alone."""
        return Code(self.name, {str(self.written_as): self.name})

    def bind(self, species: Sequence[str]) -> list[Bound]:
        """Short lists, with what asks the potential."""
        n, nothing = len(species), np.zeros(1)
        reach = np.full((n, n), LIST_CUTOFF)
        numbers = np.array([atomic_numbers[symbol] for symbol in species])
        evaluator = partial(ExternalEvaluator, self.function, numbers)
        terms = Terms(None, None, None, n, queued=True)
        return [Bound(terms, nothing, nothing, reach, reach, reach, self.name, evaluator=evaluator, span=1)]

    def computed(self, species: Sequence[str]) -> dict[str, Any]:
        """What a fingerprint covers: class and name of the potential."""
        return {"kind": self.kind, "class": self.written_as, "name": self.name}

    def describe(self, species: Sequence[str] | None = None) -> dict[str, Any]:
        """The record of this term: a JSON-able dictionary, without a cutoff or parameters."""
        return super().describe() | {"cutoff_A": None, "parameters": {}}


def external(potential: ExternalPotential) -> ForceField:
    """The force field of an external potential."""
    kind = type(potential)
    table = Table(1, ("cutoff",), {(ANY,): {"cutoff": LIST_CUTOFF}})
    term = ExternalTerm(
        QUEUED, potential, table, potential.name, units={"energy": "eV", "length": "angstrom"},
        written_as=f"{kind.__module__}:{kind.__qualname__}",
    )  # fmt: skip
    return ForceField.of(term.name, term)
