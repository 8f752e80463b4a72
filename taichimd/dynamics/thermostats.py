"""Thermostats on the device, for the places that `verlet` has for them.

Langevin is local. Between the half kicks of a step its drift is half a drift (A), friction and noise (O),
half a drift, instead of one drift:

    v' = c v + sqrt((1 - c^2) k T / m) R,    c = exp(-dt/tau)

The others multiply all velocities by one number at the end of each step, when the velocities belong to the
same time as the positions. Applied over dt after the step and not over dt/2 on both sides of it: the two are
conjugate, so they sample alike, and there is one sum over atoms a step. With K the kinetic energy, N_f its
degrees of freedom, K' = N_f k T/2:

- Berendsen: s^2 = 1 + (dt/tau) (K'/K - 1).
- Bussi: s^2 = c + (1 - c) (K'/(N_f K)) (R_1^2 + S) + 2 R_1 sqrt(c (1 - c) K'/(N_f K)), c = exp(-dt/tau);
  S, the sum of N_f - 1 squared normals, is twice a gamma variate of shape (N_f - 1)/2. s has the sign of
  R_1 + sqrt(c N_f K/((1 - c) K')). (Bussi et al. 2007, eq. A7 and A8.)
- Nose-Hoover chain: s = exp(-dt v_1), with v_1 from the chain's own equations, split as in G. J. Martyna,
  M. E. Tuckerman, D. J. Tobias, M. L. Klein, Mol. Phys. 87, 1117 (1996), in parts as short as they must be.

The sum over atoms has no order: each kinetic energy is rounded to a multiple of 2^-36 eV and added as an
integer. So a factor has the same bits on any number of threads. Noise depends on seed, user's atom number and
step alone; a step that is not done draws none and moves no thermostat.

Every ensemble keeps account of the energy that the bath has received; total energy plus that is conserved
but for the error of velocity Verlet (Bussi et al. 2007, eq. 15; for Nose-Hoover it is the extended energy).
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Number, kernel, types_of
from taichimd.dynamics.bath_arrays import BathArrays
from taichimd.dynamics.ensembles import Bussi, NoseHoover
from taichimd.math import exp, log, sqrt
from taichimd.philox import GLOBAL
from taichimd.random import normal2, normal3, uniform2
from taichimd.runtime import WARPS, in_double, ti
from taichimd.state import LEAST_INVERSE_MASS, Atoms
from taichimd.streams import LANGEVIN, VELOCITY_RESCALING

# The array `ledger`, of whole numbers.
SEED, FIRST, OPENS, SLOT = range(4)
"""Seed of the noise; the run's first step; the step from which the first drift of a pass leads away: interval k
goes from step k to k + 1, has the noise of number k and the bath of step k + 1. From SLOT on,
partial sums of energies in units of 2^-ENERGY_BITS eV: of Langevin what the bath has given since ever (the
host adds them up), of the others the kinetic energy of one step; of barostats several sums."""
SLOTS = 64
"""Sums that run side by side, so that atoms do not wait for each other."""
WARP_SLOTS = 16
"""Of them those in use where the threads of a warp add up first: fewer for one thread to collect."""
ENERGY_BITS = 36
"""Sums of up to 2^27 eV; a larger energy of one atom counts as 2^26 eV: that run is about to be stopped."""
_ATTEMPTS = 60
"""Of which each succeeds with more than 95 %: the last is never reached."""

# The array `bath`, of float64.
(
    START, END, RAMP_FIRST, RAMP_STEPS, COUPLING, FREEDOM, MASS_KT, KEPT, NOISE, FACTOR, TOTAL_MASS, RECEIVED, WORK,
    CHAIN,
) = range(14)  # fmt: skip
"""k T (eV) before and after a ramp, its first step and length; coupling time (internal units); degrees of
freedom; k T in the masses of a chain; c and sqrt(1 - c^2) of Langevin; factor of the velocities; mass of all atoms;
energy that the bath has received (eV); of a chain: the part of it that is not its kinetic energy, and its
velocities. Behind them driving force (1/angstrom) and velocity of the centre of mass, three numbers each."""
CHAIN_LENGTH = 3
DRIVE = CHAIN + CHAIN_LENGTH
CENTRE = DRIVE + 3
BATH_SIZE = CENTRE + 3
STATE = slice(RECEIVED, CHAIN + CHAIN_LENGTH)
"""What changes from step to step, and belongs in a checkpoint."""

_MOST_PARTS, _PARTS_PER_RATE = 2500, 40.0
"""Parts of a time step in which a chain is followed: one at the usual coupling times. Far from the bath's temperature the
second thermostat of a large system runs sqrt(N) times faster than the first, and a step needs some hundred parts until it is
calm. All parts are positive: the negative ones of splittings of higher order explode there."""


@ti.func
def along_ramp(step, start: ti.template(), end: ti.template(), bath: ti.template()):
    """A value that goes linearly from one number of the bath to another."""
    part = (ti.cast(step, ti.f64) - bath[RAMP_FIRST]) / bath[RAMP_STEPS]
    part = ti.min(ti.max(part, 0.0), 1.0)
    return bath[start] + part * (bath[end] - bath[start])


@ti.func
def target(step, bath: ti.template()):
    """K T of the bath at a step, eV."""
    return along_ramp(step, START, END, bath)


@ti.func
def _units(energy):
    """An energy (eV, float64) as a whole number of units of 2^-ENERGY_BITS eV."""
    largest = 2.0**26
    return ti.cast(ti.floor(ti.min(ti.max(energy, -largest), largest) * 2.0**ENERGY_BITS + 0.5), ti.i64)


@ti.func
def _kinetic(v, inverse_mass):
    w = ti.cast(v, ti.f64)
    return 0.5 * w.dot(w) / ti.max(ti.cast(inverse_mass, ti.f64), LEAST_INVERSE_MASS)


@ti.func
def _gamma(shape, seed, step):
    """Gamma variate of scale 1, shape >= 1: G. Marsaglia, W. W. Tsang, ACM Trans. Math. Softw. 26, 363 (2000).

    Attempt k takes its normal from block 2k + 1 and its uniform number from block 2k + 2.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    found = d
    searching = 1
    for k in range(_ATTEMPTS):
        if searching == 1:
            x, _ = normal2(seed, GLOBAL, step, VELOCITY_RESCALING, 2 * k + 1)
            u, _ = uniform2(seed, GLOBAL, step, VELOCITY_RESCALING, 2 * k + 2)
            root = 1.0 + c * x
            if root > 0.0:
                cube = root * root * root
                if log(u) < 0.5 * x * x + d - d * cube + d * log(cube):
                    found = d * cube
                    searching = 0
    return found


