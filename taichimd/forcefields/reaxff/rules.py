"""What the entries of an ffield file mean: which of them count, and what the formulas cannot take."""

from collections.abc import Sequence

from taichimd.core.errors import MissingParameterError, ParameterFileError
from taichimd.core.scalars import digits
from taichimd.forcefields.formats.text import LONGEST
from taichimd.forcefields.reaxff.ffield import Entry, FField

PARTS = ("r_sigma", "r_pi", "r_pipi")
"""Radii of the parts of a bond."""
ON = 0.001
"""Switches are on, and energies of angles count, from here."""


def types_of(ffield: FField, species: Sequence[str]) -> tuple[int, ...]:
    """The file's numbers of these species.

    Raises:
        MissingParameterError: the file lacks one.
    """
    missing = [symbol for symbol in species if symbol not in ffield.names]
    if missing:
        raise MissingParameterError(
            f"{ffield.path} has no parameters for {', '.join(missing)}; it defines: {', '.join(ffield.names)}"
        )
    return tuple(ffield.names.index(symbol) + 1 for symbol in species)


def missing_bonds(ffield: FField, species: Sequence[str]) -> list[str]:
    """The pairs of these species, such as O-H, that the file has no bond for."""
    kinds = types_of(ffield, species)
    bonds = {frozenset(bond.types) for bond in ffield.bonds}
    pairs = [(i, j) for at, i in enumerate(kinds) for j in kinds[at:]]
    return [ffield.label(pair) for pair in pairs if frozenset(pair) not in bonds]


def part_radii(i: Entry, j: Entry, off_diagonal: Entry | None) -> tuple[float, ...]:
    """Radii of the sigma, pi and double pi part of the bond of atoms i and j; 0 where they have no such part.

    A part exists if both atoms have a radius for it, whatever the off-diagonal says.
    """
    return tuple(_radius(name, i, j, off_diagonal) for name in PARTS)


def _radius(name: str, i: Entry, j: Entry, off_diagonal: Entry | None) -> float:
    if min(i[name], j[name]) <= 0.0:
        return 0.0
    own = off_diagonal[name] if off_diagonal else 0.0
    return own if own > 0.0 else 0.5 * (i[name] + j[name])


def by_pair(entries: Sequence[Entry]) -> dict[frozenset[int], Entry]:
    """The entries of pairs that count: a later one replaces an earlier one, in either order of the atoms."""
    return {frozenset(entry.types): entry for entry in entries}


def angles_by_types(ffield: FField) -> dict[tuple[int, ...], list[Entry]]:
    """The angles that count, by their three atoms in both directions: all entries of a triple.

    An entry whose p_val1 is 0.001 or less counts for nothing, its penalty and coalition included.
    """
    found: dict[tuple[int, ...], list[Entry]] = {}
    for entry in ffield.angles:
        if abs(entry["p_val1"]) > ON:
            for types in dict.fromkeys((entry.types, entry.types[::-1])):
                found.setdefault(types, []).append(entry)
    return found


def torsions_by_types(ffield: FField) -> tuple[dict[tuple[int, ...], Entry], dict[tuple[int, ...], Entry]]:
    """The torsions that count: by four atoms, and by the two in the middle where an end is any atom."""
    explicit: dict[tuple[int, ...], Entry] = {}
    any_end: dict[tuple[int, ...], Entry] = {}
    for entry in ffield.torsions:
        ends = entry.types[0], entry.types[3]
        into, types = (any_end, entry.types[1:3]) if 0 in ends else (explicit, entry.types)
        into[types] = into[types[::-1]] = entry
    return explicit, any_end


def acts(ffield: FField, hydrogen_bond: Entry) -> bool:
    """Whether a hydrogen bond has a length, and its atoms are donor, hydrogen and acceptor (column hb)."""
    roles = [int(ffield.atoms[kind - 1]["hb"]) for kind in hydrogen_bond.types]
    return hydrogen_bond["r0"] > 0.0 and roles == [2, 1, 2]


def has_wall(atom: Entry) -> bool:
    """Whether an atom's van der Waals term has an inner wall."""
    return atom["r_core"] > 0.01 and atom["a_core"] > 0.01


def is_shielded(atom: Entry) -> bool:
    """Whether an atom's van der Waals distance is shielded."""
    return atom["gamma_w"] > 0.5


def form_name(atom: Entry) -> str:
    """The form of an atom's van der Waals term in words."""
    parts = [word for word, has in (("inner wall", has_wall(atom)), ("shielding", is_shielded(atom))) if has]
    return " and ".join(parts) or "neither inner wall nor shielding"


def check_numbers(ffield: FField, kinds: Sequence[int]) -> None:
    """Check that the formulas can take the general parameters and the numbers of the atoms `kinds`.

    Raises:
        ParameterFileError: one of them cannot be.
    """
    _check_general(ffield)
    for kind in kinds:
        _check_atom(ffield, kind)


def _check_general(ffield: FField) -> None:
    for name, good, expected in (
        ("p_boc2", lambda x: x != 0.0, "not 0"),
        ("p_vdW1", lambda x: x > 0.0, "above 0"),
        ("cutoff", lambda x: x > 0.0, "above 0"),
        ("swa", lambda x: x >= 0.0, "0 or above"),
        ("swb", lambda x: ffield.general["swa"] < x <= LONGEST, f"above swa, and {LONGEST:g} or less"),
    ):
        value = ffield.general[name]
        if not good(value):
            number = list(ffield.general).index(name) + 1
            raise ParameterFileError(
                f"{ffield.path}: general parameter {number} ({name}) is {digits(value)}, expected {expected}"
            )


def _check_atom(ffield: FField, kind: int) -> None:
    atom = ffield.atoms[kind - 1]
    for name in ("r_vdW", "gamma", "eta", "mass"):
        if atom[name] <= 0.0:
            raise ParameterFileError(
                f"{ffield.path} line {atom.line}: {name} of {ffield.names[kind - 1]} is "
                f"{digits(atom[name])}, expected above 0"
            )


def van_der_waals(ffield: FField, kinds: Sequence[int]) -> tuple[bool, bool]:
    """The form of the van der Waals term, (inner wall, shielding): that of the first atom of the file.

    Raises:
        ParameterFileError: one of the atoms `kinds` has another form, or the first atom has neither.
    """
    first = ffield.atoms[0]
    for kind in kinds:
        atom = ffield.atoms[kind - 1]
        if form_name(atom) != form_name(first):
            raise ParameterFileError(
                f"{ffield.path} line {atom.line}: the van der Waals term of {ffield.names[kind - 1]} has "
                f"{form_name(atom)}, that of {ffield.names[0]}, the first atom, has {form_name(first)}; "
                "expected one form for the whole file (columns gamma_w, r_core, a_core)"
            )
    if not (has_wall(first) or is_shielded(first)):
        raise ParameterFileError(
            f"{ffield.path} line {first.line}: the van der Waals term of {ffield.names[0]} has "
            f"{form_name(first)}, expected gamma_w above 0.5, or r_core and a_core above 0.01"
        )
    return has_wall(first), is_shielded(first)
