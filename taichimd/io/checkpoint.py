"""checkpoint.npz: all that a run needs to go on bit for bit, written completely or not at all."""

import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.errors import CheckpointError
from taichimd.dynamics.ensembles import ENSEMBLES, NVE
from taichimd.io.files import write_atomically
from taichimd.program.results import Array
from taichimd.system.constraints import fix, fixed_atoms

FORMAT = 1
METROPOLIS = "metropolis"
"""What a chain of Monte Carlo says in place of a bath."""
_META = (
    "step", "settings", "potential_hash", "clock", "last_step", "first_total", "versions", "bath", "ramp",
    "counted_from", "potential",
)  # fmt: skip
_OBSERVED, _STATES, _FIXED = "observed.", "state.", "fixed"
_ARRAYS = ("positions", "velocities", "forces", "cell", "pbc", "numbers", "masses")


@dataclass(frozen=True)
class Checkpoint:
    """State and settings of a run at one step.

    Attributes:
        step: MD step.
        positions: (n, 3) Å, never wrapped.
        velocities: (n, 3) internal units.
        forces: (n, 3) eV/Å at `positions`: stored, because recomputing may differ in the last bit on another
            device.
        cell: (3, 3) Å.
        pbc: (3,).
        numbers: (n,) atomic numbers.
        masses: (n,) amu.
        settings: the run's settings (`RunSettings` as a dict).
        potential_hash: fingerprint of the potential (`ForceField.fingerprint`).
        clock: origin of the time axis: time = time_fs + (step - origin_step) * timestep; it moves only when a
            restart changes the time step.
        last_step: step at which the run was to end.
        first_total: conserved energy at the run's first step (eV), from which the drift is counted; None
            where nothing is conserved.
        versions: programs that wrote it, the backend that they ran on, and the decomposition.
        bath: what thermostat and barostat remember (`Engine.bath_state`); empty in NVE.
        ramp: first and last step of the ramps of temperature and pressure, or None.
        counted_from: first step of the run's files whose conserved energy is of its present ensemble.
        potential: record of the potential (`ForceField.describe`); empty in those of earlier versions.
        observed: arrays of what the run observes (`Observations.save`); empty without.
        fixed: (n,) which atoms are fixed; None if none is, as in every checkpoint of earlier versions.
        states: (n,) each, what the force field keeps of the atoms (`Engine.atom_states`).
    """

    step: int
    positions: Array
    velocities: Array
    forces: Array
    cell: Array
    pbc: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    masses: Array
    settings: dict[str, Any]
    potential_hash: str
    clock: dict[str, float]
    last_step: int
    first_total: float | None
    versions: dict[str, str] = field(default_factory=dict)
    bath: dict[str, Any] = field(default_factory=dict)
    ramp: Sequence[int] | None = None
    counted_from: int = 0
    potential: dict[str, Any] = field(default_factory=dict)
    observed: dict[str, Any] = field(default_factory=dict)
    fixed: NDArray[np.bool_] | None = None
    states: dict[str, Array] = field(default_factory=dict)

    @property
    def of_markov_chain(self) -> bool:
        """Whether it is of Monte Carlo, and not of molecular dynamics."""
        return self.bath.get("kind") == METROPOLIS

    @property
    def symbols(self) -> list[str]:
        """Chemical symbols of the atoms."""
        return list(Atoms(self.numbers).symbols)

    def atoms(self) -> Atoms:
        """The system as ASE atoms with velocities, and `FixAtoms` where atoms are fixed."""
        atoms = Atoms(self.numbers, positions=self.positions, cell=self.cell, pbc=self.pbc)
        atoms.set_masses(self.masses)
        atoms.set_velocities(self.velocities)
        fix(atoms, self.fixed)
        return atoms


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write atomically: the earlier checkpoint stays whole until the new one is on the disk.

    Raises:
        OutputError: it cannot be written; an earlier checkpoint at `path` is untouched.
    """
    arrays = {name: getattr(checkpoint, name) for name in _ARRAYS}
    meta = {key: getattr(checkpoint, key) for key in _META}
    meta["format"] = FORMAT
    arrays |= {f"{_OBSERVED}{key}": value for key, value in checkpoint.observed.items()}
    arrays |= {f"{_STATES}{key}": value for key, value in checkpoint.states.items()}
    if checkpoint.fixed is not None:
        arrays[_FIXED] = checkpoint.fixed
    write_atomically(path, lambda file: np.savez(file, meta=np.array(json.dumps(meta)), **arrays))


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read and check a checkpoint.

    Raises:
        CheckpointError: missing, truncated, not a checkpoint, of another format, or not consistent in itself.
    """
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"checkpoint {path} does not exist")
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("a single array")
        with loaded as archive:
            meta = json.loads(str(archive["meta"]))
            arrays: dict[str, Any] = {name: archive[name] for name in _ARRAYS}
            fixed = archive[_FIXED] if _FIXED in archive.files else None
            observed, states = (
                {name.removeprefix(mark): archive[name] for name in archive.files if name.startswith(mark)}
                for mark in (_OBSERVED, _STATES)
            )
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error):
        raise CheckpointError(
            f"checkpoint {path} is truncated or is no checkpoint; use an earlier one or start anew"
        ) from None
    if not isinstance(meta, dict) or meta.pop("format", None) != FORMAT:
        raise CheckpointError(
            f"checkpoint {path} has another format than {FORMAT}; use the version that wrote it"
        )
    n = len(arrays["numbers"])
    for name in ("positions", "velocities", "forces"):
        if arrays[name].shape != (n, 3) or not np.isfinite(arrays[name]).all():
            raise CheckpointError(
                f"checkpoint {path}: {name} are not {n} x 3 finite numbers; use an earlier one"
            )
    _check_states(path, states, n)
    if fixed is not None and (fixed.shape != (n,) or fixed.dtype != bool):
        raise CheckpointError(f"checkpoint {path}: {_FIXED} is not a mask of {n} atoms; use an earlier one")
    try:
        return Checkpoint(**meta, **arrays, observed=observed, fixed=fixed, states=states)
    except TypeError:
        raise CheckpointError(f"checkpoint {path} lacks entries; use the version that wrote it") from None


