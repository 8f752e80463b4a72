"""CIF files: one data block, each site with one element and whole.

ASE's parser reads the block. What it would drop or guess is looked at before: occupancies, disorder groups,
dummy sites, names that mean no element.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ase import Atoms
from ase.data import atomic_numbers

from taichimd.core.errors import StructureError
from taichimd.io.elements import HEAVY_HYDROGEN
from taichimd.io.other_formats import chosen_frame

_PLACES = [f"_atom_site_{kind}_{axis}" for kind in ("fract", "Cartn") for axis in "xyz"]
_WHOLE = 1e-3
"""By which an occupancy may be off 1: files round it."""
_SYMBOL = re.compile(r"([A-Za-z]+)([0-9]*[+-]?[0-9]*)")


def is_cif(path: Path, head: str) -> bool:
    """Whether a file is a CIF: by its suffix, or by its first words."""
    return path.suffix.lower() in (".cif", ".mcif") or (not path.suffix and head.lstrip().startswith("data_"))


def read_cif(path: Path, frame: int | None) -> tuple[Atoms, list[str]]:
    """Atoms of a data block, None: the last with a structure; periodic if there is a cell. And remarks."""
    blocks = _blocks(path)
    wanted, _ = chosen_frame(path, frame, len(blocks))
    block = blocks[wanted]
    notes = []
    if frame is None and len(blocks) > 1:
        names = ", ".join(one.name for one in blocks[:5])
        notes.append(
            f"{path.name} has {len(blocks)} data blocks with a structure ({names}); {block.name} is used "
            "(--from-frame selects a different one)"
        )
    atoms, told = _of_block(block, path)
    return atoms, notes + told


def cif_structures(path: Path) -> Iterator[tuple[Atoms, list[str]]]:
    """The structures of all data blocks, each as of `read_cif`."""
    for block in _blocks(path):
        yield _of_block(block, path)


def _blocks(path: Path) -> list[Any]:
    """Data blocks with a structure."""
    from ase.io.cif import parse_cif

    where = f"structure file {path}"
    try:
        blocks = [block for block in parse_cif(str(path)) if block.has_structure()]
    except AssertionError:
        raise StructureError(
            f"{where} cannot be read: it does not begin with a data block (data_NAME) as a CIF does; does "
            "the file name have the right suffix?"
        ) from None
    if not blocks:
        raise StructureError(
            f"{where} cannot be read: no data block has symbols and coordinates of atoms "
            "(_atom_site_fract_x ...)"
        )
    return blocks


def _of_block(block: Any, path: Path) -> tuple[Atoms, list[str]]:
    """Atoms of a data block, and remarks."""
    _check_sites(block, f"structure file {path}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        atoms: Atoms = block.get_atoms(fractional_occupancies=False)
    notes = []
    hidden = _column(block, "_atom_site_attached_hydrogens", len(block["_atom_site_type_symbol"]))
    if any(isinstance(count, int) and count > 0 for count in hidden):
        notes.append(
            f"{path.name} has hydrogen atoms without a place (_atom_site_attached_hydrogens); they are "
            "missing here"
        )
    if block.get_cellpar() is None:
        notes.append(f"{path.name} has no cell, so the structure is not periodic")
    return atoms, notes


def _column(block: Any, name: str, n: int) -> list[Any]:
    values = block.get(name)
    return list(values) if isinstance(values, list) and len(values) == n else [None] * n


def _check_sites(block: Any, where: str) -> None:
    """Refuse sites that are not one whole atom; give ASE the symbols as it spells them."""
    labels = block.get("_atom_site_label") or block.get("_atom_site_type_symbol")
    labels = [str(label) for label in (labels if isinstance(labels, list) else [labels])]
    n = len(labels)
    types = _column(block, "_atom_site_type_symbol", n)
    symbols = [
        _symbol(str(kind), label, where) if kind is not None else _symbol_of_label(label, where)
        for kind, label in zip(types, labels, strict=True)
    ]
    for label, symbol, occupancy in zip(
        labels, symbols, _column(block, "_atom_site_occupancy", n), strict=True
    ):
        if occupancy in (None, ".", "?"):
            continue
        if not isinstance(occupancy, int | float):
            raise StructureError(
                f"{where}: the occupancy of site {label} is {occupancy!r}; expected a number"
            )
        if abs(occupancy - 1.0) > _WHOLE:
            raise StructureError(
                f"{where}: site {label} has the occupancy {occupancy:g} of {symbol}; expected 1: make an "
                "ordered cell or supercell first"
            )
    groups = {str(group) for group in _column(block, "_atom_site_disorder_group", n)} - {
        "None",
        ".",
        "?",
        "0",
    }
    if len(groups) > 1:
        raise StructureError(
            f"{where}: sites belong to alternative disorder groups ({', '.join(sorted(groups))}); keep "
            "one of these groups"
        )
    for label, flag in zip(labels, _column(block, "_atom_site_calc_flag", n), strict=True):
        if str(flag).lower() == "dum":
            raise StructureError(f"{where}: site {label} is a dummy (_atom_site_calc_flag dum); delete it")
    _check_places(block, labels, where)
    block._tags["_atom_site_type_symbol"] = symbols


def _check_places(block: Any, labels: list[str], where: str) -> None:
    """Refuse a coordinate that is unknown."""
    for name in _PLACES:
        for label, place in zip(labels, _column(block, name, len(labels)), strict=True):
            if place is not None and not isinstance(place, int | float):
                raise StructureError(f"{where}: {name} of site {label} is {place!r}; expected a number")


def _known(symbol: str) -> bool:
    return symbol in HEAVY_HYDROGEN or symbol in atomic_numbers


def _symbol(kind: str, label: str, where: str) -> str:
    """The element of a type symbol such as Si, SI4+, O2-, D."""
    match = _SYMBOL.fullmatch(kind)
    symbol = match[1].capitalize() if match else kind
    if not _known(symbol):
        raise StructureError(f"{where}: site {label} has the type symbol {kind!r}, which is not an element")
    if symbol == "X":
        raise StructureError(f"{where}: site {label} is a dummy (X); delete it")
    return symbol


def _symbol_of_label(label: str, where: str) -> str:
    """The element of a label such as Si1, O2a."""
    match = re.match(r"[A-Za-z]+", label)
    letters = match[0] if match else label
    if letters.isupper() and len(letters) > 1 and _known(letters[:2].capitalize()) and _known(letters[0]):
        raise StructureError(
            f"{where}: site {label} can be {letters[:2].capitalize()} or {letters[0]}; add a column "
            "_atom_site_type_symbol"
        )
    found = [one for one in (letters[:2], letters[:1]) if _known(one) and one != "X"]
    if not found:
        raise StructureError(
            f"{where}: the site label {label!r} does not begin with an element; expected a label such as Si1"
        )
    return found[0]
