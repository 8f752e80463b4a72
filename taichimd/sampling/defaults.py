"""Settings of a new chain that the user leaves open: equilibration, moves, rows and frames."""

from dataclasses import replace

from ase import Atoms

from taichimd.forcefields.base import ForceField
from taichimd.sampling.best_moves import best_moves
from taichimd.sampling.kinds import ALL, SINGLE, first_move
from taichimd.sampling.settings import MCSettings

ROWS = 200
"""Rows of the table that a run has at least, if it has as many sweeps."""
MAX_SWEEPS = {SINGLE: 10, ALL: 100}
"""Sweeps between rows, at most: moves of all atoms need more sweeps to an independent configuration."""
FRAMES_EVERY = 100


def completed(settings: MCSettings, forcefield: ForceField, atoms: Atoms) -> tuple[MCSettings, list[str]]:
    """Settings of a new chain in which nothing is left open, and what to tell the user about it."""
    pressure = settings.pressure if settings.moves_volume else None
    moves, why_not_single = best_moves(forcefield, atoms, pressure)
    notes = []
    if settings.moves is None and why_not_single:
        notes.append(f"moves of all atoms together: {why_not_single}")
    moves = settings.moves or moves
    sweeps, equilibration = settings.sweeps or 0, settings.equilibration
    if equilibration is None:
        equilibration = max(1, sweeps // 4)
        notes.append(
            f"equilibration: {equilibration:,} sweeps, a quarter of --sweeps (--equilibration SWEEPS sets it)"
        )
    elif equilibration == 0:
        notes.append("no equilibration: step sizes are not tuned (--equilibration SWEEPS tunes them)")
    every = settings.every or min(max(1, sweeps // ROWS), MAX_SWEEPS[moves])
    return replace(
        settings,
        moves=moves,
        move=settings.move or first_move(moves, len(atoms)),
        equilibration=equilibration,
        every=every,
        frames_every=settings.frames_every or settings.every or FRAMES_EVERY,
    ), notes
