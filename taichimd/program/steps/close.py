"""The end of a step in which something acts on the whole system: a thermostat of all atoms, or a barostat."""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.groups.layout import NUMBERS, SPENT
from taichimd.ensembles.held import without_held
from taichimd.ensembles.thermostats import layout as thermostats
from taichimd.neighbours.control import Control
from taichimd.system.cell import ONLY


def close_function(coupling: Coupling, thermostat: Any, box: Any, flags: Any, drift: Any) -> Any:
    """Device function `close`, which holds a serial part and parallel loops of its own."""
    cell, systems_of = coupling.moves_cell, thermostat.systems_of

    @ti.func
    def act(k, at, ahead, s: ti.template()):
        """What acts on the whole of system k does so; its cell begins to move. One thread of each system."""
        interval = s.bath.ledger[thermostats.OPENS] + (ahead - 1)
        if ti.static(coupling.rows > 0):
            if thermostat.rescale(k, s.dt, interval, s.bath, s.cells) == 0:
                s.control[Control.blown] = SPENT
                s.control[at + 1] = 1
        else:
            thermostat.rescale(k, s.dt, interval, s.bath, s.cells)
        if ti.static(cell):
            flags.deform(k, s.control, at + 1, s.cells)

    @ti.func
    def close(at, ahead, s: ti.template()):
        """Action of a global thermostat or barostat between the half kicks, then second half kick, drift."""
        if ti.static(thermostat.collects > 0):
            for k in range(systems_of(s.bath) * thermostat.collects):
                if s.control[at] == 0:
                    thermostat.collect(k, s.bath)
        if ti.static(coupling.rows > 0 and not cell):
            for k in range(s.bath.numbers.shape[0] // NUMBERS):
                if s.control[at] == 0:
                    interval = s.bath.ledger[thermostats.OPENS] + (ahead - 1)
                    if thermostat.rescale(k, s.dt, interval, s.bath, s.cells) == 0:
                        s.control[Control.blown] = SPENT
                        s.control[at + 1] = 1
        elif ti.static(coupling.batch):
            for k in range(systems_of(s.bath)):
                if s.control[at] == 0:
                    act(k, at, ahead, s)
        elif s.control[at] == 0:
            act(ONLY, at, ahead, s)
        for i in range(s.n):
            if s.control[at] == 0:
                if ti.static(cell):
                    box.shift(i, s.n, s.shift_bits, s.shifts, s.cells)
                atoms = s.atoms
                kick = (0.5 * s.dt * atoms.inverse_mass[i]) * atoms.force[i]
                v = atoms.vel[i]
                if ti.static(coupling.rows > 0):
                    v = thermostat.rescaled(i, v, atoms.ident[i], s.bath)
                    if ti.static(coupling.corrects):
                        by = thermostat.displaced(
                            v, atoms.force[i], atoms.inverse_mass[i], atoms.ident[i], s.dt, s.bath
                        )
                        if ti.static(coupling.holds):
                            by = without_held(by, s.held[atoms.ident[i]])
                        atoms.pos[i] += by
                else:
                    v = thermostat.rescaled(i, v, s.bath)
                v = v + kick
                atoms.vel[i] = v
                drift(i, v, ahead, 1, s, atoms.pos, at + 1)
            flags.count_step(i, s.control, at)

    return close
