"""Several threads for each atom: pair forces of systems too small to keep a GPU busy with one thread an atom.

Threads of one block share an atom, each takes every k-th entry of its row, and the first adds up what they have
found, through shared memory. Sums are exact (`exact`): the bits are those of one thread. (Threads that share an atom:
J. Glaser et al., Comput. Phys. Commun. 192, 97 (2015).)
"""

from functools import cache
from typing import Any

from taichimd import runtime
from taichimd.enumerate.exact import FORCE, pair_sums
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.tuples import LANES
from taichimd.forcefields.terms import ByTuple, Terms
from taichimd.runtime import ti

BLOCK = 256
ENOUGH = 80_000
"""Threads that keep an H200 busy."""


def threads_per_atom(backend: str, n_atoms: int) -> int:
    """Threads that share an atom of a pair potential: a power of two, as many as a large GPU has room for.

    LJ melt on an H200, microseconds a step with 1, 2, 4, 8 threads, when they were in one warp: 74, 63, 55, 54 for
    4,000 atoms; 80, 69, 62, 66 for 16,384; 84, 75, 77, 78 for 32,000; 300, 301, 299, 345 for 256,000.
    """
    return runtime.threads_per_atom(backend, n_atoms, ENOUGH)


def threads_for(terms: Terms, backend: str, n_atoms: int, all_pairs: bool, by_tuple: ByTuple) -> int:
    """Threads that share an atom when pair forces are added up, whatever the terms and however tuples are visited."""
    if by_tuple.pairs:
        return LANES if backend == "cuda" and runtime.DEVICE_LOOPS else 1
    if all_pairs or (terms.many_body and not terms.short_body):
        return 1
    threads = threads_per_atom(backend, n_atoms)
    # A loop of its own needs half of the registers that it needs within the gather of a three-body term.
    many = terms.short_body and backend == "cuda" and runtime.DEVICE_LOOPS
    return max(threads, 4) if many else threads


@cache
def shared_pairs(terms: Terms, real: Any, term: Any, lanes: int) -> Any:
    """The device function that fills the forces of all atoms, on CUDA; holds its own loop."""
    atom = gather_functions(terms, real, term, by_slot=True)
    sums = pair_sums(real)
    atoms = BLOCK // lanes

    @ti.func
    def forces(n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), energy: ti.template(), force: ti.template(), virial: ti.template(), control: ti.template(), frozen):  # fmt: skip
        ti.loop_config(block_dim=BLOCK)
        for thread in range((n + atoms - 1) // atoms * BLOCK):
            # Threads beyond the last atom stay for the barriers and store nothing. Those of a warp have the same lane,
            # so that they read neighbouring memory.
            found = ti.simt.block.SharedArray((sums.length, BLOCK), ti.f64)
            at, lane = thread % BLOCK, thread % BLOCK // atoms
            i = thread // BLOCK * atoms + thread % atoms
            does = i < n and control[frozen] == 0
            total = sums.empty(FORCE)
            if does:
                total = atom.pairs(i, lane, lanes, n, width, shift_bits, pos, kind, count, entries, shifts, table, FORCE)  # fmt: skip
            for k in ti.static(range(sums.length)):
                found[k, at] = total[k]
            ti.simt.block.sync()
            if does and lane == 0:
                for other in ti.static(range(1, lanes)):
                    for k in ti.static(range(sums.length)):
                        total[k] += found[k, at + other * atoms]
                sums.store(i, total, energy, force, virial, FORCE)
            ti.simt.block.sync()

    return forces
