"""Terms of passes: loops over atoms, one after the other, which keep numbers with each atom.

An embedded-atom potential is three of them: densities, a sum over neighbours; the slope of the embedding
energy, for each atom; forces of pairs, which need both slopes. With partial derivatives of the energies of
both atoms,

    F_i = sum_j (dU_i/dr_ij + dU_j/dr_ij) r_ij/|r_ij|,   W_i = -sum_j dU_j/dr_ij r_ij (x) r_ij/|r_ij|,

which is Fan et al., Comput. Phys. Commun. 218, 10 (2017), eqs. 28 and 30, for energies that know distances
alone. Sums are exact (`reproducible_sum`): on a GPU threads side by side share an atom (`threads_per_atom`),
with the bits of one thread.
"""

from typing import Any

from taichimd.core.arguments import View, device_helper
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import access, store_matrix
from taichimd.enumerate.group import Group, GroupFunctions
from taichimd.enumerate.parameters import columns_of
from taichimd.enumerate.reproducible_sum import ALL, FORCE, TERMS, empty_sums, store_function, with_term
from taichimd.enumerate.row_sums import across
from taichimd.enumerate.terms import EACH_ATOM, NEIGHBOUR_SUM, PAIR_FORCES, LookUp, takes_row
from taichimd.neighbours.control import Control
from taichimd.neighbours.prune import prune_functions, threads_of_cut
from taichimd.neighbours.rows import row_layout


class OfAtom(View):
    """The numbers of an atom, as attributes."""