@ti.func
def _chain_force(k: ti.template(), twice_kinetic, kt, bath: ti.template()):
    """Acceleration of thermostat k: what drives it in excess of its share, over its mass."""
    heavy = bath[MASS_KT] * bath[COUPLING] * bath[COUPLING]
    force = 0.0
    if ti.static(k == 0):
        force = (twice_kinetic - bath[FREEDOM] * kt) / (bath[FREEDOM] * heavy)
    elif ti.static(k == 1):
        force = (bath[FREEDOM] * heavy * bath[CHAIN] * bath[CHAIN] - kt) / heavy
    else:
        force = (heavy * bath[CHAIN + k - 1] * bath[CHAIN + k - 1] - kt) / heavy
    return force


@ti.func
def _pull(k: ti.template(), time, twice_kinetic, kt, bath: ti.template()):
    """Velocity of thermostat k over a time, slowed by the next one."""
    force = _chain_force(k, twice_kinetic, kt, bath)
    if ti.static(k == CHAIN_LENGTH - 1):
        bath[CHAIN + k] += time * force
    else:
        slow = exp(-0.5 * time * bath[CHAIN + k + 1])
        bath[CHAIN + k] = (bath[CHAIN + k] * slow + time * force) * slow


@ti.func
def _fastest(twice_kinetic, kt, bath: ti.template()):
    """Rate (inverse time) at which the chain changes, from its velocities and accelerations."""
    rate, growing = 0.0, 0.0
    for k in ti.static(range(CHAIN_LENGTH)):
        rate = ti.max(rate, ti.abs(bath[CHAIN + k]))
        growing = ti.max(growing, ti.abs(_chain_force(k, twice_kinetic, kt, bath)))
    return ti.max(rate, sqrt(growing))


