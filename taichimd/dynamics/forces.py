"""Forces as an integrator asks for them: which enumeration does which term, in which order.

`first_pass` holds its own loops over atoms or tuples. Pair terms are then done; three-body terms have left partial forces,
which `gathered` adds up for one atom, in a loop of the caller's. `cut` comes before: lists that are fit for the positions.
"""

import functools
from types import SimpleNamespace
from typing import Any

from taichimd.enumerate.all_pairs import all_pairs_function
from taichimd.enumerate.compact import BLOCK
from taichimd.enumerate.exact import ALL, FORCE, pair_sums, symmetric
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.lanes import shared_pairs
from taichimd.enumerate.moments import moment_functions
from taichimd.enumerate.tuple_lists import tuple_lists_function
from taichimd.enumerate.tuples import pair_tuples, triplet_tuples
from taichimd.forcefields.terms import ByTuple, Terms
from taichimd.neighbours.prune import prune_functions, threads_of_cut
from taichimd.neighbours.rows import Rows, body_layout, row_layout
from taichimd.neighbours.tuple_arrays import pair_width
from taichimd.runtime import ti


def force_functions(
    terms: Terms,
    real: Any,
    term: Any,
    backend: str,
    all_pairs: bool,
    near_list: bool,
    lanes: int,
    by_tuple: ByTuple,
    thermostat: Any,
    cell: bool,
    driven: bool,
    straight: bool,
    full: bool,
) -> Any:
    """Device functions `cut`, `first_pass`, `in_lanes` and `gathered`, and what their callers must know.

    That is `cutters`: threads of an atom in `cut`; `both`: pair and three-body terms are done apart; `helped`: of these,
    `in_lanes` does the pairs before `gathered`; `apart`: `gathered` reads positions, so that the loop that calls it must not
    change them; `force_of`: for pairs alone, the force that threads of an atom find together, or None.

    Args:
        terms: the tuple functions.
        real: ti.f64 or ti.f32, of positions, velocities, forces.
        term: the same or ti.f32, of what is computed from distances.
        backend: "cuda" or "cpu".
        all_pairs: visit all pairs instead of neighbours.
        near_list: whether force loops read a near list or the Verlet list itself.
        lanes: threads that share an atom of a pair potential.
        by_tuple: the terms of tuple decomposition.
        thermostat: functions of what acts on atoms and cell; takes the sums of virials.
        cell: whether the cell moves.
        driven: whether there is a driving force.
        straight: whether unrolled code may be used (`gather_functions`).
        full: whether there are more atoms than a GPU does at a time.
    """
    on_gpu = backend == "cuda"
    many_body = terms.many_body
    in_moments = terms.angle is not None and not by_tuple.bodies
    functions = moment_functions if in_moments else functools.partial(gather_functions, straight=straight)
    # A short three-body term reads the near list, the pair term then one of its own.
    both = terms.short_body or (by_tuple.pairs and many_body)
    of_pairs, of_bodies = terms.alone if both else (terms, terms)
    atom = functions(of_bodies, real, term, body_layout(backend) if many_body else row_layout(backend))
    far = gather_functions(of_pairs, real, term, row_layout(backend)) if both else None
    by_lanes = lanes > 1 and (both or not many_body)
    shared = shared_pairs(of_pairs, real, term, lanes) if by_lanes and not by_tuple.pairs else None
    pair_list = pair_tuples(of_pairs, real, term, on_gpu) if by_tuple.pairs else None
    triplet_list = triplet_tuples(of_bodies, real, term, body_layout(backend)) if by_tuple.bodies else None
    list_tuples = tuple_lists_function(terms, by_tuple, real, term, backend) if by_tuple else None
    visit_all = all_pairs_function(terms, real, term, backend) if all_pairs else None
    sums = pair_sums(real)
    # Threads that share an atom do its pairs beforehand.
    helped = both and by_lanes
    # Both terms have a near list of their own.
    pair_rows = both and not by_tuple.pairs
    with_reverse = many_body and not in_moments
    cutters = threads_of_cut(backend, has_pairs=both or not many_body)
    pruning = prune_functions(
        terms.n_kinds, backend, many_body, with_reverse, thermostat, cell, cutters, pair_rows
    )

    @ti.func
    def pairs_of(i, n, width, shift_bits, rows: ti.template(), table: ti.template(), t: ti.template(), want: ti.template()):  # fmt: skip
        """Sums over the pairs of atom i, from its row or from its list of pairs."""
        total = sums.empty(want)
        if ti.static(by_tuple.pairs):
            total = pair_list.pairs(i, 0, 1, n, shift_bits, rows, table, t, want)
        elif ti.static(pair_rows):
            total = far.pairs(i, 0, 1, n, pair_width(n, t), shift_bits, Rows(rows.pos, rows.kind, t.firsts, t.tuples, rows.shifts), table, want)  # fmt: skip
        else:
            total = atom.pairs(i, 0, 1, n, width, shift_bits, rows, table, want)
        return total

    @ti.func
    def in_lanes(n, width, shift_bits, rows: ti.template(), table: ti.template(), energy: ti.template(), force: ti.template(), virial: ti.template(), control: ti.template(), frozen, t: ti.template(), ends: ti.template()):  # fmt: skip
        """Forces of pairs where several threads share an atom."""
        if ti.static(by_tuple.pairs):
            pair_list.add_up(n, shift_bits, rows, table, energy, force, virial, control, frozen, t)
        elif ti.static(pair_rows):
            shared.forces(n, ends.pairs, pair_width(n, t), shift_bits, Rows(rows.pos, rows.kind, t.firsts, t.tuples, rows.shifts), table, energy, force, virial, control, frozen)  # fmt: skip
        else:
            shared.forces(n, ends.pairs, width, shift_bits, rows, table, energy, force, virial, control, frozen)  # fmt: skip

    @ti.func
    def first_pass(n, width, shift_bits, rows: ti.template(), kept: ti.template(), energy: ti.template(), force: ti.template(), virial: ti.template(), control: ti.template(), frozen, want: ti.template(), ledger: ti.template(), bath: ti.template(), t: ti.template(), ends: ti.template()):  # fmt: skip
        """Partial forces of many-body terms; or, for pairs alone, forces and what is wanted besides."""
        if ti.static(bool(pair_list)):
            if ti.static(want == FORCE or not (both or want == ALL)):
                pair_list.evaluate(n, shift_bits, rows, kept.pair_table, control, frozen, t)
        if ti.static(bool(triplet_list)):
            triplet_list.partials(n, width, shift_bits, rows, kept, energy, control, frozen, t, want)
        elif ti.static(all_pairs):
            visit_all(n, rows.pos, rows.kind, rows.shifts, kept.pair_table, energy, force, virial, control, frozen, want)  # fmt: skip
        elif ti.static(by_lanes and not both and want == FORCE):
            in_lanes(n, width, shift_bits, rows, kept.pair_table, energy, force, virial, control, frozen, t, ends)  # fmt: skip
        else:
            if ti.static(on_gpu and full and atom.compact):
                ti.loop_config(block_dim=BLOCK)
            for i in range(n):
                if control[frozen] == 0:
                    if ti.static(many_body):
                        e = atom.partials(i, n, width, shift_bits, rows, kept, ti.static(want == ALL))
                        if ti.static(want == ALL):
                            energy[i] = e
                    else:
                        total = pairs_of(i, n, width, shift_bits, rows, kept.pair_table, t, want)
                        sums.store(i, total, energy, force, virial, want)
                        if ti.static(driven and want != ALL):
                            force[i] += thermostat.drive(symmetric(sums.virial(total, want)), bath)
                        elif ti.static(want != ALL and want != FORCE):
                            thermostat.add_components(i, n, sums.virial(total, want), ledger)

    @ti.func
    def gathered(i, n, width, near_width, shift_bits, verlet: ti.template(), near: ti.template(), kept: ti.template(), force: ti.template(), t: ti.template(), want: ti.template()):  # fmt: skip
        """Force and virial of atom i after the first pass; energy of pairs that are added here."""
        f, w = atom.gather(i, n, near_width, shift_bits, near, kept, want)
        e = ti.cast(0.0, real)
        if ti.static(helped and not want):
            f += force[i]
        elif ti.static(both):
            total = pairs_of(i, n, width, shift_bits, verlet, kept.pair_table, t, ti.static(ALL if want else FORCE))  # fmt: skip
            f_pairs, e, w_pairs = sums.results(total, ti.static(ALL if want else FORCE))
            f += f_pairs
            w += w_pairs
        return f, w, e

    @ti.func
    def cut(n, width, near_width, shift_bits, most_drift2, verlet: ti.template(), near: ti.template(), kept: ti.template(), ident: ti.template(), limits2: ti.template(), places: ti.template(), control: ti.template(), bath: ti.template(), t: ti.template(), ends: ti.template()):  # fmt: skip
        if ti.static(near_list):
            pruning.prune(n, width, near_width, shift_bits, most_drift2, verlet, near, kept.reverse, ident, limits2, places, control, bath, t, ends)  # fmt: skip
            if ti.static(bool(list_tuples)):
                list_tuples(n, width, near_width, shift_bits, verlet, near, limits2, places, kept.body_table, control, t)  # fmt: skip
            pruning.close(near_width, control, bath)

    return SimpleNamespace(
        cut=cut, cutters=cutters, first_pass=first_pass, in_lanes=in_lanes, gathered=gathered, both=both, helped=helped,
        apart=in_moments or both, force_of=shared.force_of if shared and not both else None,
    )  # fmt: skip
