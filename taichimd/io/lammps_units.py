"""Unit systems of LAMMPS (`units real`) as factors to this program's: eV, Å, amu, Å sqrt(amu/eV).

https://docs.lammps.org/units.html. `lj` is refused: its numbers are ratios to an epsilon, a sigma and a mass
that no file states.
"""

import re
from dataclasses import dataclass

from ase import units

from taichimd.core.errors import StructureError

_HEADER = re.compile(r"\bunits\s*=\s*(\w+)")


@dataclass(frozen=True)
class LammpsUnits:
    """What one unit of a system is in this program's units."""

    name: str  # word of LAMMPS' command `units`
    length: float  # Å
    mass: float  # amu
    energy: float  # eV
    charge: float  # e
    time: float  # Å sqrt(amu/eV)
    velocity: float  # Å per that time. Both: ASE's.

    @property
    def force(self) -> float:
        """One unit of force, eV/Å."""
        return self.energy / self.length

    @property
    def time_ps(self) -> float:
        """One unit of time, ps."""
        return self.time / (1000.0 * units.fs)


_STATCOULOMB = 1.0 / (10.0 * units._c)  # coulomb
_ATOMIC_TIME = 1.03275e-15 * units.s  # LAMMPS' manual: of velocities in units electron


def _mechanical(name: str, length: float, mass: float, time: float, charge: float) -> LammpsUnits:
    """A system whose unit of energy is mass length^2 / time^2; given in m, kg, s, C."""
    energy = mass * (length / time) ** 2 * units.J
    a, t = length * units.m, time * units.s
    return LammpsUnits(name, a, mass * units.kg, energy, charge * units.C, t, a / t)


_PS = 1000.0 * units.fs
UNITS = {
    one.name: one
    for one in (
        LammpsUnits("metal", 1.0, 1.0, 1.0, 1.0, _PS, 1.0 / _PS),
        LammpsUnits("real", 1.0, 1.0, units.kcal / units.mol, 1.0, units.fs, 1.0 / units.fs),
        LammpsUnits(
            "electron", units.Bohr, 1.0, units.Hartree, 1.0, units.fs, units.Bohr / _ATOMIC_TIME
        ),
        _mechanical("si", 1.0, 1.0, 1.0, 1.0),
        _mechanical("cgs", 1e-2, 1e-3, 1.0, _STATCOULOMB),
        # Charges in picocoulomb, and in multiples of the electron's.
        _mechanical("micro", 1e-6, 1e-15, 1e-6, 1e-12),
        _mechanical("nano", 1e-9, 1e-21, 1e-9, units._e),
    )
}  # fmt: skip
"""By name; `settings.types.InputUnits` has the same names."""
ASSUMED = UNITS["metal"]
"""Where nothing is stated."""


def units_named(name: str, where: str) -> LammpsUnits:
    """The unit system of a name; a StructureError, which begins with `where`, for lj and unknown names."""
    if name == "lj":
        raise StructureError(
            f"{where}: units lj are ratios to an epsilon, a sigma and a mass that the file does not state; "
            "convert lengths to Å, masses to amu and velocities to Å/ps, then give --input-units metal"
        )
    if name not in UNITS:
        raise StructureError(f"{where}: unknown units {name!r}; expected one of {', '.join(UNITS)}")
    return UNITS[name]


def units_of_header(line: str) -> str | None:
    """Units that the first line of a LAMMPS data file states (`units = real` of write_data), or None."""
    found = _HEADER.search(line)
    return found.group(1) if found else None


def assumed(where: str) -> str:
    """The note about a file that states no units."""
    return (
        f"{where} does not state its LAMMPS units; metal was assumed (Å, ps, eV): give --input-units if the "
        "file has others"
    )
