"""What a restart carries over from its checkpoint besides positions and velocities."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ase import Atoms

from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import CheckpointError, MissingParameterError, SettingsError
from taichimd.ensembles.beside import why_no_groups
from taichimd.ensembles.drives.given import STATE as STATE_OF_DRIVES
from taichimd.ensembles.drives.given import GroupDrive, drive_of_record
from taichimd.ensembles.groups.given import STATE, GroupBath, of_record
from taichimd.ensembles.registry import Ensemble, ensemble_class
from taichimd.io.checkpoint import Checkpoint, read_checkpoint
from taichimd.io.potential import differences, in_another_order
from taichimd.io.structures import has_velocities
from taichimd.program.decomposition import PARTICLE
from taichimd.settings.acting import ActingSettings
from taichimd.settings.config import by_option
from taichimd.settings.run import RunSettings
from taichimd.settings.types import DRAW, each
from taichimd.system.velocities import drift, maxwell_boltzmann

_NEEDED = ("timestep", "every")
"""Settings that every version has written, and a restart continues from."""

if TYPE_CHECKING:
    from taichimd.program.system import System


def read_run(path: str | Path) -> Checkpoint:
    """The checkpoint of a run of molecular dynamics, or a CheckpointError."""
    checkpoint = read_checkpoint(path)
    if checkpoint.of_markov_chain:
        raise CheckpointError(
            f"checkpoint {path} was written by Monte Carlo; continue with taichimd mc --restart, or start "
            f"molecular dynamics from it: taichimd run {path}"
        )
    return replace(checkpoint, settings=_checked(path, checkpoint.settings))


def _checked(path: str | Path, saved: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a checkpoint as their types have them, or a CheckpointError."""
    try:
        own = by_option(saved)
        settings = RunSettings.of(own).record()
    except SettingsError as error:
        raise CheckpointError(f"checkpoint {path} is damaged or its version differs: {error}") from None
    missing = [name for name in _NEEDED if name not in own]
    if missing:
        raise CheckpointError(
            f"checkpoint {path} is damaged: its settings lack {missing[0]}; use an earlier one"
        )
    return {name: settings[name] for name in own}


def ramp_of(settings: RunSettings, checkpoint: Checkpoint | None, steps: int) -> tuple[int, int] | None:
    """First and last step of the ramps of temperature and pressure, or None without any.

    They go over the run that they were given to: a restart with the same values continues with them, and
    holds the final ones once they are over; another value makes new ramps.
    """
    if not settings.ensemble.has_ramp:
        return None
    if checkpoint is not None and checkpoint.ramp is not None:
        keys = ("temperature", "final_temperature", "pressure", "final_pressure")
        # Through the model: JSON has made lists of tuples.
        before = RunSettings.of(checkpoint.settings).ensemble
        if all(getattr(before, key) == getattr(settings.ensemble, key) for key in keys):
            return checkpoint.ramp[0], checkpoint.ramp[1]
    first = checkpoint.step if checkpoint is not None else 0
    return first, first + steps


def cut_ramp(settings: RunSettings, checkpoint: Checkpoint, steps: int) -> list[str]:
    """A remark if ramps of the checkpoint are given up before their end, where a bath leaps to it."""
    ramp = checkpoint.ramp
    kind = settings.ensemble.kind
    acts = kind.acts_on or kind.moves_cell
    gone_on = ramp is not None and ramp_of(settings, checkpoint, steps) == tuple(ramp)
    if ramp is None or checkpoint.step >= ramp[1] or gone_on or not acts:
        return []
    return [
        f"the ramp of the checkpoint, which was to end at step {ramp[1]:,}, is given up at step "
        f"{checkpoint.step:,}: what is not given starts at its final value"
    ]


def at_rest(checkpoint: Checkpoint, settings: RunSettings) -> tuple[Checkpoint, list[str]]:
    """The checkpoint without the motion of the centre of mass that noise has left, and a remark.

    Only where another ensemble continues: that keeps the momentum, and counts 3N - 3 degrees of freedom. With
    fixed atoms no ensemble does.
    """
    before = ensemble_class(checkpoint.settings)
    left = before.moves_centre and not settings.ensemble.kind.moves_centre
    if not left or len(checkpoint.numbers) == 1 or checkpoint.fixed is not None:
        return checkpoint, []
    velocities = checkpoint.velocities - drift(checkpoint.masses, checkpoint.velocities)
    note = f"the centre of mass, which moves in {before.name}, was brought to rest"
    return replace(checkpoint, velocities=velocities), [note]


