"""What a move of one atom changes of embedded-atom energies.

    dE = sum over neighbours j of phi(r'_ij) - phi(r_ij),
         and over i and its neighbours of F(rho') - F(rho)

The densities of a neighbour are summed over its own neighbours, before and after the move. So two atoms that
move at the same time must be farther apart than twice the cutoff (`Local.reach`). Sums are exact, as those of
`local_energy`.
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import device_helper
from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.enumerate.parameters import reader
from taichimd.enumerate.passes import OfAtom
from taichimd.enumerate.reproducible_sum import empty_sums, total_of, with_term
from taichimd.enumerate.terms import Compiled, takes_row
from taichimd.neighbours.entries import neighbour, vector_to
from taichimd.neighbours.rows import slot
from taichimd.sampling.local_energy import entry_function
from taichimd.sampling.local_terms import OTHER_CELLS


@dataclass(frozen=True)
class _Energies:
    """Device functions for parts of the energy."""

    read: DeviceFunction  # a row of parameters
    add_density: DeviceFunction  # adds that of a neighbour
    of_sum: DeviceFunction  # energy of a density
    of_pair: DeviceFunction  # energy that a neighbour adds to the atom


def _energies(of: Compiled, term: Any) -> _Energies:
    program = of.function
    density, embedding, pairs = (one.function for one in program.passes)
    place, with_row = program.arrays.index(program.passes[0].writes[0]), takes_row(embedding)

    @device_helper
    def atom_with(density_: Any) -> OfAtom:
        """An atom with its density. Energies know no other number."""
        return OfAtom(**{name: density_ if k == place else 0.0 for k, name in enumerate(program.arrays)})

    @device_helper
    def of_sum(density_: Any, p: Any) -> Any:
        return embedding(*((atom_with(density_), p) if with_row else (atom_with(density_),)))[0]

    @ti.func
    def add_density(sums: ti.template(), d2, p):
        if d2 < p.cutoff * p.cutoff:
            with_term(sums, 1, 0, density(ti.sqrt(d2), p, atom_with(0.0), atom_with(0.0)))

    @computed_in(term)
    def of_pair(d2, p):
        u = 0.0
        if d2 < p.cutoff * p.cutoff:
            found, _to_mine, _to_theirs = pairs(ti.sqrt(d2), p, atom_with(0.0), atom_with(0.0))
            u = found
        return u

    return _Energies(reader(of.columns, term), add_density, of_sum, of_pair)


def _change_of_one(energies: _Energies, n_kinds: int, term: Any, layout: int) -> Any:
    """Device function `(sums, j, i, x, y, moving, g, k)`: adds F(rho') - F(rho) of j, if i goes to y."""
    read = energies.read

    @computed_in(term)
    def change(sums: ti.template(), j, i, x, y, moving, g: ti.template(), k: ti.template()):
        before, after, b = empty_sums(1), empty_sums(1), g.atoms.kind[j]
        for s in range(g.rows[k].count[j]):
            entry = g.rows[k].entries[slot(j, s, g.atoms.n, g.rows[k].width, layout)]
            m = neighbour(entry, g.verlet.shift_bits)
            old = vector_to(entry, g.verlet.shift_bits, g.atoms.pos[j], g.atoms.pos, g.verlet.shifts)
            new = old + (ti.cast(m == i, ti.i32) - ti.cast(j == i, ti.i32)) * (y - x)
            d, e, p = ti.cast(old, term), ti.cast(new, term), read(g.tables[k], b * n_kinds + g.atoms.kind[m])
            # Atoms of other cells of the colour are out of range, and may be moving now.
            cell = g.board.cell_of[m]
            if cell == g.board.cell_of[i] or cell < moving.first or cell >= moving.last:
                energies.add_density(before, d.dot(d), p)
                energies.add_density(after, e.dot(e), p)
        p = read(g.tables[k], b * n_kinds + b)
        rho, then = total_of(before[0], before[1]), total_of(after[0], after[1])
        with_term(
            sums, 1, 0, energies.of_sum(ti.cast(then, term), p) - energies.of_sum(ti.cast(rho, term), p)
        )

    return change


def _change_of_pair(energies: _Energies, n_kinds: int, term: Any, entry_of: Any) -> Any:
    """Device function `(sums, i, s, x, y, moving, g, k)`: adds the change of a pair, for both atoms."""
    read, of_pair = energies.read, energies.of_pair

    @computed_in(term)
    def change(sums: ti.template(), i, s, x, y, moving, g: ti.template(), k: ti.template()):
        old, new, b, _counts = entry_of(i, s, x, y, moving, g, k)
        d, e, a = ti.cast(old, term), ti.cast(new, term), g.atoms.kind[i]
        p, q = read(g.tables[k], a * n_kinds + b), read(g.tables[k], b * n_kinds + a)
        with_term(sums, 1, 0, of_pair(e.dot(e), p) - of_pair(d.dot(d), p))
        with_term(sums, 1, 0, of_pair(e.dot(e), q) - of_pair(d.dot(d), q))

    return change


def embedded_change(of: Compiled, n_kinds: int, real: Any, term: Any, layout: int) -> Any:
    """As `local_energy.change_function` for passes of which `Passes.local` is true."""
    energies, entry_of = _energies(of, term), entry_function(real, layout, OTHER_CELLS)
    read, add_pair = energies.read, _change_of_pair(energies, n_kinds, term, entry_of)
    change_of_one = _change_of_one(energies, n_kinds, term, layout)

    @ti.func
    def neighbour_at(i, s, g: ti.template(), k: ti.template()):
        entry = g.rows[k].entries[slot(i, s, g.atoms.n, g.rows[k].width, layout)]
        return neighbour(entry, g.verlet.shift_bits)

    @ti.func
    def in_range(i, s, x, y, moving, g: ti.template(), k: ti.template()):
        """Whether an entry is within its cutoff before or after the move."""
        old, new, b, counts = entry_of(i, s, x, y, moving, g, k)
        cutoff = read(g.tables[k], g.atoms.kind[i] * n_kinds + b).cutoff
        d, e = ti.cast(old, term), ti.cast(new, term)
        return counts and ti.min(d.dot(d), e.dot(e)) < cutoff * cutoff

    @ti.func
    def change(sums: ti.template(), i, lane, many, x, y, moving, g: ti.template(), k: ti.template()):
        count, s = g.rows[k].count[i], lane
        while s <= count:
            # The last turn is that of the atom itself.
            j, does = i, s == count
            if s < count:
                does = in_range(i, s, x, y, moving, g, k)
                if does:
                    j = neighbour_at(i, s, g, k)
                    add_pair(sums, i, s, x, y, moving, g, k)
                    # A row can hold several images of one atom, whose density changes once.
                    for t in range(s):
                        if neighbour_at(i, t, g, k) == j and in_range(i, t, x, y, moving, g, k):
                            does = False
            if does:
                change_of_one(sums, j, i, x, y, moving, g, k)
            s += many

    return change
