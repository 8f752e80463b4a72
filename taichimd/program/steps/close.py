"""The end of a step in which something acts on the whole system: a thermostat of all atoms, or a barostat."""

from typing import Any

from taichimd.core.arguments import device_helper
from taichimd.core.runtime import ti
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.groups.layout import NUMBERS, SPENT
from taichimd.ensembles.held import without_held
from taichimd.ensembles.thermostats import layout as thermostats
from taichimd.neighbours.control import Control
from taichimd.system.cell import ONLY


def close_function(
    coupling: Coupling, thermostat: Any, box: Any, flags: Any, drift: Any, on_gpu: bool
) -> Any:
    """Device function `close`, which holds a serial part and parallel loops of its own.

    Args:
        coupling: what acts on atoms and cell besides forces.
        thermostat: its functions.
        box: functions of the cell.
        flags: functions of the control array (`flags.pass_functions`).
        drift: moves an atom.
        on_gpu: whether a thread waits long for memory.
    """
    cell = coupling.moves_cell
    bath_size = coupling.bath_size
    # Each has a thread to collect it.
    by_component = cell and (thermostat.parts > 1 or coupling.batch or coupling.rows > 0)

    @device_helper
    def systems_of(s: Any) -> Any:
        """How many there are, at the compilation of a kernel."""
        return s.bath.firsts.shape[0] if coupling.batch else 1

    @ti.func
    def act(at, ahead, s: ti.template(), bath: ti.template()):
        """What acts on the whole system does so; the cell begins to move. Serial."""
        thermostat.rescale(s.dt, s.ledger[thermostats.OPENS] + (ahead - 1), s.ledger, bath, ONLY, s.cells)
        if ti.static(cell):
            flags.deform(ONLY, s.control, at + 1, s.cells)

    @ti.func
    def close(at, ahead, s: ti.template()):
        """Action of a global thermostat or barostat between the half kicks, then second half kick, drift."""
        if ti.static(by_component):
            for k in range(systems_of(s) * 2 * thermostat.parts):
                if s.control[at] == 0:
                    thermostat.collect(k, s.ledger)
        if ti.static(coupling.rows > 0 and not cell):
            for k in range(s.bath.numbers.shape[0] // NUMBERS):
                if s.control[at] == 0:
                    interval = s.ledger.ledger[thermostats.OPENS] + (ahead - 1)
                    if thermostat.rescale(k, s.dt, interval, s.bath, s.cells) == 0:
                        s.control[Control.blown] = SPENT
                        s.control[at + 1] = 1
        elif ti.static(coupling.batch or coupling.rows > 0):
            for k in range(systems_of(s)):
                if s.control[at] == 0:
                    interval = s.ledger.ledger[thermostats.OPENS] + (ahead - 1)
                    thermostat.rescale(k, s.dt, interval, s.bath, s.cells)
                    if ti.static(cell):
                        flags.deform(k, s.control, at + 1, s.cells)
        elif s.control[at] == 0:
            if ti.static(on_gpu):
                # Read at once and written at once: one thread that waits for memory again and again is slow.
                own = ti.Vector([s.bath[k] for k in ti.static(range(bath_size))])
                act(at, ahead, s, own)
                for k in ti.static(range(bath_size)):
                    s.bath[k] = own[k]
            else:
                act(at, ahead, s, s.bath)
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
