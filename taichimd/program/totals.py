"""Totals over atoms in one order, the order of the user's numbers, for any spatial sort and thread count."""

from collections.abc import Sequence
from functools import cache
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.arrays import Array
from taichimd.core.host_copies import host_like, to_device, to_host
from taichimd.core.matrix3 import determinant
from taichimd.core.runtime import WARPS, backend, literals, ti
from taichimd.core.warps import shuffle
from taichimd.neighbours.rows import WARP
from taichimd.system.state import LEAST_INVERSE_MASS, Atoms, State

PIECE = 256
"""Atoms that one thread adds up, one after the other."""
COLUMNS = {"totals": 11, "heat": 7, "stress": 7, "centre": 7}
"""Numbers an atom adds to. totals: potential energy, kinetic energy, nine components of the virial. heat:
potential and kinetic part of the heat current, three components each, and the kinetic energy. stress:
symmetric virial and m v v together, xx yy zz yz xz xy (minus volume times stress), and the kinetic energy.
centre: mass, mass times position, mass times velocity."""
PARTS = COLUMNS | {"heat": 13}
"""Numbers of an atom before those of one column are added to it, one after the other."""

SPLIT = 128
"""Numbers in a column from which on splitting them takes less time than `math.fsum`."""
MAX_PARTS, MAX_EXPONENT = 8, 1000
"""Most parts of a number that is split; exponent of a power of two that is far from the largest number."""
VOIGT = ((0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1))


