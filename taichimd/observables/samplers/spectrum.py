"""Correlations of virials with velocities, for both signs of time, accumulated on the device.

Two rings hold e.W_i and v_i of the last samples, by entries: an entry is an atom of a group. Each sample adds
e.W_i(0) . v_i(t) and, for negative times, v_i(0) . e.W_i(t) for each lag, group and direction of v. The sums
are fixed-point (`fixed_point`): the order of atoms and threads changes no bit. A thread adds up a piece of
the entries: neighbouring entries on a CPU, entries one stride apart on a GPU, so that neighbouring threads
read neighbouring numbers.
"""

from collections.abc import Mapping
from functools import cache
from math import floor, log2
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.errors import AnalysisError
from taichimd.core.memory import array, require
from taichimd.core.runtime import backend, literals, ti
from taichimd.core.saved import saved_array
from taichimd.observables.samplers.fixed_point import DRAIN, LIMIT, PIECE, fixed
from taichimd.program.across import WORK, Between
from taichimd.program.totals import LABORATORY, Centre
from taichimd.system.state import LEAST_INVERSE_MASS, Atoms, State

LARGEST = 1024.0
"""Largest size of a term, eV angstrom/internal time: |W| < 100 eV, |v| < 8."""
PIECE_ON_GPU = 16
"""Entries of a thread on a GPU, which needs more threads than a CPU."""
PLUS, MINUS, CONVECTIVE = 0, 1, 2
"""What is summed: t >= 0, t <= 0, and E_i v_i along the axis in the first lag."""


class Rings(Bundle):
    """Entries, rings, and sums."""

    sorted_of: Any = ArrayField("i32", "n", "place of each user's number")
    virial: Any = ArrayField("real", "9n", "3x3 virial of each atom, eV")
    energy: Any = ArrayField("real", "n", "energy of each atom, eV")
    entries: Any = Number("i32", "atoms of groups")
    atom: Any = ArrayField("i32", "entries", "user's number of each")
    group_of: Any = ArrayField("i32", "entries", "group of each")
    n_groups: Any = Number("i32", "number of groups")
    axis: Any = Number("i32", "of the heat current")
    velocity: Any = Number("double_vec", "velocities count relative to this one")
    lags: Any = Number("i32", "slots of the rings")
    filled: Any = Number("i32", "slots that hold a sample, with the present one")
    slot: Any = Number("i32", "of the present sample")
    pieces: Any = Number("i32", "threads for each lag")
    next_piece: Any = Number("i32", "first entry of a piece over its number")
    next_entry: Any = Number("i32", "from entry to entry of a piece")
    work: Any = ArrayField("f64", "lags 3 entries", "e.W of each slot, component and entry, eV")
    vel: Any = ArrayField("f64", "lags 3 entries", "velocities, angstrom per internal time")
    scale: Any = Number("f64", "by which terms are multiplied")
    limit: Any = Number("f64", "largest scaled term")
    sums: Any = ArrayField("i64", "3 lags groups 3", "PLUS, MINUS and CONVECTIVE")
    overflow: Any = ArrayField("i32", "1", "1 if a term was larger")


@cache
def _keeping(real: Any) -> Any:
    """Kernel: fill the slot of the present sample, and add up what its atoms carry along."""

    @kernel(types_of(real), atoms=Atoms.only("n", "vel", "inverse_mass"), of=Rings)
    def keep(atoms, of):
        for entry in range(of.entries):
            i = of.sorted_of[of.atom[entry]]
            v = ti.cast(atoms.vel[i], ti.f64) - of.velocity
            at = 3 * of.slot * of.entries + entry
            along = ti.cast(0.0, ti.f64)
            for c in ti.static(range(3)):
                of.work[at + c * of.entries] = ti.cast(of.virial[9 * i + 3 * of.axis + c], ti.f64)
                of.vel[at + c * of.entries] = v[c]
                along += ti.select(of.axis == c, v[c], 0.0 * v[c])
            inverse = ti.max(ti.cast(atoms.inverse_mass[i], ti.f64), LEAST_INVERSE_MASS)
            carried = (ti.cast(of.energy[i], ti.f64) + v.dot(v) / (2 * inverse)) * along
            total, bad = fixed(carried, of.scale, of.limit)
            if bad > 0:
                of.overflow[0] = 1
            ti.atomic_add(of.sums[3 * (2 * of.lags * of.n_groups + of.group_of[entry])], total)

    return keep


