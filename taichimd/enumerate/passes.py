"""Terms of passes: loops over atoms, one after the other, which keep numbers with each atom.

An embedded-atom potential is three of them: densities, a sum over neighbours; the slope of the embedding
energy, for each atom; forces of pairs, which need both slopes. With partial derivatives of the energies of
both atoms,

    F_i = sum_j (dU_i/dr_ij + dU_j/dr_ij) r_ij/|r_ij|,   W_i = -sum_j dU_j/dr_ij r_ij (x) r_ij/|r_ij|,

which is Fan et al., Comput. Phys. Commun. 218, 10 (2017), eqs. 28 and 30, for energies that know distances
alone. Sums are exact (`reproducible_sum`): on a GPU threads side by side share an atom (`threads_per_atom`),
with the bits of one thread. By tuple decomposition a loop over pairs comes before each of these loops
(`tuple_passes`).
"""

from typing import Any

from taichimd.core.arguments import View, device_helper
from taichimd.core.runtime import computed_in, ti
from taichimd.enumerate.access import access, store_matrix
from taichimd.enumerate.group import VALUES, GroupFunctions, TermGroup
from taichimd.enumerate.parameters import columns_of
from taichimd.enumerate.reproducible_sum import ALL, FORCE, TERMS, empty_sums, store_function, with_term
from taichimd.enumerate.row_sums import across
from taichimd.enumerate.terms import EACH_ATOM, NEIGHBOUR_SUM, PAIR_FORCES, LookUp, Passes, takes_row
from taichimd.enumerate.tuple_lists import tuple_lists_function
from taichimd.enumerate.tuple_passes import member_function, pair_function
from taichimd.enumerate.visits import visit_function
from taichimd.neighbours.control import Control
from taichimd.neighbours.prune import prune_functions, threads_of_cut
from taichimd.neighbours.rows import row_layout
from taichimd.neighbours.tuple_arrays import pairs_end


class OfAtom(View):
    """The numbers of an atom, as attributes."""


def joins(program: Passes, number: int) -> bool:
    """Whether a pass over atoms joins the loop before it: it writes nothing that another atom's sum reads."""
    if not 0 < number < len(program.passes):
        return False
    before, one = program.passes[number - 1 : number + 1]
    if (before.kind, one.kind) != (NEIGHBOUR_SUM, EACH_ATOM) or before.each_step != one.each_step:
        return False
    read = {name for earlier in program.passes[:number] for name in earlier.writes}
    return not read.union(program.state).intersection(one.writes)


