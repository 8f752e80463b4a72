"""Forces as an integrator asks for them: which enumeration does which term of a group, in which order.

`first_stage` holds its own loops over atoms or tuples. Pair terms are then done; three-body terms have left
partial forces, which `gathered` adds up for one atom, in a loop of the caller's. `cut` comes before: lists
that are fit for the positions.
"""

import functools
from typing import Any

from taichimd.core.arguments import device_helper
from taichimd.core.runtime import fills_device, ti
from taichimd.enumerate.all_pairs import all_pairs_function
from taichimd.enumerate.bond_order_registers import BLOCK
from taichimd.enumerate.coordination_tuples import coordination_tuples
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.group import GroupFunctions, TermGroup
from taichimd.enumerate.moments import moment_functions
from taichimd.enumerate.pair_runs import run_function
from taichimd.enumerate.reproducible_sum import ALL, FORCE, pair_sums, store_function, symmetric
from taichimd.enumerate.threads_per_atom import shared_pairs
from taichimd.enumerate.tuple_lists import tuple_lists_function
from taichimd.enumerate.tuples import pair_tuples, triplet_tuples
from taichimd.neighbours.prune import prune_functions, threads_of_cut
from taichimd.neighbours.rows import ATOM_MAJOR, Rows, body_layout, row_layout
from taichimd.neighbours.tuple_arrays import pair_width
from taichimd.program.variant import Variant

TWO_LOOPS = ("cuda",)
"""Backends on which partial forces of atoms with many neighbours have a loop of their own."""


@device_helper
def rows_of_pairs(g: Any) -> Rows:
    """The near list of a pair term alone, at the compilation of a kernel."""
    return Rows(g.verlet.pos, g.verlet.kind, g.tuples.firsts, g.tuples.tuples, g.verlet.shifts)


