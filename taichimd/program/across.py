"""Vectors of the heat that flows from one set of atoms to another one, three numbers for each atom.

    Q_AB = sum over A of g_i.v_i - sum over B of g_j.v_j,
    g_i = sum over j in B of dU_j/dr_ji,   g_j = sum over i in A of dU_i/dr_ij

This is the virial W_i with r_ij replaced by 1 for pairs across the interface. Of all atoms in two sets, Q_AB is
-dE_A/dt, E_A being potential and kinetic energies of the atoms in A: Z. Fan et al., Phys. Rev. B 92, 094301
(2015). Kernels run after an evaluation, whose lists, partial forces and sums over neighbours they read. Sums are
those of `enumerate.reproducible_sum`, so neither lists nor threads change a bit.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import ArrayField, Number, device_helper, kernel
from taichimd.core.errors import PropertyError
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import access
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.live import following
from taichimd.enumerate.moments import moment_functions
from taichimd.enumerate.near_sides import Limits
from taichimd.enumerate.passes import OfAtom
from taichimd.enumerate.reproducible_sum import empty_sums, total_of, with_term
from taichimd.enumerate.terms import PAIR_FORCES, Triples
from taichimd.neighbours.entries import neighbour
from taichimd.neighbours.rows import body_layout, row_layout, slot
from taichimd.program.compiled import compiled_groups, only, step_view
from taichimd.program.system import System
from taichimd.program.systems import Systems
from taichimd.program.variant import Variant

SIDE = ArrayField("i32", "n", "by the user's number: 1 in A, -1 in B, else 0")
WORK = ArrayField("f64", "3n", "by the user's number: g_i in A, -g_j in B, else 0; eV/angstrom")
NU = ArrayField("f64", "kinds^3", "strengths of triples, or one number")


class Between:
    """The heat flow from one set of atoms of a system to another one.

    Args:
        system: alone or of a batch.
        first, second: A and B, numbers of its atoms.

    Raises:
        PropertyError: a force field without heat current, or without neighbour lists.

    Attributes:
        first: where the atoms of the system begin in `work`. work: WORK of all systems, of the last `update`.
    """

    def __init__(self, system: System, first: NDArray[Any], second: NDArray[Any]) -> None:
        systems, part = system.systems, system.systems.state.parts[system.number]
        check_across(systems)
        own = next((one for one in systems.across if not one.taken[system.number]), None)
        if own is None:
            own = _Across(systems)
            systems.across.append(own)
        side = np.zeros(part.stop - part.start, np.int32)
        side[first], side[second] = 1, -1
        own.add(system.number, part, side)
        self._systems, self._own, self.first = systems, own, int(part.start)
        self.work = own.work

    def update(self) -> None:
        """Queue the kernels for the present positions, which have been evaluated."""
        self._systems.seen(f"across {self._systems.across.index(self._own)}", self._own.queue)


def check_across(systems: Systems) -> None:
    """Raise a PropertyError if a force field knows no heat flow between sets of atoms."""
    forcefield = systems.forcefield
    forcefield.check_heat_current()
    endless = [term.name for term in forcefield.terms if np.isinf(term.cutoff)]
    if endless or forcefield.enumeration == "all-pairs":
        name = endless[0] if endless else forcefield.name
        raise PropertyError(
            f"{name} is evaluated without neighbour lists, from which the heat flow through an interface "
            "follows; give it a cutoff and the enumeration neighbours"
        )


class _Across:
    """One interface in each of several systems."""

    def __init__(self, systems: Systems) -> None:
        self._systems, n = systems, systems.state.n
        self.taken = [False] * systems.n_systems
        self._sides = np.zeros(n, np.int32)
        self._side, self.work = ti.ndarray(ti.i32, n), ti.ndarray(ti.f64, 3 * n)
        self._triples = _triples_of(systems)

    def add(self, number: int, part: slice, side: NDArray[np.int32]) -> None:
        """Take the interface of a system."""
        self.taken[number], self._sides[part] = True, side
        self._side.from_numpy(self._sides)

    def queue(self) -> None:
        """Queue the kernels."""
        device = self._systems.device
        variant = device.variant.outside_steps
        for k in range(len(variant.groups)):
            triples, nu, limits = self._triples.get(k, (None, self.work, Limits(0.0, 0.0)))
            add = across_kernel(variant, k, None if triples is None else triples.function, len(self._triples))
            device.call(add, device.system(), self._side, self.work, nu, limits, int(k == 0))


def _triples_of(systems: Systems) -> dict[int, tuple[Triples, Any, Limits]]:
    """Sums over triples, by the numbers of their groups, with their strengths and limits."""
    found: dict[int, tuple[Triples, Any, Limits]] = {}
    if not any(group.terms.queued for group in systems.device.groups):
        return found
    for k, bound in enumerate(systems.forcefield.bind(sorted(set().union(*systems.symbols)))):
        if bound.triples is not None:
            one = bound.triples
            nu = ti.ndarray(ti.f64, one.strengths.size)
            nu.from_numpy(np.ascontiguousarray(one.strengths, np.float64).reshape(-1))
            found[k] = one, nu, Limits(one.cutoff**2, one.product_cutoff**6)
    return found


@cache
def across_kernel(variant: Variant, k: int, triple: Any, n_triples: int) -> Any:
    """Kernel `(system, side, work, nu, limits, begins)`: adds what group k does across the interface.

    Args:
        variant: outside of steps.
        k: number of the group.
        triple: of a sum over triples, its function.
        n_triples: how many such groups there are.
    """
    group, views = variant.groups[k], compiled_groups(variant).views
    its = tuple(one.arguments for one in variant.groups)
    adders = _adders(variant, group, triple)

    @kernel(
        variant.types, system=variant.system(groups=only(k, its), bath=None, cells=None), side=SIDE, work=WORK,
        nu=NU, limits=Limits, begins=Number("i32", "1 if `work` begins here"),
    )  # fmt: skip
    def add(system, side, work, nu, limits, begins):
        s = step_view(system, views(system, system.atoms.n))
        for i in range(s.n):
            own = s.atoms.ident[i]
            me = side[own]
            sums = empty_sums(3)
            if me != 0:
                for a in ti.static(range(len(adders))):
                    adders[a](i, me, s.groups[k], side, nu, limits, sums)
            for c in ti.static(range(3)):
                found = ti.cast(me, ti.f64) * total_of(sums[c], sums[3 + c])
                if begins == 1:
                    work[3 * own + c] = found
                else:
                    work[3 * own + c] += found

    return add


def _adders(variant: Variant, group: Any, triple: Any) -> list[Any]:
    """Device functions `(i, me, group, side, nu, limits, sums)`, which add to -g or g of atom i."""
    real, term, backend, terms = variant.real, variant.term, variant.backend, group.terms
    if triple is not None:
        return [_of_triples(triple, terms, row_layout(backend))]
    if terms.passes is not None:
        return _of_passes(terms, term, body_layout(backend))
    separate = group.pairs_after_bodies
    of_pairs, of_bodies = terms.separate if separate else (terms, terms)
    found = []
    if terms.many_body:
        functions = moment_functions if group.in_moments else gather_functions
        found.append(_of_bodies(functions(of_bodies, real, term, body_layout(backend)), body_layout(backend)))
    if of_pairs.pair and (separate or not terms.many_body):
        found.append(_of_pairs(of_pairs, term, row_layout(backend)))
    return found


@ti.func
def _opposite(j, me, g: ti.template(), side: ti.template()):
    """Whether atom j is on the other side."""
    return side[g.ident[j]] * me < 0


def _of_bodies(atom: Any, layout: int) -> Any:
    @ti.func
    def add(i, me, g: ti.template(), side: ti.template(), nu: ti.template(), limits: ti.template(),
            sums: ti.template()):  # fmt: skip
        rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
        mask, m = g.kept.live[i], rows.count[i]
        s = following(mask, 0, m)
        while s < m:
            j = neighbour(rows.entries[slot(i, s, n, width, layout)], shift_bits)
            if _opposite(j, me, g, side):
                theirs = atom.other_end(i, s, n, width, shift_bits, rows, g.kept)
                for c in ti.static(range(3)):
                    with_term(sums, 3, c, theirs[c])
            s = following(mask, s + 1, m)

    return add


def _of_pairs(terms: Any, term: Any, layout: int) -> Any:
    look, pair = access(terms, term, layout), terms.pair

    @computed_in(term)
    def add(i, me, g: ti.template(), side: ti.template(), nu: ti.template(), limits: ti.template(),
            sums: ti.template()):  # fmt: skip
        rows, n, width, shift_bits = g.verlet, g.n, g.verlet.width, g.verlet.shift_bits
        x, a = rows.pos[i], look.kind_of(rows.kind, i)
        shared = look.read_pair(g.kept.pair_table, 0)
        for s in range(rows.count[i]):
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            p = look.pair_parameters(g.kept.pair_table, shared, a, b)
            if r2 < p.cutoff * p.cutoff:
                if _opposite(look.neighbour_of(i, s, n, width, shift_bits, rows), me, g, side):
                    _, w = pair.function(r2, p)
                    for c in ti.static(range(3)):
                        with_term(sums, 3, c, (-0.5 * w) * d[c])

    return add


def _of_passes(terms: Any, term: Any, layout: int) -> list[Any]:
    program = terms.passes.function
    names, count, look = program.arrays, len(program.arrays), access(terms, term, layout)
    function = next((one.function for one in program.passes if one.kind == PAIR_FORCES), None)
    if function is None:
        return []

    @device_helper
    def of_atom(values: Any) -> OfAtom:
        return OfAtom(**dict(zip(names, values, strict=True)))

    @computed_in(term)
    def add(i, me, g: ti.template(), side: ti.template(), nu: ti.template(), limits: ti.template(),
            sums: ti.template()):  # fmt: skip
        rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
        x, a = rows.pos[i], look.kind_of(rows.kind, i)
        mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
        shared = look.read_pair(g.kept.pair_table, 0)
        for s in range(rows.count[i]):
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            p = look.pair_parameters(g.kept.pair_table, shared, a, b)
            if r2 < p.cutoff * p.cutoff:
                j = look.neighbour_of(i, s, n, width, shift_bits, rows)
                if _opposite(j, me, g, side):
                    theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
                    r = ti.sqrt(r2)
                    _, _, to_theirs = function(r, p, of_atom(mine), of_atom(theirs))
                    for c in ti.static(range(3)):
                        with_term(sums, 3, c, -(to_theirs / r) * d[c])

    return [add]


def _of_triples(triple: Any, terms: Any, layout: int) -> Any:
    """Each atom has a third of the energy of a triple: dU_j/dr_ji is -f_i/3."""
    look, n_kinds = access(terms, ti.f64, layout), terms.n_kinds

    @computed_in(ti.f64)
    def add(i, me, g: ti.template(), side: ti.template(), nu: ti.template(), limits: ti.template(),
            sums: ti.template()):  # fmt: skip
        rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
        x, a = rows.pos[i], look.kind_of(rows.kind, i)
        for s in range(rows.count[i]):
            d, d2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            if d2 < limits.side2:
                j = look.neighbour_of(i, s, n, width, shift_bits, rows)
                for t in range(s + 1, rows.count[i]):
                    e, e2, c = look.visit(i, t, x, n, width, shift_bits, rows)
                    f2 = (e - d).dot(e - d)
                    if e2 < limits.side2 and f2 < limits.side2 and d2 * e2 * f2 < limits.product2:
                        other = look.neighbour_of(i, t, n, width, shift_bits, rows)
                        many = ti.cast(_opposite(j, me, g, side), ti.i32)
                        many += ti.cast(_opposite(other, me, g, side), ti.i32)
                        if many > 0:
                            _, f = triple(d, e, d2, e2, f2, nu[(a * n_kinds + b) * n_kinds + c])
                            for q in ti.static(range(3)):
                                with_term(sums, 3, q, (-many / 3.0) * f[q])

    return add
