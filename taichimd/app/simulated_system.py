"""A system in time, as observers see it: its engine, its clock, and what it shows of both."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import PropertyError, StructureError
from taichimd.io.structures import hold_results
from taichimd.program.results import NotCopied, Thermo
from taichimd.settings.run import SETTINGS
from taichimd.system.constraints import fix
from taichimd.system.groups import Numbers

if TYPE_CHECKING:
    from taichimd.program.system import System


class SimulatedSystem(NotCopied):
    """What a `Simulation` has without its runs and files.

    Attributes:
        engine: of the system; of several that step together the view of this one.
        timestep: fs. last_step: where the present run ends.
        groups: numbers of the atoms of each group, by its name.
        origin_fs, origin_step: time, and step counter, from which the steps of this time step count.
    """

    engine: "System"
    groups: Mapping[str, Numbers] = MappingProxyType({})
    _structure: Atoms

    def _start(self, timestep: float) -> None:
        """Begin to count time, with a time step in fs."""
        self.timestep: float = SETTINGS["timestep"].read(timestep)
        self.origin_fs = 0.0
        self.origin_step = self.last_step = 0
        self._terms: Any = None

    @classmethod
    def from_engine(cls, engine: "System", *, timestep: float | None = None) -> Self:
        """The system of an engine whose state is already set.

        Args:
            engine: with positions and velocities.
            timestep: fs; None: that of its force field.
        """
        self = cls.__new__(cls)
        self._start(engine.forcefield.timestep if timestep is None else timestep)
        self.engine = engine
        self._structure = Atoms(
            engine.symbols, positions=engine.positions(), pbc=engine.pbc, masses=engine.masses
        )
        fix(self._structure, engine.held)
        return self

    @property
    def step(self) -> int:
        """MD step counter."""
        return self.engine.step

    @property
    def time_ps(self) -> float:
        """Simulated time; a product, not a running sum, so that a restart gives the same digits."""
        return (self.origin_fs + (self.engine.step - self.origin_step) * self.timestep) / 1000.0

    def _repr_html_(self) -> str:
        """What a notebook shows: settings, and totals now."""
        from taichimd.app.notebook import simulation_html

        return simulation_html(self)

    def positions(self) -> Array:
        """(n, 3) Å, the user's order, not wrapped."""
        return self.engine.positions()

    def velocities(self) -> Array:
        """(n, 3), ASE's unit."""
        return self.engine.velocities()

    def thermo(self) -> Thermo:
        """Energies (eV), temperature (K), pressure (GPa) and volume (Å^3) now (`program.results.Thermo`)."""
        return self.engine.thermo()

    def heats(self) -> dict[str, float]:
        """Energy that each bath of a group has given to the atoms since the first step, eV, by its name."""
        return self.engine.heats()

    def strain(self) -> Array | None:
        """(3, 3) F - 1 of a deformation since its start, continuous through flips; None without one.

        The diagonal has the engineering strains; row y, column x has the shear xy.
        """
        found = self.engine.deformation()
        return None if found is None else found[0] - np.eye(3)

    def work(self) -> float | None:
        """Work that a deformation has done on the atoms since its start, eV; None without a deformation."""
        found = self.engine.deformation()
        return None if found is None else found[1]

    def drives(self) -> dict[str, dict[str, Any]]:
        """What each drive has done since the first step, by its name: work, energy, force, and so on."""
        return self.engine.drives()

    @property
    def numbers(self) -> NDArray[Any]:
        """(n,) atomic numbers."""
        return np.array(self._structure.numbers)

    def energy(self) -> float:
        """Potential energy, eV."""
        return self.engine.thermo().potential

    def energy_terms(self) -> dict[str, float]:
        """Potential energy (eV) of each potential of a sum, and of each term of ReaxFF, by name."""
        from taichimd.program.energy_terms import EnergyTerms

        if self._terms is None:
            self._terms = EnergyTerms(self.engine)
        found: dict[str, float] = self._terms.values()
        return found

    def forces(self) -> Array:
        """(n, 3) eV/Å, the user's order, of fixed atoms, too."""
        return self.engine.forces()

    def stress(self) -> Array:
        """(6,) eV/Å^3 as ASE has it: tension positive, xx yy zz yz xz xy, without the kinetic part.

        Raises:
            PropertyError: the cell vectors span no volume.
        """
        stress = self.engine.evaluate().stress
        if stress is None:
            raise PropertyError(
                "stress needs a cell whose three vectors span a volume; set the cell of the atoms before the "
                "simulation is made"
            )
        return stress

    def atoms(self) -> Atoms:
        """A copy of the structure with its constraints and the present cell, positions and velocities.

        Its calculator (ASE's `SinglePointCalculator`) holds energy, forces, and stress where there is a
        volume. It is left out where a run has ended in positions that cannot be evaluated.
        """
        atoms = self._structure.copy()
        # In a moving cell fixed atoms follow it, which ASE's FixAtoms would not let them do.
        atoms.set_cell(self.engine.cell, apply_constraint=False)
        atoms.positions = self.engine.positions()
        momenta = atoms.get_masses()[:, None] * self.engine.velocities()
        atoms.set_momenta(momenta, apply_constraint=False)
        try:
            now = self.engine.evaluate()
        except StructureError:
            return atoms
        hold_results(atoms, now.energy, now.forces, now.stress, now.charges)
        return atoms
