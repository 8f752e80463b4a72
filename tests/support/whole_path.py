"""What every potential from files does the same way: pieces, batches, and steps inside LAMMPS."""

import numpy as np
from ase import units

from taichimd import Batch
from taichimd.lammps import attach
from taichimd.lammps.reference import lammps_attached, lammps_nve
from taichimd.program.engine import Engine


def same(one, other):
    for found, expected in zip(one, other, strict=True):
        np.testing.assert_array_equal(found, expected)


def numbers(of):
    """All that an engine, or a member of a batch, computes of its present state."""
    now = of.evaluate()
    return [of.positions(), of.velocities(), now.forces, now.energies, now.virials, *of.heat_current()]


def assert_bits_of_pieces_and_batches(forcefield, given, timestep):
    """Thirty steps of the first structure in pieces, and of all as a batch, have the bits of one run each."""
    whole = [Engine(atoms, forcefield, backend="cpu") for atoms in given]
    for one in whole:
        one.advance(30, timestep)
    parts = Engine(given[0], forcefield, backend="cpu")
    for steps in (7, 1, 22):
        parts.advance(steps, timestep)
        parts.thermo()
    same(numbers(parts), numbers(whole[0]))
    batch = Batch(given, forcefield, backend="cpu")
    batch.advance(30, timestep)
    for member, one in zip(batch.members, whole, strict=True):
        same(numbers(member), numbers(one))


def assert_steps_under_lammps(atoms, path, forcefield, pair_style, pair_coeff):
    """Forty steps with our forces inside LAMMPS are those of its pair style, and end at our own forces."""
    options = {"n_steps": 40, "timestep": units.fs}
    found = lammps_attached(atoms, lambda lmp, elements: attach(lmp, str(path), elements), **options)
    own = lammps_nve(atoms, pair_style, pair_coeff, **options)
    np.testing.assert_allclose(found.positions, own.positions, rtol=0, atol=1e-9)
    atoms.positions = found.positions
    expected = Engine(atoms, forcefield, backend="cpu").evaluate()
    np.testing.assert_allclose(found.forces, expected.forces, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.energies, expected.energies, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.virial, expected.virials.sum(0), rtol=0, atol=1e-9)
