"""Baths of groups on the device, for the places that `program.steps` has for them.

What a thermostat does is what its own functions do, with the row of a group in place of the bath of all,
about the velocity of the centre of mass of the group. Sums over atoms are those of `thermostats.ledger`.
"""

from typing import Any

from taichimd.core.arguments import Number, device_helper, kernel, types_of
from taichimd.core.runtime import in_double, ti
from taichimd.ensembles.barostats.tensors import component_function
from taichimd.ensembles.bath_arrays import taken_baths
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.ensembles.groups.layout import (
    CORRECTS,
    FAILED,
    FIRST_ATOM,
    FORCE,
    FREE_MASS,
    HEAT,
    KIND,
    KINETIC,
    LACKING,
    MEAN_FORCE,
    MOMENTUM,
    NUMBERS,
    OF_FORCE,
    OF_VELOCITY,
    POWER,
    POWER_OF_FORCES,
    ROW,
    SEED,
    SOURCE,
    TENSOR,
    THERMOSTATS,
    WHOSE,
)
from taichimd.ensembles.thermostats.layout import CENTRE, ENERGY_BITS, FACTOR, RECEIVED, SLOT, SLOTS
from taichimd.ensembles.thermostats.ledger import OwnLedger, kinetic_energy, sum_functions, target, units_of
from taichimd.ensembles.thermostats.system import guarded
from taichimd.system.state import Atoms

ROWS_OF_A_WARP = 4
"""Most baths for which the threads of a warp first add up what their atoms have: for each bath once."""


