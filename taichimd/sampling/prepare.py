"""What the chains of `taichimd mc` start from: settings, checkpoints, structure and potential, checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ase import Atoms

from taichimd.app.job import load_with_remarks
from taichimd.app.trust import check_trusted, check_use
from taichimd.core.errors import CheckpointError, SettingsError
from taichimd.core.seeds import derived_seed
from taichimd.forcefields.base import ForceField
from taichimd.io.checkpoint import Checkpoint, check_same_system, read_checkpoint
from taichimd.io.files import lies_in
from taichimd.io.structures import read_noted, unused_charges
from taichimd.sampling.best_moves import best_moves, periodic_heights
from taichimd.sampling.kinds import ALL, SINGLE, check_move, first_move, largest_move
from taichimd.sampling.settings import MCSettings
from taichimd.settings.declared import settings_of
from taichimd.settings.types import absolute, of_each
from taichimd.system.overlaps import notes_on_overlap

_OF_EACH_RUN = ("sweeps", "output", "restart", "overwrite")
_OF_EACH_CHAIN = ("temperature", "replicas", "seed")
CHECKPOINT = "checkpoint.npz"
ENERGIES = 8
"""Energies of all triples that take about as long as a full evaluation, or as a sweep of single moves."""


@dataclass(frozen=True)
class ChainJob:
    """One chain."""

    settings: MCSettings  # its own: one temperature, its seed and folder
    atoms: Atoms  # the system; of a restart the checkpoint's
    checkpoint: Checkpoint | None  # what is continued, or None


@dataclass(frozen=True)
class MCJob:
    """Checked settings, with what the chains start from."""

    chains: list[ChainJob]  # each of them
    exchange: int | None  # sweeps between exchanges, or None
    rungs: int  # temperatures of a ladder
    steps: int  # sweeps of this run, with what is left of the equilibration
    restart: str | None  # what is continued, as it was told, or None
    forcefield: Any  # what acts between the atoms
    notes: list[str]  # remarks for the user


def prepare_mc(flags: Mapping[str, Any], *, trust: bool = False) -> MCJob:
    """Merge and check settings, read structure and potential; touches neither device nor output.

    `trust`: whether Python code that only the checkpoints name may run (`taichimd.app.trust`).
    """
    told = MCSettings(**flags)
    check_use(trust, told.restart)
    if told.restart is None:
        chains, forcefield, notes = _new_chains(told)
    else:
        chains = _continued(told, flags, trust)
        forcefield, notes = load_with_remarks(chains[0].settings.potential)
    settings, checkpoint = chains[0].settings, chains[0].checkpoint
    notes += notes_on_overlap(chains[0].atoms, refuse=True)
    rungs = len({one.settings.temperature for one in chains})
    if settings.exchange is not None and rungs == 1:
        if told.exchange is not None:
            raise SettingsError(f"exchange = {settings.exchange}: expected several temperatures")
        notes.append("this chain continues alone, without exchanges")
    if checkpoint is None:
        steps = (settings.equilibration or 0) + (told.sweeps or 0)
    else:
        steps = checkpoint.last_step - checkpoint.step
        if told.sweeps is not None:
            steps = told.sweeps + (told.equilibration or 0)
        if steps <= 0:
            raise SettingsError(
                f"the run of {told.restart} is complete: say how far to continue with --sweeps"
            )
    if told.exchange is not None and told.exchange > steps:
        raise SettingsError(
            f"exchange = {told.exchange:,}: the run has {steps:,} sweeps, so it would end before the first "
            "exchange; expected a shorter interval, or more sweeps"
        )
    evaluations = len(chains) * steps // (1 if settings.moves == SINGLE else ENERGIES)
    notes += forcefield.remarks_on_time(len(chains[0].atoms), evaluations, settings.backend)
    exchange = settings.exchange if rungs > 1 else None
    return MCJob(chains, exchange, rungs, steps, flags.get("restart"), forcefield, notes)


def _read(settings: MCSettings) -> tuple[Atoms, list[str]]:
    """The structure of settings, and remarks on it."""
    return read_noted(str(settings.structure), units=settings.input_units, atom_style=settings.atom_style)


def _new_chains(told: MCSettings) -> tuple[list[ChainJob], Any, list[str]]:
    """Chains from a structure, what acts in them, and remarks."""
    _check_complete(told, told.structure)
    if told.sweeps is None:
        raise SettingsError("the length of the run is not given: expected --sweeps N")
    atoms, read = _read(told)
    read += unused_charges(atoms)
    temperatures = told.temperatures
    if len(set(temperatures)) < len(temperatures):
        raise SettingsError(f"temperature = {told.temperature}: expected each once; --replicas repeats them")
    forcefield, notes = load_with_remarks(told.potential)
    whole, more = completed(told, forcefield, atoms)
    many, found = len(temperatures) * told.replicas > 1, []
    for k in range(len(temperatures) * told.replicas):
        own = temperatures[k % len(temperatures)]
        name = f"{k:03d}-{own:g}K"
        if told.replicas > 1:
            name += f"-replica{k // len(temperatures) + 1}"
        one: dict[str, Any] = {"temperature": own, "replicas": 1}
        if many:
            one |= {"seed": derived_seed(told.seed, {"chain": k}), "output": str(Path(told.output) / name)}
        found.append(ChainJob(_complete(whole, one), atoms, None))
    return found, forcefield, [*read, *notes, *more]


def _continued(told: MCSettings, flags: Mapping[str, Any], trust: bool) -> list[ChainJob]:
    """Chains from checkpoints."""
    path = Path(str(told.restart))
    several = [] if path.exists() else sorted(path.parent.glob(f"[0-9]*/{CHECKPOINT}"))
    if several and (given := [f"--{name}" for name in _OF_EACH_CHAIN if name in flags]):
        raise SettingsError(
            f"restart = {flags['restart']}: its chains keep their saved settings; leave out {given[0]}"
        )
    found = []
    for file in several or [path]:
        if several and not lies_in(file, path.parent):
            raise CheckpointError(f"{file} lies outside of {path.parent}, behind a link; restart it alone")
        checkpoint, own = _read_chain(str(file)), {**flags, "restart": str(file)}
        saved = {key: value for key, value in checkpoint.settings.items() if key not in _OF_EACH_RUN}
        folder = file.parent
        if told.equilibration is not None:
            # The setting of a chain is the sweep at which its equilibration ends.
            own["equilibration"] = checkpoint.step + told.equilibration
        if several and "output" in flags:
            own["output"] = str(Path(flags["output"]) / folder.name)
        settings = MCSettings(**{"output": str(folder), **saved, **own})
        _check_complete(settings, checkpoint)
        if "potential" not in flags:
            files = checkpoint.potential.get("python_files", {})
            check_trusted(f"checkpoint {file}", settings.potential, files, trust)
        if "structure" in flags:
            check_same_system(str(file), checkpoint, _read(settings)[0])
        found.append(ChainJob(_complete(settings, {}), checkpoint.atoms(), checkpoint))
        first = found[0].checkpoint
        if first is not None and checkpoint.step != first.step:
            raise CheckpointError(
                f"checkpoints of {flags['restart']} are of sweeps {first.step} and {checkpoint.step}; "
                f"expected one sweep: continue with each chain alone, --restart {folder}"
            )
    return found


def _check_complete(settings: MCSettings, start: Any) -> None:
    for key, known in (("structure", start), ("potential", settings.potential)):
        if known is None:
            raise SettingsError(f"no {key} given: expected taichimd mc STRUCTURE --potential FILE")


def _complete(settings: MCSettings, changes: dict[str, Any]) -> MCSettings:
    """Settings of one chain, which hold from any folder."""
    changes = {"potential": of_each(settings.potential or "", absolute), **changes}
    if settings.structure is not None:
        changes["structure"] = absolute(settings.structure, folder=True)
    return MCSettings(**{**settings.record(), **changes})


def _read_chain(path: str) -> Checkpoint:
    checkpoint = read_checkpoint(path)
    if not checkpoint.of_markov_chain:
        raise CheckpointError(
            f"checkpoint {path} was written by molecular dynamics; continue with taichimd run --restart, or "
            f"start Monte Carlo from it: taichimd mc {path}"
        )
    known = settings_of(MCSettings)
    unknown = [name for name in checkpoint.settings if name not in known]
    try:
        if unknown:
            raise SettingsError(f"unknown key {unknown[0]!r}")
        settings = MCSettings(**checkpoint.settings).record()
    except SettingsError as error:
        raise CheckpointError(f"checkpoint {path} is damaged or its version differs: {error}") from None
    return replace(checkpoint, settings={name: settings[name] for name in checkpoint.settings})


ROWS = 200
"""Rows of the table that a run has at least, if it has as many sweeps."""
MAX_SWEEPS = {SINGLE: 10, ALL: 100}
"""Sweeps between rows, at most: moves of all atoms need more sweeps to an independent configuration."""
FRAMES_EVERY = 100


def completed(settings: MCSettings, forcefield: ForceField, atoms: Atoms) -> tuple[MCSettings, list[str]]:
    """Settings of a new chain in which nothing is left open, and what to tell the user about it."""
    pressure = settings.pressure if settings.moves_volume else None
    check_move(settings.move, largest_move(forcefield, periodic_heights(atoms)))
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
