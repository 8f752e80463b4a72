"""`taichimd energy`: one evaluation at full precision."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taichimd.cli.given import look_for
from taichimd.cli.options import AtomStyle, Backend, Decomposition, InputUnits, Potential, Precision
from taichimd.cli.say import say

if TYPE_CHECKING:
    from ase import Atoms

_VOIGT = ("xx", "yy", "zz", "yz", "xz", "xy")
_LARGEST = 10
"""Forces that are printed without --per-atom."""


def energy(
    structure: Annotated[str, typer.Argument(help="Structure file that ASE reads.")],
    potential: Potential,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all forces.")] = False,
    per_atom: Annotated[
        bool,
        typer.Option(
            "--per-atom", help="Print energy, charge and force of each atom, not only the largest forces."
        ),
    ] = False,
    terms: Annotated[
        bool,
        typer.Option(
            "--terms", help="Print the energy of each potential of a sum, and of each term of ReaxFF."
        ),
    ] = False,
    input_units: InputUnits = None,
    atom_style: AtomStyle = None,
    backend: Backend = "auto",
    precision: Precision = "float64",
    decomposition: Decomposition = "auto",
) -> None:
    """Print energy, stress and the ten largest forces of a structure, with all digits."""
    look_for([structure], potential)
    import numpy as np

    from taichimd.forcefields.load import load_forcefield
    from taichimd.io.structures import read_noted, unused_charges
    from taichimd.program.energy_terms import EnergyTerms
    from taichimd.program.engine import Engine
    from taichimd.program.results import require_finite
    from taichimd.settings.types import parse_potential
    from taichimd.system.overlaps import notes_on_overlap

    options: dict[str, Any] = {"backend": backend, "precision": precision, "decomposition": decomposition}
    atoms, notes = read_noted(structure, units=input_units, atom_style=atom_style)
    notes += unused_charges(atoms)
    forcefield = load_forcefield(parse_potential(potential))
    for remark in forcefield.remarks_on_time(len(atoms), 1, backend):
        say(f"note: {remark}", err=True)
    engine = Engine(atoms, forcefield, **options)
    result = engine.evaluate()
    require_finite(result.energy, result.forces, engine)
    notes += notes_on_overlap(atoms)
    for note in notes:
        say(f"note: {note}", err=True)
    parts = EnergyTerms(engine).values() if terms else None
    if json:
        say(_as_json(structure, atoms, forcefield.name, engine.decomposition, result, parts, notes))
        return
    say(f"energy          {float(result.energy)!r} eV")
    say(f"energy per atom {float(result.energy) / len(atoms)!r} eV")
    if parts is not None:
        width = max(map(len, [*parts, "sum"]))
        for name, value in (*parts.items(), ("sum", math.fsum(parts.values()))):
            say(f"{name:{width}} {value!r} eV")
    if result.stress is None:
        say("stress          none (periodic in fewer than three directions)")
    else:
        for name, value in zip(_VOIGT, result.stress.tolist(), strict=True):
            say(f"stress {name}       {value!r} eV/Å^3")
    magnitudes = np.linalg.norm(result.forces, axis=1)
    shown = range(len(atoms)) if per_atom else np.argsort(-magnitudes, kind="stable")[:_LARGEST]
    if not per_atom:
        say(f"largest force   {float(magnitudes.max())!r} eV/Å; the largest {len(shown)}:")
    charges = None if result.charges is None else result.charges.tolist()
    say("# atom element " + "energy/eV " * per_atom + "charge/e " * bool(charges) + "fx fy fz / eV/Å")
    for i in shown:
        columns = [result.energies[i]] * per_atom + ([charges[i]] if charges else [])
        columns += [*result.forces[i]]
        say(f"{i} {engine.symbols[i]} " + " ".join(repr(float(value)) for value in columns))


def _as_json(
    structure: str,
    atoms: "Atoms",
    name: str,
    decomposition: str,
    result: Any,
    terms: dict[str, float] | None,
    notes: list[str],
) -> str:
    import json

    stress = None if result.stress is None else result.stress.tolist()
    content: dict[str, Any] = {
        "structure": structure,
        "potential": name,
        "decomposition": decomposition,
        "n_atoms": len(atoms),
        "units": {"energy": "eV", "forces": "eV/Å", "stress": "eV/Å^3 (xx yy zz yz xz xy, tension positive)"},
        "energy": float(result.energy),
        "energies": result.energies.tolist(),
        "forces": result.forces.tolist(),
        "stress": stress,
        "notes": notes,
    }
    if result.charges is not None:
        content["units"]["charges"] = "e"
        content["charges"] = result.charges.tolist()
    if terms is not None:
        content["terms"] = terms
    return json.dumps(content, indent=2, ensure_ascii=False)
