"""What drivers that time the stepping loop share: warm engine, clock that waits for devices."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from ase import Atoms

from validation.systems import System

SHAPES: dict[int, tuple[int, int, int]] = {256_000: (40, 40, 20)}
"""Conventional cells of silicon in each direction for numbers of atoms that no cube has."""


def silicon_cells(n_atoms: int) -> tuple[int, int, int]:
    """Conventional cells (8 atoms) in each direction of a cube, or one of `SHAPES`, of exactly n_atoms."""
    side = round((n_atoms / 8) ** (1 / 3))
    if 8 * side**3 == n_atoms:
        return side, side, side
    if n_atoms in SHAPES:
        return SHAPES[n_atoms]
    raise ValueError(f"{n_atoms} atoms: expected 8 times a cube, or one of {', '.join(map(str, SHAPES))}")


def warm_engine(system: System, settle: int, **options: Any) -> Any:
    """An engine that is compiled, has equalled out kinetic and potential energy, and has learnt its skins."""
    from taichimd.program.engine import Engine

    engine = Engine(system.atoms, system.forcefield(), **options)
    engine.warm_up()
    engine.advance(settle, system.timestep)
    return engine


def state_of(engine: Any, atoms: Atoms) -> Atoms:
    """The atoms as an engine has left them: positions, velocities, the cell of the moment."""
    now = atoms.copy()
    now.set_cell(engine.cell)
    now.positions = engine.positions()
    now.set_velocities(engine.velocities())
    return now


def seconds(call: Callable[[], None]) -> float:
    """Wall time of a call, from an idle device to an idle device."""
    from taichimd.core.runtime import ti

    ti.sync()
    started = time.perf_counter()
    call()
    ti.sync()
    return time.perf_counter() - started


def in_turn(
    loops: Mapping[str, Callable[[int], float]], length: float, repeats: int
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Milliseconds of one pass of each loop, the loops in turn; how many passes each repeat had.

    A loop does so many passes, and returns the seconds that they took. `length`: seconds of a repeat, about.
    """
    passes = {name: steps_for(length, loop) for name, loop in loops.items()}
    each: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(repeats):
        for name, loop in loops.items():
            each[name].append(1e3 * loop(passes[name]) / passes[name])
    return each, passes


def steps_for(length: float, trial: Callable[[int], float], least: int = 20, most: int = 20_000) -> int:
    """How many steps take about so many seconds, by two trials: 20 steps, then a fifth of the length."""
    steps = 20
    for part in (0.2, 1.0):
        steps = max(least, min(most, int(part * length / (trial(steps) / steps))))
    return steps


def again(call: Callable[[], None], times: int) -> None:
    """Call so many times."""
    for _ in range(times):
        call()


def loops(call: Callable[[], None], length: float) -> int:
    """Calls that take about so many seconds; the first, which compiles, does not count."""
    call()
    return max(1, int(length / max(seconds(call), 1e-6)))
