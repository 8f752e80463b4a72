"""Argon in a sheared cell, and engines with a barostat."""

import numpy as np
from ase.build import bulk

from taichimd import testing
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.engine import Engine

SMOOTH = {**testing.ARGON, "cutoff": 6.0, "truncation": "force-shifted"}
SHEAR = np.array([[1.0, 0.05, -0.03], [0.0, 0.97, 0.04], [0.0, 0.0, 1.02]])


def argon(temperature=120.0, shear=True):
    atoms = testing.rattled(bulk("Ar", cubic=True, a=5.4).repeat(3), 0.1, 1)
    if shear:
        atoms.set_cell(atoms.cell[:] @ SHEAR, scale_atoms=True)
    return testing.with_velocities(atoms, temperature, 2)


def made(kind, control, atoms=None, forcefield=None, engine=None, **options):
    values = {
        "temperature": 120.0, "coupling_time": 100.0, "pressure": 0.1, "pressure_coupling_time": 300.0,
        "bulk_modulus": 3.0, "control": control, "seed": 5, "period": 1,
    }  # fmt: skip
    return Engine(
        argon() if atoms is None else atoms,
        forcefield or LennardJones(**SMOOTH),
        ensemble=kind(**values | options),
        **engine or {},
    )