def _check_states(path: Path, states: dict[str, Array], n: int) -> None:
    for name, numbers in states.items():
        if numbers.shape != (n,) or not np.isfinite(numbers).all():
            raise CheckpointError(
                f"checkpoint {path}: the state {name} is not {n} finite numbers; use an earlier one"
            )


def check_same_system(path: str | Path, checkpoint: Checkpoint, atoms: Atoms) -> None:
    """Check that a structure is the system of the checkpoint.

    Positions and velocities may differ, and the cell where a barostat has moved it.

    Raises:
        CheckpointError: says what differs first.
        SettingsError: the structure has constraints other than fixed atoms.
    """

    def differs(what: str) -> CheckpointError:
        return CheckpointError(
            f"checkpoint {path} is of another system: {what}; give the structure it came from, or none"
        )

    if len(atoms) != len(checkpoint.numbers):
        raise differs(f"it has {len(checkpoint.numbers)} atoms, the structure {len(atoms)}")
    other = np.flatnonzero(atoms.numbers != checkpoint.numbers)
    if other.size:
        theirs, ours = Atoms([checkpoint.numbers[other[0]], atoms.numbers[other[0]]]).symbols
        raise differs(f"atom {other[0]} is {theirs}, in the structure {ours}")
    # Files that give no masses mean nothing by those of the elements.
    heavy = np.flatnonzero(~np.isclose(atoms.get_masses(), checkpoint.masses, rtol=1e-4))
    if atoms.has("masses") and heavy.size:
        theirs, ours = checkpoint.masses[heavy[0]], atoms.get_masses()[heavy[0]]
        raise differs(f"atom {heavy[0]} has a mass of {theirs:g}, in the structure {ours:g}")
    now, before = fixed_atoms(atoms), checkpoint.fixed
    held = np.flatnonzero(now != (np.zeros(len(now), bool) if before is None else before))
    if held.size:
        is_, was = ("fixed", "free") if now[held[0]] else ("free", "fixed")
        raise differs(f"atom {held[0]} is {was}, in the structure {is_}")
    if not np.array_equal(atoms.pbc, checkpoint.pbc):
        raise differs(f"pbc is {checkpoint.pbc.tolist()}, in the structure {atoms.pbc.tolist()}")
    moved = ENSEMBLES.get(checkpoint.settings.get("ensemble", ""), NVE).moves_cell
    if not moved and not np.allclose(atoms.cell.array, checkpoint.cell, rtol=0, atol=1e-6):
        raise differs("the cell differs")