def group_functions(coupling: Any, real: Any, by_slot: bool) -> EnsembleFunctions:
    """Device functions of the baths of all groups; what acts on a group is float64."""
    kinds, sums, corrects = coupling.acting, coupling.sums_of_group, coupling.corrects
    has_sources, rows, parts = coupling.has_sources, coupling.rows, coupling.tensor_of_group
    component = component_function(parts)
    in_warps = by_slot and rows <= ROWS_OF_A_WARP
    count_static = sum_functions(by_slot).count
    factors = [guarded(kind.factor_function()) for kind in kinds]
    rescaling = [number for number, kind in enumerate(kinds) if kind.acts_on == "system"]
    local = next((number for number, kind in enumerate(kinds) if kind.acts_on == "atoms"), -1)

    @ti.func
    def book_nothing(i, n, energy, ledger: ti.template()):
        """`refresh` counts."""

    of_atoms = kinds[local].atom_functions(book_nothing, real) if local >= 0 else None

    @ti.func
    def number_of(g, k: ti.template(), every: ti.template()):
        return every.numbers[NUMBERS * g + k]

    @ti.func
    def kind_of(g, every: ti.template()):
        return ti.cast(every.numbers[NUMBERS * g + KIND], ti.i32)

    @ti.func
    def whose_of(g, every: ti.template()):
        return ti.cast(every.numbers[NUMBERS * g + WHOSE], ti.i32)

    @device_helper
    def ledger_of(g: Any, every: Any) -> OwnLedger:
        return OwnLedger(
            array=every.ledger, start=0, seed=number_of(g, SEED, every), whose=whose_of(g, every)
        )

    @ti.func
    def row_of(g, every: ti.template()):
        """The row of a bath, in registers; what of it is not used costs nothing."""
        return ti.Vector([every.bath[ROW * g + c] for c in ti.static(range(ROW))])

    @ti.func
    def put_back(g, row, every: ti.template()):
        for c in ti.static(range(ROW)):
            every.bath[ROW * g + c] = row[c]

    @ti.func
    def count(i, n, g, k: ti.template(), value, every: ti.template()):
        """Add to sum k of bath g, if there is one; all threads of a warp come here."""
        if ti.static(in_warps):
            for r in ti.static(range(rows)):
                count_static(
                    i, n, ti.static(r * sums + k), ti.select(g == r, value, 0.0 * value), every.ledger
                )
        elif g >= 0:
            slot = i % SLOTS
            if ti.static(not by_slot):
                slot = ti.cast(ti.cast(i, ti.i64) * SLOTS // n, ti.i32)
            ti.atomic_add(every.ledger[SLOT + (sums * g + k) * SLOTS + slot], units_of(value))

    @ti.func
    def emptied(g, k, every: ti.template()):
        """Sum k of bath g, whose slots are then empty."""
        total = ti.cast(0, ti.i64)
        for a in range(SLOTS):
            at = SLOT + (sums * g + k) * SLOTS + a
            total += every.ledger[at]
            every.ledger[at] = ti.cast(0, ti.i64)
        return ti.cast(total, ti.f64) * ti.cast(2.0**-ENERGY_BITS, ti.f64)

    @ti.func
    def prepare(dt, every: ti.template()):
        """Holds a loop over baths of its own."""
        for g in range(every.numbers.shape[0] // NUMBERS):
            if kind_of(g, every) == ti.static(THERMOSTATS + local):
                row = row_of(g, every)
                of_atoms.prepare(dt, every.ledger, row)
                put_back(g, row, every)

    @ti.func
    def refresh(i, n, v, interval, atom, inverse_mass, every: ti.template()):
        """Friction and noise on one atom, if it has such a bath."""
        g = every.bath_of[atom]
        new = v
        if g >= 0:
            if kind_of(g, every) == ti.static(THERMOSTATS + local):
                row = row_of(g, every)
                own = atom - ti.cast(number_of(g, FIRST_ATOM, every), ti.i32)
                new = of_atoms.refresh(i, n, v, interval, own, inverse_mass, ledger_of(g, every), row)
        lost = kinetic_energy(v, inverse_mass) - kinetic_energy(new, inverse_mass)
        count(i, n, g, HEAT, lost, every)
        return new

    @ti.func
    def book(i, n, energy, atom, every: ti.template()):
        """Energy that the bath of an atom has received besides what `refresh` counts."""
        count(i, n, every.bath_of[atom], HEAT, energy, every)

    @ti.func
    def add_kinetic(i, n, v, f, inverse_mass, atom, every: ti.template()):
        """Count what baths need of an atom whose force is f."""
        g = every.bath_of[atom]
        w, mass = ti.cast(v, ti.f64), ti.cast(0.0, ti.f64)
        if inverse_mass > 0.0:
            mass = 1.0 / ti.cast(inverse_mass, ti.f64)
        count(i, n, g, KINETIC, 0.5 * mass * w.dot(w), every)
        for a in ti.static(range(3)):
            count(i, n, g, ti.static(MOMENTUM + a), mass * w[a], every)
        if ti.static(parts > 1):
            twice = mass * w.outer_product(w)
            for k in ti.static(range(parts)):
                count(i, n, g, ti.static(TENSOR + k), component(twice, k), every)
        if ti.static(corrects):
            pull = ti.cast(f, ti.f64)
            if ti.static(coupling.holds):
                for a in ti.static(range(3)):
                    # What is held has no velocity, and its force no part in the mean.
                    if w[a] == 0.0:
                        pull[a] = 0.0
            count(i, n, g, POWER_OF_FORCES, pull.dot(w), every)
            for a in ti.static(range(3)):
                count(i, n, g, ti.static(FORCE + a), pull[a], every)

    @in_double
    def act(dt, interval, kind, found_sums, ledger: ti.template(), row: ti.template()):
        """What a bath makes of the velocities of its atoms, from their sums. Serial."""
        time = ti.cast(dt, ti.f64)
        kinetic = found_sums[KINETIC]
        for a in ti.static(range(3)):
            row[CENTRE + a] = found_sums[MOMENTUM + a] / row[FREE_MASS + a]
            kinetic -= 0.5 * found_sums[MOMENTUM + a] * row[CENTRE + a]
        found = 1.0 + 0.0 * kinetic
        kt = target(interval + 1, row)
        for k in ti.static(rescaling):
            if kind == ti.static(THERMOSTATS + k):
                found = factors[k](kinetic, kt, time, interval, ledger, row)
        if ti.static(has_sources):
            if kind == SOURCE:
                power = row[POWER]
                given = power * time
                if kinetic > 0.0 and kinetic + given > 0.0:
                    found = ti.sqrt(1.0 + given / kinetic)
                    row[RECEIVED] -= given
                    if ti.static(corrects):
                        work = found_sums[POWER_OF_FORCES]
                        for a in ti.static(range(3)):
                            work -= found_sums[FORCE + a] * row[CENTRE + a]
                            row[MEAN_FORCE + a] = found_sums[FORCE + a] / row[FREE_MASS + a]
                        of_velocity = power / (2.0 * kinetic * kinetic) * (power / 48.0 + work / 6.0)
                        # The next step finds velocities that are rescaled already.
                        row[OF_VELOCITY] = row[CORRECTS] * of_velocity / found
                        row[OF_FORCE] = row[CORRECTS] * power / (12.0 * kinetic)
                elif row[FAILED] == 0.0:
                    row[LACKING] = kinetic
                    row[FAILED] = ti.cast(interval + 1, ti.f64)
        row[FACTOR] = found

    @ti.func
    def rescale(g, dt, interval, every: ti.template(), cells: ti.template()):
        """What bath g does; whether its atoms have the energy that it takes."""
        row = row_of(g, every)
        found_sums = ti.Vector.zero(ti.f64, sums)
        for k in ti.static(range(KINETIC, sums)):
            found_sums[k] = emptied(g, k, every)
        kind = kind_of(g, every)
        if kind >= SOURCE:
            act(dt, interval, kind, found_sums, ledger_of(g, every), row)
            put_back(g, row, every)
        return ti.cast(row[FAILED] == 0.0, ti.i32)

    @in_double
    def change_of(found_sums, row):
        """By how much the components of twice the kinetic tensor change when a bath rescales. Serial."""
        found = ti.Vector.zero(ti.f64, ti.static(max(parts, 1)))
        grown = row[FACTOR] * row[FACTOR] - 1.0
        if ti.static(parts > 1):
            about = ti.Matrix.zero(ti.f64, 3, 3)
            for a in ti.static(range(3)):
                for c in ti.static(range(3)):
                    about[a, c] = found_sums[MOMENTUM + a] * row[CENTRE + c]
            for k in ti.static(range(parts)):
                found[k] = grown * (found_sums[TENSOR + k] - component(about, k))
        else:
            relative = 2.0 * found_sums[KINETIC]
            for a in ti.static(range(3)):
                relative -= found_sums[MOMENTUM + a] * row[CENTRE + a]
            found[0] = grown * relative
        return found

    @ti.func
    def rescale_system(k, acts, time, interval, every: ti.template()):
        """What the baths of system k do if it is their turn. Serial.

        Returns the change of the components of twice the kinetic tensor, and whether all sinks have enough.
        """
        change = ti.Vector.zero(ti.f64, ti.static(max(parts, 1)))
        fine = 1
        for g in range(every.rows_from[k], every.rows_from[k + 1]):
            row = row_of(g, every)
            found_sums = ti.Vector.zero(ti.f64, sums)
            for c in ti.static(range(KINETIC, sums)):
                found_sums[c] = emptied(g, c, every)
            kind = kind_of(g, every)
            if kind >= SOURCE and kind != ti.static(THERMOSTATS + local if local >= 0 else -1):
                row[FACTOR] = ti.cast(1.0, ti.f64)
                if acts == 1:
                    act(time, interval, kind, found_sums, ledger_of(g, every), row)
                    change += change_of(found_sums, row)
                put_back(g, row, every)
                if row[FAILED] != 0.0:
                    fine = 0
        return change, fine

    @ti.func
    def rescaled(i, v, atom, every: ti.template()):
        g = every.bath_of[atom]
        new = v
        if g >= 0:
            kind = kind_of(g, every)
            if kind >= SOURCE and kind != ti.static(THERMOSTATS + local if local >= 0 else -1):
                centre = ti.Vector(
                    [ti.cast(every.bath[ROW * g + CENTRE + a], real) for a in ti.static(range(3))]
                )
                new = centre + ti.cast(every.bath[ROW * g + FACTOR], real) * (v - centre)
        return new

    @ti.func
    def displaced(v, f, inverse_mass, atom, dt, every: ti.template()):
        """Change of the position of an atom at the start of a step, from its velocity and force there."""
        g = every.bath_of[atom]
        by = 0.0 * v
        if g >= 0:
            if kind_of(g, every) == SOURCE:
                at = ROW * g
                cube = ti.cast(dt, ti.f64) * ti.cast(dt, ti.f64) * ti.cast(dt, ti.f64)
                for a in ti.static(range(3)):
                    w = ti.cast(v[a], ti.f64) - every.bath[at + CENTRE + a]
                    pull = ti.cast(f[a] * inverse_mass, ti.f64) - every.bath[at + MEAN_FORCE + a]
                    change = every.bath[at + OF_VELOCITY] * w - every.bath[at + OF_FORCE] * pull
                    by[a] = -ti.cast(cube * change, real)
        return by

    n_of = Number("i32", "number of atoms; 0: only compile")
    interval_of = Number("i64", "number of the interval between steps")
    taken = Atoms.only("vel", "force", "inverse_mass", "ident")

    @kernel(
        types_of(real), atoms=taken, bath=taken_baths(groups=True), cells=None, n=n_of,
        dt=Number("real", "time step"), interval=interval_of
    )  # fmt: skip
    def close_step(atoms, bath, cells, n, dt, interval):
        for i in range(n):
            add_kinetic(i, n, atoms.vel[i], atoms.force[i], atoms.inverse_mass[i], atoms.ident[i], bath)
        for g in range(bath.numbers.shape[0] // NUMBERS):
            if n > 0:
                rescale(g, dt, interval, bath, cells)
        for i in range(n):
            atoms.vel[i] = rescaled(i, atoms.vel[i], atoms.ident[i], bath)

    return EnsembleFunctions(
        add_kinetic, rescale, rescaled, close_step=close_step if coupling.whole else None,
        prepare=prepare if of_atoms else None, refresh=refresh if of_atoms else None,
        book=book if of_atoms else None,
        displaced=displaced if corrects else None, rescale_system=rescale_system if parts else None,
    )  # fmt: skip
