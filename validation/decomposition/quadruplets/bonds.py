"""The bonds whose chains i-j-k-l are quadruplets, and the condition of Algorithm 3 that chains must pass.

A bond of atom i is an edge to one periodic image of another atom (or of i itself), and stands in the rows of
both atoms. The image T = x a1 + y a2 + z a3 is one integer, 2^20 x + 2^10 y + z. Codes of images add up as
images do, so two images of one atom differ along a chain.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.errors import StructureError
from taichimd.core.runtime import start, ti

TYPES = types_of(ti.f64)
vec3, vec4 = TYPES["vec"], TYPES["vec4"]


class Bonds(Bundle):
    """The arrays of a `BondList`."""

    n: Any = Number("i32", "number of atoms")
    m: Any = Number("i32", "number of directed bonds")
    cutoff: Any = Number("f64", "bond orders, and products of two, are above it")
    cutoff2: Any = Number("f64", "BO_ij BO_jk^2 BO_kl of a chain is above it")
    first: Any = ArrayField("i32", "n + 1", "where the row of each atom begins")
    origin: Any = ArrayField("i32", "m", "the atom of each bond's row")
    partner: Any = ArrayField("i32", "m", "its other atom")
    image: Any = ArrayField("i32", "m", "code of its image")
    reverse: Any = ArrayField("i32", "m", "the same bond in the row of the other atom")
    strength: Any = ArrayField("f64", "m", "bond order, the same in both directions")
    pos: Any = ArrayField("vec", "n", "positions, angstrom")
    lattice: Any = ArrayField("vec", "3", "cell vectors, angstrom")


@ti.func
def image_vector(code, lattice: ti.template()):
    """The vector of an image, angstrom. The vector of -code is its exact negative."""
    z = ((code + 512) & 1023) - 512
    rest = (code - z) >> 10
    y = ((rest + 512) & 1023) - 512
    x = (rest - y) >> 10
    return x * lattice[0] + y * lattice[1] + z * lattice[2]


@ti.func
def measure(bonds: ti.template(), vectors: ti.template()):
    """Unit vector and length of every bond that any chain may have. Launch: one thread per directed bond."""
    for b in range(bonds.m):
        if accepted(b, bonds):
            d = bonds.pos[bonds.partner[b]] - bonds.pos[bonds.origin[b]]
            if bonds.image[b] != 0:
                d += image_vector(bonds.image[b], bonds.lattice)
            r = ti.sqrt(d.dot(d))
            e = d * (1.0 / r)
            vectors[b] = vec4(e[0], e[1], e[2], r)


@ti.func
def accepted(b, bonds: ti.template()):
    """Whether a bond is strong enough for a chain."""
    return bonds.strength[b] > bonds.cutoff


@ti.func
def is_central(b, bonds: ti.template()):
    """Whether b, and not its reverse, stands for an accepted bond: the one that stands first."""
    return b < bonds.reverse[b] and accepted(b, bonds)


@ti.func
def follows(b, p, bonds: ti.template()):
    """Whether bond p may follow the accepted bond b of the same atom."""
    return p != b and accepted(p, bonds) and bonds.strength[p] * bonds.strength[b] > bonds.cutoff


@ti.func
def is_chain(p, b, q, bonds: ti.template()):
    """Whether p, b, q make a chain i-j-k-l. In a triangle l would be i, in the same image."""
    same = bonds.partner[p] == bonds.partner[q]
    ring = same and bonds.image[p] == bonds.image[b] + bonds.image[q]
    s_p, s_b, s_q = bonds.strength[p], bonds.strength[b], bonds.strength[q]
    # The product of the outer ones first: a chain and its reverse must round alike.
    return not ring and (s_p * s_q) * (s_b * s_b) > bonds.cutoff2


@cache
def _reverse_kernel() -> Any:
    rows = Bonds.only("m", "first", "origin", "partner", "image", "reverse")

    @kernel(TYPES, bonds=rows)
    def find_reverse(bonds):
        for b in range(bonds.m):
            bonds.reverse[b] = -1
            j = bonds.partner[b]
            for r in range(bonds.first[j], bonds.first[j + 1]):
                if bonds.partner[r] == bonds.origin[b] and bonds.image[r] == -bonds.image[b]:
                    bonds.reverse[b] = r

    return find_reverse


class BondList:
    """Bonds of n atoms, each once in both directions, with bond orders.

    Results do not depend on the spatial order of the atoms if rows stand in the order of the user's atom
    numbers.

    Args:
        first: (n+1,) where the row of each atom begins.
        partner: (m,) the other atom of each bond.
        image: (m, 3) its image in whole cell vectors: r_ij = pos[j] - pos[i] + image @ cell.
        strength: (m,) bond orders, the same in both directions.
        positions: (n, 3) angstrom, in the images that the bonds were found with.
        cell: (3, 3) angstrom.
        cutoffs: bond orders and products of two exceed the first, BO_ij BO_jk^2 BO_kl the second.

    Raises:
        StructureError: a bond that is missing in one direction.
    """

    def __init__(
        self,
        first: ArrayLike,
        partner: ArrayLike,
        image: ArrayLike,
        strength: ArrayLike,
        *,
        positions: ArrayLike,
        cell: ArrayLike,
        cutoffs: tuple[float, float],
    ) -> None:
        start()
        rows, to = np.asarray(first, np.int64), np.asarray(partner, np.int64)
        self.n, self.m = len(rows) - 1, len(to)
        self.cutoff, self.cutoff2 = cutoffs
        self.degrees = np.diff(rows)
        self.first = on_device(ti.i32, rows)
        self.origin = on_device(ti.i32, np.repeat(np.arange(self.n), self.degrees))
        self.partner = on_device(ti.i32, to)
        self.image = on_device(ti.i32, np.reshape(image, (-1, 3)).astype(int) @ [2**20, 2**10, 1])
        self.reverse = ti.ndarray(ti.i32, max(self.m, 1))
        _reverse_kernel()(self)
        missing = self.reverse.to_numpy()[: self.m] < 0
        if missing.any():
            raise StructureError(f"bond {missing.argmax()} is missing in the other direction")
        self.strength = on_device(ti.f64, strength)
        self.lattice = on_device(vec3, cell)
        self.pos = on_device(vec3, positions)


def on_device(dtype: Any, values: ArrayLike) -> Any:
    """An array on the device with these values, and of one element at least."""
    given = np.asarray(values, np.int32 if dtype is ti.i32 else np.float64)
    padded: NDArray[Any] = given if len(given) else np.zeros(1, given.dtype)
    array = ti.ndarray(dtype, len(padded))
    array.from_numpy(np.ascontiguousarray(padded))
    return array