def passes_functions(group: Group, variant: Any, thermostat: Any, box: Any) -> GroupFunctions:
    """Device functions of a term of passes."""
    assert group.terms.passes is not None
    real, term, backend = variant.real, variant.term, variant.backend
    store = store_function(thermostat, variant.coupling.driven)
    program = group.terms.passes.function
    names, count, lanes = program.arrays, len(program.arrays), group.threads_per_atom
    look = access(group.terms, term, row_layout(backend))
    cutters = threads_of_cut(backend, has_pairs=True)
    pruning = prune_functions(group.terms.n_kinds, backend, False, False, box, cutters, number=group.number)
    vec = ti.types.vector(3, real)

    @device_helper
    def of_atom(values: Any) -> OfAtom:
        return OfAtom(**dict(zip(names, values, strict=True)))

    def neighbour_sum(one: Any) -> Any:
        place = names.index(one.writes[0])

        @computed_in(term)
        def found_by(i, lane, g: ti.template()):
            """What every `lanes`-th entry of atom i gives, from `lane` on."""
            rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
            x = rows.pos[i]
            a = look.kind_of(rows.kind, i)
            mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
            shared = look.read_pair(g.kept.pair_table, 0)
            total = empty_sums(1)
            for k in range((rows.count[i] - lane + lanes - 1) // lanes):
                s = lane + lanes * k
                _, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
                p = look.pair_parameters(g.kept.pair_table, shared, a, b)
                if r2 < p.cutoff * p.cutoff:
                    j = look.neighbour_of(i, s, n, width, shift_bits, rows)
                    theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
                    with_term(total, 1, 0, one.function(ti.sqrt(r2), p, of_atom(mine), of_atom(theirs)))
            return total

        @ti.func
        def run(
            g: ti.template(), want: ti.template(), first: ti.template(), out: ti.template(),
            control: ti.template(), frozen, always: ti.template()
        ):  # fmt: skip
            for thread in range(g.pairs_end):
                i = thread // lanes
                does = i < g.n and control[frozen] == 0 and (ti.static(always) or g.stepping == 1)
                found = empty_sums(1)
                if does:
                    found = found_by(i, thread % lanes, g)
                total = across(found, 1, lanes)
                if does and thread % lanes == 0:
                    g.own[place][i] = ti.cast(total[0], real)

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
        def of_one(
            i, g: ti.template(), want: ti.template(), first: ti.template(), out: ti.template(),
            control: ti.template()
        ):  # fmt: skip
            mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
            found = evaluate(i, mine, g, control)
            for k in ti.static(range(len(places))):
                g.own[places[k]][i] = ti.cast(found[k + 1], real)
            if ti.static(want == ALL):
                add(i, ti.cast(found[0], real), first, out)

        @ti.func
        def run(
            g: ti.template(), want: ti.template(), first: ti.template(), out: ti.template(),
            control: ti.template(), frozen, always: ti.template()
        ):  # fmt: skip
            for i in range(g.n):
                if control[frozen] == 0 and (ti.static(always) or g.stepping == 1):
                    of_one(i, g, want, first, out, control)

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
    def forces_by(i, lane, many: ti.template(), g: ti.template(), want: ti.template()):
        """Sums of force, energy and virial that every `many`-th entry of atom i gives, from `lane` on."""
        rows, n, width, shift_bits = g.near, g.n, g.near.width, g.near.shift_bits
        x = rows.pos[i]
        a = look.kind_of(rows.kind, i)
        mine = [ti.cast(g.own[k][i], term) for k in ti.static(range(count))]
        shared = look.read_pair(g.kept.pair_table, 0)
        terms = ti.static(TERMS[FORCE] if want == FORCE else TERMS[ALL])
        total = empty_sums(terms)
        for k in range((rows.count[i] - lane + many - 1) // many):
            s = lane + many * k
            d, r2, b = look.visit(i, s, x, n, width, shift_bits, rows)
            p = look.pair_parameters(g.kept.pair_table, shared, a, b)
            if r2 < p.cutoff * p.cutoff:
                j = look.neighbour_of(i, s, n, width, shift_bits, rows)
                theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
                r = ti.sqrt(r2)
                u, to_mine, to_theirs = function(r, p, of_atom(mine), of_atom(theirs))
                e = d / r
                for q in ti.static(range(3)):
                    with_term(total, terms, q, (to_mine + to_theirs) * e[q])
                if ti.static(want != FORCE):
                    with_term(total, terms, 3, u)
                    for q in ti.static(range(9)):
                        with_term(total, terms, ti.static(4 + q), -to_theirs * d[q // 3] * e[q % 3])
        return total

    @ti.func
    def of_forces(
        first: ti.template(), g: ti.template(), out: ti.template(), control: ti.template(), frozen,
        want: ti.template(), bath: ti.template()
    ):  # fmt: skip
        terms = ti.static(TERMS[FORCE] if want == FORCE else TERMS[ALL])
        # Sums of virials count that neighbouring threads have neighbouring atoms.
        many = ti.static(lanes if want in (FORCE, ALL) else 1)
        for thread in range(g.pairs_end if ti.static(many > 1) else g.n):
            i = thread // many
            does = i < g.n and control[frozen] == 0
            found = empty_sums(terms)
            if does:
                found = forces_by(i, thread % many, many, g, want)
            total = ti.cast(across(found, terms, many), real)
            if does and thread % many == 0:
                f, w = ti.Vector([total[q] for q in ti.static(range(3))]), ti.Matrix.zero(real, 3, 3)
                if ti.static(want != FORCE):
                    for q in ti.static(range(9)):
                        w[q // 3, q % 3] = total[4 + q]
                store(i, g.n, f, w, out, want, bath)
                if ti.static(want == ALL):
                    add(i, total[3], first, out)

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
            runs[k](g, want, ti.static(begins[k]), out, control, frozen, ti.static(always[k]))
        if ti.static(has_forces):
            of_forces(ti.static(begins[-1]), g, out, control, frozen, want, bath)
        else:
            nothing(g, out, control, frozen, want, ti.static(not knowing))

    @ti.func
    def cut(g: ti.template(), most_drift2, control: ti.template(), cells: ti.template()):
        pruning.prune(g, most_drift2, control, cells)

    return GroupFunctions(cut, pruning.unfit, cutters, all_stages)
