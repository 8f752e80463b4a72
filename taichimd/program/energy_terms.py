"""The energy of a sum of force fields, contribution by contribution."""

from typing import Any

from ase import Atoms

from taichimd.forcefields.base import ForceField
from taichimd.program.engine import Engine
from taichimd.program.results import require_finite


def energy_terms(atoms: Atoms, forcefield: ForceField, **options: Any) -> dict[str, float]:
    """Energy of each contribution, evaluated for itself; of one that knows its terms, of each term.

    Args:
        atoms: the structure.
        forcefield: any; most are a single contribution.
        **options: of the engine.

    Returns:
        {name: eV} in the order of the sum; the second of one name is "name (2)". Up to last digits, their sum
        is the energy.

    Raises:
        StructureError, MissingParameterError, SettingsError, BackendError, CapacityError, ChargeError: of
            the engine.
        EvaluationError: an energy or a force that is not a finite number.
    """
    found: dict[str, float] = {}
    for one in forcefield.contributions:
        engine = Engine(atoms, ForceField(one.name, (one,)), **options)
        result = engine.evaluate()
        require_finite(result.energy, result.forces, engine.symbols)
        for term, energy in (engine.energy_terms() or {one.name: float(result.energy)}).items():
            name, number = term, 2
            while name in found:
                name, number = f"{term} ({number})", number + 1
            found[name] = energy
    return found
