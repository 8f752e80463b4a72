"""Kernels of a step of which each process does its own atoms.

    begin: half kick (two of them after the first step), drift; positions that others need go to `sent`
    exchange (the transport): each process sends to every other one what that one holds, and receives into
        `received`
    take: positions of the atoms of others that this process holds, from `received`
    forces (`Device.queue_forces`)

Each message ends with a vector that says what its sender has met, and how many steps its atoms have done
since the host looked. If a process has met anything, all hold: `REBUILD` is set, and kernels do nothing.
`mark` begins anew, when all processes make lists.

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

    slot: Any = ArrayField("i32", "n", "place in the slabs' order of the atom of a number here")
    number: Any = ArrayField("i32", "n", "the user's number of it")
    away: Any = ArrayField(
        "real", "n", "distance from the slab of the atom of a number here when atoms were chosen; -1: own"
    )
    owned: Any = ArrayField("i32", "n", "at a place of atoms: the user's number of an own atom; else -1")
    chosen: Any = ArrayField("vec", "width", "own positions when atoms were chosen, angstrom")
    sent: Any = ArrayField("vec", "out", "messages to the other processes, one after the other")
    received: Any = ArrayField("vec", "in", "messages from them")
    sent_of: Any = ArrayField(
        "i32", "out", "number here of the atom whose position is sent; -1: what was met"
    )
    received_of: Any = ArrayField("i32", "in", "the same of `received`")
    ends: Any = ArrayField("i32", "processes", "where in `received` stands what a process has met; -1: own")
    told: Any = ArrayField("vec", "processes", "what each process has met, of the last exchange")
    words: Any = ArrayField("i32", "7", "see DONE")
    first: Any = Number("i32", "own first place in the slabs' order")
    last: Any = Number("i32", "behind the last one")
    n_sent: Any = Number("i32", "vectors of `sent`")
    n_received: Any = Number("i32", "vectors of `received`")
    processes: Any = Number("i32", "how many there are")
    rank: Any = Number("i32", "number of this process")


class Places(Bundle):
    """Where atoms of a process are in memory, and where they were."""

    sorted_of: Any = ArrayField("i32", "n", "place of the atom of a number here")
    built_at: Any = ArrayField("vec", "n", "positions of the last build, angstrom")
    listed_at: Any = ArrayField("vec", "n", "positions of the last cut of near lists, or build, angstrom")


class Farthest(Bundle):
    """Squares of displacements, angstrom^2."""

    of_lists2: Any = Number("real", "since the last build, from which all make lists anew")
    of_step2: Any = Number("real", "in a step, from which all make lists anew")
    near2: Any = Number("real", "since the last cut or build, that outdates near lists, or is noted")
    most_step2: Any = Number("real", "in a step, the largest")


@dataclass(frozen=True)
class SharedKernels:
    """Kernels of one process among several.

    Attributes:
        begin: half kicks and drift of own atoms. take: positions of the atoms of other processes.
        mark: lists are made, displacements and steps count from now on. pack: vectors of own atoms for other
            processes.
        prepare: constants of a thermostat for a time step. listed: lists were made: which places have own
            atoms, and no neighbours of atoms whose terms nobody needs.
    """

    begin: Kernel
    take: Kernel
    mark: Kernel
    pack: Kernel
    prepare: Kernel
    listed: Kernel


@cache
def shared_kernels(real: Any, coupling: Coupling, near_list: bool, backend: str) -> SharedKernels:
    """Kernels `begin`, `take`, `mark`, `pack`, `prepare`, `listed`.

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

    @ti.func
    def met(count, shared: ti.template(), control: ti.template()):
        """What this process says at the end of its messages, of a step that is the `count`th so far."""
        what = ti.Vector([ti.cast(LISTS * shared.words[FAR], real), ti.cast(-1, real), ti.cast(0, real)])
        done = shared.words[DONE]
        if done < count:
            if control[Control.rebuild] == 0:
                done = count
            else:
                what[0] += ti.cast(WAITS, real)
        if shared.words[BLOWN] != NONE:
            what[1] = ti.cast(shared.words[BLOWN], real)
        what[2] = ti.cast(done, real)
        return what

    @ti.func
    def goes_far(i, n, x, near2, sort: ti.template(), listed_at: ti.template(), control: ti.template()):
        """Whether an atom that is at x now outdates the list of all; it may outdate the near list here."""
        far = 0
        gone = x - listed_at[i]
        gone2 = gone.dot(gone)
        if not gone2 <= near2:
            if ti.static(near_list):
                control[Control.stale] = 1
            else:
                far = note(i, n, gone2, near2, sort, control)
        return far

    count_of = Number("i32", "number of this step since all processes made lists, from 1 on")

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "vel", "force", "inverse_mass"),
        shared=Shared.only("owned", "words", "sent", "sent_of", "n_sent"),
        places=Places,
        control=CONTROL,
        bath=coupling.arrays if local else None,
        sort=None if near_list else LOOKED_AT,
        far=Farthest,
        kicks=Number("i32", "1 in the first step of a run, else 2"),
        count=count_of,
        step=Number("i64", "number of this step"),
        dt=dt_of,
    )  # fmt: skip
    def begin(atoms, shared, places, control, bath, sort, far, kicks, count, step, dt):
        """Half kicks and drift of own atoms, unless something holds them, or they have done this step."""
        for i in range(atoms.n):
            atom = shared.owned[i]
            if atom >= 0 and control[Control.rebuild] == 0 and shared.words[DONE] < count:
                kick = (0.5 * dt * atoms.inverse_mass[i]) * atoms.force[i]
                v = atoms.vel[i] + kick
                if kicks == 2:
                    v += kick
                move, new = drifted(i, atom, atoms.n, v, step, dt, atoms, bath)
                x = atoms.pos[i] + move
                atoms.vel[i] = new
                atoms.pos[i] = x
                gone = x - places.built_at[i]
                move2 = move.dot(move)
                if not (gone.dot(gone) <= far.of_lists2 and move2 <= far.of_step2):
                    shared.words[FAR] = 1
                if goes_far(i, atoms.n, x, far.near2, sort, places.listed_at, control) == 1:
                    shared.words[FAR] = 1
                if ti.static(not near_list):
                    raise_to(FASTEST, move2, shared.words)
                if not move2 <= far.most_step2:
                    ti.atomic_min(shared.words[BLOWN], atom)
        for k in range(shared.n_sent):
            here = shared.sent_of[k]
            if here >= 0:
                shared.sent[k] = atoms.pos[places.sorted_of[here]]
            else:
                shared.sent[k] = met(count, shared, control)

    @kernel(
        types,
        atoms=Atoms.only("n", "pos"),
        shared=Shared.only(
            "received", "received_of", "ends", "told", "words", "n_received", "processes", "rank"
        ),
        places=Places.only("sorted_of", "listed_at"),
        control=CONTROL,
        sort=None if near_list else LOOKED_AT,
        far=Farthest.only("near2"),
        count=count_of,
    )  # fmt: skip
    def take(atoms, shared, places, control, sort, far, count):
        """Take the positions of atoms of other processes, once all processes have done the same steps.

        If one process has set a flag, all processes wait. Atoms that have gone too far for the near list
        outdate it. A list that all make is outdated by FAR.
        """
        for _ in range(1):
            own = met(count, shared, control)
            shared.words[DONE] = ti.cast(own[2], ti.i32)
            least, most = NONE, 0
            for p in range(shared.processes):
                what = own
                if p != shared.rank:
                    what = shared.received[shared.ends[p]]
                shared.told[p] = what
                done = ti.cast(what[2], ti.i32)
                least, most = ti.min(least, done), ti.max(most, done)
                if what[0] != 0.0 or what[1] >= 0.0:
                    control[Control.rebuild] = 1
            shared.words[ALIKE] = ti.cast(least == most, ti.i32)
        for k in range(shared.n_received):
            here = shared.received_of[k]
            if here >= 0 and shared.words[ALIKE] == 1:
                i = places.sorted_of[here]
                x = shared.received[k]
                atoms.pos[i] = x
                if goes_far(i, atoms.n, x, far.near2, sort, places.listed_at, control) == 1:
                    shared.words[FAR] = 1
        if ti.static(not near_list):
            for thread in range(at_a_time * LANES):
                number = 0
                if shared.words[ALIKE] == 1 and shared.words[FAR] == 0:
                    number = ti.min(control[Control.far_atoms], atoms.n)
                at = thread // LANES
                while at < number:
                    if (
                        lacks_pair(
                            sort.order[at], thread % LANES, far.near2, atoms.pos, places.listed_at, sort
                        )
                        == 1
                    ):
                        shared.words[FAR] = 1
                    at += at_a_time
            for _ in range(1):
                control[Control.far_atoms] = 0

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "ident"),
        shared=Shared.only("slot", "chosen", "words", "first", "last"),
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
        shared=Shared.only("slot", "number", "away", "owned", "first", "last"),
        control=CONTROL,
        verlet=VerletRows.only("count"),
        needed=Number("real", "`away` up to which own atoms need the terms of an atom, angstrom"),
    )
    def listed(atoms, shared, control, verlet, needed):
        """Lists were made: places of own atoms; atoms whose terms nobody needs have no neighbours."""
        for i in range(atoms.n):
            here = atoms.ident[i]
            at = shared.slot[here]
            shared.owned[i] = shared.number[here] if at >= shared.first and at < shared.last else -1
            if shared.away[here] > needed:
                verlet.count[i] = 0
        for _ in range(1):
            control[Control.far_atoms] = 0

    return SharedKernels(begin, take, mark, pack, prepare, listed)
