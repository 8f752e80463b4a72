"""Barostats on the device: what turns stresses into a deformation of cell and atoms, each time they act.

At the end of a step, with velocities and positions of the same time, the sums K = sum_i m v (x) v and W = sum_i W_i
give the pressure P = (K + W)/V. From it follow a matrix A for the velocities, v <- v A, and a deformation for the
drift of the next step, x <- x B + dt v C, h <- h B with the cell vectors in the rows of h. Forces are always those
of the present positions. With p the wanted pressure, r = beta/(3 tau), R symmetric noise of unit variance
on the diagonal and half of it beside:

- Berendsen: B = 1 + r dt (P - p), A = s, C = B, s the thermostat's factor.
- Stochastic cell rescaling: B = exp(e), e = r dt (P - p) + sqrt(2 r dt kT/V) R, A = s exp(-e), C = B. (Bernetti
  and Bussi 2020; Del Tatto et al. 2022, with the rotation taken out.) There is no term kT/V beside P: K has 3N - 3
  degrees of freedom, and with it the volume would be that of one atom more than in the next ensemble.
  It gives the atoms the work W:e, taken as the mean of W before and behind the deformation; the step behind an action is
  one more in which W is summed, for that alone.
- Martyna-Tobias-Klein: with the cell velocity u (symmetric), M = (N_f + 3) k T tau^2/3 and
  G = K + W - V p + tr(K)/N_f: half of u' = G/M; half of v' = -(u + tr(u)/N_f) v; thermostat of the atoms, and friction and noise
  on u; the two halves in reverse. Then B = exp(u dt), C = (exp(u dt) - 1)/(u dt).
  With 3N - 3 degrees of freedom it samples V^(N-1) exp(-(U + p V)/kT), with F fixed atoms V^(N-F) exp(-(U + p V)/kT).
  (M. E. Tuckerman et al., J. Phys. A 39, 5629 (2006), doi:10.1088/0305-4470/39/19/S18, with the halves on both
  sides of a step's boundary made one, as for thermostats.)

What may change is a projection of these tensors: their mean over the controlled axes, their diagonal, or all of
them. Cells do not rotate, because all of them are symmetric. Fixed atoms have v = 0 and follow x <- x B: they keep
their places in the cell (fractional coordinates), so W is that of all atoms, and K that of the free ones.

The lists learn of the deformation since they were made, F = 1 + E: pairs farther apart than reach are still beyond
(1 - |E|) reach - 2 u, if no atom is farther than u from where the deformation alone would have brought it.
"""

from functools import cache
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Number, kernel, types_of
from taichimd.dynamics import thermostats as th
from taichimd.dynamics.bath_arrays import BathArrays
from taichimd.dynamics.matrices import contracted, grown, read3, series, square, write3
from taichimd.dynamics.pressure import BerendsenNPT, MartynaTobiasKlein, StochasticCellRescaling
from taichimd.dynamics.thermostats import CLOSE_STEP
from taichimd.enumerate.exact import SIX
from taichimd.math import exp, sqrt
from taichimd.philox import GLOBAL
from taichimd.random import normal2
from taichimd.runtime import in_double, ti
from taichimd.state import LEAST_INVERSE_MASS
from taichimd.streams import CELL

# The array `bath` goes on behind what thermostats hold.
(
    P_START, P_END, RATE, CELL_TIME, MOST_IMAGE, REACH_NEAR, REACH_BUILT, LOST_NEAR, LOST_BUILT, STRAIN_NEAR, STRAIN_BUILT,
    VELOCITY_SCALE, CELL_VECTORS, STRETCH, DRIFT, AHEAD, CELL_VELOCITY, BATH_SIZE,
) = accumulate((3, 3, 1, 1, 2, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 1, 9), initial=th.BATH_SIZE)  # fmt: skip
"""Wanted pressure before and after a ramp (eV/angstrom^3), beta/(3 tau), tau; the largest image of the lists along the
second and the third vector, how far the near and the Verlet list reach (angstrom), E since they were made; A;
h (angstrom), B - 1, C, u or, of stochastic cell rescaling, the last e. AHEAD: what must be added to the energy received (eV):
that between the two halves of the cell's kick less that behind them, or work that atoms are yet to get, half of it."""
STATE = slice(CELL_VECTORS, BATH_SIZE)
"""What changes from step to step, and belongs in a checkpoint."""
MOST_STRETCH = 0.05
"""Largest change of the cell in a step: beyond, the run is stopped."""
RAN_AWAY = -1
"""In the control array's BLOWN, where an atom's number would be: the cell changed too fast."""


