"""The network of bonds from which tuples are made: rows in compressed form (CSR) on the device.

A bond of atom i is an edge to one periodic image of another atom (or of i itself), and stands in the rows of
both. The image T = x a1 + y a2 + z a3 is one integer, 2^20 x + 2^10 y + z: codes of images add up as images do,
so that going along a chain tells two images of an atom apart.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.errors import SettingsError, StructureError
from taichimd.core.runtime import PRECISIONS, start, ti
from taichimd.neighbours.box import make_frame

FARTHEST = 255
"""Cells between bonded atoms along a direction: sums of two codes less a third are still unique."""
MOST_BONDS = 2**15
"""Of one atom: the chains about one bond are then counted in 32 bits."""


@ti.func
def image_vector(code, lattice: ti.template()):  # type: ignore[valid-type]
    """The vector of an image, angstrom; that of -code is its exact negative."""
    z = ((code + 512) & 1023) - 512
    rest = (code - z) >> 10
    y = ((rest + 512) & 1023) - 512
    x = (rest - y) >> 10
    return x * lattice[0] + y * lattice[1] + z * lattice[2]


class Bonds(Bundle):
    """The arrays of a `BondList`."""

    n: Any = Number("i32", "number of atoms")
    m: Any = Number("i32", "number of directed bonds")
    first: Any = Array("i32", "n + 1", "where the row of each atom begins")
    origin: Any = Array("i32", "m", "the atom of each bond's row")
    partner: Any = Array("i32", "m", "its other atom")
    image: Any = Array("i32", "m", "code of its image")
    reverse: Any = Array("i32", "m", "the same bond in the row of the other atom")
    strength: Any = Array("real", "m", "such as a bond order")
    kind: Any = Array("i32", "n", "number of the species")
    pos: Any = Array("vec", "n", "positions, angstrom")
    lattice: Any = Array("vec", "3", "cell vectors, angstrom")


@cache
def _reverse_kernel() -> Any:
    rows = Bonds.only("m", "first", "origin", "partner", "image", "reverse")

    @kernel(types_of(ti.f64), bonds=rows)
    def find_reverse(bonds):
        for b in range(bonds.m):
            found = 0
            j = bonds.partner[b]
            for r in range(bonds.first[j], bonds.first[j + 1]):
                if bonds.partner[r] == bonds.origin[b] and bonds.image[r] == -bonds.image[b]:
                    bonds.reverse[b] = r
                    found += 1
            if found != 1:
                bonds.reverse[b] = -1 - found

    return find_reverse


class BondList:
    """Bonds of n atoms, both directions, with strengths.

    Results do not depend on the spatial order of the atoms if rows stand in the order of the user's atom
    numbers. Strengths, positions and cell may change from step to step; bonds may not.

    Args:
        first: (n+1,) where the row of each atom begins.
        partner: (m,) the other atom of each bond.
        image: (m, 3) its image in whole cell vectors: r_ij = pos[j] - pos[i] + image @ cell.
        strength: (m,) the same in both directions, such as bond orders.
        cell: (3, 3) angstrom; not needed without images.
        kinds: (n,) species numbers that functions of tuples see; default 0.
        precision: "float64" or "float32".

    Raises:
        StructureError: shapes or numbers that are not a list of bonds, or a bond that is not there exactly once
            in both directions.
        SettingsError: another precision.

    Attributes:
        n, m: atoms, directed bonds. first, origin, partner, image, reverse, strength, kind, pos, lattice: on
            the device (`Bonds`).
        changes: how often strengths were set: lists made for another number are outdated.
    """

    def __init__(
        self,
        first: ArrayLike,
        partner: ArrayLike,
        image: ArrayLike,
        strength: ArrayLike,
        *,
        cell: ArrayLike | None = None,
        kinds: ArrayLike | None = None,
        precision: str = "float64",
    ) -> None:
        start()
        if precision not in ("float64", "float32"):
            raise SettingsError(f"precision = {precision!r}: expected float64 or float32")
        self.real, self.numpy_real = PRECISIONS[precision]
        rows, to = np.asarray(first, np.int64), np.asarray(partner, np.int64)
        n, m = len(rows) - 1, len(to)
        images = _shaped(image if m else np.zeros((0, 3)), np.int64, (m, 3), "images")
        _check(rows, to, images)
        species = np.zeros(n) if kinds is None else _shaped(kinds, np.int64, (n,), "kinds")
        self.n, self.m, self.changes = n, m, 0
        self.degrees = np.diff(rows)
        self.first = _ints(rows)
        self.origin = _ints(np.repeat(np.arange(n), self.degrees))
        self.partner = _ints(to)
        self.image = _ints(images @ np.array([2**20, 2**10, 1]))
        self.kind = _ints(species)
        self.reverse = ti.ndarray(ti.i32, max(m, 1))
        _reverse_kernel()(self)
        self._reverse = self.reverse.to_numpy()[:m]
        wrong = (self._reverse < 0) | (self._reverse == np.arange(m))
        if wrong.any():
            b = int(wrong.argmax())
            i = int(np.searchsorted(rows, b, "right")) - 1
            raise StructureError(
                f"bond {b}, from atom {i} to {to[b]}, is listed twice, has no reverse, or is its own; list each "
                "bond once in both directions"
            )
        vec = ti.types.vector(3, self.real)
        self.pos, self.lattice = ti.ndarray(vec, n), ti.ndarray(vec, 3)
        self.strength = ti.ndarray(self.real, max(m, 1))
        self.set_strengths(strength)
        self.set_cell(np.zeros((3, 3)) if cell is None else cell)

    def set_strengths(self, strength: ArrayLike) -> None:
        """Take (m,) strengths.

        Raises:
            StructureError: another shape, or numbers that differ between the directions of a bond.
        """
        values = np.zeros(max(self.m, 1), self.numpy_real)
        given = _shaped(strength, self.numpy_real, (self.m,), "strengths")
        wrong = ~(given == given[self._reverse])  # also what is no number
        if wrong.any():
            b = int(wrong.argmax())
            raise StructureError(
                f"strength {b} is {given[b]}, that of the same bond from its other atom {given[self._reverse][b]}: "
                "expected numbers, the same in both directions"
            )
        values[: self.m] = given
        self.strength.from_numpy(values)
        self.touch()

    def touch(self) -> None:
        """Say that `strength` was changed on the device: lists will be built anew."""
        self.changes += 1

    def set_positions(self, positions: ArrayLike) -> None:
        """Take (n, 3) positions, angstrom, in the images that the bonds were found with.

        Raises:
            StructureError: another shape, or numbers that are not finite.
        """
        values = _shaped(positions, self.numpy_real, (self.n, 3), "positions")
        if not np.isfinite(values).all():
            raise StructureError("a position is not finite")
        self.pos.from_numpy(np.ascontiguousarray(values))

    def set_cell(self, cell: ArrayLike) -> None:
        """Take another (3, 3) cell, angstrom.

        Raises:
            StructureError: it is not finite.
        """
        lattice = np.asarray(cell, float)
        make_frame(lattice, np.zeros(3, bool))
        self.lattice.from_numpy(lattice.astype(self.numpy_real))


def _shaped(values: ArrayLike, dtype: Any, shape: tuple[int, ...], what: str) -> NDArray[Any]:
    """The values as an array; refused if they have another shape."""
    array = np.asarray(values, dtype)
    if array.shape != shape:
        raise StructureError(f"{what} have shape {array.shape}, expected {shape}")
    return array


def _ints(values: NDArray[Any]) -> Any:
    array = ti.ndarray(ti.i32, max(len(values), 1))
    padded = np.zeros(max(len(values), 1), np.int32)
    padded[: len(values)] = values
    array.from_numpy(padded)
    return array


def _check(first: NDArray[np.int64], partner: NDArray[np.int64], image: NDArray[np.int64]) -> None:
    """Refuse what kernels would read out of bounds."""
    n, degrees = len(first) - 1, np.diff(first)
    if n < 1 or first[0] != 0 or first[-1] != len(partner) or (degrees < 0).any():
        raise StructureError(f"first must rise from 0 to {len(partner)}, the number of bonds")
    if len(partner) and (partner.min() < 0 or partner.max() >= n):
        raise StructureError(f"partners must lie between 0 and {n - 1}, the atoms")
    if abs(image).max(initial=0) > FARTHEST:
        raise StructureError(
            f"a bond spans {abs(image).max()} cells, expected at most {FARTHEST}; wrap the positions into the cell"
        )
    if degrees.max() > MOST_BONDS:
        raise StructureError(
            f"atom {degrees.argmax()} has {degrees.max()} bonds, expected at most {MOST_BONDS}; shorten them"
        )
