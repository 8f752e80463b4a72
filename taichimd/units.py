"""Units: eV, angstrom, amu inside; the time unit that follows is angstrom*sqrt(amu/eV) = 10.18 fs.

Users type fs, K and GPa at the doors (command line, job file); those doors convert with these names,
nothing else does. Values are ASE's (CODATA 2014), so that numbers agree with ASE to the last digit.
"""

from ase import units as _ase

FS = _ase.fs
"""One femtosecond in internal time units."""
KB = _ase.kB
"""Boltzmann's constant in eV/K."""
GPA = _ase.GPa
"""One gigapascal in eV/angstrom^3."""
