"""Energies and forces of the rows of drives: device functions of a position and a time."""

from dataclasses import dataclass

from taichimd.core.math import sin
from taichimd.core.runtime import DeviceFunction, in_double, ti
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.arrays import DriveKinds


@dataclass(frozen=True)
class EnergyFunctions:
    """Device functions of rows."""

    pulled: DeviceFunction  # force on an atom, its energy, and 1 if none is defined there
    spring: DeviceFunction  # force and energy of a vector
    time_of: DeviceFunction  # of a step
    place_of: DeviceFunction  # a wall's place and velocity along its normal
    distance: DeviceFunction  # of a position from the wall of a row
    kind_of: DeviceFunction  # kind of a row
    timing_of: DeviceFunction  # timing of a row
    number: DeviceFunction  # a whole number of a row
    at: DeviceFunction  # where a value of a row stands
    vector: DeviceFunction  # three of them


def energy_functions(kinds: DriveKinds) -> EnergyFunctions:
    """Device functions of the kinds that there are."""
    some = {*kinds.kinds}
    walls, indenters = some & {*of.WALLS}, some & {*of.INDENTERS}
    has_powers, has_walls, has_indenters = kinds.fails, bool(walls), bool(indenters)
    walls_move = bool({*kinds.timings} - {of.CONSTANT})

    @ti.func
    def at(row, k):
        return of.VALUES_HEAD + of.ROW * row + k

    @ti.func
    def number(row, k: ti.template(), d: ti.template()):
        return ti.cast(d.numbers[of.HEAD + of.NUMBERS * row + k], ti.i32)

    def number_among(k, all_of):
        """Whole number k of a row, which is not read if it is the same in all rows."""
        first = all_of[0]

        @ti.func
        def found(row, d: ti.template()):
            one = first
            if ti.static(len(all_of) > 1):
                one = number(row, k, d)
            return one

        return found

    kind_of = number_among(of.KIND, kinds.kinds)
    weight_of = number_among(of.WEIGHT, kinds.weights)
    timing_of = number_among(of.TIMING, kinds.timings)

    @ti.func
    def vector(row, k: ti.template(), d: ti.template()):
        return ti.Vector([d.values[at(row, k + a)] for a in ti.static(range(3))])

    @in_double
    def time_of(step, d: ti.template()):
        steps = ti.cast(ti.cast(step, ti.i64) - d.numbers[of.STEP_ORIGIN], ti.f64)
        return d.values[of.TIME_ORIGIN] + steps * d.values[of.TIMESTEP]

    @in_double
    def turns_of(row, time, d: ti.template()):
        """Phase of a sine, between 0 and 2 pi."""
        turns = time * d.values[at(row, of.FREQUENCY)] + d.values[at(row, of.PHASE)]
        return 6.283185307179586 * (turns - ti.floor(turns))

    @in_double
    def place_of(row, time, d: ti.template()):
        """Where a wall is along its normal, and its velocity."""
        place, speed = d.values[at(row, of.PLACE)], d.values[at(row, of.SPEED)]
        if ti.static(walls_move):
            place += speed * time
        if ti.static(of.SINE in kinds.timings):
            swing = d.values[at(row, of.SWING)]
            if swing != 0.0:
                phase = turns_of(row, time, d)
                place += swing * sin(phase)
                quarter = phase + 1.5707963267948966
                speed += swing * 6.283185307179586 * d.values[at(row, of.FREQUENCY)] * sin(quarter)
        return ti.Vector([place, speed])

    @in_double
    def distance(row, x, time, d: ti.template()):
        """From the wall of a row to x, along the normal."""
        return vector(row, of.VECTOR, d).dot(x) - place_of(row, time, d)[0]

    @in_double
    def amplitude(row, time, d: ti.template()):
        """A force of time."""
        found = vector(row, of.VECTOR, d)
        timing = timing_of(row, d)
        if ti.static(of.SINE in kinds.timings):
            if timing == of.SINE:
                found = sin(turns_of(row, time, d)) * found
        if ti.static(of.TABULATED in kinds.timings):
            if timing == of.TABULATED:
                first, lines = number(row, of.TABLE, d), number(row, of.TABLE_LENGTH, d)
                low, high = 0, lines - 1
                while high - low > 1:
                    middle = (low + high) // 2
                    if d.values[first + 4 * middle] <= time:
                        low = middle
                    else:
                        high = middle
                begin, end = d.values[first + 4 * low], d.values[first + 4 * high]
                part = ti.min(ti.max((time - begin) / (end - begin), 0.0), 1.0)
                for a in ti.static(range(3)):
                    one, other = d.values[first + 4 * low + 1 + a], d.values[first + 4 * high + 1 + a]
                    found[a] = one + part * (other - one)
        return found

    @in_double
    def spring(row, gap, d: ti.template()):
        """Force and energy of a spring whose ends differ by a vector."""
        found = ti.Vector([0.0, 0.0, 0.0, 0.0])
        rest = d.values[at(row, of.LENGTH)]
        if rest > 0.0:
            k, r = d.values[at(row, of.STRENGTH)], ti.sqrt(gap.dot(gap))
            found[3] = 0.5 * k * (r - rest) * (r - rest)
            if r > 0.0:
                for a in ti.static(range(3)):
                    found[a] = -k * (r - rest) / r * gap[a]
        else:
            for a in ti.static(range(3)):
                k = d.values[at(row, of.VECTOR + a)]
                found[a] = -k * gap[a]
                found[3] += 0.5 * k * gap[a] * gap[a]
        return found

    @in_double
    def of_wall(row, kind, x, time, d: ti.template()):
        """Force along the normal, energy, and 1 behind a wall that has no energy there."""
        normal, r = vector(row, of.VECTOR, d), distance(row, x, time, d)
        strength, size, cut = (
            d.values[at(row, of.STRENGTH)],
            d.values[at(row, of.LENGTH)],
            d.values[at(row, of.CUTOFF)],
        )
        found = ti.Vector([0.0, 0.0, 0.0, 0.0, 0.0])
        push, energy = 0.0, 0.0
        if r < cut:
            if ti.static(of.HARMONIC in walls):
                if kind == of.HARMONIC:
                    push = strength * (cut - r)
                    energy = 0.5 * strength * (cut - r) * (cut - r)
            if ti.static(has_powers):
                if kind != of.HARMONIC:
                    if r > 0.0:
                        s = size / r
                        s3 = s * s * s
                        if kind == of.LJ93:
                            nine = s3 * s3 * s3
                            energy = strength * (2.0 / 15.0 * nine - s3)
                            push = strength * (1.2 * nine - 3.0 * s3) / r
                        else:
                            six = s3 * s3
                            energy = 4.0 * strength * (six * six - six)
                            push = 4.0 * strength * (12.0 * six * six - 6.0 * six) / r
                        energy -= d.values[at(row, of.SHIFT)]
                    else:
                        found[4] = 1.0
        for a in ti.static(range(3)):
            found[a] = push * normal[a]
        found[3] = energy
        return found

    @in_double
    def of_indenter(row, kind, x, time, d: ti.template()):
        """Force and energy of an indenter."""
        gap = x - vector(row, of.POINT, d) - time * vector(row, of.VELOCITY, d)
        for b in ti.static(range(3)):
            if d.values[at(row, of.PERIODIC + b)] > 0.0:
                part = 0.0
                for a in ti.static(range(3)):
                    part += gap[a] * d.values[at(row, of.INVERSE + 3 * a + b)]
                images = ti.floor(part + 0.5)
                for a in ti.static(range(3)):
                    gap[a] -= images * d.values[at(row, of.CELL + 3 * b + a)]
        axis = vector(row, of.VECTOR, d)
        depth, size = 0.0, 1.0
        outward = axis
        if kind == of.PLANE:
            depth = -gap.dot(axis)
        else:
            flat = gap - gap.dot(axis) * axis
            r = ti.sqrt(flat.dot(flat))
            depth = d.values[at(row, of.LENGTH)] - r
            outward = flat
            size = ti.max(r, 1e-300)
        found = ti.Vector([0.0, 0.0, 0.0, 0.0, 0.0])
        if depth > 0.0:
            k = d.values[at(row, of.STRENGTH)]
            found[3] = k / 3.0 * depth * depth * depth
            for a in ti.static(range(3)):
                found[a] = k * depth * depth * (outward[a] / size)
        return found

    @in_double
    def pulled(row, atom, x, mass, time, d: ti.template()):
        """Force on an atom at x, its energy, and 1 where no energy is defined."""
        found = ti.Vector([0.0, 0.0, 0.0, 0.0, 0.0])
        kind = kind_of(row, d)
        if ti.static(of.LINEAR in some):
            if kind == of.LINEAR:
                weight, of_what = d.values[at(row, of.SCALE)], weight_of(row, d)
                if ti.static(of.BY_MASS in kinds.weights):
                    if of_what == of.BY_MASS:
                        weight *= mass
                if ti.static(of.BY_BLOCK in kinds.weights):
                    if of_what == of.BY_BLOCK:
                        weight *= d.values[number(row, of.BLOCK, d) + atom]
                force = amplitude(row, time, d)
                for a in ti.static(range(3)):
                    found[a] = weight * force[a]
                    found[3] -= found[a] * x[a]
        if ti.static(of.OWN in some):
            if kind == of.OWN:
                factor = 1.0
                if ti.static(of.SINE in kinds.timings):
                    if timing_of(row, d) == of.SINE:
                        factor = sin(turns_of(row, time, d))
                for a in ti.static(range(3)):
                    found[a] = factor * d.values[number(row, of.BLOCK, d) + 3 * atom + a]
                    found[3] -= found[a] * x[a]
        if ti.static(of.CENTRE in some):
            if kind == of.CENTRE:
                share = mass * d.values[at(row, of.SCALE)]
                for a in ti.static(range(3)):
                    found[a] = share * d.values[at(row, of.FORCE + a)]
        if ti.static(of.TETHER in some):
            if kind == of.TETHER:
                gap = x - time * vector(row, of.VELOCITY, d)
                block = number(row, of.BLOCK, d) + 3 * atom
                for a in ti.static(range(3)):
                    gap[a] -= d.values[block + a]
                one = spring(row, gap, d)
                for a in ti.static(range(4)):
                    found[a] = one[a]
        if ti.static(has_walls):
            if kind >= of.HARMONIC and kind <= of.LJ126:
                found = of_wall(row, kind, x, time, d)
        if ti.static(has_indenters):
            if kind >= of.SPHERE and kind <= of.PLANE:
                found = of_indenter(row, kind, x, time, d)
        return found

    return EnergyFunctions(
        pulled, spring, time_of, place_of, distance, kind_of, timing_of, number, at, vector
    )
