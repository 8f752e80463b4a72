"""Trajectories of oscillators about the sites of a crystal, for analyses of files."""

import ase.io
import numpy as np
from ase import units
from ase.build import bulk


def frames(count, times=True, velocities=True, step=0.01):
    """Two species on a lattice, each atom an oscillator: 5 THz for Si, 10 THz for C, along x."""
    lattice = bulk("SiC", "zincblende", a=4.36, cubic=True)
    phase = np.random.default_rng(0).uniform(0, 2 * np.pi, len(lattice))
    omega = 2 * np.pi * np.where(lattice.numbers == 14, 5.0, 10.0)  # per ps
    images = []
    for k in range(count):
        atoms = lattice.copy()
        angle = omega * k * step + phase
        atoms.positions[:, 0] += 0.05 * np.cos(angle)
        if velocities:
            v = np.zeros((len(atoms), 3))
            v[:, 0] = -0.05 * omega * np.sin(angle) / (1000 * units.fs)
            atoms.set_velocities(v)
        if times:
            atoms.info |= {"time_ps": k * step, "step": k}
        images.append(atoms)
    return images


def save(images, name="t.extxyz"):
    ase.io.write(name, images)
    return name


def uneven():
    images = frames(12)
    for k, image in enumerate(images):
        image.info["time_ps"] = 0.01 * k + (0.02 if k > 5 else 0.0)
    return images


def without_cell():
    images = frames(12)
    for image in images:
        image.pbc = False
        image.cell = None
    return images
