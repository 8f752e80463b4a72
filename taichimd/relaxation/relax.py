"""`taichimd.relax`: a structure to the nearest minimum of its energy, or of its enthalpy.

from taichimd import relax
result = relax(atoms, "Si.tersoff", fmax=1e-3, cell="full", pressure=2.0)
print(result.converged, result.energy, result.atoms.cell)
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms

from taichimd.core.errors import TaichimdWarning
from taichimd.core.markup import element, facts, joined
from taichimd.core.units import GPA
from taichimd.forcefields.load import load_forcefield
from taichimd.io.structures import hold_results
from taichimd.program.batch import Batch
from taichimd.program.batchable import called, errors_name, why_not_batchable
from taichimd.program.engine import Engine
from taichimd.program.results import require_finite
from taichimd.program.system import System
from taichimd.relaxation.cell import CellFreedom
from taichimd.relaxation.fire import Fire, Look
from taichimd.relaxation.kernels import RUNNING
from taichimd.relaxation.settings import CellChange, RelaxSettings
from taichimd.system.checks import require_atoms
from taichimd.system.constraints import fixed_atoms
from taichimd.system.frame import make_frame
from taichimd.system.overlaps import notes_on_overlap

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from taichimd.program.options import EngineOptions

CELL_SKIN = 0.02
"""Outer skin over cutoff where the cell relaxes: the list lasts one step."""


@dataclass(frozen=True)
class Row:
    """A line of the log."""

    step: int  # steps done
    energy: float  # eV
    fmax: float  # eV/Å, the largest force
    pressure: float | None  # GPa, without a kinetic part
    volume: float | None  # Å^3. Both None unless periodic in three directions.
    system: int = 0  # number of the structure, of several


@dataclass(frozen=True)
class Relaxation:
    """Result of a relaxation."""

    # the relaxed structure: a copy of the one given with new positions and cell, and a calculator that holds
    # energy, forces and stress
    atoms: Atoms
    converged: bool  # whether forces, and the stress where the cell relaxes, are below their bounds
    # "converged", "out of steps" or "stopped"; of several, the error of a structure that diverged
    reason: str
    steps: int  # steps done; one evaluation of the forces each, and one more
    energy: float  # eV
    fmax: float  # eV/Å, the largest force on an atom that may move
    pressure: float | None  # GPa
    volume: float | None  # Å^3. Both None unless periodic in three directions.
    seconds: float  # of wall clock, all of it
    first_seconds: float  # of them, up to the first step, with compilation
    statistics: dict[str, Any]  # of the engine

    def _repr_html_(self) -> str:
        """What a notebook shows: the end, energy, largest force, pressure and cell."""
        n_atoms, cell = len(self.atoms), self.atoms.cell.lengths()
        rows = [
            ("end", f"{self.reason} after {self.steps:,} steps, {self.seconds:.3g} s"),
            ("energy", f"{self.energy:.6f} eV, {self.energy / max(n_atoms, 1):.6f} eV/atom"),
            ("largest force", f"{self.fmax:.3g} eV/Å"),
        ]
        if self.pressure is not None:
            rows.append(("pressure", f"{self.pressure:.4g} GPa"))
        if self.volume is not None:
            lengths = " × ".join(f"{length:.4f}" for length in cell)
            rows.append(("volume", f"{self.volume:.6g} Å³, cell {lengths} Å"))
        formula = self.atoms.get_chemical_formula()
        return joined([element("b", f"Relaxation of {n_atoms:,} atoms, {formula}"), facts(rows)])


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
    **compute: "Unpack[EngineOptions]",
) -> Relaxation:
    """Relax atoms, and optionally their cell, with FIRE on the device.

        >>> from ase.build import bulk
        >>> from taichimd import relax
        >>> silicon = bulk("Si", cubic=True)
        >>> silicon.rattle(0.05, seed=1)
        >>> found = relax(silicon, "Si.sw", fmax=1e-3)
        >>> found.converged, round(found.energy / 8, 3)
        (True, -4.337)

    Atoms held by `FixAtoms` keep their positions. If the cell relaxes, they keep their fractional
    coordinates.

    Args:
        atoms: the structure, which is not changed; or a list of structures (see `relax_many`).
        potential: a parameter file, a shipped name, "file.py:name" or a force field; a list is their sum.
        fmax: eV/Å; the relaxation stops when the largest force is below this value.
        steps: largest number of steps.
        cell: "none", "isotropic", "orthorhombic" or "full"; see `RelaxSettings`.
        axes: Cartesian directions along which the cell may change, such as "xy"; None: all periodic ones.
        pressure: GPa, of the relaxed structure.
        smax: GPa; with a cell that relaxes, each component of the stress must be this close to `pressure`.
        on_row: called with step, energy, largest force and pressure, several times a second or more often.
        should_stop: called every few steps; True ends the relaxation with the present structure.
        **compute: `backend` (auto, cuda or cpu), `precision` (float64, mixed or float32), `skin` (Å; no
            result depends on it), `decomposition` (particle, tuple or auto): as for `Engine`.

    Returns:
        The relaxed structure, its energy (eV), largest force (eV/Å) and pressure (GPa), and whether it
        converged; for a list of structures a list of these.

    Raises:
        SettingsError: an invalid value, a cell that cannot relax along the requested directions, a constraint
            other than fixed atoms.
        RelaxationError: the cell collapsed or diverged, or two atoms came to the same position.
        StructureError, MissingParameterError, BackendError, EvaluationError: as for `Engine`.
        ParameterFileError: as for `load_forcefield`.
    """
    settings = RelaxSettings(fmax, steps, cell, axes, pressure, smax)
    if isinstance(atoms, list | tuple):
        return relax_many(atoms, potential, settings, on_row, should_stop, **compute)  # type: ignore[return-value]
    require_atoms(atoms)
    fixed_atoms(atoms, "relax")
    started = time.perf_counter()
    forcefield = load_forcefield(potential)
    forcefield.check_bounded()
    freedoms = [one] if (one := cell_freedom(atoms, settings)) else []
    if freedoms:
        forcefield.check_virial("a cell that relaxes")
    engine = Engine(atoms, forcefield, **compute | _skin(compute, freedoms, forcefield))
    for note in notes_on_overlap(atoms):
        warnings.warn(note, TaichimdWarning, stacklevel=2)
    _check(engine)
    return _minimised(engine.members, [atoms], freedoms, settings, on_row, should_stop, started)[0]


def relax_many(
    systems: Sequence[Atoms],
    potential: Any,
    settings: RelaxSettings,
    on_row: Callable[[Row], None] = lambda row: None,
    should_stop: Callable[[], bool] = lambda: False,
    names: Sequence[str] | None = None,
    **compute: "Unpack[EngineOptions]",
) -> list[Relaxation]:
    """Relax many structures, in one launch if the potential has batches, otherwise one after the other.

    The result of each structure is bitwise identical to a relaxation of this structure alone. If a structure
    diverges, it stops: its `Relaxation` says why and has the given structure. Arguments and errors are those
    of `relax`; rows have the number of the system, messages its name.
    """
    started = time.perf_counter()
    names = [called(number) for number in range(len(systems))] if names is None else names
    freedoms = []
    for number, atoms in enumerate(systems):
        with errors_name(names[number]):
            require_atoms(atoms)
            fixed_atoms(atoms, "relax")
            freedoms += [one] if (one := cell_freedom(atoms, settings)) else []
    forcefield = load_forcefield(potential)
    forcefield.check_bounded()
    if freedoms:
        forcefield.check_virial("a cell that relaxes")
    if why_not_batchable(forcefield) is not None:
        found = []
        for number, atoms in enumerate(systems):

            def on_own(row: Row, number: int = number) -> None:
                on_row(replace(row, system=number))

            more: dict[str, Any] = {**asdict(settings), **compute, "should_stop": should_stop}
            with errors_name(names[number]):
                found.append(relax(atoms, forcefield, on_row=on_own, **more))
        return found
    batch = Batch(systems, forcefield, names=names, **compute | _skin(compute, freedoms, forcefield))
    for name, atoms in zip(names, systems, strict=True):
        for note in notes_on_overlap(atoms):
            warnings.warn(f"{name}: {note}", TaichimdWarning, stacklevel=2)
    for number, member in enumerate(batch.members):
        with errors_name(names[number]):
            _check(member)
    return _minimised(batch.members, systems, freedoms, settings, on_row, should_stop, started)


def _skin(compute: Mapping[str, Any], freedoms: Sequence[CellFreedom], forcefield: Any) -> "EngineOptions":
    """The skin of a list that lasts one step, unless another was given."""
    given = compute.get("skin") is not None
    return {} if given or not freedoms else {"skin": CELL_SKIN * forcefield.list_cutoff}


def _check(engine: Any) -> None:
    """Raise an EvaluationError about the structure as it is, before anything moves."""
    first = engine.evaluate()
    require_finite(first.energy, first.forces, engine)


def _minimised(
    members: Sequence[System],
    given: Sequence[Atoms],
    freedoms: Sequence[CellFreedom],
    settings: RelaxSettings,
    on_row: Callable[[Row], None],
    should_stop: Callable[[], bool],
    started: float,
) -> list[Relaxation]:
    """Step until all have ended; a system that has ended before is not told of again."""
    fixed = [fixed_atoms(atoms, "relax") for atoms in given]
    fire = Fire(members, fmax=settings.fmax, steps=int(settings.steps), fixed=fixed, cells=freedoms or None)
    rows: list[Row] = []
    first_seconds, stopped = 0.0, False
    while fire.running and not stopped:
        before = fire.status == RUNNING
        rows = [_row(look, number) for number, look in enumerate(fire.advance())]
        for row in rows:
            if before[row.system]:
                on_row(row)
        first_seconds = first_seconds or time.perf_counter() - started
        stopped = fire.running and should_stop()
    members[0].systems.forget()
    found = []
    for number, (atoms, member, held) in enumerate(zip(given, members, fixed, strict=True)):
        last, steps, error = member.evaluate(), int(fire.steps[number]), fire.errors.get(number)
        force = float(np.sqrt((last.forces[~held] ** 2).sum(axis=1).max(initial=0.0)))
        end = _row(Look(steps, last.energy, force, last.virials.sum(axis=0), member.volume), number)
        if not rows or end.step != rows[number].step:
            on_row(end)
        converged = bool(fire.converged[number])
        going = fire.status[number] == RUNNING
        reason = "converged" if converged else str(error) if error else "stopped" if going else "out of steps"
        found.append(
            Relaxation(
                atoms=_relaxed(atoms, member, last),
                converged=converged,
                reason=reason,
                steps=steps,
                energy=last.energy,
                fmax=force,
                pressure=end.pressure,
                volume=end.volume,
                seconds=time.perf_counter() - started,
                first_seconds=first_seconds,
                statistics=member.statistics(),
            )
        )
    return found


def cell_freedom(atoms: Atoms, settings: RelaxSettings) -> CellFreedom | None:
    """The cell's degrees of freedom, or None where it is held."""
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


def _row(look: Look, system: int = 0) -> Row:
    volume = look.volume
    pressure = None if volume is None else float(np.trace(look.virial)) / (3.0 * volume) / GPA
    return Row(look.step, look.energy, look.largest_force, pressure, volume, system)


def _relaxed(atoms: Atoms, engine: Any, last: Any) -> Atoms:
    relaxed: Atoms = atoms.copy()
    relaxed.set_cell(engine.cell)
    relaxed.set_positions(engine.positions(), apply_constraint=False)
    stress = None if engine.volume is None else last.stress
    hold_results(relaxed, last.energy, last.forces, stress, last.charges)
    return relaxed
