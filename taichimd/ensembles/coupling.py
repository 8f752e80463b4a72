"""What acts on atoms and cell besides the forces: which device functions the steps need."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from taichimd.core.arguments import Selection
from taichimd.core.errors import SettingsError
from taichimd.ensembles.barostats import layout as baro
from taichimd.ensembles.bath_arrays import taken_baths
from taichimd.ensembles.drives.arrays import NO_DRIVES, DriveKinds
from taichimd.ensembles.functions import EnsembleFunctions
from taichimd.ensembles.groups.beside_cells import beside_cell
from taichimd.ensembles.groups.functions import group_functions
from taichimd.ensembles.registry import NVE, BerendsenNPT, CellMotion, Ensemble, Thermostat
from taichimd.ensembles.rows import of_rows
from taichimd.ensembles.thermostats import layout as thermostats


@dataclass(frozen=True)
class Coupling:
    """What of an ensemble the kernels are compiled for."""

    kind: type[Ensemble] = NVE  # the class of the ensemble
    control: str = ""  # of a barostat, else empty
    axes: str = ""  # of a barostat, else empty
    period: int = 1  # steps between its actions
    driven: bool = False  # whether there is a driving force
    batch: bool = False  # whether each of several systems has a bath of its own
    acting: tuple[type[Thermostat], ...] = ()  # classes of the thermostats of groups
    # how many baths of groups there are, or one more than the threads of a warp add up together
    rows: int = 0
    has_sources: bool = False  # whether some of these have constant power
    corrects: bool = False  # whether some of these correct positions
    # components of the kinetic tensor that are summed for each bath of a group, because baths of groups
    # rescale velocities beside a motion of the cell; else 0
    tensor_of_group: int = 0
    holds: bool = False  # whether some atoms are held along some directions
    drives: DriveKinds = NO_DRIVES  # kinds of forces, walls and other drives

    @property
    def none(self) -> bool:
        """Whether nothing acts but forces."""
        return not (self.local or self.whole)

    @property
    def counts_steps(self) -> bool:
        """Whether something depends on the number of a step."""
        return not self.none or self.drives.some

    @property
    def local(self) -> bool:
        """Whether a thermostat acts on each atom alone."""
        return "atoms" in (self.kind.acts_on, *(kind.acts_on for kind in self.acting))

    @property
    def whole(self) -> bool:
        """Whether something acts on the whole system: a thermostat, or a barostat."""
        acts = "system" in (self.kind.acts_on, *(kind.acts_on for kind in self.acting))
        return acts or self.kind.moves_cell or self.has_sources

    @property
    def moves_cell(self) -> bool:
        """Whether there is a barostat."""
        return self.kind.moves_cell

    @property
    def parts(self) -> int:
        """Components of each tensor that a barostat sums; 0 without one. A deformation needs all of them."""
        if self.deforms:
            return 6
        return baro.parts_of(self.control, self.axes) if self.moves_cell else 0

    @property
    def deforms(self) -> bool:
        """Whether the cell is deformed at a given rate."""
        return self.kind.deforms

    @property
    def bath_size(self) -> int:
        """Numbers of a bath in the array `bath`."""
        if self.moves_cell:
            return baro.DEFORMED_SIZE if self.deforms else baro.BATH_SIZE
        return thermostats.BATH_SIZE

    @property
    def given(self) -> int:
        """Which sum of the ledger has the energies that a thermostat of each atom has received."""
        return 2 * self.parts

    @property
    def sums(self) -> int:
        """Sums over atoms that the ledger holds."""
        return 2 * self.parts + self.local if self.moves_cell else 1 + 3 * self.driven

    @property
    def sums_of_group(self) -> int:
        """Sums over atoms that the ledger holds for each bath of a group (`groups.layout`)."""
        # The kinetic energy is the trace already.
        tensor = self.tensor_of_group if self.tensor_of_group > 1 else 0
        return 9 if self.corrects else 5 + tensor if self.whole else 1

    @property
    def acts_every_period(self) -> bool:
        """Whether a barostat acts once in several steps, in a step apart."""
        return self.moves_cell and self.period > 1

    @property
    def acts_every_step(self) -> bool:
        """Whether what acts on the whole system does so at the end of every step."""
        return self.whole and not self.acts_every_period

    @property
    def settles(self) -> bool:
        """Whether the step after an action also sums the virial, to book the work of the deformation."""
        return self.kind.settles and self.period > 1

    def ends(self, step: int) -> bool:
        """Whether an action follows the second half kick of a step, or the account of the last action."""
        return self.whole and (step % self.period == 0 or (self.settles and (step - 1) % self.period == 0))

    @property
    def arrays(self) -> Selection:
        """What kernels take of `BathArrays`."""
        of_systems = self.batch and (self.moves_cell or not self.rows)
        return taken_baths(self.rows > 0, of_systems, self.tensor_of_group > 0)

    @property
    def of_groups(self) -> "Coupling":
        """The part of it that acts on groups."""
        return replace(self, kind=NVE, control="", axes="", period=1, batch=False)

    @property
    def of_cell(self) -> "Coupling":
        """The motion of the cell alone, as of one of several systems."""
        return replace(self, acting=(), rows=0, has_sources=False, tensor_of_group=0, batch=True)

    @property
    def outside_steps(self) -> "Coupling":
        """The coupling for kernels outside of steps: only a moving cell and a driving force matter there."""
        if self.moves_cell:
            return Coupling(BerendsenNPT, "isotropic", "xyz", batch=self.batch)
        return Coupling(driven=self.driven, batch=self.batch and self.driven)


def coupling_of(ensemble: Ensemble, driving_force: tuple[float, float, float] | None) -> Coupling:
    """The coupling of an ensemble; a driving force needs a thermostat that takes its heat away."""
    driven = driving_force is not None
    if driving_force is not None:
        force = np.asarray(driving_force, float)
        if force.shape != (3,) or not np.isfinite(force).all():
            raise SettingsError(f"driving_force = {driving_force!r}: expected three numbers (1/angstrom)")
        if not ensemble.takes_drive:
            raise SettingsError(
                f"a driving force heats the system, and {ensemble.name} does not remove the heat as the "
                "method needs; choose the ensemble nvt-nose-hoover (or nvt-bussi, nvt-berendsen)"
            )
    if isinstance(ensemble, CellMotion):
        return Coupling(type(ensemble), ensemble.control, "".join(sorted(ensemble.axes)), ensemble.acts_every)
    if not isinstance(ensemble, Ensemble):
        raise SettingsError(f"ensemble = {ensemble!r}: expected an object, such as Bussi(300.0), or None")
    return Coupling(type(ensemble), driven=driven)


@cache
def coupling_functions(coupling: Coupling, real: Any, by_slot: bool) -> EnsembleFunctions:
    """Device functions of a thermostat or barostat."""
    if coupling.rows and not coupling.moves_cell:
        return group_functions(coupling, real, by_slot)
    own = coupling.of_cell if coupling.rows else coupling
    functions = of_rows(own.kind.device_functions(own, real, by_slot), real, coupling, by_slot)
    if coupling.rows:
        return beside_cell(group_functions(coupling.of_groups, real, by_slot), functions, real, coupling)
    return functions
