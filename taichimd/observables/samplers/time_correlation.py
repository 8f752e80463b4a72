"""Mean square displacement and velocity autocorrelation, accumulated on the device while a run goes on.

A ring of time origins holds positions and velocities of earlier samples, by the user's numbers. Each sample
is compared with every origin that lies within the window, and the squares of displacements and the products
of velocities are added up per time difference, species and direction.

The sums are fixed-point: each term, in float64, is multiplied by a power of two, rounded to a 64-bit integer
and added as such, so the order of the atoms and threads changes nothing. The power is chosen from the number
of atoms and the largest term that may occur (`displacement`, `speed`), so that no sum can overflow; a
larger term is an error, never a wrong number. For a million atoms and the defaults, displacements are
resolved to 2.4e-7 angstrom^2 and products of velocities to 1e-9 (angstrom/time)^2 in each term, and their
mean far better. Every DRAIN samples the sums move to whole numbers of any size on the host.
"""

from functools import cache
from math import floor, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import AnalysisError
from taichimd.core.runtime import PRECISIONS, literals, ti
from taichimd.program.totals import LABORATORY, Centre

PIECE = 64
"""Atoms that one thread adds up before it touches the sums."""
DRAIN = 64
"""Samples after which the sums move to the host."""
LIMIT = 2**62
"""Bound of all sums on the device, half of what the integers hold."""
_LOW = 2**62 - 1


