"""What `taichimd run` observes, from settings to files; a restart that completes a run continues with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms

from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import SettingsError
from taichimd.core.printable import any_of
from taichimd.estimators.bond_history import BondRule
from taichimd.io.checkpoint import Checkpoint
from taichimd.observables.plan import Plan
from taichimd.observables.planning import (
    check_forcefield,
    check_system,
    make_plan,
    observables_of,
    parse_kinds,
    saved_plan,
)
from taichimd.settings.observed import USED_BY, unused
from taichimd.settings.run import SETTINGS, RunSettings
from taichimd.settings.types import DRAW, parse_time
from taichimd.system.constraints import constrained, directions

if TYPE_CHECKING:
    from taichimd.app.live import Observations


def plan_of(settings: RunSettings, first_step: int, steps: int) -> Plan | None:
    """The plan that settings ask for, or None."""
    observe = settings.observe
    changed = {
        key: f"{value:g}" if isinstance(value, float) else value
        for key, value in observe.record().items()
        if value != SETTINGS[key].default
    }
    if observe.quantities is None:
        for key, value in changed.items():
            example = USED_BY.get(key, ("rdf,msd",))[0]
            raise SettingsError(
                f'{key} = {value}: nothing is observed; also give observe, such as "{example}"'
            )
        return None
    window = None if observe.window is None else parse_time(observe.window)
    kinds, timestep = parse_kinds(observe.quantities), settings.run.timestep
    for key in sorted(unused(kinds) & changed.keys()):
        raise SettingsError(
            f"{key} = {changed[key]}: it is a setting of {any_of(USED_BY[key])}, and observe = "
            f"{observe.quantities}; leave {key} out, or add {USED_BY[key][0]} to observe"
        )
    plan = make_plan(
        kinds,
        first_step,
        steps,
        timestep,
        observe.every,
        window,
        observe.r_max,
        bond_order=observe.bond_order,
        profile=(observe.profile_axis, observe.profile_bin),
        spectrum=(observe.spectrum_axis, observe.spectrum_of, parse_time(observe.spectrum_window)),
        interface=observe.interface_of,
    )
    return plan.with_rule(BondRule(observe.bond_formed, observe.bond_broken, observe.bond_lifetime / 1000.0))


def plan_of_restart(
    settings: RunSettings, checkpoint: Checkpoint, steps: int, equilibrate: int = 0
) -> tuple[Plan | None, list[str]]:
    """The plan of a restart: the one that was begun, if this run completes it, else a new one; and notes.

    `equilibrate`: steps of this run before the first sample, which its user gave.
    """
    saved = saved_plan(checkpoint.observed)
    same = (
        checkpoint.settings.get("ensemble") == settings.ensemble.name and settings.system.velocities != DRAW
    )
    if saved is not None and settings.observe.quantities is not None and same and not equilibrate:
        whole = checkpoint.step + steps - saved.first_step
        if plan_of(settings, saved.first_step, whole) == saved:
            return saved, []
    last, begin = checkpoint.step + steps, checkpoint.step + equilibrate
    if saved is not None and same and settings.run.equilibrate and saved.first_step < last:
        # A run that was stopped while it equilibrated has that yet to do.
        begin = max(begin, saved.first_step)
    plan = plan_of(settings, begin, last - begin)
    if saved is None or plan is None:
        return plan, []
    return plan, [f"observations start again at step {begin:,}: length or settings differ"]


def check(plan: Plan | None, atoms: Atoms, forcefield: Any) -> None:
    """Raise a TaichimdError if structure or force field do not allow what is to be observed."""
    if plan is not None:
        check_forcefield(plan, forcefield)
        symbols, cell = atoms.get_chemical_symbols(), atoms.cell.array
        check_system(
            plan,
            symbols,
            atoms.get_masses(),
            cell,
            atoms.pbc,
            np.any(directions(constrained(atoms), len(atoms)), axis=1),
        )


def check_exchange(plan: Plan | None, exchanges: Sequence[Any]) -> None:
    """Raise a SettingsError for observables that need the same atoms throughout, if there are exchanges."""
    if plan is None or not exchanges:
        return
    each = {kind.name: kind.takes_exchange for kind in observables_of(plan)}
    if not all(each.values()):
        refused = ", ".join(name for name, takes in each.items() if not takes)
        raise SettingsError(
            f"observe = {refused}: needs the same atoms in all samples, and {exchanges[0].called} changes "
            "them; observe species, or a run without insertions and deletions"
        )


def files_of(plan: Plan | None, plot_format: str = "png") -> tuple[str, ...]:
    """Names of the files that a run will write."""
    kinds = [] if plan is None else observables_of(plan)
    return tuple(file for kind in kinds for file in kind.files(plot_format))


def start(
    simulation: SimulatedSystem, plan: Plan | None, checkpoint: Checkpoint | None
) -> "Observations | None":
    """Samplers of a run, with what a checkpoint of the same plan has."""
    if plan is None:
        return None
    from taichimd.app.live import Observations

    observations = Observations(simulation.engine, plan, simulation.groups)
    if checkpoint is not None and saved_plan(checkpoint.observed) == plan:
        observations.load(checkpoint.observed)
    return observations


def finish(
    observations: "Observations | None", folder: Path, title: str, plot_format: str = "png"
) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Write the results if the run is complete: rows for the summary, and the entry of run.json."""
    if observations is None:
        return [], {}
    plan = observations.plan
    entry: dict[str, Any] = {"plan": plan.to_json(), "samples_taken": observations.taken}
    if not observations.complete:
        rows = [
            ("observed", f"{observations.taken} of {plan.samples} samples; tables when the run is complete")
        ]
    else:
        rows = observations.write(folder, title, plot_format)
        rows += [("note", note) for note in observations.notes]
        entry |= {"results": rows, "values": observations.values, "observables": observations.summaries}
    return rows, {"observed": {**entry, "notes": observations.notes}}
