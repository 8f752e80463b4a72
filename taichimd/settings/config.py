"""From layers of values to the settings of a run: command line, TOML job file and Python.

Layers, later ones win: a checkpoint's settings (with `restart`), the job file, the flags. A mistake ends as
a one-line `SettingsError` that names the key, the value and what is expected.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.core.names import hint
from taichimd.core.printable import counted
from taichimd.core.units import FS
from taichimd.ensembles.registry import COMBINED, ENSEMBLES
from taichimd.settings.acting import ACTS, GROUPS, of_tables
from taichimd.settings.job_file import beside, read_toml
from taichimd.settings.observed import unused
from taichimd.settings.run import SETTINGS, TOPICS, RunSettings
from taichimd.settings.types import DRAW, NONE, parse_pressure

_RAMPS = {"final_temperature": "temperature", "final_pressure": "pressure"}
_NUMBERS = {"every": "n_rows", "frames_every": "n_frames"}
_SAME = (
    ("steps", "time", "how long the run is"),
    ("every", "n_rows", "how many rows there are"),
    ("frames_every", "n_frames", "how many frames there are"),
)
"""Settings of which one is given."""
_CONDITIONS = (
    "ensemble", "timestep", "temperature", "final_temperature", "pressure", "final_pressure", "cell_control",
    "cell_axes", "stretch", "shear", "strain_rate", "remap",
)  # fmt: skip
_OF_THERMOSTATS = ("coupling_time", "final_temperature")
_OF_BAROSTATS = (
    "pressure", "final_pressure", "pressure_coupling_time", "bulk_modulus", "cell_control", "cell_axes",
    "barostat_period",
)  # fmt: skip


def make_settings(
    flags: Mapping[str, Any] | None = None,
    job_file: Path | None = None,
    checkpoint: Mapping[str, Any] | None = None,
) -> RunSettings:
    """Merge the layers, each over the one behind it: flags, job file, checkpoint; and validate them.

    Flags are by the names of options, or in tables as in a job file; None means "not given". Of the settings
    of a checkpoint the length of its run and its output are not taken over.
    """
    given = {key: value for key, value in by_option(flags or {}).items() if value is not None}
    job = {}
    if job_file is not None:
        job = beside(job_file.parent, by_option(read_toml(job_file), str(job_file)))
        try:
            RunSettings.of(job)
        except SettingsError as error:
            raise SettingsError(f"{job_file}: {error}") from None
    for one, other, what in _SAME:
        for layer, where, mark in ((given, "", "--"), (job, f"{job_file}: ", "")):
            if one in layer and other in layer:
                names = " and ".join(mark + (key.replace("_", "-") if mark else key) for key in (one, other))
                raise SettingsError(f"{where}{names} both say {what}; give one of them")
        if one in given or other in given:
            job = {key: value for key, value in job.items() if key not in (one, other)}
    # Who observes something else on the command line need not touch what the job file says of observables.
    for key in _of_other_observables(given.get("observe")):
        job.pop(key, None)
    saved = by_option(checkpoint or {}, f"checkpoint {given.get('restart')}")
    merged = {**_inherited(saved, {**job, **given}), **job, **given}
    settings = RunSettings.of(merged)
    # A job may be tried with fewer steps on the command line than it has rows or frames.
    own = given if {"steps", "time"} & given.keys() else {**job, **given}
    _check_numbers(settings, own, settings.run.number_of_steps())
    # Who leaves frames out on the command line need not touch what the job file says of them.
    _check_frames(settings, given if "frames" in given else {**job, **given})
    if settings.system.restart is None or checkpoint is not None:
        _check_ensemble(settings, {**job, **given})
    return settings


def by_option(values: Mapping[str, Any], where: str = "settings") -> dict[str, Any]:
    """Values by the names of options, from those and from tables of a topic, or lists of tables.

    SettingsError: an unknown key or table, a key in another's table, or a setting that is given twice.
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        tables = isinstance(value, list | tuple) and any(isinstance(one, Mapping) for one in value)
        if (isinstance(value, Mapping) and key in (GROUPS, *ACTS)) or (tables and key in ACTS):
            option = "group" if key == GROUPS else key
            options = {option: of_tables(key, value, where)}
        elif isinstance(value, Mapping):
            topic = _known(key, [*TOPICS, GROUPS, *ACTS], f"{where}: unknown table", "tables")
            names = {one.name: option for option, one in SETTINGS.items() if one.topic == topic}
            options = {_option(name, topic, names, where): one for name, one in value.items()}
        else:
            options = {_known(key, list(SETTINGS), f"{where}: unknown key", "keys"): value}
        for option in options.keys() & found.keys():
            raise SettingsError(f"{where}: {option} is given twice, in a table and outside; give it once")
        found |= options
    return found


def _option(name: str, topic: str, names: Mapping[str, str], where: str) -> str:
    """Name of the setting of a key in the table of a topic."""
    if name not in names and name in SETTINGS:
        place = SETTINGS[name]
        raise SettingsError(
            f"{where}: unknown key {name!r} in [{topic}]; it is {place.name!r} in [{place.topic}]"
        )
    return names[_known(name, list(names), f"{where}: unknown key", "keys", f" in [{topic}]")]


def _known(key: str, known: list[str], what: str, kind: str, place: str = "") -> str:
    """The key, or a SettingsError if it is not known."""
    if key in known:
        return key
    raise SettingsError(f"{what} {key!r}{place}; {hint(key, known, kind)}")


