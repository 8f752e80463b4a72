"""Kernels that sum a function over chains, one thread for each atom, bond or chain: the same bits.

The energy depends on bond vectors, so a force is made of derivatives to them, as in `enumerate.gather`:

    F_i = sum over bonds b of i of (dU/dd_b - dU/dd_rev(b)),    d_b = r_partner - r_origin.

A chain i-j-k-l knows three of them: j->i and j->k in the row of j, k->l in the row of k. So that no two threads
write to one place, what the chains about a central bond add to an outer one has a place of its own:
outer[c, s] for bonds c, s of one atom, of which c (or its reverse) is central. One thread has all chains of c,
whatever the decomposition:

    particle  the thread of an atom walks its central bonds, and finds and evaluates their chains;
    bond      the thread of a central bond does;
    tuple     the thread of a chain evaluates it and stores three derivatives; that of a central bond adds them up.

Then `collect` adds outer[c, s] over c for each bond, and the bonds of each atom. Every sum has one order: that
of the rows and, about one bond, that of the list of chains.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from taichimd.core.arguments import Array, Bundle, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.tuples.bonds import Bonds, image_vector
from taichimd.tuples.chains import chain_slopes
from taichimd.tuples.conditions import Condition, search
from taichimd.tuples.lists import PLACES, Listed


class Sums(Bundle):
    """What sums over chains read and leave, besides the bonds. A `vec4` is a derivative to a bond: vector and strength."""

    squares: Any = Array("i32", "n + 1", "where the pairs of bonds of each atom begin in `outer`")
    table: Any = Array("real", "any", "parameters of the function")
    vectors: Any = Array("vec4", "m", "unit vector and length of each bond, angstrom")
    inner: Any = Array("vec4", "m", "derivatives to a central bond, of the chains about it")
    outer: Any = Array("vec4", "pairs of bonds of one atom", "outer[c, s]")
    energy: Any = Array("real", "m", "of the chains about each bond, eV")
    partial: Any = Array("vec4", "m", "derivatives to each bond, of all chains")
    energies: Any = Array("real", "n", "of each atom, eV")
    forces: Any = Array("vec", "n", "on each atom, eV/angstrom")
    slopes: Any = Array("real", "m", "dU/ds of each bond, eV")


class OfChains(Bundle):
    """What the threads of chains leave."""

    energy: Any = Array("real", "chains", "eV")
    to_ji: Any = Array("vec4", "chains", "derivatives to the bond j->i")
    to_jk: Any = Array("vec4", "chains", "derivatives to the bond j->k")
    to_kl: Any = Array("vec4", "chains", "derivatives to the bond k->l")


@cache
def sum_kernels(function: Callable[..., Any], condition: Condition, real: Any) -> dict[str, Any]:
    """Kernels for one function and one condition, by decomposition."""
    types = types_of(real)
    vec3, vec4 = types["vec"], types["vec4"]
    accept = search(condition)
    evaluate = chain_slopes(function, real)

    @ti.func
    def place(c, s, bonds: ti.template(), sums: ti.template()):
        """Where outer[c, s] is."""
        j = bonds.origin[c]
        begin = bonds.first[j]
        return sums.squares[j] + (c - begin) * (bonds.first[j + 1] - begin) + (s - begin)

    @ti.func
    def measure(bonds: ti.template(), vectors: ti.template()):
        """Unit vector and length of every bond."""
        for b in range(bonds.m):
            if condition.bond(bonds.strength[b]):
                d = bonds.pos[bonds.partner[b]] - bonds.pos[bonds.origin[b]]
                if bonds.image[b] != 0:
                    d += image_vector(bonds.image[b], bonds.lattice)
                r = ti.sqrt(d.dot(d))
                e = d * (1.0 / r)
                vectors[b] = vec4(e[0], e[1], e[2], r)

    @ti.func
    def value(p, b, q, ji, jk, bonds: ti.template(), sums: ti.template()):
        s = vec3(bonds.strength[p], bonds.strength[b], bonds.strength[q])
        i, j, k, end = bonds.partner[p], bonds.origin[b], bonds.partner[b], bonds.partner[q]
        kinds = ti.Vector([bonds.kind[i], bonds.kind[j], bonds.kind[k], bonds.kind[end]])
        return evaluate(ji, jk, sums.vectors[q], s, kinds, sums.table)

    @ti.func
    def walk(b, bonds: ti.template(), sums: ti.template()):
        """Find and evaluate the chains about b."""
        r, j, k = bonds.reverse[b], bonds.origin[b], bonds.partner[b]
        clear(r, bonds, sums)
        jk = sums.vectors[b]
        middle, total = vec4(0.0), ti.cast(0.0, real)
        for p in range(bonds.first[j], bonds.first[j + 1]):
            if accept.beside(b, p, bonds):
                own = vec4(0.0)
                ji = sums.vectors[p]
                for q in range(bonds.first[k], bonds.first[k + 1]):
                    if accept.beside(r, q, bonds) and accept.closes(p, b, q, bonds):
                        u, g_ji, g_jk, g_kl = value(p, b, q, ji, jk, bonds, sums)
                        total += u
                        own += g_ji
                        middle += g_jk
                        sums.outer[place(r, q, bonds, sums)] += g_kl
                sums.outer[place(b, p, bonds, sums)] = own
        sums.inner[b] = middle
        sums.energy[b] = total

    @ti.func
    def clear(c, bonds: ti.template(), sums: ti.template()):
        """Make outer[c, s] zero for all s."""
        j = bonds.origin[c]
        for s in range(bonds.first[j], bonds.first[j + 1]):
            if accept.beside(c, s, bonds):
                sums.outer[place(c, s, bonds, sums)] = vec4(0.0)

    @ti.func
    def collect(bonds: ti.template(), sums: ti.template()):
        """From the sums about central bonds to those of bonds and atoms."""
        for s in range(bonds.m):
            total = vec4(0.0)
            if condition.bond(bonds.strength[s]):
                if s < bonds.reverse[s]:
                    total = sums.inner[s]
                j = bonds.origin[s]
                for c in range(bonds.first[j], bonds.first[j + 1]):
                    if condition.bond(bonds.strength[c]) and accept.beside(c, s, bonds):
                        total += sums.outer[place(c, s, bonds, sums)]
            sums.partial[s] = total
        for i in range(bonds.n):
            u = ti.cast(0.0, real)
            f = vec3(0.0)
            for s in range(bonds.first[i], bonds.first[i + 1]):
                r = bonds.reverse[s]
                g, h = sums.partial[s], sums.partial[r]
                sums.slopes[s] = g[3] + h[3]
                if condition.bond(bonds.strength[s]):
                    u += 0.5 * sums.energy[ti.min(s, r)]
                    f += (g - h)[:3]
            sums.energies[i] = u
            sums.forces[i] = f

    def walked(by_bond: bool) -> Any:
        @kernel(types, graph=True, bonds=Bonds, sums=Sums)
        def walked(bonds, sums):
            """Launch: one thread per directed bond, of which those that are central work, or one per atom."""
            measure(bonds, sums.vectors)
            if ti.static(by_bond):
                for b in range(bonds.m):
                    if accept.opens(b, bonds):
                        walk(b, bonds, sums)
            else:
                for j in range(bonds.n):
                    for b in range(bonds.first[j], bonds.first[j + 1]):
                        if accept.opens(b, bonds):
                            walk(b, bonds, sums)
            collect(bonds, sums)

        return walked

    @kernel(types, graph=True, bonds=Bonds, sums=Sums, tuples=Listed.only("count", "starts"), places=PLACES, chains=OfChains)  # fmt: skip
    def tupled(bonds, sums, tuples, places, chains):
        """Launch: one thread per chain of the list."""
        measure(bonds, sums.vectors)
        for t in range(tuples.count):
            p, b, q = places[0][t], places[1][t], places[2][t]
            u, g_ji, g_jk, g_kl = value(p, b, q, sums.vectors[p], sums.vectors[b], bonds, sums)
            chains.energy[t], chains.to_ji[t], chains.to_jk[t], chains.to_kl[t] = u, g_ji, g_jk, g_kl
        for b in range(bonds.m):
            if accept.opens(b, bonds):
                r = bonds.reverse[b]
                clear(b, bonds, sums)
                clear(r, bonds, sums)
                middle, total = vec4(0.0), ti.cast(0.0, real)
                for t in range(tuples.starts[b], tuples.starts[b + 1]):
                    total += chains.energy[t]
                    middle += chains.to_jk[t]
                    sums.outer[place(b, places[0][t], bonds, sums)] += chains.to_ji[t]
                    sums.outer[place(r, places[2][t], bonds, sums)] += chains.to_kl[t]
                sums.inner[b] = middle
                sums.energy[b] = total
        collect(bonds, sums)

    return {"particle": walked(False), "bond": walked(True), "tuple": tupled}
