"""Warnings: what an ffield file holds that can be read and is hardly meant, or does not act."""

from collections.abc import Callable, Iterator, Sequence
from math import exp, log

from ase.data import atomic_masses, atomic_numbers

from taichimd.core.elements import is_symbol
from taichimd.core.scalars import digits
from taichimd.forcefields.reaxff.columns import GENERAL
from taichimd.forcefields.reaxff.ffield import Entry, FField
from taichimd.forcefields.reaxff.rules import acts, by_pair, form_name, has_wall, part_radii, types_of

BOND_REACH = 5.0
"""Distance at which bonds end, whatever their bond order (angstrom)."""

Finding = tuple[tuple[int, ...], str]
"""Numbers of the atoms that a warning is about, none for the file as a whole, and the warning."""

_MASS_TOLERANCE = 0.01
_LARGE = 700.0  # exp(-700) still is a number
_BOND_ORDERS = (("p_bo1", "p_bo2"), ("p_bo3", "p_bo4"), ("p_bo5", "p_bo6"))
_GENERAL = {"cutoff": (0.001, 1.0), "swa": (0.0, 1.0), "swb": (5.0, 20.0)}
_ATOMS = {
    "r_sigma": (0.0, 4.0),
    "Val": (0.5, 8.0),
    "r_vdW": (0.5, 4.0),
    "D": (0.0, 1.0),
    "gamma": (0.1, 2.0),
    "Val_e": (0.5, 9.0),
    "alpha": (3.0, 20.0),
    "chi": (-15.0, 15.0),
    "eta": (3.0, 25.0),
    "p_boc3": (0.0, 100.0),
    "p_ovun2": (-100.0, 0.0),
    "p_val3": (0.0, 20.0),
    "p_val5": (0.0, 20.0),
}
_BONDS = {
    "De_s": (-10.0, 500.0),
    "De_p": (-10.0, 500.0),
    "De_pp": (-10.0, 500.0),
    "p_be1": (-5.0, 5.0),
    "p_ovun1": (-2.0, 10.0),
}
_OFF_DIAGONALS = {"D": (-1.0, 2.0), "r_vdW": (-1.0, 4.0), "alpha": (-1.0, 20.0), "r_sigma": (-1.0, 4.0)}
_ANGLES = {"Theta00": (0.0, 180.0), "p_val1": (-200.0, 200.0), "p_val2": (0.0, 50.0), "p_val4": (0.0, 30.0)}
_TORSIONS = {"V1": (-200.0, 200.0), "V2": (-300.0, 500.0), "V3": (-100.0, 100.0), "p_tor1": (-100.0, 5.0)}
_HYDROGEN_BONDS = {"r0": (-1.0, 6.0), "p_hb1": (-50.0, 5.0), "p_hb2": (0.0, 20.0), "p_hb3": (0.0, 100.0)}
"""Ranges well beyond the numbers of 17 published files: outside, a sign is missing or a column is wrong."""


def warnings_of(ffield: FField, species: Sequence[str] | None = None) -> list[str]:
    """What is suspicious in a file, one sentence each.

    Args:
        ffield: the file.
        species: only what these chemical symbols meet; None: all.

    Raises:
        MissingParameterError: the file lacks one of the species.
    """
    own = {0, *types_of(ffield, ffield.names if species is None else species)}
    found = [finding for check in _CHECKS for finding in check(ffield)]
    return [text for types, text in found if species is None or own.issuperset(types)]


def _general(ffield: FField) -> Iterator[Finding]:
    if (count := len(ffield.general)) > len(GENERAL):
        yield (), f"general parameters {len(GENERAL) + 1} to {count} are not used"
    for name, (low, high) in _GENERAL.items():
        if not low <= ffield.general[name] <= high:
            number = GENERAL.index(name) + 1
            value = ffield.general[name]
            yield (
                (),
                f"general parameter {number} ({name}) is {digits(value)}, "
                f"usual: {digits(low)} to {digits(high)}",
            )


def _forms(ffield: FField) -> Iterator[Finding]:
    first = ffield.atoms[0]
    for atom in ffield.atoms:
        if form_name(atom) != form_name(first):
            yield (
                atom.types,
                f"line {atom.line}: the van der Waals term of {ffield.label(atom.types)} has "
                f"{form_name(atom)}, that of {ffield.names[0]} has {form_name(first)}: structures with the "
                "former are refused",
            )
    if ffield.lg and not has_wall(first):
        yield (
            (),
            "the columns of low-gradient dispersion need an inner wall (r_core, a_core): they do not act",
        )


def _masses(ffield: FField) -> Iterator[Finding]:
    for atom in ffield.atoms:
        name = ffield.label(atom.types)
        usual = atomic_masses[atomic_numbers[name]] if is_symbol(name) else atom["mass"]
        if abs(atom["mass"] - usual) > _MASS_TOLERANCE * usual:
            yield (
                atom.types,
                f"line {atom.line}: mass of {name} is {digits(atom['mass'])}, usual: {usual:.3f}",
            )
    if not {"C", "O"} <= set(ffield.names) or int(ffield.general["triple"]) == 2:
        return
    carbon, oxygen = (ffield.names.index(name) for name in "CO")
    masses = ffield.atoms[carbon]["mass"], ffield.atoms[oxygen]["mass"]
    if ffield.general["p_trip1"] != 0.0 and masses != (12.0, 15.999):
        yield (
            (carbon + 1, oxygen + 1),
            f"masses of C and O are {digits(masses[0])} and {digits(masses[1])}: C-O has no triple-bond "
            "term, for which they must be 12 and 15.999",
        )


