"""Files of the runs of a thermal conductivity, finished or under way, and what they are of."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from taichimd.core.arrays import Array
from taichimd.core.errors import CheckpointError, OutputError
from taichimd.core.saved import saved_array
from taichimd.io.checked import Bath, Potential, Step, fault_of
from taichimd.io.files import write_atomically
from taichimd.io.npz import DamagedFileError, read_arrays, text_of
from taichimd.io.potential import differences
from taichimd.program.decomposition import PARTICLE

_ARRAYS = ("current", "positions", "velocities", "forces", "start", "rows", "turns")
_FOUND = "found."
"""Begins the names of what observables have found."""


@dataclass(frozen=True)
class RunSamples:
    """Heat current of one run."""

    current: Array  # (samples, 6) eV angstrom / internal time, potential part x y z, kinetic part x y z
    temperature: float  # K, mean over the run
    decomposition: str = PARTICLE  # of the engine that ran it
    # angstrom, root mean square displacement from the run's first to its last step
    moved: float = float("nan")
    # K, standard error of `temperature`, from the autocorrelation; None if unknown
    temperature_error: float | None = None
    # what observables have found, by name (`transport.observed`)
    found: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class RunUnderWay:
    """State of a run that has not ended, from which it continues bit for bit."""

    stage: str  # "equilibration", or the method of the run
    step: int  # of the stage, from 0
    positions: Array  # (n, 3) angstrom, of the engine (`Engine.folded_positions`)
    velocities: Array  # (n, 3) internal units
    forces: Array  # (n, 3) eV/angstrom
    bath: dict[str, Any]  # of the thermostat (`Engine.bath_state`)
    start: Array  # (n, 3) angstrom where the stage began
    rows: Array  # (samples, 7) of the heat current so far, the kinetic energy (eV) last
    turns: Array | None = None  # (n, 3) cells by which positions are folded
    # what observables have so far (`Observations.save`)
    found: dict[str, Array] = field(default_factory=dict)


Run = TypeVar("Run", RunSamples, RunUnderWay)
_TOLD = {RunSamples: ("a finished run", "is run again"), RunUnderWay: ("a run under way", "begins again")}


def write_run(
    file: Path, identity: dict[str, Any], record: dict[str, Any], run: RunSamples | RunUnderWay
) -> None:
    """Keep a run with what it is of."""
    kept = {"identity": identity, "potential": record, **vars(run)}
    kept = {name: value for name, value in kept.items() if name != "turns" or value is not None}
    found = {f"{_FOUND}{name}": value for name, value in kept.pop("found").items()}
    texts = {name: np.array(json.dumps(value)) for name, value in kept.items() if name not in _ARRAYS}
    write_atomically(file, lambda handle: np.savez(handle, **{**kept, **texts, **found}))


def read_run(kind: type[Run], file: Path, identity: dict[str, Any], record: dict[str, Any]) -> Run | None:
    """A run of a kind, finished or under way, or None; an OutputError if it is of another identity."""
    if not file.exists():
        return None
    names = "identity", "potential", *(one.name for one in fields(kind) if one.name != "found")
    try:
        saved = read_arrays(file)
        # Earlier versions did not write these.
        names = tuple(name for name in names if name not in ("temperature_error", "turns") or name in saved)
        kept: dict[str, Any] = {k: saved[k] if k in _ARRAYS else text_of(saved, k) for k in names}
        fault = fault_of(_Kept, {k: v for k, v in kept.items() if k not in _ARRAYS}) or _fault_of_arrays(kept)
    except (DamagedFileError, KeyError) as error:
        fault = str(error)
    if fault:
        what, then = _TOLD[kind]
        raise OutputError(f"{file} cannot be read as {what}; remove it, and it {then} ({fault})")
    _check_identity(file, kept.pop("identity"), kept.pop("potential"), identity, record)
    found = {k.removeprefix(_FOUND): v for k, v in saved.items() if k.startswith(_FOUND)}
    return kind(**kept, found=found)


def _fault_of_arrays(kept: dict[str, Any]) -> str:
    """What is wrong with the arrays of a run; empty if nothing is."""
    n = None if "positions" not in kept else len(np.atleast_1d(kept["positions"]))
    shapes = {"current": (None, 6), "rows": (None, 7)}
    try:
        for name in _ARRAYS:
            if name in kept:
                saved_array(kept, name, "f", *shapes.get(name, (n, 3)))
    except CheckpointError as error:
        return str(error)
    return ""


class _Kept(BaseModel):
    """The texts of a run."""

    model_config = ConfigDict(strict=True)
    identity: dict[str, Any]
    potential: Potential
    temperature: Annotated[FiniteFloat, Field(gt=0)] = 1.0
    decomposition: str = ""
    moved: float | None = None
    temperature_error: Annotated[FiniteFloat, Field(ge=0)] | None = None
    stage: str = ""
    step: Step = 0
    bath: Bath = Bath()


def _check_identity(
    file: Path, own: dict[str, Any], before: dict[str, Any], identity: dict[str, Any], record: dict[str, Any]
) -> None:
    """Raise an OutputError if a run is of other settings, of another system or potential than now."""
    advice = "give --overwrite to replace the runs there, or another --output"
    for key, value in identity.items():
        if own.get(key) == value:
            continue
        if key == "potential":
            raise OutputError(
                f"{file} was made with a different potential: {differences(before, record)}; {advice}"
            )
        raise OutputError(f"{file} was made with a different {key} ({own.get(key)}, now {value}); {advice}")
