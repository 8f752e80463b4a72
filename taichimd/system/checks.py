"""Checks of input from which no simulation can start."""

from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError, StructureError
from taichimd.core.scalars import is_number, is_whole
from taichimd.estimators.structure import mean_neighbours
from taichimd.system.frame import Frame

MAX_OF_PAIRS, MAX_OF_ANGLES = 1_000_000, 3_000
"""Neighbours of an atom within the cutoff, of pair and three-body terms: more take hours a step."""
COARSEST = 1e-3
"""Angstrom: forces of bonds then come out with errors of a hundredth."""
LEAST_SKIN = 0.005
"""Least skin that a user may choose, angstrom.

In single precision only one of two atoms may see a pair at the radius of a search."""


def require_atoms(atoms: object) -> None:
    """ASE's atoms, each a whole one on a site of its own, or a StructureError."""
    if not isinstance(atoms, Atoms):
        raise StructureError(
            f"expected an Atoms object of ASE, got {type(atoms).__name__} {str(atoms)[:40]!r}; "
            "ase.io.read makes one from a file"
        )
    check_occupancies(atoms, "the structure")


def check_occupancies(atoms: Atoms, where: str) -> None:
    """Raise a StructureError for atoms that share a site or are a part of one, as ASE reads them."""
    sites = atoms.info.get("occupancy")
    for site, kinds in sites.items() if isinstance(sites, dict) else []:
        whole = (
            isinstance(kinds, dict)
            and len(kinds) == 1
            and abs(float(next(iter(kinds.values()))) - 1.0) < 1e-3
        )
        if not whole:
            raise StructureError(
                f"{where}: site {site} is occupied by {_shares(kinds)}; expected one atom on each site: make "
                "an ordered (super)cell first, and delete atoms.info['occupancy']"
            )
    for name in ("occupancy", "occupancies"):
        values = atoms.arrays.get(name)
        if values is None or values.dtype.kind not in "fi" or values.ndim != 1:
            continue
        # Zero everywhere or on some atoms is what programs write that know none.
        wrong = np.flatnonzero((values != 0.0) & (abs(values - 1.0) > 1e-3))
        if wrong.size:
            raise StructureError(
                f"{where}: atom {wrong[0]} ({atoms.symbols[wrong[0]]}) has the occupancy "
                f"{values[wrong[0]]:g}; expected one atom on each site, or no column {name}"
            )


def _shares(kinds: Any) -> str:
    if not isinstance(kinds, dict):
        return str(kinds)[:60]
    return " and ".join(f"{symbol} {float(share):g}" for symbol, share in kinds.items())


def check_atoms(atoms: Atoms) -> None:
    """Some atoms, at finite positions, with positive masses, or a StructureError."""
    require_atoms(atoms)
    if len(atoms) == 0:
        raise StructureError("the structure has no atoms")
    check_positions(atoms.positions, len(atoms))
    masses = atoms.get_masses()
    fine = (masses > 0) & np.isfinite(masses)
    if not fine.all():
        atom = int(np.argmin(fine))
        raise StructureError(
            f"the mass of atom {atom} ({atoms.symbols[atom]}) is {masses[atom]} amu, "
            "expected a positive number"
        )


def check_shape(values: Array, n: int, what: str) -> None:
    """Shape (n, 3), or a StructureError."""
    if values.shape != (n, 3):
        raise StructureError(f"{what} have shape {values.shape}, expected ({n}, 3)")


def check_options(precision: str, skin: Any) -> None:
    """A precision there is, and a skin that is a length or None, or a SettingsError."""
    from taichimd.core.runtime import PRECISIONS

    if precision not in PRECISIONS:
        raise SettingsError(f"precision is '{precision}', expected one of {', '.join(PRECISIONS)}")
    if skin is not None and not (is_number(skin) and skin >= LEAST_SKIN):
        raise SettingsError(f"skin is {skin!r} angstrom, expected a length of {LEAST_SKIN} or more")


def check_steps(n_steps: int, timestep: float) -> None:
    """A number of steps, 0 or more, of a time above 0, or a SettingsError."""
    if not is_whole(n_steps) or n_steps < 0:
        raise SettingsError(f"advance by {n_steps} steps: expected a whole number, 0 or more")
    if n_steps and not timestep > 0.0:
        raise SettingsError(f"timestep is {timestep}, expected a positive time")


