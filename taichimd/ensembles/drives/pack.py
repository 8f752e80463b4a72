"""Rows of drives as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.base import Row
from taichimd.system.state import State


@dataclass(frozen=True)
class Packed:
    """Arrays of all rows, on the host."""

    numbers: NDArray[np.int64]  # as `layout` says
    values: Array  # as `layout` says
    table: NDArray[np.int64]  # (rows, NUMBERS), whole numbers of the rows
    blocks: dict[int, slice]  # of rows with numbers of each atom, where `values` has them


def pack(bits: NDArray[np.int64], rows: list[tuple[int, Row]], state: State) -> Packed:
    """The arrays of bits of each atom, (n, 1), in a batch (n, 2) with its first row, and rows of systems."""
    n_rows = len(rows)
    numbers, values = np.zeros((n_rows, of.NUMBERS), np.int64), np.zeros((n_rows, of.ROW))
    tail: list[Array] = []
    end = of.VALUES_HEAD + n_rows * of.ROW
    blocks: dict[int, slice] = {}
    for k, (system, row) in enumerate(rows):
        numbers[k, [of.KIND, of.WEIGHT, of.TIMING]] = row.kind, row.weight, row.timing
        values[k] = row.values
        if row.kind == of.CENTRE:
            joined = int(k + 1 < n_rows and rows[k + 1][1].partner)
            numbers[k, of.TABLE_LENGTH] = -1 if row.partner else joined
        if row.table is not None:
            numbers[k, of.TABLE], numbers[k, of.TABLE_LENGTH] = end, len(row.table)
            tail.append(row.table.ravel())
            end += row.table.size
        if row.block is not None:
            width = 1 if row.block.ndim == 1 else 3
            block = np.zeros((int(state.sizes[system]), width))
            block[row.atoms] = row.block.reshape(-1, width)
            numbers[k, of.BLOCK] = end - width * int(state.firsts[system])
            blocks[k] = slice(end, end + block.size)
            tail.append(block.ravel())
            end += block.size
    return Packed(
        np.concatenate([np.zeros(of.HEAD, np.int64), numbers.ravel(), bits.ravel()]),
        np.concatenate([np.zeros(of.VALUES_HEAD), values.ravel(), *tail]),
        numbers,
        blocks,
    )
