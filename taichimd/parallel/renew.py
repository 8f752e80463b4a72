"""The kernel that rebuilds the lists of a process without the host, if all processes agree.

`take` has found in the messages of a step whether lists are due in all processes, and all have done the same
steps. Then each process sorts its atoms and fills its rows, counts displacements from here on, and finds how
far its own atoms may still go. Lists that do not fit hold this process in the next step, as any that are
unfit, and the host mends them.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.neighbours.control import CONTROL, Control
from taichimd.neighbours.kernels import list_kernels
from taichimd.neighbours.pages import in_pages
from taichimd.neighbours.rows import VerletRows
from taichimd.neighbours.sorted_atoms import Search
from taichimd.parallel.words import (
    BUILDS,
    CHOOSE,
    DONE,
    FAR,
    FASTEST,
    GONE,
    HOST,
    LAST,
    LEFT,
    PACE,
    RENEW,
    Shared,
    slower,
    word_functions,
)
from taichimd.system.state import CARRIED, SPARE_ATOMS, Atoms


@cache
def renew_kernel(real: Any, search: Search, layout: int, carried: int) -> Kernel:
    """The kernel; `carried`: number of arrays that contributions keep with the atoms."""
    more = (CARRIED,) * carried
    types = types_of(real, searched=search.real)
    rebuild, words_of = list_kernels(real, search, layout, carried).rebuild, word_functions(real)

    @kernel(
        types,
        atoms=Atoms,
        own=more,
        old=SPARE_ATOMS,
        old_own=more,
        rows=in_pages(VerletRows, tuple(VerletRows.fields), "entries", search.pages),
        control=CONTROL,
        sort=search.sorted,
        shared=Shared.only("slot", "number", "chosen", "owned", "words", "first", "last"),
        allowed=Number("real", "angstrom that atoms may go from where they were chosen"),
        served=Number("real", "the same, for the terms that are evaluated"),
        least=Number("real", "angstrom that must be left to them for the next lists without the host"),
    )  # fmt: skip
    def renew(atoms, own, old, old_own, rows, control, sort, shared, allowed, served, least):
        """Rebuild lists if RENEW says so."""
        for _ in range(1):
            if shared.words[RENEW] == 1:
                shared.words[FAR] = 0
                shared.words[LAST] = shared.words[DONE]
                shared.words[BUILDS] += 1
                shared.words[PACE] = shared.words[FASTEST]
                shared.words[FASTEST] = slower(shared.words[FASTEST])
                control[Control.far_atoms] = 0
        for i in range(atoms.n * shared.words[RENEW]):
            here = shared.slot[atoms.ident[i]]
            if here >= shared.first and here < shared.last:
                away = atoms.pos[i] - shared.chosen[here - shared.first]
                words_of.raise_to(GONE, away.dot(away), shared.words)
        rebuild(atoms.n * shared.words[RENEW], atoms, own, old, old_own, rows, control, sort, False)
        for i in range(atoms.n * shared.words[RENEW]):
            here = atoms.ident[i]
            at = shared.slot[here]
            shared.owned[i] = shared.number[here] if at >= shared.first and at < shared.last else -1
        for _ in range(1):
            if shared.words[RENEW] == 1:
                gone = ti.sqrt(ti.cast(ti.bit_cast(shared.words[GONE], ti.f32), real))
                left = ti.min(allowed, served) - gone
                if left < least:
                    shared.words[HOST] = 1
                    if allowed - gone < least:
                        shared.words[CHOOSE] = 1
                left = ti.max(left, 0.0)
                shared.words[LEFT] = words_of.bits_below(left * left)

    return renew
