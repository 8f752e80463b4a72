"""Small ffield files: every number is another one, so that a column in the wrong place shows."""

from taichimd.forcefields.reaxff import columns

GENERAL = {name: 10.0 + 0.01 * at for at, name in enumerate(columns.GENERAL)} | {
    "swa": 0.0,
    "swb": 10.0,
    "cutoff": 0.1,
    "triple": 0.0,
}
HYDROGEN = {"mass": 1.008, "hb": 1.0}
SILICON = {"mass": 28.085, "hb": 2.0}
BONDS = ("1 1", "1 2", "2 2")
COUNTS = ("bonds", "off-diagonals", "angles", "torsions", "hydrogen bonds")


def values(base, names, **changes):
    """Numbers base, base + 0.01 and so on, but for the changes."""
    assert changes.keys() <= set(names), changes
    return {name: base + 0.01 * at for at, name in enumerate(names)} | changes


def flat(rows):
    return tuple(name for row in rows for name in row)


def atom(base, lg=False, **changes):
    return values(base, flat((*columns.ATOM, columns.ATOM_LG) if lg else columns.ATOM), **changes)


def bond(types, **changes):
    """The rows of a bond; by default its order falls with the distance."""
    falling = {"p_bo1": -0.1, "p_bo2": 6.0, "p_bo3": -0.2, "p_bo4": 7.0, "p_bo5": -0.3, "p_bo6": 8.0}
    return types, values(3.0, flat(columns.BOND), **(falling | changes)), columns.BOND


def off_diagonal(types, **changes):
    row = columns.OFF_DIAGONAL_LG if "C_lg" in changes else columns.OFF_DIAGONAL
    return types, dict.fromkeys(row, -1.0) | changes, (row,)


def angle(types, **changes):
    return types, values(4.0, columns.ANGLE, **changes), (columns.ANGLE,)


def torsion(types, **changes):
    return types, values(5.0, columns.TORSION, **changes), (columns.TORSION,)


def hydrogen_bond(types, **changes):
    return types, values(1.5, columns.HYDROGEN, **changes), (columns.HYDROGEN,)


def text(
    *,
    general=(),
    atoms=None,
    bonds=None,
    off_diagonals=(),
    angles=(),
    torsions=(),
    hydrogen_bonds=(),
    lg=False,
    title="two elements",
):
    """An ffield file of hydrogen and silicon, or of `atoms`: name -> numbers."""
    if atoms is None:
        atoms = {"H": atom(1.0, lg, **HYDROGEN), "Si": atom(2.0, lg, **SILICON)}
    bonds = [bond(types) for types in BONDS] if bonds is None else bonds
    numbers = GENERAL | dict(general)
    lines = [title, f" {len(numbers)} ! general parameters", *(f"{v!r} ! {k}" for k, v in numbers.items())]
    lines += [f" {len(atoms)} ! atoms", "comment", "comment", "comment"]
    rows = (*columns.ATOM, columns.ATOM_LG) if lg else columns.ATOM
    for name, own in atoms.items():
        lines += written(name, own, rows)
    for section, entries in zip(
        COUNTS, (bonds, off_diagonals, angles, torsions, hydrogen_bonds), strict=True
    ):
        lines += [f" {len(entries)} ! {section}", *(["comment"] if section == "bonds" else [])]
        for types, own, its_rows in entries:
            lines += written(types, own, its_rows)
    return "\n".join(lines) + "\n"


def written(label, numbers, rows):
    """The lines of an entry."""
    lines = [" ".join(f"{numbers[name]!r}" for name in row) for row in rows]
    return [f"{label} {lines[0]}", *lines[1:]]
