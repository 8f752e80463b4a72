"""Systems with names, which continue without those that diverge."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.errors import CapacityError, ChargeError, EvaluationError, SettingsError, TaichimdError
from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.groups.given import GroupBath
from taichimd.ensembles.registry import Ensemble
from taichimd.forcefields.base import ForceField
from taichimd.program.accepted import accepted
from taichimd.program.batchable import called, errors_name, why_not_batchable
from taichimd.program.stepping import advance
from taichimd.program.system import System
from taichimd.program.systems import Stopped, Systems


class Batch(Systems):
    """Evaluates and integrates several systems of atoms with one force field, in the same kernels.

        >>> from ase.build import bulk
        >>> from taichimd import Batch, load_forcefield
        >>> silicon = bulk("Si", cubic=True)
        >>> batch = Batch([silicon, silicon.repeat(2)], load_forcefield("Si.sw"))
        >>> [round(member.evaluate().energy, 2) for member in batch.members]
        [-34.69, -277.54]

    Results of each system are bitwise identical to results of the system alone, because no pair, sum or
    random number involves two systems.

    Args:
        systems: as for `Engine`; their elements may differ.
        forcefield: one force field for all systems.
        backend, precision, skin, decomposition: as for `Engine`.
        ensembles: one for each system, or one for all; NVE if None. All must be of one class. Barostats must
            have the same control, axes and period.
        fixed: a mask for each system, as for `Engine`.
        acting: baths of groups and drives for each system, as for `Engine`.
        driving_forces: F_e of each system, as for `Engine`; None: no system has one.
        names: names of the systems in messages; None: their numbers.

    Raises:
        StructureError, MissingParameterError, SettingsError: as for `Engine`; the message names the system.
        SettingsError: no systems, a potential without lists, ensembles of several kinds.
        ChargeError: a charge equilibration that does not converge; the message names the system.
        BackendError: the backend cannot be started.
        CapacityError: the systems do not fit the memory; the message says how many would fit.

    Attributes:
        members: the systems. names: their names in messages. step: steps done.
        alive: numbers of the systems that continue.
    """

    def __init__(
        self,
        systems: Sequence[Atoms],
        forcefield: ForceField | Sequence[Any],
        *,
        backend: str = "auto",
        precision: str = "float64",
        skin: float | None = None,
        ensembles: Ensemble | Sequence[Ensemble] | None = None,
        decomposition: str = "auto",
        fixed: Sequence[NDArray[np.bool_] | None] | None = None,
        names: Sequence[str] | None = None,
        acting: Sequence[Sequence[GroupBath | GroupDrive]] | None = None,
        driving_forces: Sequence[tuple[float, float, float]] | None = None,
    ) -> None:
        if not systems:
            raise SettingsError("a batch of no systems: give one structure or more")
        accepted_one = accepted(forcefield, precision, decomposition, driving_forces is not None)
        why = why_not_batchable(accepted_one)
        if why is not None:
            raise SettingsError(f"{why}, and has no batches; run the systems one after the other")
        self.names = [called(k) for k in range(len(systems))] if names is None else list(names)
        # Where a system is put that has diverged: any place that makes sense.
        self._sane = [(atoms.positions.copy(), atoms.cell.array.copy()) for atoms in systems]
        super().__init__(
            systems, accepted_one, backend=backend, precision=precision, skin=skin, ensembles=ensembles,
            decomposition=decomposition, fixed=fixed, acting=acting,
            driving_forces=driving_forces,
        )  # fmt: skip
        self._members = tuple(System(self, number) for number in range(len(systems)))

    def named(self, number: int) -> AbstractContextManager[None]:
        """Errors within have the name of this system."""
        return errors_name(self.names[number])

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Errors within name the system, or say how many systems would fit the memory."""
        try:
            yield
        except CapacityError as error:
            if error.part is None:
                raise
            fit = int(self.n_systems * error.part)
            raise CapacityError(
                f"a batch of {self.n_systems} systems, {self.state.n} atoms in all: {error}; about {fit} "
                "systems of this size fit at a time"
            ) from error
        except (EvaluationError, ChargeError) as error:
            if error.system is not None:
                error.args = (f"{self.names[error.system]}: {error}",)
            raise

    @property
    def members(self) -> list[System]:
        """Each system, as a simulation sees it."""
        return list(self._members)

    def advance(self, n_steps: int, timestep: float, between: Sequence[Callable[[], None]] = ()) -> None:
        """Integrate all systems that have not stopped, as `Engine.advance` does; the others continue."""
        advance(self, n_steps, timestep, between)

    def stop(self, number: int, error: TaichimdError, cause: Exception | None = None) -> None:
        """Stop a system at its last valid positions; this does not change the other systems."""
        error.args = (f"{self.names[number]}: {error}", *error.args[1:])
        one, part = self.members[number], self.state.parts[number]
        self.stopped[number] = Stopped(error, self.step, one.positions(), one.velocities(), one.cell)
        self.alive.remove(number)
        inverse = self.state.inverse_mass.to_numpy()
        inverse[part] = 0.0
        self.state.inverse_mass.from_numpy(inverse)
        positions, cell = self._sane[number]
        for name, own in (("pos", positions), ("vel", 0.0)):
            of_all = self.state.get(name)
            of_all[part] = own
            self.state.set(name, of_all)
        self.device.evaluators.forget(number)
        self.baths.stop(number)
        if self.baths.groups is not None:
            self.baths.groups.stop(number)
        if self.drives is not None:
            self.drives.stop(number)
        self.cells.set({number: cell})
        self.cells.rest(number)
        self.forget()
        self.device.lists.outdate()

    def statistics(self) -> dict[str, Any]:
        """Figures of neighbour lists, for reports."""
        return {**super().statistics(), "systems": self.n_systems}
