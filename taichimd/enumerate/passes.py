"""Terms of passes: loops over atoms, one after the other, which keep numbers with each atom.

An embedded-atom potential is three of them: densities, a sum over neighbours; the slope of the embedding
energy, for each atom; forces of pairs, which need both slopes. With partial derivatives of the energies of
both atoms,

    F_i = sum_j (dU_i/dr_ij + dU_j/dr_ij) r_ij/|r_ij|,   W_i = -sum_j dU_j/dr_ij r_ij (x) r_ij/|r_ij|,

which is Fan et al., Comput. Phys. Commun. 218, 10 (2017), eqs. 28 and 30, for energies that know distances
alone. Sums run over the near list, which is in the order of the user's numbers.
"""

from typing import Any

from taichimd.core.arguments import View, device_helper
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import access, store_matrix
from taichimd.enumerate.group import Group, GroupFunctions
from taichimd.enumerate.parameters import columns_of
from taichimd.enumerate.reproducible_sum import ALL, FORCE, store_function
from taichimd.enumerate.terms import EACH_ATOM, NEIGHBOUR_SUM, PAIR_FORCES, LookUp, takes_row
from taichimd.neighbours.control import Control
from taichimd.neighbours.prune import prune_functions
from taichimd.neighbours.rows import body_layout


class OfAtom(View):
    """The numbers of an atom, as attributes."""


