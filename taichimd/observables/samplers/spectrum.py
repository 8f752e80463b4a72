"""Correlations of virials with velocities, for both signs of time, accumulated on the device.

Two rings hold e.W_i and v_i of the last samples, by entries: an entry is an atom of a group. Each sample adds
e.W_i(0) . v_i(t) and, for negative times, v_i(0) . e.W_i(t) for each lag, group and direction of v. The sums
are fixed-point (`fixed_point`): the order of atoms and threads changes no bit. A thread adds up a piece of
the entries of a system: neighbouring entries on a CPU, entries one stride apart on a GPU, so that
neighbouring threads read neighbouring numbers.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import floor, log2
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.errors import AnalysisError
from taichimd.core.host_copies import to_device
from taichimd.core.memory import array, require
from taichimd.core.runtime import backend, literals, ti
from taichimd.core.saved import saved_array
from taichimd.observables.samplers.fixed_point import DRAIN, LIMIT, PIECE, fixed
from taichimd.observables.samplers.joint import Sample, Tenant
from taichimd.program.across import WORK, Between
from taichimd.system.state import LEAST_INVERSE_MASS, Atoms, State

LARGEST = 1024.0
"""Largest size of a term, eV angstrom/internal time: |W| < 100 eV, |v| < 8."""
PIECE_ON_GPU = 16
"""Entries of a thread on a GPU, which needs more threads than a CPU."""
PLUS, MINUS, CONVECTIVE = 0, 1, 2
"""What is summed: t >= 0, t <= 0, and E_i v_i along the axis in the first lag."""


class Rings(Bundle):
    """Entries, rings, and sums of several systems, whose groups are counted through."""

    sorted_of: Any = ArrayField("i32", "n", "place of each user's number")
    virial: Any = ArrayField("real", "9n", "3x3 virial of each atom, eV")
    energy: Any = ArrayField("real", "n", "energy of each atom, eV")
    entries: Any = Number("i32", "atoms of groups")
    atom: Any = ArrayField("i32", "entries", "user's number of each")
    group_of: Any = ArrayField("i32", "entries", "group of each")
    across_of: Any = ArrayField("i32", "entries", "number of the interface of each; -1: it is of none")
    n_groups: Any = Number("i32", "number of groups")
    axis: Any = ArrayField("i32", "groups", "of the heat current")
    velocity: Any = ArrayField("f64", "3 groups", "velocities count relative to this one")
    scale: Any = ArrayField("f64", "groups", "by which terms are multiplied")
    limit: Any = ArrayField("f64", "groups", "largest scaled term")
    lags: Any = Number("i32", "slots of the rings")
    filled: Any = Number("i32", "slots that hold a sample, with the present one")
    slot: Any = Number("i32", "of the present sample")
    pieces: Any = Number("i32", "threads for each lag")
    piece_of: Any = ArrayField("i32", "3 pieces", "first entry, end of its system, distance of entries")
    work: Any = ArrayField("f64", "lags 3 entries", "e.W of each slot, component and entry, eV")
    vel: Any = ArrayField("f64", "lags 3 entries", "velocities, angstrom per internal time")
    sums: Any = ArrayField("i64", "3 lags groups 3", "PLUS, MINUS and CONVECTIVE")
    overflow: Any = ArrayField("i32", "1", "1 if a term was larger")


@cache
def _keeping(real: Any) -> Any:
    """Kernel: fill the slot of the present sample, and add up what its atoms carry along."""

    @kernel(types_of(real), atoms=Atoms.only("n", "vel", "inverse_mass"), of=Rings)
    def keep(atoms, of):
        for entry in range(of.entries):
            i, g = of.sorted_of[of.atom[entry]], of.group_of[entry]
            v = ti.cast(atoms.vel[i], ti.f64)
            at = 3 * of.slot * of.entries + entry
            along = ti.cast(0.0, ti.f64)
            for c in ti.static(range(3)):
                v[c] -= of.velocity[3 * g + c]
                of.work[at + c * of.entries] = ti.cast(of.virial[9 * i + 3 * of.axis[g] + c], ti.f64)
                of.vel[at + c * of.entries] = v[c]
                along += ti.select(of.axis[g] == c, v[c], 0.0 * v[c])
            inverse = ti.max(ti.cast(atoms.inverse_mass[i], ti.f64), LEAST_INVERSE_MASS)
            carried = (ti.cast(of.energy[i], ti.f64) + v.dot(v) / (2 * inverse)) * along
            total, bad = fixed(carried, of.scale[g], of.limit[g])
            if bad > 0:
                of.overflow[0] = 1
            ti.atomic_add(of.sums[3 * (2 * of.lags * of.n_groups + g)], total)

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
            lag, own = item // of.pieces, 3 * (item % of.pieces)
            first, end, step = of.piece_of[own], of.piece_of[own + 1], of.piece_of[own + 2]
            slot = (of.slot - lag + of.lags) % of.lags
            here = of.group_of[first]
            scale, limit = of.scale[here], of.limit[here]
            plus, minus = ti.Vector.zero(ti.i64, 3), ti.Vector.zero(ti.i64, 3)
            for k in range(piece):
                entry = first + k * step
                if entry < end:
                    group = of.group_of[entry]
                    if group != here:
                        add(of, lag, here, plus, minus)
                        here, plus, minus = group, 0 * plus, 0 * minus
                    old, new = 3 * slot * of.entries + entry, 3 * of.slot * of.entries + entry
                    for c in ti.static(range(3)):
                        at = c * of.entries
                        p, bad_p = fixed(of.work[old + at] * of.vel[new + at], scale, limit)
                        m, bad_m = fixed(of.vel[old + at] * of.work[new + at], scale, limit)
                        plus[c] += p
                        minus[c] += m
                        if bad_p + bad_m > 0:
                            of.overflow[0] = 1
            add(of, lag, here, plus, minus)

    return correlate


@cache
def _keeping_across(real: Any) -> Any:
    """Kernel: put what drives heat through an interface in the place of virials, for its entries."""

    @kernel(
        types_of(real), atoms=Atoms.only("n"), of=Rings, across=WORK,
        interface=Number("i32", "number of the interface"),
    )  # fmt: skip
    def keep_across(atoms, of, across, interface):
        for entry in range(of.entries):
            if of.across_of[entry] == interface:
                for c in ti.static(range(3)):
                    at = (3 * of.slot + c) * of.entries + entry
                    of.work[at] = across[3 * of.atom[entry] + c]

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


class _Room:
    """Rings and sums of several systems, which have taken the same number of samples."""

    def __init__(self, each: Sequence["SpectrumSums"], numbers: Sequence[int], state: State) -> None:
        self._each, self._waiting = each, 0
        self._lags, self._taken = each[0].lags, each[0].taken
        entries = [len(one.atoms) for one in each]
        groups = [len(one.sizes) for one in each]
        self._entry_ends, self._group_ends = np.cumsum(entries), np.cumsum(groups)
        total, n_groups = sum(entries), sum(groups)
        strided = backend() == "cuda"
        self._piece = PIECE_ON_GPU if strided else PIECE
        self._kernels = _keeping(state.real), _correlating(state.real, self._piece)
        pieces = []
        for end, own_entries in zip(self._entry_ends.tolist(), entries, strict=True):
            count = -(-own_entries // self._piece)
            step, next_piece = (count, 1) if strided else (1, self._piece)
            firsts = end - own_entries + next_piece * np.arange(count)
            pieces.append(np.stack([firsts, np.full(count, end), np.full(count, step)], axis=1))
        works = {id(flow.work): flow for one in each for flow in one.between.values()}
        self._flows = list(works.values())
        across = [list(works).index(id(one.between[g].work)) if g in one.between else -1
                  for one in each for g in range(len(one.sizes))]  # fmt: skip
        sizes = np.concatenate([one.sizes for one in each])
        self._arrays: dict[str, Any] = {
            "entries": total, "n_groups": n_groups, "lags": self._lags, "pieces": sum(map(len, pieces)),
            **each[0].rings(total),
        }  # fmt: skip
        own = {
            "atom": np.concatenate(
                [one.atoms + state.firsts[number] for one, number in zip(each, numbers, strict=True)]
            ),
            "group_of": np.repeat(np.arange(n_groups), sizes),
            "across_of": np.repeat(across, sizes),
            "axis": np.repeat([one.axis for one in each], groups),
            "piece_of": np.concatenate(pieces).ravel(),
            "overflow": np.zeros(1),
        }
        for name, values in own.items():
            self._arrays[name] = ti.ndarray(ti.i32, len(values))
            self._arrays[name].from_numpy(values.astype(np.int32))
        for name in ("scale", "limit", "velocity"):
            self._arrays[name] = ti.ndarray(ti.f64, (3 if name == "velocity" else 1) * n_groups)
        self._velocities = np.zeros((n_groups, 3))
        self._arrays["velocity"].fill(0.0)
        for name in ("scale", "limit"):
            self._arrays[name].from_numpy(np.repeat([getattr(one, name) for one in each], groups))
        self._arrays["sums"] = ti.ndarray(ti.i64, 9 * self._lags * n_groups)
        self._arrays["sums"].fill(0)
        if any(one.kept for one in each):
            for name in ("work", "vel"):
                shape = self._lags, 3, total
                ring = np.zeros(shape)
                for one, own_part in zip(each, np.split(ring, self._entry_ends[:-1], axis=2), strict=True):
                    own_part[...] = one.kept.get(name, 0.0)
                self._arrays[name].from_numpy(ring.ravel())
        for one in each:
            one.kept = {}

    def add(self, sample: Sample) -> None:
        """Add a sample."""
        state, energies, virials = sample.lent
        groups = [len(one.sizes) for one in self._each]
        velocities = np.repeat(np.array([one.velocity for one in sample.centres], float), groups, axis=0)
        if not np.array_equal(velocities, self._velocities):
            self._velocities = velocities
            to_device(self._arrays["velocity"], velocities.ravel())
        rings = Rings(
            sorted_of=state.sorted_of, virial=virials, energy=energies,
            filled=min(self._taken + 1, self._lags), slot=self._taken % self._lags, **self._arrays,
        )  # fmt: skip
        keep, correlate = self._kernels
        with literals(ti.f64):
            keep(state, rings)
            for number, flow in enumerate(self._flows):
                flow.update()
                _keeping_across(state.real)(state, rings, flow.work, number)
            correlate(state, rings)
        self._taken += 1
        for one in self._each:
            one.taken = self._taken
        self._waiting += 1
        if self._waiting == DRAIN:
            self.drain()

    def drain(self) -> None:
        """Bring the sums to the host; an AnalysisError if a term was too large."""
        if self._arrays["overflow"].to_numpy()[0]:
            raise AnalysisError(
                f"a product of virial and velocity is above {LARGEST:g} eV Å per internal time, or not "
                "finite: the run has diverged, or it is not a solid; try a shorter time step"
            )
        if self._waiting:
            found = self._arrays["sums"].to_numpy().reshape(3, self._lags, -1, 3)
            for one, own in zip(self._each, np.split(found, self._group_ends[:-1], axis=2), strict=True):
                one.found = one.found + own
            self._arrays["sums"].fill(0)
        self._waiting = 0

    def read_rings(self) -> None:
        """Copy the rings to the host."""
        for name in ("work", "vel"):
            ring = self._arrays[name].to_numpy().reshape(self._lags, 3, -1)
            for one, own in zip(self._each, np.split(ring, self._entry_ends[:-1], axis=2), strict=True):
                one.kept[name] = own

    def leave(self) -> None:
        """Bring sums and rings to the host."""
        self.drain()
        self.read_rings()


class SpectrumSums(Tenant[_Room]):
    """Correlations of some groups of atoms of a system.

    Args:
        groups: atoms of each group, user's numbers; an atom may be in several.
        axis: of the heat current, 0, 1 or 2.
        lags: of the window, N: times 0 to N - 1.
        between: by the number of a group, the heat flow through an interface, which takes the place of the
            heat current.

    Raises:
        AnalysisError: more than 2^31 numbers.

    Attributes:
        axis, lags, between: as given. atoms: of all groups. sizes: of the groups.
        limit, scale: of the sums; a sum over scale is in eV angstrom/internal time.
        taken: samples. found: sums on the host. kept: rings on the host, if they are not on the device.
    """

    def __init__(
        self,
        groups: list[NDArray[np.int64]],
        axis: int,
        lags: int,
        between: Mapping[int, Between] = MappingProxyType({}),
    ) -> None:
        self.axis, self.lags, self.between = axis, lags, between
        self.atoms, self.sizes = np.concatenate(groups), [len(one) for one in groups]
        n = len(self.atoms)
        if 3 * lags * n >= 2**31:
            raise AnalysisError(
                f"a spectrum with {lags} lags of {n:,} atoms: more than 2^31 numbers; shorten the "
                "window (spectrum_window), or take fewer atoms (spectrum_of)"
            )
        require(memory(n, lags), 3 * lags * n, *self._in_words(n))
        self.limit = float(LIMIT // (n * DRAIN))
        self.scale = 2.0 ** floor(log2(self.limit / LARGEST))
        self.taken, self.kept = 0, dict[str, NDArray[np.float64]]()
        self.found = self._nothing()

    def _nothing(self) -> NDArray[Any]:
        return np.zeros((3, self.lags, len(self.sizes), 3), object)

    def _in_words(self, entries: int) -> tuple[str, str]:
        """What rings of so many entries are, and what helps if they do not fit."""
        return (
            f"the samples of a spectrum, {self.lags} lags of {entries:,} atoms",
            "shorten the window (spectrum_window), or take fewer atoms (spectrum_of)",
        )

    def rings(self, entries: int) -> dict[str, Any]:
        """Empty rings of so many entries, or a CapacityError."""
        what, cure = self._in_words(entries)
        size, numbers = memory(entries, self.lags), 3 * self.lags * entries
        require(size, numbers, what, cure)
        found = {name: array(ti.f64, numbers, what, size, cure) for name in ("work", "vel")}
        for one in found.values():
            one.fill(0.0)
        return found

    @classmethod
    def sample_all(cls, each: Sequence["SpectrumSums"], sample: Sample) -> None:
        """Add one sample to each, at equal time intervals."""
        parts: dict[tuple[int, ...], list[int]] = {}
        entries = 0
        for k, one in enumerate(each):
            entries += len(one.atoms)
            # Rings of one launch have the same slots, and no more numbers than an array.
            parts.setdefault((one.lags, one.taken, 3 * one.lags * entries // 2**31), []).append(k)
        for places in parts.values():
            own, its = [each[k] for k in places], sample.of(places)

            def room(own: Sequence[SpectrumSums] = own, its: Sample = its) -> _Room:
                return _Room(own, its.numbers, its.lent.state)

            cls.together(own, room).add(its)

    def take(self) -> NDArray[Any]:
        """(3, lags, groups, 3) whole numbers since the last call: PLUS, MINUS, CONVECTIVE; see `scale`."""
        if self.room is not None:
            self.room.drain()
        found, self.found = self.found, self._nothing()
        return found

    def save(self) -> dict[str, NDArray[Any]]:
        """Rings (slots, entries, 3) and count; the sums are taken before."""
        if self.room is not None:
            self.room.read_rings()
        empty = np.zeros((self.lags, 3, len(self.atoms)))
        work, vel = (self.kept.get(name, empty).swapaxes(1, 2).ravel() for name in ("work", "vel"))
        if self.room is not None:
            self.kept = {}
        return {"work": work, "vel": vel, "taken": np.array([self.taken])}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave."""
        self.leave()
        for name in ("work", "vel"):
            found = saved_array(saved, name, "f", 3 * self.lags * len(self.atoms))
            self.kept[name] = found.reshape(self.lags, len(self.atoms), 3).swapaxes(1, 2)
        self.taken = int(saved_array(saved, "taken", "i", 1)[0])
