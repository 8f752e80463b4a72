"""The same bits with other neighbour lists, in other pieces, beside other systems, and after a restart."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from taichimd.core.arrays import Array
from taichimd.validation.case import Case, state_of
from taichimd.validation.measures import NUMBERS, Check, Findings, Found, Measure

SKINS = (0.15, 0.9)
"""Angstrom."""
PIECES = (1, 2, 3, 5, 8, 13)
SKIN = Measure("skins", "Is a run bitwise identical with other skins of the neighbour list?", 0.0, NUMBERS)
SPLITS = Measure("splits", "Is a run bitwise identical if it is done in pieces?", 0.0, NUMBERS)
BATCHES = Measure("batches", "Is a run bitwise identical beside other systems in a batch?", 0.0, NUMBERS)
RESTART = Measure("restart", "Is a run bitwise identical after a restart from a checkpoint?", 0.0, NUMBERS)


def differing_bits(a: Array, b: Array) -> tuple[int, int]:
    """How many numbers of two float64 arrays are not identical, and in how many bits they differ in total.

    +0.0 and -0.0 differ here: what is claimed is identity of bits.
    """
    xor = np.ascontiguousarray(a, dtype=np.float64).view(np.uint64)
    xor = xor ^ np.ascontiguousarray(b, dtype=np.float64).view(np.uint64)
    return int(np.count_nonzero(xor)), int(np.unpackbits(xor.view(np.uint8)).sum())


def differing(a: Mapping[str, Array], b: Mapping[str, Array]) -> int:
    """How many numbers of two states are not identical; what is not a number in both does not differ."""
    found = 0
    for name, values in a.items():
        kept = ~(np.isnan(values) & np.isnan(b[name]))
        found += differing_bits(values[kept], b[name][kept])[0]
    return found


def _of(case: Case) -> str:
    return f"{case.level.steps} steps, {len(case.atoms)} atoms"


def skins(case: Case) -> Findings:
    """The reference run with shorter and longer lists."""
    found = {}
    for skin in SKINS:
        engine = case.engine(skin=skin)
        engine.advance(case.level.steps, case.timestep)
        found[skin] = differing(case.reference, state_of(engine))
    return {"skins": Found(sum(found.values()), f"skins of {', '.join(map(str, SKINS))} Å; {_of(case)}")}


def splits(case: Case) -> Findings:
    """The reference run in pieces of several lengths."""
    engine, left, k = case.engine(), case.level.steps, 0
    while left:
        piece = min(PIECES[k % len(PIECES)], left)
        engine.advance(piece, case.timestep)
        left, k = left - piece, k + 1
    return {"splits": Found(differing(case.reference, state_of(engine)), f"{k} pieces; {_of(case)}")}


def batches(case: Case) -> Findings:
    """The reference run as the second of three systems of a batch."""
    from taichimd.program.batch import Batch

    case.forcefield.check_bounded()
    others = [case.moving.copy() for _ in range(2)]
    for k, other in enumerate(others):
        other.set_velocities((0.5 + 0.7 * k) * other.get_velocities())
    batch = Batch([others[0], case.moving, others[1]], case.forcefield)
    batch.members[1].set_state(velocities=case.start[1])
    batch.advance(case.level.steps, case.timestep)
    value = differing(case.reference, state_of(batch.members[1]))
    return {"batches": Found(value, f"three systems; {_of(case)}")}


def restart(case: Case) -> Findings:
    """The reference run, saved to a checkpoint at a third of it and continued by a new engine."""
    from taichimd.app.simulation import Simulation

    first = case.level.steps // 3
    begin = Simulation.from_engine(case.engine(), timestep=case.forcefield.timestep)
    with tempfile.TemporaryDirectory() as folder:
        begin.run(first)
        path = Path(folder) / "checkpoint.npz"
        begin.save(path)
        again = Simulation.load(path, case.forcefield)
    again.run(case.level.steps - first)
    value = differing(case.reference, state_of(again.engine))
    return {"restart": Found(value, f"restart at step {first}; {_of(case)}")}


CHECKS: tuple[Check, ...] = (
    Check((SKIN,), skins, "other skins"),
    Check((SPLITS,), splits, "runs in pieces"),
    Check((RESTART,), restart, "restart"),
    Check((BATCHES,), batches, "batches"),
)
