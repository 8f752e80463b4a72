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
from types import SimpleNamespace
from typing import Any

from taichimd.core.runtime import step_kernel, ti
from taichimd.tuples.bonds import image_vector
from taichimd.tuples.chains import chain_slopes
from taichimd.tuples.conditions import Condition, search


@cache
def sum_kernels(function: Callable[..., Any], condition: Condition, real: Any) -> Any:
    """Kernels `walked` (particle, bond) and `tupled` for one function and one condition."""
    vec3, vec4 = ti.types.vector(3, real), ti.types.vector(4, real)
    reals: Any = ti.types.ndarray(dtype=real, ndim=1)
    vecs: Any = ti.types.ndarray(dtype=vec3, ndim=1)
    quads: Any = ti.types.ndarray(dtype=vec4, ndim=1)
    ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
    accept = search(condition)
    evaluate = chain_slopes(function, real)

    @ti.func
    def place(c, s, first: ti.template(), origin: ti.template(), squares: ti.template()):
        """Where outer[c, s] is."""
        j = origin[c]
        begin = first[j]
        return squares[j] + (c - begin) * (first[j + 1] - begin) + (s - begin)

    @ti.func
    def measure(m, origin: ti.template(), partner: ti.template(), image: ti.template(), strength: ti.template(), pos: ti.template(), lattice: ti.template(), vectors: ti.template()):  # fmt: skip
        """Unit vector and length of every bond."""
        for b in range(m):
            if condition.bond(strength[b]):
                d = pos[partner[b]] - pos[origin[b]]
                if image[b] != 0:
                    d += image_vector(image[b], lattice)
                r = ti.sqrt(d.dot(d))
                e = d * (1.0 / r)
                vectors[b] = vec4(e[0], e[1], e[2], r)

    @ti.func
    def value(p, b, q, ji, jk, origin: ti.template(), partner: ti.template(), strength: ti.template(), kind: ti.template(), vectors: ti.template(), table: ti.template()):  # fmt: skip
        s = vec3(strength[p], strength[b], strength[q])
        kinds = ti.Vector([kind[partner[p]], kind[origin[b]], kind[partner[b]], kind[partner[q]]])
        return evaluate(ji, jk, vectors[q], s, kinds, table)

    @ti.func
    def walk(b, first: ti.template(), origin: ti.template(), partner: ti.template(), image: ti.template(), reverse: ti.template(), strength: ti.template(), kind: ti.template(), vectors: ti.template(), squares: ti.template(), table: ti.template(), inner: ti.template(), outer: ti.template(), energy: ti.template()):  # fmt: skip
        """Find and evaluate the chains about b."""
        r, j, k = reverse[b], origin[b], partner[b]
        clear(r, first, origin, strength, squares, outer)
        jk = vectors[b]
        middle, total = vec4(0.0), ti.cast(0.0, real)
        for p in range(first[j], first[j + 1]):
            if accept.beside(b, p, strength):
                own = vec4(0.0)
                ji = vectors[p]
                for q in range(first[k], first[k + 1]):
                    if accept.beside(r, q, strength) and accept.closes(p, b, q, partner, image, strength):
                        u, g_ji, g_jk, g_kl = value(p, b, q, ji, jk, origin, partner, strength, kind, vectors, table)  # fmt: skip
                        total += u
                        own += g_ji
                        middle += g_jk
                        outer[place(r, q, first, origin, squares)] += g_kl
                outer[place(b, p, first, origin, squares)] = own
        inner[b] = middle
        energy[b] = total

    @ti.func
    def clear(c, first: ti.template(), origin: ti.template(), strength: ti.template(), squares: ti.template(), outer: ti.template()):  # fmt: skip
        """Make outer[c, s] zero for all s."""
        j = origin[c]
        for s in range(first[j], first[j + 1]):
            if accept.beside(c, s, strength):
                outer[place(c, s, first, origin, squares)] = vec4(0.0)

    @ti.func
    def collect(n, m, first: ti.template(), origin: ti.template(), reverse: ti.template(), strength: ti.template(), squares: ti.template(), inner: ti.template(), outer: ti.template(), energy: ti.template(), partial: ti.template(), atom_energy: ti.template(), force: ti.template(), slope: ti.template()):  # fmt: skip
        """From the sums about central bonds to those of bonds and atoms."""
        for s in range(m):
            total = vec4(0.0)
            if condition.bond(strength[s]):
                if s < reverse[s]:
                    total = inner[s]
                j = origin[s]
                for c in range(first[j], first[j + 1]):
                    if condition.bond(strength[c]) and accept.beside(c, s, strength):
                        total += outer[place(c, s, first, origin, squares)]
            partial[s] = total
        for i in range(n):
            u = ti.cast(0.0, real)
            f = vec3(0.0)
            for s in range(first[i], first[i + 1]):
                r = reverse[s]
                g, h = partial[s], partial[r]
                slope[s] = g[3] + h[3]
                if condition.bond(strength[s]):
                    u += 0.5 * energy[ti.min(s, r)]
                    f += (g - h)[:3]
            atom_energy[i] = u
            force[i] = f

    @step_kernel
    def walked(by_bond: ti.template(), n: ti.i32, m: ti.i32, first: ints, origin: ints, partner: ints, image: ints, reverse: ints, strength: reals, kind: ints, pos: vecs, lattice: vecs, squares: ints, table: reals, vectors: quads, inner: quads, outer: quads, energy: reals, partial: quads, atom_energy: reals, force: vecs, slope: reals):  # fmt: skip
        """Launch: one thread per directed bond, of which those that are central work, or one per atom."""
        measure(m, origin, partner, image, strength, pos, lattice, vectors)
        if ti.static(by_bond):
            for b in range(m):
                if accept.opens(b, reverse, strength):
                    walk(b, first, origin, partner, image, reverse, strength, kind, vectors, squares, table, inner, outer, energy)  # fmt: skip
        else:
            for j in range(n):
                for b in range(first[j], first[j + 1]):
                    if accept.opens(b, reverse, strength):
                        walk(b, first, origin, partner, image, reverse, strength, kind, vectors, squares, table, inner, outer, energy)  # fmt: skip
        collect(n, m, first, origin, reverse, strength, squares, inner, outer, energy, partial, atom_energy, force, slope)  # fmt: skip

    @step_kernel
    def tupled(n: ti.i32, m: ti.i32, first: ints, origin: ints, partner: ints, image: ints, reverse: ints, strength: reals, kind: ints, pos: vecs, lattice: vecs, squares: ints, table: reals, vectors: quads, inner: quads, outer: quads, energy: reals, partial: quads, atom_energy: reals, force: vecs, slope: reals, chains: ti.i32, starts: ints, ps: ints, bs: ints, qs: ints, us: reals, to_ji: quads, to_jk: quads, to_kl: quads):  # fmt: skip
        """Launch: one thread per chain of the list ps, bs, qs."""
        measure(m, origin, partner, image, strength, pos, lattice, vectors)
        for t in range(chains):
            p, b, q = ps[t], bs[t], qs[t]
            us[t], to_ji[t], to_jk[t], to_kl[t] = value(p, b, q, vectors[p], vectors[b], origin, partner, strength, kind, vectors, table)  # fmt: skip
        for b in range(m):
            if accept.opens(b, reverse, strength):
                r = reverse[b]
                clear(b, first, origin, strength, squares, outer)
                clear(r, first, origin, strength, squares, outer)
                middle, total = vec4(0.0), ti.cast(0.0, real)
                for t in range(starts[b], starts[b + 1]):
                    total += us[t]
                    middle += to_jk[t]
                    outer[place(b, ps[t], first, origin, squares)] += to_ji[t]
                    outer[place(r, qs[t], first, origin, squares)] += to_kl[t]
                inner[b] = middle
                energy[b] = total
        collect(n, m, first, origin, reverse, strength, squares, inner, outer, energy, partial, atom_energy, force, slope)  # fmt: skip

    return SimpleNamespace(walked=walked, tupled=tupled)
