"""What an engine reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from ase import Atoms

from taichimd.core.arrays import Array
from taichimd.core.errors import EvaluationError, SettingsError
from taichimd.core.markup import facts
from taichimd.core.units import GPA

OVERLAP = 0.7
"""Angstrom: no bond is shorter, that of H2 has 0.74."""


class NotCopied:
    """What holds state on the device: `copy` and `pickle` are refused, with what to do `instead`."""

    instead = "make a new one, and give it the old one's state with set_state"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Raise a SettingsError."""
        raise SettingsError(
            f"{type(self).__name__} cannot be copied or pickled, because its state is on the device: "
            f"{self.instead}"
        )


@dataclass(frozen=True)
class Evaluation:
    """Energy and its derivatives at one configuration, float64, in the user's order."""

    energy: float  # eV
    energies: Array  # (n,) eV, sum = energy
    forces: Array  # (n, 3) eV/angstrom
    # (n, 3, 3) eV, W_i = sum_j r_ij (x) dU_j/dr_ji with r_ij = r_j - r_i: the share of the virial that
    # carries heat (`program.heat`), not symmetric for three-body terms; sum = -stress * volume
    virials: Array
    # (6,) eV/angstrom^3, ASE's sign and Voigt order, or None without a volume. Of an external potential each
    # atom has the n-th part of the virial, or NaN without a virial: then stress is None.
    stress: Array | None
    charges: Array | None = None  # (n,) e, or None of a force field without any

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        largest = float(np.sqrt((self.forces**2).sum(axis=1).max())) if len(self.forces) else 0.0
        rows = [
            ("energy", f"{self.energy:.6f} eV, {self.energy / max(len(self.energies), 1):.6f} eV/atom"),
            ("largest force", f"{largest:.3g} eV/Å"),
        ]
        if self.stress is not None:
            rows.append(("pressure", f"{-float(self.stress[:3].mean()) / GPA:.4g} GPa, without kinetic part"))
        if self.charges is not None:
            rows.append(("charges", f"{self.charges.min():.3f} to {self.charges.max():.3f} e"))
        return facts(rows)


@dataclass(frozen=True)
class Thermo:
    """Totals at one step: eV, K, angstrom^3."""

    step: int
    potential: float
    kinetic: float
    temperature: float
    # GPa; -trace(stress)/3 plus the kinetic part. None unless periodic in three directions, with a potential
    # that has a virial.
    pressure: float | None
    volume: float | None
    stress: Array | None  # (6,) eV/angstrom^3, potential part, ASE's sign and Voigt order, or None likewise
    # eV; total energy and what thermostat and cell have received since the first step; None where nothing is
    # conserved (weak coupling of the cell, driving force)
    conserved: float | None
    # of the charge equilibration of this step, or None of a force field without charges
    charge_iterations: int | None = None
    # energy that each bath of a group has given to the atoms since the first step, by its name
    heats: Mapping[str, float] = field(default_factory=dict)
    # of drives, by names of columns: work, energy, force, impulse and place
    driven: Mapping[str, float] = field(default_factory=dict)

    def facts(self) -> list[tuple[str, str]]:
        """Names and values with units, for a table."""
        rows = [
            ("step", f"{self.step:,}"),
            ("temperature", f"{self.temperature:.1f} K"),
            ("potential energy", f"{self.potential:.6f} eV"),
            ("kinetic energy", f"{self.kinetic:.6f} eV"),
        ]
        if self.pressure is not None:
            rows.append(("pressure", f"{self.pressure:.4g} GPa"))
        if self.volume is not None:
            rows.append(("volume", f"{self.volume:.6g} Å³"))
        rows += [(f"heat of {name}", f"{heat:.4g} eV") for name, heat in self.heats.items()]
        return rows

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return facts(self.facts())


def require_finite(energy: float, forces: Array, engine: Any) -> None:
    """Raise an EvaluationError for an energy or forces of an engine that are no finite numbers.

    It names the first atom whose force is not finite, or the energy, and what to look at: overlapping atoms
    if there are some, else the potential.
    """
    bad, symbols = np.flatnonzero(~np.isfinite(forces).all(axis=1)), engine.symbols
    if not len(bad) and np.isfinite(energy):
        return
    what = f"the energy is {energy} eV, expected a finite number"
    if len(bad):
        i = int(bad[0])
        force = forces[i].tolist()
        what = f"the force on atom {i} ({symbols[i]}) is {force} eV/angstrom, expected finite numbers"
    raise EvaluationError(f"TaichiMD: {what}; {_cure(engine, int(bad[0]) if len(bad) else None)}")


def _cure(engine: Any, atom: int | None) -> str:
    """What to do about an energy that is not finite, of an atom if one is known."""
    positions = engine.positions()
    if np.isfinite(positions).all():
        from ase.neighborlist import neighbor_list  # imports SciPy

        atoms = Atoms(engine.symbols, positions, cell=engine.cell, pbc=engine.pbc)
        i, j, r = neighbor_list("ijd", atoms, OVERLAP)
        if not len(r):
            name = engine.forcefield.name
            near = neighbor_list("i", atoms, max(engine.forcefield.list_cutoff, OVERLAP))
            lone_atoms = np.setdiff1d(np.arange(len(atoms)), near)
            lone = f", atom {lone_atoms[0]} has no neighbour within its cutoff" if len(lone_atoms) else ""
            return (
                f"no two atoms are closer than {OVERLAP:g} angstrom{lone}: look at the potential {name}, as "
                "with taichimd check"
            )
        k = int(np.argmin(np.where(np.isin(i, i if atom is None else atom), r, np.inf)))
        return (
            f"atoms {i[k]} and {j[k]} are {r[k]:.3g} angstrom apart: look for overlapping atoms, or lengths "
            "in a different unit"
        )
    return "look for overlapping atoms, or lengths in a different unit"
