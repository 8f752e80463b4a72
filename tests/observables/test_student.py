"""The factor of errors from few samples."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import stdtrit

from taichimd.estimators.series import quantile_975


@pytest.mark.parametrize("degrees", [0.3, 1.0, 1.7, 2.0, 9.0, 47.3, 299.9, 300.0, 3000.0, 1e9])
def test_it_is_the_quantile_of_scipy(degrees):
    np.testing.assert_allclose(quantile_975(degrees), stdtrit(degrees, 0.975), rtol=1e-12)


def test_errors_need_no_scipy():
    code = (
        "import sys, numpy\nfrom taichimd.estimators.average import average_of\n"
        "from taichimd.estimators.series import mean_of\nfrom taichimd.estimators.slope import slope_of\n"
        "x = numpy.random.default_rng(1).normal(size=(3, 500))\n"
        "assert numpy.isfinite(mean_of(x).error).all() and average_of(x[0]).error > 0.0\n"
        "assert slope_of(numpy.arange(500.0), x[0]).error > 0.0\nprint('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
