"""A structure that fits a force field, for a validation that is given none."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk, molecule
from ase.data import atomic_numbers, covalent_radii, reference_states

from taichimd.core.elements import is_symbol
from taichimd.core.errors import SettingsError
from taichimd.forcefields.base import ForceField
from taichimd.system.lattices import LATTICES, build_lattice

SHORT = 0.05
"""Cells in one direction that a crystal may lack: with one more, silica has 648 atoms, not 192."""
SHEETS = ("C_2010.tersoff", "BNC_2012.tersoff")
"""Shipped files whose papers are about sheets."""
MOLECULES = {"CH3CONH2": 5.4, "CH3OH": 4.2, "H2O": 3.2}
"""Molecules of ASE for ReaxFF, and angstrom between them; the first whose elements the force field has.

Files for organic molecules get molecules with carbon: they test more parameters than water does, and files
that were not fitted to water compress it to twice its density.
"""


def species_of(forcefield: ForceField, elements: Sequence[str] | None) -> list[str]:
    """Elements of a structure that fits: those given, else those of the force field, else argon."""
    if elements:
        return list(elements)
    known = list(forcefield.elements or ["Ar"])
    if not (found := [one for one in known if is_symbol(one)]):
        raise SettingsError(
            f"{forcefield.name}: its labels {', '.join(known)} are not chemical symbols; give --structure"
        )
    return found


def crystal_for(forcefield: ForceField, elements: Sequence[str] | None, atoms: int) -> Atoms:
    """A periodic structure of the force field's elements, of about so many atoms.

    A crystal of `taichimd build` if one has exactly these elements; molecules for a ReaxFF with hydrogen and
    oxygen; else the crystal of an element.
    """
    species = species_of(forcefield, elements)
    if forcefield.charged and {"H", "O"} <= set(species) and "Si" not in species:
        return molecules(next(one for one in MOLECULES if set(molecule(one).symbols) <= set(species)), atoms)
    candidates = [
        (name, found)
        for name, lattice in LATTICES.items()
        for found in lattice.constants
        if _fits(found, species, forcefield.charged) and name not in ("rocksalt", "wurtzite")
    ]
    candidates.sort(key=lambda one: (one[0] == "graphene") != (forcefield.name in SHEETS))
    if candidates:
        name, found = candidates[0]
        cells = _cells(atoms, LATTICES[name].atoms, 2 if LATTICES[name].flat else 3)
        return build_lattice(name, cells, elements=found)
    for one in species:
        state: Any = reference_states[atomic_numbers[one]]
        if state and state["symmetry"] in ("fcc", "bcc", "diamond", "sc"):
            cell = bulk(one, state["symmetry"], a=state["a"], cubic=True)
            return cell.repeat(_cells(atoms, len(cell), 3))
    raise SettingsError(
        f"no crystal of {', '.join(species)} is known here that fits {forcefield.name}; give --structure"
    )


def _cells(atoms: int, per_cell: int, directions: int) -> int:
    """Cells in each repeated direction for about so many atoms."""
    return ceil((atoms / per_cell) ** (1 / directions) - SHORT)


def _fits(found: tuple[str, ...], species: list[str], charged: bool) -> bool:
    """Whether a crystal of these elements tests a force field; a sheet of BN does one of B, C and N."""
    return set(found) <= set(species) and (len(set(found)) == len(species) or charged or len(species) > 2)


def molecules(name: str, atoms: int, seed: int = 1) -> Atoms:
    """A cubic lattice of molecules of `MOLECULES`, each turned at random, of about so many atoms."""
    rng, spacing = np.random.default_rng(seed), MOLECULES[name]
    side = max(2, round((atoms / len(molecule(name))) ** (1 / 3)))
    found = Atoms(cell=[side * spacing] * 3, pbc=True)
    for place in np.ndindex(side, side, side):
        one = molecule(name)
        turned = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        one.positions = (one.positions - one.positions.mean(axis=0)) @ turned + spacing * np.array(place)
        found += one
    return found


def shaken(atoms: Atoms, cutoffs: Sequence[float], margin: float, seed: int) -> Atoms:
    """The structure with every coordinate displaced by about 2% of a bond.

    No pair is so near a cutoff (by `margin`, angstrom) that a finite difference would straddle it, if that
    can be had.
    """
    from ase.neighborlist import neighbor_list

    size = 0.02 * 2.0 * float(np.mean(covalent_radii[atoms.numbers])) + 0.02
    finite = [one for one in cutoffs if np.isfinite(one) and one < 20.0]
    best, least = atoms, np.inf
    for attempt in range(40):
        found = atoms.copy()
        rng = np.random.default_rng(seed + attempt)
        found.positions += size * rng.standard_normal((len(atoms), 3))
        if not finite:
            return found
        r = neighbor_list("d", found, max(finite) + margin)
        near = sum(int((abs(r - cutoff) < margin).sum()) for cutoff in finite)
        if near < least:
            best, least = found, near
        if not near:
            break
    return best
