"""Trial moves of single atoms, one after the other, each with all threads: for energies without a cutoff.

The change of the energy with one atom is a sum over all pairs of the others. They come in equal parts: atom q of the m others
has the pairs (q, q + d) mod m with d = 1 to floor((m - 1)/2), and, if m is even and q < m/2, (q, q + m/2).

A part is summed in order. Parts are added as multiples of 2^-36 and 2^-72 eV (`enumerate.reproducible_sum`): as whole numbers they
have no order. What a part is depends on the number of atoms alone.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, View, kernel, types_of
from taichimd.core.math import log
from taichimd.core.random import uniform2
from taichimd.core.runtime import QUICK_COMPILE, WARPS, in_double, ti
from taichimd.core.streams import MC_MOVE
from taichimd.enumerate.reproducible_sum import BITS, COARSE, FINE, RANGE, empty_sums
from taichimd.enumerate.triangles import Placed
from taichimd.neighbours.rows import WARP, NearRows, VerletRows, row_layout
from taichimd.program.device import Device
from taichimd.sampling.local_energy import Local, change_function, sides_function
from taichimd.sampling.proposals import Trials
from taichimd.system.state import Atoms

UNROLL = 2 if QUICK_COMPILE else 8
"""Atoms of one call."""
SLOTS = 32
"""Places where threads add up, so that not all wait for one."""
ENOUGH = 200_000
"""Threads that keep a large GPU busy."""
SHORTEST = 16
"""Pairs of others that a thread has, at least."""
UP, DOWN, ACCEPTED, ROUGH = range(4)
"""Whether the present change is above or below all range; accepted moves; whether one of them was below it."""


class Tally(Bundle):
    """What threads tell each other."""

    high: Any = Array("i64", "SLOTS", "first parts of sums, in 2^-36 eV")
    low: Any = Array("i64", "SLOTS", "second parts, in 2^-72 eV")
    marks: Any = Array("i32", "4", "see above")
    gain: Any = Array("f64", "1", "change of the energy by accepted moves, eV")
    sides: Any = Array(
        "f64", "7 n", "of all atoms r^2 from one before its move, what it gives; the same behind it; x, y, z"
    )


class Share(Bundle):
    """What a call does, and how threads share it."""

    first: Any = Number("i32", "number of the first atom")
    threads: Any = Number("i32", "whole warps")
    parts: Any = Number("i32", "of the pairs of each atom")


class _Given(View):
    """What sums read."""


@cache
def sequence_kernels(
    terms: tuple[Local, ...], n_kinds: int, real: Any, term: Any, backend: str
) -> tuple[Any, Any]:
    """Kernels that put atoms in the order of the user's numbers, and that move some, one after the other.

    Args:
        terms: of the energy.
        n_kinds: species.
        real: type of positions.
        term: of what is computed from distances.
        backend: "cuda" or "cpu".
    """
    types, layout, number = types_of(real, term), row_layout(backend), len(terms)
    warps = backend == "cuda" and WARPS
    changes = [change_function(one, n_kinds, real, term, layout, boards=False) for one in terms]
    rows = tuple(None if one.everywhere else NearRows.only("width", "count", "entries") for one in terms)
    tables = tuple(Array("term" if one.pair else "f64", "numbers", "parameters of a term") for one in terms)
    everywhere = [one.triple for one in terms if one.everywhere]
    stores = [sides_function(one) for one in everywhere[:1]]
    sorted_of = Array("i32", "n", "place of each user's number")

    @kernel(types, atoms=Atoms.only("n", "pos", "kind", "ident"), placed=Placed, tally=Tally)
    def begin(atoms, placed, tally):
        for i in range(atoms.n):
            placed.pos[atoms.ident[i]] = ti.cast(atoms.pos[i], ti.f64)
            placed.kind[atoms.ident[i]] = atoms.kind[i]
        for k in range(SLOTS):
            tally.high[k] = 0
            tally.low[k] = 0
            if k < 4:
                tally.marks[k] = 0
            if k == 0:
                tally.gain[0] = 0.0

    @ti.func
    def trial(atom, x, trials: ti.template()):
        """Where an atom is to go, and the number that decides."""
        u, v = uniform2(trials.seed, atom, trials.sweep, MC_MOVE, 0)
        w, chance = uniform2(trials.seed, atom, trials.sweep, MC_MOVE, 1)
        return x + trials.most * (2.0 * ti.Vector([u, v, w]) - 1.0), chance

    @in_double
    def leave(sums, thread, tally: ti.template()):
        """Add what a thread has found."""
        coarse, fine = sums[0] - COARSE, sums[1] - FINE
        if not coarse < RANGE:
            tally.marks[UP] = 1
            coarse, fine = ti.cast(0.0, ti.f64), ti.cast(0.0, ti.f64)
        elif coarse <= -RANGE:
            tally.marks[DOWN] = 1
            coarse, fine = ti.cast(0.0, ti.f64), ti.cast(0.0, ti.f64)
        if ti.static(warps):
            coarse = ti.simt.subgroup.reduce_add_tiled(coarse, 5)
            fine = ti.simt.subgroup.reduce_add_tiled(fine, 5)
        if ti.static(not warps) or thread % WARP == 0:
            slot = thread // WARP % SLOTS
            ti.atomic_add(tally.high[slot], ti.cast(coarse * 2.0**BITS, ti.i64))
            ti.atomic_add(tally.low[slot], ti.cast(fine * 2.0 ** (2 * BITS), ti.i64))

    @in_double
    def decide(chance, beta, tally: ti.template()):
        """Whether the move is accepted; forgets its sums. Serial."""
        high, low = ti.cast(0, ti.i64), ti.cast(0, ti.i64)
        for k in range(SLOTS):
            high += tally.high[k]
            low += tally.low[k]
            tally.high[k] = 0
            tally.low[k] = 0
        change = ti.cast(high, ti.f64) * 2.0**-BITS + ti.cast(low, ti.f64) * 2.0 ** (-2 * BITS)
        accepts = 0
        if tally.marks[UP] == 0:
            if tally.marks[DOWN] == 1:
                accepts = 1
                tally.marks[ROUGH] = 1
            elif ti.cast(log(chance), ti.f64) < -beta * change:
                accepts = 1
                tally.gain[0] += change
        tally.marks[ACCEPTED] += accepts
        tally.marks[UP] = 0
        tally.marks[DOWN] = 0
        return accepts

    @kernel(types, graph=True, atoms=Atoms.only("n", "pos", "inverse_mass", "kind"), sorted_of=sorted_of, verlet=VerletRows.only("shift_bits", "shifts"), rows=rows, tables=tables, placed=Placed, tally=Tally, share=Share, trials=Trials)  # fmt: skip
    def move(atoms, sorted_of, verlet, rows, tables, placed, tally, share, trials):
        g = _Given(
            atoms=atoms, verlet=verlet, rows=rows, tables=tables, placed=placed, tally=tally, share=share
        )
        for a in ti.static(range(UNROLL)):
            for j in range(atoms.n):
                atom = share.first + a
                if atom < atoms.n:
                    x = atoms.pos[sorted_of[atom]]
                    y, _ = trial(atom, x, trials)
                    for store in ti.static(stores):
                        store(x, y, j, atoms.n, placed, tally.sides)
            for thread in range(share.threads):
                atom = share.first + a
                if atom < atoms.n:
                    i = sorted_of[atom]
                    if atoms.inverse_mass[i] > 0.0:
                        x = atoms.pos[i]
                        y, _ = trial(atom, x, trials)
                        sums = empty_sums(1)
                        for k in ti.static(range(number)):
                            if ti.static(terms[k].everywhere):
                                changes[k](sums, atom, thread, share.threads, x, y, 0, g, k)
                            else:
                                changes[k](sums, i, thread, share.threads, x, y, 0, g, k)
                        leave(sums, thread, tally)
            for _ in range(1):
                atom = share.first + a
                if atom < atoms.n:
                    i = sorted_of[atom]
                    if atoms.inverse_mass[i] > 0.0:
                        y, chance = trial(atom, atoms.pos[i], trials)
                        if decide(chance, trials.beta, tally) == 1:
                            atoms.pos[i] = y
                            placed.pos[atom] = ti.cast(y, ti.f64)

    return begin, move


class Sequence:
    """The arrays of sweeps of one system.

    Args:
        device: the system.
        terms: of the energy.
        n_kinds: species.
        backend: "cuda" or "cpu".
    """

    def __init__(self, device: Device, terms: tuple[Local, ...], n_kinds: int, backend: str) -> None:
        state = device.state
        self._device = device
        self._begin, self._move = sequence_kernels(terms, n_kinds, state.real, state.term, backend)
        self._placed = Placed(ti.ndarray(ti.types.vector(3, ti.f64), state.n), ti.ndarray(ti.i32, state.n))
        integers, sides = [ti.ndarray(ti.i64, SLOTS) for _ in range(2)], ti.ndarray(ti.f64, 7 * state.n)
        self._tally = Tally(*integers, ti.ndarray(ti.i32, 4), ti.ndarray(ti.f64, 1), sides)
        self._parts = max(1, min(-(-ENOUGH // state.n), state.n // 2 // SHORTEST))
        self._threads = -(-state.n * self._parts // WARP) * WARP

    def sweep(self, rows: Any, tables: Any, trials: Trials) -> tuple[float | None, int]:
        """A trial move of each free atom; the change of the energy, None if only an evaluation tells, and accepted moves."""
        device, state = self._device, self._device.state
        device.call(self._begin, state, self._placed, self._tally)
        for first in range(0, state.n, UNROLL):
            share = Share(first, self._threads, self._parts)
            device.call(
                self._move, state, state.sorted_of, device.lists.verlet, rows, tables, self._placed, self._tally,
                share, trials,
            )  # fmt: skip
        marks = self._tally.marks.to_numpy()
        gain = float(self._tally.gain.to_numpy()[0])
        return None if marks[ROUGH] else gain, int(marks[ACCEPTED])
