"""FIRE on the device: `plan` adds up and decides, `move` moves. Neither does anything with an outdated list.

The algorithm is FIRE 2.0 (J. Guenole et al., Comput. Mater. Sci. 175, 109584 (2020),
doi:10.1016/j.commatsci.2020.109584), semi-implicit Euler, of unit masses. With P = F.v over all degrees of
freedom:

    P > 0:   dt and alpha stay; after DELAY such steps dt <- min(1.1 dt, most), alpha <- 0.99 alpha
    P <= 0:  dt <- dt/2, alpha <- 0.25, x <- x - dt v/2, v <- 0
    v <- v + dt F,  v <- (1 - alpha) v + alpha F |v|/|F|,  x <- x + dt v

E. Bitzek, P. Koskinen, F. Gahler, M. Moseler, P. Gumbsch, Phys. Rev. Lett. 97, 170201 (2006) is the first
one. No atom moves further than a given length in a step; what is cut off the step is cut off its velocity,
too.

Sums run in the order of the user's atom numbers, in pieces whose bounds depend on their number alone: the
same bits whatever the spatial sort or the threads.

A cell that relaxes has its own degrees of freedom on the host (`cell`): here they are three more terms in the
sums, and positions follow x = X F. Velocities are those of X; the force on X is f F (F is symmetric).

Systems of a batch have sums, time steps and decisions of their own; one that has ended stays where it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Kernel, Number, kernel, types_of
from taichimd.core.math import sqrt
from taichimd.core.runtime import in_double, ti
from taichimd.neighbours.control import CONTROL, Control
from taichimd.program.variant import Reach, SystemTables
from taichimd.system.state import Atoms

# For each system in the array `tally`, of whole numbers.
STATUS, STEPS, DOWNHILL, GO = range(4)
"""What became of it; steps done; steps since the last one uphill; whether this call does anything."""
TALLY_SIZE = 4
RUNNING, CONVERGED, OUT_OF_STEPS, NOT_FINITE = range(4)

# Likewise in the array `fire`, of float64.
DT, ALPHA, KEEP, PUSH, BACK, LARGEST2, POWER = range(7)
"""Time step; mixing; factors of v and F in the new velocity; time to go back; largest squared force on an
atom (eV^2/angstrom^2); F.v."""
FIRE_SIZE = 7

# Likewise in the array `deform`, of float64.
BEFORE, CARRY, NOW, CELL = 0, 9, 18, 27
"""F before; what takes old positions to new ones; F now; the cell's part of F.v, v.v, F.F, and 1 where its
stress is below the threshold."""
DEFORM_SIZE = 31

FIRST_DT = 0.1
"""In angstrom/sqrt(eV). For unit masses and stiffness k (eV/angstrom^2) a step must be below 2/sqrt(k)."""
MAX_DT, LEAST_DT = 10.0 * FIRST_DT, 0.02 * FIRST_DT
FIRST_ALPHA = 0.25
DELAY = 20
SUMS = 4
"""F.v, v.v, F.F and the largest force^2 of one atom."""
PIECE = 32
"""Atoms that one thread adds up, one after the other."""


def parts_of(sizes: Sequence[int]) -> tuple[NDArray[np.int32], int, int]:
    """How the atoms of each system are added up: atoms in pieces, pieces in groups, groups in order.

    (pieces + groups + systems, 3): of a piece its system, its first atom and the one behind it; of a group
    its system and likewise its pieces; of a system likewise its groups, and 0. Then pieces and groups.
    """
    pieces: list[tuple[int, int, int]] = []
    groups: list[tuple[int, int, int]] = []
    systems: list[tuple[int, int, int]] = []
    atom = 0
    for k, size in enumerate(sizes):
        first, end = len(pieces), atom + size
        pieces += [(k, b, min(b + PIECE, end)) for b in range(atom, end, PIECE)]
        width = isqrt(len(pieces) - first - 1) + 1
        begin, atom = len(groups), end
        groups += [(k, b, min(b + width, len(pieces))) for b in range(first, len(pieces), width)]
        systems.append((begin, len(groups), 0))
    return np.array([*pieces, *groups, *systems], np.int32), len(pieces), len(groups)


class Minimisation(Bundle):
    """What a minimisation keeps on the device, and its bounds."""

    systems: Any = Number("i32", "that are minimised")
    pieces: Any = Number("i32", "pieces of atoms")
    groups: Any = Number("i32", "groups of pieces")
    most_steps: Any = Number("i32", "steps allowed")
    most_force2: Any = Number("f64", "largest squared force of a relaxed structure, eV^2/angstrom^2")
    parts: Any = ArrayField("i32", "3 (pieces + groups + systems)", "see `parts_of`")
    sorted_of: Any = ArrayField("i32", "n", "place of each user's number")
    whose: Any = ArrayField("i32", "n", "system k of each user's number; -1 - k where it keeps its place")
    deform: Any = ArrayField("f64", "DEFORM_SIZE systems", "see above")
    sums: Any = ArrayField("f64", "SUMS (pieces + groups)", "room for the sums over atoms")
    fire: Any = ArrayField("f64", "FIRE_SIZE systems", "see above")
    tally: Any = ArrayField("i32", "TALLY_SIZE systems", "see above")


@dataclass(frozen=True)
class FireKernels:
    """Kernels of a step of FIRE."""

    plan: Kernel  # sums over atoms, time step and mixing of each system
    move: Kernel  # moves atoms


@cache
def fire_kernels(real: Any, near_list: bool, deforming: bool, blocks: int) -> FireKernels:
    """The kernels `plan` and `move`; sums and decisions are float64; `deforming`: the cell moves, too."""
    outdated = Control.stale if near_list else Control.rebuild

    @ti.func
    def times(v, deform: ti.template(), first):
        """The row vector v times the matrix that begins at `first`."""
        out = ti.Vector.zero(ti.f64, 3)
        for c in ti.static(range(3)):
            for a in ti.static(range(3)):
                out[c] += v[a] * deform[first + 3 * a + c]
        return out

    @ti.func
    def pull(i, k, force: ti.template(), deform: ti.template()):
        """Force on X of system k, float64."""
        f = ti.cast(force[i], ti.f64)
        if ti.static(deforming):
            f = times(f, deform, DEFORM_SIZE * k + BEFORE)
        return f

    @in_double
    def decide(k, total, cell_done, most_steps, most_force2, fire: ti.template(), tally: ti.template()):
        """Time step, mixing and factors of this step of system k, or why there is none. Serial."""
        of, at = FIRE_SIZE * k, TALLY_SIZE * k
        power, speed2, force2, largest2 = total[0], total[1], total[2], total[3]
        fire[of + LARGEST2] = largest2
        fire[of + POWER] = power
        if not (force2 + speed2 < 1e300):
            tally[at + STATUS] = NOT_FINITE
        elif largest2 <= most_force2 and cell_done > 0.0:
            tally[at + STATUS] = CONVERGED
        elif tally[at + STEPS] >= most_steps:
            tally[at + STATUS] = OUT_OF_STEPS
        if tally[at + STATUS] != RUNNING:
            tally[at + GO] = 0
        else:
            fire[of + BACK] = 0.0
            rate2 = 0.0
            kept = 0.0
            if power > 0.0:
                tally[at + DOWNHILL] = tally[at + DOWNHILL] + 1
                if tally[at + DOWNHILL] > DELAY:
                    fire[of + DT] = ti.min(1.1 * fire[of + DT], MAX_DT)
                    fire[of + ALPHA] = 0.99 * fire[of + ALPHA]
                kept = 1.0
                rate2 = speed2 + 2.0 * fire[of + DT] * power
            else:
                tally[at + DOWNHILL] = 0
                # Steps uphill at the start are no sign of too long a step.
                if tally[at + STEPS] >= DELAY:
                    fire[of + DT] = ti.max(0.5 * fire[of + DT], LEAST_DT)
                fire[of + ALPHA] = FIRST_ALPHA
                fire[of + BACK] = 0.5 * fire[of + DT]
            dt = fire[of + DT]
            rate2 += dt * dt * force2
            ratio = 0.0
            if force2 > 0.0:
                ratio = sqrt(rate2 / force2)
            fire[of + KEEP] = kept * (1.0 - fire[of + ALPHA])
            fire[of + PUSH] = (1.0 - fire[of + ALPHA]) * dt + fire[of + ALPHA] * ratio
            tally[at + STEPS] = tally[at + STEPS] + 1

    @kernel(types_of(real), atoms=Atoms.only("n", "vel", "force"), control=CONTROL, m=Minimisation)
    def plan(atoms, control, m):
        """Sums over atoms, then the decisions. Launch: one thread per PIECE atoms."""
        for k in range(m.systems):
            # A copy, because `move` may ask for a rebuild while some of its threads have still to look.
            go = 1 if control[Control.rebuild] == 0 and m.tally[TALLY_SIZE * k + STATUS] == RUNNING else 0
            m.tally[TALLY_SIZE * k + GO] = go
        for b in range(m.pieces):
            k = m.parts[3 * b]
            if m.tally[TALLY_SIZE * k + GO] == 1:
                total = ti.Vector.zero(ti.f64, SUMS)
                for atom in range(m.parts[3 * b + 1], m.parts[3 * b + 2]):
                    if m.whose[atom] >= 0:
                        i = m.sorted_of[atom]
                        v = ti.cast(atoms.vel[i], ti.f64)
                        f = ti.cast(atoms.force[i], ti.f64)
                        total[3] = ti.max(total[3], f.dot(f))
                        if ti.static(deforming):
                            f = pull(i, k, atoms.force, m.deform)
                        total[0] += f.dot(v)
                        total[1] += v.dot(v)
                        total[2] += f.dot(f)
                for c in ti.static(range(SUMS)):
                    m.sums[SUMS * b + c] = total[c]
        for g in range(m.groups):
            row = 3 * (m.pieces + g)
            if m.tally[TALLY_SIZE * m.parts[row] + GO] == 1:
                total = ti.Vector.zero(ti.f64, SUMS)
                for b in range(m.parts[row + 1], m.parts[row + 2]):
                    for c in ti.static(range(3)):
                        total[c] += m.sums[SUMS * b + c]
                    total[3] = ti.max(total[3], m.sums[SUMS * b + 3])
                for c in ti.static(range(SUMS)):
                    m.sums[SUMS * (m.pieces + g) + c] = total[c]
        for k in range(m.systems):
            if m.tally[TALLY_SIZE * k + GO] == 1:
                total = ti.Vector.zero(ti.f64, SUMS)
                cell_done = ti.cast(1, ti.f64)
                if ti.static(deforming):
                    for c in ti.static(range(3)):
                        total[c] = m.deform[DEFORM_SIZE * k + CELL + c]
                    cell_done = m.deform[DEFORM_SIZE * k + CELL + 3]
                row = 3 * (m.pieces + m.groups + k)
                for g in range(m.parts[row], m.parts[row + 1]):
                    for c in ti.static(range(3)):
                        total[c] += m.sums[SUMS * (m.pieces + g) + c]
                    total[3] = ti.max(total[3], m.sums[SUMS * (m.pieces + g) + 3])
                decide(k, total, cell_done, m.most_steps, m.most_force2, m.fire, m.tally)

    @kernel(
        types_of(real), system=SystemTables.only("listed_at", "control", atoms=Atoms.only("n", "pos", "vel",
        "force", "ident"), reach=Reach.only("most_near2")), m=Minimisation.only("whose", "deform", "fire",
        "tally"), most_move=Number("f64", "angstrom")
    )  # fmt: skip
    def move(system, m, most_move):
        """New velocities and positions; flags a list that the move outdates. Launch: one thread per atom."""
        atoms = system.atoms
        for i in range(atoms.n):
            whose = m.whose[atoms.ident[i]]
            k = whose if whose >= 0 else -1 - whose
            if m.tally[TALLY_SIZE * k + GO] == 1:
                of, turned = FIRE_SIZE * k, DEFORM_SIZE * k
                shift = ti.Vector.zero(ti.f64, 3)
                if whose >= 0:
                    old = ti.cast(atoms.vel[i], ti.f64)
                    v = m.fire[of + KEEP] * old + m.fire[of + PUSH] * pull(i, k, atoms.force, m.deform)
                    shift = m.fire[of + DT] * v - m.fire[of + BACK] * old
                    length2 = shift.dot(shift)
                    if length2 > most_move * most_move:
                        part = most_move / sqrt(length2)
                        shift = part * shift
                        v = part * v
                    atoms.vel[i] = ti.cast(v, real)
                x = ti.cast(atoms.pos[i], ti.f64)
                if ti.static(deforming):
                    x = times(x, m.deform, turned + CARRY) + times(shift, m.deform, turned + NOW)
                else:
                    x = x + shift
                atoms.pos[i] = ti.cast(x, real)
                gone = atoms.pos[i] - system.listed_at[i]
                # A comparison with NaN is false, hence the `not`.
                if not gone.dot(gone) <= system.reach.most_near2:
                    system.control[outdated] = 1

    return FireKernels(plan, move)
