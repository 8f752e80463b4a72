"""A function of a chain i-j-k-l summed over all chains, with one thread for each atom, bond or chain.

A function of chains is a device function

    u, u_r, u_c, u_s = function(r, c, s, table)     # table: ti.template()

of r = (r_ij, r_jk, r_kl) in angstrom, c = (cos theta_ijk, cos theta_jkl, cos omega), the bond orders s =
(s_ij, s_jk, s_kl), and a flat array of parameters. It returns the energy u in eV and its slopes to r, c and
s, three vectors of three. It must not depend on the direction in which the chain is read. omega is the
dihedral angle of IUPAC: 0 if i and l are on the same side (cis).

With unit vectors e along j->i, j->k, k->l,

    a = e_ji.e_jk = cos theta_ijk,   p = e_jk.e_kl = -cos theta_jkl,   h = e_ji.e_kl,
    cos omega = (h - a p) / S,   S = sin theta_ijk sin theta_jkl,

from which the slopes follow by the chain rule. They diverge if three atoms are in line. So functions must
vanish there as S does, as torsions of ReaxFF do, and sines are kept from zero.

The energy depends on bond vectors, so a force is made of derivatives to them, as in `enumerate.gather`:

    F_i = sum over bonds b of i of (dU/dd_b - dU/dd_rev(b)),    d_b = r_partner - r_origin.

A chain knows three bonds: j->i and j->k in the row of j, k->l in the row of k. What the chains about a
central bond add to an outer bond has a place of its own, so no two threads write to one place: outer[c, s]
for bonds c, s of one atom, of which c (or its reverse) is central. One thread has all chains of c:

    particle  the thread of an atom walks its central bonds, and finds and evaluates their chains;
    bond      the thread of a central bond does;
    tuple     the thread of a chain stores its three derivatives; the thread of a central bond adds them up.

Then `collect` adds outer[c, s] over c for each bond, and the bonds of each atom. Every sum has one order:
that of the rows and, about one bond, that of the list of chains. So all three have the same bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import memory
from taichimd.core.arguments import ArrayField, Bundle, kernel
from taichimd.core.runtime import literals, ti
from validation.decomposition.quadruplets.bonds import (
    TYPES,
    BondList,
    Bonds,
    accepted,
    follows,
    is_central,
    is_chain,
    measure,
    on_device,
    vec3,
    vec4,
)
from validation.decomposition.quadruplets.lists import CURE, PLACES, ChainList, Listed

DECOMPOSITIONS = ("particle", "bond", "tuple")
LEAST_SIN2 = 1e-10
"""Squares of sines are taken to be at least this."""
CHAIN_BYTES = 8 * 13
"""Energy and three derivatives of one chain, which `tuple` keeps."""


class Sums(Bundle):
    """What sums over chains read and leave. A `vec4` is a derivative to a bond: vector and strength."""

    squares: Any = ArrayField("i32", "n + 1", "where the pairs of bonds of each atom begin in `outer`")
    table: Any = ArrayField("f64", "any", "parameters of the function")
    vectors: Any = ArrayField("vec4", "m", "unit vector and length of each bond, angstrom")
    inner: Any = ArrayField("vec4", "m", "derivatives to a central bond, of the chains about it")
    outer: Any = ArrayField("vec4", "pairs of bonds of one atom", "outer[c, s]")
    energy: Any = ArrayField("f64", "m", "of the chains about each bond, eV")
    partial: Any = ArrayField("vec4", "m", "derivatives to each bond, of all chains")
    energies: Any = ArrayField("f64", "n", "of each atom, eV")
    forces: Any = ArrayField("vec", "n", "on each atom, eV/angstrom")
    slopes: Any = ArrayField("f64", "m", "dU/ds of each bond, eV")


class OfChains(Bundle):
    """What the threads of chains leave."""

    energy: Any = ArrayField("f64", "chains", "eV")
    to_ji: Any = ArrayField("vec4", "chains", "derivatives to the bond j->i")
    to_jk: Any = ArrayField("vec4", "chains", "derivatives to the bond j->k")
    to_kl: Any = ArrayField("vec4", "chains", "derivatives to the bond k->l")


@ti.func
def _away(e, along, cosine):
    """Derivative of the cosine between two unit vectors to the vector along e, times its length."""
    return along - cosine * e


@ti.func
def _together(g, slope):
    return vec4(g[0], g[1], g[2], slope)


@cache
def chain_value(function: Callable[..., Any]) -> Any:
    """Device function of the bonds p, b, q of a chain: its energy, and the derivatives to j->i, j->k, k->l.

    A derivative holds in its first three components that to the bond's vector, eV/angstrom, and in its fourth
    that to its strength, eV.
    """

    @ti.func
    def value(p, b, q, vectors: ti.template(), strength: ti.template(), table: ti.template()):
        ji, jk, kl = vectors[p], vectors[b], vectors[q]
        s = vec3(strength[p], strength[b], strength[q])
        e, f, g = ji[:3], jk[:3], kl[:3]
        a, p_cos, h = e.dot(f), f.dot(g), e.dot(g)
        sin2_a = ti.max(1.0 - a * a, LEAST_SIN2)
        sin2_p = ti.max(1.0 - p_cos * p_cos, LEAST_SIN2)
        inverse = 1.0 / ti.sqrt(sin2_a * sin2_p)
        cosine = (h - a * p_cos) * inverse
        u, u_r, u_c, u_s = function(vec3(ji[3], jk[3], kl[3]), vec3(a, -p_cos, cosine), s, table)
        to_a = u_c[0] + u_c[2] * (cosine * a / sin2_a - p_cos * inverse)
        to_p = u_c[2] * (cosine * p_cos / sin2_p - a * inverse) - u_c[1]
        to_h = u_c[2] * inverse
        g_ji = u_r[0] * e + (to_a * _away(e, f, a) + to_h * _away(e, g, h)) * (1.0 / ji[3])
        g_jk = u_r[1] * f + (to_a * _away(f, e, a) + to_p * _away(f, g, p_cos)) * (1.0 / jk[3])
        g_kl = u_r[2] * g + (to_p * _away(g, f, p_cos) + to_h * _away(g, e, h)) * (1.0 / kl[3])
        return u, _together(g_ji, u_s[0]), _together(g_jk, u_s[1]), _together(g_kl, u_s[2])

    return value


@ti.func
def _place(c, s, bonds: ti.template(), sums: ti.template()):
    """Where outer[c, s] is."""
    j = bonds.origin[c]
    begin = bonds.first[j]
    return sums.squares[j] + (c - begin) * (bonds.first[j + 1] - begin) + (s - begin)


@ti.func
def _clear(c, bonds: ti.template(), sums: ti.template()):
    """Make outer[c, s] zero for all s."""
    j = bonds.origin[c]
    for s in range(bonds.first[j], bonds.first[j + 1]):
        if follows(c, s, bonds):
            sums.outer[_place(c, s, bonds, sums)] = vec4(0.0)


@ti.func
def _collect(bonds: ti.template(), sums: ti.template()):
    """From the sums about central bonds to those of bonds and atoms."""
    for s in range(bonds.m):
        total = vec4(0.0)
        if accepted(s, bonds):
            if s < bonds.reverse[s]:
                total = sums.inner[s]
            j = bonds.origin[s]
            for c in range(bonds.first[j], bonds.first[j + 1]):
                if accepted(c, bonds) and follows(c, s, bonds):
                    total += sums.outer[_place(c, s, bonds, sums)]
        sums.partial[s] = total
    for i in range(bonds.n):
        u, f = 0.0, vec3(0.0)
        for s in range(bonds.first[i], bonds.first[i + 1]):
            r = bonds.reverse[s]
            g, h = sums.partial[s], sums.partial[r]
            sums.slopes[s] = g[3] + h[3]
            if accepted(s, bonds):
                u += 0.5 * sums.energy[ti.min(s, r)]
                f += (g - h)[:3]
        sums.energies[i] = u
        sums.forces[i] = f


@cache
def _walk(function: Callable[..., Any]) -> Any:
    """Device function that finds and evaluates the chains about a bond."""
    value = chain_value(function)

    @ti.func
    def walk(b, bonds: ti.template(), sums: ti.template()):
        r, j, k = bonds.reverse[b], bonds.origin[b], bonds.partner[b]
        _clear(r, bonds, sums)
        middle, total = vec4(0.0), 0.0
        for p in range(bonds.first[j], bonds.first[j + 1]):
            if follows(b, p, bonds):
                own = vec4(0.0)
                for q in range(bonds.first[k], bonds.first[k + 1]):
                    if follows(r, q, bonds) and is_chain(p, b, q, bonds):
                        u, g_ji, g_jk, g_kl = value(p, b, q, sums.vectors, bonds.strength, sums.table)
                        total += u
                        own += g_ji
                        middle += g_jk
                        sums.outer[_place(r, q, bonds, sums)] += g_kl
                sums.outer[_place(b, p, bonds, sums)] = own
        sums.inner[b] = middle
        sums.energy[b] = total

    return walk


@cache
def _particle_kernel(function: Callable[..., Any]) -> Any:
    walk = _walk(function)

    @kernel(TYPES, graph=True, bonds=Bonds, sums=Sums)
    def by_atoms(bonds, sums):
        """Launch: one thread per atom."""
        measure(bonds, sums.vectors)
        for j in range(bonds.n):
            for b in range(bonds.first[j], bonds.first[j + 1]):
                if is_central(b, bonds):
                    walk(b, bonds, sums)
        _collect(bonds, sums)

    return by_atoms


@cache
def _bond_kernel(function: Callable[..., Any]) -> Any:
    walk = _walk(function)

    @kernel(TYPES, graph=True, bonds=Bonds, sums=Sums)
    def by_bonds(bonds, sums):
        """Launch: one thread per directed bond, of which those that are central work."""
        measure(bonds, sums.vectors)
        for b in range(bonds.m):
            if is_central(b, bonds):
                walk(b, bonds, sums)
        _collect(bonds, sums)

    return by_bonds


@cache
def _tuple_kernel(function: Callable[..., Any]) -> Any:
    value = chain_value(function)
    listed = Listed.only("count", "starts")

    @kernel(TYPES, graph=True, bonds=Bonds, sums=Sums, listed=listed, places=PLACES, chains=OfChains)
    def by_tuples(bonds, sums, listed, places, chains):
        """Launch: one thread per chain of the list."""
        measure(bonds, sums.vectors)
        for t in range(listed.count):
            p, b, q = places[0][t], places[1][t], places[2][t]
            u, g_ji, g_jk, g_kl = value(p, b, q, sums.vectors, bonds.strength, sums.table)
            chains.energy[t], chains.to_ji[t], chains.to_jk[t], chains.to_kl[t] = u, g_ji, g_jk, g_kl
        for b in range(bonds.m):
            if is_central(b, bonds):
                r = bonds.reverse[b]
                _clear(b, bonds, sums)
                _clear(r, bonds, sums)
                middle, total = vec4(0.0), 0.0
                for t in range(listed.starts[b], listed.starts[b + 1]):
                    total += chains.energy[t]
                    middle += chains.to_jk[t]
                    sums.outer[_place(b, places[0][t], bonds, sums)] += chains.to_ji[t]
                    sums.outer[_place(r, places[2][t], bonds, sums)] += chains.to_kl[t]
                sums.inner[b] = middle
                sums.energy[b] = total
        _collect(bonds, sums)

    return by_tuples


@dataclass(frozen=True)
class ChainSums:
    """What a function of chains adds up to."""

    energies: NDArray[np.float64]  # (n,) eV: of each chain, half goes to each of its central atoms
    forces: NDArray[np.float64]  # (n, 3) eV/angstrom at constant bond orders, -dU/dr
    # (m,) eV: dU/ds of the bond, the same for both directions. If bond orders depend on distance, forces of
    # slope ds/dr along the bond come on top.
    slopes: NDArray[np.float64]


class ChainTerm:
    """A function of chains i-j-k-l over all chains that the condition of a bond list accepts.

    Args:
        bonds: the network.
        function: of a chain.
        table: parameters that the function reads.

    Attributes:
        list: the chains, which `tuple` needs. The caller builds it.

    Raises:
        CapacityError: what is kept for each two bonds of one atom does not fit.
    """

    def __init__(self, bonds: BondList, function: Callable[..., Any], table: Sequence[float]) -> None:
        self._bonds, self._function, self.list = bonds, function, ChainList(bonds)
        n, m = bonds.n, max(bonds.m, 1)
        squares = np.concatenate([[0], np.cumsum(bonds.degrees**2)])
        pairs = max(int(squares[-1]), 1)
        self.bond_bytes = 8 * (4 * (pairs + 3 * m) + 2 * m)
        what = f"sums over {pairs} pairs of bonds of one atom"
        memory.require(self.bond_bytes, 4 * pairs, what, CURE)
        lengths = {"pairs of bonds of one atom": pairs, "m": m, "n": n}
        self._sums = Sums(
            squares=on_device(ti.i32, squares),
            table=on_device(ti.f64, table),
            **{
                name: ti.ndarray(TYPES[field.type], lengths[field.length])
                for name, field in Sums.fields.items()
                if field.length in lengths
            },
        )
        self._room, self._of_chains = 0, _arrays_of_chains(1)

    def queue(self, decomposition: str) -> None:
        """Queue the sums of the present positions and bond orders; does not wait for them."""
        with literals(ti.f64):
            if decomposition == "tuple":
                self._reserve()
                by_tuples = _tuple_kernel(self._function)
                by_tuples(self._bonds, self._sums, self.list, self.list.places, self._of_chains)
            else:
                made = _bond_kernel if decomposition == "bond" else _particle_kernel
                made(self._function)(self._bonds, self._sums)

    def evaluate(self, decomposition: str) -> ChainSums:
        """`queue`, and the results."""
        self.queue(decomposition)
        sums = self._sums
        return ChainSums(
            sums.energies.to_numpy(), sums.forces.to_numpy(), sums.slopes.to_numpy()[: self._bonds.m]
        )

    def statistics(self) -> dict[str, Any]:
        """Numbers of bonds and chains, and bytes that the list, all decompositions and `tuple` keep."""
        return {
            "directed_bonds": self._bonds.m,
            "tuples": self.list.count,
            "tuples_per_atom": self.list.count / self._bonds.n,
            "list_bytes": 12 * self.list.capacity,
            "bond_sum_bytes": self.bond_bytes,
            "chain_bytes": CHAIN_BYTES * self._room,
        }

    def _reserve(self) -> None:
        need = self.list.count
        if need > self._room:
            self._room, self._of_chains = 0, _arrays_of_chains(1)
            memory.require(CHAIN_BYTES * need, 4 * need, f"the derivatives of {need} chains", CURE)
            self._room, self._of_chains = need, _arrays_of_chains(need)


def _arrays_of_chains(room: int) -> OfChains:
    """Energy and three derivatives of each chain."""
    what, fields = f"the derivatives of {room} chains", OfChains.fields.values()
    return OfChains(*(memory.array(TYPES[f.type], room, what, CHAIN_BYTES * room, CURE) for f in fields))