def _ranges(ffield: FField) -> Iterator[Finding]:
    for what, entries, ranges in (
        ("atom", ffield.atoms, _ATOMS),
        ("bond", ffield.bonds, _BONDS),
        ("off-diagonal", ffield.off_diagonals, _OFF_DIAGONALS),
        ("angle", ffield.angles, _ANGLES),
        ("torsion", ffield.torsions, _TORSIONS),
        ("hydrogen bond", ffield.hydrogen_bonds, _HYDROGEN_BONDS),
    ):
        for entry in entries:
            for name, (low, high) in ranges.items():
                if not low <= entry[name] <= high and _has_symbols(ffield, entry):
                    yield (
                        entry.types,
                        f"line {entry.line}: {name} of {what} {ffield.label(entry.types)} is "
                        f"{digits(entry[name])}, usual: {digits(low)} to {digits(high)}",
                    )


def _has_symbols(ffield: FField, entry: Entry) -> bool:
    """Whether the atoms of an entry are elements: the numbers of a label such as X mean nothing."""
    names = ("C", *ffield.names)
    return all(kind < len(names) and is_symbol(names[kind]) for kind in entry.types)


def _bond_orders(ffield: FField) -> Iterator[Finding]:
    """Bond orders must fall with the distance, and below the cutoff before bonds end."""
    off_diagonals = by_pair(ffield.off_diagonals)
    cutoff = 0.01 * ffield.general["cutoff"]
    for pair, bond in by_pair(ffield.bonds).items():
        i, j = (ffield.atoms[kind - 1] for kind in bond.types)
        radii = part_radii(i, j, off_diagonals.get(pair))
        where = f"line {bond.line}: bond order of {ffield.label(bond.types)}"
        total = 0.0
        for radius, (factor, power) in zip(radii, _BOND_ORDERS, strict=True):
            if radius > 0.0 and not (bond[factor] < 0.0 < bond[power]):
                yield (
                    bond.types,
                    f"{where} does not fall with the distance: {factor} is {digits(bond[factor])} and "
                    f"{power} {digits(bond[power])}, expected one below and one above 0",
                )
                break
            if radius > 0.0:
                total += _bond_order(BOND_REACH / radius, bond[factor], bond[power])
        else:
            if total > cutoff:
                yield (
                    bond.types,
                    f"{where} is {total:.2g} at {BOND_REACH:g} angstrom, where bonds end, above the cutoff "
                    f"{cutoff:g}: the energy jumps there",
                )


def _bond_order(distance: float, factor: float, power: float) -> float:
    """exp(factor distance^power), 0 where that is too small for a number; factor is below 0."""
    exponent = log(-factor) + power * log(distance)
    return exp(-exp(exponent)) if exponent < log(_LARGE) else 0.0


def _bond_energies(ffield: FField) -> Iterator[Finding]:
    for bond in by_pair(ffield.bonds).values():
        if bond["De_s"] != 0.0 and bond["p_be1"] < 0.0 and bond["p_be2"] < 0.0:
            yield (
                bond.types,
                f"line {bond.line}: energy of bond {ffield.label(bond.types)} grows without limit as its "
                "order vanishes: p_be1 and p_be2 are below 0",
            )


def _unknown_atoms(ffield: FField) -> Iterator[Finding]:
    for entry in (*ffield.angles, *ffield.torsions, *ffield.hydrogen_bonds):
        if max(entry.types) > len(ffield.names):
            yield (
                entry.types,
                f"line {entry.line}: the entry {' '.join(map(str, entry.types))} does not act: the file has "
                f"{len(ffield.names)} atoms",
            )


def _replaced(ffield: FField) -> Iterator[Finding]:
    """Entries that a later one replaces with other numbers; of angles all count."""
    for what, entries, key in (
        ("bond", ffield.bonds, _either_way),
        ("off-diagonal", ffield.off_diagonals, _either_way),
        ("torsion", ffield.torsions, _either_way),
        ("hydrogen bond", ffield.hydrogen_bonds, tuple),
    ):
        seen: dict[tuple[int, ...], Entry] = {}
        for entry in entries:
            types = key(entry.types)
            if types in seen and seen[types].values != entry.values:
                yield (
                    entry.types,
                    f"line {entry.line} replaces {what} {ffield.label(entry.types)} of line "
                    f"{seen[types].line}",
                )
            seen[types] = entry


def _either_way(types: tuple[int, ...]) -> tuple[int, ...]:
    return min(types, types[::-1])


def _idle_hydrogen_bonds(ffield: FField) -> Iterator[Finding]:
    for entry in ffield.hydrogen_bonds:
        if max(entry.types) <= len(ffield.names) and not acts(ffield, entry):
            why = (
                f"r0 is {digits(entry['r0'])}"
                if entry["r0"] <= 0.0
                else "expected donor, hydrogen, acceptor, whose column hb is 2, 1, 2"
            )
            yield (
                entry.types,
                f"line {entry.line}: hydrogen bond {ffield.label(entry.types)} does not act: {why}",
            )


_CHECKS: tuple[Callable[[FField], Iterator[Finding]], ...] = (
    _general,
    _forms,
    _masses,
    _ranges,
    _bond_orders,
    _bond_energies,
    _unknown_atoms,
    _replaced,
    _idle_hydrogen_bonds,
)
