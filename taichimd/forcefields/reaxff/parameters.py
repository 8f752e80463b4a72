"""Tables of the parameters that a system of some species needs, made from an ffield file.

All rules between the file and the formulas are applied here and nowhere else: units, combination rules,
off-diagonals, which parts of a bond exist, which of several entries counts. Energies are in eV, lengths in
angstrom, angles in degrees.

Sources: K. Chenoweth, A. C. T. van Duin and W. A. Goddard, J. Phys. Chem. A 112, 1040 (2008), supporting
information; L. Liu et al., J. Phys. Chem. A 115, 11016 (2011) for lg. Where the papers are silent, the rules
are those that LAMMPS's numbers follow (22 Jul 2025, found by editing files and comparing energies).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np

from taichimd.core.errors import MissingParameterError
from taichimd.core.units import KCAL_PER_MOL
from taichimd.forcefields.reaxff.columns import ANGLE, HYDROGEN
from taichimd.forcefields.reaxff.ffield import Entry, FField
from taichimd.forcefields.reaxff.rules import (
    ON,
    PARTS,
    acts,
    angles_by_types,
    by_pair,
    check_numbers,
    missing_bonds,
    part_radii,
    torsions_by_types,
    types_of,
    van_der_waals,
)

ATOM = (
    *("Val", "Val_e", "Val_ang", "Val_boc", "light", "p_lp2", "p_ovun2", "p_ovun5", "p_val3", "p_val5"),
    *("chi", "eta", "hb", "mass"),
)
"""Columns of `Parameters.atom`. eV: p_lp2, p_ovun5, chi, and eta, which is twice the file's number. light: 1
for a mass up to 21 amu, else 0. Val_boc is Val_ang below that mass. hb: 1 hydrogen, 2 donor or acceptor."""

PAIR = (
    *("r_sigma", "r_pi", "r_pipi", "De_s", "De_p", "De_pp", "p_be1", "p_be2"),
    *("p_bo1", "p_bo2", "p_bo3", "p_bo4", "p_bo5", "p_bo6", "p_ovun1", "v13corr", "ovcorr"),
    *("p_boc3", "p_boc4", "p_boc5", "D", "alpha", "r_vdW", "gamma_w", "gamma3"),
    *("r_core", "e_core", "a_core", "C_lg", "R_lg6", "triple", "carbon"),
)
"""Columns of `Parameters.pair`. eV: De_s, De_p, De_pp, D, e_core; C_lg in eV angstrom^6. r_sigma, r_pi and
r_pipi are 0 where a pair has no such part. gamma3 is gamma^-3 in angstrom^3, R_lg6 the sixth power of the
scaled radius. 0 or 1: v13corr (f4 and f5), ovcorr (f1), triple (triple-bond term), carbon (C2 term)."""

TORSION = ("V1", "V2", "V3", "p_tor1", "p_cot1")
"""Columns of `Parameters.torsion`. eV: V1, V2, V3, p_cot1."""

_ENERGIES = {
    *("p_lp2", "p_ovun5", "De_s", "De_p", "De_pp", "D", "e_core", "C_lg", "p_trip1", "k_c2"),
    *("p_val1", "p_coa1", "p_pen1", "V1", "V2", "V3", "p_cot1", "p_hb1"),
}
"""Columns and general parameters that the file gives in kcal/mol."""

_LIGHT = 21.0  # amu


@dataclass(frozen=True)
class Parameters:
    """Tables for the species of a system, in their order. An empty table of rows has the shape (0, columns).

    Attributes:
        species: chemical symbols.
        general: general parameters by name, without the unused ones; bo_cut is the bond order at which bonds
            end; p_trip1 and k_c2 are in eV, swa and swb in angstrom.
        atom: (species, len(ATOM)), see `ATOM`.
        pair: (species, species, len(PAIR)), see `PAIR`; symmetric.
        angle_first: (species^3 + 1) int32; the triple i, j, k with the centre j has the rows
            angle_first[t] to angle_first[t + 1] - 1 of `angle`, t = (i species + j) species + k. All count.
        angle: (rows, 7), the columns of the file (`columns.ANGLE`); p_val1, p_coa1 and p_pen1 in eV.
        torsion_row: (species^4) int32; row of `torsion` for i, j, k, l, or -1 if there is none or all its
            energies are 0.
        torsion: (rows, len(TORSION)), see `TORSION`.
        hydrogen_row: (species^3) int32; row of `hydrogen` for donor, hydrogen, acceptor, or -1 for none.
        hydrogen: (rows, 4), the columns of the file (`columns.HYDROGEN`); p_hb1 in eV.
        wall: whether the van der Waals term has an inner wall.
        shielded: whether its distance is shielded.
        lg: whether it has low-gradient dispersion.
    """

    species: tuple[str, ...]
    general: Mapping[str, float]
    atom: np.ndarray
    pair: np.ndarray
    angle_first: np.ndarray
    angle: np.ndarray
    torsion_row: np.ndarray
    torsion: np.ndarray
    hydrogen_row: np.ndarray
    hydrogen: np.ndarray
    wall: bool
    shielded: bool
    lg: bool


def tables(ffield: FField, species: Sequence[str]) -> Parameters:
    """Make the tables.

    Args:
        ffield: the file.
        species: chemical symbols, each once; the order is that of the tables.

    Raises:
        MissingParameterError: the file lacks a species, or the bond of a pair of them.
        ParameterFileError: a number that the formulas cannot take, or van der Waals terms of several forms.
    """
    kinds = types_of(ffield, species)
    check_numbers(ffield, kinds)
    wall, shielded = van_der_waals(ffield, kinds)
    lg = ffield.lg and wall
    angle_first, angle = _angles(ffield, kinds)
    torsion_row, torsion = _torsions(ffield, kinds)
    hydrogen_row, hydrogen = _hydrogen_bonds(ffield, kinds)
    return Parameters(
        species=tuple(species),
        general=_general(ffield),
        atom=np.array([_atom(ffield.atoms[kind - 1]) for kind in kinds]),
        pair=_pairs(ffield, kinds, lg),
        angle_first=angle_first,
        angle=angle,
        torsion_row=torsion_row,
        torsion=torsion,
        hydrogen_row=hydrogen_row,
        hydrogen=hydrogen,
        wall=wall,
        shielded=shielded,
        lg=lg,
    )


def _in_ev(column: str, value: float) -> float:
    return value * KCAL_PER_MOL if column in _ENERGIES else value


def _row(entry: Entry, names: Sequence[str]) -> list[float]:
    return [_in_ev(name, entry[name]) for name in names]


def _general(ffield: FField) -> dict[str, float]:
    numbers = {
        name: _in_ev(name, value)
        for name, value in ffield.general.items()
        if not name.startswith("unused") and name != "cutoff"
    }
    return {**numbers, "bo_cut": 0.01 * ffield.general["cutoff"]}


def _atom(atom: Entry) -> list[float]:
    changed = {
        "Val_boc": atom["Val_ang"] if atom["mass"] < _LIGHT else atom["Val_boc"],
        "light": float(atom["mass"] <= _LIGHT),
        "eta": 2.0 * atom["eta"],
        "hb": float(int(atom["hb"])),
    }
    return [changed[name] if name in changed else _in_ev(name, atom[name]) for name in ATOM]


def _pairs(ffield: FField, kinds: Sequence[int], lg: bool) -> np.ndarray:
    names = [ffield.names[kind - 1] for kind in kinds]
    if missing := missing_bonds(ffield, names):
        raise MissingParameterError(
            f"{ffield.path} has no bond for {', '.join(missing)}; a structure of {', '.join(names)} needs "
            "one for every pair of its elements: choose another file or add the bonds"
        )
    bonds, off_diagonals = by_pair(ffield.bonds), by_pair(ffield.off_diagonals)
    table = np.empty((len(kinds), len(kinds), len(PAIR)))
    for (a, i), (b, j) in product(enumerate(kinds), repeat=2):
        pair = frozenset((i, j))
        values = _pair(ffield, (i, j), bonds[pair], off_diagonals.get(pair), lg)
        table[a, b] = [_in_ev(name, values[name]) for name in PAIR]
    return table


def _pair(
    ffield: FField, types: tuple[int, int], bond: Entry, off_diagonal: Entry | None, lg: bool
) -> dict[str, float]:
    """The columns of a pair by name, energies in kcal/mol."""
    i, j = (ffield.atoms[kind - 1] for kind in types)
    means = ("p_boc3", "p_boc4", "p_boc5", "D", "alpha", "gamma_w", "r_core", "e_core", "a_core")
    values = dict(bond.values) | {name: sqrt(max(0.0, i[name] * j[name])) for name in means}
    values["r_vdW"] = 2.0 * sqrt(i["r_vdW"] * j["r_vdW"])
    values["C_lg"] = sqrt(max(0.0, i["C_lg"] * j["C_lg"])) if lg else 0.0
    for name, value in off_diagonal.values.items() if off_diagonal else ():
        if name == "C_lg":
            values[name] = value if lg and value >= 0.0 else values[name]
        elif value > 0.0:
            values[name] = 2.0 * value if name == "r_vdW" else value
    values |= dict(zip(PARTS, part_radii(i, j, off_diagonal), strict=True))
    gamma = i["gamma"] * j["gamma"]
    radius = 2.0 * sqrt(max(0.0, i["R_lg"] * j["R_lg"])) * ffield.general["d_lg"] if lg else 0.0
    masses = sorted((i["mass"], j["mass"]))
    triple = int(ffield.general["triple"]) == 2 or masses == [12.0, 15.999]
    carbon = all(ffield.names[kind - 1] == "C" for kind in types) and ffield.general["k_c2"] > ON
    return values | {
        "v13corr": float(bond["v13corr"] >= ON),
        "ovcorr": float(bond["ovcorr"] >= ON),
        "gamma3": 1.0 / (gamma * sqrt(gamma)),
        "R_lg6": (radius * radius * radius) ** 2,
        "triple": float(ffield.general["p_trip1"] != 0.0 and triple),
        "carbon": float(carbon),
    }


def _angles(ffield: FField, kinds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """First row of each triple, and the rows: both directions of an entry, all entries of a triple."""
    found = angles_by_types(ffield)
    rows = [found.get(types, []) for types in product(kinds, repeat=3)]
    first = np.cumsum([0, *(len(some) for some in rows)])
    return first.astype(np.int32), _table([_row(entry, ANGLE) for some in rows for entry in some], len(ANGLE))


def _torsions(ffield: FField, kinds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Row of each quadruple, and the rows. An entry with four atoms comes before one with any atom."""
    explicit, any_end = torsions_by_types(ffield)
    energies = ("V1", "V2", "V3", "p_cot1")
    found = [explicit.get(types) or any_end.get(types[1:3]) for types in product(kinds, repeat=4)]
    return _numbered([one if one and any(map(one.values.get, energies)) else None for one in found], TORSION)


def _hydrogen_bonds(ffield: FField, kinds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Row of each donor, hydrogen, acceptor, and the rows."""
    last = {entry.types: entry for entry in ffield.hydrogen_bonds}
    found = [last.get(types) for types in product(kinds, repeat=3)]
    return _numbered([entry if entry and acts(ffield, entry) else None for entry in found], HYDROGEN)


def _numbered(entries: Sequence[Entry | None], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The row of each entry, -1 for None, and the rows; equal entries share one."""
    rows = list({id(entry): entry for entry in entries if entry}.values())
    place = {id(entry): at for at, entry in enumerate(rows)}
    index = [place.get(id(entry), -1) if entry else -1 for entry in entries]
    return np.array(index, np.int32), _table([_row(entry, names) for entry in rows], len(names))


def _table(rows: list[list[float]], columns: int) -> np.ndarray:
    return np.array(rows, np.float64).reshape(len(rows), columns)
