"""What is a chemical element."""

from ase.data import atomic_numbers


def is_symbol(label: str) -> bool:
    """Whether a label is a chemical symbol: LAMMPS's Mo1 is none, and neither is ASE's placeholder X."""
    return atomic_numbers.get(label, 0) > 0
