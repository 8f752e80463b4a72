"""Baths as rows: functions of one bath, called with the bath of an atom's system.

One system alone has one row, which is the whole array. Of several systems each has its row, and so has one
beside baths of groups, whose rows come first: noise is that of the system's own seed and of the atom's number
in its system, steps are those of all systems.
"""

from dataclasses import replace
from typing import Any

from taichimd.core.arguments import Number, device_helper, kernel, types_of
from taichimd.core.philox import GLOBAL
from taichimd.core.runtime import ti
from taichimd.ensembles.barostats import layout as barostats
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.ensembles.thermostats.layout import SEED, ledger_size
from taichimd.ensembles.thermostats.ledger import OwnLedger
from taichimd.system.cell import ONLY, taken_cells
from taichimd.system.state import Atoms


def of_rows(of: EnsembleFunctions, real: Any, coupling: Any, by_slot: bool) -> EnsembleFunctions:
    """Device functions that take `BathArrays` in place of a ledger and a bath.

    `of`: functions of a thermostat or barostat, which take a ledger and a bath as arrays, or an `OwnLedger`
    and a bath in registers.
    """
    several, moves_cell, sums = coupling.batch, coupling.moves_cell, 2 * of.parts
    alone = not several and not coupling.rows
    length, size = ledger_size(coupling.of_cell.sums), coupling.bath_size
    # Read at once and written at once: one thread of a GPU that waits for memory again and again is slow.
    in_registers, may_rest = not alone or by_slot, not alone and moves_cell
    # Each sum of a tensor has a thread to collect it; a single one is collected where it is needed.
    collects = sums if not alone or of.parts > 1 else 0

    @device_helper
    def systems_of(baths: Any) -> Any:
        """How many systems there are."""
        return baths.firsts.shape[0] if several else 1

    @ti.func
    def start_of(k, baths: ti.template()):
        """Where the ledger of a system begins: those of all systems are the end of the array."""
        return baths.ledger.shape[0] - length * (systems_of(baths) - k)

    @ti.func
    def seed_in(k, baths: ti.template()):
        return baths.ledger[start_of(k, baths) + SEED]

    @ti.func
    def system_in(i, baths: ti.template()):
        return baths.system[i]

    @ti.func
    def first_in(k, baths: ti.template()):
        return baths.firsts[k]

    @ti.func
    def registers_of(k, baths: ti.template()):
        """The bath of a system; what of it is not used costs nothing."""
        start = baths.bath.shape[0] - size * (systems_of(baths) - k)
        return ti.Vector([baths.bath[start + c] for c in ti.static(range(size))])

    @ti.func
    def put_back(k, bath, baths: ti.template()):
        start = baths.bath.shape[0] - size * (systems_of(baths) - k)
        for c in ti.static(range(size)):
            baths.bath[start + c] = bath[c]

    @device_helper
    def system_of(i: Any, baths: Any) -> Any:
        return system_in(i, baths) if several else ONLY

    @device_helper
    def number_of(atom: Any, k: Any, baths: Any) -> Any:
        """The number of an atom in its system."""
        return atom - first_in(k, baths) if several else atom

    @device_helper
    def ledger_of(k: Any, baths: Any) -> Any:
        if alone:
            return baths.ledger
        return OwnLedger(array=baths.ledger, start=start_of(k, baths), seed=seed_in(k, baths), whose=GLOBAL)

    @device_helper
    def bath_of(k: Any, baths: Any) -> Any:
        """The bath of a system, to be read."""
        return baths.bath if alone else registers_of(k, baths)

    @ti.func
    def prepare(dt, baths: ti.template()):
        """Prepare each bath for a step; for several systems this is a loop over them."""
        if ti.static(several):
            for k in range(baths.firsts.shape[0]):
                bath = registers_of(k, baths)
                of.prepare(dt, baths.ledger, bath)
                put_back(k, bath, baths)
        else:
            of.prepare(dt, baths.ledger, baths.bath)

    @ti.func
    def refresh(i, n, v, interval, atom, inverse_mass, baths: ti.template()):
        k = system_of(i, baths)
        own = number_of(atom, k, baths)
        return of.refresh(i, n, v, interval, own, inverse_mass, ledger_of(k, baths), bath_of(k, baths))

    @ti.func
    def book(i, n, energy, atom, baths: ti.template()):
        of.book(i, n, energy, ledger_of(system_of(i, baths), baths))

    @ti.func
    def add_kinetic(i, n, v, inverse_mass, baths: ti.template()):
        of.add_kinetic(i, n, v, inverse_mass, ledger_of(system_of(i, baths), baths))

    @ti.func
    def add_components(i, n, w, baths: ti.template()):
        of.add_components(i, n, w, ledger_of(system_of(i, baths), baths))

    @ti.func
    def add_virial(i, n, w, baths: ti.template()):
        of.add_virial(i, n, w, ledger_of(system_of(i, baths), baths))

    @ti.func
    def drive(i, w, baths: ti.template()):
        return of.drive(w, bath_of(system_of(i, baths), baths))

    @ti.func
    def collect(k, baths: ti.template()):
        """Sum k of those of all systems, one system after the other."""
        of.collect(k % sums, ledger_of(k // sums, baths))

    @ti.func
    def adjust(k, c: ti.template(), energy, baths: ti.template()):
        """Add an energy to total c of system k."""
        of.adjust(c, energy, ledger_of(k, baths))

    @ti.func
    def rescale(k, dt, interval, baths: ti.template(), cells: ti.template()):
        """What acts on system k. One thread."""
        if ti.static(in_registers):
            bath = registers_of(k, baths)
            if ti.static(not may_rest):
                of.rescale(dt, interval, ledger_of(k, baths), bath, k, cells)
                put_back(k, bath, baths)
            elif bath[barostats.AT_REST] == 0.0:
                of.rescale(dt, interval, ledger_of(k, baths), bath, k, cells)
                put_back(k, bath, baths)
        else:
            of.rescale(dt, interval, baths.ledger, baths.bath, k, cells)

    @ti.func
    def rescaled(i, v, baths: ti.template()):
        return of.rescaled(i, v, bath_of(system_of(i, baths), baths))

    taken = taken_cells(False, "vectors", "stretch", "drift") if moves_cell else None
    count = Number("i32", "number of atoms; 0: only compile")
    interval_of = Number("i64", "number of the interval between steps")

    @kernel(
        types_of(real), atoms=Atoms.only("vel", "inverse_mass"), bath=coupling.arrays, cells=taken, n=count,
        dt=Number("real", "time step"), interval=interval_of
    )  # fmt: skip
    def close_step(atoms, bath, cells, n, dt, interval):
        for i in range(n):
            add_kinetic(i, n, atoms.vel[i], atoms.inverse_mass[i], bath)
        if ti.static(collects > 0):
            for k in range(systems_of(bath) * collects):
                collect(k, bath)
        if ti.static(several):
            for k in range(systems_of(bath)):
                if n > 0:
                    rescale(k, dt, interval, bath, cells)
        elif n > 0:
            rescale(ONLY, dt, interval, bath, cells)
        for i in range(n):
            atoms.vel[i] = rescaled(i, atoms.vel[i], bath)

    own: dict[str, Any] = {"prepare": prepare, "refresh": refresh, "book": book} if of.prepare else {}
    if moves_cell:
        own |= {
            "add_components": add_components,
            "add_virial": add_virial,
            "collect": collect,
            "adjust": adjust,
        }
    return replace(
        of, add_kinetic=add_kinetic, rescale=rescale, rescaled=rescaled, drive=drive, close_step=close_step,
        systems_of=systems_of, collects=collects, **own,
    )  # fmt: skip
