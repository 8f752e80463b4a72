"""FIRE, driven by the host: steps are queued, and now and then looked at.

With the cell held, a batch of steps goes to the device at once. With a cell that relaxes the host takes part
in every step, by nine numbers of the virial; positions stay on the device, the list is built again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import ChargeError, RelaxationError, StructureError, TaichimdError
from taichimd.core.runtime import blocks_for, ti
from taichimd.program.results import require_finite
from taichimd.program.system import System
from taichimd.relaxation import kernels as k
from taichimd.relaxation.cell import CellFreedom

MAX_MOVE = 0.2
"""Angstrom that an atom may move in a step."""
BATCH, LAST_BATCH, NEAR_END = 10, 2, 3.0
"""Steps queued before the host looks; close to the end, where the largest force is below NEAR_END times its
bound: what is queued beyond the end is computed for nothing."""


@dataclass(frozen=True)
class Look:
    """Where a minimisation stands."""

    step: int  # steps done before the last configuration that was evaluated; all else is of that one
    energy: float  # eV
    largest_force: float  # eV/angstrom, of an atom that may move
    virial: Array  # (3, 3) eV
    volume: float | None  # angstrom^3; None unless periodic in three directions


class Fire:
    """Minimises the energy of atoms, or the enthalpy of atoms and cells, of each system by itself.

    Velocities are used up: they are zero at the start, and those of the minimisation after it.

    Args:
        members: all systems of one `Systems`, with the positions to start from.
        fmax: largest force on an atom of a relaxed structure, eV/angstrom.
        steps: most steps.
        fixed: of each system, (n,) which atoms keep their place; with a cell that relaxes, their place in it.
        cells: of each system; None holds all cells.

    Attributes:
        status: (systems,) what became of each. steps: (systems,) steps done.
        errors: of systems that have diverged; the others continue.
    """

    def __init__(
        self,
        members: Sequence[System],
        *,
        fmax: float,
        steps: int,
        fixed: Sequence[NDArray[np.bool_]],
        cells: Sequence[CellFreedom] | None = None,
    ) -> None:
        systems = members[0].systems
        self._members, self._systems, self._device, self._cells = members, systems, systems.device, cells
        self._free = [~np.asarray(held, bool) for held in fixed]
        state, n, count = systems.state, systems.state.n, systems.n_systems
        parts, pieces, groups = k.parts_of(state.sizes.tolist())
        self._arrays = arrays = k.Minimisation(
            count, pieces, groups, steps, fmax**2, ti.ndarray(ti.i32, parts.size), state.sorted_of,
            whose=ti.ndarray(ti.i32, n), deform=ti.ndarray(ti.f64, k.DEFORM_SIZE * count),
            sums=ti.ndarray(ti.f64, k.SUMS * (pieces + groups)), fire=ti.ndarray(ti.f64, k.FIRE_SIZE * count),
            tally=ti.ndarray(ti.i32, k.TALLY_SIZE * count),
        )  # fmt: skip
        arrays.parts.from_numpy(parts.ravel())
        whose = state.system_of_atoms
        arrays.whose.from_numpy(np.where(np.concatenate(self._free), whose, -1 - whose))
        self._deform = np.tile([*np.tile(np.eye(3).ravel(), 3), 0.0, 0.0, 0.0, 1.0], (count, 1))
        arrays.deform.from_numpy(self._deform.ravel())
        start = np.zeros((count, k.FIRE_SIZE))
        start[:, k.DT], start[:, k.ALPHA] = k.FIRST_DT, k.FIRST_ALPHA
        arrays.fire.from_numpy(start.ravel())
        arrays.tally.fill(0)
        lists = self._device.lists
        self._kernels = k.fire_kernels(state.real, lists.near_list, cells is not None, blocks_for(n))
        self.status = np.full(count, k.RUNNING)
        self.steps = np.zeros(count, int)
        self.errors: dict[int, TaichimdError] = {}
        self._force = np.full(count, np.inf)
        # Where a system is put that has diverged, if others continue.
        self._start = [(one.positions(), one.cell) for one in members] if count > 1 else []
        state.set("vel", np.zeros((n, 3)))
        self._device.jumped(True)

    @property
    def running(self) -> bool:
        """Whether there is something left to do."""
        return bool((self.status == k.RUNNING).any())

    @property
    def converged(self) -> NDArray[np.bool_]:
        """(systems,) whether forces, and the stress where the cell relaxes, are below their bounds."""
        return np.asarray(self.status == k.CONVERGED)

    def advance(self) -> list[Look]:
        """Some steps of each system, fewer if it ends before; errors of a single system are raised."""
        while True:
            try:
                return self._batch() if self._cells is None else self._step_with_cells(self._cells)
            except ChargeError as error:
                if error.system is None:
                    raise
                self._fail(error.system, error)
            except StructureError as error:
                number = self._systems.state.system_of(self._device.lists.atom_too_close())
                failed = RelaxationError(
                    f"the relaxation failed after {self.steps[number]} steps: {error}; start from a better "
                    "structure"
                )
                self._fail(number, failed, error)

    def _fail(self, number: int, error: TaichimdError, cause: Exception | None = None) -> None:
        """Stop a system that has diverged; raises the error if it is the only one."""
        if len(self.steps) == 1:
            raise error from cause
        self.errors[number], self.status[number] = error, k.NOT_FINITE
        tally = self._arrays.tally.to_numpy()
        tally[k.TALLY_SIZE * number + k.STATUS] = k.NOT_FINITE
        tally[k.TALLY_SIZE * number + k.GO] = 0
        self._arrays.tally.from_numpy(tally)
        positions, cell = self._start[number]
        self._systems.set_cells({number: cell})
        self._systems.set_vectors("pos", {number: positions})

    def _batch(self) -> list[Look]:
        device, lists = self._device, self._device.lists
        most = NEAR_END**2 * self._arrays.most_force2
        near = bool((self._force[self.status == k.RUNNING] ** 2 < most).all())
        calls = LAST_BATCH if near else BATCH
        before = int(self.steps.max())
        if before == 0:
            calls = 1  # the first look is at the structures given
        while True:
            device.settle()
            for _ in range(calls):
                device.queue_forces()
                self._plan()
                self._move()
            lists.look()
            device.evaluators.check()
            looks = self._look(self._device.sums("totals"))
            lists.count(int(self.steps.max()) - before)
            # A near list that does not fit its rows lets nothing happen.
            if self.steps.max() > before or not self.running:
                return looks

    def _step_with_cells(self, cells: Sequence[CellFreedom]) -> list[Look]:
        device, deform = self._device, self._deform
        while True:
            device.settle()
            device.queue_forces()
            seen = device.lists.look()
            device.evaluators.check()
            if not seen.rebuild:
                break
        totals = self._device.sums("totals")
        running = np.flatnonzero(self.status == k.RUNNING).tolist()
        for number in running:
            deform[number, k.CELL : k.CELL + 3] = cells[number].load(totals[number][2:].reshape(3, 3))
            deform[number, k.CELL + 3] = cells[number].done
        self._arrays.deform.from_numpy(deform.ravel())
        self._plan()
        looks = self._look(totals)
        factors = self._arrays.fire.to_numpy().reshape(-1, k.FIRE_SIZE)[:, [k.KEEP, k.PUSH, k.DT, k.BACK]]
        moved = {}
        for number in np.flatnonzero(self.status == k.RUNNING).tolist():
            try:
                deform[number, : k.CELL] = cells[number].step(*factors[number])
                moved[number] = cells[number].cell()
            except RelaxationError as error:
                self._fail(number, error)
        if moved:
            self._arrays.deform.from_numpy(deform.ravel())
            self._move()
            self._systems.set_cells(moved)
        return looks

    def _plan(self) -> None:
        device = self._device
        device.launch(self._kernels.plan, device.state, device.lists.control, self._arrays)

    def _move(self) -> None:
        device = self._device
        device.launch(self._kernels.move, device.system(), self._arrays, MAX_MOVE)

    def _look(self, totals: Array) -> list[Look]:
        tally = self._arrays.tally.to_numpy().reshape(-1, k.TALLY_SIZE)
        fire = self._arrays.fire.to_numpy().reshape(-1, k.FIRE_SIZE)
        self.status, self.steps = tally[:, k.STATUS].copy(), tally[:, k.STEPS].astype(int)
        self._force = np.sqrt(fire[:, k.LARGEST2])
        for number in np.flatnonzero(self.status == k.NOT_FINITE).tolist():
            if number not in self.errors:
                self._fail(number, self._not_finite(number, float(totals[number][0])))
        # A step that was done has led away from what was evaluated.
        done = self.steps - (self.status == k.RUNNING)
        return [
            Look(int(step), float(total[0]), float(force), total[2:].reshape(3, 3), member.volume)
            for step, force, member, total in zip(done, self._force, self._members, totals, strict=True)
        ]

    def _not_finite(self, number: int, energy: float) -> TaichimdError:
        """What is wrong with a system."""
        member, free = self._members[number], self._free[number]
        forces = self._device.state.get("force")[self._device.state.parts[number]]
        try:
            require_finite(energy, np.where(free[:, None], forces, 0.0), member)
        except TaichimdError as error:
            return error
        return RelaxationError(
            f"the relaxation failed after {self.steps[number]} steps: velocities grew without bound; start "
            "from a better structure"
        )
