"""Device functions of drives, called where forces are known and in the drift.

All is computed in float64. An energy U(x, t) has a force F = -dU/dx, and what depends on time does the work

    W = sum over steps of [U(x_n, t_n+1) - U(x_n, t_n-1)]/2

so that K + U_pot + U - W is conserved. A run's first and last step has half of that work, hence `arrives` and
`leaves`. Sums are of whole numbers, so they have the same bits for any number of threads and any pieces of a
run.
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.runtime import DeviceFunction, in_double, ti
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.arrays import DriveKinds
from taichimd.ensembles.drives.energies import energy_functions
from taichimd.ensembles.thermostats.ledger import kinetic_energy, units_of

BOUNCES = 8
"""Most reflections of an atom in one step."""


@dataclass(frozen=True)
class DriveFunctions:
    """Device functions of drives."""

    kinds: DriveKinds  # what they are compiled for
    members: DeviceFunction  # bits of the rows that act on an atom
    # (i, members, step, atoms, d): force on an atom, and 1 if it is where no energy is defined
    pull: DeviceFunction
    # counts the work of an atom at a step; (arrives, leaves) whether a step ends and begins there
    work: DeviceFunction
    add_centre: DeviceFunction  # counts a position of the centres of mass
    settle: DeviceFunction  # a row's force on its centre, serial
    dragged: DeviceFunction  # velocity after friction
    placed: DeviceFunction  # position after walls and motions; velocities go to the array
    measure: DeviceFunction  # counts energy and force of an atom
    rows_of: DeviceFunction  # number of rows


def drive_functions(kinds: DriveKinds, real: Any, by_slot: bool) -> DriveFunctions:
    """Device functions of drives of these kinds."""
    stride = 2 if kinds.batch else 1
    of_energy = energy_functions(kinds)
    pulled, spring, time_of, place_of, number, kind_of, timing_of = (
        of_energy.pulled,
        of_energy.spring,
        of_energy.time_of,
        of_energy.place_of,
        of_energy.number,
        of_energy.kind_of,
        of_energy.timing_of,
    )
    has_moves = of.MOVE in kinds.kinds

    @ti.func
    def rows_of(d: ti.template()):
        number = kinds.rows
        if ti.static(kinds.rows == 0):
            number = d.sums.shape[0] // (of.SUMS * of.SLOTS)
        return number

    @ti.func
    def members(atom, d: ti.template()):
        """Bits of the rows that act on an atom."""
        bits = (ti.cast(1, ti.i64) << rows_of(d)) - 1
        if ti.static(not kinds.everyone):
            bits = d.numbers[of.HEAD + of.NUMBERS * rows_of(d) + stride * atom]
        return bits

    @ti.func
    def first_of(atom, d: ti.template()):
        """The first row of the system of an atom."""
        first = 0
        if ti.static(kinds.batch):
            first = ti.cast(d.numbers[of.HEAD + of.NUMBERS * rows_of(d) + stride * atom + 1], ti.i32)
        return first

    @in_double
    def meets_wall(x, time, d: ti.template()):
        """Whether x is within the cutoff of a wall, or behind one. Reads nothing of the atom."""
        found, row = 0, 0
        # The compiler would unroll a loop without a second way out, which takes registers of all atoms.
        while row < rows_of(d) and found == 0:
            if of_energy.distance(row, x, time, d) < d.values[of_energy.at(row, of.CUTOFF)]:
                found = 1
            row += 1
        return found

    @ti.func
    def count(i, n, row, k: ti.template(), value, d: ti.template()):
        slot = i % of.SLOTS
        if ti.static(not by_slot):
            slot = ti.cast(ti.cast(i, ti.i64) * of.SLOTS // n, ti.i32)
        units = units_of(value)
        if units != 0:
            ti.atomic_add(d.sums[(row * of.SUMS + k) * of.SLOTS + slot], units)

    @ti.func
    def total(row, k, bits: ti.template(), d: ti.template()):
        """Sum k of a row, whose slots are then empty."""
        found = ti.cast(0, ti.i64)
        for a in range(of.SLOTS):
            at = (row * of.SUMS + k) * of.SLOTS + a
            found += d.sums[at]
            d.sums[at] = ti.cast(0, ti.i64)
        return ti.cast(found, ti.f64) * ti.cast(2.0**-bits, ti.f64)

    @ti.func
    def mass_of(inverse_mass):
        return 1.0 / ti.max(ti.cast(inverse_mass, ti.f64), 1e-30)

    @in_double
    def pull(i, bits, step, atoms: ti.template(), d: ti.template()):
        """Force on an atom; the fourth number is 1 if no energy is defined where it is."""
        force = ti.Vector([0.0, 0.0, 0.0, 0.0])
        where, time = ti.cast(atoms.pos[i], ti.f64), time_of(step, d)
        left, row, atom, mass = bits, 0, 0, 0.0
        if ti.static(kinds.by_place):
            left = ti.cast(meets_wall(where, time, d), ti.i64)
        if left != 0:
            atom, mass = atoms.ident[i], mass_of(atoms.inverse_mass[i])
            row = first_of(atom, d)
            if ti.static(kinds.by_place):
                left = members(atom, d)
        while left != 0:
            if left & 1 == 1:
                one = pulled(row, atom, where, mass, time, d)
                for a in ti.static(range(3)):
                    force[a] += one[a]
                if ti.static(kinds.fails):
                    if one[4] > 0.0:
                        force[3] = 1.0
                        ti.atomic_min(d.sums[d.sums.shape[0] - 1], ti.cast(atoms.ident[i], ti.i64))
            left >>= 1
            row += 1
        return force

    @in_double
    def work(
        i, n, atom, x, f, inverse_mass, step, arrives: ti.template(), leaves: ti.template(), d: ti.template()
    ):
        left, row = members(atom, d), first_of(atom, d)
        where, mass = ti.cast(x, ti.f64), mass_of(inverse_mass)
        while left != 0:
            if left & 1 == 1:
                kind = kind_of(row, d)
                if ti.static(of.MOVE in kinds.kinds):
                    if kind == of.MOVE:
                        against = 0.0
                        for a in ti.static(range(3)):
                            against -= ti.cast(f[a], ti.f64) * d.values[of_energy.at(row, of.VELOCITY + a)]
                        half = 0.5 * d.values[of.TIMESTEP] * against
                        if ti.static(arrives):
                            count(i, n, row, of.WORK, half, d)
                        if ti.static(leaves):
                            count(i, n, row, of.WORK, half, d)
                timed = ti.cast(timing_of(row, d) != of.CONSTANT, ti.i32)
                if timed == 1 and kind != of.MOVE and kind != of.REFLECT and kind != of.CENTRE:
                    now = pulled(row, atom, where, mass, time_of(step, d), d)[3]
                    if ti.static(arrives):
                        before = pulled(row, atom, where, mass, time_of(step - 1, d), d)[3]
                        count(i, n, row, of.WORK, 0.5 * (now - before), d)
                    if ti.static(leaves):
                        after = pulled(row, atom, where, mass, time_of(step + 1, d), d)[3]
                        count(i, n, row, of.WORK, 0.5 * (after - now), d)
            left >>= 1
            row += 1

    @in_double
    def add_centre(i, n, atom, x, inverse_mass, d: ti.template()):
        left, row = members(atom, d), first_of(atom, d)
        slot = i % of.SLOTS
        if ti.static(not by_slot):
            slot = ti.cast(ti.cast(i, ti.i64) * of.SLOTS // n, ti.i32)
        while left != 0:
            if left & 1 == 1:
                if kind_of(row, d) == of.CENTRE:
                    share = d.values[of_energy.at(row, of.SCALE)] * mass_of(inverse_mass)
                    for a in ti.static(range(3)):
                        part = ti.floor(share * ti.cast(x[a], ti.f64) * 2.0**of.CENTRE_BITS + 0.5)
                        at = (row * of.SUMS + ti.static(of.OF_CENTRE + a)) * of.SLOTS + slot
                        ti.atomic_add(d.sums[at], ti.cast(part, ti.i64))
            left >>= 1
            row += 1

    @in_double
    def end_of(row, time, d: ti.template()):
        """The point that the spring of a centre of mass goes to."""
        return ti.Vector(
            [
                d.values[of_energy.at(row, of.POINT + a)]
                + d.values[of_energy.at(row, of.VELOCITY + a)] * time
                for a in ti.static(range(3))
            ]
        )

    @in_double
    def centre(row, d: ti.template()):
        """The centre of mass of a row, not folded."""
        found = ti.Vector([0.0, 0.0, 0.0])
        for a in ti.static(range(3)):
            found[a] = (
                total(row, of.OF_CENTRE + a, of.CENTRE_BITS, d) + d.values[of_energy.at(row, of.OFFSET + a)]
            )
        return found

    @in_double
    def settle(
        row, step, summed: ti.template(), arrives: ti.template(), leaves: ti.template(), d: ti.template()
    ):
        """The force on a centre of mass. Serial. The first row of a spring does the second one."""
        if kind_of(row, d) == of.CENTRE and number(row, of.TABLE_LENGTH, d) >= 0:
            x = ti.Vector([0.0, 0.0, 0.0])
            joined = number(row, of.TABLE_LENGTH, d)
            if ti.static(summed):
                x = centre(row, d)
                for a in ti.static(range(3)):
                    # Kept, for the begin of the next run.
                    d.values[of_energy.at(row, of.KEPT + a)] = x[a]
            else:
                for a in ti.static(range(3)):
                    x[a] = d.values[of_energy.at(row, of.KEPT + a)]
            time = time_of(step, d)
            end = end_of(row, time, d)
            if ti.static(summed):
                if joined == 1:
                    end = centre(row + 1, d)
            now = spring(row, x - end, d)
            if ti.static(summed):
                for a in ti.static(range(3)):
                    d.values[of_energy.at(row, of.FORCE + a)] = now[a]
                    if joined == 1:
                        d.values[of_energy.at(row + 1, of.FORCE + a)] = -now[a]
                d.values[of_energy.at(row, of.ENERGY)] = now[3]
            if timing_of(row, d) != of.CONSTANT:
                mine = row * of.SUMS * of.SLOTS + of.WORK * of.SLOTS
                if ti.static(arrives):
                    before = spring(row, x - end_of(row, time_of(step - 1, d), d), d)
                    d.sums[mine] += units_of(0.5 * (now[3] - before[3]))
                if ti.static(leaves):
                    after = spring(row, x - end_of(row, time_of(step + 1, d), d), d)
                    d.sums[mine] += units_of(0.5 * (after[3] - now[3]))

    @in_double
    def dragged(i, n, v, atom, inverse_mass, d: ti.template()):
        left, row = members(atom, d), first_of(atom, d)
        new = v
        while left != 0:
            if left & 1 == 1:
                if kind_of(row, d) == of.DRAG:
                    slower = ti.cast(d.values[of_energy.at(row, of.FACTOR)], real) * new
                    count(
                        i,
                        n,
                        row,
                        of.WORK,
                        kinetic_energy(slower, inverse_mass) - kinetic_energy(new, inverse_mass),
                        d,
                    )
                    new = slower
            left >>= 1
            row += 1
        return new

    @in_double
    def placed(i, n, x, step, atoms: ti.template(), d: ti.template()):
        """Where the drift to a step ends: before a wall that reflects, or where a group has moved to."""
        where, time, again = x, time_of(step, d), 1
        if ti.static(not (has_moves or kinds.batch)):
            again = meets_wall(ti.cast(x, ti.f64), time, d)
        # What a loop reads is read before the loop, hence a branch around it.
        if again == 1:
            atom, bounces, energy = atoms.ident[i], 0, 0.0
            if ti.static(of.REFLECT in kinds.kinds):
                energy = kinetic_energy(atoms.vel[i], atoms.inverse_mass[i])
            while again == 1 and bounces < BOUNCES:
                left, row = members(atom, d), first_of(atom, d)
                again = 0
                bounces += 1
                while left != 0:
                    if left & 1 == 1:
                        kind = kind_of(row, d)
                        if ti.static(of.MOVE in kinds.kinds):
                            if kind == of.MOVE:
                                block = number(row, of.BLOCK, d) + 3 * atom
                                for a in ti.static(range(3)):
                                    speed = d.values[of_energy.at(row, of.VELOCITY + a)]
                                    where[a] = ti.cast(d.values[block + a] + speed * time, real)
                        if ti.static(of.REFLECT in kinds.kinds):
                            if kind == of.REFLECT:
                                normal = of_energy.vector(row, of.VECTOR, d)
                                behind = of_energy.distance(row, ti.cast(where, ti.f64), time, d)
                                if behind < 0.0:
                                    again = 1
                                    where = ti.cast(ti.cast(where, ti.f64) - 2.0 * behind * normal, real)
                                    old = ti.cast(atoms.vel[i], ti.f64)
                                    jump = -2.0 * (normal.dot(old) - place_of(row, time, d)[1])
                                    atoms.vel[i] = ti.cast(old + jump * normal, real)
                                    now = kinetic_energy(atoms.vel[i], atoms.inverse_mass[i])
                                    count(i, n, row, of.WORK, now - energy, d)
                                    count(i, n, row, of.IMPULSE, jump * mass_of(atoms.inverse_mass[i]), d)
                                    energy = now
                    left >>= 1
                    row += 1
        return where

    @in_double
    def measure(i, n, atom, x, f, inverse_mass, step, d: ti.template()):
        left, row, time = members(atom, d), first_of(atom, d), time_of(step, d)
        where, mass = ti.cast(x, ti.f64), mass_of(inverse_mass)
        while left != 0:
            if left & 1 == 1:
                one = pulled(row, atom, where, mass, time, d)
                if ti.static(of.MOVE in kinds.kinds):
                    if kind_of(row, d) == of.MOVE:
                        for a in ti.static(range(3)):
                            one[a] = -ti.cast(f[a], ti.f64)
                count(i, n, row, of.REACTION, one[3], d)
                for a in ti.static(range(3)):
                    count(i, n, row, ti.static(of.REACTION + 1 + a), -one[a], d)
            left >>= 1
            row += 1

    return DriveFunctions(kinds, members, pull, work, add_centre, settle, dragged, placed, measure, rows_of)
