"""The energy of a sum of force fields, contribution by contribution."""

from math import isfinite
from typing import Any

from ase import Atoms

from taichimd.forcefields.base import ForceField
from taichimd.program.engine import Engine
from taichimd.program.results import require_finite
from taichimd.program.system import System


class EnergyTerms:
    """The terms of the energy of an engine, wherever its atoms are.

    Each contribution of a sum is evaluated for itself, by an engine of its own. One with charges is not: its
    charges depend a little on what was evaluated before, so its terms are those of the given engine.
    """

    def __init__(self, engine: System) -> None:
        self._engine = engine
        self._engines: list[System] = []

    def values(self) -> dict[str, float]:
        """Energy {name: eV} of each contribution, or of its terms, in the order of the sum.

        The second of one name is "name (2)". Up to last digits, their sum is the energy.
        """
        contributions = self._engine.forcefield.contributions
        self._engines = self._engines or list(map(self._engine_of, contributions))
        found: dict[str, float] = {}
        for one, engine in zip(contributions, self._engines, strict=True):
            if engine is not self._engine:
                engine.set_state(positions=self._engine.folded_positions(), cell=self._engine.cell)
            charged = engine.forcefield.charged
            terms = engine.energy_terms() if charged else {one.name: engine.thermo().potential}
            if not isfinite(total := sum(terms.values())):
                require_finite(total, engine.forces(), engine)
            for term, energy in terms.items():
                name, number = term, 2
                while name in found:
                    name, number = f"{term} ({number})", number + 1
                found[name] = energy
        return found

    def _engine_of(self, contribution: Any) -> System:
        whole = self._engine
        if len(whole.forcefield.contributions) == 1 or not all(term.local for term in contribution.terms):
            return whole
        atoms = Atoms(whole.symbols, whole.positions(), cell=whole.cell, pbc=whole.pbc)
        return Engine(
            atoms, ForceField(contribution.name, (contribution,)), backend=whole.backend,
            precision=whole.precision, decomposition=whole.decomposition,
        )  # fmt: skip


def energy_terms(atoms: Atoms, forcefield: ForceField, **options: Any) -> dict[str, float]:
    """`EnergyTerms.values` of a structure; options are those of the engine, whose errors it raises."""
    return EnergyTerms(Engine(atoms, forcefield, **options)).values()
