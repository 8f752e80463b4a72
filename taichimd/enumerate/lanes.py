"""Several threads for each atom: pair forces on a GPU.

The threads of a chunk (`neighbours.rows`) take its entries, each one, and then those of the next chunk; in the end they add
up what they have found. Sums are exact (`exact`): the bits are those of one thread. (Threads that share an atom: J. Glaser et
al., Comput. Phys. Commun. 192, 97 (2015).)
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.enumerate.exact import FORCE, pair_sums
from taichimd.enumerate.gather import gather_functions
from taichimd.forcefields.terms import ByTuple, Terms
from taichimd.neighbours.rows import CHUNK, CHUNKED, row_layout
from taichimd.runtime import ti


def threads_for(terms: Terms, backend: str, all_pairs: bool, by_tuple: ByTuple) -> int:
    """Threads that share an atom when pair forces are added up, whatever the terms and however tuples are visited."""
    by_atom = all_pairs or (terms.many_body and not terms.short_body)
    return 1 if row_layout(backend) != CHUNKED or (by_atom and not by_tuple.pairs) else CHUNK


@cache
def atom_sums(real: Any) -> Any:
    """Device function `store`, for threads side by side that share atom i: its force is what they have all found.

    All threads of a warp must call it; those for which `does` is false store nothing.
    """
    sums = pair_sums(real)

    @ti.func
    def store(i, thread, does, found, energy: ti.template(), force: ti.template(), virial: ti.template()):
        total = sums.empty(FORCE)
        for k in ti.static(range(sums.length)):
            total[k] = ti.simt.subgroup.reduce_add_tiled(found[k], CHUNK.bit_length() - 1)
        if does and thread % CHUNK == 0:
            sums.store(i, total, energy, force, virial, FORCE)

    return SimpleNamespace(empty=sums.empty, store=store)


@cache
def shared_pairs(terms: Terms, real: Any, term: Any) -> Any:
    """The device function that fills the forces of all atoms, on CUDA; holds its own loop."""
    atom = gather_functions(terms, real, term, CHUNKED)
    sums = atom_sums(real)

    @ti.func
    def forces(n, width, shift_bits, pos: ti.template(), kind: ti.template(), count: ti.template(), entries: ti.template(), shifts: ti.template(), table: ti.template(), energy: ti.template(), force: ti.template(), virial: ti.template(), control: ti.template(), frozen):  # fmt: skip
        for thread in range((n * CHUNK + 31) // 32 * 32):
            i = thread // CHUNK
            does = i < n and control[frozen] == 0
            total = sums.empty(FORCE)
            if does:
                total = atom.pairs(i, thread % CHUNK, CHUNK, n, width, shift_bits, pos, kind, count, entries, shifts, table, FORCE)  # fmt: skip
            sums.store(i, thread, does, total, energy, force, virial)

    return forces
