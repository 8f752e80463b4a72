"""The drift of a step: an atom moves, and flags what that breaks."""

from typing import Any

from taichimd.dynamics.coupling import Coupling
from taichimd.dynamics.thermostats import OPENS
from taichimd.neighbours.control import BLOWN, REBUILD, STALE
from taichimd.runtime import ti


def drift_function(coupling: Coupling, thermostat: Any, near_list: bool, note: Any) -> Any:
    """Device function that moves an atom.

    Args:
        coupling: what acts on atoms and cell besides forces.
        thermostat: its functions.
        near_list: whether force loops read a near list.
        note: function that notes atoms which have gone far, where a list serves until it lacks a pair; or None.
    """
    cell = coupling.moves_cell
    outdated = STALE if near_list else REBUILD

    @ti.func
    def drift(i, n, v, dt, ahead, deforming, most_step2, most_near2, atoms: ti.template(), there: ti.template(), listed_at: ti.template(), control: ti.template(), frozen, ledger: ti.template(), bath: ti.template(), b: ti.template()):  # fmt: skip
        """Move atom i to an array `there`, `ahead` steps into a pass; flag what the move breaks.

        A comparison with NaN is false, hence the `not`.
        """
        move = dt * v
        if ti.static(coupling.local):
            new = thermostat.refresh(
                i, n, v, ledger[OPENS] + ahead, atoms.ident[i], atoms.inverse_mass[i], ledger, bath
            )
            move = (0.5 * dt) * v + (0.5 * dt) * new
            atoms.vel[i] = new
        change = move
        if ti.static(cell):
            if deforming == 1:
                change, move = thermostat.drifted(atoms.pos[i], move, bath)
        x = atoms.pos[i] + change
        there[i] = x
        if thermostat.strayed(x, listed_at[i], most_near2, near_list, bath) == 1:
            breaks = 1
            if ti.static(bool(note) and bool(b)):
                gone = x - listed_at[i]
                breaks = note(i, n, gone.dot(gone), most_near2, b, control)
            if breaks == 1:
                control[outdated] = 1
                control[frozen] = 1
        if not move.dot(move) <= most_step2:
            ti.atomic_min(control[BLOWN], atoms.ident[i])
            control[frozen] = 1

    return drift