def redrawn(checkpoint: Checkpoint, settings: RunSettings, steps: int) -> tuple[Checkpoint, list[str]]:
    """The checkpoint with Maxwell-Boltzmann velocities, if they are to be drawn, and a remark.

    Their temperature is what the bath holds now: of a ramp its value at this step. Baths and observations
    have no past with these velocities.
    """
    if settings.system.velocities != DRAW:
        return checkpoint, []
    ensemble = settings.ensemble
    temperature = ensemble.temperature
    ramp = ramp_of(settings, checkpoint, steps)
    if ramp is not None and ensemble.final_temperature is not None:
        done = min(max((checkpoint.step - ramp[0]) / (ramp[1] - ramp[0]), 0.0), 1.0)
        temperature += done * (ensemble.final_temperature - temperature)
    velocities = maxwell_boltzmann(checkpoint.masses, temperature, ensemble.seed, checkpoint.fixed)
    note = (
        f"new velocities are drawn at {temperature:g} K, seed {ensemble.seed}: thermostats and barostats are "
        "reset, and conserved_eV and the drift count from here"
    )
    acting = [{k: v for k, v in one.items() if k not in STATE} for one in checkpoint.bath.get("acting", [])]
    bath: dict[str, Any] = {"acting": acting} if acting else {}
    drives = checkpoint.bath.get("drives", [])
    if drives:
        bath["drives"] = [{k: v for k, v in one.items() if k not in STATE_OF_DRIVES} for one in drives]
    return replace(checkpoint, velocities=velocities, bath=bath, observed={}), [note]


def acting_of(checkpoint: Checkpoint | None, ensemble: Ensemble) -> list[GroupBath | GroupDrive]:
    """The drives of a checkpoint; and its baths of groups, if they go with the ensemble."""
    if checkpoint is None:
        return []
    drives = [drive_of_record(one) for one in checkpoint.bath.get("drives", [])]
    baths = [of_record(one) for one in checkpoint.bath.get("acting", [])]
    return list(drives) if why_no_groups(ensemble, False, baths) else [*baths, *drives]


def resume(engine: "System", checkpoint: Checkpoint, ensemble: Ensemble) -> None:
    """Put the state of a checkpoint into an engine; a bath only into one that can continue from it."""
    engine.set_state(
        positions=checkpoint.positions,
        turns=checkpoint.turns,
        velocities=checkpoint.velocities,
        forces=checkpoint.forces,
        step=checkpoint.step,
        bath=_bath_of(checkpoint, ensemble),
    )
    engine.set_atom_states(checkpoint.states)


def _bath_of(checkpoint: Checkpoint, ensemble: Ensemble) -> dict[str, Any] | None:
    """State of the baths and drives that continue with the ensemble; None if there is none."""
    bath = checkpoint.bath
    if bath and ensemble.goes_on_from(bath):
        return bath
    return {"drives": bath["drives"]} if "drives" in bath else None


def set_first_velocities(engine: "System", atoms: Atoms, temperature: float, seed: int) -> None:
    """Give an engine the velocities of its structure, or draw some at a temperature if there are none."""
    if has_velocities(atoms):
        engine.set_state(velocities=atoms.get_velocities())
    else:
        engine.set_state(velocities=maxwell_boltzmann(engine.masses, temperature, seed, engine.still))


def first_energy(settings: RunSettings, checkpoint: Checkpoint | None) -> float | None:
    """Conserved energy (eV) from which the drift counts; None if that starts again, with a new bath."""
    return checkpoint.first_total if checkpoint is not None and _goes_on(settings, checkpoint) else None


def counted_from(settings: RunSettings, checkpoint: Checkpoint | None) -> int:
    """First step whose conserved energy is of this bath: each counts what it has received itself."""
    if checkpoint is None:
        return 0
    return checkpoint.counted_from if _goes_on(settings, checkpoint) else checkpoint.step + 1


