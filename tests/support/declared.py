"""Declared potentials for tests: the same formulas with derivatives by hand and by derivation."""

from taichimd.core.math import exp, power, sqrt
from taichimd.forcefields.declare import pair_potential, triplet_potential

MORSE = {"depth": "eV", "width": "1/Å", "r0": "Å"}


@pair_potential(params=MORSE, reference="P. M. Morse, Phys. Rev. 34, 57 (1929)")
def morse(r, p):
    x = exp(-p.width * (r - p.r0))
    u = p.depth * (x * x - 2.0 * x)
    du_dr = -2.0 * p.width * p.depth * (x * x - x)
    return u, du_dr


@pair_potential(params=MORSE, derive=True)
def morse_derived(r, p):
    x = exp(-p.width * (r - p.r0))
    return p.depth * (x * x - 2.0 * x)


ANGLE = {"strength": "eV", "decay": "Å", "cos0": "1"}


@triplet_potential(params=ANGLE, reference="F. H. Stillinger, T. A. Weber, Phys. Rev. B 31, 5262 (1985)")
def angle(r_ij, r_ik, cos_jik, p):
    s = 1.0 / (r_ij - p.cutoff)
    t = 1.0 / (r_ik - p.cutoff)
    decay = exp(p.decay * (s + t))
    h_cos = cos_jik - p.cos0
    h = p.strength * h_cos * h_cos * decay
    return h, -h * p.decay * s * s, -h * p.decay * t * t, 2.0 * p.strength * h_cos * decay


@triplet_potential(params=ANGLE, derive=True)
def angle_derived(r_ij, r_ik, cos_jik, p):
    decay = exp(p.decay / (r_ij - p.cutoff) + p.decay / (r_ik - p.cutoff))
    return p.strength * (cos_jik - p.cos0) ** 2 * decay


@pair_potential(params={"a": "eV", "n": "1", "b": "Å"}, derive=True)
def power_law(r, p):
    return p.a * power(p.b / r, p.n) / sqrt(1.0 + (r / p.b) ** 2)


MORSE_VALUES = {"depth": 0.35, "width": 1.4, "r0": 2.5, "cutoff": 5.0}
ANGLE_VALUES = {"strength": 0.9, "decay": 1.1, "cos0": -1.0 / 3.0, "cutoff": 3.6}
