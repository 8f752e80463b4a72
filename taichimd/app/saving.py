"""A simulation as a checkpoint, as `taichimd run` writes them, and an engine that continues from one."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from taichimd.app.restart import (
    acting_of,
    at_rest,
    changes_of_machine,
    check_same_potential,
    counted_from,
    first_energy,
    machine,
    new_bath,
    ramp_of,
    read_run,
    resume,
)
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.app.trust import check_trusted
from taichimd.core.errors import OutputError, SettingsError, TaichimdWarning
from taichimd.core.machine import versions
from taichimd.core.printable import printable
from taichimd.ensembles.groups.given import group_baths
from taichimd.ensembles.registry import Ensemble
from taichimd.io.checkpoint import Checkpoint
from taichimd.settings.config import make_settings
from taichimd.settings.run import RunSettings
from taichimd.settings.types import absolute, checkpoint_of, of_each
from taichimd.system.constraints import wholly
from taichimd.system.groups import Groups, of_runs, runs_of

if TYPE_CHECKING:
    from taichimd.program.engine import Engine


NOT_OF_THE_ENGINE = ("potential", "temperature", "seed", "backend", "decomposition")
"""Settings of a checkpoint that an engine does not tell."""


class Account(NamedTuple):
    """First value of the conserved energy (eV), and the step from which its rows count (`Checkpoint`)."""

    first_total: float | None = None
    counted_from: int = 0


def potential_label(forcefield: Any) -> str | list[str] | None:
    """What a checkpoint calls a force field: its name, or its file, from any folder; None of an object."""
    from taichimd.forcefields.library import texts_of

    texts = texts_of(forcefield)
    return None if texts is None else of_each(texts, absolute)


def state_of(simulation: SimulatedSystem) -> dict[str, Any]:
    """Fields of a `Checkpoint` that the engine and the clock of a simulation have."""
    engine = simulation.engine
    return {
        "step": engine.step,
        "positions": engine.folded_positions(),
        "turns": engine.turns,
        "velocities": engine.velocities(),
        "forces": engine.forces(),
        "cell": engine.cell,
        "masses": engine.masses,
        "clock": {"time_fs": simulation.origin_fs, "step": simulation.origin_step},
        "versions": {**versions(), **machine(engine)},
        "bath": engine.bath_state(),
        "states": engine.atom_states(),
        "fixed": engine.held,
        "groups": {name: runs_of(numbers) for name, numbers in simulation.groups.items()},
        "exchange": {} if simulation.exchange is None else simulation.exchange.save(),
    }


def to_checkpoint(simulation: SimulatedSystem, settings: Mapping[str, Any], account: Account) -> Checkpoint:
    """The present state and settings (`NOT_OF_THE_ENGINE`) of a simulation; an OutputError if not finite."""
    engine, state = simulation.engine, state_of(simulation)
    if not (np.isfinite(state["positions"]).all() and np.isfinite(state["velocities"]).all()):
        raise OutputError(
            "positions or velocities are not finite numbers, so no checkpoint was written; continue from an "
            "earlier one with a smaller time step"
        )
    numbers = {**settings, "timestep": simulation.timestep, "precision": engine.precision}
    saved = RunSettings.of(numbers).with_ensemble(engine.ensemble)
    ramp = getattr(engine.ensemble, "ramp", None)
    record = engine.forcefield.describe(engine.symbols)
    return Checkpoint(
        **state,
        pbc=engine.pbc,
        numbers=simulation.numbers,
        settings=saved.record(),
        potential_hash=record["fingerprint"],
        last_step=engine.step,
        first_total=account.first_total,
        ramp=ramp if saved.ensemble.has_ramp else None,
        counted_from=account.counted_from,
        potential=record,
    )


def start_from(
    path: str | Path,
    forcefield: Any,
    ensemble: Ensemble | None,
    changes: dict[str, Any],
    trust: bool,
    groups: Mapping[str, Any] | None = None,
    acting: Sequence[Any] | None = None,
) -> tuple["Engine", RunSettings, Checkpoint, Account]:
    """An engine in the state of a checkpoint, settings, checkpoint, and the account; changes are warned of.

    What is None continues as in the checkpoint; `trust`: whether Python code that the checkpoint names may
    run (`taichimd.app.trust`).
    """
    from taichimd.forcefields.load import load_forcefield
    from taichimd.program.engine import Engine

    file = str(checkpoint_of(str(path)))
    checkpoint = read_run(file)
    settings = make_settings({**changes, "restart": file}, None, checkpoint.settings)
    spec = settings.potential.file if forcefield is None else forcefield
    if spec is None:
        raise SettingsError(
            f"checkpoint {file} does not name its potential file: give the force field, "
            "Simulation.load(path, forcefield)"
        )
    if forcefield is None:
        files = checkpoint.potential.get("python_files", {})
        check_trusted(f"checkpoint {file}", spec, files, trust, python=True)
    if ensemble is None:
        ensemble = settings.ensemble.make(ramp_of(settings, checkpoint, 1))
    else:
        settings = settings.with_ensemble(ensemble)
    potential = load_forcefield(spec)
    shown = settings.changed(potential=potential_label(spec) or potential.name)
    remarks = check_same_potential(shown, checkpoint, potential)
    checkpoint, rested = at_rest(checkpoint, settings)
    baths = acting_of(checkpoint, ensemble)
    if acting is not None:
        kept = {name: of_runs(runs) for name, runs in checkpoint.groups.items()}
        fixed = None if checkpoint.fixed is None else wholly(checkpoint.fixed)
        of_atoms = Groups(checkpoint.atoms(), {**kept, **(groups or {})}, fixed)
        baths, told = group_baths(acting, of_atoms, fixed)
        runs = {**of_atoms.runs(), **{one.name: runs_of(one.atoms) for one in baths}}
        checkpoint = replace(checkpoint, groups=runs)
        remarks += told
        bath = {k: v for k, v in checkpoint.bath.items() if k not in ("acting", "drives")}
        checkpoint = replace(checkpoint, bath=bath)
    engine = Engine(
        checkpoint.atoms(folded=True),
        potential,
        ensemble=ensemble,
        fixed=checkpoint.fixed,
        acting=baths,
        **settings.compute.record(),
    )
    resume(engine, checkpoint, ensemble)
    remarks += potential.remarks_on_timestep(settings.run.timestep, checkpoint.symbols)
    remarks += rested + new_bath(settings, checkpoint) + changes_of_machine(checkpoint, engine)
    if checkpoint.observed:
        remarks.append("observations (--observe) continue only with taichimd run --restart, not in Python")
    for remark in remarks:
        warnings.warn(printable(remark), TaichimdWarning, stacklevel=3)
    account = Account(first_energy(settings, checkpoint), counted_from(settings, checkpoint))
    return engine, settings.changed(potential=potential_label(spec)), checkpoint, account
