"""Heat current of LAMMPS (`compute heat/flux`) and its own sum of r_i E_i along a trajectory of a cluster."""

from collections.abc import Sequence

import numpy as np
from ase import Atoms

from taichimd.core.arrays import Array
from taichimd.lammps.reference import (
    MVV2E,
    lammps_box,
    potential_commands,
    running,
    setup_commands,
    unique_elements,
)

FLUX = (
    "compute kinetic all ke/atom",
    "compute potential all pe/atom",
    "compute virial all stress/atom NULL virial",
    "compute flux all heat/flux kinetic potential virial",
)
COMMANDS = (
    *FLUX,
    "variable energy atom c_kinetic+c_potential",
    *(f"variable moment_{a} atom {a}*v_energy" for a in "xyz"),
    "compute moment all reduce sum v_moment_x v_moment_y v_moment_z",
    "fix move all nve",
    "thermo_style custom step c_flux[1] c_moment[1]",
)


def lammps_heat(
    atoms: Atoms,
    pair_style: str,
    pair_coeff: Sequence[str],
    *,
    timestep: float = 1e-5,
    stride: int = 1,
    samples: int = 1,
) -> tuple[Array, Array]:
    """Currents and energy moments at `samples` times, `stride` steps apart, from the state of `atoms` on.

    Args:
        atoms: a cluster, not periodic, with velocities.
        pair_style: as of `lammps_evaluate`.
        pair_coeff: as of `lammps_evaluate`.
        timestep: in sqrt(amu angstrom^2/eV); LAMMPS's constants cancel, as of `lammps_nve`.
        stride: steps between samples.
        samples: how many.

    Returns:
        (samples, 3) currents, eV angstrom per sqrt(amu angstrom^2/eV); (samples, 3) sum of r_i E_i, eV
        angstrom, of LAMMPS's own per-atom energies.
    """
    elements, box = unique_elements(atoms), lammps_box(atoms)
    currents, moments = [], []
    with running(atoms, atoms.get_velocities(), box, setup_commands(atoms, box, elements)) as lmp:
        for command in (*potential_commands(pair_style, pair_coeff, (), elements), *COMMANDS):
            lmp.command(command)
        lmp.command(f"timestep {timestep * float(np.sqrt(MVV2E))!r}")
        for k in range(samples):
            lmp.command(f"run {stride if k else 0}")
            currents.append(np.array(lmp.numpy.extract_compute("flux", 0, 1))[:3])
            moments.append(np.array(lmp.numpy.extract_compute("moment", 0, 1))[:3])
    return np.array(currents) @ box.rotation * np.sqrt(MVV2E), np.array(moments) @ box.rotation
