"""Units: eV, angstrom, amu inside; the time unit that follows is angstrom*sqrt(amu/eV) = 10.18 fs.

Users give fs, K and GPa in the command line and in job files; these convert with the names below and
nothing else does. The values are ASE's (CODATA 2014), so that numbers agree with ASE to the last digit.
"""

from ase import units as _ase

FS = _ase.fs
"""One femtosecond in internal time units."""
KB = _ase.kB
"""Boltzmann's constant in eV/K."""
GPA = _ase.GPa
"""One gigapascal in eV/angstrom^3."""
PS = 1000.0 * _ase.fs
"""One picosecond in internal time units."""
THZ = 1.0 / PS
"""One terahertz (cycles, not radians) in inverse internal time."""
WATT_PER_METRE_KELVIN = _ase.J / _ase.s / _ase.m
"""One W/(m K) in eV / (internal time * angstrom * K)."""
PASCAL_SECOND = _ase.Pascal * _ase.s
"""One Pa s in eV * internal time / angstrom^3."""
CM2_PER_S = (0.01 * _ase.m) ** 2 / _ase.s
"""One cm^2/s in angstrom^2 / internal time."""
KCAL_PER_MOL = _ase.kcal / _ase.mol
"""One kcal/mol in eV."""
