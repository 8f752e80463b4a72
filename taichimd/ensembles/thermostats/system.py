"""What a thermostat of the whole system does on the device, for the places that `verlet` has for it.

It multiplies all velocities by one number at the end of each step, when the velocities belong to the same
time as the positions. Applied over dt after the step and not over dt/2 on both sides of it: the two are
conjugate, so they sample alike, and there is one sum over atoms a step. A step that is not done draws no
noise and moves no thermostat.
"""

from typing import Any

from taichimd.core.runtime import in_double, ti
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.ensembles.thermostats.layout import CENTRE, DRIVE, ENERGY_BITS, FACTOR, TOTAL_MASS
from taichimd.ensembles.thermostats.ledger import batch_sum_functions, kinetic_energy, sum_functions, target


def guarded(own: Any) -> Any:
    """The factor of a thermostat; 1 for atoms at rest, and without a thermostat of the whole system."""
    has_factor = own is not None

    @ti.func
    def factor(kinetic, kt, time, interval, ledger: ti.template(), bath: ti.template()):
        found = 1.0 + 0.0 * kt
        # Atoms at rest have nothing to scale: they stay at rest until forces move them.
        if ti.static(has_factor):
            if kinetic > 0.0:
                found = own(kinetic, kt, time, interval, ledger, bath)
        return found

    return factor


def atom_functions(kind: Any, count: Any, given: int, real: Any) -> dict[str, Any]:
    """What `EnsembleFunctions` has of a thermostat that acts on each atom alone.

    `count` adds to a sum of the ledger; `given`: the sum of the energies that the bath has received.
    """

    @ti.func
    def book(i, n, energy, ledger: ti.template()):
        count(i, n, given, energy, ledger)

    of_atoms = kind.atom_functions(book, real)
    if not of_atoms:
        return {}
    return {"prepare": of_atoms.prepare, "refresh": of_atoms.refresh, "book": book}


def system_functions(kind: Any, real: Any, by_slot: bool, coupling: Any) -> EnsembleFunctions:
    """Device functions of an ensemble; those that it does not need are never called.

    With a driving force the centre of mass is brought to rest.
    """
    driven = coupling.driven
    sums = batch_sum_functions() if coupling.batch else sum_functions(by_slot)
    count, empty_slots, factor = sums.count, sums.empty_slots, guarded(kind.factor_function())

    @ti.func
    def add_kinetic(i, n, v, inverse_mass, ledger: ti.template()):
        count(i, n, 0, kinetic_energy(v, inverse_mass), ledger)
        if ti.static(driven):
            for a in ti.static(range(3)):
                count(i, n, 1 + a, ti.cast(v[a], ti.f64) / ti.cast(inverse_mass, ti.f64), ledger)

    @in_double
    def rescale(dt, interval, ledger: ti.template(), bath: ti.template(), own, cells: ti.template()):
        """Factor of the velocities from the slots, which it empties. Serial."""
        kinetic = ti.cast(empty_slots(0, ledger), ti.f64) * 2.0**-ENERGY_BITS
        if ti.static(driven):
            for a in ti.static(range(3)):
                momentum = ti.cast(empty_slots(1 + a, ledger), ti.f64) * 2.0**-ENERGY_BITS
                bath[CENTRE + a] = momentum / bath[TOTAL_MASS]
                kinetic -= 0.5 * momentum * bath[CENTRE + a]
        bath[FACTOR] = factor(
            kinetic, target(interval + 1, bath), ti.cast(dt, ti.f64), interval, ledger, bath
        )

    @ti.func
    def drive(virial, bath: ti.template()):
        """External force W^T F_e on an atom of virial W: with the heat current J, they do the work J.F_e.

        Z. Fan, H. Dong, A. Harju, T. Ala-Nissila, Phys. Rev. B 99, 064308 (2019),
        doi:10.1103/PhysRevB.99.064308, eq. 8, without its term of the atom's energy: convection, which solids
        do not have.
        """
        pull = ti.Vector([ti.cast(bath[DRIVE + a], real) for a in ti.static(range(3))])
        return ti.cast(virial, real).transpose() @ pull

    @ti.func
    def rescaled(i, v, bath: ti.template()):
        new = v
        if ti.static(driven):
            for a in ti.static(range(3)):
                new[a] -= ti.cast(bath[CENTRE + a], real)
        return ti.cast(bath[FACTOR], real) * new

    own = atom_functions(kind, count, coupling.given, real)
    return EnsembleFunctions(add_kinetic, rescale, rescaled, drive=drive, **own)