class Centre(NamedTuple):
    """Where the centre of mass is, angstrom, and its velocity, angstrom per internal time."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)


LABORATORY = Centre()
"""For samplers: take positions and velocities as they are."""


class Pieces(Bundle):
    """What sums over pieces of PIECE atoms take besides the atoms."""

    sorted_of: Any = ArrayField("i32", "n", "place of each user's number")
    energy: Any = ArrayField("real", "n", "energy of each atom, eV")
    virial: Any = ArrayField("real", "9n", "3x3 virial of each atom, eV")
    velocity: Any = Number("double_vec", "velocities count relative to this one")
    first: Any = Number("i32", "where in `sums` the results begin")
    sums: Any = ArrayField("f64", "pieces columns", "the results, piece by piece")
    bounds: Any = ArrayField("i32", "pieces + 1", "of a batch: the user's numbers at which pieces begin")
    velocities: Any = ArrayField("f64", "3 pieces", "of a batch: `velocity` of each piece")


OF_ONE = Pieces.only(*(name for name in Pieces.fields if name not in ("bounds", "velocities")))
OF_BATCH = Pieces.only(*(name for name in Pieces.fields if name != "velocity"))


@cache
def piece_adder(what: str, shared: bool) -> Any:
    """Device function (thread, first, last, velocity, atoms, of): sum of COLUMNS of `what` over some atoms.

    If `shared`, the threads of a warp read the atoms of a piece. Each thread adds up what all of them have
    read, in the order in which one thread would read it: the bits are the same. All 32 threads must call it.
    """
    columns, parts, lanes = COLUMNS[what], PARTS[what], WARP if shared else 1

    @ti.func
    def of_totals(i, v, inverse, kinetic, atoms: ti.template(), of: ti.template()):  # type: ignore[valid-type]
        part = ti.Vector.zero(ti.f64, parts)
        part[0], part[1] = of.energy[i], kinetic
        for c in ti.static(range(9)):
            part[2 + c] = of.virial[9 * i + c]
        return part

    @ti.func
    def of_heat(i, v, inverse, kinetic, atoms: ti.template(), of: ti.template()):  # type: ignore[valid-type]
        part, e = ti.Vector.zero(ti.f64, parts), kinetic + of.energy[i]
        for a in ti.static(range(3)):
            for c in ti.static(range(3)):
                part[3 * a + c] = of.virial[9 * i + 3 * a + c] * v[c]
            part[9 + a] = e * v[a]
        part[12] = kinetic
        return part

    @ti.func
    def of_stress(i, v, inverse, kinetic, atoms: ti.template(), of: ti.template()):  # type: ignore[valid-type]
        part = ti.Vector.zero(ti.f64, parts)
        for k in ti.static(range(6)):
            a, c = ti.static(VOIGT[0][k], VOIGT[1][k])
            w = ti.cast(of.virial[9 * i + 3 * a + c], ti.f64) + ti.cast(of.virial[9 * i + 3 * c + a], ti.f64)
            part[k] = 0.5 * w + v[a] * v[c] / inverse
        part[6] = kinetic
        return part

    @ti.func
    def of_centre(i, v, inverse, kinetic, atoms: ti.template(), of: ti.template()):  # type: ignore[valid-type]
        part = ti.Vector.zero(ti.f64, parts)
        part[0] = 1.0 / inverse
        x = ti.cast(atoms.pos[i], ti.f64)
        for a in ti.static(range(3)):
            part[1 + a], part[4 + a] = part[0] * x[a], part[0] * v[a]
        return part

    @ti.func
    def add(total: ti.template(), part):  # type: ignore[valid-type]
        if ti.static(parts == columns):
            total += part
        else:
            for a in ti.static(range(3)):
                for c in ti.static(range(3)):
                    total[a] += part[3 * a + c]
                total[3 + a] += part[9 + a]
            total[6] += part[12]

    of_kind = {"totals": of_totals, "heat": of_heat, "stress": of_stress, "centre": of_centre}[what]

    @ti.func
    def of_atom(k, velocity, atoms: ti.template(), of: ti.template()):  # type: ignore[valid-type]
        i = of.sorted_of[k]
        v = ti.cast(atoms.vel[i], ti.f64) - velocity
        inverse = ti.max(ti.cast(atoms.inverse_mass[i], ti.f64), LEAST_INVERSE_MASS)
        return of_kind(i, v, inverse, v.dot(v) / (2 * inverse), atoms, of)

    @ti.func
    def add_piece(thread, first, last, velocity, atoms: ti.template(), of: ti.template()):  # type: ignore[valid-type]
        total = ti.Vector.zero(ti.f64, columns)
        if ti.static(shared):
            for turn in range((last - first + WARP - 1) // WARP):
                k = first + turn * WARP
                own = of_atom(ti.min(k + thread % WARP, last - 1), velocity, atoms, of)
                for lane in range(ti.min(WARP, last - k)):
                    part = own
                    for c in ti.static(range(parts)):
                        part[c] = shuffle(own[c], lane)
                    add(total, part)
        else:
            for k in range(first, last):
                add(total, of_atom(k, velocity, atoms, of))
        if thread % lanes == 0:
            for c in ti.static(range(columns)):
                of.sums[of.first + thread // lanes * columns + c] = total[c]

    return add_piece


@cache
def piece_sums(real: Any, what: str, batch: bool = False) -> Any:
    """Kernel: sums of the COLUMNS of `what` over pieces of PIECE atoms; in a `batch` each of one system."""
    shared = WARPS and backend() == "cuda"
    lanes, add_piece = WARP if shared else 1, piece_adder(what, shared)
    taken = Atoms.only("n", *(("pos",) if what == "centre" else ()), "vel", "inverse_mass")
    if batch:

        @kernel(types_of(real), atoms=taken, of=OF_BATCH)
        def add_up_each(atoms, of):
            for thread in range((of.bounds.shape[0] - 1) * lanes):
                b = thread // lanes
                velocity = ti.Vector.zero(ti.f64, 3)
                for c in ti.static(range(3)):
                    velocity[c] = of.velocities[3 * b + c]
                add_piece(thread, of.bounds[b], of.bounds[b + 1], velocity, atoms, of)

        return add_up_each

    @kernel(types_of(real), atoms=taken, of=OF_ONE)
    def add_up(atoms, of):
        for thread in range((atoms.n + PIECE - 1) // PIECE * lanes):
            first = thread // lanes * PIECE
            add_piece(thread, first, ti.min(atoms.n, first + PIECE), of.velocity, atoms, of)

    return add_up


def column_sums(values: NDArray[np.float64]) -> list[float]:
    """Sums of the columns of a matrix, each rounded once, as `math.fsum` rounds it.

    Columns of many numbers are first split, by additions of a large number that rounds them, into parts which
    add up without any error: Rump, Ogita and Oishi, SIAM J. Sci. Comput. 31, 189 (2008), section 3.
    """
    if len(values) < SPLIT or not np.isfinite(values).all():
        return [fsum(column) for column in values.T.tolist()]
    rest, parts = values, list[NDArray[np.float64]]()
    while rest.any() and len(parts) < MAX_PARTS:
        exponents = np.frexp(np.abs(rest).max(axis=0))[1] + len(values).bit_length() + 1
        if exponents.max() > MAX_EXPONENT:
            break
        large = np.ldexp(1.0, exponents)
        rounded = (large + rest) - large
        parts.append(rounded.sum(axis=0))
        rest = rest - rounded
    if rest.any():
        return [fsum(column) for column in values.T.tolist()]
    return [fsum(column) for column in np.array(parts).reshape(-1, values.shape[1]).T.tolist()]


class Sums:
    """Sums over the atoms of each system, with the bits that they have alone, added up in float64."""

    def __init__(self, state: State) -> None:
        self._bounds = self._velocities = None
        self._room: dict[str, tuple[Any, NDArray[np.float64]]] = {}
        self._own = -(-state.sizes // PIECE)
        self._ends = np.cumsum(self._own)
        self.pieces = int(self._ends[-1])
        self._shift, self._moving = ti.Vector([0.0] * 3, dt=ti.f64), self._shifts(())
        if state.batch:
            starts = [
                first + PIECE * np.arange(own) for first, own in zip(state.firsts, self._own, strict=True)
            ]
            bounds = np.array([*np.concatenate(starts), state.n], np.int32)
            self._bounds = ti.ndarray(ti.i32, len(bounds))
            self._bounds.from_numpy(bounds)
            self._velocities = ti.ndarray(ti.f64, 3 * self.pieces)
            self._velocities.fill(0.0)

    def _shifts(self, centres: Sequence[Centre]) -> NDArray[np.float64]:
        """(systems, 3) velocities that those of atoms count relative to."""
        found = np.zeros((len(self._own), 3))
        for number, centre in enumerate(centres):
            found[number] = centre.velocity
        return found

    def queue(
        self,
        state: State,
        what: str,
        energy: Any,
        virial: Any,
        sums: Any,
        first: int = 0,
        centres: Sequence[Centre] = (),
    ) -> None:
        """Queue the sums of the COLUMNS of `what` over all pieces, to the array `sums` from `first` on.

        Energy and virial are of the atoms, eV; velocities are relative to the centre of each system, or the
        laboratory.
        """
        moving = self._shifts(centres)
        if not np.array_equal(moving, self._moving):
            self._moving = moving
            self._shift = ti.Vector(moving[0].tolist(), dt=ti.f64)
            if self._velocities is not None:
                to_device(self._velocities, np.repeat(moving, self._own, axis=0).ravel())
        pieces = Pieces(
            state.sorted_of, energy, virial, self._shift, first, sums, self._bounds, self._velocities
        )
        with literals(state.real):
            piece_sums(state.real, what, batch=self._bounds is not None)(state, pieces)

    def of(
        self, state: State, what: str, energy: Any, virial: Any, wanted: slice = slice(None)
    ) -> NDArray[np.float64]:
        """(systems, COLUMNS) sums of `what`, or the wanted columns; the host adds sums of `PIECE` atoms."""
        columns = COLUMNS[what]
        if what not in self._room:
            sums = ti.ndarray(ti.f64, self.pieces * columns)
            self._room[what] = sums, host_like(sums)
        sums, values = self._room[what]
        self.queue(state, what, energy, virial, sums)
        to_host(sums, values)
        return self.of_pieces(values.reshape(-1, columns)[:, wanted])

    def centres(self, state: State, energy: Any, virial: Any) -> list[Centre]:
        """Centre of mass of each system, bitwise the same in any order; of no meaning if atoms are fixed."""
        found = []
        for mass, *rest in self.of(state, "centre", energy, virial).tolist():
            x, y, z, vx, vy, vz = (value / mass for value in rest)
            found.append(Centre((x, y, z), (vx, vy, vz)))
        return found

    def of_pieces(
        self, values: NDArray[np.float64], numbers: Sequence[int] | None = None
    ) -> NDArray[np.float64]:
        """(systems, columns) sums of the sums over pieces (pieces, columns), of all systems or of some."""
        own = np.split(values, self._ends[:-1])
        return np.array([column_sums(own[number]) for number in (numbers or range(len(own)))])


def stress_of(virial: Array, cell: Array) -> Array | None:
    """Symmetric part of -virial/volume (6,) in Voigt order; None without a volume, or if it is NaN."""
    volume = abs(determinant(cell))
    return None if volume == 0.0 or np.isnan(virial).any() else -0.5 * (virial + virial.T)[VOIGT] / volume
