"""Atoms that are too close to be meant: found on the host, before anything is compiled."""

from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.data import covalent_radii
from numpy.typing import NDArray

from taichimd.core.errors import StructureError

TOO_CLOSE = 0.5
"""Share of the sum of two covalent radii: no bond is so short, nor do atoms of a hot liquid come so near."""
ONE_PLACE = 0.01
"""Angstrom within which two atoms are one that stands in the file twice."""
_MAX_IMAGES = 3
"""Cells next to the first one, along an axis, that are looked at: a cell so thin is an overlap itself."""
_MAX_CELLS = 2**20
"""Cells of a grid along an axis, whose numbers then fit in 64 bits."""
_SAMPLE, _MAX_PAIRS = 1000, 20
"""Atoms that are looked at first; if they have more neighbours so close, only the nearest of each counts."""


class Overlap(NamedTuple):
    """Two atoms, or an atom and its image, that are close to each other."""

    i: int  # number of an atom, from 0
    j: int  # number of the other atom; equal to i for an image
    distance: float  # Å
    share: float  # of the sum of their covalent radii


def closest(atoms: Atoms) -> Overlap | None:
    """The pair of atoms that overlaps most, images included; None if none is `TOO_CLOSE`.

    Positions that are not finite, and cells without a volume, are for others to refuse: None, too.
    """
    radii = covalent_radii[atoms.numbers]
    reach = 2 * TOO_CLOSE * float(radii.max(initial=0.0))
    if len(atoms) == 0 or not (np.isfinite(atoms.positions).all() and np.isfinite(atoms.cell.array).all()):
        return None
    try:
        places, own = with_images(atoms, reach)
    except np.linalg.LinAlgError:
        return None
    if _surely_apart(places, reach):
        return None
    from scipy.spatial import cKDTree  # takes a third of a second to import

    tree = cKDTree(places, balanced_tree=False, compact_nodes=False)
    sample = places[:: max(len(places) // _SAMPLE, 1)]
    if tree.query_ball_point(sample, reach, return_length=True).mean() > _MAX_PAIRS:
        distances, others = tree.query(places, k=2)
        first, apart = np.arange(len(places)), distances[:, 1]
        second = np.where(others[:, 1] == first, others[:, 0], others[:, 1])
    else:
        first, second = tree.query_pairs(reach, output_type="ndarray").T
        apart = np.linalg.norm(places[first] - places[second], axis=1)
    if len(apart) == 0:
        return None
    i, j = own[first], own[second]
    share = apart / (radii[i] + radii[j])
    worst = int(np.argmin(share))
    if share[worst] >= TOO_CLOSE:
        return None
    a, b = sorted((int(i[worst]), int(j[worst])))
    return Overlap(a, b, float(apart[worst]), float(share[worst]))


def _surely_apart(places: NDArray[np.float64], reach: float) -> bool:
    """Whether no two places are within `reach`; False also if that would take many pairs to find out.

    In a grid whose cells are as wide as `reach`, only places in the same or in adjacent cells can be so near.
    Of the 13 adjacent cells of which each pair of cells needs one, three lie in a row each: five ranges of
    sorted cell numbers.
    """
    cells = np.floor((places - places.min(axis=0)) / (reach * (1.0 + 1e-6)))
    if cells.max() >= _MAX_CELLS:
        return False
    numbers = cells.astype(np.int64)
    _, along_y, along_z = (numbers.max(axis=0) + 3).tolist()  # an empty cell at each end
    row, layer = along_z, along_y * along_z
    cell = numbers @ np.array([layer, row, 1])
    order = np.argsort(cell, kind="stable")
    cell, places = cell[order], places[order]
    own = np.arange(len(places))
    for to in (0, row, layer - row, layer, layer + row):
        first = np.searchsorted(cell, cell + to - 1) if to else own + 1
        count = np.searchsorted(cell, cell + to + 1, side="right") - first
        if count.sum() > _MAX_PAIRS * len(places):
            return False
        one = np.repeat(own, count)
        # Numbers of the others: a range for each place, one after the other.
        other = np.arange(len(one)) - np.repeat(np.cumsum(count) - count - first, count)
        if (((places[one] - places[other]) ** 2).sum(axis=1) <= reach**2).any():
            return False
    return True


def with_images(atoms: Atoms, reach: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Positions in the cell and of images within `reach` of it, and the number of the atom of each."""
    frame = atoms.cell.complete().array
    inverse = np.linalg.inv(frame)
    parts = atoms.positions @ inverse
    parts[:, atoms.pbc] %= 1.0
    own = np.arange(len(atoms))
    for axis in np.flatnonzero(atoms.pbc):
        layer = reach * float(np.linalg.norm(inverse[:, axis]))  # of the cell, as a part of its height
        pieces, numbers = [parts], [own]
        for shift in range(1, min(int(np.ceil(layer)), _MAX_IMAGES) + 1):
            for sign in (-shift, shift):
                moved = parts[:, axis] + sign
                near = (moved >= -layer) & (moved < 1.0 + layer)
                image = parts[near].copy()
                image[:, axis] = moved[near]
                pieces.append(image)
                numbers.append(own[near])
        parts, own = np.concatenate(pieces), np.concatenate(numbers)
    return parts @ frame, own


def notes_on_overlap(atoms: Atoms, refuse: bool = False) -> list[str]:
    """That two atoms are too close to be meant, if they are; at one place an error with `refuse`."""
    found = closest(atoms)
    if found is None:
        return []
    if refuse and found.distance < ONE_PLACE:
        raise StructureError(
            f"{_pair(atoms, found)} are at one place, {found.distance:.2g} Å apart; remove one, or check the "
            "cell"
        )
    return [
        f"{_pair(atoms, found)} are {found.distance:.3g} Å apart, {found.share:.0%} of the sum of their "
        "covalent radii: check the cell and the unit of length; taichimd relax can part overlapping atoms"
    ]


def _pair(atoms: Atoms, found: Overlap) -> str:
    symbols = atoms.symbols
    if found.i == found.j:
        return f"atom {found.i} ({symbols[found.i]}, counted from 0) and its periodic image"
    return f"atoms {found.i} ({symbols[found.i]}) and {found.j} ({symbols[found.j]}), counted from 0,"
