"""Forces on atoms of another program that divides space among processes and gives each its atoms and ghosts.

Ghosts are copies of atoms of others, or periodic images. There must be all within `reach` of a local atom.
Terms of ghosts are evaluated, too: so forces on local atoms are complete, and nobody has to send forces back.
The engine's own lists serve, in a periodic box that is too wide for an atom to meet an image.
"""

from functools import cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Number, kernel, types_of
from taichimd.core.arrays import Array
from taichimd.core.errors import EvaluationError, SettingsError
from taichimd.core.host_copies import to_device, to_host
from taichimd.core.runtime import PRECISIONS, start, ti
from taichimd.ensembles.bath import Baths
from taichimd.ensembles.registry import NVE
from taichimd.enumerate.reproducible_sum import ALL, FORCE
from taichimd.enumerate.terms import NEIGHBOUR_SUM, ByTuple
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import Bound
from taichimd.neighbours.skins import MAX_INNER
from taichimd.program.decomposition import by_tuple, choose
from taichimd.program.device import Device
from taichimd.program.groups import Choice
from taichimd.program.results import NotCopied
from taichimd.system.cell import Cells
from taichimd.system.state import Atoms, State

SPARE = 0.05
"""Part of the atoms for which there is room besides, so that arrays serve when atoms come and go."""
APART = 3.0
"""Angstrom between the atoms that fill this room, which are far from all others."""
ROOM = 10.0
"""Angstrom that atoms may move before the box is looked at: more than between two builds of a list."""


