"""Trial moves of single atoms, cell by cell of a board, with what each changes of the energy."""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Kernel, Number, View, kernel, types_of
from taichimd.core.math import log
from taichimd.core.runtime import ti
from taichimd.enumerate.reproducible_sum import empty_sums
from taichimd.enumerate.row_sums import across, from_first
from taichimd.neighbours.rows import NearRows, VerletRows, row_layout
from taichimd.sampling.block_moves import block_triples, of_block, open_room
from taichimd.sampling.block_room import BLOCK, Room, in_blocks, threads_of_cell
from taichimd.sampling.board_kernels import LAYOUT, SIZE, TURNS, Board, Colour, corner_of
from taichimd.sampling.local_energy import change_function
from taichimd.sampling.local_passes import embedded_change
from taichimd.sampling.local_terms import OTHER_CELLS, Local
from taichimd.sampling.proposals import trial_move
from taichimd.sampling.trials import SINGLE_MOVES, SWEEP
from taichimd.system.state import Atoms


class _Given(View):
    """What sums over neighbours read."""


@cache
def single_moves(terms: tuple[Local, ...], n_kinds: int, real: Any, term: Any, backend: str) -> Kernel:
    """Kernel: a trial move of each atom in the cells of one colour, one a thread, a warp, or a block."""
    layout, number = row_layout(backend), len(terms)
    shared, many = in_blocks(terms, backend), threads_of_cell(terms, backend)
    changes = []
    for one in terms:
        if shared and one.triple:
            changes.append(block_triples(one, n_kinds, real, layout))
        elif one.passes:
            changes.append(embedded_change(one.passes, n_kinds, real, term, layout))
        else:
            changes.append(change_function(one, n_kinds, real, term, layout, OTHER_CELLS))
    triples = [bool(one.triple) for one in terms]
    rows = tuple(NearRows.only("width", "count", "entries") for _ in terms)
    # Of triples: squares of the cutoff and of the product's cube, then strengths.
    tables = tuple(
        ArrayField("f64" if one.triple else "term", "numbers", "parameters of a term") for one in terms
    )
    taken = Atoms.only("n", "pos", "inverse_mass", "ident", "kind")
    places = Board.only("grid", "layout", "cell_of", "members", "starts", "gain", "accepted")

    @ti.func
    def change_of(i, group, lane, turn, x, y, colour, g: ti.template()):
        """The change of the energy by a move from x to y, in all threads, and how many terms took turns."""
        sums, turns = empty_sums(1), turn
        for k in ti.static(range(number)):
            if ti.static(shared and triples[k]):
                changes[k](sums, i, group, lane, turns % 2, x, y, colour, g, k)
                turns += 1
                if ti.static(sum(triples[k:]) > 1):
                    ti.simt.block.sync()
            else:
                changes[k](sums, i, lane, many, x, y, colour, g, k)
        change = ti.cast(0.0, ti.f64)
        if ti.static(shared):
            change = of_block(sums, group, lane, g.room)
        else:
            change = across(sums, 1, many)[0]
            if ti.static(many > 1):
                change = from_first(change)
        return change, turns

    @kernel(
        types_of(real, term), atoms=taken, verlet=VerletRows.only("shift_bits", "shifts"), rows=rows,
        tables=tables, board=places, threads=Number("i32", "of all systems"), turn=Number("i32",
        "which of the colours"), groups=Number("i32", "of threads that have a cell of a system at a time"),
        trials=SINGLE_MOVES, sweep=SWEEP, room=Room if shared else None
    )  # fmt: skip
    def move(atoms, verlet, rows, tables, board, threads, turn, groups, trials, sweep, room):
        g = _Given(atoms=atoms, verlet=verlet, rows=rows, tables=tables, board=board, room=room)
        if ti.static(shared):
            ti.loop_config(block_dim=BLOCK)
        for thread in range(threads):
            group, lane = thread // many, thread % many
            system, place, turns = group // groups, group % groups, 0
            first, size = board.layout[LAYOUT * system + TURNS + turn], board.layout[LAYOUT * system + SIZE]
            colour = Colour(first=first, last=first + size)
            if ti.static(shared):
                open_room(group, lane, room)
            while first >= 0 and place < size:
                cell = first + place
                gain, accepted = ti.cast(0.0, ti.f64), 0
                for m in range(board.starts[cell], board.starts[cell + 1]):
                    i = board.members[m]
                    if atoms.inverse_mass[i] > 0.0:
                        x, atom = atoms.pos[i], atoms.ident[i] - trials.firsts[system]
                        y, chance = trial_move(x, trials.most[system], trials.seeds[system], atom, sweep)
                        leaves = corner_of(y, system, board) - corner_of(x, system, board)
                        if leaves[0] == 0 and leaves[1] == 0 and leaves[2] == 0:
                            change, then = change_of(i, group, lane, turns, x, y, colour, g)
                            turns = then
                            if ti.cast(log(chance), ti.f64) < -trials.beta[system] * change:
                                # All threads of a cell write the same: each finds it in the next move.
                                atoms.pos[i] = y
                                gain += change
                                accepted += 1
                if lane == 0:
                    board.gain[cell] = gain
                    board.accepted[cell] = accepted
                place += groups

    return move
