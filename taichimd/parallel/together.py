"""What all processes do together, and end together if one of them meets an error."""

from math import fsum
from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError, TaichimdError
from taichimd.neighbours.verlet_list import coincident
from taichimd.parallel.held import Held
from taichimd.program import explosion
from taichimd.program.totals import PIECE


def in_all(engine: Any, processes: Any, held: Held, do: Any, tell: Any) -> list[Any]:
    """Do something and tell all; what each process told. What one process meets is raised in all."""
    told: tuple[str, int] | None = None
    error: TaichimdError | None = None
    news = None
    try:
        do()
        news = tell()
    except TaichimdError as met:
        error, atom, device = met, -1, held.device
        if device is not None and isinstance(met, StructureError):
            atom = int(held.members()[device.lists.atom_too_close()])
        told = str(met), atom
    everyone = processes.allgather((told, news))
    first = next((one for one, _ in everyone if one), None)
    if first is None:
        return [its for _, its in everyone]
    if held.device is not None:
        held.device.explode()
    text, atom = first
    if atom >= 0:
        what = coincident(engine.positions(), engine._cells.frame(0), atom)
        if engine.step == 0:
            raise StructureError(what)
        raise explosion.exploded(engine.step, what.split(";")[0], atom) from error
    raise error or TaichimdError(f"another process: {text}")


def totals_of(held: Held, processes: Any) -> list[float]:
    """Energy, kinetic energy (eV) and nine numbers of the virial (eV) of all atoms, in all processes."""
    own, found = held.columns()
    counts, first = held.slabs.counts, processes.rank == 0
    n = sum(counts) if first else 0
    numbers, values, ordered = np.empty(n, np.int32), np.empty(n), np.empty(n)
    processes.Gatherv(np.ascontiguousarray(own, np.int32), [numbers, counts])
    sums = []
    # One column after the other: the columns of a hundred million atoms do not fit one message.
    for column in found.T:
        processes.Gatherv(np.ascontiguousarray(column), [values, counts])
        if first:
            ordered[numbers] = values
            sums.append(_summed(ordered))
    received: list[float] = processes.bcast(sums)
    return received


def _summed(values: Array) -> float:
    """Sum over atoms (n,) as in `program.totals`: of pieces, one atom after the other, then of those."""
    pieces = -(-len(values) // PIECE)
    padded = np.zeros(pieces * PIECE)
    padded[: len(values)] = values
    of_pieces = padded.reshape(pieces, PIECE)
    total = of_pieces[:, 0].copy()
    for k in range(1, PIECE):
        total += of_pieces[:, k]
    return fsum(total.tolist())
