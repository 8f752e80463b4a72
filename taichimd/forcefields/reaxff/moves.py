"""Whether atoms or the cell of a system have moved since the last evaluation, and not by a step.

Such a system begins its next solve as after a jump (`history`), also among others that have not moved. A
system that stands still repeats its last evaluation, whatever the other systems do.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.runtime import DeviceFunction, ti
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


def make_moves(state: State, systems: int) -> Moves:
    """Arrays that say that everything has moved."""
    double_mat = types_of(ti.f64)["double_mat"]
    moves = Moves(
        ti.ndarray(state.vec, state.n),
        *(ti.ndarray(double_mat, systems) for _ in range(2)),
        ti.ndarray(ti.i32, systems),
        ti.ndarray(ti.i32, 1),
    )
    for array, value in ((moves.at, NOWHERE), (moves.vectors, NOWHERE), (moves.cell, 0.0)):
        array.fill(value)
    moves.moved.fill(1)
    moves.again.fill(0)
    return moves


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
