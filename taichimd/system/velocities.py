"""Velocities to start from: Maxwell-Boltzmann, on the host, so that they are the same for every backend."""

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number, is_whole
from taichimd.core.units import KB
from taichimd.system.constraints import check_fixed, constrained, free_directions, of_free


def degrees_of_freedom(n_atoms: int, n_fixed: int = 0, held: NDArray[np.bool_] | None = None) -> int:
    """3N - 3, because the centre of mass rests; 3 for a single atom, which may move.

    3 (N - F) with F > 0 fixed atoms; with atoms `held` along some directions, (n, 3), as `free_directions`.
    """
    if held is not None and held.ndim == 2:
        return free_directions(held)
    if n_fixed:
        return 3 * (n_atoms - n_fixed)
    return 3 * n_atoms - 3 if n_atoms > 1 else 3


def temperature(atoms: Atoms) -> float:
    """Temperature of the velocities of atoms, K, as in thermo.csv, with `degrees_of_freedom`.

    Fixed atoms do not count, whatever velocity they have been given; 0 if all are fixed. ASE's
    `get_temperature` counts 3N without them.
    """
    fixed = constrained(atoms)
    if fixed.ndim == 2:
        twice = (atoms.get_masses()[:, None] * of_free(atoms.get_velocities(), fixed) ** 2).sum()
        return float(twice / (free_directions(fixed) * KB))
    if not fixed.any():
        return float(2.0 * atoms.get_kinetic_energy() / (degrees_of_freedom(len(atoms)) * KB))
    if fixed.all():
        return 0.0
    twice = (atoms.get_masses()[:, None] * atoms.get_velocities() ** 2)[~fixed].sum()
    return float(twice / (degrees_of_freedom(len(atoms), int(fixed.sum())) * KB))


def drift(masses: Array, velocities: Array) -> Array:
    """Velocity of the centre of mass, (3,), of (n,) masses and (n, 3) velocities, in their unit.

    A product of vectors, `masses @ velocities`, would go to BLAS, which adds in another order on another
    processor.
    """
    return np.asarray((masses[:, None] * velocities).sum(axis=0) / masses.sum())


def drift_share(masses: Array, velocities: Array) -> float:
    """Share of the kinetic energy that the centre of mass has; 0 for a single atom, and for atoms at rest."""
    twice = float((masses[:, None] * velocities**2).sum())
    if len(masses) == 1 or twice == 0.0:
        return 0.0
    return float(masses.sum() * (drift(masses, velocities) ** 2).sum()) / twice


def maxwell_boltzmann(
    masses: Array, temperature: float, seed: int, fixed: NDArray[np.bool_] | None = None
) -> Array:
    """Velocities (n, 3) with exactly the given temperature, and zero net momentum if no atom is fixed.

    Numbers are drawn atom by atom in the user's order from numpy's PCG64, whose stream is fixed by its
    definition: the same seed gives the same velocities on every machine and backend. Fixed atoms, (n,), or
    (n, 3) by directions, have numbers of their own, too: who is fixed changes of the others' velocities only
    scale and drift. Internal units, masses in amu.
    """
    masses = np.asarray(masses, dtype=np.float64)
    if not (is_whole(seed) and seed >= 0):
        raise SettingsError(f"seed is {seed!r}, expected a whole number that is not negative")
    random = np.random.Generator(np.random.PCG64(seed))
    velocities = random.standard_normal((len(masses), 3)) * np.sqrt(KB * temperature / masses)[:, None]
    fixed = check_fixed(fixed, len(masses))
    n_fixed = 0 if fixed is None else int(np.count_nonzero(fixed))
    if fixed is not None and fixed.ndim == 2:
        velocities[fixed] = 0.0
        velocities -= np.where(fixed.any(axis=0), 0.0, drift(masses, velocities))
    elif n_fixed:
        velocities[fixed] = 0.0
    elif len(masses) > 1:
        velocities -= drift(masses, velocities)
    kinetic = 0.5 * float((masses[:, None] * velocities**2).sum())
    wanted = 0.5 * degrees_of_freedom(len(masses), n_fixed, fixed) * KB * temperature
    return velocities * np.sqrt(wanted / kinetic)


def set_temperature(atoms: Atoms, temperature: float, seed: int) -> None:
    """Give atoms velocities from `maxwell_boltzmann` of a temperature, K."""
    if not (is_number(temperature) and temperature >= 0.0):
        raise SettingsError(f"temperature is {temperature} K, expected a number that is not negative")
    fixed = constrained(atoms)
    atoms.set_velocities(maxwell_boltzmann(atoms.get_masses(), temperature, seed, fixed))
