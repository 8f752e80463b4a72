"""Steps of any number of systems."""

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError, TaichimdError
from taichimd.ensembles.groups.layout import SPENT
from taichimd.neighbours.control import NONE
from taichimd.program import explosion
from taichimd.program.batchable import called
from taichimd.program.flips import flip_sheared
from taichimd.program.folds import fold_far_atoms
from taichimd.program.system import System
from taichimd.program.systems import Systems
from taichimd.system.checks import check_steps
from taichimd.system.folding import is_time, next_look


class SteppedSystems(Systems):
    """Systems that step together. If one diverges, `advance` raises; a `Batch` continues without it."""

    _members: tuple[System, ...] = ()

    @property
    def members(self) -> list[System]:
        """Each system, as a simulation sees it; a single one is made again, so that nothing holds itself."""
        return list(self._members) or [System(self, number) for number in range(self.n_systems)]

    def advance(self, n_steps: int, timestep: float) -> None:
        """Integrate all systems that have not stopped, as `Engine.advance` does."""
        check_steps(n_steps, timestep)
        if n_steps == 0 or not self.alive:
            return
        self.forcefield.check_bounded()
        for ensemble in self.baths.ensembles:
            ensemble.check_timestep(timestep)
        if self.baths.groups is not None:
            self.baths.groups.check_timestep(timestep)
        last = self.step + n_steps
        if self.drives is not None:
            self.drives.check_time(self.step, last, float(timestep))
            self.drives.begin(self.step, float(timestep), self.device.measure_drives)
        self.device.begin(float(timestep))
        while self.step < last and self.alive:
            flips = [k for k in self.baths.flips(self.step, float(timestep)) if k in self.alive]
            if flips and flip_sheared(self.state, self.cells, flips, self.pbc):
                self.forget()
                self.device.folded()
            folds = self.alive if is_time(self.step) else flips
            if folds:
                self._fold(folds)
            if self.baths.coupling.deforms:
                self._begin_deformation(float(timestep))
            # A piece ends where atoms may be folded, cells flipped or momentum removed next: pieces do not
            # change the bits.
            end = min(last, next_look(self.step), self.baths.next_flips(self.step, float(timestep)))
            removal = None if self.drives is None else self.drives.next_removal(self.step)
            self._advance(min(end, removal or end) - self.step, float(timestep))
            if self.step == removal:
                self._remove_momentum()

    def _begin_deformation(self, timestep: float) -> None:
        """Begin the deformations of cells that no action has come before."""
        began = False
        for number in self.alive:

            def virial(number: int = number) -> Array:
                return np.asarray(self.sums("totals")[number][2:].reshape(3, 3))

            began |= self.baths.begin(number, self.step, timestep, virial)
        if began:
            self.forget()

    def _advance(self, n_steps: int, timestep: float) -> None:
        """So many steps, in which no atom is folded."""
        with self.evaluating():
            self.device.need_forces()
            self.device.settle()
            self.forget()
            for step, blown, failed in self.device.steps(self.step, n_steps, timestep, self._renew):
                self.step = step
                for number, error in failed.items():
                    self.unsolved(number, error)
                if blown == SPENT:
                    self.stop_spent()
                elif blown != NONE:
                    self.diverged(blown, timestep)
            if self.baths.coupling.has_sources or self.baths.coupling.drives.fails:
                self.stop_spent()
        self.forget()

    def _fold(self, folds: list[int]) -> None:
        """Fold far atoms of these systems; drives that know places go with them."""
        if self.drives is None:
            if fold_far_atoms(self.state, self.cells, folds):
                self.forget()
                self.device.folded()
            return
        before = self.state.get("pos")
        self.drives.before_folding(self.device.measure_drives)
        if fold_far_atoms(self.state, self.cells, folds):
            self.forget()
            by = self.state.get("pos") - before
            for number in folds:
                self.drives.folded(number, by[self.state.parts[number]], self.device.measure_drives)
            self.device.folded()

    def _remove_momentum(self) -> None:
        """Take away the momentum of the systems whose turn it is."""
        assert self.drives is not None
        new = {}
        for number in self.alive:
            if self.drives.removes(number, self.step):
                part = self.state.parts[number]
                x, v = self.vectors("pos")[part], self.vectors("vel")[part]
                new[number] = self.drives.remove(
                    number, self.step, self.masses[number], x, v, self.still[number]
                )
        self.set_vectors("vel", new)

    def _renew(self) -> None:
        """Bring lists up to date; a system with atoms on top of each other has diverged."""
        lists = self.device.lists
        while True:
            try:
                self.device.renew()
                return
            except StructureError as error:
                atom = lists.atom_too_close()
                number = self.system_of(atom)
                told = str(error).removeprefix(f"{called(number)}: ").split(";")[0]
                first = int(self.state.firsts[number])
                self.stop(number, explosion.exploded(self.step, told, atom - first), error)

    def unsolved(self, number: int, error: TaichimdError) -> None:
        """Stop a system whose charges were not found in the last step.

        Raises:
            TaichimdError: the error.
        """
        raise error

    def stop_spent(self) -> None:
        """Stop the systems with a sink that takes more energy than its atoms have."""
        if self.baths.groups is not None:
            for number, (step, what) in self.baths.groups.take_failures().items():
                self.stop(number, explosion.spent(step, what))
        behind = None if self.drives is None else self.drives.take_failures()
        if behind is not None:
            number = self.system_of(behind)
            self.stop(number, explosion.behind_a_wall(self.step, behind - int(self.state.firsts[number])))

    def diverged(self, blown: int, timestep: float) -> None:
        """Stop the systems with an atom that moved too far in one step, or a cell that changed too much.

        Args:
            blown: such an atom; or `RAN_AWAY - k`, of system k.
            timestep: internal time units.
        """
        self.stop(0, explosion.of_step(System(self, 0), blown, self.device.reach.most_step2**0.5))

    def stop(self, number: int, error: TaichimdError, cause: Exception | None = None) -> None:
        """Stop a system that has diverged.

        Raises:
            TaichimdError: always; the state is that of the failed step.
        """
        self.device.explode()
        raise error from cause