def new_bath(settings: RunSettings, checkpoint: Checkpoint) -> list[str]:
    """A remark if the ensemble is the same, and yet its bath begins again."""
    same = (
        checkpoint.settings.get("ensemble") == settings.ensemble.name and settings.system.velocities != DRAW
    )
    if not same or _goes_on(settings, checkpoint) or not same_acting(settings, checkpoint):
        return []
    return [
        f"{settings.ensemble.name} with other settings: its bath begins again, and conserved_eV with it, "
        "from which drifts count"
    ]


def same_acting(settings: RunSettings, checkpoint: Checkpoint) -> bool:
    """Whether what acts on groups is that of a checkpoint."""
    before = acting_before(checkpoint)
    acting = settings.acting
    return acting == before or not any((acting.items, before.items, acting.exchanges, before.exchanges))


def acting_before(checkpoint: Checkpoint) -> ActingSettings:
    """The settings of groups that a checkpoint has."""
    return RunSettings.of({key: checkpoint.settings.get(key) for key in ActingSettings().record()}).acting


def _goes_on(settings: RunSettings, checkpoint: Checkpoint) -> bool:
    if settings.system.velocities == DRAW or not same_acting(settings, checkpoint):
        return False
    # Which bath it is does not depend on its ramps.
    ensemble = settings.ensemble.make((0, 1) if settings.ensemble.has_ramp else None)
    return ensemble.goes_on_from(checkpoint.bath)


def machine(engine: "System") -> dict[str, str]:
    """Runtime, backend and decomposition, on which the last bits may depend."""
    from taichimd.core.runtime import info

    here = {key: str(info().get(key)) for key in ("runtime", "backend")}
    return {**here, "decomposition": engine.decomposition}


def changes_of_machine(checkpoint: Checkpoint, engine: "System") -> list[str]:
    """A remark if the run continues where its bits may come out otherwise."""
    now = machine(engine)
    # A checkpoint that does not say is of a version that knew only this one.
    before = {**now, "decomposition": PARTICLE, **checkpoint.versions}
    changed = [key for key in now if before[key] != now[key]]
    what = ", ".join(f"{key} {before[key]} (now {now[key]})" for key in changed)
    return [f"the checkpoint is of {what}: last digits may differ from an uncut run"] if changed else []


def continue_clock(simulation: SimulatedSystem, checkpoint: Checkpoint) -> None:
    """Continue counting time; only another time step needs a new origin."""
    clock, old = checkpoint.clock, checkpoint.settings["timestep"]
    simulation.origin_fs, simulation.origin_step = clock["time_fs"], int(clock["step"])
    if old != simulation.timestep:
        simulation.origin_fs += (checkpoint.step - simulation.origin_step) * old
        simulation.origin_step = checkpoint.step


def check_same_potential(settings: RunSettings, checkpoint: Checkpoint, forcefield: Any) -> list[str]:
    """Raise a CheckpointError unless a run continues with the potential of its checkpoint; or remarks."""
    potentials, path = each(settings.potential.file or ""), settings.system.restart
    shown, options = " + ".join(potentials), " ".join(f"--potential {one}" for one in potentials)
    new_run = f"start a new run from it: taichimd run {path} {options}, with ensemble, length and --output"
    if not checkpoint.potential:
        raise CheckpointError(
            f"checkpoint {path} is of an earlier version, which recorded too little of its potential to tell "
            f"whether it is {shown}; {new_run}"
        )
    another = f"checkpoint {path} was made with a different potential than {shown}"
    try:
        potential = forcefield.describe(checkpoint.symbols)
    except MissingParameterError as error:
        raise CheckpointError(f"{another}: {error}; give the potential of the checkpoint, or none") from None
    if checkpoint.potential_hash == potential["fingerprint"]:
        moved = in_another_order(checkpoint.potential, potential)
        return ["potentials are added up in a different order: last digits may differ"] if moved else []
    raise CheckpointError(
        f"{another}: {differences(checkpoint.potential, potential)}; give the same one, or {new_run}"
    )