def _inherited(checkpoint: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a restart takes over: not what belongs to each run, nor what its own settings replace."""
    dropped = {"steps", "time", "output", "restart", "overwrite", "profile", "velocities", "from_frame"}
    dropped |= _of_other_observables(own.get("observe"))
    ensemble = own.get("ensemble", checkpoint.get("ensemble"))
    new_bath = ensemble != checkpoint.get("ensemble")
    if new_bath:
        dropped.add("coupling_time")
        # From one barostat to another, to equilibrate and then to sample, the pressure stays what it was.
        if ensemble not in COMBINED:
            dropped |= set(_OF_BAROSTATS)
    kept = {k: v for k, v in checkpoint.items() if k not in dropped}
    for final, key in _RAMPS.items():
        if key in own:
            kept.pop(final, None)
    # Only another number means other intervals: the files are to be those of a run that was never cut.
    for key, number in _NUMBERS.items():
        if key in own or (number in own and own[number] != checkpoint.get(number)):
            kept = {name: value for name, value in kept.items() if name not in (key, number)}
    # With a new bath or a new ramp those of before are over: what comes begins where they were to end.
    if new_bath or any(
        parse_pressure({**kept, **own}.get(key)) != parse_pressure(checkpoint.get(key))
        for key in (*_RAMPS, *_RAMPS.values())
    ):
        ends = {key: kept.pop(final, None) for final, key in _RAMPS.items()}
        kept |= {key: end for key, end in ends.items() if end is not None}
    # Another stretch of conditions has an equilibration of its own.
    if own.get("velocities") == DRAW or any(
        key in own and parse_pressure(own[key]) != parse_pressure(checkpoint.get(key)) for key in _CONDITIONS
    ):
        kept.pop("equilibrate", None)
    return kept


def _of_other_observables(observe: Any) -> set[str]:
    """Settings that these observables do not use; none if `observe` is not given."""
    if observe is None:
        return set()
    if observe == NONE:
        return {option for option, one in SETTINGS.items() if one.topic == "observe"} - {"observe"}
    return unused([word.strip() for word in str(observe).split(",")])


def check_velocities(settings: RunSettings, given: Collection[str], source: str) -> None:
    """Raise a SettingsError if temperature or seed are `given`, but nothing drawn and no bath needs them."""
    ensemble = settings.ensemble
    for key in ("temperature", "seed") if not ensemble.kind.acts_on else ():
        if key in given and not (key == "seed" and settings.acting.bath):
            raise SettingsError(
                f"{key} = {getattr(ensemble, key)}: velocities come from {source}, and nve keeps their "
                f"energy; leave {key} out, choose a thermostat, or draw new ones with --velocities draw"
            )


def _check_numbers(settings: RunSettings, given: Collection[str], steps: int | None) -> None:
    """Raise a SettingsError if more rows or frames are asked than the run has steps."""
    for key in _NUMBERS.values():
        number = getattr(settings.output, key)
        if key in given and steps is not None and number is not None and number > steps:
            raise SettingsError(
                f"{key} = {number:,}: the run has {counted(steps, 'step')}; expected as many or fewer"
            )


def _check_frames(settings: RunSettings, given: Collection[str]) -> None:
    """Raise if something is asked of frames, where none are written."""
    output = settings.output
    for key in ("frames_every", "n_frames", "per_atom") if output.frames == NONE else ():
        if key in given and getattr(output, key) is not None:
            raise SettingsError(
                f"{key} = {getattr(output, key)}: with frames = none no frame is written; leave {key} out, "
                "or choose frames = extxyz, netcdf or traj"
            )


def _check_ensemble(settings: RunSettings, given: Collection[str]) -> None:
    """Raise a SettingsError if settings of thermostat and barostat, of which some are `given`, do not fit."""
    ensemble, values = settings.ensemble, settings.ensemble.record()
    deforms = ensemble.kind.deforms
    for key in () if deforms else ("strain_rate", "remap"):
        if key in given and values[key] is not None:
            raise SettingsError(
                f"{key} = {values[key]}: nothing is deformed; give --stretch or --shear with it"
            )
    for what, keys, kinds in (
        ("thermostat", _OF_THERMOSTATS, [n for n, kind in ENSEMBLES.items() if kind.acts_on]),
        ("barostat", _OF_BAROSTATS, list(COMBINED)),
    ):
        for key in keys if ensemble.name not in kinds else ():
            if key in given and not (deforms and key == "barostat_period"):
                raise SettingsError(
                    f"{key} = {values[key]} needs a {what}, but the ensemble is {ensemble.name}; "
                    f"choose one of {', '.join(kinds)}"
                )
    if "barostat_period" in given and deforms and ensemble.remap_of_deformation == "peculiar":
        raise SettingsError(f"barostat_period = {ensemble.period}: SLLOD acts each step; leave it out")
    if "barostat_period" in given and ensemble.name in COMBINED and COMBINED[ensemble.name].has_inertia:
        raise SettingsError(
            f"barostat_period = {ensemble.period}: {ensemble.name} acts each step; leave it out"
        )
    if (
        "bulk_modulus" in given
        and ensemble.name in COMBINED
        and not COMBINED[ensemble.name].uses_bulk_modulus
    ):
        raise SettingsError(
            f"bulk_modulus = {ensemble.bulk_modulus:g}: {ensemble.name} has no use for it; leave it out"
        )
    ensemble.make((0, 1) if ensemble.has_ramp else None).check_timestep(settings.run.timestep * FS)
