"""Sums over the atoms of bins along an axis, and over the atoms of groups, on the device.

Each number is rounded to a multiple of 2^-BITS and added as an integer, so that sums have the same bits in
any order of the atoms and on any number of threads.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.host_copies import on_host
from taichimd.core.runtime import backend, literals, ti
from taichimd.observables.samplers.bin_columns import BITS, COLUMNS, COUNT, FREE, KINETIC, MASS, STRESS
from taichimd.system.state import Atoms, State

COPIES = 64
"""Sums that threads fill side by side: atomics on one would wait for each other."""


class Bins(Bundle):
    """What the sums take besides the atoms."""

    masses: Any = ArrayField("f64", "n", "amu, by the user's numbers")
    virial: Any = ArrayField("real", "9n", "3x3 virial of each atom, eV")
    direction: Any = Number(
        "double_vec", "the fraction of the cell along the axis is x . direction, 1/angstrom"
    )
    periodic: Any = Number("i32", "whether the fraction is wrapped")
    bins: Any = Number("i32", "number of bins")
    groups: Any = ArrayField("i32", "n", "a bit for each group, by the user's numbers")
    sums: Any = ArrayField("i64", "copies x bins x columns", "the sums, copy after copy")


@ti.func
def _units(value):
    most = ti.cast(2.0**32, ti.f64)
    return ti.cast(ti.floor(ti.min(ti.max(value, -most), most) * 2.0**BITS + 0.5), ti.i64)


@cache
def _profile_kernel(real: Any, cuda: bool) -> Any:
    taken = Atoms.only("n", "pos", "vel", "inverse_mass", "ident")

    bins = Bins.only("masses", "virial", "direction", "periodic", "bins", "sums")

    @kernel(types_of(real), atoms=taken, of=bins)
    def add_profile(atoms, of):
        for i in range(atoms.n):
            copy = (i if ti.static(cuda) else i // 32) % COPIES
            x = ti.cast(atoms.pos[i], ti.f64)
            f = x.dot(of.direction)
            if of.periodic == 1:
                f -= ti.floor(f)
            # Rounding may give a fraction of 1; what is not a number is in no bin.
            b = ti.min(ti.cast(f * of.bins, ti.i32), of.bins - 1)
            if f >= 0.0 and f <= 1.0:
                v = ti.cast(atoms.vel[i], ti.f64)
                mass = of.masses[atoms.ident[i]]
                at = (copy * of.bins + b) * COLUMNS
                ti.atomic_add(of.sums[at + COUNT], _units(1.0 + 0.0 * mass))
                ti.atomic_add(of.sums[at + MASS], _units(mass))
                if atoms.inverse_mass[i] > 0.0:
                    ti.atomic_add(of.sums[at + FREE], _units(1.0 + 0.0 * mass))
                    # Atoms of a group that moves have a velocity, and no temperature.
                    ti.atomic_add(of.sums[at + KINETIC], _units(mass * v.dot(v)))
                for a in ti.static(range(3)):
                    w = ti.cast(of.virial[9 * i + 4 * a], ti.f64)
                    ti.atomic_add(of.sums[at + STRESS + a], _units(mass * v[a] * v[a] + w))

    return add_profile


@cache
def _groups_kernel(real: Any, cuda: bool) -> Any:
    taken = Atoms.only("n", "vel", "ident")

    @kernel(types_of(real), atoms=taken, of=Bins.only("masses", "groups", "bins", "sums"))
    def add_groups(atoms, of):
        for i in range(atoms.n):
            mine = of.groups[atoms.ident[i]]
            if mine != 0:
                copy = (i if ti.static(cuda) else i // 32) % COPIES
                v = ti.cast(atoms.vel[i], ti.f64)
                twice = _units(of.masses[atoms.ident[i]] * v.dot(v))
                for g in range(of.bins):
                    if (mine >> g) & 1 == 1:
                        ti.atomic_add(of.sums[copy * of.bins + g], twice)

    return add_groups


class BinSums:
    """Sums on the device.

    Args:
        masses: (n,) amu.
        bins: number of bins, or of groups.
        groups: (n,) a bit for each group an atom is of; None: the bins are along an axis.
    """

    def __init__(
        self, masses: NDArray[np.float64], bins: int, groups: NDArray[np.int32] | None = None
    ) -> None:
        self._columns = COLUMNS if groups is None else 1
        self._given = masses, groups
        self._bins = bins
        self._arrays: dict[str, Any] = {}
        self._before = np.zeros(COPIES * self._bins * self._columns, np.int64)

    def _arguments(self, **more: Any) -> Any:
        if not self._arrays:
            masses, groups = self._given
            arrays: dict[str, Any] = {"masses": ti.ndarray(ti.f64, len(masses)), "bins": self._bins}
            arrays["masses"].from_numpy(masses)
            arrays["sums"] = ti.ndarray(ti.i64, COPIES * self._bins * self._columns)
            arrays["sums"].fill(0)
            if groups is not None:
                arrays["groups"] = ti.ndarray(ti.i32, len(groups))
                arrays["groups"].from_numpy(groups)
            self._arrays = arrays
        return Bins(**self._arrays, **more)

    def add_profile(self, state: State, virials: Any, direction: NDArray[np.float64], periodic: bool) -> None:
        """Add the atoms of a sample to bins along an axis.

        Args:
            state: of the atoms.
            virials: (9n) eV, in spatial order.
            direction: (3,) 1/angstrom, whose product with a position is a fraction of the cell.
            periodic: whether the fraction is wrapped.
        """
        vector = ti.Vector([float(x) for x in direction], dt=ti.f64)
        of = self._arguments(virial=virials, direction=vector, periodic=int(periodic))
        with literals(state.real):
            _profile_kernel(state.real, backend() == "cuda")(state, of)

    def add_groups(self, state: State) -> None:
        """Add the atoms of a sample to their groups."""
        with literals(state.real):
            _groups_kernel(state.real, backend() == "cuda")(state, self._arguments())

    def take(self) -> NDArray[np.int64]:
        """(bins, columns) sums since the last call, in units of 2^-BITS."""
        if not self._arrays:
            return np.zeros((self._bins, self._columns), np.int64)
        # Differences of sums that wrap around are right, and cost less than setting sums to 0.
        found = on_host(self._arrays["sums"])
        since, self._before = found - self._before, found
        return since.reshape(COPIES, self._bins, self._columns).sum(axis=0)
