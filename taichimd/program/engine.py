"""One system on the device: atoms, force field, lists, steps. Both doors, CLI and ASE, stand on this."""

from collections.abc import Sequence
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
from taichimd.program.stepping import SteppedSystems
from taichimd.program.system import System

if TYPE_CHECKING:
    from typing_extensions import Self


class Engine(System):
    """Evaluates and integrates one set of atoms under one force field.

        >>> from ase.build import bulk
        >>> from taichimd import Engine, load_forcefield
        >>> Engine(bulk("Si", cubic=True), load_forcefield("Si.sw")).forces().shape
        (8, 3)

    Args:
        atoms: positions, species, masses, cell and pbc are taken; never changed. Velocities are taken, too.
        forcefield: see `taichimd.load_forcefield`; a list of them is their sum.
        backend: "auto", "cuda" or "cpu".
        precision: "float64", "float32", or "mixed": float32 terms of float64 positions, summed and integrated
            in float64.
        skin: outer skin of the neighbour list, angstrom; chosen from the cutoff if None. No result
            depends on it.
        ensemble: what `advance` holds constant; NVE if None. See `taichimd.ensembles`.
        decomposition: "particle": a thread for each atom and its tuples; "tuple": lists of pairs and
            triplets, a thread for each; "auto": what was measured to be faster.
        driving_force: F_e of homogeneous non-equilibrium molecular dynamics, 1/angstrom: the force on each
            atom gets the term W_i^T F_e, in `forces()`, too. It needs a thermostat.
        fixed: (n,) bool, True where an atom stays in place (in a moving cell: keeps its fractional
            coordinates); None: all move. Constraints of `atoms` play no part: see `system.constraints`.
        acting: baths of groups of atoms (`ensembles.groups.given.group_baths`), in NVE alone; and drives.

    Raises:
        StructureError: no atoms, positions that are not finite, coincident atoms, no volume along the
            periodic directions, masses that are not positive, all atoms fixed.
        MissingParameterError: species that the force field does not know.
        SettingsError: unknown precision, too small a skin, an enumeration that does not fit the system, a
            mask of another shape, fixed atoms with a driving force.
        BackendError: the backend cannot be started.
        PropertyError: a driving force where no heat current is known.
        CapacityError: lists that do not fit the memory; `advance` and what asks for forces raise it, too.
        ChargeError: of what asks for forces: charges that an equilibration does not find.

    Attributes:
        n_atoms, symbols, masses, pbc, fixed: of the atoms.
        ensemble, forcefield, precision, decomposition, backend: as given, or as chosen.
        members, names, alive, n_systems: as of a `Batch` of one system.
    """

    instead = NotCopied.instead
    n_systems = 1
    systems: SteppedSystems

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
        systems = SteppedSystems(
            [atoms], forcefield, backend=backend, precision=precision, skin=skin,
            ensembles=None if ensemble is None else [ensemble],
            decomposition=decomposition, fixed=[fixed], driving_force=driving_force,
            acting=None if acting is None else [acting],
        )  # fmt: skip
        super().__init__(systems, 0)
        self.names, self.alive = [called(0)], systems.alive

    @property
    def members(self) -> "list[Self]":
        """Itself."""
        return [self]

    def advance(self, n_steps: int, timestep: float) -> None:
        """Velocity Verlet, with thermostat and barostat of the ensemble; waits until the device has finished.

        The result does not depend on how a number of steps is split into calls.

        Args:
            n_steps: how many steps.
            timestep: internal time units (see `units.FS`).

        Raises:
            BlowUpError: an atom moved by more than a quarter of the cutoff in one step, left the finite
                numbers, or landed on another one; the state is then that of the failed step.
            EvaluationError: an external potential failed; the state is then that of the failed step.
        """
        self.systems.advance(n_steps, timestep)
