"""Kernels of a step of which each process does its own atoms.

    begin: half kick (two of them behind the first step), drift; own positions go to `mine`
    gather (the transport): `mine` of all processes goes to `everyone`
    take: positions of all atoms that this process holds, from `everyone`
    forces (`Device.queue_forces`)

Behind the positions of a process stands a vector for the others: what it has met, and how many steps its atoms have
done since the host looked. If a process has met anything, all hold: `REBUILD` is set, and kernels do nothing.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.dynamics.bath_arrays import BathArrays
from taichimd.dynamics.coupling import Coupling, coupling_functions
from taichimd.neighbours.control import CONTROL, NONE, REBUILD
from taichimd.neighbours.rows import VerletRows
from taichimd.system.state import Atoms

DONE, FAR, BLOWN = range(3)
"""In `words`: steps that own atoms have done since the host looked; whether one of them is far from where it was when
all processes made lists; smallest number of one that went too far in a step."""
WAITS, LISTS = 1, 2
"""What a process has met, the first number of its vector: own lists that are unfit, an own atom that is far from where it was when all processes made lists.
The second number is that of an atom that left physics, or -1. The third is DONE."""


class Shared(Bundle):
    """What a process exchanges with others."""

    slot: Any = Array("i32", "n", "place in `everyone` of the atom of a number here")
    number: Any = Array("i32", "n", "the user's number of it")
    idle: Any = Array("i32", "n", "1 where no own atom needs the terms of the atom of a number here")
    mine: Any = Array("vec", "width", "own positions, and a vector that says what was met")
    since: Any = Array("vec", "width", "own positions when all processes made lists, angstrom")
    everyone: Any = Array("vec", "processes width", "those of all processes")
    told: Any = Array("vec", "processes", "what each process has met, of the last exchange")
    words: Any = Array("i32", "3", "see DONE")
    width: Any = Number("i32", "length of `mine`")
    first: Any = Number("i32", "own first place in `everyone`")
    last: Any = Number("i32", "behind the last one")
    processes: Any = Number("i32", "how many there are")


@cache
def shared_kernels(real: Any, coupling: Coupling) -> Any:
    """Kernels `begin`, `take`, `pack`, `prepare`, `empty_rows`.

    Args:
        real: ti.f64 or ti.f32, of the atoms.
        coupling: NVE, or what acts on each atom alone.
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
        ahead=Number("i32", "number of the step since the host looked, from 1 on"),
        step=Number("i64", "number of this step"),
        far2=Number("real", "square of the displacement from which all make lists anew, angstrom^2"),
        most_step2=Number("real", "square of the largest displacement in a step, angstrom^2"),
        dt=dt_of,
    )  # fmt: skip
    def begin(atoms, shared, control, bath, kicks, ahead, step, far2, most_step2, dt):
        """Half kicks and drift of own atoms, unless something holds them, or they have done this step."""
        for i in range(atoms.n):
            here = atoms.ident[i]
            at = shared.slot[here] - shared.first
            own = at >= 0 and shared.slot[here] < shared.last
            if own and control[REBUILD] == 0 and shared.words[DONE] < ahead:
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
            if shared.words[DONE] < ahead:
                if control[REBUILD] == 0:
                    shared.words[DONE] = ahead
                else:
                    met += WAITS
            blown = -1
            if shared.words[BLOWN] != NONE:
                blown = shared.words[BLOWN]
            what = ti.Vector([ti.cast(met, real), ti.cast(blown, real), ti.cast(shared.words[DONE], real)])
            shared.mine[shared.width - 1] = what

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "ident"),
        shared=Shared.only("slot", "everyone", "told", "width", "processes"),
        control=CONTROL,
        always=Number("i32", "1: whatever processes have met"),
    )  # fmt: skip
    def take(atoms, shared, control, always):
        """Positions of all atoms here, unless a process has met something."""
        for _ in range(1):
            for p in range(shared.processes):
                what = shared.everyone[p * shared.width + shared.width - 1]
                shared.told[p] = what
                if always == 0 and (what[0] != 0.0 or what[1] >= 0.0):
                    control[REBUILD] = 1
        for i in range(atoms.n):
            if always == 1 or control[REBUILD] == 0:
                atoms.pos[i] = shared.everyone[shared.slot[atoms.ident[i]]]

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

    return SimpleNamespace(begin=begin, take=take, pack=pack, prepare=prepare, empty_rows=empty_rows)
