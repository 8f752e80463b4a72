"""Atoms: arrays on the device, velocities, constraints, checks, lattices to start from."""
