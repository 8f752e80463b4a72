"""Functions for own potentials, with the same bits on every backend (`core.math`)."""

from taichimd.core.math import angle, cos, exp, inverse_cube_root, log, power, sin, sqrt

__all__ = ["angle", "cos", "exp", "inverse_cube_root", "log", "power", "sin", "sqrt"]
