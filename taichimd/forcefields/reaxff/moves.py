"""Whether atoms or the cell of a system have moved since the last evaluation, and not by a step.

Such a system begins its next solve as after a jump (`history`), also among others that have not moved. A
system that stands still repeats its last evaluation, whatever the other systems do.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.runtime import DeviceFunction, blocks_for, grid, literals, ti
from taichimd.forcefields.reaxff.history import BESIDE, JUMP, STEP
from taichimd.neighbours.control import CONTROL
from taichimd.system.state import Atoms, State

NOWHERE = 1e300
"""angstrom, where no atom has been."""


class Moves(Bundle):
    """Where atoms were at the last evaluation; of one system, at the last one that was no step."""

    at: Any = ArrayField("vec", "n", "positions in the user's order, angstrom")
    vectors: Any = ArrayField("double_mat", "systems", "cell vectors in rows, angstrom")
    cell: Any = ArrayField("double_mat", "systems", "cell vectors as they are now, angstrom")
    moved: Any = ArrayField("i32", "systems", "whether something has moved")
    again: Any = ArrayField("i32", "1", "of a batch: whether the last step is repeated")


OF_ONE = Moves.only("moved")
"""What a solve of one system takes."""


@cache
def compare_kernel(real: Any, batch: bool) -> Any:
    """Kernel: find what has moved, and remember where everything is."""
    system = ArrayField("i32", "n", "number of the system of the atom at a place") if batch else None

    @kernel(
        types_of(real), atoms=Atoms.only("n", "pos", "ident"), system=system,
        moves=Moves.only("at", "vectors", "cell", "moved"), control=CONTROL,
        frozen=Number("i32", "word of control")
    )  # fmt: skip
    def compare(atoms, system, moves, control, frozen):
        for k in range(moves.moved.shape[0]):
            if control[frozen] == 0:
                differs = 0
                for a in ti.static(range(3)):
                    for c in ti.static(range(3)):
                        if moves.cell[k][a, c] != moves.vectors[k][a, c]:
                            differs = 1
                moves.moved[k] = differs
                moves.vectors[k] = moves.cell[k]
        for i in range(atoms.n):
            if control[frozen] == 0:
                user, now = atoms.ident[i], atoms.pos[i]
                before = moves.at[user]
                if now[0] != before[0] or now[1] != before[1] or now[2] != before[2]:
                    k = 0
                    if ti.static(batch):
                        k = system[i]
                    moves.moved[k] = 1
                moves.at[user] = now

    return compare


def kind_function(batch: bool) -> DeviceFunction:
    """Device function (k, stepping, moves) -> kind of the evaluation of system k (`history`)."""

    @ti.func
    def kind(k, stepping, moves: ti.template()):
        found = stepping
        if stepping == JUMP and moves.moved[k] == 0:
            found = BESIDE
        if ti.static(batch):
            # A step that one system has held up has already begun for the others.
            if stepping == STEP and moves.again[0] != 0:
                found = BESIDE
        return found

    return kind


class Places:
    """Where the atoms of a state were at the last evaluation.

    Args:
        state: the atoms.

    Attributes:
        moves: the arrays, which say at first that everything has moved.
    """

    def __init__(self, state: State) -> None:
        systems, double_mat = len(state.sizes), types_of(ti.f64)["double_mat"]
        self._state, self._stepped = state, False
        self._system = state.system if state.batch else None
        self._compare = compare_kernel(state.real, state.batch)
        self.moves = Moves(
            ti.ndarray(state.vec, state.n),
            *(ti.ndarray(double_mat, systems) for _ in range(2)),
            ti.ndarray(ti.i32, systems),
            ti.ndarray(ti.i32, 1),
        )
        for array, value in ((self.moves.at, NOWHERE), (self.moves.vectors, NOWHERE), (self.moves.cell, 0.0)):
            array.fill(value)
        self.moves.moved.fill(1)
        self.moves.again.fill(0)

    def look(self, control: Any, frozen: int, stepping: int, vectors: Any) -> None:
        """Queue what an evaluation needs: find what has moved, or remember where everything is.

        Args:
            control: words on the device.
            frozen: the word of control that says, if it is not 0, that there is nothing to do.
            stepping: what the evaluation is (`history`).
            vectors: cell vectors of the systems, on the device; None: they do not change.
        """
        if vectors is not None:
            self.moves.cell = vectors
        # Each solve of several systems remembers where they are.
        batch = self._state.batch
        if stepping == STEP or (stepping == BESIDE and batch):
            self._stepped = not batch
            return
        if self._stepped:
            self.moves.at.fill(NOWHERE)
            self._stepped = False
        with literals(self._state.real), grid(blocks_for(8 * self._state.n)):
            self._compare(self._state, self._system, self.moves, control, frozen)
