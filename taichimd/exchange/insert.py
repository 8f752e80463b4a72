"""Molecules that come into a region: where there is room, with velocities of a temperature or of a beam."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from ase import Atoms
from ase.data import atomic_numbers
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number, is_whole
from taichimd.core.seeds import derived_seed
from taichimd.core.units import FS, KB
from taichimd.exchange.base import ALL, Change, Exchange
from taichimd.system.overlaps import with_images

PLACES = 1000
"""Places in the region that are tried for a molecule."""
_POINTS, _ROUNDS = 2000, 200
"""Points of the cell that are drawn at once, and how often, until some are in the region."""
_PER_PS = 1.0 / (1000.0 * FS)
"""Å/ps in the internal unit of velocities."""


@dataclass(frozen=True)
class Insert(Exchange):
    """Inserts molecules during a run: deposition, a beam, new fuel.

    The centre of mass of a molecule is drawn uniformly in the region, its orientation uniformly. A place
    counts if each of its atoms is at least `distance` from all other atoms.

        >>> from taichimd import Insert
        >>> Insert("Ar", every=2000.0, region="z > 30", velocity=(0, 0, -5)).called
        'insert_Ar'

    Args:
        molecule: a chemical symbol, a name of `ase.build.molecule` such as H2O, or ASE atoms.
        every: fs between insertions; they happen after each multiple of this time.
        region: a selection of places (`taichimd.system.where`), within the cell.
        temperature: K: velocities of the atoms are drawn from the Maxwell-Boltzmann distribution.
        velocity: Å/ps, of the centre of mass; with a temperature the thermal motion is relative to it.
        number: molecules in all; None: as many as the run has time for.
        at_once: molecules at each insertion.
        distance: Å, least distance to other atoms.
        orientation: random, or fixed as in `molecule`.
        full: what happens if there is no room: stop ends the run with an error, skip leaves the molecule out.
        seed: of places, orientations and velocities.
        name: in columns; None: the formula.

    Raises:
        SettingsError: a value that makes no sense, neither temperature nor velocity.
    """

    kind: ClassVar[str] = "insert"
    TEXTS: ClassVar[tuple[str, ...]] = ("region", "molecule")
    molecule: Any
    every: float
    region: str = ALL
    temperature: float | None = None
    velocity: tuple[float, float, float] | None = None
    number: int | None = None
    at_once: int = 1
    distance: float = 3.0
    orientation: str = "random"
    full: str = "stop"
    seed: int = 1
    name: str | None = None
    atoms: Atoms = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "atoms", _atoms_of(self.molecule))
        self.check()
        if self.temperature is None and self.velocity is None:
            raise SettingsError("expected a temperature (K), a velocity (Å/ps) or both")
        if self.temperature is not None and not (is_number(self.temperature) and self.temperature >= 0.0):
            raise SettingsError(f"temperature = {self.temperature!r}: expected a number from 0 on (K)")
        vector = self.velocity
        if vector is not None and not (
            isinstance(vector, list | tuple) and len(vector) == 3 and all(is_number(one) for one in vector)
        ):
            raise SettingsError(f"velocity = {vector!r}: expected three numbers (Å/ps), such as 0,0,-5")
        if not (is_number(self.distance) and self.distance > 0.0):
            raise SettingsError(f"distance = {self.distance!r}: expected a number above 0 (Å)")
        for key, words in (("orientation", ("random", "fixed")), ("full", ("stop", "skip"))):
            if getattr(self, key) not in words:
                raise SettingsError(f"{key} = {getattr(self, key)!r}: expected {' or '.join(words)}")
        if not (is_whole(self.seed) and self.seed >= 0):
            raise SettingsError(f"seed = {self.seed!r}: expected a whole number from 0 on")

    @property
    def formula_text(self) -> str:
        """The formula of the molecule."""
        return str(self.atoms.get_chemical_formula())

    def describe(self) -> str:
        """What the insertion does, on one line."""
        how = [] if self.temperature is None else [f"{self.temperature:g} K"]
        how += [] if self.velocity is None else [f"{' '.join(f'{v:g}' for v in self.velocity)} Å/ps"]
        many = f"{self.at_once} " if self.at_once > 1 else ""
        return (
            f"{self.name or self.formula_text}: {many}{self.formula_text} {self._limits()}, {', '.join(how)}"
        )

    def change(self, atoms: Atoms, step: int, done: int) -> Change | None:
        """The insertion that is due at this step.

        Args:
            atoms: the system, with masses.
            step: of the run; places and velocities depend on it and on the seed.
            done: molecules that have been inserted before.

        Returns:
            The change of the system; None if nothing is inserted.

        Raises:
            SettingsError: there is no room, and `full` is stop; the region has no place in the cell.
        """
        left = self.at_once if self.number is None else min(self.at_once, self.number - done)
        random = np.random.Generator(np.random.PCG64(derived_seed(self.seed, {self.called: step})))
        masses = _masses_like(self.atoms, atoms)
        system, new = atoms.copy(), None
        for _ in range(left):
            one = self._placed(system, masses, random, step)
            if one is None:
                break
            system += one
            new = one if new is None else new + one
        if new is None:
            return None
        return Change(np.ones(len(atoms), bool), new, len(new) // len(self.atoms))

    def _placed(self, system: Atoms, masses: Array, random: Any, step: int) -> Atoms | None:
        """The molecule at a place where there is room, with velocities; None if there is none to be found."""
        from scipy.spatial import cKDTree

        frame = _frame_of(system, self.called)
        tree = cKDTree(with_images(system, self.distance)[0])
        shape = self.atoms.positions - (masses[:, None] * self.atoms.positions).sum(axis=0) / masses.sum()
        tried = 0
        for _ in range(_ROUNDS):
            points = random.random((_POINTS, 3)) @ frame
            for centre in points[self.inside(points, system)]:
                turned = shape @ _rotation(random).T if self.orientation == "random" else shape
                if _is_free(tree, centre + turned, system, self.distance):
                    return self._moving(centre + turned, masses, random)
                tried += 1
                if tried == PLACES:
                    break
            if tried == PLACES:
                break
        if tried == 0:
            raise SettingsError(
                f"{self.called}: no place of the cell is in the region {self.region}; give another region, "
                "or a larger cell"
            )
        if self.full == "skip":
            return None
        raise SettingsError(
            f"{self.called}: no room for {self.formula_text} in {self.region} at step {step:,}: none of "
            f"{tried:,} places is {self.distance:g} Å away from all atoms; give a larger region, a smaller "
            "distance, a longer every, a number, or full=skip to leave such molecules out"
        )

    def _moving(self, positions: Array, masses: Array, random: Any) -> Atoms:
        """The molecule with velocities."""
        found = Atoms(self.atoms.symbols, positions=positions)
        found.set_masses(masses)
        velocities = np.zeros((len(found), 3))
        if self.temperature is not None:
            sigma = np.sqrt(KB * self.temperature / masses)[:, None]
            velocities = sigma * random.standard_normal((len(found), 3))
        if self.velocity is not None:
            drift = (masses[:, None] * velocities).sum(axis=0) / masses.sum()
            velocities += np.array(self.velocity, float) * _PER_PS - drift
        found.set_velocities(velocities)
        return found


def _atoms_of(molecule: Any) -> Atoms:
    """The atoms of what a user calls a molecule, or a SettingsError."""
    if isinstance(molecule, Atoms) and len(molecule):
        return molecule
    if isinstance(molecule, str) and atomic_numbers.get(molecule, 0) > 0:
        return Atoms(molecule)
    from ase.build import molecule as built  # imports all of ASE that reads files

    try:
        return built(molecule)
    except (KeyError, TypeError, ValueError, NotImplementedError, AttributeError):
        raise SettingsError(
            f"molecule = {molecule!r}: expected a chemical symbol, a molecule that ASE knows (such as H2O), "
            "or a structure file that exists"
        ) from None


def _masses_like(molecule: Atoms, system: Atoms) -> Array:
    """(m,) amu: masses of the species in the system, where it has them, else those of the molecule."""
    own = molecule.get_masses()
    there = {number: system.get_masses()[system.numbers == number] for number in set(molecule.numbers)}
    return np.array([there[n][0] if len(there[n]) else m for n, m in zip(molecule.numbers, own, strict=True)])


def _frame_of(system: Atoms, called: str) -> Array:
    """The cell vectors, or a SettingsError if one is missing."""
    missing = "".join(axis for axis, vector in zip("xyz", system.cell.array, strict=True) if not vector.any())
    if missing:
        raise SettingsError(
            f"{called}: the structure has no cell along {missing}, in which places could be drawn; give the "
            "structure a cell that holds the region"
        )
    frame: Array = system.cell.array
    return frame


def _is_free(tree: Any, positions: Array, system: Atoms, distance: float) -> bool:
    """Whether all positions are a distance away from all atoms and their images."""
    parts = np.linalg.solve(system.cell.array.T, positions.T).T
    parts[:, system.pbc] %= 1.0
    return bool((tree.query(parts @ system.cell.array)[0] >= distance).all())


def _rotation(random: Any) -> NDArray[np.float64]:
    """(3, 3): a rotation from the uniform distribution, of a random unit quaternion."""
    w, x, y, z = (q := random.standard_normal(4)) / np.sqrt((q * q).sum())
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
