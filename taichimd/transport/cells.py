"""Cells of a thermal conductivity: repetitions, volume, and what cannot conduct."""

from math import prod

import numpy as np
from ase import Atoms

from taichimd.core.errors import SettingsError, StructureError
from taichimd.io.xyz import VELOCITIES
from taichimd.system.constraints import binding
from taichimd.transport.settings import KappaSettings

MAX_ATOMS = 2**27
"""Largest number of atoms of a supercell: more have no number in a list."""


def supercell(atoms: Atoms, settings: KappaSettings, cells: tuple[int, int, int] | None = None) -> Atoms:
    """The system that is run, without velocities; `cells` in place of `settings.supercell`."""
    held, nemd = binding(atoms), settings.method == "nemd"
    if held and not nemd:
        raise SettingsError(
            f"the structure has a constraint {type(held[0]).__name__}, but the heat current needs all atoms "
            "to move; remove it (atoms.set_constraint(), or in the file)"
        )
    cells = cells or settings.supercell
    if settings.method not in ("nemd", "interface"):  # There `layout` checks the cell.
        _check_cell(atoms, settings)
    n = len(atoms) * prod(cells)
    if n < 2:
        raise StructureError("a single atom conducts no heat; give a --supercell, such as 4 4 4")
    if n > MAX_ATOMS:
        raise StructureError(f"supercell = {cells} makes {n:,} atoms; expected {MAX_ATOMS:,} at most")
    system = atoms.copy()
    if not nemd:
        system.set_constraint()
    # Velocities are drawn, so no simulation need say that it does not use these.
    for name in ("momenta", *VELOCITIES):
        if system.has(name):
            del system.arrays[name]
    return system.repeat(cells)


def _check_cell(atoms: Atoms, settings: KappaSettings) -> None:
    """Raise a StructureError if a cell has no volume, or is no sheet with a thickness."""
    pbc = atoms.pbc.tolist()
    if settings.thickness is None:
        if not atoms.pbc.all() or abs(atoms.cell.volume) < 1e-6:
            raise StructureError(
                "a thermal conductivity needs a cell that is periodic in three directions, or the thickness "
                f"of a sheet; pbc is {pbc}: make the structure periodic, or give --thickness"
            )
    elif not (all(pbc[:2]) and abs(atoms.cell[:2, 2]).max() < 1e-9 and _area(atoms) > 1e-6):
        raise StructureError(
            "a sheet (thickness) must be periodic along the first two cell vectors, and these lie in the "
            f"plane of x and y; pbc is {pbc}, they are {atoms.cell[:2].round(3).tolist()}"
        )


def volume_of(system: Atoms, settings: KappaSettings) -> float:
    """Volume that conducts heat, angstrom^3: the cell, or area times thickness of a sheet in it."""
    if settings.thickness is None:
        return float(abs(np.linalg.det(system.cell.array)))
    return _area(system) * settings.thickness


def _area(atoms: Atoms) -> float:
    return float(np.linalg.norm(np.cross(atoms.cell[0], atoms.cell[1])))
