"""Settings of a run: one validated model behind the command line, the TOML job file and Python.

Layers, later ones win: a checkpoint's settings (with `restart`), the job file, the flags. A mistake ends as
a one-line `SettingsError` that names the key, the value and what is expected.
"""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from taichimd.app.job_file import read_job_file
from taichimd.app.setting_types import (
    MOST_STEPS,
    NONE,
    TIME_EXPECTED,
    Femtoseconds,
    Potential,
    Pressure,
    checked_per_atom,
    checkpoint_of,
    parse_pressure,
    parse_time,
    without_none,
)
from taichimd.core.errors import SettingsError
from taichimd.core.units import FS
from taichimd.dynamics.ensembles import BAROSTATS, ENSEMBLES, Ensemble

KEYS = {"control": "cell_control", "axes": "cell_axes", "period": "barostat_period"}
"""Settings whose names are not those of the ensembles' arguments."""
_RAMPS = {"final_temperature": "temperature", "final_pressure": "pressure"}
_OF_THERMOSTATS = ("coupling_time", "final_temperature")
_OF_BAROSTATS = (
    "pressure", "final_pressure", "pressure_coupling_time", "bulk_modulus", "cell_control", "cell_axes",
    "barostat_period",
)  # fmt: skip


class RunSettings(BaseModel):
    """Everything that decides what a run computes and where it writes.

    The `description` of a field says what is expected of it; error messages are made from it.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    structure: str | None = Field(
        None, description="a structure file that ASE reads, a checkpoint, or the folder of a run"
    )
    potential: Potential = Field(
        None,
        description="a parameter file, a shipped name (`taichimd potentials`), file.py:name, or several",
    )
    from_frame: int | None = Field(
        None, description="the number of a frame of a trajectory; 0 is the first, -1 the last"
    )
    ensemble: Literal[
        "nve", "nvt-langevin", "nvt-berendsen", "nvt-bussi", "nvt-nose-hoover",
        "npt-berendsen", "npt-scr", "npt-mtk",
    ] = Field(
        "nve",
        description="nve, nvt-langevin, nvt-berendsen, nvt-bussi, nvt-nose-hoover, npt-berendsen, npt-scr or "
        "npt-mtk",
    )  # fmt: skip
    temperature: float = Field(
        300.0,
        gt=0,
        allow_inf_nan=False,
        description="a number above 0 (K), for velocities and thermostat",
    )
    final_temperature: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="a number above 0 (K), where the bath's ramp ends"
    )
    velocities: Literal["auto", "file", "draw"] = Field(
        "auto", description="auto, file or draw: those of the structure, or Maxwell-Boltzmann ones"
    )
    coupling_time: Femtoseconds = Field(
        100.0,
        gt=0,
        allow_inf_nan=False,
        description='a number above 0 (fs) or such as "0.1ps", how long the thermostat takes; typical are '
        "50 to 1000 fs",
    )
    pressure: Pressure = Field(
        0.0, description='a number, or three for x, y and z such as "0,0,1" (GPa), what a barostat holds'
    )
    final_pressure: Pressure = Field(
        None, description="a number or three (GPa), where the pressure's ramp ends"
    )
    pressure_coupling_time: Femtoseconds = Field(
        1000.0,
        gt=0,
        allow_inf_nan=False,
        description='a number above 0 (fs) or such as "1ps", how long the cell takes; typical are 500 to '
        "5000 fs",
    )
    bulk_modulus: float = Field(
        50.0, gt=0, allow_inf_nan=False, description="a number above 0 (GPa), an estimate for the material"
    )
    cell_control: Literal["isotropic", "orthorhombic", "triclinic"] = Field(
        "isotropic", description="isotropic, orthorhombic or triclinic: what of the cell may change"
    )
    cell_axes: str = Field("xyz", description='the axes whose pressure is controlled, such as "xy"')
    barostat_period: int = Field(
        10, gt=0, description="a whole number above 0: steps between actions of the barostat"
    )
    timestep: Femtoseconds = Field(
        1.0, gt=0, allow_inf_nan=False, description='a number above 0 (fs), or a time such as "1fs"'
    )
    steps: int | None = Field(
        None, gt=0, le=MOST_STEPS, description="a whole number above 0, at most 1e15: the steps of this run"
    )
    time: str | None = Field(None, description=TIME_EXPECTED)
    output: str = Field("taichimd-run", min_length=1, description="the name of a folder")
    every: int = Field(100, gt=0, description="a whole number above 0: steps between rows of the table")
    frames: Literal["extxyz", "traj", "none"] = Field(
        "extxyz", description="extxyz (text), traj (ASE's binary format) or none"
    )
    frames_every: int | None = Field(
        None, gt=0, description="a whole number above 0: steps between frames; else those of every"
    )
    plot_format: Literal["png", "pdf", "svg"] = Field("png", description="png, pdf or svg: of pictures")
    per_atom: Annotated[str | None, AfterValidator(checked_per_atom)] = Field(
        None, description="energy, virial or both as energy,virial: more columns; or none"
    )
    backend: Literal["auto", "cuda", "cpu"] = Field("auto", description="auto, cuda or cpu")
    observe: Annotated[str | None, AfterValidator(without_none)] = Field(
        None, description="some of rdf, msd, vacf, heat, viscosity, with commas between; or none"
    )
    observe_every: int = Field(10, gt=0, description="a whole number above 0: steps between samples")
    observe_window: str | None = Field(
        None, description='the longest correlation time with its unit, such as "5ps"'
    )
    observe_r_max: float = Field(
        8.0, gt=0, allow_inf_nan=False, description="a number above 0 (Å), the largest distance of the RDF"
    )
    precision: Literal["float64", "mixed", "float32"] = Field(
        "float64", description="float64, mixed or float32"
    )
    decomposition: Literal["particle", "tuple", "auto"] = Field("auto", description="particle, tuple or auto")
    seed: int = Field(1, ge=0, lt=2**63, description="a whole number from 0 to 2^63 - 1 (9.2e18)")
    restart: Annotated[str | None, AfterValidator(checkpoint_of)] = Field(
        None, description="a checkpoint file, or the folder of a run"
    )
    overwrite: bool = Field(False, description="true or false")
    profile: bool = Field(False, description="true or false")
    checkpoint_interval: float = Field(
        60.0, gt=0, allow_inf_nan=False, description="a number above 0 (seconds of wall clock)"
    )

    def number_of_steps(self) -> int | None:
        """Steps of this run, from `steps` or `time`; None when neither is given.

        Raises:
            SettingsError: `time` cannot be read, is shorter than half a time step, or takes too many.
        """
        if self.time is None:
            return self.steps
        steps = parse_time(self.time) / self.timestep
        if steps > MOST_STEPS:
            many = f"{steps:.2g} steps of {self.timestep:g} fs"
            raise SettingsError(f"time {self.time!r} takes {many}; expected {MOST_STEPS:.0e} at most")
        if round(steps) < 1:
            raise SettingsError(f"time {self.time!r} is shorter than the time step of {self.timestep:g} fs")
        return round(steps)

    def make_ensemble(self, ramp: tuple[int, int] | None) -> Ensemble:
        """The ensemble that these settings describe.

        Args:
            ramp: first and last step of the ramps of temperature and pressure; None without one.
        """
        own: dict[str, Any] = {"ramp": ramp, "pressure": 0.0 if self.pressure is None else self.pressure}
        names = [field.name for field in fields(self.kind)]
        return self.kind(**{n: own[n] if n in own else getattr(self, KEYS.get(n, n)) for n in names})

    @property
    def steps_between_frames(self) -> int:
        """`frames_every`, or else `every`."""
        return self.every if self.frames_every is None else self.frames_every

    @property
    def kind(self) -> type[Ensemble]:
        """The class of the ensemble, which says what it can do."""
        return ENSEMBLES[self.ensemble]

    @property
    def moves_cell(self) -> bool:
        """Whether the ensemble has a barostat."""
        return self.kind.moves_cell

    @property
    def has_ramp(self) -> bool:
        """Whether temperature or pressure goes along a ramp."""
        if not self.kind.acts_on:
            return False
        return self.final_temperature is not None or (self.moves_cell and self.final_pressure is not None)

    def describe_thermostat(self) -> str:
        """Temperatures and coupling on one line."""
        final = "" if self.final_temperature is None else f" to {self.final_temperature:g}"
        return f"{self.ensemble}, {self.temperature:g}{final} K, coupling time {self.coupling_time:g} fs"

    def describe_barostat(self) -> str:
        """Pressures, coupling and what may change on one line."""

        def shown(pressure: float | tuple[float, ...] | None) -> str:
            numbers = pressure if isinstance(pressure, tuple) else (pressure or 0.0,)
            return ",".join(f"{value:g}" for value in numbers)

        final = "" if self.final_pressure is None else f" to {shown(self.final_pressure)}"
        axes = "" if self.cell_axes == "xyz" else f" along {self.cell_axes}"
        return (
            f"{shown(self.pressure)}{final} GPa, coupling time {self.pressure_coupling_time:g} fs, "
            f"{self.cell_control}{axes}"
        )

    def check_velocities(self, given: Collection[str], source: str) -> None:
        """Raise if temperature or seed are given, where nothing is drawn and no thermostat needs them.

        Args:
            given: keys that this run's user gave.
            source: where the velocities come from.

        Raises:
            SettingsError: such a key.
        """
        for key in ("temperature", "seed") if not self.kind.acts_on else ():
            if key in given:
                raise SettingsError(
                    f"{key} = {getattr(self, key)}: velocities come from {source}, and nve keeps their "
                    f"energy; leave {key} out, choose a thermostat, or draw new ones with --velocities draw"
                )

    def check_frames(self, given: Collection[str]) -> None:
        """Raise if something is asked of frames, where none are written.

        Args:
            given: keys that this run's user gave.

        Raises:
            SettingsError: such a key.
        """
        for key in ("frames_every", "per_atom") if self.frames == NONE else ():
            if key in given and getattr(self, key) is not None:
                raise SettingsError(
                    f"{key} = {getattr(self, key)}: with frames = none no frame is written; leave {key} out, "
                    "or choose frames = extxyz or traj"
                )

    def check_ensemble(self, given: Collection[str]) -> None:
        """Raise if the settings of thermostat and barostat do not go together.

        Args:
            given: keys that this run's user gave; others may come from a checkpoint.

        Raises:
            SettingsError: a setting of a thermostat or barostat without one; too short a coupling time.
        """
        for what, keys, kinds in (
            ("thermostat", _OF_THERMOSTATS, [n for n, kind in ENSEMBLES.items() if kind.acts_on]),
            ("barostat", _OF_BAROSTATS, list(BAROSTATS)),
        ):
            for key in keys if self.ensemble not in kinds else ():
                if key in given:
                    raise SettingsError(
                        f"{key} = {getattr(self, key)}: the ensemble {self.ensemble} has no {what}; expected "
                        f"with it one of {', '.join(kinds)}"
                    )
        if "barostat_period" in given and BAROSTATS[self.ensemble].has_inertia:
            raise SettingsError(
                f"barostat_period = {self.barostat_period}: {self.ensemble} acts each step; leave it out"
            )
        if "bulk_modulus" in given and not BAROSTATS[self.ensemble].uses_bulk_modulus:
            raise SettingsError(
                f"bulk_modulus = {self.bulk_modulus:g}: {self.ensemble} has no use for it; leave it out"
            )
        self.make_ensemble((0, 1) if self.has_ramp else None).check_timestep(self.timestep * FS)


def make_settings(
    flags: Mapping[str, Any] | None = None,
    job_file: Path | None = None,
    checkpoint: Mapping[str, Any] | None = None,
) -> RunSettings:
    """Merge the layers and validate them.

    Args:
        flags: values given on the command line or in Python; None means "not given".
        job_file: TOML job file.
        checkpoint: settings stored in the checkpoint that is continued; how long that run was to be and where
            it wrote are not taken over.

    Raises:
        SettingsError: a key or a value that is wrong, or both `steps` and `time`.
    """
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    for key in given:
        _check_key(key, "settings")
    job = read_job_file(job_file, _check_key) if job_file is not None else {}
    for layer, name in ((given, "--steps and --time"), (job, f"{job_file}: steps and time")):
        if "steps" in layer and "time" in layer:
            raise SettingsError(f"{name} both say how long the run is; give one of them")
    if "steps" in given or "time" in given:
        job = {key: value for key, value in job.items() if key not in ("steps", "time")}
    merged = {**_inherited(checkpoint or {}, {**job, **given}), **job, **given}
    try:
        settings = RunSettings.model_validate(merged)
    except ValidationError as error:
        raise SettingsError(_one_line(error, given, job_file if job else None)) from None
    settings.number_of_steps()
    # Who leaves frames out on the command line need not touch what the job file says of them.
    settings.check_frames(given if "frames" in given else {**job, **given})
    if settings.restart is None or checkpoint is not None:
        settings.check_ensemble({**job, **given})
    return settings


def _inherited(checkpoint: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a restart takes over: not what belongs to each run, nor what its own settings replace."""
    dropped = {"steps", "time", "output", "restart", "overwrite", "profile", "velocities", "from_frame"}
    if own.get("observe") == NONE:
        dropped |= {"observe_every", "observe_window", "observe_r_max"}
    ensemble = own.get("ensemble", checkpoint.get("ensemble"))
    new_bath = ensemble != checkpoint.get("ensemble")
    if new_bath:
        dropped.add("coupling_time")
        # From one barostat to another, to equilibrate and then to sample, the pressure stays what it was.
        if ensemble not in BAROSTATS:
            dropped |= set(_OF_BAROSTATS)
    kept = {k: v for k, v in checkpoint.items() if k not in dropped}
    for final, key in _RAMPS.items():
        if key in own:
            kept.pop(final, None)
    # With a new bath or a new ramp those of before are over: what comes begins where they were to end.
    if new_bath or any(
        parse_pressure({**kept, **own}.get(key)) != parse_pressure(checkpoint.get(key))
        for key in (*_RAMPS, *_RAMPS.values())
    ):
        ends = {key: kept.pop(final, None) for final, key in _RAMPS.items()}
        kept |= {key: end for key, end in ends.items() if end is not None}
    return kept


def _check_key(key: str, where: str) -> None:
    known = list(RunSettings.model_fields)
    if key in known:
        return
    near = difflib.get_close_matches(key.replace("-", "_").lower(), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    raise SettingsError(f"{where}: unknown key {key!r}; {hint}")


def _one_line(error: ValidationError, flags: Mapping[str, Any], job_file: Path | None) -> str:
    """First problem of a pydantic error in our words: where, key, value, what is expected."""
    first = error.errors()[0]
    key = str(first["loc"][0])
    expected = RunSettings.model_fields[key].description
    where = f"{job_file}: " if job_file is not None and key not in flags else ""
    value = first["input"]
    shown = repr(value) if isinstance(value, str) else value
    return f"{where}{key} = {shown}: expected {expected}"
