"""Functions for own potentials, with the same bits on every backend (`core.math`, `core.cutoffs`)."""

from taichimd.core.cutoffs import cosine_cutoff, smooth_cutoff
from taichimd.core.math import angle, cos, exp, inverse_cube_root, log, power, sin, sqrt

__all__ = [
    "angle", "cos", "cosine_cutoff", "exp", "inverse_cube_root", "log", "power", "sin", "smooth_cutoff",
    "sqrt",
]  # fmt: skip
