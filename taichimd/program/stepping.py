"""Steps of any number of systems.

A system that diverges goes to `Systems.stop`: there one system raises, and the others of a batch continue.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError, TaichimdError
from taichimd.ensembles.barostats.layout import RAN_AWAY
from taichimd.ensembles.groups.layout import SPENT
from taichimd.neighbours.control import NONE, Control
from taichimd.program import explosion
from taichimd.program.batchable import called
from taichimd.program.flips import flip_sheared
from taichimd.program.folds import fold_far_atoms
from taichimd.program.system import System
from taichimd.program.systems import Systems
from taichimd.system.checks import check_steps
from taichimd.system.folding import is_time, next_look


def advance(
    systems: Systems, n_steps: int, timestep: float, between: Sequence[Callable[[], None]] = ()
) -> None:
    """Integrate all systems that have not stopped, as `Engine.advance` does.

    `between`: each is called when so many steps are queued, before as many more are. `systems.step` tells how
    many of these runs were done: all, or those up to one that needed the host.
    """
    check_steps(n_steps, timestep)
    if n_steps == 0 or not systems.alive:
        return
    systems.forcefield.check_bounded()
    for ensemble in systems.baths.ensembles:
        ensemble.check_timestep(timestep)
    if systems.baths.groups is not None:
        systems.baths.groups.check_timestep(timestep)
    last = systems.step + n_steps
    if systems.drives is not None:
        systems.drives.check_time(systems.step, last, float(timestep))
        systems.drives.begin(systems.step, float(timestep), systems.device.measure_drives)
    systems.device.begin(float(timestep))
    while systems.step < last and systems.alive:
        flips = [k for k in systems.baths.flips(systems.step, float(timestep)) if k in systems.alive]
        if flips and flip_sheared(systems.state, systems.cells, flips, systems.pbc):
            systems.forget()
            systems.device.folded()
        folds = systems.alive if is_time(systems.step) else flips
        if folds:
            _fold(systems, folds)
        if systems.baths.coupling.deforms:
            _begin_deformation(systems, float(timestep))
        # A piece ends where atoms may be folded, cells flipped or momentum removed next: pieces do not
        # change the bits.
        end = min(next_look(systems.step), systems.baths.next_flips(systems.step, float(timestep)))
        removal = None if systems.drives is None else systems.drives.next_removal(systems.step)
        end = min(end, removal or end)
        between = between[: max(end - last, 0) // n_steps * systems.device.queues_runs(n_steps)]
        _advance(systems, min(end, last) - systems.step, float(timestep), between)
        if systems.step == removal:
            _remove_momentum(systems)


def _begin_deformation(systems: Systems, timestep: float) -> None:
    """Begin the deformations of cells that no action has come before."""
    began = False
    for number in systems.alive:

        def virial(number: int = number) -> Array:
            return np.asarray(systems.sums("totals")[number][2:].reshape(3, 3))

        began |= systems.baths.begin(number, systems.step, timestep, virial)
    if began:
        systems.forget()


def _advance(systems: Systems, n_steps: int, timestep: float, between: Sequence[Callable[[], None]]) -> None:
    """So many steps, and runs of as many, in which no atom is folded."""
    with systems.evaluating():
        systems.device.need_forces()
        systems.device.settle()
        systems.forget()
        for step, blown, failed in systems.device.steps(
            systems.step, n_steps, timestep, partial(_renew, systems), between
        ):
            systems.step = step
            for number, error in failed.items():
                _unsolved(systems, number, error)
            if blown == SPENT:
                _stop_spent(systems)
            elif blown != NONE:
                _diverged(systems, blown, timestep)
        if systems.baths.coupling.has_sources or systems.baths.coupling.drives.fails:
            _stop_spent(systems)
    systems.forget()


def _fold(systems: Systems, folds: list[int]) -> None:
    """Fold far atoms of these systems; drives that know places go with them."""
    if systems.drives is None:
        if fold_far_atoms(systems.state, systems.cells, folds):
            systems.forget()
            systems.device.folded()
        return
    before = systems.state.get("pos")
    systems.drives.before_folding(systems.device.measure_drives)
    if fold_far_atoms(systems.state, systems.cells, folds):
        systems.forget()
        by = systems.state.get("pos") - before
        for number in folds:
            systems.drives.folded(number, by[systems.state.parts[number]], systems.device.measure_drives)
        systems.device.folded()


def _remove_momentum(systems: Systems) -> None:
    """Take away the momentum of the systems whose turn it is."""
    assert systems.drives is not None
    new = {}
    for number in systems.alive:
        if systems.drives.removes(number, systems.step):
            part = systems.state.parts[number]
            x, v = systems.vectors("pos")[part], systems.vectors("vel")[part]
            new[number] = systems.drives.remove(
                number, systems.step, systems.masses[number], x, v, systems.still[number]
            )
    systems.set_vectors("vel", new)


def _renew(systems: Systems) -> None:
    """Bring lists up to date; a system with atoms on top of each other has diverged."""
    lists = systems.device.lists
    while True:
        try:
            systems.device.renew()
            return
        except StructureError as error:
            atom = lists.atom_too_close()
            number = systems.state.system_of(atom)
            told = str(error).removeprefix(f"{called(number)}: ").split(";")[0]
            first = int(systems.state.firsts[number])
            systems.stop(number, explosion.exploded(systems.step, told, atom - first), error)


def _unsolved(systems: Systems, number: int, error: TaichimdError) -> None:
    """Stop a system whose charges were not found in the last step; raises the error if it has stopped."""
    if number in systems.stopped:
        raise error
    systems.forget()
    systems.stop(number, error)


def _stop_spent(systems: Systems) -> None:
    """Stop the systems with a sink that takes more energy than its atoms have, or an atom behind a wall."""
    before = len(systems.stopped)
    if systems.baths.groups is not None:
        for number, (step, what) in systems.baths.groups.take_failures().items():
            systems.stop(number, explosion.spent(step, what))
    behind = None if systems.drives is None else systems.drives.take_failures()
    if behind is not None:
        number = systems.state.system_of(behind)
        atom = behind - int(systems.state.firsts[number])
        systems.stop(number, explosion.behind_a_wall(systems.step, atom))
    if len(systems.stopped) > before:
        _go_on(systems)


@np.errstate(over="ignore", invalid="ignore")
def _diverged(systems: Systems, blown: int, timestep: float) -> None:
    """Stop the systems with an atom (`blown`, or of system k `RAN_AWAY - k`) or a cell that jumped."""
    systems.forget()
    most, state = systems.device.reach.most_step2, systems.state
    moves, x = timestep * systems.vectors("vel"), systems.vectors("pos")
    ran: set[int] = set()
    if systems.baths.moves_cell and (systems.step - 1) % systems.baths.coupling.period == 0:
        ran = set(systems.cells.run_away())
        moves = np.einsum("iac,ic->ia", systems.cells.read("drift")[state.system_of_atoms], moves)
    fine = ((moves * moves).sum(axis=1) <= most) & np.isfinite(x).all(axis=1)
    if blown <= RAN_AWAY:
        ran.add(RAN_AWAY - blown)
    else:
        fine[blown] = False
    for number in sorted(ran | {systems.state.system_of(one) for one in np.flatnonzero(~fine).tolist()}):
        if number not in systems.stopped:
            atom = RAN_AWAY if number in ran else int(np.argmin(fine[state.parts[number]]))
            systems.stop(number, explosion.of_step(System(systems, number), atom, most**0.5))
    _go_on(systems)


def _go_on(systems: Systems) -> None:
    """No system that continues has diverged."""
    control = systems.device.lists.control
    seen = Control(control.to_numpy())
    seen.blown = NONE
    control.from_numpy(seen.values)
