"""What is said of a run that has diverged."""

from typing import Any

from taichimd.core.errors import BlowUpError
from taichimd.ensembles.barostats.base import CURE_OF_CELLS
from taichimd.ensembles.barostats.layout import RAN_AWAY
from taichimd.system.cell import MAX_STRETCH

_CURE = "use a smaller time step, or relax the structure first"


def of_step(engine: Any, atom: int, jump: float) -> BlowUpError:
    """The error of a step in which an atom went too far (`jump`, angstrom), or the cell changed too fast."""
    if atom == RAN_AWAY:
        what = f"the barostat changed the cell by more than {MAX_STRETCH:.0%} in one step"
        return exploded(engine.step, what, 0, CURE_OF_CELLS)
    return of_jump(engine, atom, jump)


def of_jump(engine: Any, atom: int, jump: float) -> BlowUpError:
    """The error of a step in which an atom went farther than `jump`, angstrom."""
    x = engine.positions()[atom].round(3).tolist()
    moved = f"moved by more than {jump:.2f} angstrom in one step, to {x}"
    return exploded(engine.step, f"atom {atom} ({engine.symbols[atom]}) {moved}", atom)


def spent(step: int, what: str) -> BlowUpError:
    """The error of a run with a sink whose atoms have less than it takes in a step."""
    cure = "use a smaller power, a larger group, or a group that more heat flows to"
    return BlowUpError(f"at step {step} {what}, which is too little for one step; {cure}", step, 0)


def behind_a_wall(step: int, atom: int) -> BlowUpError:
    """The error of a run in which an atom has passed a wall."""
    return exploded(step, f"atom {atom} is behind a wall, where its energy is not defined", atom)


def exploded(step: int, what: str, atom: int, cure: str = _CURE) -> BlowUpError:
    """The error of a run that exploded at a step."""
    return BlowUpError(f"the run exploded at step {step}: {what}; {cure}", step, atom)
