"""Sums over chains by atomics, as Small et al. 2018 do (section 3): a chain adds to its atoms and bonds."""

from functools import cache
from typing import Any

import numpy as np

from taichimd.core.arguments import ArrayField, Bundle, kernel
from taichimd.core.runtime import literals, ti
from validation.decomposition.quadruplets.bonds import TYPES, BondList, Bonds, measure, on_device
from validation.decomposition.quadruplets.lists import PLACES, ChainList, Listed
from validation.decomposition.quadruplets.sums import chain_value
from validation.decomposition.quadruplets.torsion import TORSION, torsion

FIXED = 2.0**40
"""Whole numbers stand for multiples of 1/FIXED eV/angstrom."""


class Scattered(Bundle):
    """What the threads of chains read, and add to."""

    table: Any = ArrayField("f64", "any", "parameters of the torsion")
    vectors: Any = ArrayField("vec4", "m", "unit vector and length of each bond, angstrom")
    energy: Any = ArrayField("total", "n", "of each atom")
    force: Any = ArrayField("totals", "n", "on each atom")
    slope: Any = ArrayField("total", "m", "to the strength of each bond")


@cache
def scatter_kernel(fixed: bool) -> Any:
    """Tuple decomposition with atomics: the thread of a chain adds to the sums of its atoms and bonds.

    `fixed`: whole numbers of 1/FIXED, whose sums do not depend on the order of additions.
    """
    total = ti.i64 if fixed else ti.f64
    types = TYPES | {"total": total, "totals": ti.types.vector(3, total)}
    value = chain_value(torsion)

    @ti.func
    def add(target: ti.template(), at, part):
        if ti.static(fixed):
            ti.atomic_add(target[at], ti.cast(ti.floor(part * FIXED + 0.5), ti.i64))
        else:
            ti.atomic_add(target[at], part)

    @kernel(types, graph=True, bonds=Bonds, listed=Listed.only("count"), places=PLACES, out=Scattered)
    def scatter(bonds, listed, places, out):
        measure(bonds, out.vectors)
        for b in range(bonds.m):
            out.slope[b] = 0
        for i in range(bonds.n):
            out.energy[i] = 0
            out.force[i] = ti.Vector([0, 0, 0])
        for t in range(listed.count):
            p, b, q = places[0][t], places[1][t], places[2][t]
            i, j, k, end = bonds.partner[p], bonds.origin[b], bonds.partner[b], bonds.partner[q]
            u, g_ji, g_jk, g_kl = value(p, b, q, out.vectors, bonds.strength, out.table)
            add(out.energy, j, 0.5 * u)
            add(out.energy, k, 0.5 * u)
            add(out.slope, ti.min(p, bonds.reverse[p]), g_ji[3])
            add(out.slope, b, g_jk[3])
            add(out.slope, ti.min(q, bonds.reverse[q]), g_kl[3])
            add(out.force, i, -g_ji[:3])
            add(out.force, j, (g_ji + g_jk)[:3])
            add(out.force, k, (g_kl - g_jk)[:3])
            add(out.force, end, -g_kl[:3])

    return scatter


class Scatter:
    """Arrays and one call of `scatter_kernel` for a list of chains."""

    def __init__(self, bonds: BondList, chains: ChainList, fixed: bool) -> None:
        total = ti.i64 if fixed else ti.f64
        self._bonds, self._chains, self._kernel = bonds, chains, scatter_kernel(fixed)
        self._unit = 1.0 / FIXED if fixed else 1.0
        self._out = Scattered(
            table=on_device(ti.f64, TORSION),
            vectors=ti.ndarray(TYPES["vec4"], bonds.m),
            energy=ti.ndarray(total, bonds.n),
            force=ti.ndarray(ti.types.vector(3, total), bonds.n),
            slope=ti.ndarray(total, bonds.m),
        )

    def __call__(self) -> None:
        """Queue the sums."""
        with literals(ti.f64):
            self._kernel(self._bonds, self._chains, self._chains.places, self._out)

    def forces(self) -> np.ndarray:
        """(n, 3) eV/angstrom."""
        return self._out.force.to_numpy() * self._unit
