"""Kernels of a step of which each process does its own atoms.

    begin: half kick (two of them after the first step), drift; positions that others need go to `sent`
    exchange (the transport): each process sends to every other one what that one holds, and receives into
        `received`
    take: positions of the atoms of others that this process holds, from `received`
    renew (its own module), in some steps: if the messages have asked for it, all processes rebuild lists
    forces (`Device.queue_forces`)

Each message ends with a vector that says what its sender has met, and how many steps its atoms have done
since hosts made lists. If a process has met what holds it, all hold: `Control.rebuild` is set, and kernels do
nothing, until `renew` or the hosts have made lists. `mark` begins anew, when hosts do.

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
from taichimd.parallel.words import (
    ALIKE,
    BLOWN,
    BUILDS,
    CHOOSE,
    DONE,
    FAR,
    FASTEST,
    GONE,
    HOLDS,
    HOST,
    INFINITE,
    LAST,
    LEFT,
    LISTS,
    NEEDS_CHOICE,
    NEEDS_HOST,
    PACE,
    RENEW,
    WAITS,
    Shared,
    slower,
    word_functions,
)
from taichimd.system.state import Atoms


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
    """Kernels of one process among several."""

    begin: Kernel  # half kicks and drift of own atoms
    take: Kernel  # positions of the atoms of other processes
    mark: Kernel  # lists are made, displacements and steps count from now on
    pack: Kernel  # vectors of own atoms for other processes
    prepare: Kernel  # constants of a thermostat for a time step
    listed: Kernel  # lists were made: which places have own atoms


@cache
def shared_kernels(real: Any, coupling: Coupling, near_list: bool, backend: str) -> SharedKernels:
    """The kernels; `near_list`: near lists are cut between builds, in each process when it needs them."""
    note, at_a_time = dangerous_pairs_functions(backend).note, ATOMS_AT_A_TIME[backend]
    types, local = types_of(real), coupling.local
    # Only own atoms count energy, so threads of a warp cannot add up first.
    thermostat = coupling_functions(coupling, real, False)
    dt_of, words_of = Number("real", "time step"), word_functions(real)

    @kernel(types, bath=coupling.arrays, dt=dt_of)
    def prepare(bath, dt):
        """Constants of a thermostat for a time step."""
        for _ in range(1):
            if ti.static(local):
                thermostat.prepare(dt, bath)

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
    def met(limit, shared: ti.template(), control: ti.template()):
        """What this process says at the end of its messages, of a step."""
        flags = (
            LISTS * shared.words[FAR] + NEEDS_HOST * shared.words[HOST] + NEEDS_CHOICE * shared.words[CHOOSE]
        )
        done = shared.words[DONE]
        if done < limit:
            if control[Control.rebuild] == 0:
                done += 1
            else:
                flags += WAITS
        what = ti.Vector([ti.cast(flags, real), ti.cast(-1, real), ti.cast(done, real)])
        if shared.words[BLOWN] != NONE:
            what[1] = ti.cast(shared.words[BLOWN], real)
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

    limit_of = Number("i32", "DONE with which no step is done any more")

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "vel", "force", "inverse_mass"),
        shared=Shared.only("owned", "words", "sent", "sent_of", "n_sent"),
        places=Places,
        control=CONTROL,
        bath=coupling.arrays if local else None,
        sort=None if near_list else LOOKED_AT,
        far=Farthest,
        first=Number("i32", "DONE when this run began"),
        limit=limit_of,
        step=Number("i64", "number of the step that is done where DONE is 0"),
        dt=dt_of,
    )  # fmt: skip
    def begin(atoms, shared, places, control, bath, sort, far, first, limit, step, dt):
        """Half kicks and drift of own atoms, unless something holds them, or they have done this step."""
        for i in range(atoms.n):
            atom = shared.owned[i]
            done = shared.words[DONE]
            if atom >= 0 and control[Control.rebuild] == 0 and done < limit:
                kick = (0.5 * dt * atoms.inverse_mass[i]) * atoms.force[i]
                v = atoms.vel[i] + kick
                if done != first:
                    v += kick
                move, new = drifted(i, atom, atoms.n, v, step + done, dt, atoms, bath)
                x = atoms.pos[i] + move
                atoms.vel[i] = new
                atoms.pos[i] = x
                gone = x - places.built_at[i]
                move2 = move.dot(move)
                left2 = ti.cast(ti.bit_cast(shared.words[LEFT], ti.f32), real)
                if not gone.dot(gone) <= ti.min(far.of_lists2, left2):
                    shared.words[FAR] = 1
                if not move2 <= far.of_step2:
                    shared.words[FAR] = 1
                    shared.words[HOST] = 1
                if goes_far(i, atoms.n, x, far.near2, sort, places.listed_at, control) == 1:
                    shared.words[FAR] = 1
                if ti.static(not near_list):
                    words_of.raise_to(FASTEST, move2, shared.words)
                if not move2 <= far.most_step2:
                    ti.atomic_min(shared.words[BLOWN], atom)
        for k in range(shared.n_sent):
            here = shared.sent_of[k]
            if here >= 0:
                shared.sent[k] = atoms.pos[places.sorted_of[here]]
            else:
                shared.sent[k] = met(limit, shared, control)

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
        limit=limit_of,
    )  # fmt: skip
    def take(atoms, shared, places, control, sort, far, limit):
        """Take the positions of atoms of other processes, once all processes have done the same steps.

        If one process has set a flag, all processes wait. Atoms that have gone too far for the near list
        outdate it. A list that all make is outdated by FAR.
        """
        for _ in range(1):
            own = met(limit, shared, control)
            shared.words[DONE] = ti.cast(own[2], ti.i32)
            least, most, flags, blown = NONE, 0, 0, 0
            for p in range(shared.processes):
                what = own
                if p != shared.rank:
                    what = shared.received[shared.ends[p]]
                shared.told[p] = what
                done = ti.cast(what[2], ti.i32)
                least, most = ti.min(least, done), ti.max(most, done)
                flags |= ti.cast(what[0], ti.i32)
                if what[1] >= 0.0:
                    blown = 1
            if flags & HOLDS != 0 or blown == 1:
                control[Control.rebuild] = 1
            shared.words[ALIKE] = ti.cast(least == most, ti.i32)
            shared.words[RENEW] = 0
            if flags & (LISTS | NEEDS_HOST | NEEDS_CHOICE) == LISTS and blown == 0 and least == most:
                shared.words[RENEW] = 1
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
            for k in ti.static((DONE, FAR, RENEW, BUILDS, LAST, HOST, CHOOSE)):
                shared.words[k] = 0
            shared.words[BLOWN] = NONE
            shared.words[GONE] = words_of.bits_of(least2)
            shared.words[PACE] = shared.words[FASTEST]
            shared.words[FASTEST] = slower(shared.words[FASTEST])
            shared.words[LEFT] = INFINITE
        for i in range(atoms.n):
            here = shared.slot[atoms.ident[i]]
            if here >= shared.first and here < shared.last:
                x = atoms.pos[i]
                at = here - shared.first
                if anew == 1:
                    shared.chosen[at] = x
                else:
                    away = x - shared.chosen[at]
                    words_of.raise_to(GONE, away.dot(away), shared.words)

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
        shared=Shared.only("slot", "number", "owned", "first", "last"),
        control=CONTROL,
    )
    def listed(atoms, shared, control):
        """Lists were made: places of own atoms."""
        for i in range(atoms.n):
            here = atoms.ident[i]
            at = shared.slot[here]
            shared.owned[i] = shared.number[here] if at >= shared.first and at < shared.last else -1
        for _ in range(1):
            control[Control.far_atoms] = 0

    return SharedKernels(begin, take, mark, pack, prepare, listed)
