"""The heat flow between two sets of atoms at each sample, summed on the device in fixed point."""

from functools import cache
from math import floor, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Number, kernel, types_of
from taichimd.core.errors import AnalysisError
from taichimd.core.runtime import literals, ti
from taichimd.core.saved import saved_array
from taichimd.observables.samplers.fixed_point import DRAIN, LIMIT, PIECE, fixed
from taichimd.observables.samplers.spectrum import LARGEST
from taichimd.program.across import WORK, Between
from taichimd.program.totals import LABORATORY, Centre
from taichimd.system.state import Atoms, State


@cache
def _adding(real: Any) -> Any:
    """Kernel: add the work of all atoms of a system to one sum."""

    @kernel(
        types_of(real), atoms=Atoms.only("n", "vel"), sorted_of=ArrayField("i32", "n", "place of a number"),
        across=WORK, first=Number("i32", "where the atoms of the system begin"),
        velocity=Number("double_vec", "velocities count relative to this one"),
        slot=Number("i32", "of the sample"), scale=Number("f64", "by which terms are multiplied"),
        limit=Number("f64", "largest scaled term"), sums=ArrayField("i64", "DRAIN", "heat flow of samples"),
        overflow=ArrayField("i32", "1", "1 if a term was larger"),
    )  # fmt: skip
    def add(atoms, sorted_of, across, first, velocity, slot, scale, limit, sums, overflow):
        for piece in range((atoms.n + PIECE - 1) // PIECE):
            total = ti.i64(0)
            for own in range(piece * PIECE, ti.min(atoms.n, piece * PIECE + PIECE)):
                v = ti.cast(atoms.vel[sorted_of[own]], ti.f64) - velocity
                power = ti.cast(0.0, ti.f64)
                for c in ti.static(range(3)):
                    power += across[3 * (first + own) + c] * v[c]
                term, bad = fixed(power, scale, limit)
                total += term
                if bad > 0:
                    overflow[0] = 1
            ti.atomic_add(sums[slot], total)

    return add


class BetweenSeries:
    """A time series of the heat flow, eV per internal time.

    Args:
        flow: between two sets of atoms. n: atoms of the system.
    """

    def __init__(self, flow: Between, n: int) -> None:
        self._flow, self._limit = flow, float(LIMIT // n)
        self._scale = 2.0 ** floor(log2(self._limit / LARGEST))
        self._sums, self._overflow = ti.ndarray(ti.i64, DRAIN), ti.ndarray(ti.i32, 1)
        self._sums.fill(0)
        self._overflow.fill(0)
        self._waiting = 0
        self._found: list[float] = []

    def sample(self, state: State, energies: Any, virials: Any, centre: Centre = LABORATORY) -> None:
        """Add one sample; arguments as `Engine.observe` lends them.

        Raises:
            AnalysisError: a term that is too large.
        """
        self._flow.update()
        velocity = ti.Vector([float(x) for x in centre.velocity], dt=ti.f64)
        with literals(ti.f64):
            _adding(state.real)(
                state, state.sorted_of, self._flow.work, self._flow.first, velocity, self._waiting,
                self._scale, self._limit, self._sums, self._overflow,
            )  # fmt: skip
        self._waiting += 1
        if self._waiting == DRAIN:
            self._drain()

    def _drain(self) -> None:
        if self._overflow.to_numpy()[0]:
            raise AnalysisError(
                f"an atom does more than {LARGEST:g} eV per internal time across the interface, or its work "
                "is not finite: the run has diverged; try a shorter time step"
            )
        self._found += (self._sums.to_numpy()[: self._waiting] / self._scale).tolist()
        self._sums.fill(0)
        self._waiting = 0

    def rows(self) -> NDArray[np.float64]:
        """(samples,) so far."""
        self._drain()
        return np.array(self._found, float)

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep."""
        return {"rows": self.rows()}

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from what `save` gave."""
        self._found, self._waiting = saved_array(saved, "rows", "f", None).tolist(), 0
