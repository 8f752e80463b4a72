"""What one process holds of a system: its own atoms, those within reach, their arrays and kernels."""

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
from taichimd.parallel.kernels import ALIKE, GONE, PACE, Shared, shared_kernels
from taichimd.parallel.partition import Part, Slabs
from taichimd.program.device import Device
from taichimd.program.groups import Choice
from taichimd.system.cell import Cells
from taichimd.system.state import State

LEAST_MARGIN = 0.3
"""How far beyond the reach a process holds atoms at first, over the cutoff, at least. Atoms may move half of
it until they are chosen anew, which takes as long as some steps."""
OF_SLAB, MAX_MARGIN = 0.04, 1.0
"""The same over the thickness of a slab, and at most over the cutoff: a thin slab with a wide margin has more
atoms of others than own ones."""
OF_SLAB_OF_PAIRS, MAX_MARGIN_OF_PAIRS = 0.1, 2.0
"""The same of pair terms alone, which atoms of others cost little: nobody needs their rows."""
IDLE_BUILD, IDLE_ATOMS = 12.0, 50_000
"""Steps' worth of time that a common build costs on a GPU besides the work, of so many atoms or fewer: hosts
wait twice, and tell each other what they have."""


def margin_of(cutoff: float, thickness: float, pairs: bool) -> float:
    """How far beyond the reach a process holds atoms at first.

    Args:
        cutoff: longest of all terms, angstrom.
        thickness: of a slab, angstrom.
        pairs: whether there are pair terms alone.
    """
    share, most = (OF_SLAB_OF_PAIRS, MAX_MARGIN_OF_PAIRS) if pairs else (OF_SLAB, MAX_MARGIN)
    return min(max(share * thickness, LEAST_MARGIN * cutoff), most * cutoff)


@dataclass(frozen=True)
class Whole:
    """The system, as all processes know it.

    Attributes:
        kinds: (n,) numbers of the species. masses: (n,) amu. precision: see `Engine`.
        choice: the force field and how it is done. coupling: what acts on atoms besides.
        reach: how far from an atom its forces need others, angstrom. rows_reach: the same of their terms.
    """

    cells: Cells
    kinds: NDArray[np.int32]
    masses: Array
    precision: str
    choice: Choice
    coupling: Coupling
    reach: float
    rows_reach: float