def force_functions(
    group: TermGroup, variant: Variant, thermostat: Any, box: Any, straight: bool
) -> GroupFunctions:
    """Device functions of a group of terms on lists; `straight`: unrolled code may be used."""
    real, term, backend, driven = variant.real, variant.term, variant.backend, variant.coupling.driven
    terms, lanes, by_tuple, separate = (
        group.terms,
        group.threads_per_atom,
        group.by_tuple,
        group.pairs_after_bodies,
    )
    on_gpu, full = variant.on_gpu, fills_device(variant.blocks)
    many_body, in_moments, pair_rows = terms.many_body, group.in_moments, group.pair_rows
    functions = moment_functions if in_moments else functools.partial(gather_functions, straight=straight)
    of_pairs, of_bodies = terms.separate if separate else (terms, terms)
    atom = functions(of_bodies, real, term, body_layout(backend) if many_body else row_layout(backend))
    far = gather_functions(of_pairs, real, term, row_layout(backend)) if separate else None
    in_runs = bool(of_pairs.pair) and row_layout(backend) == ATOM_MAJOR and (separate or not many_body)
    runs = run_function(of_pairs, real, term) if in_runs else None
    by_lanes = lanes > 1 and (separate or not many_body)
    shared = shared_pairs(of_pairs, real, term, lanes) if by_lanes and not by_tuple.pairs else None
    pair_list = pair_tuples(of_pairs, real, term, on_gpu) if by_tuple.pairs else None
    around = coordination_tuples(of_bodies, term, body_layout(backend)) if terms.coordination else None
    of_triplets = by_tuple.bodies and not terms.coordination
    triplet_list = triplet_tuples(of_bodies, real, term, body_layout(backend)) if of_triplets else None
    list_tuples = tuple_lists_function(group, real, term, backend) if by_tuple else None
    visit_all = all_pairs_function(terms, real, term, backend) if group.all_pairs else None
    sums, store = pair_sums(real), store_function(thermostat, driven)
    # Threads that share an atom do its pairs beforehand.
    pairs_beforehand = separate and by_lanes
    with_reverse = many_body and not in_moments
    # On a full device atoms with many neighbours, each of which keeps a warp busy, get warps of their own.
    many_wait = backend in TWO_LOOPS and full and not in_moments and bool(atom.of_few)
    cutters = threads_of_cut(backend, has_pairs=separate or not many_body)
    pruning = prune_functions(
        terms.n_kinds, backend, many_body, with_reverse, box, cutters, pair_rows, group.number
    )

    @ti.func
    def pairs_of(i, g: ti.template(), rows: ti.template(), want: ti.template()):
        """Sums over the pairs of atom i, from its row or from its list of pairs."""
        total = sums.empty(want)
        if ti.static(by_tuple.pairs):
            total = pair_list.pairs(i, 0, 1, g.n, g.near.shift_bits, rows, g.kept.pair_table, g.tuples, want)
        elif ti.static(in_runs and pair_rows):
            total = runs(
                i, g.n, pair_width(g.n, g.tuples), g.near.shift_bits, rows_of_pairs(g), g.kept.pair_table,
                want
            )  # fmt: skip
        elif ti.static(in_runs):
            total = runs(i, g.n, rows.width, g.near.shift_bits, rows, g.kept.pair_table, want)
        elif ti.static(pair_rows):
            total = far.pairs(
                i, 0, 1, g.n, pair_width(g.n, g.tuples), g.near.shift_bits, rows_of_pairs(g),
                g.kept.pair_table, want
            )  # fmt: skip
        else:
            total = atom.pairs(i, 0, 1, g.n, rows.width, g.near.shift_bits, rows, g.kept.pair_table, want)
        return total

    @ti.func
    def in_lanes(g: ti.template(), rows: ti.template(), out: ti.template(), control: ti.template(), frozen):
        """Forces of pairs where several threads share an atom."""
        if ti.static(by_tuple.pairs):
            pair_list.add_up(
                g.n, g.near.shift_bits, rows, g.kept.pair_table, out.energy, out.force, out.virial, control,
                frozen, g.tuples
            )  # fmt: skip
        elif ti.static(pair_rows):
            shared.forces(
                g.n, g.pairs_end, pair_width(g.n, g.tuples), g.near.shift_bits, rows_of_pairs(g),
                g.kept.pair_table, out.energy, out.force, out.virial, control, frozen
            )  # fmt: skip
        else:
            shared.forces(
                g.n, g.pairs_end, rows.width, g.near.shift_bits, rows, g.kept.pair_table, out.energy,
                out.force, out.virial, control, frozen
            )  # fmt: skip

    @ti.func
    def first_stage(
        g: ti.template(), out: ti.template(), control: ti.template(), frozen, want: ti.template(),
        bath: ti.template()
    ):  # fmt: skip
        """Partial forces of many-body terms; or, for pairs alone, forces and what is wanted besides."""
        if ti.static(by_tuple.pairs):
            if ti.static(want == FORCE or not (separate or want == ALL)):
                pair_list.evaluate(
                    g.n, g.near.shift_bits, g.near, g.kept.pair_table, control, frozen, g.tuples
                )
        if ti.static(by_tuple.bodies and bool(around)):
            around(g, out.energy, control, frozen, want)
        elif ti.static(by_tuple.bodies):
            triplet_list.partials(
                g.n, g.near.width, g.near.shift_bits, g.near, g.kept, out.energy, control, frozen, g.tuples,
                want
            )  # fmt: skip
        elif ti.static(group.all_pairs):
            visit_all(
                g.n, g.near.pos, g.near.kind, g.near.shifts, g.kept.pair_table, out.energy, out.force,
                out.virial, control, frozen, want
            )  # fmt: skip
        elif ti.static(by_lanes and not separate and want == FORCE):
            in_lanes(g, g.near, out, control, frozen)
        elif ti.static(group.lanes_share_moments and want == FORCE):
            for thread in range(g.pairs_end):
                does = thread < g.n * lanes and control[frozen] == 0
                atom.shared.partials(thread, does, g.n, g.near.width, g.near.shift_bits, g.near, g.kept)
        else:
            if ti.static(on_gpu and many_wait):
                ti.loop_config(block_dim=BLOCK)
            for i in range(g.n):
                if control[frozen] == 0:
                    if ti.static(many_wait and want != ALL):
                        atom.of_few(i, g.n, g.near.width, g.near.shift_bits, g.near, g.kept)
                    elif ti.static(many_body):
                        e = atom.partials(
                            i, g.n, g.near.width, g.near.shift_bits, g.near, g.kept, ti.static(want == ALL)
                        )
                        if ti.static(want == ALL):
                            out.energy[i] = e
                    else:
                        total = pairs_of(i, g, g.near, want)
                        sums.store(i, total, out.energy, out.force, out.virial, want)
                        if ti.static(driven and want != ALL):
                            out.force[i] += thermostat.drive(i, symmetric(sums.virial(total, want)), bath)
                        elif ti.static(want != ALL and want != FORCE):
                            thermostat.add_components(i, g.n, sums.virial(total, want), bath)
            if ti.static(many_wait and want != ALL):
                for k in range(g.n):
                    if k < g.kept.waiting[g.n] and control[frozen] == 0:
                        atom.of_many(k, g.n, g.near.width, g.near.shift_bits, g.near, g.kept)

    @ti.func
    def gathered(i, g: ti.template(), force: ti.template(), want: ti.template()):
        """Force and virial of atom i after the first pass; energy of pairs that are added here."""
        if ti.static(many_wait):
            if i == 0:
                g.kept.waiting[g.n] = 0
        f, w = atom.gather(i, g.n, g.near.width, g.near.shift_bits, g.near, g.kept, want)
        e = ti.cast(0.0, real)
        if ti.static(pairs_beforehand and not want):
            f += force[i]
        elif ti.static(separate):
            total = pairs_of(i, g, g.verlet, ti.static(ALL if want else FORCE))
            f_pairs, e, w_pairs = sums.results(total, ti.static(ALL if want else FORCE))
            f += f_pairs
            w += w_pairs
        return f, w, e

    @ti.func
    def gathered_together(thread, does, g: ti.template()):
        """Force on the atom that a thread shares, after the first pass. All threads of a warp call it."""
        return atom.shared.gather(thread, does, g.n, g.near.width, g.near.shift_bits, g.near, g.kept)

    @ti.func
    def all_stages(
        g: ti.template(), out: ti.template(), control: ti.template(), frozen, want: ti.template(),
        bath: ti.template()
    ):  # fmt: skip
        """Forces of all atoms and, with `ALL`, energies and virials; without, the bath gets the virial."""
        first_stage(g, out, control, frozen, want, bath)
        if ti.static(pairs_beforehand and want == FORCE):
            in_lanes(g, g.verlet, out, control, frozen)
        if ti.static(many_body):
            for i in range(g.n):
                if control[frozen] == 0:
                    f, w, e = gathered(i, g, out.force, ti.static(want != FORCE))
                    store(i, g.n, f, w, out, want, bath)
                    if ti.static(want == ALL and separate):
                        out.energy[i] += e

    @ti.func
    def cut(g: ti.template(), most_drift2, control: ti.template(), cells: ti.template()):
        pruning.prune(g, most_drift2, control, cells)
        if ti.static(bool(list_tuples)):
            list_tuples(g, control)

    return GroupFunctions(
        cut,
        pruning.unfit,
        cutters,
        all_stages,
        first_stage,
        in_lanes,
        gathered,
        force_of=shared.force_of if shared and group.lanes_find_force else None,
        gathered_together=gathered_together if group.lanes_share_moments else None,
        pairs_beforehand=pairs_beforehand,
    )
