"""One system on the device: atoms, force field, lists, steps. Both doors, CLI and ASE, stand on this."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.ensembles.drives.given import GroupDrive
from taichimd.ensembles.groups.given import GroupBath
from taichimd.ensembles.registry import Ensemble
from taichimd.forcefields.base import ForceField
from taichimd.program.batchable import called
from taichimd.program.results import NotCopied
from taichimd.program.stepping import advance
from taichimd.program.system import System
from taichimd.program.systems import Systems

if TYPE_CHECKING:
    from typing_extensions import Self


class Engine(System):
    """Evaluates and integrates one system of atoms with one force field.

        >>> from ase.build import bulk
        >>> from taichimd import Engine, load_forcefield
        >>> Engine(bulk("Si", cubic=True), load_forcefield("Si.sw")).forces().shape
        (8, 3)

    Args:
        atoms: positions, velocities, species, masses, cell and pbc are read; the object is never changed.
        forcefield: see `taichimd.load_forcefield`; a list of them is their sum.
        backend: "auto", "cuda" or "cpu".
        precision: "float64", "float32", or "mixed": float32 terms of float64 positions, summed and integrated
            in float64.
        skin: outer skin of the neighbour list, angstrom; chosen from the cutoff if None. No result
            depends on it.
        ensemble: what `advance` holds constant; NVE if None. See `taichimd.ensembles`.
        decomposition: "particle": one thread per atom; "tuple": one thread per pair and per triplet of a
            list; "auto": the faster of the two by measurements.
        driving_force: F_e of homogeneous non-equilibrium molecular dynamics, 1/angstrom. `forces()` then
            includes the term W_i^T F_e of each atom. A driving force needs a thermostat.
        fixed: (n,) bool, True where an atom stays in place (in a moving cell: keeps its fractional
            coordinates); None: all move. Constraints of `atoms` are ignored: see `system.constraints`.
        acting: drives, and baths of groups of atoms (`ensembles.groups.given.group_baths`). Baths of groups
            need the ensemble NVE.

    Raises:
        StructureError: no atoms, positions that are not finite, coincident atoms, no volume along the
            periodic directions, masses that are not positive, all atoms fixed.
        MissingParameterError: species without parameters in the force field.
        SettingsError: unknown precision, too small a skin, an enumeration that does not fit the system, a
            mask with a wrong shape, fixed atoms with a driving force.
        BackendError: the backend cannot be started.
        PropertyError: a driving force with a force field whose heat current is not known.
        CapacityError: neighbour lists that do not fit the memory. `advance`, `forces` and `evaluate` raise
            this error, too.
        ChargeError: from `advance`, `forces` and `evaluate`: the charge equilibration does not converge.

    Attributes:
        n_atoms, symbols, masses, pbc, fixed: of the atoms.
        ensemble, forcefield, precision, decomposition, backend: as given, or as chosen.
        members, names, alive, n_systems: as of a `Batch` of one system.
    """

    instead = NotCopied.instead
    n_systems = 1

    def __init__(
        self,
        atoms: Atoms,
        forcefield: ForceField | Sequence[Any],
        *,
        backend: str = "auto",
        precision: str = "float64",
        skin: float | None = None,
        ensemble: Ensemble | None = None,
        driving_force: tuple[float, float, float] | None = None,
        decomposition: str = "auto",
        fixed: NDArray[np.bool_] | None = None,
        acting: Sequence[GroupBath | GroupDrive] | None = None,
    ) -> None:
        systems = Systems(
            [atoms], forcefield, backend=backend, precision=precision, skin=skin,
            ensembles=None if ensemble is None else [ensemble],
            decomposition=decomposition, fixed=[fixed],
            driving_forces=None if driving_force is None else [driving_force],
            acting=None if acting is None else [acting],
        )  # fmt: skip
        super().__init__(systems, 0)
        self.names, self.alive = [called(0)], systems.alive

    @property
    def members(self) -> "list[Self]":
        """This system alone, as in a `Batch`."""
        return [self]

    def advance(self, n_steps: int, timestep: float, between: Sequence[Callable[[], None]] = ()) -> None:
        """Integrate by velocity Verlet, with thermostat and barostat of the ensemble; wait for the device.

        The result does not depend on how a number of steps is split into calls.

        Args:
            n_steps: how many steps.
            timestep: internal time units (see `units.FS`).
            between: functions that queue rows of totals between equal parts of the steps
                (`Recorder.rows_between`); users leave this empty.

        Raises:
            BlowUpError: an atom moved by more than a quarter of the cutoff in one step, has coordinates that
                are not finite, or lies on a second atom; the state is then that of the failed step.
            EvaluationError: an external potential failed; the state is then that of the failed step.
        """
        advance(self.systems, n_steps, timestep, between)
