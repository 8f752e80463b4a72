"""Files of the runs of a thermal conductivity, finished or under way, and what they are of."""

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.errors import OutputError
from taichimd.io.files import write_atomically
from taichimd.io.potential import differences
from taichimd.observables.estimators.series import Array
from taichimd.program.decomposition import PARTICLE

_ARRAYS = ("positions", "velocities", "forces", "start", "rows")


@dataclass(frozen=True)
class RunSamples:
    """Heat current of one run.

    Attributes:
        current: (samples, 6) eV angstrom / internal time, potential part x y z, kinetic part x y z.
        temperature: K, mean over the run.
        decomposition: of the engine that ran it.
        moved: angstrom, root mean square displacement from the run's first to its last step.
    """

    current: Array
    temperature: float
    decomposition: str = PARTICLE
    moved: float = float("nan")


@dataclass(frozen=True)
class RunUnderWay:
    """State of a run that has not ended, from which it goes on bit for bit.

    Attributes:
        stage: "equilibration", or the method of the run.
        step: of the stage, from 0.
        positions: (n, 3) angstrom, not wrapped.
        velocities: (n, 3) internal units.
        forces: (n, 3) eV/angstrom.
        bath: of the thermostat (`Engine.bath_state`).
        start: (n, 3) angstrom where the stage began.
        rows: (samples, 7) of the heat current so far, the kinetic energy (eV) last.
    """

    stage: str
    step: int
    positions: Array
    velocities: Array
    forces: Array
    bath: dict[str, Any]
    start: Array
    rows: Array


def write_under_way(file: Path, identity: dict[str, Any], record: dict[str, Any], run: RunUnderWay) -> None:
    """Keep a run under way, with what it is of.

    Raises:
        OutputError: it cannot be written.
    """
    words = {
        "identity": identity,
        "potential": record,
        "bath": run.bath,
        "stage": run.stage,
        "step": run.step,
    }
    arrays: dict[str, Any] = {name: np.array(json.dumps(value)) for name, value in words.items()}
    arrays |= {name: getattr(run, name) for name in _ARRAYS}
    write_atomically(file, lambda handle: np.savez(handle, **arrays))


def read_under_way(file: Path, identity: dict[str, Any], record: dict[str, Any]) -> RunUnderWay | None:
    """A run under way; None if there is none. Arguments and errors are those of `read_run`."""
    if not file.exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as saved:
            words = {k: json.loads(str(saved[k])) for k in ("identity", "potential", "bath", "stage", "step")}
            arrays = {name: saved[name] for name in _ARRAYS}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise OutputError(
            f"{file} cannot be read as a run under way; remove it, and it begins anew"
        ) from None
    _check_identity(file, words.pop("identity"), words.pop("potential"), identity, record)
    return RunUnderWay(**words, **arrays)


def write_run(file: Path, identity: dict[str, Any], record: dict[str, Any], samples: RunSamples) -> None:
    """Write a finished run, with what it is of.

    Raises:
        OutputError: it cannot be written.
    """
    arrays: dict[str, Any] = {
        "identity": np.array(json.dumps(identity)),
        "potential": np.array(json.dumps(record)),
        "current": samples.current,
        "temperature": np.array(samples.temperature),
        "decomposition": np.array(samples.decomposition),
        "moved": np.array(samples.moved),
    }
    write_atomically(file, lambda handle: np.savez(handle, **arrays))


def read_run(file: Path, identity: dict[str, Any], record: dict[str, Any]) -> RunSamples | None:
    """A finished run; None if there is none.

    Args:
        file: of the run.
        identity: settings, system and potential, as they are now.
        record: of the present potential (`ForceField.describe`), to say what differs.

    Raises:
        OutputError: it cannot be read, or is of other settings, of another system or potential.
    """
    if not file.exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as saved:
            own = json.loads(str(saved["identity"]))
            before = json.loads(str(saved["potential"]))
            temperature, moved = float(saved["temperature"]), float(saved["moved"])
            samples = RunSamples(saved["current"], temperature, str(saved["decomposition"]), moved)
    except (OSError, ValueError, KeyError):
        raise OutputError(
            f"{file} cannot be read as a finished run; remove it, and it is run again"
        ) from None
    _check_identity(file, own, before, identity, record)
    return samples


def _check_identity(
    file: Path, own: dict[str, Any], before: dict[str, Any], identity: dict[str, Any], record: dict[str, Any]
) -> None:
    """Raise an OutputError if a run is of other settings, of another system or potential than now."""
    advice = "give --overwrite to replace the runs there, or another --output"
    for key, value in identity.items():
        if own.get(key) == value:
            continue
        if key == "potential":
            raise OutputError(f"{file} is of another potential: {differences(before, record)}; {advice}")
        raise OutputError(f"{file} is of another {key} ({own.get(key)}, now {value}); {advice}")
