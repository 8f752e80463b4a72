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

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.math import sqrt
from taichimd.core.runtime import in_double, ti
from taichimd.neighbours.control import CONTROL, REBUILD, STALE
from taichimd.program.variant import Reach, System
from taichimd.system.state import Atoms

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


class Minimisation(Bundle):
    """What a minimisation keeps on the device, and its bounds."""

    pieces: Any = Number("i32", "pieces of atoms")
    width: Any = Number("i32", "pieces of a group")
    groups: Any = Number("i32", "groups of pieces")
    most_steps: Any = Number("i32", "steps allowed")
    most_force2: Any = Number("f64", "largest squared force that counts as none, eV^2/angstrom^2")
    sorted_of: Any = Array("i32", "n", "place of each user's number")
    fixed: Any = Array("i32", "n", "1 where an atom keeps its place, by the user's numbers")
    deform: Any = Array("f64", "27", "f before, what takes old positions to new ones, f now")
    sums: Any = Array("f64", "SUMS (pieces + groups)", "room for the sums over atoms")
    fire: Any = Array("f64", "FIRE_SIZE", "see above")
    tally: Any = Array("i32", "TALLY_SIZE", "see above")


class CellPart(Bundle):
    """The cell's part of the sums."""

    power: Any = Number("f64", "of F.v")
    speed2: Any = Number("f64", "of v.v")
    force2: Any = Number("f64", "of F.F")
    done: Any = Number("i32", "1 where its stress counts as none")


@cache
def fire_kernels(real: Any, near_list: bool, deforming: bool, blocks: int) -> Any:
    """The kernels `plan` and `move`.

    Args:
        real: ti.f64 or ti.f32, of the atoms; sums and decisions are float64.
        near_list: whether the force loops read a near list.
        deforming: whether the cell moves, too.
        blocks: most blocks of a CUDA grid, as for `step_kernels`: kernels of different grids are different ones.
    """
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
    def decide(total, cell_done, most_steps, most_force2, fire: ti.template(), tally: ti.template()):
        """Time step, mixing and factors of this step, or why there is none. Serial."""
        power, speed2, force2, largest2 = total[0], total[1], total[2], total[3]
        fire[LARGEST2] = largest2
        fire[POWER] = power
        if not (force2 + speed2 < 1e300):
            tally[STATUS] = NOT_FINITE
        elif largest2 <= most_force2 and cell_done == 1:
            tally[STATUS] = CONVERGED
        elif tally[STEPS] >= most_steps:
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

    @kernel(types_of(real), atoms=Atoms.only("n", "vel", "force"), control=CONTROL, m=Minimisation, cell=CellPart)  # fmt: skip
    def plan(atoms, control, m, cell):
        """Sums over atoms, then the decision. Launch: one thread per PIECE atoms."""
        # A copy, because `move` may ask for a rebuild while some of its threads have still to look.
        m.tally[GO] = 1 if control[REBUILD] == 0 and m.tally[STATUS] == RUNNING else 0
        for b in range(m.pieces):
            if m.tally[GO] == 1:
                total = ti.Vector.zero(ti.f64, SUMS)
                for k in range(b * PIECE, ti.min(atoms.n, b * PIECE + PIECE)):
                    if m.fixed[k] == 0:
                        i = m.sorted_of[k]
                        v = ti.cast(atoms.vel[i], ti.f64)
                        f = ti.cast(atoms.force[i], ti.f64)
                        total[3] = ti.max(total[3], f.dot(f))
                        if ti.static(deforming):
                            f = pull(i, atoms.force, m.deform)
                        total[0] += f.dot(v)
                        total[1] += v.dot(v)
                        total[2] += f.dot(f)
                for c in ti.static(range(SUMS)):
                    m.sums[SUMS * b + c] = total[c]
        for g in range(m.groups):
            if m.tally[GO] == 1:
                total = ti.Vector.zero(ti.f64, SUMS)
                for b in range(g * m.width, ti.min(m.pieces, (g + 1) * m.width)):
                    for c in ti.static(range(3)):
                        total[c] += m.sums[SUMS * b + c]
                    total[3] = ti.max(total[3], m.sums[SUMS * b + 3])
                for c in ti.static(range(SUMS)):
                    m.sums[SUMS * (m.pieces + g) + c] = total[c]
        if m.tally[GO] == 1:
            total = ti.Vector([cell.power, cell.speed2, cell.force2, ti.cast(0, ti.f64)], dt=ti.f64)
            for g in range(m.groups):
                for c in ti.static(range(3)):
                    total[c] += m.sums[SUMS * (m.pieces + g) + c]
                total[3] = ti.max(total[3], m.sums[SUMS * (m.pieces + g) + 3])
            decide(total, cell.done, m.most_steps, m.most_force2, m.fire, m.tally)

    @kernel(types_of(real), system=System.only("listed_at", "control", atoms=Atoms.only("n", "pos", "vel", "force", "ident"), reach=Reach.only("most_near2")), m=Minimisation.only("fixed", "deform", "fire", "tally"), most_move=Number("f64", "angstrom"))  # fmt: skip
    def move(system, m, most_move):
        """New velocities and positions; flags a list that the move outdates. Launch: one thread per atom."""
        atoms = system.atoms
        for i in range(atoms.n):
            if m.tally[GO] == 1:
                shift = ti.Vector.zero(ti.f64, 3)
                if m.fixed[atoms.ident[i]] == 0:
                    old = ti.cast(atoms.vel[i], ti.f64)
                    v = m.fire[KEEP] * old + m.fire[PUSH] * pull(i, atoms.force, m.deform)
                    shift = m.fire[DT] * v - m.fire[BACK] * old
                    length2 = shift.dot(shift)
                    if length2 > most_move * most_move:
                        part = most_move / sqrt(length2)
                        shift = part * shift
                        v = part * v
                    atoms.vel[i] = ti.cast(v, real)
                x = ti.cast(atoms.pos[i], ti.f64)
                if ti.static(deforming):
                    x = times(x, m.deform, 9) + times(shift, m.deform, 18)
                else:
                    x = x + shift
                atoms.pos[i] = ti.cast(x, real)
                gone = atoms.pos[i] - system.listed_at[i]
                # A comparison with NaN is false, hence the `not`.
                if not gone.dot(gone) <= system.reach.most_near2:
                    system.control[outdated] = 1

    return SimpleNamespace(plan=plan, move=move)
