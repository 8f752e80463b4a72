"""The drift of a step: an atom moves, and flags what that breaks."""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.held import without_held
from taichimd.ensembles.thermostats.layout import OPENS
from taichimd.ensembles.thermostats.ledger import kinetic_energy
from taichimd.neighbours.control import Control


def drift_function(
    coupling: Coupling, thermostat: Any, box: Any, near_list: bool, note: Any, drives: Any = None
) -> Any:
    """Device function that moves an atom.

    `note`: function that notes atoms which have gone far, where a list serves until it lacks a pair; or None.
    """
    refreshed = refreshed_function(coupling, thermostat)
    outdated = Control.stale if near_list else Control.rebuild
    kinds = coupling.drives

    @ti.func
    def drift(i, v, ahead, deforming, s: ti.template(), there: ti.template(), frozen):
        """Move atom i to the array `there`, `ahead` steps into a call; flag a list that the move outdates.

        `s` is a `compiled.StepView`.
        A comparison with NaN is false, hence the `not`.
        """
        n, dt = s.n, s.dt
        before = v
        if ti.static(coupling.holds):
            before = without_held(v, s.held[s.atoms.ident[i]])
            s.atoms.vel[i] = before
        move = dt * before
        if ti.static(coupling.local):
            new = refreshed(i, before, ahead, s)
            move = (0.5 * dt) * before + (0.5 * dt) * new
            s.atoms.vel[i] = new
        if ti.static(kinds.drags):
            slower = drives.dragged(i, n, s.atoms.vel[i], s.atoms.ident[i], s.atoms.inverse_mass[i], s.drives)
            move = (0.5 * dt) * before + (0.5 * dt) * slower
            s.atoms.vel[i] = slower
        change = move
        if ti.static(box.moves):
            if deforming == 1:
                change, move = box.drifted(i, s.atoms.pos[i], move, s.cells)
        x = s.atoms.pos[i] + change
        if not move.dot(move) <= s.reach.most_step2:
            ti.atomic_min(s.control[Control.blown], s.atoms.ident[i])
            s.control[frozen] = 1
        if ti.static(kinds.places):
            x = drives.placed(i, n, x, s.bath.ledger[OPENS] + ahead + 1, s.atoms, s.drives)
        there[i] = x
        if box.strayed(i, x, s.listed_at[i], s.reach.most_near2, near_list, s.cells) == 1:
            breaks = 1
            if ti.static(bool(note) and bool(s.sort)):
                gone = x - s.listed_at[i]
                breaks = note(i, n, gone.dot(gone), s.reach.most_near2, s.sort, s.control)
            if breaks == 1:
                s.control[outdated] = 1
                s.control[frozen] = 1

    return drift


def refreshed_function(coupling: Coupling, thermostat: Any) -> Any:
    """Device function: the velocity of an atom after friction and noise, which act along free directions."""

    @ti.func
    def refreshed(i, v, ahead, s: ti.template()):
        ident, inverse_mass = s.atoms.ident[i], s.atoms.inverse_mass[i]
        interval = s.bath.ledger[OPENS] + ahead
        new = thermostat.refresh(i, s.n, v, interval, ident, inverse_mass, s.bath)
        if ti.static(coupling.holds):
            kept = without_held(new, s.held[ident])
            gained = kinetic_energy(new, inverse_mass) - kinetic_energy(kept, inverse_mass)
            thermostat.book(i, s.n, gained, ident, s.bath)
            new = kept
        return new

    return refreshed
