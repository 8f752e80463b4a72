"""The portable elementary functions: accuracy against mpmath, special values, equal bits of both runtimes."""

import mpmath
import numpy as np
import pytest
from device_math import evaluate

POINTS = 800
INF, NAN = float("inf"), float("nan")


def ulps(found, exact, precision):
    """Errors in units in the last place of the exact value.

    Units are computed in mpmath: starting the runtime makes the processor flush subnormal numbers to zero,
    in NumPy's spacing, too.
    """
    digits = {"float64": 53, "float32": 24}[precision]
    errors = []
    for value, true in zip(found, exact, strict=True):
        unit = mpmath.ldexp(1, mpmath.frexp(true)[1] - digits)
        errors.append(float(abs(mpmath.mpf(float(value)) - true) / unit))
    return np.array(errors)


def uniform(low, high, seed=0):
    return np.random.default_rng(seed).uniform(low, high, POINTS)


def positive(low, high):
    """Of all sizes from 2^low to 2^high, with random digits."""
    return np.ldexp(uniform(0.5, 1.0), np.linspace(low, high, POINTS).astype(int))


def near_multiples_of_half_pi(largest):
    """Where sine or cosine vanishes and the reduction of the argument loses most digits."""
    k = np.random.default_rng(1).integers(1, int(largest / 1.6), POINTS)
    return np.concatenate([k * (np.pi / 2), -np.arange(1, 50) * (np.pi / 2)])


FLOAT64 = [
    ("exp", uniform(-708, 709), 1.0),
    ("exp", uniform(-1, 1), 1.0),
    ("log", positive(-1021, 1024), 0.9),
    ("log", uniform(0.5, 2), 0.9),
    ("log", 1 + 1e-3 * uniform(-1, 1), 0.9),
    ("log", 1 + 1e-9 * uniform(-1, 1), 0.9),
    ("sin", uniform(-10, 10), 1.5),
    ("cos", uniform(-10, 10), 1.5),
    ("sin", uniform(-1e4, 1e4), 1.9),
    ("cos", uniform(-1e4, 1e4), 1.9),
    ("sin", near_multiples_of_half_pi(1e4), 1.9),
    ("cos", near_multiples_of_half_pi(1e4), 1.9),
    ("sin", uniform(-1e5, 1e5), 2.5),
    ("cos", uniform(-1e5, 1e5), 2.5),
    ("inverse_cube_root", positive(-1021, 1024), 1.5),
    ("inverse_cube_root", uniform(0.5, 8), 1.5),
]
FLOAT32 = [
    ("exp", uniform(-87, 88), 1.0),
    ("exp", uniform(-1, 1), 1.0),
    ("log", positive(-125, 128), 0.9),
    ("log", uniform(0.5, 2), 0.9),
    ("sin", uniform(-0.75, 0.75), 1.6),
    ("cos", uniform(-0.75, 0.75), 1.6),
    ("inverse_cube_root", positive(-125, 128), 1.5),
]


def exact_value(name, x):
    """In many digits."""
    if name == "inverse_cube_root":
        return 1 / mpmath.cbrt(mpmath.mpf(float(x)))
    return getattr(mpmath, name)(mpmath.mpf(float(x)))


@pytest.fixture(autouse=True)
def _many_digits():
    with mpmath.workprec(160):
        yield


@pytest.mark.both
@pytest.mark.parametrize(
    ("precision", "name", "x", "bound"),
    [("float64", *case) for case in FLOAT64] + [("float32", *case) for case in FLOAT32],
)
def test_error_stays_within_the_stated_bound(precision, name, x, bound):
    x = x.astype(precision)
    exact = [exact_value(name, value) for value in x]
    errors = ulps(evaluate(name, x, precision=precision), exact, precision)
    worst = int(np.argmax(errors))
    assert errors[worst] < bound, f"{name}({x[worst]!r}) is {errors[worst]:.2f} ulp off"
    assert errors[worst] > 0.4, "suspiciously exact: the measure must be able to see rounding"


@pytest.mark.both
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_single_precision_angles_are_good_to_half_a_unit_of_one(name):
    x = uniform(-1e4, 1e4).astype(np.float32)
    exact = getattr(np, name)(x.astype(np.float64))
    error = abs(evaluate(name, x, precision="float32") - exact).max()
    assert error < 1.1 * 2.0**-24, f"{name} is off by {error}"


@pytest.mark.both
@pytest.mark.parametrize(("precision", "range_of_log"), [("float64", 300.0), ("float32", 40.0)])
def test_error_of_power_grows_with_the_size_of_its_logarithm(precision, range_of_log):
    x = np.exp(uniform(-20, 20)).astype(precision)
    y = (range_of_log * uniform(-1, 1, seed=1) / np.maximum(abs(np.log(x)), 0.1)).astype(precision)
    exact = [mpmath.power(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    errors = ulps(evaluate("power", x, y, precision=precision), exact, precision)
    allowed = 2.0 + 2.0 * abs(y.astype(float) * np.log(x.astype(float)))
    worst = int(np.argmax(errors / allowed))
    assert (errors < allowed).all(), f"power({x[worst]!r}, {y[worst]!r}) is {errors[worst]:.2f} ulp off"


SPECIAL = {
    "exp": [
        (0.0, 1.0), (-0.0, 1.0), (1e4, INF), (INF, INF), (-1e4, 0.0), (-INF, 0.0), (NAN, NAN), (1e-30, 1.0),
    ],
    "log": [(1.0, 0.0), (0.0, -INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)],
    "sin": [(0.0, 0.0), (NAN, NAN), (INF, NAN), (1e-30, 1e-30), (-1e-30, -1e-30)],
    "cos": [(0.0, 1.0), (NAN, NAN), (INF, NAN), (1e-30, 1.0)],
}  # fmt: skip


@pytest.mark.both
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, precision):
    x, expected = (np.array(column, precision) for column in zip(*SPECIAL[name], strict=True))
    np.testing.assert_array_equal(evaluate(name, x, precision=precision), expected)


@pytest.mark.both
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_special_powers(precision):
    """A base of zero or less is an empty sum and gives zero; what is not a number stays so."""
    cases = [(0.0, 0.5, 0.0), (-1.0, 2.0, 0.0), (1.0, 1e3, 1.0), (2.0, 1e6, INF), (2.0, -1e6, 0.0),
             (NAN, 0.5, NAN), (2.0, NAN, NAN), (7.0, 0.0, 1.0)]  # fmt: skip
    x, y, expected = (np.array(column, precision) for column in zip(*cases, strict=True))
    np.testing.assert_array_equal(evaluate("power", x, y, precision=precision), expected)
