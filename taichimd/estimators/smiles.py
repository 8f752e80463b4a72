"""SMILES of molecules that are known by their atoms and connections, by RDKit if it is installed.

A table of bonds says which atoms are connected, not which bonds are double. So all bonds are written as
single bonds and all hydrogen atoms are written: such a text names an isomer, and no electronic structure.
"""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

Bonds = frozenset[tuple[int, int]]


def has_smiles() -> bool:
    """Whether RDKit is installed."""
    return find_spec("rdkit") is not None


def smiles(symbols: Sequence[str], atoms: Iterable[int], bonds: Iterable[tuple[int, int]]) -> str:
    """Canonical SMILES of the molecule of some atoms with bonds between them, such as [H][O][H]."""
    from rdkit import Chem

    molecule, place = Chem.RWMol(), {}
    for number in sorted(atoms):
        atom = Chem.Atom(symbols[number])
        atom.SetNoImplicit(True)
        place[number] = molecule.AddAtom(atom)
    for i, j in sorted(bonds):
        molecule.AddBond(place[i], place[j], Chem.BondType.SINGLE)
    return str(Chem.MolToSmiles(molecule, allHsExplicit=True))
