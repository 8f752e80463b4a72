"""Kernels of a step of which each process does its own atoms.

    begin: half kick (two of them behind the first step), drift; own positions go to `mine`
    gather (the transport): `mine` of all processes goes to `everyone`
    take: positions of the atoms of others that this process holds, from `everyone`
    forces (`Device.queue_forces`)

Behind the positions of a process stands a vector for the others: what it has met, and how many steps its atoms have
done since the host looked. If a process has met anything, all hold: `REBUILD` is set, and kernels do nothing.
`mark` begins anew, when all processes make lists.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.dynamics.bath_arrays import BathArrays
from taichimd.dynamics.coupling import Coupling, coupling_functions
from taichimd.neighbours.control import CONTROL, NONE, REBUILD, STALE
from taichimd.neighbours.rows import VerletRows
from taichimd.system.state import Atoms

DONE, FAR, BLOWN, GONE, ALIKE = range(5)
"""In `words`: steps that own atoms have done since all processes made lists; whether one of them is far from where it
was then; smallest number of one that went too far in a step; bits of the largest squared displacement from where atoms
were chosen to where all processes made lists, in float32 (angstrom^2); whether all processes have done the same steps."""
WAITS, LISTS = 1, 2
"""What a process has met, the first number of its vector: own lists that are unfit, an own atom that is far from where
it was when all processes made lists. The second number is that of an atom that left physics, or -1. The third is how
many steps were done since the host looked."""
ROUNDED = 1.0 + 2.0**-20
"""By which a square grows, so that float32 does not make it smaller."""


class Shared(Bundle):
    """What a process exchanges with others."""

    slot: Any = Array("i32", "n", "place in `everyone` of the atom of a number here")
    number: Any = Array("i32", "n", "the user's number of it")
    idle: Any = Array("i32", "n", "1 where no own atom needs the terms of the atom of a number here")
    mine: Any = Array("vec", "width", "own positions, and a vector that says what was met")
    since: Any = Array("vec", "width", "own positions when all processes made lists, angstrom")
    chosen: Any = Array("vec", "width", "own positions when atoms were chosen, angstrom")
    everyone: Any = Array("vec", "processes width", "those of all processes")
    told: Any = Array("vec", "processes", "what each process has met, of the last exchange")
    words: Any = Array("i32", "5", "see DONE")
    width: Any = Number("i32", "length of `mine`")
    first: Any = Number("i32", "own first place in `everyone`")
    last: Any = Number("i32", "behind the last one")
    processes: Any = Number("i32", "how many there are")


@cache
def shared_kernels(real: Any, coupling: Coupling, near_list: bool) -> Any:
    """Kernels `begin`, `take`, `mark`, `pack`, `prepare`, `empty_rows`.

    Args:
        real: ti.f64 or ti.f32, of the atoms.
        coupling: NVE, or what acts on each atom alone.
        near_list: whether near lists are cut between builds, in each process when it needs them.
    """
    types, local = types_of(real), coupling.local
    # Only own atoms count energy, so threads of a warp cannot add up first.
    thermostat = coupling_functions(coupling, real, False)
    dt_of = Number("real", "time step")

    @kernel(types, bath=BathArrays, dt=dt_of)
    def prepare(bath, dt):
        """Constants of a thermostat for a time step."""
        for _ in range(1):
            if ti.static(local):
                thermostat.prepare(dt, bath.ledger, bath.bath)

    @ti.func
    def drifted(i, atom, n, v, step, dt, atoms: ti.template(), bath: ti.template()):
        """How an atom moves in a step, and its velocity afterwards."""
        move = dt * v
        new = v
        if ti.static(local):
            new = thermostat.refresh(i, n, v, step, atom, atoms.inverse_mass[i], bath.ledger, bath.bath)
            move = (0.5 * dt) * v + (0.5 * dt) * new
        return move, new

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "vel", "force", "inverse_mass", "ident"),
        shared=Shared.only("slot", "number", "mine", "since", "words", "width", "first", "last"),
        control=CONTROL,
        bath=BathArrays if local else None,
        kicks=Number("i32", "1 in the first step of a run, else 2"),
        looked=Number("i32", "steps since all processes made lists that the host knows of"),
        ahead=Number("i32", "number of the step since the host looked, from 1 on"),
        step=Number("i64", "number of this step"),
        far2=Number("real", "square of the displacement from which all make lists anew, angstrom^2"),
        most_step2=Number("real", "square of the largest displacement in a step, angstrom^2"),
        dt=dt_of,
    )  # fmt: skip
    def begin(atoms, shared, control, bath, kicks, looked, ahead, step, far2, most_step2, dt):
        """Half kicks and drift of own atoms, unless something holds them, or they have done this step."""
        for i in range(atoms.n):
            here = atoms.ident[i]
            at = shared.slot[here] - shared.first
            own = at >= 0 and shared.slot[here] < shared.last
            if own and control[REBUILD] == 0 and shared.words[DONE] < looked + ahead:
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
                if not gone.dot(gone) <= far2:
                    ti.atomic_max(shared.words[FAR], 1)
                if not move.dot(move) <= most_step2:
                    ti.atomic_min(shared.words[BLOWN], shared.number[here])
        for _ in range(1):
            met = LISTS * shared.words[FAR]
            if shared.words[DONE] < looked + ahead:
                if control[REBUILD] == 0:
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
        listed_at=Array("vec", "n", "positions of the last cut, angstrom") if near_list else None,
        near2=Number("real", "square of the displacement that outdates near lists, angstrom^2"),
    )  # fmt: skip
    def take(atoms, shared, control, listed_at, near2):
        """Positions of the atoms of others, once all processes have done the same steps; if one has met something, all hold.

        Atoms that have gone too far for the near list outdate it. A list that all make is outdated by FAR.
        """
        for _ in range(1):
            least, most = NONE, 0
            for p in range(shared.processes):
                what = shared.everyone[p * shared.width + shared.width - 1]
                shared.told[p] = what
                done = ti.cast(what[2], ti.i32)
                least, most = ti.min(least, done), ti.max(most, done)
                if what[0] != 0.0 or what[1] >= 0.0:
                    control[REBUILD] = 1
            # What lies in `mine` before the first step need not be positions.
            shared.words[ALIKE] = ti.cast(least == most and most > 0, ti.i32)
        for i in range(atoms.n):
            if shared.words[ALIKE] == 1:
                at = shared.slot[atoms.ident[i]]
                if at < shared.first or at >= shared.last:
                    atoms.pos[i] = shared.everyone[at]
                if ti.static(near_list):
                    gone = atoms.pos[i] - listed_at[i]
                    if not gone.dot(gone) <= near2:
                        control[STALE] = 1

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "ident"),
        shared=Shared.only("slot", "since", "chosen", "words", "first", "last"),
        anew=Number("i32", "1 where atoms were just chosen"),
    )
    def mark(atoms, shared, anew):
        """All processes make lists here: displacements and steps count from now on."""
        for _ in range(1):
            shared.words[DONE] = 0
            shared.words[FAR] = 0
            shared.words[BLOWN] = NONE
            shared.words[GONE] = 0
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
                    # Numbers that are not negative are in the order of their bits, and a maximum has no order.
                    bits = ti.bit_cast(ti.cast(away.dot(away) * ROUNDED, ti.f32), ti.i32)
                    if bits > shared.words[GONE]:
                        ti.atomic_max(shared.words[GONE], bits)

    @kernel(
        types,
        atoms=Atoms.only("n", "ident"),
        shared=Shared.only("slot", "first", "last"),
        source=Array("vec", "n", "of all atoms here"),
        target=Array("vec", "width", "of own atoms"),
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

    return SimpleNamespace(
        begin=begin, take=take, mark=mark, pack=pack, prepare=prepare, empty_rows=empty_rows
    )
