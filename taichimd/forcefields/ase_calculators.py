"""An ASE calculator as an external potential."""

from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.forcefields.contract import ExternalPotential, PotentialResult

_NEEDED = "get_potential_energy", "get_forces", "get_stress"
_SHOWN = str, int, float, bool
"""Types of parameters that a name shows."""


class AseCalculator:
    """Asks an ASE calculator; see `from_ase`."""

    def __init__(self, calculator: Any, stress: bool) -> None:
        self._calculator = calculator
        self._atoms = Atoms()
        properties = getattr(calculator, "implemented_properties", ("energy", "forces"))
        self._consistent = "free_energy" in properties
        self._stress = stress and "stress" in properties

    @property
    def name(self) -> str:
        """Class and simple parameters."""
        parameters = getattr(self._calculator, "parameters", None) or {}
        shown = ", ".join(f"{key}={value}" for key, value in parameters.items() if isinstance(value, _SHOWN))
        return type(self._calculator).__name__ + (f"({shown})" if shown else "")

    @property
    def has_virial(self) -> bool:
        """Whether it has a stress."""
        return self._stress

    def evaluate(
        self,
        positions: Array,
        numbers: NDArray[np.int64],
        cell: Array,
        pbc: NDArray[np.bool_],
        *,
        virial: bool,
    ) -> PotentialResult:
        """See `ExternalPotential`. What the calculator does to its atoms is done to the arguments, too."""
        atoms = self._atoms
        if not (np.array_equal(atoms.numbers, numbers) and np.array_equal(atoms.pbc, pbc)):
            atoms = self._atoms = Atoms(numbers, positions, cell=cell, pbc=pbc)
        atoms.positions, atoms.cell[:] = positions, cell
        atoms.calc = self._calculator
        energy = atoms.get_potential_energy(force_consistent=self._consistent)
        forces = atoms.get_forces(apply_constraint=False)
        stress = atoms.get_stress(voigt=False, apply_constraint=False) if virial else None
        energies = getattr(self._calculator, "results", {}).get("energies")
        if energies is not None and not np.isclose(np.sum(energies), energy, rtol=1e-9, atol=1e-9):
            energies = None  # of another energy, such as that without the electrons' entropy
        positions[:], numbers[:], cell[:], pbc[:] = (
            atoms.positions,
            atoms.numbers,
            atoms.cell.array,
            atoms.pbc,
        )
        volume = abs(float(np.linalg.det(cell)))
        return PotentialResult(energy, forces, None if stress is None else -volume * stress, energies)


def from_ase(calculator: Any, *, stress: bool = True) -> ExternalPotential:
    """An ASE calculator as a potential of `Simulation`, `relax`, `evaluate_many`, `Engine` and `Batch`.

    Every step waits for the calculator, and for a round trip of positions and forces between device and host
    (docs/forcefields/external.md has the time).

        >>> from ase.build import bulk
        >>> from ase.calculators.emt import EMT
        >>> from taichimd import Simulation, from_ase
        >>> simulation = Simulation(bulk("Cu", cubic=True), from_ase(EMT()), timestep=2.0, temperature=300)
        >>> simulation.run(10).last_step
        10

    Args:
        calculator: an ASE calculator. It is given atomic numbers, positions, cell and periodicity, but no
            magnetic moments, charges or tags. If it has `free_energy`, the energy whose derivative the forces
            are, that energy is used.
        stress: whether to compute the stress when pressures are reported; False if the stress is expensive.
            Without a stress there is no pressure and no barostat.

    Returns:
        The potential.

    Raises:
        SettingsError: the object is not an ASE calculator.
    """
    missing = [name for name in _NEEDED if not callable(getattr(calculator, name, None))]
    if missing or isinstance(calculator, type):
        raise SettingsError(
            f"expected an ASE calculator, got {str(calculator)[:60]}; write from_ase(EMT()), for example"
        )
    return AseCalculator(calculator, stress)