def passes_functions(group: TermGroup, variant: Any, thermostat: Any, box: Any) -> GroupFunctions:
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
    by_tuple = group.by_tuple.pairs
    list_tuples = tuple_lists_function(group, real, term, backend) if by_tuple else None

    @device_helper
    def of_atom(values: Any) -> OfAtom:
        return OfAtom(**dict(zip(names, values, strict=True)))

    def pairs_and_members(numbers: Any, of_pair: Any, add: Any) -> tuple[Any, Any]:
        """A loop over pairs, and what visits their members afterwards."""
        leave = pair_function(look, term, count, numbers, of_pair)

        @ti.func
        def run(g: ti.template(), control: ti.template(), frozen, always: ti.template(), how: ti.template()):
            for pair in range(pairs_end(g.n, g.tuples)):
                if control[frozen] == 0 and (ti.static(always) or g.stepping == 1):
                    leave(pair, g.kept.pair_table, g, how)

        return run, member_function(term, numbers, add)

    def neighbour_sum(one: Any, then: Any) -> Any:
        """Loop over atoms that stores a sum over neighbours; `then`, if any, is the pass over atoms after."""
        place = names.index(one.writes[0])

        @computed_in(term)
        def add_term(sums: ti.template(), j, d, r2, p, mine, g: ti.template(), how: ti.template()):
            theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
            with_term(sums, 1, 0, one.function(ti.sqrt(r2), p, of_atom(mine), of_atom(theirs)))

        @computed_in(term)
        def of_pair(r, p, q, mine, theirs, how: ti.template()):
            return ti.Vector(
                [
                    one.function(r, p, of_atom(mine), of_atom(theirs)),
                    one.function(r, q, of_atom(theirs), of_atom(mine)),
                ]
            )

        @computed_in(term)
        def add_member(sums: ti.template(), d, r2, values, how: ti.template()):
            with_term(sums, 1, 0, values[0])

        evaluate, visits = None, visit_function(look, term, count, True, add_term)
        if by_tuple:
            evaluate, visits = pairs_and_members(lambda how: 1, of_pair, add_member)

        @ti.func
        def store_sum(
            thread, table: ti.template(), g: ti.template(), want: ti.template(), first: ti.template(),
            out: ti.template(), control: ti.template(), frozen, always: ti.template()
        ):  # fmt: skip
            i = thread // lanes
            does = i < g.n and control[frozen] == 0 and (ti.static(always) or g.stepping == 1)
            found = empty_sums(1)
            if does:
                visits(i, thread % lanes, lanes, table, g, found, FORCE)
            total = across(found, 1, lanes)
            if does and thread % lanes == 0:
                g.own[place][i] = ti.cast(total[0], real)
                if ti.static(bool(then)):
                    then(i, g, want, first, out, control)

        @ti.func
        def run(
            g: ti.template(), want: ti.template(), first: ti.template(), out: ti.template(),
            control: ti.template(), frozen, always: ti.template()
        ):  # fmt: skip
            if ti.static(bool(evaluate)):
                evaluate(g, control, frozen, always, FORCE)
            for thread in range(g.pairs_end):
                store_sum(thread, g.kept.pair_table, g, want, first, out, control, frozen, always)

        return run

    def of_one_atom(one: Any) -> Any:
        """What a pass over atoms does with one atom."""
        places = [names.index(name) for name in one.writes]
        with_row = takes_row(one.function)
        within = [(names.index(name), curve) for name, curve in one.within] if isinstance(one, LookUp) else []

        @device_helper
        def beyond(mine: Any, p: Any, k: int) -> Any:
            """Intervals by which a number is beyond the last point of its curve."""
            place, curve = within[k]
            _, nodes, first, inverse = (
                getattr(p, column) for column in columns_of(curve, group.terms.passes.columns)
            )
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
        def found_without_row(i, mine, g: ti.template(), control: ti.template()):
            return one.function(of_atom(mine))

        evaluate = found_with_row if with_row else found_without_row

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

        return of_one

    def each_atom(one: Any) -> Any:
        of_one = of_one_atom(one)

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
    def add_pair(sums: ti.template(), d, r, values, want: ti.template()):
        """Force of a pair of dU_i/dr + dU_j/dr, and, if wanted, virial and energy of dU_j/dr and u."""
        terms = ti.static(TERMS[FORCE] if want == FORCE else TERMS[ALL])
        inverse = 1.0 / r
        force = (values[0] * inverse) * d
        for q in ti.static(range(3)):
            with_term(sums, terms, q, force[q])
        if ti.static(want != FORCE):
            with_term(sums, terms, 3, values[2])
            f = (-values[1] * inverse) * d
            for q in ti.static(range(9)):
                with_term(sums, terms, ti.static(4 + q), d[q // 3] * f[q % 3])

    @computed_in(term)
    def add_force(sums: ti.template(), j, d, r2, p, mine, g: ti.template(), want: ti.template()):
        r = ti.sqrt(r2)
        theirs = [ti.cast(g.own[k][j], term) for k in ti.static(range(count))]
        u, to_mine, to_theirs = function(r, p, of_atom(mine), of_atom(theirs))
        add_pair(sums, d, r, [to_mine + to_theirs, to_theirs, u], want)

    def numbers_of_forces(want: int) -> int:
        return 1 if want == FORCE else VALUES

    @computed_in(term)
    def forces_of_pair(r, p, q, mine, theirs, want: ti.template()):
        u, to_mine, to_theirs = function(r, p, of_atom(mine), of_atom(theirs))
        found = ti.Vector.zero(term, ti.static(2 * numbers_of_forces(want)))
        found[0] = found[ti.static(numbers_of_forces(want))] = to_mine + to_theirs
        if ti.static(want != FORCE):
            other, _to_mine, _to_theirs = function(r, q, of_atom(theirs), of_atom(mine))
            found[1], found[2], found[4], found[5] = to_theirs, u, to_mine, other
        return found

    @computed_in(term)
    def add_member(sums: ti.template(), d, r2, values, want: ti.template()):
        add_pair(sums, d, ti.sqrt(r2), values, want)

    evaluate_forces, visit_forces = None, visit_function(look, term, count, True, add_force)
    if by_tuple:
        evaluate_forces, visit_forces = pairs_and_members(numbers_of_forces, forces_of_pair, add_member)

    @ti.func
    def store_forces(
        thread, many: ti.template(), table: ti.template(), first: ti.template(), g: ti.template(),
        out: ti.template(), control: ti.template(), frozen, want: ti.template(), bath: ti.template()
    ):  # fmt: skip
        terms = ti.static(TERMS[FORCE] if want == FORCE else TERMS[ALL])
        i = thread // many
        does = i < g.n and control[frozen] == 0
        found = empty_sums(terms)
        if does:
            visit_forces(i, thread % many, many, table, g, found, want)
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
    def of_forces(
        first: ti.template(), g: ti.template(), out: ti.template(), control: ti.template(), frozen,
        want: ti.template(), bath: ti.template()
    ):  # fmt: skip
        # Sums of virials count that neighbouring threads have neighbouring atoms.
        many = ti.static(lanes if want in (FORCE, ALL) else 1)
        if ti.static(bool(evaluate_forces)):
            evaluate_forces(g, control, frozen, True, want)
        for thread in range(g.pairs_end if ti.static(many > 1) else g.n):
            store_forces(thread, many, g.kept.pair_table, first, g, out, control, frozen, want, bath)

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

    loops = []
    for number, one in enumerate(program.passes):
        always = not one.each_step
        if one.kind == NEIGHBOUR_SUM and joins(program, number + 1):
            run = neighbour_sum(one, of_one_atom(program.passes[number + 1]))
            loops.append((run, begins[number + 1], always))
        elif one.kind == NEIGHBOUR_SUM:
            loops.append((neighbour_sum(one, None), False, always))
        elif one.kind == EACH_ATOM and not joins(program, number):
            loops.append((each_atom(one), begins[number], always))

    @ti.func
    def all_stages(
        g: ti.template(), out: ti.template(), control: ti.template(), frozen, want: ti.template(),
        bath: ti.template()
    ):  # fmt: skip
        for k in ti.static(range(len(loops))):
            loops[k][0](g, want, ti.static(loops[k][1]), out, control, frozen, ti.static(loops[k][2]))
        if ti.static(has_forces):
            of_forces(ti.static(begins[-1]), g, out, control, frozen, want, bath)
        else:
            nothing(g, out, control, frozen, want, ti.static(not knowing))

    @ti.func
    def cut(g: ti.template(), most_drift2, control: ti.template(), cells: ti.template()):
        pruning.prune(g, most_drift2, control, cells)
        if ti.static(bool(list_tuples)):
            list_tuples(g, control)

    return GroupFunctions(cut, pruning.unfit, cutters, all_stages)
