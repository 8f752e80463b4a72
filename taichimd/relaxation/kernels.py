"""FIRE on the device: `plan` adds up and decides, `move` moves. Neither does anything with an outdated list.

The algorithm is FIRE 2.0 (J. Guenole et al., Comput. Mater. Sci. 175, 109584 (2020),
doi:10.1016/j.commatsci.2020.109584), semi-implicit Euler, of unit masses. With P = F.v over all degrees of
freedom:

    P > 0:   dt and alpha as long as they are, after DELAY such steps dt <- min(1.1 dt, most), alpha <- 0.99 alpha
    P <= 0:  dt <- dt/2, alpha <- 0.25, x <- x - dt v/2, v <- 0
    v <- v + dt F,  v <- (1 - alpha) v + alpha F |v|/|F|,  x <- x + dt v

E. Bitzek, P. Koskinen, F. Gahler, M. Moseler, P. Gumbsch, Phys. Rev. Lett. 97, 170201 (2006) is the first one.
No atom moves further than a given length in a step; what is cut off the step is cut off its velocity, too.

Sums run in the order of the user's atom numbers, in pieces whose bounds depend on their number alone: the same
bits whatever the spatial sort or the threads.

A cell that relaxes has its own degrees of freedom on the host (`cell`): here they are three more terms in the
sums, and positions follow x = X F. Velocities are those of X; the force on X is f F (F is symmetric).
"""

from functools import cache
from math import isqrt
from types import SimpleNamespace
from typing import Any

from taichimd.core.math import sqrt
from taichimd.core.runtime import in_double, ti
from taichimd.neighbours.control import REBUILD, STALE

# The array `tally`, of whole numbers.
STATUS, STEPS, DOWNHILL, GO = range(4)
"""What became of it; steps done; steps since the last one uphill; whether this call does anything."""
TALLY_SIZE = 4
RUNNING, CONVERGED, OUT_OF_STEPS, NOT_FINITE = range(4)

# The array `fire`, of float64.
DT, ALPHA, KEEP, PUSH, BACK, LARGEST2, POWER = range(7)
"""Time step; mixing; factors of v and F in the new velocity; time to go back; largest squared force on an atom
(eV^2/angstrom^2); F.v."""
FIRE_SIZE = 7

FIRST_DT = 0.1
"""Angstrom/sqrt(eV): for unit masses and a stiffness k (eV/angstrom^2) a step must be shorter than 2/sqrt(k)."""
MOST_DT, LEAST_DT = 10.0 * FIRST_DT, 0.02 * FIRST_DT
FIRST_ALPHA = 0.25
DELAY = 20
SUMS = 4
"""F.v, v.v, F.F and the largest force^2 of one atom."""
PIECE = 32
"""Atoms that one thread adds up, one after the other."""


