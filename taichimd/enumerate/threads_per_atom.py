"""Several threads for each atom: pair forces on a GPU.

Threads side by side take the entries of a chunk (`neighbours.rows`), which lie side by side, too; in the end
they add up what they have found. Sums are exact (`reproducible_sum`): the bits are those of one thread.
(Threads that share an atom: J. Glaser et al., Comput. Phys. Commun. 192, 97 (2015).)
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.runtime import DeviceFunction, threads_per_atom, ti
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.moments_shared import LANES
from taichimd.enumerate.reproducible_sum import FORCE, pair_sums
from taichimd.enumerate.row_sums import together
from taichimd.enumerate.terms import ByTuple, Terms
from taichimd.neighbours.rows import CHUNK, CHUNKED, row_layout

ENOUGH = 280_000
"""Threads that keep a large GPU busy: more, which share atoms, do more work in all (docs/decisions, 009)."""
ENOUGH_OF_PASSES = 140_000
"""The same of threads that share an atom in terms of passes (docs/decisions, 034)."""
ENOUGH_OF_MOMENTS = 160_000
"""The same of threads that share an atom in sums of moments (docs/decisions, 013)."""


def threads_for(terms: Terms, backend: str, n_atoms: int, all_pairs: bool, by_tuple: ByTuple) -> int:
    """Number of threads that share an atom in sums of pair forces, for all terms and enumerations."""
    if row_layout(backend) != CHUNKED or terms.queued:
        return 1
    if by_tuple.pairs:
        return CHUNK
    if terms.angle and not (terms.short_body or by_tuple.bodies):
        return LANES if LANES * n_atoms <= ENOUGH_OF_MOMENTS else 1
    if all_pairs or (terms.many_body and not terms.short_body):
        return 1
    # Beside a short three-body term are many pairs for each atom, enough for several threads.
    enough = ENOUGH_OF_PASSES if terms.passes else ENOUGH
    return CHUNK if terms.short_body else max(2, threads_per_atom(backend, n_atoms, enough))


@dataclass(frozen=True)
class LaneSums:
    """Device functions for threads side by side that share an atom. All threads of a warp must call them."""

    all_of: DeviceFunction  # what the threads of an atom have found together
    store: DeviceFunction  # the force from that; threads for which `does` is false store nothing


@cache
def atom_sums(real: Any, lanes: int) -> LaneSums:
    """The functions for `lanes` threads of an atom."""
    sums = pair_sums(real)
    log2 = lanes.bit_length() - 1

    @ti.func
    def all_of(found):
        return together(found, ti.static(sums.length // 2), log2)

    @ti.func
    def store(i, thread, does, found, energy: ti.template(), force: ti.template(), virial: ti.template()):
        total = all_of(found)
        if does and thread % lanes == 0:
            sums.store(i, total, energy, force, virial, FORCE)

    return LaneSums(all_of, store)


@dataclass(frozen=True)
class SharedPairs:
    """Device functions of pair forces on CUDA."""

    forces: DeviceFunction  # of all atoms, in a loop of its own over a number of threads, whole warps
    force_of: DeviceFunction  # on the atom of one thread of a caller's loop


@cache
def shared_pairs(terms: Terms, real: Any, term: Any, lanes: int) -> SharedPairs:
    """The functions for `lanes` threads of an atom."""
    atom = gather_functions(terms, real, term, CHUNKED)
    sums, shared = pair_sums(real), atom_sums(real, lanes)

    @ti.func
    def found_by(thread, does, n, width, shift_bits, rows: ti.template(), table: ti.template()):
        total = sums.empty(FORCE)
        if does:
            total = atom.pairs(
                thread // lanes, thread % lanes, lanes, n, width, shift_bits, rows, table, FORCE
            )
        return total

    @ti.func
    def forces(
        n, threads, width, shift_bits, rows: ti.template(), table: ti.template(), energy: ti.template(),
        force: ti.template(), virial: ti.template(), control: ti.template(), frozen
    ):  # fmt: skip
        for thread in range(threads):
            does = thread // lanes < n and control[frozen] == 0
            found = found_by(thread, does, n, width, shift_bits, rows, table)
            shared.store(thread // lanes, thread, does, found, energy, force, virial)

    @ti.func
    def force_of(thread, does, n, width, shift_bits, rows: ti.template(), table: ti.template()):
        """Force on the atom that a thread shares. All threads of a warp call it."""
        total = shared.all_of(found_by(thread, does, n, width, shift_bits, rows, table))
        # Under Taichi a name keeps its first type: `_` cannot be a number, then a matrix.
        f, _energy, _virial = sums.results(total, FORCE)
        return f

    return SharedPairs(forces, force_of)