class Held:
    """Atoms of one process; all processes make and call them together.

    Args:
        whole: the system.
        slabs: how it is cut.
        way: the transport.
        rank: number of the process.

    Attributes:
        device, state, shared, kernels: of the atoms here.
        allowed: angstrom that atoms may move until they are chosen anew.
    """

    device: Device | None = None
    state: State
    shared: Any
    kernels: Any
    part: Part

    def __init__(self, whole: Whole, slabs: Slabs, way: Any, rank: int) -> None:
        self.whole, self.slabs, self.rank = whole, slabs, rank
        self._way, self._xp = way, way.xp
        self.real = PRECISIONS[whole.precision][1]
        self._kinds = self._xp.asarray(whole.kinds)
        self._inverse = self._xp.asarray((1.0 / whole.masses).astype(self.real))

    @property
    def allowed(self) -> float:
        """See the class."""
        return 0.5 * (self.part.reach - self.whole.reach)

    def choose(self, positions: Any, velocities: Any) -> bool:
        """Choose the atoms of the slab, and those within reach, of positions and velocities (n, 3).

        Returns:
            Whether there is room for them; if not, `make` must make it, and this be called again.
        """
        whole, slabs = self.whole, self.slabs
        length = slabs.period
        if length == inf:
            depth = slabs.depth_of(positions, self._xp)
            length = float(depth.max() - depth.min())
        margin = margin_of(whole.choice.cutoff, length / slabs.processes, whole.rows_reach == 0.0)
        room = self.state.n if self.device else None
        self.part = slabs.part(positions, self.rank, room, whole.reach + margin, self._xp)
        if self.device is None or self.allowed < 0.25 * margin:
            self.device = None  # before its successor needs memory
            self.part = slabs.part(positions, self.rank, None, whole.reach + margin, self._xp)
            return False
        self._fill(positions, velocities)
        return True

    def make(self) -> None:
        """Arrays and kernels for the atoms that were chosen.

        Raises:
            CapacityError: they do not fit the memory.
        """
        whole, slabs, rank = self.whole, self.slabs, self.rank
        kinds, masses, members = whole.kinds, whole.masses, self.members()
        others = kinds, masses
        self.state = state = State(kinds[members], masses[members], whole.precision, others=others)
        alone = Baths([NVE()], [masses[members]], whole.cells)
        self.device = Device(state, whole.choice, alone, with_lists=False)
        if whole.choice.backend == "cuda":
            self.device.lists.skins.idle_build += IDLE_BUILD * min(1.0, IDLE_ATOMS / state.n)
        self.kernels = shared_kernels(
            state.real, whole.coupling, self.device.lists.near_list, whole.choice.backend
        )
        self.device.listed = self._empty_rows
        width, size, first = slabs.width, slabs.processes, rank * slabs.width
        mine, since, chosen = (ti.ndarray(state.vec, width) for _ in range(3))
        self.shared = Shared(
            slot=ti.ndarray(ti.i32, state.n),
            number=ti.ndarray(ti.i32, state.n),
            idle=ti.ndarray(ti.i32, state.n),
            mine=mine,
            since=since,
            chosen=chosen,
            everyone=ti.ndarray(state.vec, size * width) if size > 1 else mine,
            told=ti.ndarray(state.vec, size),
            words=ti.ndarray(ti.i32, ALIKE + 1),
            width=width,
            first=first,
            last=first + int(slabs.bounds[rank + 1] - slabs.bounds[rank]),
            processes=size,
        )

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
        way.write(shared.idle, self._idle().astype(np.int32))
        assert self.device is not None
        self.device.forces_known = self.device.evaluated = self.device.blown = False
        self.device.lists.outdate()

    def _idle(self) -> Any:
        """(m,) where no own atom needs the terms of an atom here, wherever both may go."""
        whole, away = self.whole, self.part.away
        if whole.rows_reach == 0.0:
            return away >= 0.0
        return away > whole.rows_reach + self.part.reach - whole.reach

    def _empty_rows(self) -> None:
        """Queue what leaves rows to those atoms alone whose terms are needed."""
        assert self.device is not None
        self.device.call(self.kernels.empty_rows, self.state, self.shared, self.device.lists.verlet)

    # Vectors of atoms.

    def members(self) -> Any:
        """Numbers of the atoms here, ascending."""
        return self.on_host(self.part.members)

    def on_host(self, values: Any) -> Any:
        """An array of `xp` as one of NumPy."""
        return values if self._xp is np else values.get()

    def pack(self, array: Any, target: Any) -> None:
        """Queue a copy of the vectors of own atoms, in the order of the gathered array."""
        assert self.device is not None
        self.device.call(self.kernels.pack, self.state, self.shared, array, target)

    def own(self, array: Any) -> Any:
        """Vectors of own atoms, where `xp` has them."""
        self.pack(array, self.shared.mine)
        return self._way.read(self.shared.mine, self.shared.last - self.shared.first)

    def all(self, array: Any) -> Any:
        """Vectors of all atoms (n, 3) in the user's order, where `xp` has them."""
        shared = self.shared
        self.pack(array, shared.mine)
        self._way.gather(shared.mine, shared.everyone)
        return self._way.read(shared.everyone, shared.width * shared.processes)[self.part.slot]

    def in_order(self, array: Any) -> Array:
        """The same on the host, in float64."""
        return np.asarray(self.on_host(self.all(array)), np.float64)

    def met(self) -> Array:
        """(processes, 3) what processes have met, from the last exchange; waits for the device."""
        return on_host(self.shared.told).astype(float)

    def mark(self, anew: bool, least: float) -> None:
        """Queue what counts displacements and steps from here on.

        Args:
            anew: whether atoms were just chosen.
            least: angstrom that some atom has gone since then, at least; more is taken as gone, too.
        """
        assert self.device is not None
        self.device.call(self.kernels.mark, self.state, self.shared, int(anew), least**2)

    def bears(self) -> tuple[float, float, float, float]:
        """How far atoms may go; waits for the device.

        Returns:
            How far with these lists, and with this choice of atoms; how far own ones have gone between their
            choice and the last `mark`, and at most in a step before it. Angstrom.
        """
        assert self.device is not None
        skins, near_list = self.device.lists.skins, self.device.lists.near_list
        gone, pace = np.sqrt(on_host(self.shared.words)[[GONE, PACE]].view(np.float32)).tolist()
        return skins.drift if near_list else skins.near, self.allowed, gone, pace

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
