"""The systems of the ReaxFF measurements.

Structures and parameter files of S. B. Kylasa, H. M. Aktulga, A. Y. Grama, J. Comput. Phys. 272, 343
(2014), are in a folder that is no part of the repository: water_300.pdb, water_6540.pdb, ffield.water,
silica_6000.pdb and ffield-bio. Larger systems are copies of these side by side. The paper's water has
6,540, 10,008, 25,050, 36,045 and 50,097 atoms.
"""

from pathlib import Path
from typing import Any

from validation import common

Copies = tuple[int, int, int]
WATER: dict[str, tuple[str, Copies]] = {
    "water 6,540": ("water_6540.pdb", (1, 1, 1)),
    "water 13,080": ("water_6540.pdb", (2, 1, 1)),
    "water 26,160": ("water_6540.pdb", (2, 2, 1)),
    "water 39,240": ("water_6540.pdb", (3, 2, 1)),
    "water 52,320": ("water_6540.pdb", (2, 2, 2)),
}
SILICA: dict[str, tuple[str, Copies]] = {
    "silica 6,000": ("silica_6000.pdb", (1, 1, 1)),
    "silica 12,000": ("silica_6000.pdb", (2, 1, 1)),
    "silica 24,000": ("silica_6000.pdb", (2, 2, 1)),
    "silica 36,000": ("silica_6000.pdb", (3, 2, 1)),
    "silica 48,000": ("silica_6000.pdb", (2, 2, 2)),
}
SMALL: dict[str, tuple[str, Copies]] = {
    "water 300": ("water_300.pdb", (1, 1, 1)),
    "silica 192": ("", (2, 2, 2)),  # beta cristobalite
}
LARGE: dict[str, tuple[str, Copies]] = {
    "water 1,000,620": ("water_6540.pdb", (3, 3, 17)),
    "silica 3,072,000": ("silica_6000.pdb", (8, 8, 8)),
    "water 3,001,860": ("water_6540.pdb", (3, 9, 17)),
}
SYSTEMS = WATER | SILICA | SMALL | LARGE
SETTINGS = {"paper": (0.1, 1e-10), "today": (0.25, 1e-6)}
"""Time step (fs) and charge tolerance: the paper's, and what taichimd takes unless told otherwise."""


def start(data: Path, structure: str, copies: Copies, temperature: float = 300.0) -> tuple[Any, Path]:
    """Atoms with velocities of a temperature (K), and their parameter file."""
    from ase.io import read

    from taichimd.system.velocities import set_temperature

    if structure:
        atoms = read(data / structure)
    else:
        common.use_tests_folder()
        from reaxff_samples import silica

        atoms = silica(rattle=0.02)
        atoms.set_cell([7.5] * 3, scale_atoms=True)
        # As a file would have them: the last bits of random numbers are the processor's.
        atoms.positions = atoms.positions.round(6)
    atoms = atoms.repeat(copies)
    set_temperature(atoms, temperature, 1)
    return atoms, data / ("ffield.water" if structure.startswith("water") else "ffield-bio")


def engine_of(
    data: Path, name: str, tolerance: float, backend: str, ensemble: Any = None, **options: Any
) -> Any:
    """An engine of one of `SYSTEMS`; `options` are those of `ReaxFF`."""
    from taichimd import Engine
    from taichimd.forcefields.reaxff.forcefield import ReaxFF

    atoms, ffield = start(data, *SYSTEMS[name])
    return Engine(
        atoms, ReaxFF(ffield, charge_tolerance=tolerance, **options), backend=backend, ensemble=ensemble
    )


def state_of(engine: Any) -> str:
    """SHA-256 of positions, velocities, forces and charges."""
    found = engine.evaluate()
    return common.sha(engine.positions(), engine.velocities(), found.forces, found.charges)
