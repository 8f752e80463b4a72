"""Singlets, doublets and triplets of a chain within a fragment: in windows, or of a residue with later ones.

In windows: the terms of all fragments of S neighbours, minus those of the overlaps of S - 1, which lie in two
fragments. Within a window the thread of a slot visits doublets and triplets in a balanced order of a ring
(`enumerate.all_triples`), or in the direct one. Forward: the thread of a residue visits its doublets of
separation d < S and its triplets of separations d + e < S. Both have each singlet once, each doublet with a
separation below S once, each triplet with a span below S once.

Yaseen, Ji, Li, A load-balancing workload distribution scheme for three-body interaction computation on GPU,
J. Parallel Distrib. Comput. (2015), section 3.2: the limits of its sum, i = 0 to L - S + 1 less i = 1 to L -
S - 1, would count terms near the ends of a chain twice and more; here fragments begin at 1 to L - S + 1,
overlaps at 2 to L - S + 1.
"""

from typing import Any

from taichimd.core.runtime import ti
from taichimd.enumerate.all_triples import BALANCED, DIRECT, later


def forward_function(singlet: Any, doublet: Any, triplet: Any) -> Any:
    """Device function `(sums, i, left, size, given)`: terms of residue i and the `left` residues after it.

    Singlets are `(sums, i, given)`, doublets `(sums, i, j, given)`, triplets `(sums, i, j, k, given)`, i < j
    < k.
    """

    @ti.func
    def forward(sums: ti.template(), i, left, size, given: ti.template()):
        singlet(sums, i, given)
        end = i + ti.min(left, size - 1) + 1
        for j in range(i + 1, end):
            doublet(sums, i, j, given)
            for k in range(j + 1, end):
                triplet(sums, i, j, k, given)

    return forward


def window_function(singlet: Any, doublet: Any, triplet: Any, mapping: str) -> Any:
    """Device function `(sums, first, slot, size, given)`: terms of a slot in the window at `first`.

    Doublets and triplets are mapped to slots "balanced" or "direct"; functions as for `forward_function`.
    """

    @ti.func
    def pair(sums: ti.template(), first, i, j, given: ti.template()):
        doublet(sums, first + ti.min(i, j), first + ti.max(i, j), given)

    @ti.func
    def triple(sums: ti.template(), first, i, j, k, given: ti.template()):
        low, high = ti.min(i, j, k), ti.max(i, j, k)
        triplet(sums, first + low, first + (i + j + k - low - high), first + high, given)

    @ti.func
    def balanced(sums: ti.template(), first, slot, size, given: ti.template()):
        singlet(sums, first + slot, given)
        half, third = size // 2, size // 3
        for d in range(1, (size - 1) // 2 + 1):
            pair(sums, first, slot, later(slot, d, size), given)
        if size % 2 == 0 and slot < half:
            pair(sums, first, slot, slot + half, given)
        for d in range(1, (size - 1) // 3 + 1):
            j = later(slot, d, size)
            for e in range(d, size - 2 * d):
                triple(sums, first, slot, j, later(j, e, size), given)
        if size % 3 == 0 and slot < third:
            triple(sums, first, slot, slot + third, slot + 2 * third, given)

    @ti.func
    def direct(sums: ti.template(), first, slot, size, given: ti.template()):
        singlet(sums, first + slot, given)
        for j in range(slot + 1, size):
            doublet(sums, first + slot, first + j, given)
            for k in range(j + 1, size):
                triplet(sums, first + slot, first + j, first + k, given)

    return {BALANCED: balanced, DIRECT: direct}[mapping]