@cache
def _kernels(real: Any) -> tuple[Any, Any]:
    vecs: Any = ti.types.ndarray(dtype=ti.types.vector(3, real), ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    longs: Any = ti.types.ndarray(dtype=ti.i64, ndim=1)

    @ti.func
    def fixed(x, scale, limit):
        """Nearest whole number of x * scale, and 0; if it is too large, or no number, 0 and 1."""
        y = x * scale
        k, bad = ti.i64(0), 1
        # Not `y >= limit`: what is not a number must set the flag, too.
        if ti.abs(y) < limit:
            k, bad = ti.cast(ti.floor(y + 0.5), ti.i64), 0
        return k, bad

    @ti.kernel
    def keep(n: ti.i32, slot: ti.i32, ident: ints, pos: vecs, vel: vecs, x: ti.f64, y: ti.f64, z: ti.f64, vx: ti.f64, vy: ti.f64, vz: ti.f64, old_pos: vecs, old_vel: vecs):  # fmt: skip
        for i in range(n):
            k = slot * n + ident[i]
            old_pos[k] = ti.cast(ti.cast(pos[i], ti.f64) - ti.Vector([x, y, z]), real)
            old_vel[k] = ti.cast(ti.cast(vel[i], ti.f64) - ti.Vector([vx, vy, vz]), real)

    @ti.kernel
    def compare(n: ti.i32, slots: ti.i32, n_kinds: ti.i32, lag_of: ints, ident: ints, kind: ints, pos: vecs, vel: vecs, x: ti.f64, y: ti.f64, z: ti.f64, vx: ti.f64, vy: ti.f64, vz: ti.f64, old_pos: vecs, old_vel: vecs, scale_d: ti.f64, scale_v: ti.f64, limit: ti.f64, squares: longs, products: longs, overflow: ints):  # fmt: skip
        pieces = (n + PIECE - 1) // PIECE
        for item in range(slots * pieces):
            slot = item // pieces
            first = item % pieces * PIECE
            lag = lag_of[slot]
            if lag >= 0:
                here = kind[first]
                square = ti.Vector.zero(ti.i64, 3)
                product = ti.Vector.zero(ti.i64, 3)
                for i in range(first, ti.min(n, first + PIECE)):
                    if kind[i] != here:
                        for c in ti.static(range(3)):
                            ti.atomic_add(squares[(lag * n_kinds + here) * 3 + c], square[c])
                            ti.atomic_add(products[(lag * n_kinds + here) * 3 + c], product[c])
                            square[c], product[c] = ti.i64(0), ti.i64(0)
                        here = kind[i]
                    k = slot * n + ident[i]
                    d = ti.cast(pos[i], ti.f64) - ti.Vector([x, y, z]) - ti.cast(old_pos[k], ti.f64)
                    v, w = ti.cast(vel[i], ti.f64) - ti.Vector([vx, vy, vz]), ti.cast(old_vel[k], ti.f64)
                    for c in ti.static(range(3)):
                        dd, bad_d = fixed(d[c] * d[c], scale_d, limit)
                        vw, bad_v = fixed(v[c] * w[c], scale_v, limit)
                        square[c] += dd
                        product[c] += vw
                        if bad_d + bad_v > 0:
                            overflow[0] = 1
                for c in ti.static(range(3)):
                    ti.atomic_add(squares[(lag * n_kinds + here) * 3 + c], square[c])
                    ti.atomic_add(products[(lag * n_kinds + here) * 3 + c], product[c])

    return keep, compare


class TimeCorrelation:
    """Windowed mean square displacement and velocity autocorrelation with many time origins.

    Memory on the device: (window / origin_every + 1) times positions and velocities.

    Args:
        kinds: (n,) species number of each atom, the user's order.
        n_kinds: number of species.
        window: largest time difference, in samples.
        origin_every: samples between time origins; 1 takes all.
        displacement: largest displacement along one direction within the window, angstrom.
        speed: largest speed along one direction, angstrom / internal time (8 are 79 km/s).
        precision: of positions and velocities, that of the engine.

    Raises:
        AnalysisError: a number that makes no sense, or more than 2^31 vectors to keep.

    Attributes:
        samples: samples taken.
        resolution: smallest difference of a displacement's square (angstrom^2) and of a product of
            velocities that a term can have.
    """

    def __init__(
        self,
        kinds: NDArray[np.int32],
        n_kinds: int,
        window: int,
        origin_every: int = 1,
        displacement: float = 100.0,
        speed: float = 8.0,
        precision: str = "float64",
    ) -> None:
        if window < 1 or origin_every < 1 or not displacement > 0 or not speed > 0 or len(kinds) == 0:
            raise AnalysisError(
                f"time correlation with window {window}, origins each {origin_every} samples, displacement "
                f"{displacement:g} Å, speed {speed:g}: expected numbers above 0"
            )
        self.window, self.every = window, origin_every
        self._n, self._n_kinds = n, _ = len(kinds), n_kinds
        self._atoms = np.bincount(kinds, minlength=n_kinds)
        # No sum over atoms and DRAIN samples of terms below this one reaches LIMIT.
        self._limit = float(LIMIT // (n * DRAIN))
        self._set_range(displacement, speed)
        real, _ = PRECISIONS[precision]
        self._keep, self._compare = _kernels(real)
        self._slots = window // origin_every + 1
        if self._slots * n >= 2**31:
            raise AnalysisError(
                f"time correlation with {self._slots} origins of {n} atoms: more than 2^31 vectors; shorten the "
                "window or take origins less often"
            )
        vec = ti.types.vector(3, real)
        self._old = [ti.ndarray(vec, self._slots * n) for _ in range(2)]
        self._lag_of, self._overflow = ti.ndarray(ti.i32, self._slots), ti.ndarray(ti.i32, 1)
        self._sums = [ti.ndarray(ti.i64, (window + 1) * n_kinds * 3) for _ in range(2)]
        self.clear()

    def _set_range(self, displacement: float, speed: float) -> None:
        self._range = displacement, speed
        self._scale = [2.0 ** floor(log2(self._limit / largest**2)) for largest in self._range]
        self.resolution = tuple(1.0 / scale for scale in self._scale)

    def clear(self) -> None:
        """Forget all samples: the next one is the first."""
        self.samples = 0
        self._clear()
        self._totals = [np.zeros((self.window + 1) * self._n_kinds * 3, object) for _ in range(2)]
        self._origins = np.zeros(self.window + 1, np.int64)

    def _clear(self) -> None:
        self._overflow.fill(0)
        for sums in self._sums:
            sums.fill(0)

    def sample(self, pos: Any, vel: Any, kind: Any, ident: Any, centre: Centre = LABORATORY) -> None:
        """Add one sample; call at equal time intervals.

        Args:
            pos: n vectors, angstrom, spatial order, never wrapped.
            vel: n vectors, angstrom / internal time.
            kind: n species numbers.
            ident: n user's numbers.
            centre: positions and velocities count relative to it.

        Raises:
            AnalysisError: as `results`.
        """
        now = self.samples
        relative = *centre.position, *centre.velocity
        with literals(ti.f64):
            if now % self.every == 0:
                self._keep(self._n, now // self.every % self._slots, ident, pos, vel, *relative, *self._old)
            lags = self._lags(now)
            self._lag_of.from_numpy(lags)
            self._compare(
                self._n, self._slots, self._n_kinds, self._lag_of, ident, kind, pos, vel, *relative, *self._old,
                *self._scale, self._limit, *self._sums, self._overflow,
            )  # fmt: skip
        self._origins[lags[lags >= 0]] += 1
        self.samples += 1
        if self.samples % DRAIN == 0:
            self._drain()

    def _lags(self, now: int) -> NDArray[np.int32]:
        """Samples since the origin in each slot of the ring; -1: empty, or beyond the window."""
        newest = now // self.every
        number = newest - (newest - np.arange(self._slots)) % self._slots
        lag = now - number * self.every
        return np.where((number >= 0) & (lag <= self.window), lag, -1).astype(np.int32)

    def _drain(self) -> None:
        if self._overflow.to_numpy()[0]:
            displacement, speed = self._range
            raise AnalysisError(
                f"an atom moved more than {displacement:g} Å or faster than {speed:g} Å per internal time in one "
                "direction within the window, or a coordinate is not finite: shorten the window (--observe-window)"
            )
        for total, sums in zip(self._totals, self._sums, strict=True):
            total += sums.to_numpy()
        self._clear()

    def results(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Means over atoms of a species and time origins.

        Returns:
            Mean square displacement, (window + 1, n_kinds, 3) angstrom^2; velocity autocorrelation, same
            shape, (angstrom / internal time)^2; (window + 1,) number of origins. NaN where there was none.

        Raises:
            AnalysisError: a term beyond what `displacement` and `speed` allow, or not finite.
        """
        self._drain()
        shape = (self.window + 1, self._n_kinds, 3)
        terms = (self._origins[:, None] * self._atoms)[:, :, None]
        means = []
        for total, scale in zip(self._totals, self._scale, strict=True):
            # Whole numbers become float64 once, at the end.
            sums = total.astype(np.float64).reshape(shape) / scale
            means.append(np.divide(sums, terms, out=np.full(shape, np.nan), where=terms > 0))
        return means[0], means[1], self._origins.copy()

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep: origins, sums (high and low parts), counts.

        Raises:
            AnalysisError: as `results`.
        """
        self._drain()
        saved = {
            "samples": np.array(self.samples),
            "origins": self._origins.copy(),
            "range": np.array(self._range),
        }
        for name, total, old in zip(("squares", "products"), self._totals, self._old, strict=True):
            saved[name] = np.array([total >> 62, total & _LOW]).astype(np.int64)
            saved[f"old_{name}"] = old.to_numpy()
        return saved

    def load(self, saved: dict[str, NDArray[Any]]) -> None:
        """Go on from what `save` gave.

        Raises:
            AnalysisError: it is of another window, or of other atoms.
        """
        expected = {"origins": self._origins.shape, "old_squares": self._old[0].to_numpy().shape}
        for name, shape in expected.items():
            if saved[name].shape != shape:
                raise AnalysisError(
                    f"saved time correlation: {name} has the shape {saved[name].shape}, expected {shape}"
                )
        self._clear()
        if "range" in saved:
            self._set_range(*(float(largest) for largest in saved["range"]))
        self.samples, self._origins = int(saved["samples"]), saved["origins"].astype(np.int64)
        for k, name in enumerate(("squares", "products")):
            high, low = saved[name].astype(object)
            self._totals[k] = high * 2**62 + low
            self._old[k].from_numpy(saved[f"old_{name}"])
