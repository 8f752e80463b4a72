"""The heat flow between two sets of atoms at each sample, summed on the device in fixed point."""

from collections.abc import Sequence
from functools import cache
from math import floor, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.errors import AnalysisError
from taichimd.core.host_copies import to_device
from taichimd.core.runtime import literals, ti
from taichimd.core.saved import saved_array
from taichimd.observables.samplers.fixed_point import DRAIN, LIMIT, PIECE, fixed
from taichimd.observables.samplers.joint import Sample, Tenant
from taichimd.observables.samplers.spectrum import LARGEST
from taichimd.program.across import WORK, Between
from taichimd.system.state import Atoms, State


class Flows(Bundle):
    """What the sums of several systems take besides the atoms."""

    sorted_of: Any = ArrayField("i32", "n", "place of a number")
    pieces: Any = ArrayField("i32", "3 pieces", "first atom, end, and row of each piece")
    velocity: Any = ArrayField("f64", "3 rows", "velocities count relative to this one")
    slot: Any = Number("i32", "of the sample")
    scale: Any = ArrayField("f64", "rows", "by which terms are multiplied")
    limit: Any = ArrayField("f64", "rows", "largest scaled term")
    sums: Any = ArrayField("i64", "rows DRAIN", "heat flow of samples")
    overflow: Any = ArrayField("i32", "1", "1 if a term was larger")


@cache
def _adding(real: Any) -> Any:
    """Kernel: add the work of all atoms of each system to its sum."""

    @kernel(types_of(real), atoms=Atoms.only("n", "vel"), across=WORK, of=Flows)
    def add(atoms, across, of):
        for piece in range(of.pieces.shape[0] // 3):
            total, row = ti.i64(0), of.pieces[3 * piece + 2]
            for own in range(of.pieces[3 * piece], of.pieces[3 * piece + 1]):
                i = of.sorted_of[own]
                power = ti.cast(0.0, ti.f64)
                for c in ti.static(range(3)):
                    v = ti.cast(atoms.vel[i][c], ti.f64) - of.velocity[3 * row + c]
                    power += across[3 * own + c] * v
                term, bad = fixed(power, of.scale[row], of.limit[row])
                total += term
                if bad > 0:
                    of.overflow[0] = 1
            ti.atomic_add(of.sums[row * DRAIN + of.slot], total)

    return add


class _Room:
    """Sums of several systems."""

    def __init__(self, each: Sequence["BetweenSeries"], numbers: Sequence[int], state: State) -> None:
        self._each, self._waiting = each, 0
        pieces = [
            (first, min(first + PIECE, state.parts[number].stop), row)
            for row, number in enumerate(numbers)
            for first in range(state.parts[number].start, state.parts[number].stop, PIECE)
        ]
        self._arrays = {
            "pieces": ti.ndarray(ti.i32, 3 * len(pieces)),
            "velocity": ti.ndarray(ti.f64, 3 * len(each)),
            "scale": ti.ndarray(ti.f64, len(each)),
            "limit": ti.ndarray(ti.f64, len(each)),
            "sums": ti.ndarray(ti.i64, DRAIN * len(each)),
            "overflow": ti.ndarray(ti.i32, 1),
        }
        self._arrays["pieces"].from_numpy(np.array(pieces, np.int32).ravel())
        for name in ("scale", "limit"):
            self._arrays[name].from_numpy(np.array([getattr(one, name) for one in each]))
        self._velocities = np.zeros((len(each), 3))
        for name in ("sums", "overflow", "velocity"):
            self._arrays[name].fill(0)

    def add(self, sample: Sample) -> None:
        """Add a sample."""
        state, flow = sample.lent.state, self._each[0].flow
        velocities = np.array([one.velocity for one in sample.centres], float)
        if not np.array_equal(velocities, self._velocities):
            self._velocities = velocities
            to_device(self._arrays["velocity"], velocities.ravel())
        flow.update()
        of = Flows(sorted_of=state.sorted_of, slot=self._waiting, **self._arrays)
        with literals(ti.f64):
            _adding(state.real)(state, flow.work, of)
        self._waiting += 1
        if self._waiting == DRAIN:
            self.leave()

    def leave(self) -> None:
        """Bring the samples to the host."""
        if self._arrays["overflow"].to_numpy()[0]:
            raise AnalysisError(
                f"an atom does more than {LARGEST:g} eV per internal time across the interface, or its work "
                "is not finite: the run has diverged; try a shorter time step"
            )
        sums = self._arrays["sums"].to_numpy().reshape(-1, DRAIN)[:, : self._waiting]
        for one, own in zip(self._each, sums, strict=True):
            one.found += (own / one.scale).tolist()
        self._arrays["sums"].fill(0)
        self._waiting = 0


class BetweenSeries(Tenant[_Room]):
    """A time series of the heat flow between two sets of the n atoms, eV per internal time."""

    def __init__(self, flow: Between, n: int) -> None:
        self.flow, self.limit = flow, float(LIMIT // n)
        self.scale = 2.0 ** floor(log2(self.limit / LARGEST))
        self.found: list[float] = []

    @classmethod
    def sample_all(cls, each: Sequence["BetweenSeries"], sample: Sample) -> None:
        """Add one sample to each."""
        # Systems whose vectors lie in one array.
        alike: dict[int, list[int]] = {}
        for k, one in enumerate(each):
            alike.setdefault(id(one.flow.work), []).append(k)
        for places in alike.values():
            own, its = [each[k] for k in places], sample.of(places)

            def room(own: Sequence[BetweenSeries] = own, its: Sample = its) -> _Room:
                return _Room(own, its.numbers, its.lent.state)

            cls.together(own, room).add(its)

    def rows(self) -> NDArray[np.float64]:
        """(samples,) so far."""
        if self.room is not None:
            self.room.leave()
        return np.array(self.found, float)

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep."""
        return {"rows": self.rows()}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave."""
        self.leave()
        self.found = saved_array(saved, "rows", "f", None).tolist()
