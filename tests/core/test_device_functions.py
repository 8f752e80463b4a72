"""Kernels call device functions, and read constants, through dataclasses that factories return."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from taichimd.core.arguments import ArrayField, kernel, types_of
from taichimd.core.runtime import DeviceFunction, start, ti

pytestmark = pytest.mark.both


@dataclass(frozen=True)
class Powers:
    raised: DeviceFunction
    negated: bool
    most: int
    never: DeviceFunction | None = None


@dataclass(frozen=True)
class Nested:
    powers: Powers
    both: DeviceFunction


def powers_of(exponent):
    @ti.func
    def raised(x):
        result = 1
        for _ in ti.static(range(exponent)):
            result *= x
        return result

    return Powers(raised, negated=False, most=exponent)


def nested(powers):
    @ti.func
    def both(x, fixed: ti.template()):
        value = powers.raised(x) + fixed
        if ti.static(powers.negated):
            value = -value
        if ti.static(bool(powers.never)):
            value = powers.never(x)
        return ti.min(value, 10**powers.most)

    return Nested(powers, both)


def test_functions_and_constants_of_nested_dataclasses():
    start("cpu")
    cases = [nested(powers_of(2)), nested(replace(powers_of(3), negated=True))]

    @kernel(types_of(ti.f64), out=ArrayField("i32", "n", "results"))
    def fill(out):
        for i in range(8):
            for k in ti.static(range(2)):
                out[8 * k + i] = cases[k].both(i, ti.static(cases[k].powers.most))

    out = ti.ndarray(ti.i32, 16)
    fill(out)
    x = np.arange(8)
    np.testing.assert_array_equal(out.to_numpy(), [*(x**2 + 2), *(-(x**3) - 3)])
