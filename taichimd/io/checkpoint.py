"""checkpoint.npz: all that a run needs to continue bit for bit, written completely or not at all."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.data import chemical_symbols
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import CheckpointError
from taichimd.core.saved import saved_array
from taichimd.ensembles.barostats import layout as of_barostats
from taichimd.ensembles.registry import ENSEMBLES, NVE, deformed, ensemble_class
from taichimd.ensembles.thermostats.layout import STATE
from taichimd.io.checked import Meta, fault_of
from taichimd.io.files import write_atomically
from taichimd.io.npz import DamagedFileError, read_arrays, text_of
from taichimd.system.constraints import constrained, directions, fix
from taichimd.system.folding import shifts

FORMAT = 1
METROPOLIS = "metropolis"
"""What a chain of Monte Carlo says in place of a bath."""
_META = (
    "step", "settings", "potential_hash", "clock", "last_step", "first_total", "versions", "bath", "ramp",
    "counted_from", "potential", "groups", "exchange",
)  # fmt: skip
_OBSERVED, _STATES, _FIXED, _TURNS = "observed.", "state.", "fixed", "turns"
_VECTORS = ("positions", "velocities", "forces")
_ARRAYS = (*_VECTORS, "cell", "pbc", "numbers", "masses")


@dataclass(frozen=True)
class Checkpoint:
    """State and settings of a run at one step."""

    step: int  # MD step
    positions: Array  # (n, 3) Å, as the device has them: never wrapped, but for `turns`
    velocities: Array  # (n, 3) internal units
    # (n, 3) eV/Å at `positions`: stored, because recomputing may differ in the last bit on another device
    forces: Array
    cell: Array  # (3, 3) Å
    pbc: NDArray[np.bool_]  # (3,)
    numbers: NDArray[np.int64]  # (n,) atomic numbers
    masses: Array  # (n,) amu
    settings: dict[str, Any]  # the run's settings (`RunSettings` as a dict)
    potential_hash: str  # fingerprint of the potential (`ForceField.fingerprint`)
    # origin of the time axis: time = time_fs + (step - origin_step) * timestep; it moves only when a restart
    # changes the time step
    clock: dict[str, float]
    last_step: int  # step at which the run was to end
    # conserved energy at the run's first step (eV); None where nothing is conserved
    first_total: float | None
    # programs that wrote it, the backend that they ran on, and the decomposition
    versions: dict[str, str] = field(default_factory=dict)
    # what thermostat and barostat remember (`Engine.bath_state`); empty in NVE
    bath: dict[str, Any] = field(default_factory=dict)
    ramp: Sequence[int] | None = None  # first and last step of the ramps of temperature and pressure, or None
    counted_from: int = 0  # first step of the run's files whose conserved energy is of its present ensemble
    # record of the potential (`ForceField.describe`); empty in those of earlier versions
    potential: dict[str, Any] = field(default_factory=dict)
    # arrays of what the run observes (`Observations.save`); empty without
    observed: dict[str, Any] = field(default_factory=dict)
    # (n,) which atoms are fixed, or (n, 3) along which directions they are held; None if none is
    fixed: NDArray[np.bool_] | None = None
    # (n,) each, what the force field keeps of the atoms (`Engine.atom_states`)
    states: dict[str, Array] = field(default_factory=dict)
    # (n, 3) whole cells by which atoms were folded in a long run; None if none was
    turns: NDArray[np.int64] | None = None
    # the atoms of each group by its name, as runs (`system.groups.runs_of`)
    groups: dict[str, list[list[int]]] = field(default_factory=dict)
    # account of inserted and deleted molecules (`exchange.ledger.Ledger.save`); empty without
    exchange: dict[str, Any] = field(default_factory=dict)

    @property
    def of_markov_chain(self) -> bool:
        """Whether it is of Monte Carlo, and not of molecular dynamics."""
        return self.bath.get("kind") == METROPOLIS

    @property
    def symbols(self) -> list[str]:
        """Chemical symbols of the atoms."""
        return list(Atoms(self.numbers).symbols)

    def atoms(self, *, folded: bool = False) -> Atoms:
        """As ASE has them, with `FixAtoms`.

        `folded`: positions as stored, else where paths have led the atoms.
        """
        x = self.positions
        if self.turns is not None and not folded:
            x = x + shifts(self.turns, self.cell)
        atoms = Atoms(self.numbers, positions=x, cell=self.cell, pbc=self.pbc)
        atoms.set_masses(self.masses)
        atoms.set_velocities(self.velocities)
        fix(atoms, self.fixed)
        return atoms


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write atomically: the earlier checkpoint stays whole until the new one is on the disk."""
    arrays = {name: getattr(checkpoint, name) for name in _ARRAYS}
    meta = {key: getattr(checkpoint, key) for key in _META}
    meta["format"] = FORMAT
    arrays |= {f"{_OBSERVED}{key}": value for key, value in checkpoint.observed.items()}
    arrays |= {f"{_STATES}{key}": value for key, value in checkpoint.states.items()}
    if checkpoint.turns is not None:
        arrays[_TURNS] = checkpoint.turns
    if checkpoint.fixed is not None:
        arrays[_FIXED] = checkpoint.fixed
    write_atomically(path, lambda file: np.savez(file, meta=np.array(json.dumps(meta)), **arrays))


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read and check a checkpoint; a CheckpointError if it cannot be used."""
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"checkpoint {path} does not exist")
    try:
        arrays = read_arrays(path)
        meta = text_of(arrays, "meta")
    except DamagedFileError as error:
        raise CheckpointError(
            f"checkpoint {path} is truncated or is not a checkpoint ({error}); "
            "use an earlier one or start again"
        ) from None
    if not isinstance(meta, dict) or meta.pop("format", None) != FORMAT:
        raise CheckpointError(
            f"checkpoint {path} has a format other than {FORMAT}; use the version that wrote it"
        )
    fault = fault_of(Meta, meta) or _fault_of_state(meta)
    if fault:
        raise CheckpointError(
            f"checkpoint {path} is damaged or its version differs ({fault}); use an earlier checkpoint, or "
            "the version that wrote it"
        )
    try:
        return Checkpoint(**meta, **_checked_arrays(arrays))
    except CheckpointError as error:
        raise CheckpointError(f"checkpoint {path} is damaged: {error}; use an earlier checkpoint") from None


def _fault_of_state(meta: dict[str, Any]) -> str:
    """What a bath lacks that its ensemble needs, or a ramp that does not continue; empty if nothing."""
    if meta["ramp"] is not None and not meta["ramp"][0] < meta["ramp"][1]:
        return f"ramp = {meta['ramp']}: expected a first step and a later last step"
    bath = meta["bath"]
    if bath.get("kind") == METROPOLIS:
        needed = {"energy", "moves", "volume_moves", "exchanges"}
        return next((f"bath.{name} is missing" for name in sorted(needed - bath.keys())), "")
    name = bath.get("ensemble", NVE.name)
    if "kind" in bath or name not in ENSEMBLES:
        return f"bath is of an unknown kind {bath.get('kind', name)!r}"
    kind = ENSEMBLES[name]
    if "deformation" in bath:
        kind = deformed(kind)
    lengths = {"bath": STATE.stop - STATE.start} if kind.acts_on == "system" or kind.moves_cell else {}
    if kind.moves_cell:
        lengths["cell"] = 27 + of_barostats.STATE.stop - of_barostats.STATE.start
    if kind.deforms:
        lengths["deformation"] = 9 + len(range(of_barostats.DEFORMED_SIZE)[of_barostats.DEFORMATION_STATE])
    for key, length in lengths.items() if bath else ():
        if len(bath.get(key) or ()) != length:
            return f"bath.{key} is not {length} numbers"
    if bath and kind.acts_on == "atoms" and bath.get("ledger") is None:
        return "bath.ledger is missing"
    return ""


_HELD = ("free", "held along one direction", "held along two directions", "fixed")


def _shape_of_fixed(arrays: dict[str, Array], n: int) -> tuple[int, ...]:
    return (n, 3) if arrays[_FIXED].ndim == 2 else (n,)


def _checked_arrays(arrays: dict[str, Array]) -> dict[str, Any]:
    """Arrays of a checkpoint by the names of its fields, or a CheckpointError about a type or a shape."""
    n = len(saved_array(arrays, "numbers", "i", None))
    found: dict[str, Any] = {name: saved_array(arrays, name, "f", n, 3) for name in _VECTORS}
    found |= {
        "numbers": saved_array(arrays, "numbers", "i", n).astype(np.int64),
        "masses": saved_array(arrays, "masses", "f", n),
        "cell": saved_array(arrays, "cell", "f", 3, 3),
        "pbc": saved_array(arrays, "pbc", "b", 3),
        "fixed": saved_array(arrays, _FIXED, "b", *_shape_of_fixed(arrays, n)) if _FIXED in arrays else None,
        "turns": saved_array(arrays, _TURNS, "i", n, 3) if _TURNS in arrays else None,
    }
    if n == 0 or not ((found["numbers"] > 0) & (found["numbers"] < len(chemical_symbols))).all():
        raise CheckpointError("numbers must be the atomic numbers of at least one atom")
    if not (found["masses"] > 0).all():
        raise CheckpointError("all masses must be above 0")
    for field_, mark in (("observed", _OBSERVED), ("states", _STATES)):
        of_field = {name: arrays[name] for name in arrays if name.startswith(mark)}
        if field_ == "states":
            of_field = {name: saved_array(arrays, name, "f", n) for name in of_field}
        found[field_] = {name.removeprefix(mark): array for name, array in of_field.items()}
    return found


def check_same_system(path: str | Path, checkpoint: Checkpoint, atoms: Atoms) -> None:
    """Raise a CheckpointError unless a structure is the system of the checkpoint.

    Positions and velocities may differ, and the cell where a barostat has moved it.
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
    now, before = (directions(one, len(atoms)) for one in (constrained(atoms), checkpoint.fixed))
    held = np.flatnonzero((now != before).any(axis=1))
    if held.size:
        is_, was = (_HELD[min(int(one[held[0]].sum()), 3)] for one in (now, before))
        raise differs(f"atom {held[0]} is {was}, in the structure {is_}")
    if not np.array_equal(atoms.pbc, checkpoint.pbc):
        raise differs(f"pbc is {checkpoint.pbc.tolist()}, in the structure {atoms.pbc.tolist()}")
    moved = ensemble_class(checkpoint.settings).moves_cell
    if not moved and not np.allclose(atoms.cell.array, checkpoint.cell, rtol=0, atol=1e-6):
        raise differs("the cell differs")
