"""Far atoms are folded into their cells, and samplers see them where their paths have led."""

from collections.abc import Sequence

import numpy as np

from taichimd.system.cell import Cells
from taichimd.system.folding import folded, shifts
from taichimd.system.state import State


def fold_far_atoms(state: State, cells: Cells, numbers: Sequence[int]) -> bool:
    """Fold far atoms of some systems; whether there are any."""
    positions, some = state.get("pos"), False
    for number in numbers:
        part = state.parts[number]
        found = folded(positions[part], cells.frame(number))
        if found is not None:
            positions[part], turns = found
            state.add_turns(part, turns)
            some = True
    if some:
        state.set("pos", positions)
    return some


def unfolded_state(state: State, cells: Cells) -> State:
    """The state with positions that are not folded, as samplers read it; a copy if some are."""
    if state.turns is None:
        return state
    parts = [shifts(state.turns[part], cells.vectors(k)) for k, part in enumerate(state.parts)]
    return state.unfolded(np.concatenate(parts))
