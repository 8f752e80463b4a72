"""Constant power: a source of heat, or a sink, of a group of atoms.

At the end of each step, with the velocities v of that moment, V = sum m v/M and K = sum m |v - V|^2/2 of the
group:

    v <- V + s (v - V),    s = sqrt(1 + P dt/K)

The energy changes by P dt, and the momentum does not change. The splitting lets the energy of a pair of
source and sink drift. eHEX cures that by a change of the positions, with the forces f just computed and the
velocities before the rescaling:

    x <- x - dt^3 { P/(2 K^2) [P/48 + sum f.(v - V)/6] (v - V) - P/(12 K) [f/m - sum f/M] }

P. Wirnsberger, D. Frenkel, C. Dellago, J. Chem. Phys. 143, 124104 (2015), doi:10.1063/1.4931597. The change
is done when the next step begins, so positions, forces and energies of a step belong together.
"""

from dataclasses import dataclass, field, fields
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number, plain


@dataclass(frozen=True)
class Source:
    """Constant power into a group of atoms, relative to the centre of mass of the group.

        >>> from ase.build import bulk
        >>> from taichimd import Simulation, Source
        >>> atoms = bulk("Si", cubic=True).repeat(2)
        >>> pair = [Source(0.1, on=range(8)), Source(-0.1, on=range(32, 40))]
        >>> Simulation(atoms, "Si.sw", acting=pair).heats()
        {'group1': 0.0, 'group2': 0.0}

    Args:
        power: eV/ps; a negative power removes heat.
        on: the group: its name in `groups`, or what `Group` takes.
        correction: whether positions are corrected (eHEX), so that the energy does not drift.

    Raises:
        SettingsError: a power that is not a finite number.
    """

    power: float
    on: Any = field(default=None, compare=False, repr=False)
    correction: bool = True

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.name != "on":
                object.__setattr__(self, one.name, plain(getattr(self, one.name)))
        if not is_number(self.power):
            raise SettingsError(f"power = {self.power!r}: expected a finite number (eV/ps)")
        if not isinstance(self.correction, bool):
            raise SettingsError(f"correction = {self.correction!r}: expected True or False")
