"""PDB files: one model; of alternate locations those of the highest occupancy; a cell if it has one."""

import io
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ase import Atoms

from taichimd.core.errors import StructureError
from taichimd.io.elements import HEAVY_HYDROGEN
from taichimd.io.other_formats import chosen_frame

_ATOM = ("ATOM  ", "HETATM")


def is_pdb(path: Path, head: str) -> bool:
    """Whether a file is a PDB file: by its suffix, or by its first records."""
    if path.suffix.lower() in (".pdb", ".ent"):
        return True
    return not path.suffix and any(line.startswith(("CRYST1", *_ATOM)) for line in head.splitlines()[:50])


def read_pdb(path: Path, frame: int | None) -> tuple[Atoms, list[str]]:
    """A model, None: the last, without a cell if CRYST1 says 1 1 1 (none); and remarks on what is guessed."""
    where = f"structure file {path}"
    shared, models = _models(path)
    if not models:
        raise StructureError(f"{where} has no atoms")
    wanted, notes = chosen_frame(path, frame, len(models), "models")
    atoms, told = _of_model(path, shared, models[wanted])
    return atoms, notes + told


def pdb_models(path: Path) -> Iterator[tuple[Atoms, list[str]]]:
    """All models of a PDB file, each as of `read_pdb`."""
    shared, models = _models(path)
    for model in models:
        yield _of_model(path, shared, model)


def _of_model(
    path: Path, shared: list[tuple[int, str]], model: list[tuple[int, str]]
) -> tuple[Atoms, list[str]]:
    """Atoms of a model, and remarks."""
    lines, told = _one_location(model, path.name)
    cell, without = _cell(shared, model, path.name, f"structure file {path}")
    atoms = _parsed([line for _, line in [*cell, *lines]])
    heavy = [k for k, (_, line) in enumerate(lines) if line[76:78].strip() in HEAVY_HYDROGEN]
    if heavy:
        masses = atoms.get_masses()
        masses[heavy] = [HEAVY_HYDROGEN[lines[k][1][76:78].strip()] for k in heavy]
        atoms.set_masses(masses)
    atoms.arrays.pop("occupancy", None)
    return atoms, [*told, *without, *_guessed(lines, atoms, path.name)]


def _models(path: Path) -> tuple[list[tuple[int, str]], list[list[tuple[int, str]]]]:
    """Numbered lines outside of models that hold for all of them, and those of each model with atoms."""
    shared: list[tuple[int, str]] = []
    models: list[list[tuple[int, str]]] = []
    now: list[tuple[int, str]] = []
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("END"):
            if any(one.startswith(_ATOM) for _, one in now):
                models.append(now)
            now = []
        elif line.startswith("CRYST1") and not models and not now:
            shared.append((number, line))
        elif line.startswith(("CRYST1", "ORIGX", *_ATOM)):
            (shared if line.startswith("ORIGX") else now).append((number, line))
    if any(one.startswith(_ATOM) for _, one in now):
        models.append(now)
    return shared, models


def _cell(
    shared: list[tuple[int, str]], model: list[tuple[int, str]], name: str, where: str
) -> tuple[list[tuple[int, str]], list[str]]:
    """Lines of the cell and the origin, the model's own cell first, and a remark if there is none."""
    cells = [one for one in [*model, *shared] if one[1].startswith("CRYST1")]
    others = [one for one in shared if one[1].startswith("ORIGX")]
    if not cells:
        return others, [f"{name} has no record CRYST1, so the structure is not periodic"]
    number, line = cells[0]
    try:
        lengths = [float(line[k : k + 9]) for k in (6, 15, 24)]
        [float(line[k : k + 7]) for k in (33, 40, 47)]
    except ValueError:
        raise StructureError(
            f"{where}, line {number}: cannot be read: {line.strip()[:60]!r} is not a cell; expected CRYST1, "
            "three lengths and three angles"
        ) from None
    if lengths in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]):
        return others, [
            f"CRYST1 {lengths[0]:g} {lengths[1]:g} {lengths[2]:g} in {name} means no cell: not periodic"
        ]
    return [(number, line), *others], []


def _occupancy(line: str) -> float:
    try:
        return float(line[54:60])
    except ValueError:
        return 1.0


def _one_location(model: list[tuple[int, str]], name: str) -> tuple[list[tuple[int, str]], list[str]]:
    """Lines of atoms with one location of each, and remarks.

    A residue with alternate locations keeps the letter with the highest mean occupancy, for all atoms that
    have it, so that locations of different letters are not mixed.
    """
    atoms = [one for one in model if one[1].startswith(_ATOM)]
    residues: dict[str, dict[str, list[float]]] = {}
    for _, line in atoms:
        if line[16:17].strip():
            residues.setdefault(line[21:27], {}).setdefault(line[16], []).append(_occupancy(line))
    best = {
        residue: max(sorted(letters), key=lambda letter: float(np.mean(letters[letter])))
        for residue, letters in residues.items()
    }
    there = {(line[21:27], line[12:16]) for _, line in atoms if line[16:17] == best.get(line[21:27])}
    kept, dropped, taken = [], 0, set()
    for number, line in atoms:
        letter, key = line[16:17].strip(), (line[21:27], line[12:16])
        # An atom that lacks the residue's letter keeps its first location.
        if letter and letter != best[line[21:27]] and (key in there or key in taken):
            dropped += 1
            continue
        if letter:
            taken.add(key)
        kept.append((number, line))
    notes = []
    if dropped:
        letters = ", ".join(sorted(set(best.values())))
        notes.append(
            f"{name} has alternate locations; the locations of highest occupancy are kept ({letters}), "
            f"atoms left out: {dropped:,}"
        )
    partial = [line for _, line in kept if not line[16:17].strip() and 0.0 < _occupancy(line) < 1.0]
    if partial:
        notes.append(
            f"{len(partial):,} atoms of {name} have an occupancy below 1 (the first: "
            f"{partial[0][12:16].strip()}, "
            f"{_occupancy(partial[0]):g}) and no alternate location; they count as whole atoms"
        )
    return kept, notes


def _parsed(lines: list[str]) -> Atoms:
    from ase.io.proteindatabank import read_proteindatabank

    lines = [
        line[:76] + " H" + line[78:] if line[76:78].strip() in HEAVY_HYDROGEN else line for line in lines
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        atoms = read_proteindatabank(io.StringIO("\n".join(lines) + "\n"))
    assert isinstance(atoms, Atoms)
    return atoms


def _guessed(lines: list[tuple[int, str]], atoms: Atoms, name: str) -> list[str]:
    """A remark on elements that the file does not state in their columns, if there are any."""
    found = {
        line[12:16].strip(): symbol
        for (_, line), symbol in zip(lines, atoms.get_chemical_symbols(), strict=True)
        if not line[76:78].strip()
    }
    if not found:
        return []
    shown = ", ".join(f"{label} as {symbol}" for label, symbol in list(found.items())[:5])
    return [f"{name} has atoms without an element (columns 77 and 78), taken from their names: {shown}"]
