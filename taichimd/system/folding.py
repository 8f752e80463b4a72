"""Atoms that are far from the cell are folded back into it, and the whole turns that this takes are kept.

A run does not wrap positions. An entry of a neighbour list names the image of its neighbour, and a list has
numbers for a limited count of images, while atoms of a liquid diffuse without end. So before each step whose
number is a multiple of `EVERY`, an atom that is `cells_allowed` cells away or farther is moved back into the
first cell, by whole cell vectors. The position that a user sees is the folded position plus the turns times
the present cell vectors.

When an atom is folded depends on its position and on the number of the step alone. So a trajectory does not
depend on lists, threads, the device, the pieces of a run, restarts, or the other systems of a batch. A run
whose atoms stay near the cell has the bits of a run that is never folded.
"""

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.matrix3 import inverse
from taichimd.system.frame import Frame

EVERY = 10_000
"""Steps between two looks. Meanwhile an atom of a gas moves some tens of angstroms."""
CELLS = ((2**17, 4), (2**20, 2))
"""(atoms, cells): in a system of up to so many atoms, an atom may be so many cells away. Two such atoms need
twice as many images, and entries of lists must have room for the images and for the number of an atom."""


def cells_allowed(n: int) -> int:
    """Cells that an atom of a system of n atoms may be away before it is folded."""
    return next((cells for most, cells in CELLS if n <= most), 1)


def is_time(step: int) -> bool:
    """Whether far atoms are folded before the step that follows this one."""
    return step > 0 and step % EVERY == 0


def next_look(step: int) -> int:
    """The next number of a step for which `is_time` holds."""
    return (step // EVERY + 1) * EVERY


def folded(x: Array, frame: Frame) -> tuple[Array, NDArray[np.int64]] | None:
    """Positions (n, 3) angstrom, far atoms folded into the cell, and their turns; None if none is far."""
    # Term by term: a product by BLAS has other last bits on each processor.
    of_unit = inverse(frame.vectors)
    fractional = x[:, :1] * of_unit[0] + x[:, 1:2] * of_unit[1] + x[:, 2:] * of_unit[2]
    turns = np.where(frame.pbc, np.floor(fractional), 0.0).astype(np.int64)
    most = cells_allowed(len(x))
    far = ((turns >= most) | (turns < -most)).any(axis=1)
    if not far.any():
        return None
    turns[~far] = 0
    return x - shifts(turns, frame.vectors), turns


def shifts(turns: NDArray[np.int64], vectors: Array) -> Array:
    """(n, 3) angstrom by which turns (n, 3) move atoms in a cell (3, 3); 0 exactly without turns."""
    return np.asarray(turns[:, :1] * vectors[0] + turns[:, 1:2] * vectors[1] + turns[:, 2:] * vectors[2])
