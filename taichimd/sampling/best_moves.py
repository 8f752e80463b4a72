"""Which trial moves sample a system best."""

from ase import Atoms

from taichimd.core.arrays import Array
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.contribution import ALL_PAIRS
from taichimd.sampling.kinds import ALL, SINGLE, Moves
from taichimd.sampling.local_terms import locals_of
from taichimd.system.frame import make_frame


def best_moves(forcefield: ForceField, atoms: Atoms, pressure: float | None) -> tuple[Moves, str]:
    """Which moves sample a system best, and why not single ones; "" if it is these."""
    if forcefield.enumeration == ALL_PAIRS:
        return ALL, f"{forcefield.name} has no neighbour lists"
    if locals_of(forcefield.bind(sorted(set(atoms.symbols)))) is None:
        return ALL, f"{forcefield.name} has terms that need a full evaluation for the move of one atom"
    if pressure is not None and not atoms.pbc.any():
        return ALL, "npt between walls moves all atoms together"
    if atoms.pbc.any():
        if (narrow := periodic_heights(atoms).min()) <= forcefield.cutoff:
            return ALL, f"the cell ({narrow:.3g} Å) is not wider than the cutoff ({forcefield.cutoff:.3g} Å)"
    return SINGLE, ""


def periodic_heights(atoms: Atoms) -> Array:
    """Heights of the cell along its periodic directions, angstrom."""
    return make_frame(atoms.cell.array, atoms.pbc).heights[atoms.pbc]