def passes_functions(group: Group, variant: Any, thermostat: Any, box: Any) -> GroupFunctions:
    """Device functions of a term of passes."""
    assert group.terms.passes is not None
    real, term, backend = variant.real, variant.term, variant.backend
    store = store_function(thermostat, variant.coupling.driven)
    program = group.terms.passes.function
    names, count = program.arrays, len(program.arrays)
    layout = body_layout(backend)
    look = access(group.terms, term, layout)
    pruning = prune_functions(group.terms.n_kinds, backend, True, False, box, 1, number=group.number)
    vec = ti.types.vector(3, real)

    @device_helper
    def of_atom(values: Any) -> OfAtom:
        return OfAtom(**dict(zip(names, values, strict=True)))

    def neighbour_sum(one: Any) -> Any:
        place = names.index(one.writes[0])

        @computed_in(term)
        def run(
            i, g: ti.template(), want: ti.template(), first: ti.template(), out: ti.template(),
            control: ti.template()
        ):  # fmt: skip
            rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
            x = rows.pos[i]
            a = look.kind_of(rows.kind, i)
            mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
            shared = look.read_pair(g.kept.pair_table, 0)
            total = ti.cast(0.0, term)
            for s in range(rows.count[i]):
                _, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
                p = look.pair_parameters(g.kept.pair_table, shared, a, b)
                if r2 < p.cutoff * p.cutoff:
                    j = look.neighbour_of(i, s, n, width, shift_bits, rows)
                    theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
                    total += one.function(ti.sqrt(r2), p, of_atom(mine), of_atom(theirs))
            g.own[place][i] = ti.cast(total, real)

        return run

    def each_atom(one: Any) -> Any:
        places = [names.index(name) for name in one.writes]
        with_row = takes_row(one.function)
        within = [(names.index(name), curve) for name, curve in one.within] if isinstance(one, LookUp) else []

        @device_helper
        def beyond(mine: Any, p: Any, k: int) -> Any:
            """Intervals by which a number is beyond the last point of its curve."""
            place, curve = within[k]
            _, nodes, first, inverse = (getattr(p, column) for column in columns_of(curve))
            return (mine[place] - first) * inverse - nodes + 1.0

        @ti.func
        def found_with_row(i, mine, g: ti.template(), control: ti.template()):
            """With the parameters of the atom's element, which are those of the pair of two such atoms."""
            a = look.kind_of(g.near.kind, i)
            shared = look.read_pair(g.kept.pair_table, 0)
            p = look.pair_parameters(g.kept.pair_table, shared, a, a)
            for k in ti.static(range(len(within))):
                # An integer: the order of additions does not count.
                if beyond(mine, p, k) > 0.0:
                    ti.atomic_add(control[Control.beyond], 1)
            return one.function(of_atom(mine), p)

        @ti.func
        def found_alone(i, mine, g: ti.template(), control: ti.template()):
            return one.function(of_atom(mine))

        evaluate = found_with_row if with_row else found_alone

        @computed_in(term)
        def run(
            i, g: ti.template(), want: ti.template(), first: ti.template(), out: ti.template(),
            control: ti.template()
        ):  # fmt: skip
            mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
            found = evaluate(i, mine, g, control)
            for k in ti.static(range(len(places))):
                g.own[places[k]][i] = ti.cast(found[k + 1], real)
            if ti.static(want == ALL):
                add(i, ti.cast(found[0], real), first, out)

        return run

    @ti.func
    def add(i, u, first: ti.template(), out: ti.template()):
        """Add to the energy of an atom, or begin it."""
        if ti.static(first):
            out.energy[i] = u
        else:
            out.energy[i] = out.energy[i] + u

    function = next((one.function for one in program.passes if one.kind == PAIR_FORCES), None)
    has_forces = function is not None
    # The energy begins with the first pass that knows one.
    knowing = [number for number, one in enumerate(program.passes) if one.kind != NEIGHBOUR_SUM]
    begins = [bool(knowing) and number == knowing[0] for number in range(len(program.passes))]

    @computed_in(term)
    def pair_forces(i, g: ti.template(), want: ti.template()):
        """Force, virial and energy of atom i."""
        rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
        shared = look.read_pair(g.kept.pair_table, 0)
        energy = ti.cast(0.0, real)
        force, virial = ti.Vector.zero(real, 3), ti.Matrix.zero(real, 3, 3)
        for s in range(rows.count[i]):
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            p = look.pair_parameters(g.kept.pair_table, shared, a, b)
            if r2 < p.cutoff * p.cutoff:
                j = look.neighbour_of(i, s, n, width, shift_bits, rows)
                theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
                r = ti.sqrt(r2)
                u, to_mine, to_theirs = function(r, p, of_atom(mine), of_atom(theirs))
                e = d / r
                force += ti.cast((to_mine + to_theirs) * e, real)
                if ti.static(want != FORCE):
                    virial -= ti.cast(to_theirs * d.outer_product(e), real)
                energy += ti.cast(u, real)
        return force, virial, energy

    @ti.func
    def of_forces(
        first: ti.template(), g: ti.template(), out: ti.template(), control: ti.template(), frozen,
        want: ti.template(), bath: ti.template()
    ):  # fmt: skip
        for i in range(g.n):
            if control[frozen] == 0:
                f, w, u = pair_forces(i, g, want)
                store(i, g.n, f, w, out, want, bath)
                if ti.static(want == ALL):
                    add(i, u, first, out)

    @ti.func
    def nothing(
        g: ti.template(), out: ti.template(), control: ti.template(), frozen, want: ti.template(),
        energy: ti.template()
    ):  # fmt: skip
        """Forces of a term that has none."""
        for i in range(g.n):
            if control[frozen] == 0:
                out.force[i] = vec(0.0)
                if ti.static(want == ALL):
                    store_matrix(out.virial, i, ti.Matrix.zero(real, 3, 3))
                    if ti.static(energy):
                        out.energy[i] = 0.0

    made = {NEIGHBOUR_SUM: neighbour_sum, EACH_ATOM: each_atom}
    runs = [made[one.kind](one) for one in program.passes if one.kind != PAIR_FORCES]
    always = [not one.each_step for one in program.passes]

    @ti.func
    def all_stages(
        g: ti.template(), out: ti.template(), control: ti.template(), frozen, want: ti.template(),
        bath: ti.template()
    ):  # fmt: skip
        for k in ti.static(range(len(runs))):
            for i in range(g.n):
                if control[frozen] == 0 and (ti.static(always[k]) or g.stepping == 1):
                    runs[k](i, g, want, ti.static(begins[k]), out, control)
        if ti.static(has_forces):
            of_forces(ti.static(begins[-1]), g, out, control, frozen, want, bath)
        else:
            nothing(g, out, control, frozen, want, ti.static(not knowing))

    @ti.func
    def cut(g: ti.template(), most_drift2, control: ti.template(), cells: ti.template()):
        pruning.prune(g, most_drift2, control, cells)

    return GroupFunctions(cut, pruning.unfit, 1, all_stages)