def check_vectors(values: Array, n: int, one: str, many: str) -> None:
    """Finite numbers of shape (n, 3), or a StructureError."""
    check_shape(values, n, many)
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        atom = int(np.argmax(bad))
        raise StructureError(
            f"the {one} of atom {atom} (counted from 0) is {values[atom].tolist()}, expected finite numbers"
        )


def check_positions(positions: Array, n: int) -> None:
    """Finite numbers of shape (n, 3), or a StructureError."""
    check_vectors(positions, n, "position", "positions")


def check_turns(positions: Array, frame: Frame) -> None:
    """No atom a million cells away, or a StructureError.

    Whole turns around the cell are counted in 32 bits, and coordinates that large have few digits left.
    """
    turns = abs(positions @ frame.inverse)[:, frame.pbc]
    if turns.size and turns.max() > 1e6:
        atom = int(np.argmax(turns.max(axis=1)))
        raise StructureError(
            f"atom {atom} (counted from 0) lies {turns.max():.2g} cells away from the origin; "
            "wrap the positions into the cell"
        )


def check_digits(positions: Array, precision: str) -> None:
    """In single precision no atom so far away that its position is rounded by more than `COARSEST`."""
    farthest = float(abs(positions).max(initial=0.0))
    if precision == "float32" and farthest > COARSEST * 2.0**24:
        atom = int(np.argmax(abs(positions).max(axis=1)))
        raise StructureError(
            f"atom {atom} (counted from 0) has a coordinate of {farthest:.6g} angstrom, which float32 rounds "
            f"by more than {COARSEST:g}; wrap the positions into the cell, or take precision mixed"
        )


def check_images(name: str, cutoff: float, pbc: NDArray[np.bool_]) -> None:
    """No periodic direction where a term has no cutoff, or a SettingsError: it has infinitely many images."""
    if np.isinf(cutoff) and pbc.any():
        raise SettingsError(
            f"{name}: a term without a cutoff counts all atoms, of which a periodic cell has infinitely "
            "many; give it a cutoff, as AxilrodTeller(cutoff=8.5), or a structure with pbc=False"
        )


def check_neighbours(cutoff: float, many_body: bool, frame: Frame, positions: Array) -> None:
    """Not so many neighbours that a step would take hours, or a SettingsError: a length in the wrong unit."""
    found = mean_neighbours(frame.vectors, frame.pbc, positions, cutoff) if cutoff else 0.0
    most = MAX_OF_ANGLES if many_body else MAX_OF_PAIRS
    if found > most:
        raise SettingsError(
            f"the cutoff of {cutoff:.4g} angstrom reaches about {found:.2g} neighbours of each atom, "
            f"expected {most:,} or fewer{' for three-body terms' if many_body else ''}; check the lengths of "
            "the potential and of the structure"
        )


def check_all_pairs_of(moves_cell: bool, driving_forces: Any) -> None:
    """Raise a SettingsError for a barostat or a driving force where all pairs are visited."""
    if moves_cell or driving_forces is not None:
        what = "barostat" if moves_cell else "driving force"
        raise SettingsError(
            f'the enumeration "all-pairs" cannot be combined with a {what}; use neighbour lists'
        )


def check_all_pairs(frame: Frame, cutoff: float, many_body: bool) -> None:
    """Nearest images are all images within the cutoff, or a SettingsError."""
    if many_body:
        raise SettingsError("enumeration all-pairs is for pair potentials; use neighbours")
    heights = frame.heights[frame.pbc]
    if len(heights) and heights.min() < 2 * cutoff:
        raise SettingsError(
            f"enumeration all-pairs needs a cell at least twice the cutoff across ({2 * cutoff:.3f} "
            f"angstrom), this one has {heights.min():.3f}; use neighbours"
        )


def equal(a: NDArray[Any], b: NDArray[Any], tol: float) -> bool:
    """Whether arrays of one shape are equal, floats within `tol`."""
    # Equal arrays are told in one pass; only floats that differ are worth subtracting.
    return np.array_equal(a, b) or (a.dtype.kind == "f" and bool((np.abs(a - b) <= tol).all()))
