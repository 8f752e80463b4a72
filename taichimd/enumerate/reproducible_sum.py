"""Sums whose bits do not depend on the order of their terms.

A sum is kept in two parts. The first one stands on 98304, where the unit of a float64's last place is 2^-36,
until the sum itself leaves +-32768: adding a term rounds it to a multiple of that. What was rounded away is
known exactly; it goes to the second part, which likewise stands on multiples of 2^-72. Nothing else is lost,
so any order, any list and any number of threads gives the same bits, and better ones than those of a plain
sum; beyond +-32768 they are as good as other sums. f and -f add alike: pair forces obey Newton's third law to
the last bit. (J. Demmel, H. D. Nguyen, IEEE Trans. Comput. 64, 2060 (2015), with two bins that are fixed
beforehand.)

The range leaves room for atoms of a collision cascade (eV and angstrom), the grid for sums of 1e-5 to their
last digit.

Ties: a term halfway between two multiples of 2^-36 goes to one or the other, as the sum happens to stand.
Both parts together do not show it, since the second one takes what is missing without rounding. Halfway
between two multiples of 2^-72 something would be lost; so its last bit is set beforehand, which is 2^-90 or
less.

Terms of float32 kernels are added in float64, too: what 32 bits hold would not be enough.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.runtime import DeviceFunction, ti
from taichimd.enumerate.access import store_matrix

BITS = 36
COARSE = 1.5 * 2.0 ** (52 - BITS)
"""Offset of the first part of a sum: numbers of this size have 2^-BITS as the unit of their last place."""
RANGE = COARSE / 3.0
"""How far a sum may continue its grid."""
FINE = COARSE * 2.0**-BITS
"""The second part."""


@ti.func
def added(coarse, fine, x):
    """Both parts of a sum with one more term x."""
    term = ti.cast(x, ti.f64)
    then = coarse + term
    rest = term - (then - coarse)
    return then, fine + ti.bit_cast(ti.bit_cast(rest, ti.i64) | 1, ti.f64)


@ti.func
def total_of(coarse, fine):
    """The sum that two parts make."""
    return (coarse - ti.cast(COARSE, ti.f64)) + (fine - ti.cast(FINE, ti.f64))


@ti.func
def empty_sums(terms: ti.template()):
    """As many sums: first parts, then second ones."""
    return ti.Vector([ti.cast(start, ti.f64) for start in ti.static((COARSE,) * terms + (FINE,) * terms)])


@ti.func
def with_term(sums: ti.template(), terms: ti.template(), k: ti.template(), x):
    """Add x to sum k of so many."""
    coarse, fine = added(sums[k], sums[terms + k], x)
    sums[k] = coarse
    sums[terms + k] = fine


FORCE, TRACE, DIAGONAL, SYMMETRIC, ALL = range(5)
"""What is summed: the force; the force and of the virial the trace, the diagonal, or the six components
xx, yy, zz, yz, xz, xy; or the force, the energy and all nine of the virial."""
TERMS = (3, 4, 6, 9, 13)
"""How many sums each of them is."""
SIX = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
"""Components of a symmetric tensor, the diagonal first."""


@ti.func
def symmetric(six):
    """The 3x3 matrix of six components."""
    x, y, z, yz, xz, xy = six[0], six[1], six[2], six[3], six[4], six[5]
    return ti.Matrix([[x, xy, xz], [xy, y, yz], [xz, yz, z]])


@dataclass(frozen=True)
class SumFunctions:
    """Device functions for force, energy and virial of an atom from its pairs."""

    empty: DeviceFunction  # sums of nothing
    add: DeviceFunction  # a pair to sums
    store: DeviceFunction  # what sums make
    results: DeviceFunction  # the same, as values
    virial: DeviceFunction  # components of the virial, of wants between `FORCE` and `ALL`
    length: int  # of the sums of a force alone


@cache
def pair_sums(real: Any) -> SumFunctions:
    """The functions for atoms of one precision."""

    @ti.func
    def empty(want: ti.template()):
        """As many sums as `want` says."""
        return empty_sums(ti.static(TERMS[want]))

    @ti.func
    def add(sums: ti.template(), d, u, w, want: ti.template()):
        """A pair at distance vector d with energy u and slope w = u'/r."""
        f = w * d
        terms = ti.static(TERMS[want])
        for k in ti.static(range(terms)):
            term = 0.5 * u
            if ti.static(k < 3):
                term = f[k]
            elif ti.static(want == TRACE):
                term = -0.5 * d.dot(f)
            elif ti.static(want != ALL):
                term = -0.5 * d[SIX[k - 3][0]] * f[SIX[k - 3][1]]
            elif ti.static(k > 3):
                term = -0.5 * d[(k - 4) // 3] * f[(k - 4) % 3]
            with_term(sums, terms, k, term)

    @ti.func
    def results(sums, want: ti.template()):
        """Force and, with `ALL`, energy and 3x3 virial, which are else zero."""
        terms = ti.static(TERMS[want])
        force, energy, virial = ti.Vector.zero(real, 3), ti.cast(0.0, real), ti.Matrix.zero(real, 3, 3)
        for k in ti.static(range(terms if want == ALL else 3)):
            total = ti.cast(total_of(sums[k], sums[terms + k]), real)
            if ti.static(k < 3):
                force[k] = total
            elif ti.static(k == 3):
                energy = total
            else:
                virial[(k - 4) // 3, (k - 4) % 3] = total
        return force, energy, virial

    @ti.func
    def store(
        i, sums, energy: ti.template(), force: ti.template(), virial: ti.template(), want: ti.template()
    ):
        """The force, and with `ALL` energy and virial."""
        f, e, w = results(sums, want)
        force[i] = f
        if ti.static(want == ALL):
            energy[i] = e
            store_matrix(virial, i, w)

    @ti.func
    def virial(sums, want: ti.template()):
        """Return the components of the virial, a vector, for `TRACE`, `DIAGONAL` or `SYMMETRIC`."""
        terms = ti.static(TERMS[want])
        return ti.Vector([total_of(sums[k], sums[terms + k]) for k in ti.static(range(3, terms))])

    return SumFunctions(empty, add, store, results, virial, length=2 * TERMS[FORCE])


def store_function(thermostat: Any, driven: bool) -> Any:
    """Device function that takes force and virial of an atom where they belong.

    `driven`: adds a driving force.
    """

    @ti.func
    def store(i, n, f, w, out: ti.template(), want: ti.template(), bath: ti.template()):
        force = f
        if ti.static(driven):
            force += thermostat.drive(i, w, bath)
        elif ti.static(want != FORCE and want != ALL):
            thermostat.add_virial(i, n, w, bath)
        out.force[i] = force
        if ti.static(want == ALL):
            store_matrix(out.virial, i, w)

    return store