@cache
def _correlating(real: Any, piece: int) -> Any:
    """Kernel: add the products of the present sample with all samples of the rings."""

    @ti.func
    def add(of: ti.template(), lag, group, plus, minus):  # type: ignore[valid-type]
        for c in ti.static(range(3)):
            at = 3 * (lag * of.n_groups + group) + c
            ti.atomic_add(of.sums[at], plus[c])
            ti.atomic_add(of.sums[3 * of.lags * of.n_groups + at], minus[c])

    @kernel(types_of(real), atoms=Atoms.only("n"), of=Rings)
    def correlate(atoms, of):
        for item in range(of.filled * of.pieces):
            lag = item // of.pieces
            first = item % of.pieces * of.next_piece
            slot = (of.slot - lag + of.lags) % of.lags
            here = of.group_of[first]
            plus, minus = ti.Vector.zero(ti.i64, 3), ti.Vector.zero(ti.i64, 3)
            for k in range(piece):
                entry = first + k * of.next_entry
                if entry < of.entries:
                    group = of.group_of[entry]
                    if group != here:
                        add(of, lag, here, plus, minus)
                        here, plus, minus = group, 0 * plus, 0 * minus
                    old, new = 3 * slot * of.entries + entry, 3 * of.slot * of.entries + entry
                    for c in ti.static(range(3)):
                        at = c * of.entries
                        p, bad_p = fixed(of.work[old + at] * of.vel[new + at], of.scale, of.limit)
                        m, bad_m = fixed(of.vel[old + at] * of.work[new + at], of.scale, of.limit)
                        plus[c] += p
                        minus[c] += m
                        if bad_p + bad_m > 0:
                            of.overflow[0] = 1
            add(of, lag, here, plus, minus)

    return correlate


@cache
def _keeping_across(real: Any) -> Any:
    """Kernel: put what drives heat through an interface in the place of virials, for some entries."""

    @kernel(
        types_of(real), atoms=Atoms.only("n"), of=Rings, across=WORK,
        first=Number("i32", "where the atoms of the system begin"),
        begin=Number("i32", "first of the entries"), end=Number("i32", "behind the last"),
    )  # fmt: skip
    def keep_across(atoms, of, across, first, begin, end):
        for entry in range(begin, end):
            for c in ti.static(range(3)):
                at = (3 * of.slot + c) * of.entries + entry
                of.work[at] = across[3 * (first + of.atom[entry]) + c]

    return keep_across


def memory(entries: int, lags: int) -> int:
    """Bytes of the rings on the device."""
    return 2 * 3 * 8 * entries * lags


def cost(entries: int, lags: int) -> str:
    """Memory and work of a spectrum, in words."""
    size, products = memory(entries, lags) / 2**20, entries * lags
    return (
        f"spectrum: {lags} lags of {entries:,} atoms take {size:.3g} MB, and a sample {products:.3g} "
        "products of vectors"
    )


