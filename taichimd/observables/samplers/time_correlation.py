"""Mean square displacement and velocity autocorrelation, accumulated on the device while a run continues.

A ring of time origins holds positions and velocities of earlier samples, by the user's numbers. Each sample
is compared with every origin that lies within the window, and the squares of displacements and the products
of velocities are added up per time difference, group of atoms (such as a species) and direction.

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

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.errors import AnalysisError, CheckpointError
from taichimd.core.runtime import PRECISIONS, literals, ti
from taichimd.core.saved import MISSING, saved_array
from taichimd.observables.samplers.fixed_point import DRAIN, LIMIT, PIECE, fixed
from taichimd.program.totals import LABORATORY, Centre
from taichimd.system.state import Atoms

_LOW = 2**62 - 1


class Reference(Bundle):
    """What positions and velocities count relative to."""

    position: Any = Number("double_vec", "angstrom")
    velocity: Any = Number("double_vec", "angstrom per internal time unit")


class Ring(Bundle):
    """The time origins, each in a slot."""

    slots: Any = Number("i32", "origins that are kept")
    lag_of: Any = ArrayField("i32", "slots", "samples since the origin; -1: not to be compared with")
    pos: Any = ArrayField("vec", "slots * n", "positions, by the user's numbers, angstrom")
    vel: Any = ArrayField("vec", "slots * n", "velocities, angstrom per internal time unit")


class Sums(Bundle):
    """What is added up for each lag, group of atoms and direction."""

    n_groups: Any = Number("i32", "number of groups")
    group_of: Any = ArrayField("i32", "n", "group of each atom, by the user's numbers")
    scale_squares: Any = Number("f64", "by which squares are multiplied, 1/angstrom^2")
    scale_products: Any = Number("f64", "by which products are multiplied")
    limit: Any = Number("f64", "largest term")
    squares: Any = ArrayField("i64", "lags * n_groups * 3", "squares of displacements")
    products: Any = ArrayField("i64", "lags * n_groups * 3", "products of velocities")
    overflow: Any = ArrayField("i32", "1", "1 if a term was larger")


MOVING = Atoms.only("n", "ident", "pos", "vel")


@cache
def _kernels(real: Any) -> tuple[Any, Any]:
    types = types_of(real)

    @kernel(
        types, atoms=MOVING, frame=Reference, ring=Ring.only("pos", "vel"), slot=Number("i32", "to be filled")
    )
    def keep(atoms, frame, ring, slot):
        for i in range(atoms.n):
            k = slot * atoms.n + atoms.ident[i]
            ring.pos[k] = ti.cast(ti.cast(atoms.pos[i], ti.f64) - frame.position, real)
            ring.vel[k] = ti.cast(ti.cast(atoms.vel[i], ti.f64) - frame.velocity, real)

    @ti.func
    def add(sums: ti.template(), lag, group, square, product):  # type: ignore[valid-type]
        for c in ti.static(range(3)):
            ti.atomic_add(sums.squares[(lag * sums.n_groups + group) * 3 + c], square[c])
            ti.atomic_add(sums.products[(lag * sums.n_groups + group) * 3 + c], product[c])

    @kernel(types, atoms=MOVING, frame=Reference, ring=Ring, sums=Sums)
    def compare(atoms, frame, ring, sums):
        n = atoms.n
        pieces = (n + PIECE - 1) // PIECE
        for item in range(ring.slots * pieces):
            slot = item // pieces
            first = item % pieces * PIECE
            lag = ring.lag_of[slot]
            if lag >= 0:
                here = sums.group_of[atoms.ident[first]]
                square = ti.Vector.zero(ti.i64, 3)
                product = ti.Vector.zero(ti.i64, 3)
                for i in range(first, ti.min(n, first + PIECE)):
                    group = sums.group_of[atoms.ident[i]]
                    if group != here:
                        add(sums, lag, here, square, product)
                        here, square, product = group, 0 * square, 0 * product
                    k = slot * n + atoms.ident[i]
                    d = ti.cast(atoms.pos[i], ti.f64) - frame.position - ti.cast(ring.pos[k], ti.f64)
                    v, w = ti.cast(atoms.vel[i], ti.f64) - frame.velocity, ti.cast(ring.vel[k], ti.f64)
                    for c in ti.static(range(3)):
                        dd, bad_d = fixed(d[c] * d[c], sums.scale_squares, sums.limit)
                        vw, bad_v = fixed(v[c] * w[c], sums.scale_products, sums.limit)
                        square[c] += dd
                        product[c] += vw
                        if bad_d + bad_v > 0:
                            sums.overflow[0] = 1
                add(sums, lag, here, square, product)

    return keep, compare


class TimeCorrelation:
    """Windowed mean square displacement and velocity autocorrelation with many time origins.

    Memory on the device: (window / origin_every + 1) times positions and velocities.

    Args:
        groups: (n,) number of each atom's group, such as its species, the user's order.
        n_groups: number of groups.
        window: largest time difference, in samples.
        origin_every: samples between time origins; 1 takes all.
        displacement: largest displacement along one direction within the window, angstrom.
        speed: largest speed along one direction, angstrom / internal time (8 are 79 km/s).
        precision: of positions and velocities, that of the engine.

    Raises:
        AnalysisError: a number that makes no sense, or more than 2^31 numbers to keep.

    Attributes:
        samples: samples taken.
        resolution: smallest difference of a displacement's square (angstrom^2) and of a product of
            velocities that a term can have.
    """

    def __init__(
        self,
        groups: NDArray[np.int32],
        n_groups: int,
        window: int,
        origin_every: int = 1,
        displacement: float = 100.0,
        speed: float = 8.0,
        precision: str = "float64",
    ) -> None:
        if window < 1 or origin_every < 1 or not displacement > 0 or not speed > 0 or len(groups) == 0:
            raise AnalysisError(
                f"time correlation with window {window}, origins each {origin_every} samples, displacement "
                f"{displacement:g} Å, speed {speed:g}: expected numbers above 0"
            )
        self.window, self.every = window, origin_every
        n, slots = len(groups), window // origin_every + 1
        if 3 * slots * n >= 2**31:
            raise AnalysisError(
                f"time correlation with {slots} origins of {n} atoms: more than 2^31 numbers; shorten the "
                "window or take origins less often"
            )
        self._atoms = np.bincount(groups, minlength=n_groups)
        real, _ = PRECISIONS[precision]
        self._keep, self._compare = _kernels(real)
        vec, size = ti.types.vector(3, real), (window + 1) * n_groups * 3
        self._ring = Ring(
            slots, ti.ndarray(ti.i32, slots), ti.ndarray(vec, slots * n), ti.ndarray(vec, slots * n)
        )
        self._sums = Sums(
            n_groups=n_groups, group_of=ti.ndarray(ti.i32, n), squares=ti.ndarray(ti.i64, size),
            products=ti.ndarray(ti.i64, size), overflow=ti.ndarray(ti.i32, 1),
            # No sum over atoms and DRAIN samples of terms below this one reaches LIMIT.
            limit=float(LIMIT // (n * DRAIN)),
        )  # fmt: skip
        self._sums.group_of.from_numpy(np.asarray(groups, np.int32))
        self._old = self._ring.pos, self._ring.vel
        self._set_range(displacement, speed)
        self.clear()

    def _set_range(self, displacement: float, speed: float) -> None:
        self._range = displacement, speed
        scales = [2.0 ** floor(log2(self._sums.limit / largest**2)) for largest in self._range]
        self._sums.scale_squares, self._sums.scale_products = scales
        self.resolution = tuple(1.0 / scale for scale in scales)

    def clear(self) -> None:
        """Forget all samples: the next one is the first."""
        self.samples = 0
        self._clear()
        self._totals = [np.zeros((self.window + 1) * len(self._atoms) * 3, object) for _ in range(2)]
        self._origins = np.zeros(self.window + 1, np.int64)

    def _clear(self) -> None:
        for array in (self._sums.overflow, self._sums.squares, self._sums.products):
            array.fill(0)

    def sample(self, atoms: Any, centre: Centre = LABORATORY) -> None:
        """Add one sample of atoms as `State` has them, relative to `centre`; call at equal time intervals."""
        now, lags = self.samples, self._lags(self.samples)
        frame = Reference(*(ti.Vector(list(part), ti.f64) for part in centre))
        self._ring.lag_of.from_numpy(lags)
        with literals(ti.f64):
            if now % self.every == 0:
                self._keep(atoms, frame, self._ring, now // self.every % self._ring.slots)
            self._compare(atoms, frame, self._ring, self._sums)
        self._origins[lags[lags >= 0]] += 1
        self.samples += 1
        if self.samples % DRAIN == 0:
            self._drain()

    def _lags(self, now: int) -> NDArray[np.int32]:
        """Samples since the origin in each slot of the ring; -1: empty, or beyond the window."""
        newest = now // self.every
        number = newest - (newest - np.arange(self._ring.slots)) % self._ring.slots
        lag = now - number * self.every
        return np.where((number >= 0) & (lag <= self.window), lag, -1).astype(np.int32)

    def _drain(self) -> None:
        if self._sums.overflow.to_numpy()[0]:
            displacement, speed = self._range
            raise AnalysisError(
                f"an atom moved more than {displacement:g} Å or faster than {speed:g} Å per internal time in "
                "one direction within the window, or a coordinate is not finite: shorten the window "
                "(--observe-window)"
            )
        for total, sums in zip(self._totals, (self._sums.squares, self._sums.products), strict=True):
            total += sums.to_numpy()
        self._clear()

    def results(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Means over atoms of a group and over time origins, and (window + 1,) numbers of origins.

        Mean square displacement, (window + 1, n_groups, 3) angstrom^2; velocity autocorrelation, same shape,
        (angstrom / internal time)^2; NaN where there was no origin. AnalysisError: a term beyond what
        `displacement` and `speed` allow, or not finite.
        """
        self._drain()
        shape = (self.window + 1, len(self._atoms), 3)
        terms = (self._origins[:, None] * self._atoms)[:, :, None]
        means = []
        for total, resolution in zip(self._totals, self.resolution, strict=True):
            # Whole numbers become float64 once, at the end.
            sums = total.astype(np.float64).reshape(shape) * resolution
            means.append(np.divide(sums, terms, out=np.full(shape, np.nan), where=terms > 0))
        return means[0], means[1], self._origins.copy()

    def save(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint must keep: origins, sums (high and low parts), counts."""
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
        """Continue from what `save` gave."""
        expected = {"origins": self._origins.shape, "old_squares": self._old[0].to_numpy().shape}
        for name, shape in expected.items():
            if np.shape(saved.get(name, MISSING)) != shape:
                raise AnalysisError(
                    f"saved time correlation: {name} has the shape {np.shape(saved.get(name, MISSING))}, "
                    f"expected {shape}"
                )
        samples = int(saved_array(saved, "samples", "i"))
        origins = saved_array(saved, "origins", "i", *self._origins.shape).astype(np.int64)
        if samples < 0 or (origins < 0).any():
            raise CheckpointError("a number of samples is below 0")
        self._clear()
        if "range" in saved:
            farthest, fastest = saved_array(saved, "range", "f", 2).tolist()
            if not (farthest > 0 and fastest > 0):
                raise CheckpointError("range is not above 0")
            self._set_range(farthest, fastest)
        self.samples, self._origins = samples, origins
        for k, name in enumerate(("squares", "products")):
            high, low = saved_array(saved, name, "i", 2, len(self._totals[k])).astype(object)
            self._totals[k] = high * 2**62 + low
            old = self._old[k].to_numpy()
            self._old[k].from_numpy(saved_array(saved, f"old_{name}", "f", *old.shape).astype(old.dtype))