class GhostForces(NotCopied):
    """A force field for local atoms among ghosts.

    Args:
        forcefield: any of finite cutoffs, with neighbour lists, without charges.
        species: elements, in the order of the kinds of atoms.
        backend: "auto", "cuda" or "cpu".
        precision: "float64", "float32" or "mixed".

    Raises:
        SettingsError: a force field that needs more than ghosts within a range.
        MissingParameterError: species that the force field does not know.

    Attributes:
        name: of the force field. reach: angstrom that ghosts must reach beyond local atoms.
        numpy_real: NumPy's type of forces on the device.
    """

    def __init__(
        self, forcefield: ForceField, species: list[str], *, backend: str = "auto", precision: str = "float64"
    ) -> None:
        check_ghosts_do(forcefield)
        self.backend, self._precision = start(backend), precision
        self.name, self._number_of = forcefield.name, sorted(set(species))
        self._kind_of = np.array([self._number_of.index(s) for s in species], np.int32)
        self._bounds = forcefield.bind(self._number_of)
        terms = [bound.terms for bound in self._bounds]
        how = choose("auto", terms, False, self.backend)
        self._choice = Choice(
            self._bounds, tuple(by_tuple(how, one) for one in terms), self.backend, False, None
        )
        self.reach = max(map(reach_of, self._bounds))
        self.numpy_real: Any = PRECISIONS[precision][1]
        self._device: Device | None = None
        self._margin = self._choice.cutoff + ROOM

    def set_atoms(self, kinds: NDArray[np.integer], positions: Array, local: int) -> None:
        """Take other atoms: kinds and (n, 3) positions, angstrom, of `local` ones, then of ghosts."""
        self._local = local
        self._of_atoms = self._kind_of[kinds]
        self._place(positions)

    def _place(self, positions: Array) -> None:
        """Put these atoms into a box that is wide enough."""
        _check_finite(positions)
        n = len(positions)
        low, high = positions.min(axis=0), positions.max(axis=0)
        self._low = low
        if self._device is None or n > self._state.n or not self._fits(low, high):
            self._make(n, high - low + 2.0 * self._margin)
        assert self._device is not None
        state = self._state
        given = np.vstack([positions, self._aside(state.n - n, low - self._margin)])
        self._kinds[:n] = self._of_atoms
        for name in ("ident", "sorted_of"):
            getattr(state, name).from_numpy(np.arange(state.n, dtype=np.int32))
        state.kind.from_numpy(self._kinds)
        state.set("pos", given)
        self._device.moved()
        self._device.lists.outdate()
        self._given, self._forces = ti.ndarray(state.vec, n), ti.ndarray(state.vec, max(self._local, 1))
        self._seen = -1

    def _fits(self, low: Array, high: Array) -> bool:
        """Whether atoms between these corners are far from their images and from all others."""
        wide = np.maximum(high - low, high - self._low) + self._margin
        return bool((wide < self._box).all() and (low > self._low - 0.5 * ROOM).all())

    def forces(self, positions: Array, *, totals: bool = True, out: Array | None = None) -> Array:
        """Forces on the local atoms, (local, 3) eV/angstrom, in `out` if it is given.

        `totals`: whether `totals` and `shares` will be asked for, too. EvaluationError: positions that are
        not finite. StructureError: atoms on top of each other.
        """
        device, state = self._device, self._state
        assert device is not None, "atoms are set first"
        _check_finite(positions)
        take, give = _copies(state.real)
        to_device(self._given, np.ascontiguousarray(positions, state.numpy_real))
        device.call(take, state, self._given, len(positions))
        device.moved()
        device.finish(ALL if totals else FORCE)
        builds = device.lists.verlet.builds
        if builds != self._seen:
            # Between two builds atoms move less than the margin has beyond the cutoff.
            if not self._fits(positions.min(axis=0), positions.max(axis=0)):
                self._place(positions)
                return self.forces(positions, totals=totals, out=out)
            self._seen = builds
        device.call(give, state, self._forces, self._local)
        found = np.empty((max(self._local, 1), 3), state.numpy_real) if out is None else out
        to_host(self._forces, found)
        return found[: self._local].astype(float, copy=False)

    def totals(self) -> tuple[float, Array]:
        """Energy (eV) and virial (3, 3) (eV) of the local atoms, of the last forces."""
        assert self._device is not None, "atoms are evaluated first"
        self._device.call(_clear_ghosts(self._state.real), self._state, *self._device.outputs, self._local)
        total = self._device.sums("totals")[0]
        return float(total[0]), total[2:].reshape(3, 3)

    def shares(self) -> tuple[Array, Array]:
        """Energies (local) and virials (local, 3, 3) of the local atoms, eV, of the last forces."""
        assert self._device is not None, "atoms are evaluated first"
        order = self._state.sorted_of.to_numpy()[: self._local]
        energies, virials = (array.to_numpy().astype(float) for array in self._device.outputs)
        return energies[order], virials.reshape(-1, 3, 3)[order]

    def _make(self, n: int, box: Array) -> None:
        """Room for n atoms and more in a box."""
        room = n + int(SPARE * n) + 64
        in_plane = max(int(box[0] / APART), 1) * max(int(box[1] / APART), 1)
        # Above the atoms are those that stand for none, a margin away from atoms and their images.
        self._box, self._layers = box.copy(), APART * (room // in_plane + 1) + self._margin
        self._device = None  # before its successor needs memory
        kinds = np.arange(room, dtype=np.int32) % len(self._number_of)
        self._state = state = State(kinds, np.ones(room), self._precision)
        self._kinds = kinds
        state.set("pos", self._aside(room, np.zeros(3)))
        cells = Cells([np.diag([*box[:2], box[2] + self._layers])], [np.ones(3, bool)])
        self._device = Device(state, self._choice, Baths([NVE()], [np.ones(room)], cells))

    def _aside(self, n: int, corner: Array) -> Array:
        """Places (n, 3) for atoms that stand for none, below a corner of the others."""
        nx, ny = (max(int(length / APART), 1) for length in self._box[:2])
        i = np.arange(n)
        return np.asarray(corner - APART * np.stack([-(i % nx), -(i // nx % ny), i // (nx * ny)], axis=1))


def check_ghosts_do(forcefield: ForceField) -> None:
    """Raise a SettingsError for a force field that needs more than ghosts within a range."""
    name = forcefield.name
    forcefield.check_compiled("several processes")
    if forcefield.charged:
        raise SettingsError(
            f"{name}: charges depend on all atoms, not only on the atoms and ghosts of one process; "
            "use a potential without charges, or taichimd run"
        )
    if forcefield.cutoff == inf:
        raise SettingsError(
            f"{name}: a term without a cutoff needs all atoms; give it one, as AxilrodTeller(cutoff=8.5)"
        )
    if forcefield.enumeration == "all-pairs":
        raise SettingsError(f'{name}: the enumeration "all-pairs" needs all atoms; use "neighbours"')


def reach_of(bound: Bound) -> float:
    """How far from a local atom its forces need ghosts, angstrom."""
    terms = bound.terms
    if terms.passes is not None:
        program = terms.passes.function
        if program.state:
            raise SettingsError(
                f"{bound.name}: its atoms keep {', '.join(program.state)} from step to step, and an atom "
                "that moves to another process would lose it; use taichimd run"
            )
        sums = sum(one.kind == NEIGHBOUR_SUM for one in program.passes)
        return float((1 + sums) * bound.cutoffs.max())
    if terms.many_body:
        return float(max(2.0 * bound.near_cutoffs.max(), bound.cutoffs.max()))
    return float(bound.cutoffs.max())


def rows_reach(bound: Bound, by_tuple: ByTuple) -> float:
    """How far from a local atom its forces need terms, and so rows, of others, angstrom; 0: nowhere."""
    if bound.terms.passes is not None:
        return inf
    # Where a list has each pair once, it may stand in the row of the other atom.
    pairs = float(bound.cutoffs.max()) if by_tuple.pairs else 0.0
    if not bound.terms.many_body:
        return pairs
    # Rows hold what is beyond the cutoff by a skin, too, and each entry looks for its reverse.
    return max(float(bound.near_cutoffs.max() + MAX_INNER * bound.cutoffs.max()), pairs)


def _check_finite(positions: Array) -> None:
    """Raise an EvaluationError unless all positions are finite numbers."""
    if not np.isfinite(positions.sum()):
        atom = int(np.argmin(np.isfinite(positions).all(axis=1)))
        raise EvaluationError(
            f"local atom {atom} (counted from 0) is at {positions[atom].tolist()}, expected finite numbers; "
            "take a shorter time step, or relax the structure first"
        )


@cache
def _copies(real: Any) -> tuple[Any, Any]:
    """Kernels: positions from an array of the given atoms, forces to one of the local atoms."""
    some = Number("i32", "atoms before this one are in the array")
    atoms_of, array = Atoms.only("n", "ident", "pos", "force"), ArrayField("vec", "some", "of these atoms")

    @kernel(types_of(real), atoms=atoms_of, array=array, some=some)
    def take(atoms, array, some):
        for i in range(atoms.n):
            if atoms.ident[i] < some:
                atoms.pos[i] = array[atoms.ident[i]]

    @kernel(types_of(real), atoms=atoms_of, array=array, some=some)
    def give(atoms, array, some):
        for i in range(atoms.n):
            if atoms.ident[i] < some:
                array[atoms.ident[i]] = atoms.force[i]

    return take, give


@cache
def _clear_ghosts(real: Any) -> Any:
    """Kernel: energies and virials of ghosts become 0."""
    numbers, local = (
        ArrayField("real", "n", "of each atom, eV"),
        Number("i32", "atoms before this one are local"),
    )

    @kernel(types_of(real), atoms=Atoms.only("n", "ident"), energy=numbers, virial=numbers, local=local)
    def clear_ghosts(atoms, energy, virial, local):
        for i in range(atoms.n):
            if atoms.ident[i] >= local:
                energy[i] = 0.0
                for c in ti.static(range(9)):
                    virial[9 * i + c] = 0.0

    return clear_ghosts
