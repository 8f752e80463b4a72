"""Kernels of a step of which each process does its own atoms.

    begin: half kick (two of them behind the first step), drift; own positions go to `mine`
    gather (the transport): `mine` of all processes goes to `everyone`
    take: positions of the atoms of others that this process holds, from `everyone`
    forces (`Device.queue_forces`)

Behind the positions of a process stands a vector for the others: what it has met, and how many steps its
atoms have done since the host looked. If a process has met anything, all hold: `REBUILD` is set, and kernels
do nothing. `mark` begins anew, when all processes make lists.

Where there are no near lists, lists serve until they are about to lack a pair (`neighbours.dangerous_pairs`).
An unlisted pair within the cutoff has an atom that has gone half the skin. If no atom moves by more than e in
a step, that atom had gone half the skin less e in the step before, and the pair was within the cutoff and 2
e. So `take` looks around such atoms, and what it finds holds all processes one step later, in time. `begin`
holds them where an atom moves by more than e.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Kernel, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.ensembles.coupling import Coupling, coupling_functions
from taichimd.neighbours.control import CONTROL, NONE, Control
from taichimd.neighbours.dangerous_pairs import (
    ATOMS_AT_A_TIME,
    LANES,
    LOOKED_AT,
    dangerous_pairs_functions,
    lacks_pair,
)
from taichimd.neighbours.rows import VerletRows
from taichimd.system.state import Atoms

DONE, FAR, BLOWN, GONE, FASTEST, PACE, ALIKE = range(7)
"""In `words`: steps that own atoms have done since all processes made lists; whether one of them is far from
where it was then, moves too fast, or a pair is soon missing; smallest number of one that went too far in a
step; bits of the largest squared displacement from where atoms were chosen to where all processes made lists,
in float32 (angstrom^2); the same of the largest one in a step, and what it was with the lists before; whether
all processes have done the same steps."""
WAITS, LISTS = 1, 2
"""What a process has met, the first number of its vector: own lists that are unfit, an own atom that is far
from where it was when all processes made lists. The second number is that of an atom that diverged, or
-1. The third is how many steps were done since the host looked."""
SLOWER = 0.7
"""Least ratio of the largest squared displacement in a step with the next lists to the one with the last
lists."""
ROUNDED = 1.0 + 2.0**-20
"""By which a square grows, so that float32 does not make it smaller."""


class Shared(Bundle):
    """What a process exchanges with others."""

    slot: Any = ArrayField("i32", "n", "place in `everyone` of the atom of a number here")
    number: Any = ArrayField("i32", "n", "the user's number of it")
    idle: Any = ArrayField("i32", "n", "1 where no own atom needs the terms of the atom of a number here")
    mine: Any = ArrayField("vec", "width", "own positions, and a vector that says what was met")
    since: Any = ArrayField("vec", "width", "own positions when all processes made lists, angstrom")
    chosen: Any = ArrayField("vec", "width", "own positions when atoms were chosen, angstrom")
    everyone: Any = ArrayField("vec", "processes width", "those of all processes")
    told: Any = ArrayField("vec", "processes", "what each process has met, of the last exchange")
    words: Any = ArrayField("i32", "5", "see DONE")
    width: Any = Number("i32", "length of `mine`")
    first: Any = Number("i32", "own first place in `everyone`")
    last: Any = Number("i32", "behind the last one")
    processes: Any = Number("i32", "how many there are")


@dataclass(frozen=True)
class SharedKernels:
    """Kernels of one process among several.

    Attributes:
        begin: half kicks and drift of own atoms. take: positions of the atoms of other processes.
        mark: lists are made, displacements and steps count from now on. pack: vectors of own atoms for other
            processes.
        prepare: constants of a thermostat for a time step. empty_rows: no neighbours of atoms whose terms
            nobody needs.
    """

    begin: Kernel
    take: Kernel
    mark: Kernel
    pack: Kernel
    prepare: Kernel
    empty_rows: Kernel


@cache
def shared_kernels(real: Any, coupling: Coupling, near_list: bool, backend: str) -> SharedKernels:
    """Kernels `begin`, `take`, `mark`, `pack`, `prepare`, `empty_rows`.

    Args:
        real: ti.f64 or ti.f32, of the atoms.
        coupling: NVE, or what acts on each atom alone.
        near_list: whether near lists are cut between builds, in each process when it needs them.
        backend: "cuda" or "cpu".
    """
    note, at_a_time = dangerous_pairs_functions(backend).note, ATOMS_AT_A_TIME[backend]
    types, local = types_of(real), coupling.local
    # Only own atoms count energy, so threads of a warp cannot add up first.
    thermostat = coupling_functions(coupling, real, False)
    dt_of = Number("real", "time step")

    @kernel(types, bath=coupling.arrays, dt=dt_of)
    def prepare(bath, dt):
        """Constants of a thermostat for a time step."""
        for _ in range(1):
            if ti.static(local):
                thermostat.prepare(dt, bath)

    @ti.func
    def bits_of(square):
        """Bits of a number that is not negative: in the order of such numbers."""
        return ti.bit_cast(ti.cast(square * ROUNDED, ti.f32), ti.i32)

    @ti.func
    def raise_to(which: ti.template(), square, words: ti.template()):
        """Raise a word to the bits of a square; a maximum has no order."""
        bits = bits_of(square)
        if bits > words[which]:
            ti.atomic_max(words[which], bits)

    @ti.func
    def drifted(i, atom, n, v, step, dt, atoms: ti.template(), bath: ti.template()):
        """How an atom moves in a step, and its velocity afterwards."""
        move = dt * v
        new = v
        if ti.static(local):
            new = thermostat.refresh(i, n, v, step, atom, atoms.inverse_mass[i], bath)
            move = (0.5 * dt) * v + (0.5 * dt) * new
        return move, new

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "vel", "force", "inverse_mass", "ident"),
        shared=Shared.only("slot", "number", "mine", "since", "words", "width", "first", "last"),
        control=CONTROL,
        bath=coupling.arrays if local else None,
        kicks=Number("i32", "1 in the first step of a run, else 2"),
        looked=Number("i32", "steps since all processes made lists that the host knows of"),
        ahead=Number("i32", "number of the step since the host looked, from 1 on"),
        step=Number("i64", "number of this step"),
        far2=Number("real", "square of the displacement from which all make lists anew, angstrom^2"),
        fast2=Number("real", "square of the displacement in a step that makes all rebuild lists, angstrom^2"),
        most_step2=Number("real", "square of the largest displacement in a step, angstrom^2"),
        dt=dt_of,
    )  # fmt: skip
    def begin(atoms, shared, control, bath, kicks, looked, ahead, step, far2, fast2, most_step2, dt):
        """Half kicks and drift of own atoms, unless something holds them, or they have done this step."""
        for i in range(atoms.n):
            here = atoms.ident[i]
            at = shared.slot[here] - shared.first
            own = at >= 0 and shared.slot[here] < shared.last
            if own and control[Control.rebuild] == 0 and shared.words[DONE] < looked + ahead:
                kick = (0.5 * dt * atoms.inverse_mass[i]) * atoms.force[i]
                v = atoms.vel[i] + kick
                if kicks == 2:
                    v += kick
                move, new = drifted(i, shared.number[here], atoms.n, v, step, dt, atoms, bath)
                x = atoms.pos[i] + move
                atoms.vel[i] = new
                atoms.pos[i] = x
                shared.mine[at] = x
                gone = x - shared.since[at]
                move2 = move.dot(move)
                if not (gone.dot(gone) <= far2 and move2 <= fast2):
                    shared.words[FAR] = 1
                if ti.static(not near_list):
                    raise_to(FASTEST, move2, shared.words)
                if not move2 <= most_step2:
                    ti.atomic_min(shared.words[BLOWN], shared.number[here])
        for _ in range(1):
            met = LISTS * shared.words[FAR]
            if shared.words[DONE] < looked + ahead:
                if control[Control.rebuild] == 0:
                    shared.words[DONE] = looked + ahead
                else:
                    met += WAITS
            blown = -1
            if shared.words[BLOWN] != NONE:
                blown = shared.words[BLOWN]
            done = shared.words[DONE] - looked
            what = ti.Vector([ti.cast(met, real), ti.cast(blown, real), ti.cast(done, real)])
            shared.mine[shared.width - 1] = what

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "ident"),
        shared=Shared.only("slot", "everyone", "told", "words", "width", "first", "last", "processes"),
        control=CONTROL,
        sort=None if near_list else LOOKED_AT,
        listed_at=ArrayField("vec", "n", "positions of the last cut, or build, angstrom"),
        near2=Number("real", "square of the displacement that outdates near lists, or is noted, angstrom^2"),
    )  # fmt: skip
    def take(atoms, shared, control, sort, listed_at, near2):
        """Take the positions of atoms of other processes, once all processes have done the same steps.

        If one process has set a flag, all processes wait. Atoms that have gone too far for the near list
        outdate it. A list that all make is outdated by FAR.
        """
        for _ in range(1):
            if ti.static(not near_list):
                control[Control.far_atoms] = 0
            least, most = NONE, 0
            for p in range(shared.processes):
                what = shared.everyone[p * shared.width + shared.width - 1]
                shared.told[p] = what
                done = ti.cast(what[2], ti.i32)
                least, most = ti.min(least, done), ti.max(most, done)
                if what[0] != 0.0 or what[1] >= 0.0:
                    control[Control.rebuild] = 1
            # What lies in `mine` before the first step need not be positions.
            shared.words[ALIKE] = ti.cast(least == most and most > 0, ti.i32)
        for i in range(atoms.n):
            if shared.words[ALIKE] == 1:
                at = shared.slot[atoms.ident[i]]
                if at < shared.first or at >= shared.last:
                    atoms.pos[i] = shared.everyone[at]
                gone = atoms.pos[i] - listed_at[i]
                gone2 = gone.dot(gone)
                if not gone2 <= near2:
                    if ti.static(near_list):
                        control[Control.stale] = 1
                    elif note(i, atoms.n, gone2, near2, sort, control) == 1:
                        shared.words[FAR] = 1
        if ti.static(not near_list):
            for thread in range(at_a_time * LANES):
                number = 0
                if shared.words[ALIKE] == 1 and shared.words[FAR] == 0:
                    number = ti.min(control[Control.far_atoms], atoms.n)
                at = thread // LANES
                while at < number:
                    if lacks_pair(sort.order[at], thread % LANES, near2, atoms.pos, listed_at, sort) == 1:
                        shared.words[FAR] = 1
                    at += at_a_time

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "ident"),
        shared=Shared.only("slot", "since", "chosen", "words", "first", "last"),
        anew=Number("i32", "1 where atoms were just chosen"),
        least2=Number("real", "GONE at least, angstrom^2"),
    )
    def mark(atoms, shared, anew, least2):
        """All processes make lists here: displacements and steps count from now on.

        Maxima begin a little below what they will be: else all threads would raise them at a time.
        """
        for _ in range(1):
            shared.words[DONE] = 0
            shared.words[FAR] = 0
            shared.words[BLOWN] = NONE
            shared.words[GONE] = bits_of(least2)
            shared.words[PACE] = shared.words[FASTEST]
            shared.words[FASTEST] = bits_of(SLOWER * ti.bit_cast(shared.words[FASTEST], ti.f32))
        for i in range(atoms.n):
            here = shared.slot[atoms.ident[i]]
            if here >= shared.first and here < shared.last:
                x = atoms.pos[i]
                at = here - shared.first
                shared.since[at] = x
                if anew == 1:
                    shared.chosen[at] = x
                else:
                    away = x - shared.chosen[at]
                    raise_to(GONE, away.dot(away), shared.words)

    @kernel(
        types,
        atoms=Atoms.only("n", "ident"),
        shared=Shared.only("slot", "first", "last"),
        source=ArrayField("vec", "n", "of all atoms here"),
        target=ArrayField("vec", "width", "of own atoms"),
    )  # fmt: skip
    def pack(atoms, shared, source, target):
        """Vectors of own atoms, for the others."""
        for i in range(atoms.n):
            here = shared.slot[atoms.ident[i]]
            if here >= shared.first and here < shared.last:
                target[here - shared.first] = source[i]

    @kernel(
        types,
        atoms=Atoms.only("n", "ident"),
        shared=Shared.only("idle"),
        verlet=VerletRows.only("count"),
    )
    def empty_rows(atoms, shared, verlet):
        """Atoms whose terms nobody needs have no neighbours."""
        for i in range(atoms.n):
            if shared.idle[atoms.ident[i]] == 1:
                verlet.count[i] = 0

    return SharedKernels(begin, take, mark, pack, prepare, empty_rows)
