"""The kernel of scores: all terms of all chains, added as integers.

So the order of additions does not matter, and any thread may add to the sums of any chain.
"""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Number, View, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.enumerate.all_triples import BALANCED, DIRECT
from taichimd.enumerate.windows import forward_function, window_function

FORWARD, WINDOWS, DIRECT_WINDOWS = "forward", "windows", "direct-windows"
METHODS = {FORWARD: None, WINDOWS: BALANCED, DIRECT_WINDOWS: DIRECT}
"""Ways to visit the terms, with the mapping of windows: `enumerate.windows`."""


class Symbols(Bundle):
    """Residues of all chains."""

    one: Any = ArrayField("i32", "residues", "class and label for singlets, 3 class + label")
    two: Any = ArrayField("i32", "residues", "for doublets")
    three: Any = ArrayField("i32", "residues", "for triplets")
    chain: Any = ArrayField("i32", "residues", "number of the chain")
    left: Any = ArrayField("i32", "residues", "residues that follow in the chain")


class Terms(Bundle):
    """Energies by symbols, in units of 2^-36 kT; the last class has 0."""

    one: Any = ArrayField("i64", "symbols", "singlets")
    two: Any = ArrayField("i64", "separations, symbols^2", "doublets")
    three: Any = ArrayField("i64", "pairs of separations, symbols^3", "triplets")
    n_two: Any = Number("i32", "symbols of a residue in doublets")
    n_three: Any = Number("i32", "symbols of a residue in triplets")
    fragment: Any = Number("i32", "residues of a fragment")


class Given(View):
    """What the visits of terms read."""


@cache
def score_kernel(method: str) -> Any:
    """Kernel of the sums of all chains, for one of the METHODS."""

    @ti.func
    def singlet(sums: ti.template(), i, g: ti.template()):
        sums[0] += g.terms.one[g.residues.one[i]]

    @ti.func
    def doublet(sums: ti.template(), i, j, g: ti.template()):
        n = g.terms.n_two
        sums[1] += g.terms.two[((j - i - 1) * n + g.residues.two[i]) * n + g.residues.two[j]]

    @ti.func
    def triplet(sums: ti.template(), i, j, k, g: ti.template()):
        n, d = g.terms.n_three, j - i
        # The place in `counts.separations`.
        cell = (d - 1) * (2 * g.terms.fragment - 2 - d) // 2 + k - j - 1
        pair = (cell * n + g.residues.three[i]) * n + g.residues.three[j]
        sums[2] += g.terms.three[pair * n + g.residues.three[k]]

    forward = forward_function(singlet, doublet, triplet)
    window = window_function(singlet, doublet, triplet, METHODS[method] or BALANCED)

    @ti.func
    def add(residues: ti.template(), sums: ti.template(), i, part: ti.template()):
        for m in ti.static(range(3)):
            ti.atomic_add(sums[3 * residues.chain[i] + m], part[m])

    @ti.func
    def of_residues(residues: ti.template(), g: ti.template(), sums: ti.template()):
        for i in residues.one:
            part = ti.Vector.zero(ti.i64, 3)
            forward(part, i, residues.left[i], g.terms.fragment, g)
            add(residues, sums, i, part)

    @ti.func
    def of_slots(residues: ti.template(), g: ti.template(), sums: ti.template()):
        size = g.terms.fragment
        for thread in range(residues.one.shape[0] * size):
            i, slot = thread // size, thread % size
            if residues.left[i] >= size - 1:
                part = ti.Vector.zero(ti.i64, 3)
                window(part, i, slot, size, g)
                if slot < size - 1 and i > 0:
                    if residues.chain[i - 1] == residues.chain[i]:
                        overlap = ti.Vector.zero(ti.i64, 3)
                        window(overlap, i, slot, size - 1, g)
                        part -= overlap
                add(residues, sums, i, part)

    @kernel(
        types_of(ti.f64),
        residues=Symbols,
        terms=Terms,
        sums=ArrayField("i64", "3 chains", "singlets, doublets, triplets"),
    )
    def score(residues, terms, sums):
        for k in sums:
            sums[k] = 0
        if ti.static(method == FORWARD):
            of_residues(residues, Given(residues=residues, terms=terms), sums)
        else:
            of_slots(residues, Given(residues=residues, terms=terms), sums)

    return score
