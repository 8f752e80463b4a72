"""All pairs: no list, every pair of atoms in the order of their numbers.

On CUDA a block of threads loads the positions of a tile of atoms into shared memory once and all its
threads visit them there (DePrince, Scientific programming with GPUs; L. Nyland, M. Harris, J. Prins, GPU
Gems 3, 2007, ch. 31). On the CPU the same sum is a plain loop. Sums do not depend on their order
(`reproducible_sum`).

Periodic directions take the nearest image by rounding fractional coordinates. That is the only image within
the cutoff as long as the cell is at least twice the cutoff between opposite faces; the engine checks that.
"""

from functools import cache
from typing import Any

from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.parameters import reader
from taichimd.enumerate.reproducible_sum import pair_sums
from taichimd.enumerate.terms import Terms

TILE = 128


@cache
def all_pairs_function(terms: Terms, real: Any, term: Any, backend: str) -> Any:
    """The device function that fills forces (and energies, virials) of all atoms; holds its own loop.

    `lattice` holds the frame's vectors in rows 0-2 and its inverse in rows 3-5, zero where not periodic.
    """
    vec = ti.types.vector(3, real)
    pair = terms.pair
    read = reader(pair.columns, term) if pair else None
    n_kinds = terms.n_kinds
    sums = pair_sums(real)

    @computed_in(term)
    def interact(
        total: ti.template(), i, j, x, y, kind: ti.template(), lattice: ti.template(), table: ti.template(),
        want: ti.template()
    ):  # fmt: skip
        straight = y - x
        fractional = straight[0] * lattice[3] + straight[1] * lattice[4] + straight[2] * lattice[5]
        turns = ti.floor(fractional + 0.5)
        straight -= turns[0] * lattice[0] + turns[1] * lattice[1] + turns[2] * lattice[2]
        d = ti.cast(straight, term)
        r2 = d.dot(d)
        row = 0
        if ti.static(n_kinds > 1):
            row = kind[i] * n_kinds + kind[j]
        p = read(table, row)
        if i != j and r2 < p.cutoff * p.cutoff:
            u, w = pair.function(r2, p)
            sums.add(total, d, u, w, want)

    @ti.func
    def tiled(
        n, pos: ti.template(), kind: ti.template(), lattice: ti.template(), table: ti.template(),
        energy: ti.template(), force: ti.template(), virial: ti.template(), control: ti.template(), frozen,
        want: ti.template()
    ):  # fmt: skip
        padded = (n + TILE - 1) // TILE * TILE
        ti.loop_config(block_dim=TILE)
        for i in range(padded):
            # Threads beyond the last atom stay for the barriers and store nothing.
            tile = ti.simt.block.SharedArray((TILE, 3), real)
            lane = i % TILE
            own = ti.min(i, n - 1)
            x = pos[own]
            total = sums.empty(want)
            for block in range(padded // TILE):
                loaded = pos[ti.min(block * TILE + lane, n - 1)]
                for a in ti.static(range(3)):
                    tile[lane, a] = loaded[a]
                ti.simt.block.sync()
                for k in range(ti.min(TILE, n - block * TILE)):
                    y = vec(tile[k, 0], tile[k, 1], tile[k, 2])
                    interact(total, own, block * TILE + k, x, y, kind, lattice, table, want)
                ti.simt.block.sync()
            if i < n and control[frozen] == 0:
                sums.store(i, total, energy, force, virial, want)

    @ti.func
    def plain(
        n, pos: ti.template(), kind: ti.template(), lattice: ti.template(), table: ti.template(),
        energy: ti.template(), force: ti.template(), virial: ti.template(), control: ti.template(), frozen,
        want: ti.template()
    ):  # fmt: skip
        for i in range(n):
            if control[frozen] == 0:
                total = sums.empty(want)
                for j in range(n):
                    interact(total, i, j, pos[i], pos[j], kind, lattice, table, want)
                sums.store(i, total, energy, force, virial, want)

    return tiled if backend == "cuda" else plain
