"""Infrared spectra of series of dipole moments whose spectrum is known, and molecules across boundaries."""

import numpy as np
import pytest

from taichimd.core.errors import AnalysisError
from taichimd.estimators.infrared import FASTEST, infrared_spectrum
from taichimd.estimators.molecules import made_whole


@pytest.mark.parametrize("per_sample", [0.02, 0.1, 0.3])
def test_a_vibration_has_its_line_and_its_strength(per_sample):
    """The difference quotient of fast vibrations is made up for."""
    dt, amplitude = 0.5, 0.3
    time = dt * np.arange(4000)
    omega = 2 * np.pi * per_sample / dt
    dipoles = np.outer(amplitude * np.cos(omega * time), [1.0, 0.0, 0.0])
    found = infrared_spectrum(dipoles, dt, 400)
    assert found.frequency[found.density.value.argmax()] == pytest.approx(per_sample / dt, rel=0.02)
    assert found.frequency[-1] <= FASTEST / dt
    area = found.density.value.sum() * found.frequency[1]
    # Half of the mean square of the derivative: the other half is at negative frequencies.
    assert area == pytest.approx(amplitude**2 * omega**2 / 4, rel=0.002)


def test_a_constant_dipole_and_a_short_series():
    assert np.abs(infrared_spectrum(np.ones((100, 3)), 1.0, 10).density.value).max() == 0.0
    with pytest.raises(AnalysisError, match=r"shape \(3, 3\), expected"):
        infrared_spectrum(np.ones((3, 3)), 1.0, 1)


def test_molecules_across_boundaries_are_whole():
    cell, pbc = np.diag([5.0, 6.0, 7.0]), np.array([True, True, False])
    positions = np.array([[0.2, 1, 1], [4.8, 1, 1], [4.0, 5.9, 1], [4.0, 0.1, 6.9], [2.0, 3.0, 3.0]])
    i, j = np.array([0, 1, 2], np.int32), np.array([1, 2, 3], np.int32)
    whole = positions + made_whole(positions, cell, pbc, i, j) @ cell
    np.testing.assert_allclose(whole[1] - whole[0], [-0.4, 0, 0], atol=1e-12)
    np.testing.assert_allclose(whole[2] - whole[1], [-0.8, -1.1, 0], atol=1e-12)
    np.testing.assert_allclose(whole[3] - whole[2], [0, 0.2, 5.9], atol=1e-12)
    np.testing.assert_array_equal(whole[4], positions[4])