class SpectrumSums:
    """Correlations of some groups of atoms.

    Args:
        groups: atoms of each group, user's numbers; an atom may be in several.
        axis: of the heat current, 0, 1 or 2.
        lags: of the window, N: times 0 to N - 1.
        between: by the number of a group, the heat flow through an interface, which takes the place of the
            heat current.

    Raises:
        AnalysisError: more than 2^31 numbers.
    """

    def __init__(
        self,
        groups: list[NDArray[np.int64]],
        axis: int,
        lags: int,
        between: Mapping[int, Between] = MappingProxyType({}),
    ) -> None:
        ends = np.cumsum([len(one) for one in groups]).tolist()
        self._between = [(flow, ends[g] - len(groups[g]), ends[g]) for g, flow in between.items()]
        atoms = np.concatenate(groups).astype(np.int32)
        self._entries, self._lags, self._groups = len(atoms), lags, len(groups)
        if 3 * lags * len(atoms) >= 2**31:
            raise AnalysisError(
                f"a spectrum with {lags} lags of {len(atoms):,} atoms: more than 2^31 numbers; shorten the "
                "window (spectrum_window), or take fewer atoms (spectrum_of)"
            )
        limit = float(LIMIT // (len(atoms) * DRAIN))
        self._scale = 2.0 ** floor(log2(limit / LARGEST))
        self._size = 9 * lags * len(groups)
        what = f"the samples of a spectrum, {lags} lags of {len(atoms):,} atoms"
        cure = "shorten the window (spectrum_window), or take fewer atoms (spectrum_of)"
        size = memory(len(atoms), lags)
        require(size, 3 * lags * len(atoms), what, cure)
        self._rings = [array(ti.f64, 3 * lags * len(atoms), what, size, cure) for _ in range(2)]
        self._sums, self._overflow = ti.ndarray(ti.i64, self._size), ti.ndarray(ti.i32, 1)
        self._atom, self._group_of = ti.ndarray(ti.i32, len(atoms)), ti.ndarray(ti.i32, len(atoms))
        self._atom.from_numpy(atoms)
        self._group_of.from_numpy(
            np.repeat(np.arange(len(groups)), [len(one) for one in groups]).astype(np.int32)
        )
        for one in (*self._rings, self._sums, self._overflow):
            one.fill(0)
        on_gpu = backend() == "cuda"
        self._piece = PIECE_ON_GPU if on_gpu else PIECE
        pieces = -(-len(atoms) // self._piece)
        self._arrays = {
            "pieces": pieces, "next_piece": 1 if on_gpu else self._piece,
            "next_entry": pieces if on_gpu else 1, "entries": len(atoms), "atom": self._atom,
            "group_of": self._group_of, "n_groups": len(groups),
            "axis": axis, "lags": lags, "work": self._rings[0], "vel": self._rings[1], "scale": self._scale,
            "limit": limit, "sums": self._sums, "overflow": self._overflow,
        }  # fmt: skip
        self.taken, self._waiting = 0, 0
        self._found = np.zeros(self._size, object)

    def sample(self, state: State, energies: Any, virials: Any, centre: Centre = LABORATORY) -> None:
        """Add one sample, at equal time intervals; arguments as `Engine.observe` lends them.

        Raises:
            AnalysisError: as `take`.
        """
        rings = Rings(
            sorted_of=state.sorted_of,
            virial=virials,
            energy=energies,
            velocity=ti.Vector([float(x) for x in centre.velocity], dt=ti.f64),
            filled=min(self.taken + 1, self._lags),
            slot=self.taken % self._lags,
            **self._arrays,
        )
        with literals(ti.f64):
            _keeping(state.real)(state, rings)
            for flow, begin, end in self._between:
                flow.update()
                _keeping_across(state.real)(state, rings, flow.work, flow.first, begin, end)
            _correlating(state.real, self._piece)(state, rings)
        self.taken += 1
        self._waiting += 1
        if self._waiting == DRAIN:
            self._drain()

    def _drain(self) -> None:
        if self._overflow.to_numpy()[0]:
            raise AnalysisError(
                f"a product of virial and velocity is above {LARGEST:g} eV Å per internal time, or not "
                "finite: the run has diverged, or it is not a solid; try a shorter time step"
            )
        if self._waiting:
            self._found = self._found + self._sums.to_numpy()
            self._sums.fill(0)
        self._waiting = 0

    def take(self) -> NDArray[Any]:
        """(3, lags, groups, 3) whole numbers since the last call: PLUS, MINUS, CONVECTIVE; see `scale`.

        Raises:
            AnalysisError: a term was too large.
        """
        self._drain()
        found, self._found = self._found, np.zeros(self._size, object)
        return found.reshape(3, self._lags, self._groups, 3)

    @property
    def scale(self) -> float:
        """What `take` is to be divided by, for eV angstrom/internal time."""
        return self._scale

    def save(self) -> dict[str, NDArray[Any]]:
        """Rings (slots, entries, 3) and count; the sums are taken before."""
        shape = self._lags, 3, self._entries
        work, vel = (ring.to_numpy().reshape(shape).swapaxes(1, 2).ravel() for ring in self._rings)
        return {"work": work, "vel": vel, "taken": np.array([self.taken])}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave."""
        for name, ring in zip(("work", "vel"), self._rings, strict=True):
            found = saved_array(saved, name, "f", 3 * self._lags * self._entries)
            found = found.reshape(self._lags, self._entries, 3).swapaxes(1, 2)
            ring.from_numpy(np.ascontiguousarray(found).ravel())
        self.taken = int(saved_array(saved, "taken", "i", 1)[0])