@ti.func
def _chain(kinetic, kt, dt, bath: ti.template()):
    """The chain over dt; returns the factor of the velocities."""
    twice = 2.0 * kinetic
    factor = 1.0 + 0.0 * kt
    left = 1.0 * dt
    done = 0
    while left > 0.0:
        part = 1.0 / (_PARTS_PER_RATE * _fastest(twice, kt, bath))
        done += 1
        if not part < left * (1.0 - 1e-9) or done == _MOST_PARTS:
            part = left
        left -= part
        for k in ti.static(range(CHAIN_LENGTH - 1, -1, -1)):
            _pull(k, 0.5 * part, twice, kt, bath)
        slow = exp(-part * bath[CHAIN])
        factor *= slow
        twice *= slow * slow
        share = bath[FREEDOM] * bath[CHAIN]
        for k in ti.static(range(1, CHAIN_LENGTH)):
            share += bath[CHAIN + k]
        bath[WORK] += part * kt * share
        for k in ti.static(range(CHAIN_LENGTH)):
            _pull(k, 0.5 * part, twice, kt, bath)
    heavy = bath[MASS_KT] * bath[COUPLING] * bath[COUPLING]
    moving = bath[FREEDOM] * bath[CHAIN] * bath[CHAIN]
    for k in ti.static(range(1, CHAIN_LENGTH)):
        moving += bath[CHAIN + k] * bath[CHAIN + k]
    bath[RECEIVED] = bath[WORK] + 0.5 * heavy * moving
    return factor


@ti.func
def _bussi(kinetic, kt, dt, seed, interval, bath: ti.template()):
    """Factor of stochastic velocity rescaling."""
    freedom = bath[FREEDOM]
    c = exp(-dt / bath[COUPLING])
    normal, _ = normal2(seed, GLOBAL, interval, VELOCITY_RESCALING, 0)
    others = 2.0 * _gamma(0.5 * (freedom - 1.0), seed, interval)
    ratio = 0.5 * kt / kinetic  # K'/(N_f K)
    square = c + (1.0 - c) * ratio * (normal * normal + others) + 2.0 * normal * sqrt(c * (1.0 - c) * ratio)
    factor = sqrt(ti.max(square, 0.0))
    if normal + sqrt(c / ((1.0 - c) * ratio)) < 0.0:
        factor = -factor
    return factor


CLOSE_STEP = {
    "atoms": Atoms.only("vel", "inverse_mass"),
    "bath": BathArrays,
    "n": Number("i32", "number of atoms; 0: only compile"),
    "dt": Number("real", "time step"),
    "interval": Number("i64", "number of the interval between steps"),
}
"""Arguments of `close_step`."""


