"""Sums over the atoms of bins along an axis, and over the atoms of groups, on the device.

Each number is rounded to a multiple of 2^-BITS and added as an integer, so that sums have the same bits in
any order of the atoms and on any number of threads.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.host_copies import on_host, to_device
from taichimd.core.runtime import backend, literals, ti
from taichimd.observables.samplers.bin_columns import BITS, COLUMNS, COUNT, FREE, KINETIC, MASS, STRESS
from taichimd.observables.samplers.joint import Sample, Tenant
from taichimd.system.state import Atoms, State

COPIES = 64
"""Sums that threads fill side by side: atomics on one would wait for each other."""


class Bins(Bundle):
    """What the sums take besides the atoms."""

    masses: Any = ArrayField("f64", "n", "amu, by the user's numbers")
    virial: Any = ArrayField("real", "9n", "3x3 virial of each atom, eV")
    system: Any = ArrayField("i32", "n", "of a batch: system of each place")
    direction: Any = ArrayField(
        "f64", "3 systems", "the fraction of the cell along the axis is x . direction, 1/angstrom"
    )
    periodic: Any = ArrayField("i32", "systems", "whether the fraction is wrapped")
    bins: Any = ArrayField("i32", "systems", "number of bins, or of groups; 0: the system is not sampled")
    begins: Any = ArrayField("i32", "systems", "where the bins of a system begin")
    groups: Any = ArrayField("i32", "n", "a bit for each group, by the user's numbers")
    rows: Any = Number("i32", "bins of all systems")
    sums: Any = ArrayField("i64", "copies x rows x columns", "the sums, copy after copy")


OF_ALL = ("masses", "bins", "begins", "rows", "sums")


@ti.func
def _units(value):
    most = ti.cast(2.0**32, ti.f64)
    return ti.cast(ti.floor(ti.min(ti.max(value, -most), most) * 2.0**BITS + 0.5), ti.i64)


@cache
def _profile_kernel(real: Any, cuda: bool, batch: bool) -> Any:
    taken = Atoms.only("n", "pos", "vel", "inverse_mass", "ident")
    several = ("system",) if batch else ()

    @kernel(types_of(real), atoms=taken, of=Bins.only(*OF_ALL, *several, "virial", "direction", "periodic"))
    def add_profile(atoms, of):
        for i in range(atoms.n):
            copy = (i if ti.static(cuda) else i // 32) % COPIES
            s = 0
            if ti.static(batch):
                s = of.system[i]
            x, f = ti.cast(atoms.pos[i], ti.f64), ti.cast(0.0, ti.f64)
            for c in ti.static(range(3)):
                f += x[c] * of.direction[3 * s + c]
            if of.periodic[s] == 1:
                f -= ti.floor(f)
            # Rounding may give a fraction of 1; what is not a number is in no bin.
            b = ti.min(ti.cast(f * of.bins[s], ti.i32), of.bins[s] - 1)
            if of.bins[s] > 0 and f >= 0.0 and f <= 1.0:
                v = ti.cast(atoms.vel[i], ti.f64)
                mass = of.masses[atoms.ident[i]]
                at = (copy * of.rows + of.begins[s] + b) * COLUMNS
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
def _groups_kernel(real: Any, cuda: bool, batch: bool) -> Any:
    taken, several = Atoms.only("n", "vel", "ident"), ("system",) if batch else ()

    @kernel(types_of(real), atoms=taken, of=Bins.only(*OF_ALL, *several, "groups"))
    def add_groups(atoms, of):
        for i in range(atoms.n):
            mine = of.groups[atoms.ident[i]]
            if mine != 0:
                s = 0
                if ti.static(batch):
                    s = of.system[i]
                copy = (i if ti.static(cuda) else i // 32) % COPIES
                v = ti.cast(atoms.vel[i], ti.f64)
                twice = _units(of.masses[atoms.ident[i]] * v.dot(v))
                for g in range(of.bins[s]):
                    if (mine >> g) & 1 == 1:
                        ti.atomic_add(of.sums[copy * of.rows + of.begins[s] + g], twice)

    return add_groups


class _Room:
    """Sums of several systems."""

    def __init__(self, each: Sequence["BinSums"], numbers: Sequence[int], state: State) -> None:
        self._each, self._numbers, self._columns = each, numbers, each[0].columns
        self._ends = np.cumsum([one.bins for one in each])
        rows, size = int(self._ends[-1]), len(state.sizes)
        bins, begins = np.zeros(size, np.int32), np.zeros(size, np.int32)
        masses, groups = np.zeros(state.n), np.zeros(state.n, np.int32)
        for number, one, end in zip(numbers, each, self._ends.tolist(), strict=True):
            bins[number], begins[number] = one.bins, end - one.bins
            masses[state.parts[number]] = one.masses
            groups[state.parts[number]] = 0 if one.groups is None else one.groups
        self._shape = COPIES, rows, self._columns
        self._before = np.zeros(COPIES * rows * self._columns, np.int64)
        self._directions, self._periodic = np.zeros((size, 3)), np.zeros(size, np.int32)
        self._arrays = {
            "masses": ti.ndarray(ti.f64, state.n), "bins": ti.ndarray(ti.i32, size),
            "begins": ti.ndarray(ti.i32, size), "groups": ti.ndarray(ti.i32, state.n),
            "direction": ti.ndarray(ti.f64, 3 * size), "periodic": ti.ndarray(ti.i32, size),
            "sums": ti.ndarray(ti.i64, len(self._before)),
        }  # fmt: skip
        for name, values in (("masses", masses), ("bins", bins), ("begins", begins), ("groups", groups)):
            self._arrays[name].from_numpy(values)
        for name in ("direction", "periodic", "sums"):
            self._arrays[name].fill(0)
        self._waiting = False

    def add(
        self, sample: Sample, directions: Sequence[NDArray[np.float64]] = (), periodic: Sequence[bool] = ()
    ) -> None:
        """Add a sample: to groups, or to bins along directions."""
        state, _, virials = sample.lent
        of = {**self._arrays, "rows": self._shape[1], "system": state.system if state.batch else None}
        make: Any = _groups_kernel
        if directions:
            make, of["virial"] = _profile_kernel, virials
            self._set("direction", self._directions, np.array(directions, float))
            self._set("periodic", self._periodic, np.array(periodic, np.int32))
        with literals(state.real):
            make(state.real, backend() == "cuda", state.batch)(state, Bins(**of))
        self._waiting = True

    def _set(self, name: str, before: NDArray[Any], values: NDArray[Any]) -> None:
        """Set a value of each system, if it is another one."""
        if not np.array_equal(before[self._numbers], values):
            before[self._numbers] = values
            to_device(self._arrays[name], before.ravel())

    def leave(self) -> None:
        """Bring the sums to the host."""
        if not self._waiting:
            return
        # Differences of sums that wrap around are right, and cost less than setting sums to 0.
        found = on_host(self._arrays["sums"])
        since, self._before = found - self._before, found
        parts = np.split(since.reshape(self._shape).sum(axis=0), self._ends[:-1])
        for one, own in zip(self._each, parts, strict=True):
            one.found += own
        self._waiting = False


class BinSums(Tenant[_Room]):
    """Sums of one system on the device, for groups, or for bins along an axis: `found` (bins, columns).

    `groups`: (n,) a bit for each group an atom is of; None: bins.
    """

    def __init__(
        self, masses: NDArray[np.float64], bins: int, groups: NDArray[np.int32] | None = None
    ) -> None:
        self.masses, self.bins, self.groups = masses, bins, groups
        self.columns = COLUMNS if groups is None else 1
        self.found = np.zeros((bins, self.columns), np.int64)

    @classmethod
    def sample_all(
        cls,
        each: Sequence["BinSums"],
        sample: Sample,
        directions: Sequence[NDArray[np.float64]] = (),
        periodic: Sequence[bool] = (),
    ) -> None:
        """Add the atoms of a sample to the groups of each system, or to its bins along an axis.

        A direction (3,), 1/angstrom, times a position is a fraction of the cell, which is wrapped if
        `periodic`.
        """
        room = cls.together(each, lambda: _Room(each, sample.numbers, sample.lent.state))
        room.add(sample, directions, periodic)

    def take(self) -> NDArray[np.int64]:
        """(bins, columns) sums since the last call, in units of 2^-BITS."""
        if self.room is not None:
            self.room.leave()
        found, self.found = self.found, np.zeros((self.bins, self.columns), np.int64)
        return found
