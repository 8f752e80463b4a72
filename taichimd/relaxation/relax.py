"""`taichimd.relax`: a structure to the nearest minimum of its energy, or of its enthalpy.

from taichimd import relax
result = relax(atoms, "Si.tersoff", fmax=1e-3, cell="full", pressure=2.0)
print(result.converged, result.energy, result.atoms.cell)
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms

from taichimd.core.units import GPA
from taichimd.forcefields.load import load_forcefield
from taichimd.io.structures import hold_results
from taichimd.neighbours.box import make_frame
from taichimd.program.engine import Engine
from taichimd.program.results import require_finite
from taichimd.relaxation.cell import CellFreedom
from taichimd.relaxation.fire import Fire, Look
from taichimd.relaxation.settings import CellChange, RelaxSettings
from taichimd.system.checks import require_atoms
from taichimd.system.constraints import fixed_atoms

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from taichimd.program.options import EngineOptions

CELL_SKIN = 0.02
"""Outer skin over cutoff where the cell relaxes: the list lasts one step."""


@dataclass(frozen=True)
class Row:
    """A line of the log.

    Attributes:
        step: steps done.
        energy: eV. fmax: eV/Å, the largest force.
        pressure: GPa, without a kinetic part. volume: Å^3. Both None unless periodic in three directions.
    """

    step: int
    energy: float
    fmax: float
    pressure: float | None
    volume: float | None


@dataclass(frozen=True)
class Relaxation:
    """What came of a relaxation.

    Attributes:
        atoms: the relaxed structure: a copy of the one given with new positions and cell, and a calculator
            that holds energy, forces and stress.
        converged: whether forces, and the stress where the cell relaxes, are below their bounds.
        reason: "converged", "out of steps" or "stopped".
        steps: steps done; one evaluation of the forces each, and one more.
        energy: eV. fmax: eV/Å, the largest force on an atom that may move.
        pressure: GPa. volume: Å^3. Both None unless periodic in three directions.
        seconds: of wall clock, all of it. first_seconds: of them, up to the first step, with compilation.
        statistics: of the engine.
    """

    atoms: Atoms
    converged: bool
    reason: str
    steps: int
    energy: float
    fmax: float
    pressure: float | None
    volume: float | None
    seconds: float
    first_seconds: float
    statistics: dict[str, Any]


def relax(
    atoms: Atoms,
    potential: Any,
    *,
    fmax: float = 0.01,
    steps: int = 10_000,
    cell: CellChange = "none",
    axes: str | None = None,
    pressure: float = 0.0,
    smax: float = 0.01,
    on_row: Callable[[Row], None] = lambda row: None,
    should_stop: Callable[[], bool] = lambda: False,
    **of_engine: "Unpack[EngineOptions]",
) -> Relaxation:
    """Relax atoms, and their cell if wanted, with FIRE on the device.

        >>> from ase.build import bulk
        >>> from taichimd import relax
        >>> silicon = bulk("Si", cubic=True)
        >>> silicon.rattle(0.05, seed=1)
        >>> found = relax(silicon, "Si.sw", fmax=1e-3)
        >>> found.converged, round(found.energy / 8, 3)
        (True, -4.337)

    Atoms held by `FixAtoms` keep their places; where the cell relaxes, their places in the cell.

    Args:
        atoms: the structure; left alone.
        potential: a parameter file, a shipped name, "file.py:name" or a force field; a list is their sum.
        fmax: eV/Å, largest force that counts as none.
        steps: most steps.
        cell: "none", "isotropic", "orthorhombic" or "full"; see `RelaxSettings`.
        axes: Cartesian directions along which the cell may change, such as "xy"; None: all periodic ones.
        pressure: GPa, to be reached.
        smax: GPa, largest deviation from it in a component of the stress.
        on_row: told how it goes, several times a second or more often.
        should_stop: asked every few steps; True ends it with the structure so far.
        **of_engine: `backend` (auto, cuda or cpu), `precision` (float64, mixed or float32), `skin`,
            `decomposition` (particle, tuple or auto): as for `Engine`.

    Raises:
        SettingsError: a value that makes no sense, a cell that cannot relax in a direction that is asked for,
            a constraint other than fixed atoms.
        RelaxationError: the cell collapsed or exploded, or atoms landed on top of each other.
        StructureError, MissingParameterError, ParameterFileError, BackendError, EvaluationError: from engine
            and reader.
    """
    settings = RelaxSettings(fmax, steps, cell, axes, pressure, smax)
    require_atoms(atoms)
    fixed = fixed_atoms(atoms, "relax")
    started = time.perf_counter()
    forcefield = load_forcefield(potential)
    forcefield.check_bounded()
    freedom = cell_freedom(atoms, settings)
    if of_engine.get("skin") is None and freedom is not None:
        of_engine["skin"] = CELL_SKIN * forcefield.list_cutoff
    engine = Engine(atoms, forcefield, **of_engine)
    # Said of the structure as it is, before anything moves.
    first = engine.evaluate()
    require_finite(first.energy, first.forces, engine.symbols)
    fire = Fire(engine, fmax=settings.fmax, steps=int(settings.steps), fixed=fixed, cell=freedom)
    first_seconds = None
    stopped, row = False, None
    while fire.running and not stopped:
        row = _row(fire.advance())
        on_row(row)
        first_seconds = first_seconds or time.perf_counter() - started
        stopped = fire.running and should_stop()
    last = engine.evaluate()
    found = float(np.sqrt((last.forces[~fixed] ** 2).sum(axis=1).max(initial=0.0)))
    end = _row(Look(fire.steps, last.energy, found, last.virials.sum(axis=0), engine.volume))
    if row is None or end.step != row.step:
        on_row(end)
    return Relaxation(
        atoms=_result(atoms, engine, last),
        converged=fire.converged,
        reason="converged" if fire.converged else "stopped" if stopped else "out of steps",
        steps=fire.steps,
        energy=last.energy,
        fmax=found,
        pressure=end.pressure,
        volume=end.volume,
        seconds=time.perf_counter() - started,
        first_seconds=first_seconds or 0.0,
        statistics=engine.statistics(),
    )


def cell_freedom(atoms: Atoms, settings: RelaxSettings) -> CellFreedom | None:
    """The cell's degrees of freedom, or None where it is held.

    Raises:
        SettingsError: directions or a pressure that the structure does not allow.
        StructureError: a cell without a volume.
    """
    if settings.cell == "none":
        return None
    return CellFreedom(
        settings.cell,
        settings.axes,
        atoms.cell.array,
        make_frame(atoms.cell.array, atoms.pbc),
        atoms.positions,
        pressure=settings.pressure * GPA,
        most_stress=settings.smax * GPA,
        most_virial=settings.fmax,
    )


def _row(look: Look) -> Row:
    volume = look.volume
    pressure = None if volume is None else float(np.trace(look.virial)) / (3.0 * volume) / GPA
    return Row(look.step, look.energy, look.largest_force, pressure, volume)


def _result(atoms: Atoms, engine: Engine, last: Any) -> Atoms:
    relaxed: Atoms = atoms.copy()
    relaxed.set_cell(engine.cell)
    relaxed.set_positions(engine.positions(), apply_constraint=False)
    stress = None if engine.volume is None else last.stress
    hold_results(relaxed, last.energy, last.forces, stress, last.charges)
    return relaxed
