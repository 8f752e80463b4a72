"""A frame of a trajectory on the host: taken from the engine at once, written later, while steps continue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from ase.data import atomic_masses, atomic_numbers
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.io.files import OwnFile
from taichimd.program.results import Thermo

if TYPE_CHECKING:
    from taichimd.program.engine import Engine


@dataclass(frozen=True)
class Snapshot:
    """What a frame holds, in the user's order."""

    step: int  # MD step
    time_ps: float | None  # ps; None of a Markov chain
    energy: float  # eV
    stress: Array | None  # (6,) eV/Å^3, xx yy zz yz xz xy, or None
    cell: Array  # (3, 3) Å
    positions: Array  # (n, 3) Å
    velocities: Array | None  # (n, 3), ASE's unit; None without a time
    masses: Array  # (n,) amu
    forces: Array  # (n, 3) eV/Å
    # (n,) True of fixed atoms, or (n, 3) along which directions atoms are held, or None
    fixed: NDArray[np.bool_] | None
    values: dict[str, Array]  # (n,) each, such as charges (e), by name
    energies: Array | None  # (n,) eV; None unless asked for
    virials: Array | None  # (n, 3, 3) eV; None unless asked for
    terms: dict[str, float]  # energies of terms (eV) by names such as E_bond_eV

    @property
    def momenta(self) -> Array | None:
        """(n, 3) sqrt(eV amu), ASE's unit."""
        return None if self.velocities is None else self.velocities * self.masses[:, None]

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.positions, self.velocities, self.forces, self.energies, self.virials)
        return sum(array.nbytes for array in (*arrays, *self.values.values()) if array is not None)


def snapshot(
    engine: "Engine",
    thermo: Thermo,
    time_ps: float | None,
    per_atom: Sequence[str] = (),
    terms: Mapping[str, float] | None = None,
    single: bool = False,
) -> Snapshot:
    """The present state of an engine as a frame; without a time there are no velocities.

    `per_atom`: some of "energy", "virial"; `terms`: eV by name; `single`: whether float32 is enough for
    positions, velocities and forces.
    """
    vectors = engine.single_vectors() if single else None
    x, v, f = vectors or (engine.positions(), engine.velocities(), engine.forces())
    now = engine.evaluate() if per_atom else None
    return Snapshot(
        step=int(thermo.step),
        time_ps=None if time_ps is None else float(time_ps),
        energy=float(thermo.potential),
        stress=None if thermo.stress is None else np.asarray(thermo.stress, float),
        cell=np.array(engine.cell, float),
        positions=x,
        velocities=None if time_ps is None else v,
        masses=np.asarray(engine.masses),
        forces=f,
        fixed=engine.held,
        values=engine.atom_values(),
        energies=now.energies if now is not None and "energy" in per_atom else None,
        virials=now.virials if now is not None and "virial" in per_atom else None,
        terms={name: float(value) for name, value in (terms or {}).items()},
    )


class FrameWriter(OwnFile):
    """Appends frames to a trajectory, each handed to the system; `append_frame` may be called in any thread.

    `single`: whether float32 is enough for positions, velocities and forces. `drop_from`: None starts a new
    file; a step keeps the frames before it and drops the others (restart). `per_atom`: some of "energy",
    "virial". `masses`: None: those that ASE gives the elements.
    """

    single = False

    def __init__(
        self,
        path: Path,
        symbols: Sequence[str],
        pbc: NDArray[np.bool_],
        drop_from: int | None = None,
        per_atom: Sequence[str] = (),
        masses: Array | None = None,
    ) -> None:
        self.path, self._per_atom = path, tuple(per_atom)
        self._pbc = np.array(pbc, bool)
        self.set_atoms(symbols, masses)
        self._open(drop_from)

    def set_atoms(self, symbols: Sequence[str], masses: Array | None) -> None:
        """Write frames of these atoms from now on; arguments as of the class."""
        self._symbols = list(symbols)
        self._numbers = np.array([atomic_numbers[symbol] for symbol in symbols])
        usual = atomic_masses[self._numbers]
        self._masses = usual if masses is None else np.asarray(masses, float)
        self._own_masses = not np.array_equal(self._masses, usual)

    def _open(self, drop_from: int | None) -> None:
        """Open the file, without the frames from a step on."""
        raise NotImplementedError

    def take(
        self,
        engine: "Engine",
        thermo: Thermo,
        time_ps: float | None,
        terms: Mapping[str, float] | None = None,
    ) -> Snapshot:
        """The present state of the engine, with what this file has of each atom (`snapshot`)."""
        return snapshot(engine, thermo, time_ps, self._per_atom, terms, self.single)

    def append_frame(self, frame: Snapshot) -> None:
        """Write a frame and hand it to the system."""
        raise NotImplementedError

    def write(
        self,
        engine: "Engine",
        thermo: Thermo,
        time_ps: float | None,
        terms: Mapping[str, float] | None = None,
    ) -> None:
        """Append the present state of the engine as one frame, at once (`snapshot`)."""
        self.append_frame(self.take(engine, thermo, time_ps, terms))