def parts_of(control: str, axes: str) -> int:
    """Components of each tensor that have to be summed: its trace, its diagonal, or all six."""
    if control == "triclinic":
        return 6
    return 1 if control == "isotropic" and len(axes) == 3 else 3


def settles(name: str, period: int) -> bool:
    """Whether the step behind an action sums the virial, too, to know the work that the deformation has done."""
    return name == StochasticCellRescaling.name and period > 1


@cache
def barostat_functions(name: str, control: str, axes: str, period: int, real: Any, by_slot: bool) -> Any:
    """Device functions of one barostat, with the names that those of thermostats have, and some more.

    Args:
        name: of the ensemble.
        control: isotropic, orthorhombic or triclinic.
        axes: those controlled.
        period: steps between two actions.
        real: ti.f64 or ti.f32, of the atoms; cells are float64.
        by_slot: whether neighbouring threads have neighbouring atoms (CUDA).
    """
    berendsen, second_order = name == BerendsenNPT.name, name == MartynaTobiasKlein.name
    isotropic, triclinic = control == "isotropic", control == "triclinic"
    parts = parts_of(control, axes)
    atoms = th.thermostat_functions("nvt-berendsen" if berendsen else "nvt-bussi", real, by_slot)
    totals = th.SLOT + 2 * parts * th.SLOTS

    @ti.func
    def project(m):
        """What of a tensor the cell may follow."""
        out = 0.5 * (m + m.transpose())
        if ti.static(not triclinic):
            mean = 0.0 * m[0, 0]
            for a in ti.static(range(3)):
                if ti.static("xyz"[a] in axes):
                    mean += m[a, a] / ti.static(len(axes))
            for a in ti.static(range(3)):
                for c in ti.static(range(3)):
                    if ti.static(a != c or "xyz"[a] not in axes):
                        out[a, c] = 0.0 * m[a, c]
                    elif ti.static(isotropic):
                        out[a, c] = mean
        return out

    @ti.func
    def component(m: ti.template(), k: ti.template()):
        value = 0.0 * m[0, 0]
        if ti.static(parts == 1):
            value = m[0, 0] + m[1, 1] + m[2, 2]
        else:
            a, c = ti.static(SIX[k])
            value = 0.5 * (m[a, c] + m[c, a])
        return value

    @ti.func
    def add_kinetic(i, n, v, inverse_mass, ledger: ti.template()):
        w = ti.cast(v, ti.f64)
        twice = w.outer_product(w) / ti.max(ti.cast(inverse_mass, ti.f64), LEAST_INVERSE_MASS)
        for k in ti.static(range(parts)):
            atoms.count(i, n, k, component(twice, k), ledger)

    @ti.func
    def add_components(i, n, w, ledger: ti.template()):
        """The virial of an atom, by the components that are summed."""
        for k in ti.static(range(parts)):
            atoms.count(i, n, parts + k, ti.cast(w[k], ti.f64), ledger)

    @ti.func
    def add_virial(i, n, w, ledger: ti.template()):
        """The virial of an atom, a 3x3 matrix."""
        for k in ti.static(range(parts)):
            atoms.count(i, n, parts + k, ti.cast(component(w, k), ti.f64), ledger)

    @ti.func
    def due(step):
        """Whether the barostat acts at the end of a step, and moves the cell in the drift after it."""
        return ti.cast(step % period == 0, ti.i32)

    @ti.func
    def until_due(step):
        """Steps from this one on before one that ends with sums: of an action, or behind one."""
        left = -step % period
        if ti.static(settles(name, period)):
            left = ti.min(left, (1 - step) % period)
        return ti.cast(left, ti.i32)

    @ti.func
    def collect(k, ledger: ti.template()):
        """Total of one component."""
        ledger[totals + k] = atoms.empty_slots(k, ledger)

    @ti.func
    def tensor(first: ti.template(), ledger: ti.template()):
        found = ti.Matrix.zero(ti.f64, 3, 3)
        for k in ti.static(range(parts)):
            value = ti.cast(ledger[totals + first + k], ti.f64) * 2.0**-th.ENERGY_BITS
            if ti.static(parts == 1):
                for a in ti.static(range(3)):
                    found[a, a] = value / 3.0
            else:
                a, c = ti.static(SIX[k])
                found[a, c] = value
                found[c, a] = value
        return found

    @ti.func
    def noise(seed, interval, first: ti.template()):
        """A symmetric matrix of normals: variance 1 on the diagonal, 1/2 beside it."""
        one, two = normal2(seed, GLOBAL, interval, CELL, first)
        three, four = normal2(seed, GLOBAL, interval, CELL, first + 1)
        five, six = normal2(seed, GLOBAL, interval, CELL, first + 2)
        off = ti.sqrt(ti.cast(0.5, ti.f64))
        return ti.Matrix(
            [[one, off * six, off * five], [off * six, two, off * four], [off * five, off * four, three]]
        )

    @ti.func
    def first_order(
        twice, virial, volume, wanted, kt, time, interval, ledger: ti.template(), bath: ti.template()
    ):
        """A and B of a barostat without inertia."""
        one = ti.Matrix.identity(ti.f64, 3)
        factor = atoms.factor(0.5 * twice.trace(), kt, time, interval, ledger, bath)
        twice *= factor * factor
        scale, stretch = one, one
        strain = project((twice + virial) / volume - wanted) * (bath[RATE] * time)
        if ti.static(berendsen):
            scale = one * factor
            stretch = one + strain
        else:
            strain += project(noise(ledger[th.SEED], interval, 0)) * sqrt(
                2.0 * bath[RATE] * time * kt / volume
            )
            scale = series(-strain, 0)
            work = 0.5 * contracted(virial, strain)
            bath[th.RECEIVED] += 0.5 * (twice.trace() - (scale @ twice @ scale).trace()) + work
            bath[AHEAD] = -work
            write3(bath, CELL_VELOCITY, strain)
            scale *= factor
            stretch = series(strain, 0)
        return scale, stretch

    @in_double
    def rescale(dt, interval, ledger: ti.template(), bath: ti.template()):
        """A, B, C and u or e from the totals. Serial."""
        if ti.static(parts == 1):
            for k in ti.static(range(2)):
                collect(k, ledger)
        time = ti.cast(dt, ti.f64) * ti.static(float(period))
        kt = th.target(interval + 1, bath)
        twice, virial = tensor(0, ledger), tensor(parts, ledger)
        volume = ti.abs(read3(bath, CELL_VECTORS).determinant())
        one = ti.Matrix.identity(ti.f64, 3)
        wanted = ti.Matrix.zero(ti.f64, 3, 3)
        for a in ti.static(range(3)):
            wanted[a, a] = th.along_ramp(interval + 1, P_START + a, P_END + a, bath)
        scale, stretch, drift = one, one, one
        if ti.static(second_order):
            freedom = bath[th.FREEDOM]
            mass = (freedom + 3.0) * bath[th.MASS_KT] * bath[CELL_TIME] * bath[CELL_TIME] / 3.0
            u = read3(bath, CELL_VELOCITY)
            # What the cell did against the pressure in the drift that is over: the integral of V p:u.
            done = 0.0 * volume
            for a in ti.static(range(3)):
                before = th.along_ramp(interval, P_START + a, P_END + a, bath)
                done += 0.5 * (before + wanted[a, a]) * u[a, a] * time
            bath[th.RECEIVED] += done * volume * grown(-u.trace() * time)
            u += project(twice + virial - volume * wanted + (twice.trace() / freedom) * one) * (
                0.5 * time / mass
            )
            first = series((u + (u.trace() / freedom) * one) * (-0.5 * time), 0)
            twice = first.transpose() @ twice @ first
            factor = atoms.factor(0.5 * twice.trace(), kt, time, interval, ledger, bath)
            twice *= factor * factor
            kept = exp(-time / bath[CELL_TIME])
            before = square(u)
            u = kept * u + project(noise(ledger[th.SEED], interval, 0)) * sqrt(
                (1.0 - kept * kept) * kt / mass
            )
            bath[th.RECEIVED] += 0.5 * mass * (before - square(u))
            # The step is symmetric about this place: only here the error of the energy is of second order.
            middle = 0.5 * (twice.trace() + mass * square(u))
            second = series((u + (u.trace() / freedom) * one) * (-0.5 * time), 0)
            twice = second.transpose() @ twice @ second
            u += project(twice + virial - volume * wanted + (twice.trace() / freedom) * one) * (
                0.5 * time / mass
            )
            write3(bath, CELL_VELOCITY, u)
            bath[AHEAD] = middle - 0.5 * (twice.trace() + mass * square(u))
            scale = first @ second * factor
            stretch, drift = series(u * time, 0), series(u * time, 1)
        else:
            acts = 1
            if ti.static(not berendsen):
                # Half of the last deformation's work, which the virial behind it says.
                bath[th.RECEIVED] += 0.5 * contracted(virial, read3(bath, CELL_VELOCITY))
                bath[AHEAD] = 0.0
                write3(bath, CELL_VELOCITY, 0.0 * one)
            if ti.static(settles(name, period)):
                acts = due(interval + 1)
            if acts == 1:
                scale, stretch = first_order(twice, virial, volume, wanted, kt, time, interval, ledger, bath)
            drift = stretch
        write3(bath, VELOCITY_SCALE, scale)
        write3(bath, STRETCH, stretch - one)
        write3(bath, DRIFT, drift)

    @in_double
    def deform(bath: ti.template()):
        """Cell and strains of the drift that follows; whether it is fit to be done. Serial."""
        extra = read3(bath, STRETCH)
        for at in ti.static((CELL_VECTORS, STRAIN_NEAR, STRAIN_BUILT)):
            m = read3(bath, at)
            m += m @ extra
            if ti.static(at != CELL_VECTORS):
                m += extra
            write3(bath, at, m)
            if ti.static(at == STRAIN_NEAR):
                bath[LOST_NEAR] = 0.5 * bath[REACH_NEAR] * ti.sqrt(square(m))
            elif ti.static(at == STRAIN_BUILT):
                bath[LOST_BUILT] = 0.5 * bath[REACH_BUILT] * ti.sqrt(square(m))
        fit = 1
        if not square(extra) <= MOST_STRETCH * MOST_STRETCH:
            fit = 0
        return fit

    @ti.func
    def rescaled(v, bath: ti.template()):
        return ti.cast(read3(bath, VELOCITY_SCALE), real).transpose() @ v

    @ti.func
    def drifted(x, move, bath: ti.template()):
        """By how much a position changes that would move so far in a cell at rest; and the move in this one."""
        by = ti.cast(read3(bath, DRIFT), real) @ move
        return ti.cast(read3(bath, STRETCH), real) @ x + by, by

    @ti.func
    def strayed(x, listed_at, most2, near: ti.template(), bath: ti.template()):
        """Whether an atom is too far from where the deformation of the cell would have brought it."""
        strain = read3(bath, STRAIN_NEAR if ti.static(near) else STRAIN_BUILT)
        gone = ti.cast(x - listed_at, ti.f64) - strain.transpose() @ ti.cast(listed_at, ti.f64)
        most = ti.sqrt(ti.cast(most2, ti.f64)) - bath[LOST_NEAR if ti.static(near) else LOST_BUILT]
        far = 0
        if not (most > 0.0 and gone.dot(gone) <= most * most):
            far = 1
        return far

    @ti.func
    def forget_near(bath: ti.template()):
        """The near list was cut: no strain since."""
        bath[LOST_NEAR] = 0.0
        write3(bath, STRAIN_NEAR, ti.Matrix.zero(ti.f64, 3, 3))

    @ti.func
    def forget_built(bath: ti.template()):
        """The Verlet list was built: no strain since."""
        bath[LOST_BUILT] = 0.0
        write3(bath, STRAIN_BUILT, ti.Matrix.zero(ti.f64, 3, 3))

    @in_double
    def lay_out(grid: ti.template(), bins, reach, radius2, bath: ti.template()):
        """Put the present cell into the grid of the neighbour search; 0 if its bins have become too narrow. Serial."""
        h = read3(bath, CELL_VECTORS)
        inverse = h.inverse()
        wide = 1
        for a in ti.static(range(3)):
            across2 = 0.0
            for c in ti.static(range(3)):
                grid[a][c] = ti.cast(h[a, c], real)
                grid[3 + a][c] = ti.cast(inverse[a, c], real)
                across2 += inverse[c, a] * inverse[c, a]
            # The cell's height along this axis is 1/sqrt(across2).
            far = reach[a] / ti.cast(bins[a], ti.f64)
            if not far * far >= ti.cast(radius2, ti.f64) * across2:
                wide = 0
        return wide

    @ti.func
    def shift(i, n, shift_bits, shifts: ti.template(), bath: ti.template()):
        """Vectors of the images for the present cell: those that are atom i's to renew."""
        codes = 1 << shift_bits
        my, mz = ti.cast(bath[MOST_IMAGE], ti.i32), ti.cast(bath[MOST_IMAGE + 1], ti.i32)
        cell = read3(bath, CELL_VECTORS)
        code = i
        while code < codes:
            # Codes are linear in the image, and modulo 2^shift_bits.
            left = code - codes if code >= codes // 2 else code
            z = (left + mz) % (2 * mz + 1) - mz
            left = (left - z) // (2 * mz + 1)
            y = (left + my) % (2 * my + 1) - my
            x = (left - y) // (2 * my + 1)
            for a in ti.static(range(3)):
                # Term by term, as the host does it: T and -T are exact negatives of each other.
                total = ti.cast(x, ti.f64) * cell[0, a] + ti.cast(y, ti.f64) * cell[1, a]
                shifts[code][a] = ti.cast(total + ti.cast(z, ti.f64) * cell[2, a], real)
            code += n

    @kernel(types_of(real), **CLOSE_STEP)
    def close_step(atoms, bath, n, dt, interval):
        """What `steps` does between its half kicks, for the last step of a run, whose virial is summed."""
        for i in range(n):
            add_kinetic(i, n, atoms.vel[i], atoms.inverse_mass[i], bath.ledger)
        if ti.static(parts > 1):
            for k in range(2 * parts):
                collect(k, bath.ledger)
        if n > 0:
            rescale(dt, interval, bath.ledger, bath.bath)
        for i in range(n):
            atoms.vel[i] = rescaled(atoms.vel[i], bath.bath)

    length = Number("f64", "angstrom")
    image = Number("f64", "whole number")

    @kernel(types_of(real), near=length, built=length, my=image, mz=image, arrays=BathArrays.only("bath"))
    def listed(near, built, my, mz, arrays):
        """New lists that reach so far (angstrom), with images so far along the second and third vector."""
        forget_near(arrays.bath)
        forget_built(arrays.bath)
        arrays.bath[REACH_NEAR], arrays.bath[REACH_BUILT] = near, built
        arrays.bath[MOST_IMAGE], arrays.bath[MOST_IMAGE + 1] = my, mz

    return SimpleNamespace(
        parts=parts, add_kinetic=add_kinetic, add_virial=add_virial, add_components=add_components,
        due=due, until_due=until_due, collect=collect, rescale=rescale, rescaled=rescaled, deform=deform, drifted=drifted, strayed=strayed,
        forget_near=forget_near, forget_built=forget_built, lay_out=lay_out, shift=shift, close_step=close_step, listed=listed,
    )  # fmt: skip
