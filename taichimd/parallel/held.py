"""What one process holds of a system: its own atoms, those within reach, their arrays and kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.host_copies import on_host
from taichimd.core.runtime import PRECISIONS, ti
from taichimd.ensembles.bath import Baths
from taichimd.ensembles.coupling import Coupling
from taichimd.ensembles.registry import NVE
from taichimd.parallel.kernels import Places, shared_kernels
from taichimd.parallel.partition import Part, Slabs
from taichimd.parallel.phases import NoPhases, Phases
from taichimd.parallel.renew import renew_kernel
from taichimd.parallel.transport import Route
from taichimd.parallel.words import BUILDS, GONE, LAST, PACE, RENEW, WORDS, Shared
from taichimd.program.device import Device
from taichimd.program.groups import Choice
from taichimd.system.cell import Cells
from taichimd.system.state import State

ROUNDED = 1e-3
"""Angstrom; more than distances of float32 from a slab are wrong by."""
FARTHEST = 1e6
"""Angstrom; farther than any atom may go."""
LEAST_MARGIN = 0.3
"""How far beyond the reach a process holds atoms at first, over the cutoff, at least. Atoms may move half of
it until they are chosen anew, which takes as long as some steps."""
OF_SLAB, MAX_MARGIN = 0.08, 1.0
"""The same over the thickness of a slab, and at most over the cutoff: a thin slab with a wide margin has more
atoms of others than own ones."""
OF_SLAB_OF_PAIRS, MAX_MARGIN_OF_PAIRS = 0.1, 2.0
"""The same of pair terms alone, which atoms of others cost little: nobody needs their rows."""
IDLE_BUILD, IDLE_ATOMS = 12.0, 50_000
"""Steps' worth of time that a common build costs on a GPU besides the work, of so many atoms or fewer: hosts
wait twice, and tell each other what they have."""


def margin_of(cutoff: float, thickness: float, pairs: bool) -> float:
    """How far beyond the reach a process holds atoms at first; lengths in angstrom."""
    share, most = (OF_SLAB_OF_PAIRS, MAX_MARGIN_OF_PAIRS) if pairs else (OF_SLAB, MAX_MARGIN)
    return min(max(share * thickness, LEAST_MARGIN * cutoff), most * cutoff)


@dataclass(frozen=True)
class Whole:
    """The system, as all processes know it."""

    cells: Cells
    kinds: NDArray[np.int32]  # (n,) numbers of the species
    masses: Array  # (n,) amu
    precision: str  # see `Engine`
    choice: Choice  # the force field and how it is done
    coupling: Coupling  # what acts on atoms besides
    reach: float  # how far from an atom its forces need others, angstrom
    rows_reach: float  # the same of their terms


class Held:
    """Atoms of one process; all processes make and call them together.

    Args:
        whole: the system.
        slabs: how it is cut.
        way: the transport.
        rank: number of the process.

    Attributes:
        device, state, shared, places, kernels: of the atoms here.
        route: what an exchange sends and receives.
        served: angstrom that atoms may be from where they were chosen, for the terms that are evaluated.
        phases: measures phases of steps, or nothing.
        allowed: angstrom that atoms may move until they are chosen anew.
    """

    device: Device | None = None
    served = inf
    phases: Phases | NoPhases = NoPhases()
    state: State
    shared: Any
    places: Places
    kernels: Any
    part: Part
    route: Route

    def __init__(self, whole: Whole, slabs: Slabs, way: Any, rank: int) -> None:
        self.whole, self.slabs, self.rank = whole, slabs, rank
        self._way, self._xp = way, way.xp
        self.real = PRECISIONS[whole.precision][1]
        self._kinds = self._xp.asarray(whole.kinds)
        self._inverse = self._xp.asarray((1.0 / whole.masses).astype(self.real))
        self._rooms: list[int | None] = [None] * slabs.processes

    @property
    def allowed(self) -> float:
        """See the class."""
        return 0.5 * (self.part.reach - self.whole.reach)

    def choose(self, positions: Any, velocities: Any) -> bool:
        """Choose atoms of the slab and in reach, of (n, 3) each; whether there is room, else call `make`."""
        whole, slabs, xp = self.whole, self.slabs, self._xp
        depth = slabs.depth_of(positions, xp)
        length = slabs.period if slabs.period < inf else float(depth.max() - depth.min())
        margin = margin_of(whole.choice.cutoff, length / slabs.processes, whole.rows_reach == 0.0)
        wanted, order = whole.reach + margin, slabs.order_of(depth, xp)
        # Each process finds what all hold, and so what it has to send them.
        held = slabs.stretches(depth, order, self._rooms, wanted, xp)
        rooms = [
            room if 0.5 * (one.reach - whole.reach) >= 0.25 * margin else None
            for room, one in zip(self._rooms, held, strict=True)
        ]
        if rooms != self._rooms:
            held = slabs.stretches(depth, order, rooms, wanted, xp)
        self._rooms = [one.length for one in held]
        fits = self.device is not None and rooms[self.rank] is not None
        if not fits:
            self.device = None  # before its successor needs memory
        self.part = slabs.part(depth, order, held, self.rank, xp)
        if fits:
            self._fill(positions, velocities)
        self._way.trim()
        return fits

    def make(self) -> None:
        """Arrays and kernels for the atoms that were chosen."""
        whole, slabs, rank = self.whole, self.slabs, self.rank
        kinds, masses, members = whole.kinds, whole.masses, self.members()
        others = kinds, masses
        self.state = state = State(kinds[members], masses[members], whole.precision, others=others)
        no_bath = Baths([NVE()], [masses[members]], whole.cells)
        self.device = Device(state, whole.choice, no_bath, with_lists=False)
        if whole.choice.backend == "cuda":
            self.device.lists.skins.idle_build += IDLE_BUILD * min(1.0, IDLE_ATOMS / state.n)
        self.kernels = shared_kernels(
            state.real, whole.coupling, self.device.lists.near_list, whole.choice.backend
        )
        self.device.listed = self._after_lists
        self._away = ti.ndarray(state.real, state.n)
        self.device.lists.verlet.give_rows_near(self._away)
        self.places = Places(state.sorted_of, self.device.lists.verlet.built_at, self.device.lists.listed_at)
        first = rank * slabs.width
        self.shared = Shared(
            slot=ti.ndarray(ti.i32, state.n),
            number=ti.ndarray(ti.i32, state.n),
            owned=ti.ndarray(ti.i32, state.n),
            chosen=ti.ndarray(state.vec, slabs.width),
            ends=ti.ndarray(ti.i32, slabs.processes),
            told=ti.ndarray(state.vec, slabs.processes),
            words=ti.ndarray(ti.i32, WORDS),
            first=first,
            last=first + int(slabs.bounds[rank + 1] - slabs.bounds[rank]),
            processes=slabs.processes,
            rank=rank,
        )
        self.shared.words.fill(0)

    def _fill(self, positions: Any, velocities: Any) -> None:
        """Put the atoms that were chosen into the arrays."""
        way, state, shared, members = self._way, self.state, self.shared, self.part.members
        for array in (state.ident, state.sorted_of):
            way.write(array, self._xp.arange(state.n, dtype=np.int32))
        way.write(state.kind, self._kinds[members])
        way.write(state.inverse_mass, self._inverse[members])
        way.write(state.pos, positions[members])
        way.write(state.vel, velocities[members])
        way.write(shared.slot, self.part.slot[members])
        way.write(shared.number, members)
        way.write(self._away, self.part.away.astype(self.real))
        self._lay_out_messages()
        assert self.device is not None
        self.device.forces_known = self.device.evaluated = self.device.blown = False
        self.device.lists.outdate()

    def _lay_out_messages(self) -> None:
        """Arrays of messages to and from other processes: positions, and a vector that says what was met."""
        shared, part = self.shared, self.part
        shared.sent_of, sends, _ = self._messages(part.sends)
        shared.received_of, receives, ends = self._messages(part.receives)
        shared.ends.from_numpy(np.array(ends, np.int32))
        self.route = Route(tuple(sends), tuple(receives))
        shared.n_sent, shared.n_received = (sum(n for _, _, n in way) for way in (sends, receives))
        shared.sent, shared.received = (
            ti.ndarray(self.state.vec, max(n, 1)) for n in (shared.n_sent, shared.n_received)
        )

    def _messages(self, numbers: Sequence[Any]) -> tuple[Any, list[tuple[int, int, int]], list[int]]:
        """Atoms of messages to each process, numbered here, and where these begin and end.

        -1 ends each message; then process, first place and length of each; last place of each process, -1 of
        this one.
        """
        xp, first, routes, ends, parts = self._xp, 0, [], [], []
        for p, atoms in enumerate(numbers):
            if p == self.rank:
                ends.append(-1)
                continue
            here = xp.searchsorted(self.part.members, atoms).astype(np.int32) if len(atoms) else atoms
            parts += [here, xp.full(1, -1, np.int32)]
            routes.append((p, first, len(atoms) + 1))
            first += len(atoms) + 1
            ends.append(first - 1)
        array = ti.ndarray(ti.i32, max(first, 1))
        if parts:
            self._way.write(array, xp.concatenate(parts))
        return array, routes, ends

    def give_rows(self, spread: float) -> None:
        """From the next lists on, only atoms get rows whose terms own atoms need; `spread` in angstrom."""
        assert self.device is not None
        whole, needed, self.served = self.whole, -0.5, spread
        if whole.rows_reach > 0.0:
            needed = whole.rows_reach + 2.0 * min(spread, self.allowed) + ROUNDED
        self.device.lists.verlet.sort.needed = needed

    def renew(self, least: float) -> None:
        """Queue what rebuilds lists, if all agree that it is due; `least` angstrom must be left to atoms."""
        assert self.device is not None
        state, lists = self.state, self.device.lists
        verlet = lists.verlet
        kernel = renew_kernel(state.real, verlet.search, verlet.layout, len(state.carried))
        self.device.call(
            kernel, state, state.carried, state.spare, state.spare_carried, verlet, lists.control,
            verlet.sort, self.shared, self.allowed, min(self.served, FARTHEST), least,
        )  # fmt: skip

    def renewed(self) -> tuple[int, int, bool]:
        """Lists that the device has made since the host did, steps until then, whether it has just now."""
        words = on_host(self.shared.words)
        return int(words[BUILDS]), int(words[LAST]), bool(words[RENEW])

    def _after_lists(self) -> None:
        """Queue what finds places of own atoms."""
        assert self.device is not None
        self.device.call(self.kernels.listed, self.state, self.shared, self.device.lists.control)
        self.phases.mark("lists")

    # Vectors of atoms.

    def members(self) -> Any:
        """Numbers of the atoms here, ascending."""
        return self.on_host(self.part.members)

    def on_host(self, values: Any) -> Any:
        """An array of `xp` as one of NumPy."""
        return values if self._xp is np else values.get()

    def _packed(self, array: Any) -> Any:
        """A new array of the device with vectors of own atoms, in the order of the slabs."""
        assert self.device is not None
        mine = ti.ndarray(self.state.vec, self.slabs.width)
        self.device.call(self.kernels.pack, self.state, self.shared, array, mine)
        return mine

    def all(self, array: Any) -> Any:
        """Vectors of all atoms (n, 3) in the user's order, where `xp` has them."""
        return self._way.gather(self._packed(array))[self.part.slot]

    def in_order(self, array: Any) -> Array:
        """The same on the host, in float64."""
        return np.asarray(self.on_host(self.all(array)), np.float64)

    def met(self) -> Array:
        """(processes, 3) what processes have met, from the last exchange; waits for the device."""
        return on_host(self.shared.told).astype(float)

    def mark(self, anew: bool, least: float) -> None:
        """Queue what counts displacements and steps from here on; at least `least` angstrom count as gone."""
        assert self.device is not None
        self.device.call(self.kernels.mark, self.state, self.shared, int(anew), least**2)

    def bears(self) -> tuple[float, float, float, float, bool]:
        """How far atoms may go with these lists, and with this choice; waits for the device.

        Then how far own ones have gone between their choice and the last `mark`, and at most in a step before
        it. Angstrom. Whether the device may rebuild lists: their skins are learnt, and no atom can leave the
        bins.
        """
        assert self.device is not None
        lists = self.device.lists
        skins, learnt = lists.skins, lists.builds_allowed > 0 and lists.bins_hold
        gone, pace = np.sqrt(on_host(self.shared.words)[[GONE, PACE]].view(np.float32)).tolist()
        return skins.drift if lists.near_list else skins.near, self.allowed, gone, pace, learnt

    def columns(self) -> tuple[Any, Array]:
        """Numbers of own atoms, and their energy, kinetic energy (eV) and virial (eV): (own, 11)."""
        state, shared, device = self.state, self.shared, self.device
        assert device is not None
        slot = shared.slot.to_numpy()
        here = np.flatnonzero((slot >= shared.first) & (slot < shared.last))
        at = state.sorted_of.to_numpy()[here]
        energy, virial = (array.to_numpy().astype(float) for array in device.outputs)
        v, inverse = state.vel.to_numpy().astype(float)[at], state.inverse_mass.to_numpy().astype(float)[at]
        squares = v[:, 0] * v[:, 0] + v[:, 1] * v[:, 1] + v[:, 2] * v[:, 2]
        parts = energy[at], squares / (2 * inverse), virial.reshape(-1, 9)[at]
        return self.members()[here], np.column_stack(parts)
