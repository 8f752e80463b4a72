"""The atoms on the device: one array per quantity, kept in spatial order.

The user's order survives as `ident` (the user's number of the atom at a sorted place) and `sorted_of` (its
inverse); everything that leaves this class is in the user's order.
"""

from collections.abc import Sequence
from copy import copy
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.errors import SettingsError
from taichimd.core.host_copies import on_host
from taichimd.core.runtime import PRECISIONS, TERM_PRECISIONS, literals, ti

LEAST_INVERSE_MASS = 1e-30
"""1/amu, below that of any atom: divides in place of the 0 of a fixed one, which has no velocity, so that 0/0
becomes 0. It is a number of single precision, too."""


class Atoms(Bundle):
    """The arrays of a `State`, in spatial order."""

    n: Any = Number("i32", "number of atoms")
    pos: Any = ArrayField("vec", "n", "positions, angstrom, which only `system.folding` folds")
    vel: Any = ArrayField("vec", "n", "velocities, angstrom per internal time unit")
    force: Any = ArrayField("vec", "n", "forces, eV/angstrom")
    inverse_mass: Any = ArrayField("real", "n", "1/amu; 0 of a fixed atom")
    ident: Any = ArrayField("i32", "n", "the user's number of the atom at a place")
    kind: Any = ArrayField("i32", "n", "number of the species")


SORTED = tuple(name for name in Atoms.fields if name != "n")
"""Arrays that a spatial sort puts in order."""
SPARE_ATOMS = Atoms.only(*SORTED)
"""Tables of the copies that a spatial sort goes through."""
CARRIED = ArrayField("real", "n", "a state of the atoms that a contribution keeps")


@cache
def _copy_kernels(real: Any) -> tuple[Any, Any]:
    types = types_of(real)
    vectors = ArrayField("vec", "n", "one vector for each atom")

    @kernel(types, atoms=Atoms.only("n", "ident"), source=vectors, target=vectors)
    def to_user(atoms, source, target):
        for i in range(atoms.n):
            target[atoms.ident[i]] = source[i]

    @kernel(types, atoms=Atoms.only("n", "ident"), source=vectors, target=vectors)
    def from_user(atoms, source, target):
        for i in range(atoms.n):
            target[i] = source[atoms.ident[i]]

    return to_user, from_user


@cache
def _gathering(real: Any) -> Any:
    """Kernel: positions, velocities and forces in the user's order, in float32, one after the other."""
    packed = ArrayField("f32", "9n", "the numbers")

    @kernel(types_of(real), atoms=Atoms.only("n", "ident", "pos", "vel", "force"), packed=packed)
    def gather(atoms, packed):
        for i in range(atoms.n):
            k = 3 * atoms.ident[i]
            for c in ti.static(range(3)):
                packed[k + c] = ti.cast(atoms.pos[i][c], ti.f32)
                packed[3 * atoms.n + k + c] = ti.cast(atoms.vel[i][c], ti.f32)
                packed[6 * atoms.n + k + c] = ti.cast(atoms.force[i][c], ti.f32)

    return gather


