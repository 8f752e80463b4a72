"""The calculator of ASE: `atoms.calc = TaichiMD("Si.tersoff")`.

The calculator decides one thing only: whether the engine it holds can continue with the new atoms (same
species, same periodic directions: its neighbour lists live on, skin and all) or a new one is needed. All
physics is the engine's. Units are ASE's: eV, angstrom, eV/angstrom^3.

Importing this module registers the name "taichimd" with ASE and starts no Taichi.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from ase.calculators import calculator as ase_calculator
from ase.calculators.calculator import all_changes
from ase.stress import full_3x3_to_voigt_6_stress
from numpy.typing import NDArray

from taichimd.copied_calculator import CopiedCalculator, bare
from taichimd.core.errors import PropertyError, SettingsError, StructureError
from taichimd.core.exclusive import exclusive
from taichimd.core.matrix3 import volume_of
from taichimd.program.heat import heat_current
from taichimd.program.results import require_finite
from taichimd.system.checks import check_options, equal, require_atoms

if TYPE_CHECKING:
    from taichimd.program.engine import Engine

_NEED_VOLUME = frozenset({"stress", "stresses"})


class TaichiMD(CopiedCalculator):
    """ASE calculator of a taichimd force field: energies, forces and stresses.

        >>> from ase.build import bulk
        >>> from taichimd import TaichiMD
        >>> silicon = bulk("Si", cubic=True)
        >>> silicon.calc = TaichiMD("Si.sw")
        >>> round(silicon.get_potential_energy() / 8, 3)
        -4.337

    Each calculation sets all results together:

    - `energy`, `free_energy`: potential energy (eV); both are equal, because there are no electrons.
    - `energies`: (n,) energy of each atom (eV); their sum is `energy`.
    - `forces`: (n, 3) (eV/angstrom).
    - `stress`: (6,) derivative of the energy with respect to strain over the volume (eV/angstrom^3), tension
      positive, in the order xx yy zz yz xz xy, without the kinetic part (ASE adds it on request). A stress
      exists if the three cell vectors span a volume, for any periodic directions, as in ASE's own pair
      potentials. Otherwise a request for the stress raises `PropertyError`.
    - `charges`: (n,) e, of ReaxFF. Without charges in the force field a request raises `PropertyError`.
    - `stresses`: (n, 6) stress of each atom (symmetric part) over the same volume; their sum is `stress`.

    `get_per_atom_virial` returns all nine components of each atom, which `get_heat_current` uses.

    The user's Atoms are read, never wrapped or changed. Masses, momenta, charges and constraints are ignored.
    A calculator may serve different Atoms in turn. Calls share an engine only if species and periodic
    directions are the same, so give each system of a comparison its own calculator. Copies (`copy.copy`,
    `copy.deepcopy`, pickle) have the parameters and results, and build their own engine when they calculate.

    Args:
        potential: a parameter file (path, or a shipped name: "Si.tersoff"), "my_file.py:my_potential",
            or a force-field object such as `LennardJones(epsilon=0.0104, sigma=3.40, cutoff=8.5)`; a list of
            these is their sum.
        backend: "auto" (CUDA where there is one), "cuda" or "cpu"; one per process.
        precision: "float64", "mixed" (float32 terms of float64 positions) or "float32".
        skin: distance (angstrom) beyond the cutoff up to which neighbours are listed, so that lists stay
            valid after small moves. Results do not depend on it. None: the engine chooses.
        decomposition: "particle" (one thread per atom), "tuple" (one thread per pair and per triplet) or
            "auto". Results agree up to round-off.

    Raises:
        ParameterFileError: the potential cannot be found or read.
        SettingsError: an unknown setting or an invalid value.
    """

    # Lists, dicts and sets on the class are ASE's contract.
    implemented_properties = [  # noqa: RUF012
        "energy", "free_energy", "energies", "forces", "stress", "stresses", "charges",
    ]  # fmt: skip
    default_parameters = {  # noqa: RUF012
        "backend": "auto", "precision": "float64", "skin": None, "decomposition": "auto",
    }  # fmt: skip
    ignored_changes = {"initial_charges", "initial_magmoms"}  # noqa: RUF012
    discard_results_on_any_change = True

    def __init__(
        self,
        potential: Any,
        *,
        backend: str = "auto",
        precision: str = "float64",
        skin: float | None = None,
        decomposition: str = "auto",
    ) -> None:
        self._engine: Engine | None = None
        # A `BatchCalculators`, and which of its images this is, where a launch evaluates several.
        self._shared: tuple[Any, int] | None = None
        self._forcefield: Any = None
        self._virials: NDArray[np.float64] | None = None
        # What the engine was last set to; only cell, numbers and periodic directions are looked at.
        self._held: Atoms | None = None
        super().__init__(
            potential=potential, backend=backend, precision=precision, skin=skin, decomposition=decomposition
        )

    @property
    def engine(self) -> "Engine | None":
        """The engine that made the last results; None before the first calculation or after `reset()`."""
        return self._engine

    def set(self, **kwargs: Any) -> dict[str, Any]:
        """Change settings; results and engine are dropped if any value is new.

        Args:
            **kwargs: potential, backend, precision, skin or decomposition, as for the constructor.

        Returns:
            The settings that changed.

        Raises:
            SettingsError: an unknown setting, or a precision or skin that makes no sense.
            ParameterFileError: a new potential that cannot be found or read.
        """
        from taichimd.forcefields.library import texts_of
        from taichimd.forcefields.load import load_forcefield

        known = ("potential", *self.default_parameters)
        for name in kwargs:
            if name not in known:
                raise SettingsError(f"TaichiMD: unknown setting {name!r}; expected one of {', '.join(known)}")
        now = {**self.default_parameters, **self.parameters, **kwargs}
        check_options(now["precision"], now["skin"])
        forcefield = self._forcefield
        if "potential" in kwargs:
            kwargs["potential"] = texts_of(kwargs["potential"]) or kwargs["potential"]
            # Loaded here and now: a wrong potential is reported where it is written, not at the first
            # energy, and leaves the calculator as it was.
            forcefield = load_forcefield(kwargs["potential"])
        changed: dict[str, Any] = super().set(**kwargs)
        self._forcefield = forcefield
        return changed

    def reset(self) -> None:
        """Delete results and engine, and free the memory of the device."""
        super().reset()
        self._virials = None
        self._engine = self._shared = None

    def join(self, batch: Any, number: int, forcefield: Any) -> None:
        """Evaluate image `number` of a `BatchCalculators` from now on; copies evaluate alone."""
        self._shared, self._forcefield = (batch, number), forcefield

    def check_state(self, atoms: Atoms, tol: float = 1e-15) -> list[str]:
        """What changed since the last calculation, as in ASE, but found faster for large systems.

        ASE calls this method several times a step, so its own comparison would dominate the time of a large
        system.

        Args:
            atoms: the structure.
            tol: largest absolute difference (angstrom) that still counts as equal.

        Returns:
            Some of "cell", "pbc", "positions", "numbers".
        """
        last = self.atoms
        if last is None or len(last) != len(atoms):
            changes: list[str] = super().check_state(atoms, tol)
            return changes
        pairs = {
            "cell": (last.cell.array, atoms.cell.array),
            "pbc": (last.pbc, atoms.pbc),
            "positions": (last.positions, atoms.positions),
            "numbers": (last.numbers, atoms.numbers),
        }
        return [name for name, (a, b) in pairs.items() if not equal(a, b, tol)]

    @exclusive
    def get_property(self, name: str, atoms: Atoms | None = None, allow_calculation: bool = True) -> Any:
        """One result, calculated if the atoms changed since the last call (ASE's protocol).

        Args:
            name: one of `implemented_properties`.
            atoms: the structure; None means that of the last calculation.
            allow_calculation: if False, return None rather than calculate.

        Returns:
            A float, or a copy of an array.

        Raises:
            PropertyError: a stress without a volume to refer it to, charges of a force field without any.
            StructureError: no atoms, or atoms that cannot be evaluated.
        """
        subject = self.atoms if atoms is None else atoms
        if subject is not None:
            require_atoms(subject)
        if name in _NEED_VOLUME and subject is not None and volume_of(subject.cell.array) is None:
            # Said before anything is calculated: the energy of a molecule is not spent on a refusal.
            if not allow_calculation:
                return None
            raise PropertyError(
                f"TaichiMD: {name} needs a cell whose three vectors span a volume, got "
                f"{subject.cell.tolist()}; set atoms.cell, or use get_per_atom_virial()"
            )
        if name == "charges" and not self.forcefield.charged:
            raise PropertyError(f"TaichiMD: {self.forcefield.name} has no charges; a potential of ReaxFF has")
        return super().get_property(name, atoms, allow_calculation)

    @exclusive
    def get_per_atom_virial(self, atoms: Atoms | None = None) -> NDArray[np.float64]:
        """The nine components of each atom's virial, which needs no cell.

        W_i = sum_j r_ij (x) dU_j/dr_ji, first index that of r: the share whose product with the velocity is
        the atom's heat current (`program.heat`). It is not symmetric for three-body force fields; the sum
        over atoms is, and equals -stress * volume.

        Args:
            atoms: the structure; None means that of the last calculation.

        Returns:
            (n, 3, 3) virials (eV), in the order of the atoms.

        Raises:
            StructureError: no atoms, or atoms that cannot be evaluated.
        """
        self.get_property("forces", atoms)
        assert self._virials is not None, "a calculation sets the virials with the forces"
        return self._virials.copy()

    @exclusive
    def get_energy_terms(self, atoms: Atoms | None = None) -> dict[str, float]:
        """The energy of each contribution of a sum of potentials.

            >>> from ase.build import bulk
            >>> from taichimd import LennardJones, TaichiMD
            >>> weak = LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.0)
            >>> silicon = bulk("Si", cubic=True)
            >>> terms = TaichiMD(["Si.sw", weak]).get_energy_terms(silicon)
            >>> {name: round(energy, 3) for name, energy in terms.items()}
            {'Si.sw': -34.692, 'Lennard-Jones': -0.277}

        Args:
            atoms: the structure; None means that of the last calculation.

        Returns:
            {name: eV} in the order of the sum; a second contribution with the same name is "name (2)". The
            sum is the energy up to rounding. ReaxFF has twelve terms.

        Raises:
            StructureError: no atoms, or atoms that cannot be evaluated.
        """
        from taichimd.program.energy_terms import energy_terms

        return energy_terms(bare(self._subject(atoms)), self.forcefield, **self._options)

    @exclusive
    def get_heat_current(self, atoms: Atoms | None = None) -> NDArray[np.float64]:
        """J = d/dt sum_i r_i E_i, potential and kinetic part together (`program.heat`), not per volume.

        Args:
            atoms: the structure, with velocities and masses; None means that of the last calculation.

        Returns:
            (3,) eV angstrom per ASE's time unit.

        Raises:
            StructureError: no atoms, atoms that cannot be evaluated, or velocities or masses not finite.
            PropertyError: a force field with charges.
        """
        self.forcefield.check_heat_current()
        virials = self.get_per_atom_virial(atoms)
        subject = self.atoms if atoms is None else atoms
        assert subject is not None, "a calculation remembers its atoms"
        energies = self.results["energies"]
        with np.errstate(invalid="ignore", divide="ignore"):  # of masses that are refused
            velocities = subject.get_velocities()
        return heat_current(energies, virials, velocities, subject.get_masses()).total

    @exclusive
    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        """Evaluate the force field once and set every result.

        Changes are found by comparison with the state of the engine, not from `system_changes`, which also
        counts failed calls and does not know of a shared calculator.

        Args:
            atoms: the structure; None means that of the last calculation.
            properties: ignored: all are set.
            system_changes: ignored, see above.

        Raises:
            StructureError: no atoms, NaN or coincident atoms, or a cell without volume.
            MissingParameterError: an element that the potential lacks.
            EvaluationError: an energy or a force that is not a finite number.
            CapacityError: the lists do not fit the device.
            ChargeError: charges that an equilibration does not find.
        """
        subject = self._subject(atoms)
        self.results = {}
        self._virials = None
        try:
            engine = self._engine_at(subject)
            found = engine.evaluate()
        except BaseException:
            # Half-set device state must not be what the next call starts from, after Ctrl-C neither.
            self._engine = None
            if self._shared is not None:
                self._shared[0].forget()
            raise
        energy, forces = float(found.energy), np.array(found.forces, dtype=np.float64)
        require_finite(energy, forces, engine)
        results: dict[str, Any] = {
            "energy": energy,
            "free_energy": energy,
            "energies": np.array(found.energies, dtype=np.float64),
            "forces": forces,
        }
        virials = np.array(found.virials, dtype=np.float64)
        if found.charges is not None:
            results["charges"] = np.array(found.charges, dtype=np.float64)
        volume = volume_of(subject.cell.array)
        if volume is not None:
            # In C order, so that whoever sums the copies ASE hands out gets the bits of `stress`.
            results["stresses"] = np.ascontiguousarray(full_3x3_to_voigt_6_stress(-virials / volume))
            results["stress"] = results["stresses"].sum(axis=0)
        self.atoms = subject.copy()
        self.results = results
        self._virials = virials

    def _subject(self, atoms: Atoms | None) -> Atoms:
        """These atoms, or those of the last calculation."""
        subject = self.atoms if atoms is None else atoms
        if subject is None:
            raise StructureError(
                "TaichiMD: no atoms to compute; pass an Atoms object or set atoms.calc = TaichiMD(...) first"
            )
        require_atoms(subject)
        return subject

    @property
    def _options(self) -> dict[str, Any]:
        """Return the parameters that the engine takes."""
        return {name: self.parameters[name] for name in self.default_parameters}

    def _engine_at(self, atoms: Atoms) -> "Engine":
        """The engine with its state at `atoms`: the one we have if it can be moved there, else a new one."""
        from taichimd.program.engine import Engine

        if self._shared is not None:
            batch, number = self._shared
            member: Engine = batch.member(number, atoms)
            return member
        engine, held = self._engine, self._held
        if (
            engine is not None
            and held is not None
            and np.array_equal(held.numbers, atoms.numbers)
            and np.array_equal(held.pbc, atoms.pbc)
        ):
            # The cell only when it changed: a new cell costs a new neighbour list.
            cell = None if np.array_equal(held.cell.array, atoms.cell.array) else atoms.cell.array.copy()
            engine.set_state(positions=atoms.get_positions(), cell=cell)
            held.set_cell(atoms.cell.array)
            return engine
        # Dropped before its successor is built, so that the device never holds both.
        engine = self._engine = self._held = None
        self._held = bare(atoms)
        self._engine = Engine(self._held, self.forcefield, **self._options)
        return self._engine


# For `ase.calculators.calculator.get_calculator_class("taichimd")`; ASE refuses a name twice, and a module
# can be reloaded.
if "taichimd" in ase_calculator.external_calculators:
    ase_calculator.external_calculators["taichimd"] = TaichiMD
else:
    ase_calculator.register_calculator_class("taichimd", TaichiMD)
