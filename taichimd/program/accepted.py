"""What an engine can do with a force field: refusals in one sentence, before anything is bound."""

from typing import Any

from ase import Atoms

from taichimd.core.errors import SettingsError
from taichimd.ensembles.barostats.base import CellMotion
from taichimd.ensembles.registry import Ensemble
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.contract import ExternalPotential
from taichimd.forcefields.load import load_forcefield
from taichimd.program.decomposition import TUPLE
from taichimd.system.checks import (
    check_all_pairs,
    check_all_pairs_of,
    check_digits,
    check_images,
    check_neighbours,
    check_turns,
)
from taichimd.system.frame import Frame, make_frame


def accepted(forcefield: Any, precision: str, decomposition: str, driven: bool) -> ForceField:
    """The force field, or the sum of a list, if an engine can evaluate it in this way.

    SettingsError: no force field; of one with charges, another precision than float64, decomposition by
    tuple, or another such potential in the sum. PropertyError: a driving force where no heat current is
    known.
    """
    takes = list | tuple | ExternalPotential
    found = load_forcefield(forcefield) if isinstance(forcefield, takes) else forcefield
    if not isinstance(found, ForceField):
        raise SettingsError(
            f"expected a force field, got {type(found).__name__}; see taichimd.load_forcefield"
        )
    if driven:
        found.check_heat_current()
    names = [term.name for term in found.terms if not term.local]
    if names and precision != "float64":
        raise SettingsError(
            f"precision is '{precision}': {names[0]} is computed in float64 only; leave it out, and give the "
            'potential matrix_precision="float32" for less memory'
        )
    if names and decomposition == TUPLE:
        raise SettingsError(f'decomposition "{TUPLE}": {names[0]} has no lists of tuples; leave it out')
    if len(names) > 1:
        raise SettingsError(
            f"a sum of {names[0]} and {names[1]}: only one potential of a sum can have charges; leave one out"
        )
    return found


def check_system(forcefield: ForceField, atoms: Atoms, frame: Frame, precision: str) -> None:
    """Raise a TaichimdError if a structure does not suit a force field and a precision."""
    check_turns(atoms.positions, frame)
    check_digits(atoms.positions, precision)
    check_images(forcefield.name, forcefield.cutoff, atoms.pbc)
    for term in forcefield.terms:
        term.check_structure(atoms)


def check_structure(forcefield: ForceField, atoms: Atoms, precision: str, many_body: bool) -> None:
    """Raise a TaichimdError if a structure does not suit a force field, a precision or the lists."""
    frame = make_frame(atoms.cell.array, atoms.pbc)
    check_system(forcefield, atoms, frame, precision)
    check_neighbours(forcefield.list_cutoff, many_body, frame, atoms.positions)
    if forcefield.enumeration == "all-pairs":
        check_all_pairs(frame, forcefield.cutoff, many_body)


def check_ensemble(forcefield: ForceField, atoms: Atoms, ensemble: Ensemble, driving_forces: Any) -> None:
    """Raise a TaichimdError if an ensemble does not suit a force field and a structure."""
    if getattr(ensemble, "on", None) is not None:
        raise SettingsError(
            f"ensemble = {type(ensemble).__name__}(..., on=...): give a bath of a group as acting=[...]"
        )
    if forcefield.enumeration == "all-pairs":
        check_all_pairs_of(ensemble.moves_cell, driving_forces)
    if isinstance(ensemble, CellMotion):
        forcefield.check_virial("a deformation" if ensemble.deforms else "a barostat")
        ensemble.check_cell(atoms.cell.array, atoms.pbc)
