"""Systems that LAMMPS moves, and how it is told of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from validation import systems
from validation.systems import System

PROCESSORS = {1: "1 1 1", 2: "2 1 1", 4: "2 2 1", 8: "2 2 2"}
"""How space is divided."""
FEW_CELLS = 2
"""Along each edge, of a cube that LAMMPS repeats."""


def _triples(cells: int) -> System:
    """Solid argon with pairs, and triples within a cutoff."""

    def forcefield() -> Any:
        from taichimd import AxilrodTeller

        return systems.shipped_forcefield("Ar.lj") + AxilrodTeller({("Ar",) * 3: 50.0}, 6.5)

    made = systems.argon(cells, 60.0, cutoff=8.5, timestep_fs=5.0)
    return System("lj-axilrod-teller", made.atoms, forcefield, made.timestep, made.lammps)


CASES: dict[str, Callable[[int], System]] = {
    "lj-argon": lambda cells: systems.argon_liquid(cells, reduced_timestep=0.002),
    "sw-si": lambda cells: systems.silicon(cells, 600.0, potential="Si.sw"),
    "tersoff-si": lambda cells: systems.silicon(cells, 600.0),
    "vashishta-sic": lambda cells: systems.silicon_carbide(cells, 600.0),
    "vashishta-sio2": systems.silica,
    "lj-axilrod-teller": _triples,
    "silicon-sum": lambda cells: systems.silicon_sum(cells, 600.0),
}


def drifting(system: System, steps: int) -> System:
    """The same on its way through two fifths of the box along each periodic direction, in so many steps."""
    atoms = system.atoms
    way = np.where(atoms.pbc, 0.4 * atoms.cell.lengths(), 0.0)
    atoms.set_velocities(atoms.get_velocities() + way / (steps * system.timestep))
    return system


def opened(lmp: Any, system: System, processes: int, skin: float, repeat: str = "") -> Any:
    """Put a system into a LAMMPS; returns its box (`taichimd/lammps/reference.py`).

    `repeat`: so many copies along each vector, as LAMMPS's `replicate` takes them, with velocities of the
    system's temperature; to pass millions of atoms from Python would take minutes.
    """
    from taichimd.lammps.reference import MVV2E, create_atoms, lammps_box, setup_commands, unique_elements

    atoms = system.atoms
    elements, box = unique_elements(atoms), lammps_box(atoms)
    first, *others = setup_commands(atoms, box, elements)
    lmp.commands_list([first, f"processors {PROCESSORS[processes]}", *others])
    create_atoms(lmp, atoms, atoms.get_velocities(), box, elements)
    if repeat:
        lmp.command(f"replicate {repeat}")
        lmp.command(f"velocity all create {float(atoms.get_temperature())!r} 87287 dist gaussian")
    # A liquid evaporates: its open box follows.
    lmp.command("change_box all boundary " + " ".join("p" if periodic else "s" for periodic in box.pbc))
    lmp.commands_list(
        [
            f"neighbor {skin} bin",
            "compute who all property/atom proc",
            "compute each all pe/atom",
            "compute press all pressure NULL virial",
            "fix move all nve",
            f"timestep {system.timestep * float(np.sqrt(MVV2E))!r}",
            "thermo_modify lost error flush no",
        ]
    )
    return box
