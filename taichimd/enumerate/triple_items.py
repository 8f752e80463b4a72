"""Work items of thread blocks in sums over all triples (`triple_tiles`), and the atoms of each system."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Bundle

ITEM = 5
"""Numbers of an item."""
ITEMS = ArrayField(
    "i32",
    "5 items",
    "of each: tiles I and J, first tile K, how many; K counts round the ring of tiles; and the system",
)


class Spans(Bundle):
    """Where systems lie: no triple has atoms of two."""

    system: Any = ArrayField("i32", "n", "of the atom at a place")
    begins: Any = ArrayField(
        "i32", "systems + 1", "first atom by the user's numbers; after the last one, all atoms"
    )
    squares: Any = ArrayField("i32", "systems", "first of its pairs in `triple_tiles.PairSums`")


@dataclass(frozen=True)
class Tiling:
    """How a block of threads shares a tile of pairs."""

    side: int = 64  # atoms of a tile
    each: int = 4  # a thread has so many times so many pairs of it
    slab: int = 16  # third atoms that shared memory holds at a time
    # blocks that share a tile. The runtimes ask for two blocks on a multiprocessor: with 256 threads a thread
    # would have 128 registers, too few for its pairs.
    split: int = 2

    @property
    def threads(self) -> int:
        """Return the number of threads of a block."""
        return (self.side // self.each) ** 2 // self.split

    @property
    def high(self) -> int:
        """Rows of threads of a tile."""
        return self.side // self.each

    @property
    def wide(self) -> int:
        """Threads of a row of a block."""
        return self.high // self.split

    @property
    def breadth(self) -> int:
        """Atoms j of a block."""
        return self.side // self.split

    def apart(self, shared: bool) -> tuple[int, int]:
        """How far the atoms i of a thread, and its atoms j, are from each other; 1 without CUDA."""
        return (self.high, self.wide) if shared else (1, 1)

    def tiles(self, n: int) -> int:
        """Tiles of n atoms."""
        return -(-n // self.side)


TILING = Tiling()


def energy_items(n: int, tiling: Tiling = TILING) -> NDArray[np.int32]:
    """(items, 4) work items, `ITEMS` without the system, longest first, that visit each triple once."""
    tiles = tiling.tiles(n)
    rows = [(i, i, i, tiles) for i in range(tiles)]
    for d in range(1, (tiles - 1) // 3 + 1):
        rows += [(i, (i + d) % tiles, (i + 2 * d) % tiles, tiles - 3 * d) for i in range(tiles)]
    if tiles % 3 == 0:
        third = tiles // 3
        rows += [(i, i + third, i + 2 * third, 1) for i in range(third)]
    longest = max(1, min(8, tiles // 8))
    runs = [
        (i, j, (k + at) % tiles, min(longest, count - at))
        for i, j, k, count in rows
        for at in range(0, count, longest)
    ]
    return np.array(sorted(runs, key=lambda run: -run[3]), np.int32)


def slope_items(n: int, tiling: Tiling = TILING) -> NDArray[np.int32]:
    """What blocks do so that each pair meets all other atoms: (items, 4), as `energy_items`."""
    tiles = tiling.tiles(n)
    return np.array([(i, j, 0, tiles) for i in range(tiles) for j in range(i, tiles)], np.int32)


def of_systems(
    items: Callable[[int, Tiling], NDArray[np.int32]], sizes: Sequence[int], tiling: Tiling = TILING
) -> NDArray[np.int32]:
    """(items, 5) of systems of so many atoms: `ITEMS`. The longest come first."""
    made = {n: items(n, tiling) for n in set(sizes)}
    found = [np.insert(made[n], 4, system, axis=1) for system, n in enumerate(sizes)]
    table = np.concatenate(found).astype(np.int32)
    return table[np.argsort(-table[:, 3], kind="stable")]