def pieces_of(n: int) -> tuple[int, int, int]:
    """Pieces of n atoms; pieces in a group; groups."""
    pieces = -(-n // PIECE)
    width = isqrt(pieces - 1) + 1
    return pieces, width, -(-pieces // width)


@cache
def fire_kernels(real: Any, near_list: bool, deforming: bool, blocks: int) -> Any:
    """The kernels `plan` and `move`.

    Args:
        real: ti.f64 or ti.f32, of the atoms; sums and decisions are float64.
        near_list: whether the force loops read a near list.
        deforming: whether the cell moves, too.
        blocks: most blocks of a CUDA grid, as for `step_kernels`: kernels of different grids are different ones.
    """
    vec = ti.types.vector(3, real)
    vecs: Any = ti.types.ndarray(dtype=vec, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    doubles: Any = ti.types.ndarray(dtype=ti.f64, ndim=1)
    outdated = STALE if near_list else REBUILD

    @ti.func
    def times(v, deform: ti.template(), first: ti.template()):
        """The row vector v times the matrix that begins at `first`."""
        out = ti.Vector.zero(ti.f64, 3)
        for c in ti.static(range(3)):
            for a in ti.static(range(3)):
                out[c] += v[a] * deform[first + 3 * a + c]
        return out

    @ti.func
    def pull(i, force: ti.template(), deform: ti.template()):
        """Force on X, float64."""
        f = ti.cast(force[i], ti.f64)
        if ti.static(deforming):
            f = times(f, deform, 0)
        return f

    @in_double
    def decide(total, steps_allowed, most_force2, cell_done, fire: ti.template(), tally: ti.template()):
        """Time step, mixing and factors of this step, or why there is none. Serial."""
        power, speed2, force2, largest2 = total[0], total[1], total[2], total[3]
        fire[LARGEST2] = largest2
        fire[POWER] = power
        if not (force2 + speed2 < 1e300):
            tally[STATUS] = NOT_FINITE
        elif largest2 <= most_force2 and cell_done == 1:
            tally[STATUS] = CONVERGED
        elif tally[STEPS] >= steps_allowed:
            tally[STATUS] = OUT_OF_STEPS
        if tally[STATUS] != RUNNING:
            tally[GO] = 0
        else:
            fire[BACK] = 0.0
            rate2 = 0.0
            kept = 0.0
            if power > 0.0:
                tally[DOWNHILL] += 1
                if tally[DOWNHILL] > DELAY:
                    fire[DT] = ti.min(1.1 * fire[DT], MOST_DT)
                    fire[ALPHA] = 0.99 * fire[ALPHA]
                kept = 1.0
                rate2 = speed2 + 2.0 * fire[DT] * power
            else:
                tally[DOWNHILL] = 0
                # Steps uphill at the start are no sign of too long a step.
                if tally[STEPS] >= DELAY:
                    fire[DT] = ti.max(0.5 * fire[DT], LEAST_DT)
                fire[ALPHA] = FIRST_ALPHA
                fire[BACK] = 0.5 * fire[DT]
            dt = fire[DT]
            rate2 += dt * dt * force2
            ratio = 0.0
            if force2 > 0.0:
                ratio = sqrt(rate2 / force2)
            fire[KEEP] = kept * (1.0 - fire[ALPHA])
            fire[PUSH] = (1.0 - fire[ALPHA]) * dt + fire[ALPHA] * ratio
            tally[STEPS] += 1

    @ti.kernel
    def plan(n: ti.i32, pieces: ti.i32, width: ti.i32, groups: ti.i32, steps_allowed: ti.i32, most_force2: ti.f64, cell_power: ti.f64, cell_speed2: ti.f64, cell_force2: ti.f64, cell_done: ti.i32, vel: vecs, force: vecs, sorted_of: ints, fixed: ints, deform: doubles, control: ints, sums: doubles, fire: doubles, tally: ints):  # fmt: skip
        """Sums over atoms, then the decision. Launch: one thread per PIECE atoms."""
        # A copy, because `move` may ask for a rebuild while some of its threads have still to look.
        tally[GO] = 1 if control[REBUILD] == 0 and tally[STATUS] == RUNNING else 0
        for b in range(pieces):
            if tally[GO] == 1:
                total = ti.Vector.zero(ti.f64, SUMS)
                for k in range(b * PIECE, ti.min(n, b * PIECE + PIECE)):
                    if fixed[k] == 0:
                        i = sorted_of[k]
                        v = ti.cast(vel[i], ti.f64)
                        f = ti.cast(force[i], ti.f64)
                        total[3] = ti.max(total[3], f.dot(f))
                        if ti.static(deforming):
                            f = pull(i, force, deform)
                        total[0] += f.dot(v)
                        total[1] += v.dot(v)
                        total[2] += f.dot(f)
                for c in ti.static(range(SUMS)):
                    sums[SUMS * b + c] = total[c]
        for g in range(groups):
            if tally[GO] == 1:
                total = ti.Vector.zero(ti.f64, SUMS)
                for b in range(g * width, ti.min(pieces, (g + 1) * width)):
                    for c in ti.static(range(3)):
                        total[c] += sums[SUMS * b + c]
                    total[3] = ti.max(total[3], sums[SUMS * b + 3])
                for c in ti.static(range(SUMS)):
                    sums[SUMS * (pieces + g) + c] = total[c]
        if tally[GO] == 1:
            total = ti.Vector([cell_power, cell_speed2, cell_force2, ti.cast(0, ti.f64)], dt=ti.f64)
            for g in range(groups):
                for c in ti.static(range(3)):
                    total[c] += sums[SUMS * (pieces + g) + c]
                total[3] = ti.max(total[3], sums[SUMS * (pieces + g) + 3])
            decide(total, steps_allowed, most_force2, cell_done, fire, tally)

    @ti.kernel
    def move(n: ti.i32, most_move: ti.f64, most_near2: real, pos: vecs, vel: vecs, force: vecs, ident: ints, fixed: ints, listed_at: vecs, deform: doubles, control: ints, fire: doubles, tally: ints):  # fmt: skip
        """New velocities and positions; flags a list that the move outdates. Launch: one thread per atom."""
        for i in range(n):
            if tally[GO] == 1:
                shift = ti.Vector.zero(ti.f64, 3)
                if fixed[ident[i]] == 0:
                    old = ti.cast(vel[i], ti.f64)
                    v = fire[KEEP] * old + fire[PUSH] * pull(i, force, deform)
                    shift = fire[DT] * v - fire[BACK] * old
                    length2 = shift.dot(shift)
                    if length2 > most_move * most_move:
                        part = most_move / sqrt(length2)
                        shift = part * shift
                        v = part * v
                    vel[i] = ti.cast(v, real)
                x = ti.cast(pos[i], ti.f64)
                if ti.static(deforming):
                    x = times(x, deform, 9) + times(shift, deform, 18)
                else:
                    x = x + shift
                pos[i] = ti.cast(x, real)
                gone = pos[i] - listed_at[i]
                # A comparison with NaN is false, hence the `not`.
                if not gone.dot(gone) <= most_near2:
                    control[outdated] = 1

    return SimpleNamespace(plan=plan, move=move)
