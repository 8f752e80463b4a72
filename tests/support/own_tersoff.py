"""Tersoff's potential for silicon in 40 lines, by hand and derived; a whole EAM is in tests of the page."""

from taichimd import bond_order
from taichimd.math import cos, exp, power, sin

HALF_PI = 1.5707963267948966
PARAMS = {"A": "eV", "B": "eV", "lambda1": "1/Å", "lambda2": "1/Å", "beta": "1", "n": "1", "c": "1", "d": "1",
          "h": "1", "R": "Å", "D": "Å"}  # fmt: skip


def cutoff(r, p):
    f, df = 1.0, 0.0
    if r > p.R - p.D:
        x = HALF_PI * (r - p.R) / p.D
        f = 0.5 - 0.5 * sin(x)
        df = -0.5 * HALF_PI / p.D * cos(x)
    return f, df


def angle(r_ij, r_ik, cos_jik, p):
    c2, d2 = p.c * p.c, p.d * p.d
    return 1.0 + c2 / d2 - c2 / (d2 + (cos_jik - p.h) ** 2)


def bond(r, f, zeta, p):
    b = power(1.0 + power(p.beta * (zeta + 1e-30), p.n), -0.5 / p.n)
    return f * (p.A * exp(-p.lambda1 * r) - b * p.B * exp(-p.lambda2 * r))


tersoff = bond_order("own Tersoff", cutoff=cutoff, zeta=angle, bond=bond, params=PARAMS, derive=True)
silicon = tersoff(
    A=1830.8, B=471.18, lambda1=2.4799, lambda2=1.7322, beta=1.1e-6, n=0.78734, c=100390.0, d=16.217,
    h=-0.59825, R=2.85, D=0.15, cutoff=3.0,
)  # fmt: skip
