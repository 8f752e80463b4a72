"""FIRE, driven by the host: steps are queued, and now and then looked at.

With the cell held, a batch of steps goes to the device at once. With a cell that relaxes the host takes part
in every step, by nine numbers of the virial; positions stay on the device, the list is built anew.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import RelaxationError, StructureError
from taichimd.core.runtime import blocks_for, ti
from taichimd.neighbours.control import REBUILD
from taichimd.program.engine import Engine
from taichimd.program.results import require_finite
from taichimd.relaxation import kernels as k
from taichimd.relaxation.cell import CellFreedom

Array = NDArray[np.float64]
MOST_MOVE = 0.2
"""Angstrom that an atom may move in a step."""
BATCH, LAST_BATCH, NEAR_END = 10, 2, 3.0
"""Steps queued before the host looks; close to the end, where the largest force is below NEAR_END times its
bound: what is queued beyond the end is computed for nothing."""


@dataclass(frozen=True)
class Look:
    """Where a minimisation stands.

    Attributes:
        step: steps done before the last configuration that was evaluated; all else is of that one.
        energy: eV. largest_force: eV/angstrom, of an atom that may move. virial: (3, 3) eV.
        volume: angstrom^3; None unless periodic in three directions.
    """

    step: int
    energy: float
    largest_force: float
    virial: Array
    volume: float | None


class Fire:
    """Minimises the energy of an engine's atoms, or the enthalpy of atoms and cell.

    The engine's velocities are used up: they are zero at the start, and those of the minimisation after it.

    Args:
        engine: with the positions to start from.
        fmax: largest force on an atom that counts as none, eV/angstrom.
        steps: most steps.
        fixed: (n,) which atoms keep their place; with a cell that relaxes, their place in the cell.
        cell: None holds the cell.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        fmax: float,
        steps: int,
        fixed: NDArray[np.bool_] | None = None,
        cell: CellFreedom | None = None,
    ) -> None:
        self._engine, self._cell = engine, cell
        n = engine.n_atoms
        self._free = np.ones(n, bool) if fixed is None else ~np.asarray(fixed, bool)
        pieces, width, groups = k.pieces_of(n)
        self._arrays = arrays = k.Minimisation(
            pieces, width, groups, steps, fmax**2, engine.device.state.sorted_of,
            fixed=ti.ndarray(ti.i32, n), deform=ti.ndarray(ti.f64, 27),
            sums=ti.ndarray(ti.f64, k.SUMS * (pieces + groups)), fire=ti.ndarray(ti.f64, k.FIRE_SIZE),
            tally=ti.ndarray(ti.i32, k.TALLY_SIZE),
        )  # fmt: skip
        arrays.fixed.from_numpy((~self._free).astype(np.int32))
        arrays.deform.from_numpy(np.tile(np.eye(3).ravel(), 3))
        start = np.zeros(k.FIRE_SIZE)
        start[k.DT], start[k.ALPHA] = k.FIRST_DT, k.FIRST_ALPHA
        arrays.fire.from_numpy(start)
        arrays.tally.fill(0)
        self._kernels = k.fire_kernels(
            engine.device.state.real, engine.device.lists.near_list, cell is not None, blocks_for(n)
        )
        self.status = k.RUNNING
        self._step = 0
        self._force = np.inf
        engine.set_state(velocities=np.zeros((n, 3)))
        engine.device.jumped(True)

    @property
    def running(self) -> bool:
        """Whether there is something left to do."""
        return self.status == k.RUNNING

    @property
    def steps(self) -> int:
        """Steps done."""
        return self._step

    @property
    def converged(self) -> bool:
        """Whether forces, and the stress where the cell relaxes, are below their bounds."""
        return self.status == k.CONVERGED

    def advance(self) -> Look:
        """Some steps, fewer if it ends before.

        Raises:
            RelaxationError: atoms on top of each other, a cell that collapses or explodes.
            EvaluationError: a force that is not a finite number.
            ChargeError: charges that an equilibration does not find.
        """
        try:
            return self._batch() if self._cell is None else self._step_with_cell(self._cell)
        except StructureError as error:
            raise RelaxationError(
                f"the relaxation failed after {self._step} steps: {error}; start from a better structure"
            ) from error

    def _batch(self) -> Look:
        engine, lists = self._engine, self._engine.device.lists
        near = self._force**2 < NEAR_END**2 * self._arrays.most_force2
        calls = LAST_BATCH if near else BATCH
        if self._step == 0:
            calls = 1  # the first look is at the structure given
        before = self._step
        while True:
            engine.device.settle()
            for _ in range(calls):
                engine.device.queue_forces()
                self._plan(k.CellPart(0.0, 0.0, 0.0, 1))
                self._move()
            lists.look()
            engine.device.check()
            energy, _, virial = engine.device.totals()
            look = self._look(energy, virial)
            lists.count(self._step - before)
            # A near list that does not fit its rows lets nothing happen.
            if self._step > before or not self.running:
                return look

    def _step_with_cell(self, cell: CellFreedom) -> Look:
        engine = self._engine
        while True:
            engine.device.settle()
            engine.device.queue_forces()
            seen = engine.device.lists.look()
            engine.device.check()
            if not seen[REBUILD]:
                break
        energy, _, virial = engine.device.totals()
        self._plan(k.CellPart(*cell.load(virial), int(cell.done)))
        look = self._look(energy, virial)
        if self.running:
            factors = self._arrays.fire.to_numpy()
            self._arrays.deform.from_numpy(cell.step(*factors[[k.KEEP, k.PUSH, k.DT, k.BACK]]))
            self._move()
            engine.set_state(cell=cell.cell())
        return look

    def _plan(self, cell: k.CellPart) -> None:
        device = self._engine.device
        device.launch(self._kernels.plan, device.state, device.lists.control, self._arrays, cell)

    def _move(self) -> None:
        device = self._engine.device
        device.launch(self._kernels.move, device.system(), self._arrays, MOST_MOVE)

    def _look(self, energy: float, virial: Array) -> Look:
        tally, fire = self._arrays.tally.to_numpy(), self._arrays.fire.to_numpy()
        self.status, self._step = int(tally[k.STATUS]), int(tally[k.STEPS])
        self._force = float(np.sqrt(fire[k.LARGEST2]))
        if self.status == k.NOT_FINITE:
            engine = self._engine
            forces = np.where(self._free[:, None], engine.device.state.get("force"), 0.0)
            require_finite(energy, forces, engine.symbols)
            raise RelaxationError(
                f"the relaxation failed after {self._step} steps: velocities grew without bound"
            )
        # A step that was done has led away from what was evaluated.
        return Look(self._step - int(self.running), energy, self._force, virial, self._engine.volume)