@cache
def thermostat_functions(name: str, real: Any, by_slot: bool, driven: bool = False) -> Any:
    """Device functions of one ensemble; those that it does not need are never called.

    Args:
        name: of the ensemble.
        real: ti.f64 or ti.f32, of the atoms; thermostats that act on the whole system are float64.
        by_slot: whether neighbouring threads have neighbouring atoms (CUDA).
        driven: whether a driving force moves the centre of mass, which is to rest.
    """
    chain, bussi = name == NoseHoover.name, name == Bussi.name
    in_warps = by_slot and WARPS
    used = WARP_SLOTS if in_warps else SLOTS

    @ti.func
    def count(i, n, k: ti.template(), energy, ledger: ti.template()):
        """Add to sum k in the slot of an atom: lanes of a warp, or threads of a CPU, have different ones."""
        units = _units(energy)
        mine = i % used
        adds = True
        if ti.static(not by_slot):
            mine = ti.cast(ti.cast(i, ti.i64) * SLOTS // n, ti.i32)
        elif ti.static(in_warps):
            # All threads of a warp come here, but those beyond the last atom.
            if i // 32 * 32 + 32 <= n:
                units = ti.simt.subgroup.reduce_add_tiled(units, 5)
                mine = i // 32 % used
                adds = i % 32 == 0
        if adds:
            ti.atomic_add(ledger[SLOT + k * SLOTS + mine], units)

    @ti.func
    def add_kinetic(i, n, v, inverse_mass, ledger: ti.template()):
        count(i, n, 0, _kinetic(v, inverse_mass), ledger)
        if ti.static(driven):
            for a in ti.static(range(3)):
                count(i, n, 1 + a, ti.cast(v[a], ti.f64) / ti.cast(inverse_mass, ti.f64), ledger)

    @ti.func
    def empty_slots(k, ledger: ti.template()):
        """Sum k, whose slots are then empty."""
        total = ti.cast(0, ti.i64)
        for a in ti.static(range(8)):
            for b in ti.static(range(used // 8)):  # unrolled: the reads go out together
                total += ledger[SLOT + k * SLOTS + a * (used // 8) + b]
        for a in range(used):
            ledger[SLOT + k * SLOTS + a] = ti.cast(0, ti.i64)
        return total

    @in_double
    def prepare(dt, ledger: ti.template(), bath: ti.template()):
        """Friction and noise of Langevin for a time step. Serial."""
        c = exp(-ti.cast(dt, ti.f64) / bath[COUPLING])
        bath[KEPT] = c
        bath[NOISE] = sqrt(1.0 - c * c)

    @ti.func
    def refresh(i, n, v, interval, atom, inverse_mass, ledger: ti.template(), bath: ti.template()):
        """Friction and noise on one atom (O): its new velocity."""
        noise = normal3(ledger[SEED], atom, interval, LANGEVIN)
        kt = ti.cast(target(interval + 1, bath), real)
        new = (
            ti.cast(bath[KEPT], real) * v + (ti.cast(bath[NOISE], real) * ti.sqrt(kt * inverse_mass)) * noise
        )
        count(i, n, 0, _kinetic(v, inverse_mass) - _kinetic(new, inverse_mass), ledger)
        return new

    @ti.func
    def factor(kinetic, kt, time, interval, ledger: ti.template(), bath: ti.template()):
        """Factor of the velocities over a time; keeps account of what the bath receives. All float64."""
        found = 1.0 + 0.0 * kt
        # Atoms at rest have nothing to scale: they stay at rest until forces move them.
        if kinetic > 0.0:
            if ti.static(chain):
                found = _chain(kinetic, kt, time, bath)
            elif ti.static(bussi):
                found = _bussi(kinetic, kt, time, ledger[SEED], interval, bath)
            else:
                ratio = 0.5 * bath[FREEDOM] * kt / kinetic
                found = sqrt(ti.max(1.0 + time / bath[COUPLING] * (ratio - 1.0), 0.0))
            if ti.static(not chain):
                bath[RECEIVED] += kinetic * (1.0 - found * found)
        return found

    @in_double
    def rescale(dt, interval, ledger: ti.template(), bath: ti.template()):
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

        Z. Fan, H. Dong, A. Harju, T. Ala-Nissila, Phys. Rev. B 99, 064308 (2019), doi:10.1103/PhysRevB.99.064308,
        eq. 8, without its term of the atom's energy: convection, which solids do not have.
        """
        pull = ti.Vector([ti.cast(bath[DRIVE + a], real) for a in ti.static(range(3))])
        return ti.cast(virial, real).transpose() @ pull

    @ti.func
    def strayed(x, listed_at, most2, near: ti.template(), bath: ti.template()):
        """Whether an atom is farther than sqrt(most2) from where a list was made."""
        gone = x - listed_at
        far = 0
        # Written so that a position that is not a number has strayed, too.
        if not gone.dot(gone) <= most2:
            far = 1
        return far

    @ti.func
    def rescaled(v, bath: ti.template()):
        new = v
        if ti.static(driven):
            for a in ti.static(range(3)):
                new[a] -= ti.cast(bath[CENTRE + a], real)
        return ti.cast(bath[FACTOR], real) * new

    @kernel(types_of(real), **CLOSE_STEP)
    def close_step(atoms, bath, n, dt, interval):
        """What `steps` does between its half kicks, for the last step of a run. Launch: one thread per atom."""
        for i in range(n):
            add_kinetic(i, n, atoms.vel[i], atoms.inverse_mass[i], bath.ledger)
        if n > 0:
            rescale(dt, interval, bath.ledger, bath.bath)
        for i in range(n):
            atoms.vel[i] = rescaled(atoms.vel[i], bath.bath)

    return SimpleNamespace(
        prepare=prepare,
        refresh=refresh,
        count=count,
        empty_slots=empty_slots,
        add_kinetic=add_kinetic,
        factor=factor,
        drive=drive,
        rescale=rescale,
        rescaled=rescaled,
        strayed=strayed,
        close_step=close_step,
    )