class State:
    """Positions, velocities, forces, masses and species of n atoms.

    Args:
        kinds: (n,) numbers of species. masses: (n,) amu.
        precision: of `runtime.PRECISIONS`.
        fixed: (n,) True where an atom is fixed.
        sizes: number of atoms of each system.
        others: kinds and masses of all atoms that may come in the place of these.

    Attributes:
        pos, vel, force: n vectors (angstrom, angstrom per internal time, eV/angstrom), sorted order.
        inverse_mass: n reals, 1/amu. kind: n species numbers. ident: user's number of each place.
        sorted_of: place of each user's number.
        sizes, firsts: number of atoms of each system, and its first atom; a batch has several systems.
        in_cells: number of atoms in the cell of each system, of which these may be a part (`others`).
            The places of a system are its atoms' numbers, in another order: no sort takes atoms out of them.
        parts: slices of the atoms of each system.
        system_of_atoms: number of the system of each place, on the host.
        held: bits 1, 2, 4 for x, y, z along which an atom of a user's number is held; None if no atom is
            held along some directions only.
        n_fixed: number of fixed atoms. Their inverse mass is 0, so no force, noise or factor moves them.
        spare: other arrays of the same names, which a spatial sort goes through; one number of what stays.
        types: of what kernels take, by the words of `core.arguments`.
        batch: whether there are several systems.
        alike, one_species: whether all have one inverse mass; whether all are of one species.
        turns: (n, 3) whole cells by which the user's atoms have been folded (`system.folding`), or None.
        real, term: types of these quantities, and of what force fields compute from distances.
    """

    pos: Any
    vel: Any
    force: Any
    inverse_mass: Any
    ident: Any
    kind: Any

    def __init__(
        self,
        kinds: NDArray[np.int32],
        masses: NDArray[np.float64],
        precision: str,
        held: NDArray[np.bool_] | None = None,
        sizes: Sequence[int] | None = None,
        others: tuple[NDArray[np.int32], NDArray[np.float64]] | None = None,
    ) -> None:
        self.real, self.numpy_real = PRECISIONS[precision]
        self.term, self._numpy_term = TERM_PRECISIONS[precision]
        self.n = n = len(kinds)
        self.sizes = np.array([n] if sizes is None else sizes, np.int64)
        self.firsts = np.cumsum(self.sizes) - self.sizes
        self.in_cells = self.sizes if others is None else np.array([len(others[0])], np.int64)
        self.parts = [
            slice(first, first + size)
            for first, size in zip(self.firsts.tolist(), self.sizes.tolist(), strict=True)
        ]
        self.system_of_atoms = np.repeat(np.arange(len(self.sizes), dtype=np.int32), self.sizes)
        self.batch = len(self.sizes) > 1
        self.vec = ti.types.vector(3, self.real)
        self.types = types_of(self.real, self.term)
        inverse = 1.0 / masses
        self.held: Any = None
        if held is not None:
            of_each = held if held.ndim == 2 else np.repeat(held[:, None], 3, axis=1)
            inverse = np.where(of_each.all(axis=1), 0.0, inverse)
            if (of_each.any(axis=1) != of_each.all(axis=1)).any():
                self.held = ti.ndarray(ti.i32, n)
                self.held.from_numpy((of_each @ [1, 2, 4]).astype(np.int32))
        self.n_fixed = int(np.count_nonzero(inverse == 0.0))
        # A spatial sort leaves where they are what is the same for all atoms.
        of_others, weights = (kinds, inverse) if others is None else others
        self.alike = bool((weights == weights[:1]).all())
        self.one_species = bool((of_others == of_others[:1]).all())
        stays = {name for name, same in (("inverse_mass", self.alike), ("kind", self.one_species)) if same}
        self.spare = Atoms()
        for name in SORTED:
            kind = self.types[Atoms.fields[name].type]
            setattr(self, name, ti.ndarray(kind, n))
            setattr(self.spare, name, ti.ndarray(kind, 1 if name in stays else n))
        self._carried: dict[str, tuple[Any, Any]] = {}
        self._hidden: set[str] = set()
        self.sorted_of = ti.ndarray(ti.i32, n)
        # Between two sorts nobody needs it.
        self._user = self.spare.force
        self.turns: NDArray[np.int64] | None = None
        self._lifted: Any = None
        self._packed: Any = None
        numbers = np.arange(n, dtype=np.int32)
        self.ident.from_numpy(numbers)
        self.sorted_of.from_numpy(numbers)
        self.kind.from_numpy(np.asarray(kinds, np.int32))
        self.inverse_mass.from_numpy(inverse.astype(self.numpy_real))

    @cached_property
    def system(self) -> Any:
        """Number of the system of each place, on the device."""
        system = ti.ndarray(ti.i32, self.n)
        system.from_numpy(self.system_of_atoms)
        return system

    def system_of(self, atom: int) -> int:
        """The system of an atom of a user's number."""
        return int(np.searchsorted(self.firsts, atom, side="right")) - 1

    def carry(self, name: str, *, shown: bool = True) -> Any:
        """An array of one number for each atom that a sort carries along, 0 at first; `shown`: in frames."""
        if not shown:
            self._hidden.add(name)
        if name not in self._carried:
            self._carried[name] = ti.ndarray(self.real, self.n), ti.ndarray(self.real, self.n)
            self._carried[name][0].fill(0.0)
        return self._carried[name][0]

    @property
    def carried(self) -> tuple[Any, ...]:
        """The arrays of `carry`, as kernels of sorts take them."""
        return tuple(array for array, _ in self._carried.values())

    @property
    def spare_carried(self) -> tuple[Any, ...]:
        """Other arrays of the same number, which a spatial sort goes through."""
        return tuple(array for _, array in self._carried.values())

    def carried_values(self, *, shown: bool = False) -> dict[str, NDArray[np.float64]]:
        """What `carry` has made, by name, or of it what is shown: (n,) float64 in the user's order."""
        order, hidden = self.sorted_of.to_numpy(), self._hidden if shown else ()
        return {
            name: array.to_numpy()[order].astype(float)
            for name, (array, _) in self._carried.items()
            if name not in hidden
        }

    def set_carried(self, values: dict[str, NDArray[np.float64]]) -> None:
        """Set them from (n,) values in the user's order."""
        if values.keys() != self._carried.keys():
            raise SettingsError(
                f"states of atoms: {', '.join(sorted(values)) or 'none'}; the force field keeps "
                f"{', '.join(sorted(self._carried)) or 'none'}"
            )
        ident = self.ident.to_numpy()
        for name, numbers in values.items():
            if np.shape(numbers) != (self.n,):
                raise SettingsError(f"state {name} has shape {np.shape(numbers)}, expected ({self.n},)")
            self._carried[name][0].from_numpy(np.asarray(numbers, self.numpy_real)[ident])

    def get(self, name: str) -> NDArray[np.float64]:
        """A vector quantity in the user's order, (n, 3) float64."""
        return self.to_user(getattr(self, name))

    def single(self) -> NDArray[np.float32]:
        """(3, n, 3) positions, velocities and forces in the user's order, rounded on the device."""
        if self._packed is None:
            self._packed = ti.ndarray(ti.f32, 9 * self.n)
        with literals(self.real):
            _gathering(self.real)(self, self._packed)
        return on_host(self._packed).reshape(3, self.n, 3)

    def to_user(self, array: Any) -> NDArray[np.float64]:
        """Any device array of n vectors in the user's order, (n, 3) float64."""
        to_user, _ = _copy_kernels(self.real)
        with literals(self.real):
            to_user(self, array, self._user)
        return np.asarray(on_host(self._user), np.float64)

    def set(self, name: str, values: NDArray[np.float64]) -> None:
        """Set a vector quantity from (n, 3) values in the user's order."""
        _, from_user = _copy_kernels(self.real)
        self._user.from_numpy(np.ascontiguousarray(values, self.numpy_real))
        with literals(self.real):
            from_user(self, self._user, getattr(self, name))

    def add_turns(self, part: slice, turns: NDArray[np.int64]) -> None:
        """Atoms of a system have been folded by so many cells more, (n, 3)."""
        if self.turns is None:
            self.turns = np.zeros((self.n, 3), np.int64)
        self.turns[part] += turns

    def turns_of(self, part: slice) -> NDArray[np.int64] | None:
        """(n, 3) `turns` of a system; None if none of its atoms is folded."""
        if self.turns is None or not self.turns[part].any():
            return None
        return self.turns[part].copy()

    def forget_turns(self, part: slice) -> None:
        """Positions of a system are as they are: none of its atoms is folded."""
        if self.turns is not None:
            self.turns[part] = 0
            if not self.turns.any():
                self.turns = None

    def unfolded(self, by: NDArray[np.float64]) -> "State":
        """This state with positions that are moved by (n, 3) angstrom, in the user's order; on the device."""
        if self._lifted is None:
            self._lifted = ti.ndarray(self.vec, self.n)
        _, from_user = _copy_kernels(self.real)
        self._user.from_numpy(np.ascontiguousarray(self.get("pos") + by, self.numpy_real))
        with literals(self.real):
            from_user(self, self._user, self._lifted)
        there = copy(self)
        there.pos = self._lifted
        return there

    def table(self, values: NDArray[np.float64]) -> Any:
        """A flat table of parameters on the device, in the precision of the terms."""
        array = ti.ndarray(self.term, values.size)
        array.from_numpy(np.ascontiguousarray(values, self._numpy_term))
        return array
