"""How ASE copies, stores and prints a calculator that holds an engine."""

from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator


class CopiedCalculator(Calculator):
    """Copies carry settings and results, and no engine."""

    _virials: Any
    _engine: Any
    _forcefield: Any
    _held: Any
    _shared: Any

    @property
    def forcefield(self) -> Any:
        """The force field in use, loaded from the potential if that is a name or path.

        Raises:
            ParameterFileError: it cannot be found or read.
        """
        from taichimd.forcefields.load import load_forcefield

        if self._forcefield is None:
            self._forcefield = load_forcefield(self.parameters["potential"])
        return self._forcefield

    @property
    def _by_name(self) -> bool:
        """Whether the parameters can load the force field again."""
        from taichimd.forcefields.library import texts_of

        return texts_of(self.parameters["potential"]) is not None

    def todict(self, skip_default: bool = True) -> dict[str, Any]:
        """Settings as plain data, for ASE's trajectories and databases.

        Args:
            skip_default: leave out settings at their default value.

        Returns:
            The settings; a force-field object is described by its own `describe()`.
        """
        settings = dict(self.parameters)
        if skip_default:
            for name, default in self.default_parameters.items():
                if settings[name] == default:
                    del settings[name]
        if not self._by_name:
            settings["potential"] = self.forcefield.describe()
        return settings

    def get_spin_polarized(self) -> bool:
        """Always False. Defined because ASE otherwise stores a bound method on the object.

        That reference to itself would keep a dropped calculator's device memory until the next garbage
        collection, and copies would point at their original.
        """
        return False

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the engine, and but the force field where the parameters can load it again."""
        state = self.__dict__.copy()
        state["_engine"] = state["_held"] = state["_shared"] = None
        if self._by_name:
            state["_forcefield"] = None
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """An independent calculator with the same settings and results and no engine yet.

        The force field is shared: it is read-only, and compiled functions cannot be copied.
        """
        twin: Any = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update(self.__dict__)
        twin.parameters = type(self.parameters)(self.parameters)
        twin.atoms = None if self.atoms is None else self.atoms.copy()
        twin.results = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.results.items()}
        twin._virials = None if self._virials is None else self._virials.copy()
        twin._engine = twin._held = twin._shared = None
        return twin

    def __copy__(self) -> Any:
        """As deepcopy: two calculators must not share settings or results."""
        return self.__deepcopy__({})

    def __repr__(self) -> str:
        """The constructor call that makes this calculator; of a force-field object only the name."""
        settings = "".join(
            f", {name}={self.parameters[name]!r}"
            for name, default in self.default_parameters.items()
            if self.parameters[name] != default
        )
        potential = self.parameters["potential"]
        shown = repr(potential) if self._by_name else f"<{self.forcefield.name}>"
        return f"{type(self).__name__}({shown}{settings})"


def bare(atoms: Atoms) -> Atoms:
    """The structure alone: masses, momenta and constraints must not matter, or caching were wrong."""
    return Atoms(atoms.numbers, atoms.get_positions(), cell=atoms.cell.array, pbc=atoms.pbc)
