"""Thermostats and barostats of a batch: functions of one system, called with the bath of an atom's system.

Noise is that of the system's own seed and of the atom's number in its system. Steps are those of the whole
batch.
"""

from dataclasses import replace
from typing import Any

from taichimd.core.arguments import Number, device_helper, kernel, types_of
from taichimd.core.philox import GLOBAL
from taichimd.core.runtime import ti
from taichimd.ensembles.barostats import layout as barostats
from taichimd.ensembles.bath_arrays import BatchBathArrays
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.ensembles.thermostats.layout import SEED, ledger_size
from taichimd.ensembles.thermostats.ledger import OwnLedger
from taichimd.system.cell import taken_cells
from taichimd.system.state import Atoms


def of_each_system(
    of: EnsembleFunctions, real: Any, coupling: Any, only: int | None = None
) -> EnsembleFunctions:
    """Device functions that take `BatchBathArrays` in place of the arrays of ledger and bath.

    Args:
        of: functions of a thermostat or barostat, which take an `OwnLedger`, and a bath in registers.
        real: ti.f64 or ti.f32, of the atoms.
        coupling: `Coupling` of it.
        only: 1 where there is one system, whose arrays name no systems; None: they name them.
    """
    moves_cell, sums, several = coupling.moves_cell, 2 * of.parts, only is None
    length, size = ledger_size(coupling.sums), coupling.bath_size

    @device_helper
    def systems_in(every: Any) -> Any:
        return only or every.firsts.shape[0]

    @ti.func
    def system_of(i, every: ti.template()):
        k = 0
        if ti.static(several):
            k = every.system[i]
        return k

    @ti.func
    def start_of(k, every: ti.template()):
        """Where the ledger of a system begins: those of all systems are the end of the array."""
        return every.ledger.shape[0] - length * (systems_in(every) - k)

    @ti.func
    def seed_in(k, every: ti.template()):
        return every.ledger[start_of(k, every) + SEED]

    @device_helper
    def ledger_of(k: Any, every: Any) -> OwnLedger:
        return OwnLedger(array=every.ledger, start=start_of(k, every), seed=seed_in(k, every), whose=GLOBAL)

    @ti.func
    def bath_of(k, every: ti.template()):
        """The bath of a system, in registers; what of it is not used costs nothing."""
        start = every.bath.shape[0] - size * (systems_in(every) - k)
        return ti.Vector([every.bath[start + c] for c in ti.static(range(size))])

    @ti.func
    def put_back(k, bath, every: ti.template()):
        start = every.bath.shape[0] - size * (systems_in(every) - k)
        for c in ti.static(range(size)):
            every.bath[start + c] = bath[c]

    @ti.func
    def prepare(dt, ledger: ti.template(), every: ti.template()):
        """Holds a loop over systems of its own."""
        for k in range(systems_in(every)):
            bath = bath_of(k, every)
            of.prepare(dt, ledger, bath)
            put_back(k, bath, every)

    @ti.func
    def refresh(i, n, v, interval, atom, inverse_mass, ledger: ti.template(), every: ti.template()):
        k = system_of(i, every)
        bath = bath_of(k, every)
        return of.refresh(i, n, v, interval, atom - every.firsts[k], inverse_mass, ledger_of(k, every), bath)

    @ti.func
    def book(i, n, energy, atom, ledger: ti.template(), every: ti.template()):
        k = system_of(i, every)
        of.book(i, n, energy, atom, ledger_of(k, every), every)

    @ti.func
    def add_kinetic(i, n, v, inverse_mass, every: ti.template()):
        of.add_kinetic(i, n, v, inverse_mass, ledger_of(system_of(i, every), every))

    @ti.func
    def add_components(i, n, w, every: ti.template()):
        of.add_components(i, n, w, ledger_of(system_of(i, every), every))

    @ti.func
    def add_virial(i, n, w, every: ti.template()):
        of.add_virial(i, n, w, ledger_of(system_of(i, every), every))

    @ti.func
    def collect(k, every: ti.template()):
        """Sum k of those of all systems, one system after the other."""
        of.collect(k % sums, ledger_of(k // sums, every))

    @ti.func
    def rescale(k, dt, interval, every: ti.template(), cells: ti.template()):
        """What acts on system k."""
        bath = bath_of(k, every)
        if ti.static(not moves_cell):
            of.rescale(dt, interval, ledger_of(k, every), bath, k, cells)
            put_back(k, bath, every)
        elif bath[barostats.AT_REST] == 0.0:
            of.rescale(dt, interval, ledger_of(k, every), bath, k, cells)
            put_back(k, bath, every)

    @ti.func
    def rescaled(i, v, every: ti.template()):
        bath = bath_of(system_of(i, every), every)
        return of.rescaled(i, v, bath)

    taken = taken_cells(False, "vectors", "stretch", "drift") if moves_cell else None
    count = Number("i32", "number of atoms; 0: only compile")
    interval_of = Number("i64", "number of the interval between steps")

    @kernel(
        types_of(real), atoms=Atoms.only("vel", "inverse_mass"), bath=BatchBathArrays, cells=taken, n=count,
        dt=Number("real", "time step"), interval=interval_of
    )  # fmt: skip
    def close_step(atoms, bath, cells, n, dt, interval):
        for i in range(n):
            add_kinetic(i, n, atoms.vel[i], atoms.inverse_mass[i], bath)
        if ti.static(moves_cell):
            for k in range(bath.firsts.shape[0] * sums):
                collect(k, bath)
        for k in range(bath.firsts.shape[0]):
            if n > 0:
                rescale(k, dt, interval, bath, cells)
        for i in range(n):
            atoms.vel[i] = rescaled(i, atoms.vel[i], bath)

    own: dict[str, Any] = {"prepare": prepare, "refresh": refresh, "book": book} if of.prepare else {}
    if moves_cell:
        own |= {"add_components": add_components, "add_virial": add_virial, "collect": collect}
    return replace(
        of, add_kinetic=add_kinetic, rescale=rescale, rescaled=rescaled, close_step=close_step, **own
    )
