"""A system in time, as observers see it: its engine, its clock, and what it shows of both."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import PropertyError, StructureError
from taichimd.io.structures import hold_results
from taichimd.program.results import NotCopied, Thermo
from taichimd.settings.run import SETTINGS
from taichimd.system.constraints import fix
from taichimd.system.groups import Numbers, of_runs

if TYPE_CHECKING:
    from typing_extensions import Self

    from taichimd.exchange.ledger import Ledger
    from taichimd.program.system import System


class SimulatedSystem(NotCopied):
    """What a `Simulation` has without its runs and files.

    Attributes:
        engine: of the system; of several that step together the view of this one.
        timestep: fs. last_step: where the present run ends.
        groups: numbers of the atoms of each group, by its name.
        origin_fs, origin_step: time, and step counter, from which the steps of this time step count.
        exchange: account of molecules that were inserted and deleted; None: there are no such.
    """

    engine: "System"
    groups: Mapping[str, Numbers] = MappingProxyType({})
    exchange: "Ledger | None" = None
    _structure: Atoms

    def _start(self, timestep: float) -> None:
        """Begin to count time, with a time step in fs."""
        self.timestep: float = SETTINGS["timestep"].read(timestep)
        self.origin_fs = 0.0
        self.origin_step = self.last_step = 0
        self._terms: Any = None

    @classmethod
    def from_engine(cls, engine: "System", *, timestep: float | None = None) -> "Self":
        """The system of an engine whose state is already set.

        Args:
            engine: an engine with positions and velocities.
            timestep: fs; None: the usual time step of the force field.

        Returns:
            A simulation of that engine.
        """
        self = cls.__new__(cls)
        self._start(engine.forcefield.timestep if timestep is None else timestep)
        self._take_engine(engine)
        return self

    def _take_engine(self, engine: "System") -> None:
        self.engine = engine
        self._structure = Atoms(
            engine.symbols, positions=engine.positions(), pbc=engine.pbc, masses=engine.masses
        )
        fix(self._structure, engine.held)

    def exchanged(self, engine: "System", groups: Mapping[str, list[list[int]]] | None) -> None:
        """Continue with a different engine, after molecules of any system were inserted or deleted.

        Args:
            engine: in the state after the exchange.
            groups: intervals of the numbers of the atoms of each group; None: the atoms are the same.
        """
        self.engine, self._terms = engine, None
        if groups is not None:
            self._take_engine(engine)
            self.groups = {name: of_runs(runs) for name, runs in groups.items()}

    @property
    def step(self) -> int:
        """Step counter."""
        return self.engine.step

    @property
    def time_ps(self) -> float:
        """Simulated time, ps: step counter times time step, so that a restart gives the same digits."""
        return (self.origin_fs + (self.engine.step - self.origin_step) * self.timestep) / 1000.0

    def _repr_html_(self) -> str:
        """What a notebook shows: settings, and totals now."""
        from taichimd.app.notebook import simulation_html

        return simulation_html(self)

    def positions(self) -> Array:
        """Positions, (n, 3) Å, in the order of the structure, not wrapped."""
        return self.engine.positions()

    def velocities(self) -> Array:
        """Velocities, (n, 3) in ASE's unit, Å per (Å sqrt(amu/eV)), in the order of the structure."""
        return self.engine.velocities()

    def thermo(self) -> Thermo:
        """Present energies (eV), temperature (K), pressure (GPa), volume (Å^3): `program.results.Thermo`."""
        found = self.engine.thermo()
        return found if self.exchange is None else self.exchange.booked(found, self.engine.n_atoms)

    def heats(self) -> dict[str, float]:
        """Energy that each bath of a group has given to the atoms since the first step, eV, by group name."""
        return self.engine.heats()

    def strain(self) -> Array | None:
        """Strain F - 1 (3, 3) of a deformation since its start; None without a deformation.

        The diagonal has the engineering strains; row y, column x has the shear xy. The strain stays
        continuous where the cell flips.
        """
        found = self.engine.deformation()
        return None if found is None else found[0] - np.eye(3)

    def work(self) -> float | None:
        """Work that a deformation has done on the atoms since its start, eV; None without a deformation."""
        found = self.engine.deformation()
        return None if found is None else found[1]

    def drives(self) -> dict[str, dict[str, Any]]:
        """Work, energy and force of each drive, by its name; work counts from the first step."""
        return self.engine.drives()

    @property
    def numbers(self) -> NDArray[Any]:
        """Atomic numbers, (n,)."""
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
        """Forces, (n, 3) eV/Å, in the order of the structure; fixed atoms included."""
        return self.engine.forces()

    def stress(self) -> Array:
        """Stress, (6,) eV/Å^3 in ASE's order xx yy zz yz xz xy: tension positive, without the kinetic part.

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

        Its calculator (ASE's `SinglePointCalculator`) holds energy and forces, and the stress if the cell has
        a volume. If a run has ended in positions that cannot be evaluated, the copy has no calculator.
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
