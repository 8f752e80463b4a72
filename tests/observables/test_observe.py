"""Samplers on the device against NumPy on small systems, and the same bits for any order of the atoms."""

import numpy as np
import pytest
from ase import Atoms as Structure
from ase.build import bulk
from ase.neighborlist import neighbor_list
from samples import FRAMES, KINDS, POS, VEL, correlation, kinds_of, placed, radial

from taichimd import testing
from taichimd.core.errors import AnalysisError
from taichimd.core.runtime import start
from taichimd.observables.samplers.radial import RadialHistogram
from taichimd.observables.samplers.time_correlation import TimeCorrelation
from taichimd.system.state import State


def thin():
    """Two species in a skewed cell that is far thinner than r_max, atoms outside it too."""
    rng = np.random.default_rng(3)
    cell = [[4.0, 0.3, 0.0], [-1.0, 9.0, 0.5], [2.0, 1.0, 14.0]]
    return Structure("Si5C4", positions=rng.uniform(-20, 20, (9, 3)), cell=cell, pbc=True)


@pytest.mark.parametrize(
    ("make", "r_max"),
    [
        (testing.silicon_carbide_512, 5.0),
        (testing.silicon_carbide_512, 10.5),
        (testing.silicon_triclinic, 9.3),
        (testing.silicon_primitive_displaced, 12.0),
        (thin, 11.0),
        (lambda: testing.argon_256(), 3.0),
    ],
)
def test_radial_histogram_is_that_of_every_image(make, r_max):
    atoms, bins = make(), 97
    i, j, d = neighbor_list("ijd", atoms, r_max)
    kinds = kinds_of(atoms)
    expected = np.zeros((kinds.max() + 1,) * 2 + (bins,), int)
    np.add.at(expected, (kinds[i], kinds[j], np.minimum((d * bins / r_max).astype(int), bins - 1)), 1)
    found = radial(atoms, r_max, bins)
    assert found.sum() == len(d) > 0
    # Distances that differ in the last digit may change bins; no pair may be lost.
    assert abs(found - expected).sum() <= 4
    np.testing.assert_array_equal(found, found.transpose(1, 0, 2))


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_radial_histogram_does_not_depend_on_the_order_of_the_atoms(precision):
    atoms = testing.silicon_carbide_512()
    order = np.random.default_rng(0).permutation(len(atoms))
    plain = radial(atoms, 8.0, 500, precision=precision)
    np.testing.assert_array_equal(plain, radial(atoms, 8.0, 500, order, precision))
    np.testing.assert_array_equal(3 * plain, radial(atoms, 8.0, 500, order, precision, frames=3))


def test_one_atom_sees_its_own_images():
    counts = radial(bulk("Po", "sc", a=3.0), 5.0, 50)[0, 0]
    r = 0.1 * np.flatnonzero(counts)
    np.testing.assert_allclose(r, [3.0, 4.2], atol=0.11)
    assert counts[counts > 0].tolist() == [6, 12]


@pytest.mark.both
def test_radial_histogram_goes_on_from_a_checkpoint():
    atoms = thin()
    arrays = placed(range(9), pos=atoms.positions, kind=kinds_of(atoms))
    whole, first, second = (RadialHistogram(9, 2, 6.0, 30) for _ in range(3))
    for _ in range(2):
        whole.sample(arrays, atoms.cell[:])
    first.sample(arrays, atoms.cell[:])
    second.load(first.save())
    second.sample(arrays, atoms.cell[:])
    np.testing.assert_array_equal(second.counts(), whole.counts())
    assert second.frames == 2
    with pytest.raises(AnalysisError, match=r"saved histogram has the shape \(2, 2, 30\), expected"):
        RadialHistogram(9, 2, 6.0, 31).load(first.save())


def test_what_a_radial_histogram_refuses():
    start()
    with pytest.raises(AnalysisError, match="0 bins up to 5 Å: expected numbers above 0"):
        RadialHistogram(4, 1, 5.0, 0)
    with pytest.raises(AnalysisError, match="take fewer bins"):
        RadialHistogram(4, 100, 5.0, 10_000)
    histogram = RadialHistogram(1, 1, 5.0, 10)
    with pytest.raises(AnalysisError, match="needs a cell with a volume"):
        histogram.sample(placed([0], pos=np.zeros((1, 3)), kind=[0]), np.zeros((3, 3)))


def plain(window, every):
    """The same averages, by loops."""
    msd, vacf = np.zeros((window + 1, 3, 3)), np.zeros((window + 1, 3, 3))
    origins = np.zeros(window + 1, int)
    for lag in range(window + 1):
        starts = [t for t in range(0, FRAMES - lag, every)]
        origins[lag] = len(starts)
        for a in range(3):
            atoms = KINDS == a
            msd[lag, a] = np.mean([(POS[t + lag] - POS[t])[atoms] ** 2 for t in starts], axis=(0, 1))
            vacf[lag, a] = np.mean([(VEL[t + lag] * VEL[t])[atoms] for t in starts], axis=(0, 1))
    return msd, vacf, origins


@pytest.mark.both
@pytest.mark.parametrize(("window", "every"), [(20, 1), (20, 7), (21, 7), (5, 9), (139, 10)])
def test_time_correlation_is_the_plain_mean_over_origins(window, every):
    for found, expected in zip(correlation(window, every).results(), plain(window, every), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-9)


def test_time_correlation_has_the_same_bits_in_any_spatial_order():
    first = correlation(30, 3).results()
    for a, b in zip(first, correlation(30, 3, shuffle=True).results(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_single_precision_differs_by_single_precision_only():
    double, single = correlation(10, 2).results(), correlation(10, 2, precision="float32").results()
    np.testing.assert_allclose(single[0], double[0], atol=1e-5)
    np.testing.assert_allclose(single[1], double[1], rtol=1e-4, atol=1e-9)


def test_time_correlation_goes_on_from_a_checkpoint_bit_for_bit():
    whole = correlation(30, 4).results()
    first = correlation(30, 4, frames=range(77))
    second = TimeCorrelation(KINDS, 3, 30, 4)
    second.load(first.save())
    for a, b in zip(whole, correlation(30, 4, frames=range(77, FRAMES), made=second).results(), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(AnalysisError, match="saved time correlation: origins has the shape"):
        TimeCorrelation(KINDS, 3, 31, 4).load(first.save())


def test_resolution_and_range_are_what_the_docstring_says():
    start()
    squares, products = TimeCorrelation(np.zeros(10**6, np.int32), 1, 1).resolution
    assert squares < 2.5e-7
    assert products < 1e-9
    # The largest terms, all at once, add up without overflow.
    n = 5000
    found = TimeCorrelation(np.zeros(n, np.int32), 1, 1)
    zero, far = np.zeros((n, 3)), np.full((n, 3), 99.9)
    for k in range(200):
        found.sample(placed(range(n), pos=far * (k % 2), vel=zero + 7.99))
    msd, vacf, _ = found.results()
    np.testing.assert_allclose(msd[1], 99.9**2, rtol=1e-9)
    np.testing.assert_allclose(vacf, 7.99**2, rtol=1e-9)


@pytest.mark.parametrize("bad", [1e3, np.nan, np.inf])
def test_terms_beyond_the_range_are_an_error(bad):
    start()
    found = TimeCorrelation(np.zeros(2, np.int32), 1, 4)
    pos = np.zeros((2, 3))
    for value in (0.0, bad):
        pos[1, 1] = value
        found.sample(placed(range(2), pos=pos, vel=0 * pos))
    with pytest.raises(AnalysisError, match="moved more than 100 Å or faster than 8 Å per internal time"):
        found.results()


def test_a_species_without_samples_is_no_number():
    start()
    found = TimeCorrelation(np.zeros(2, np.int32), 2, 3)
    found.sample(placed(range(2), pos=np.ones((2, 3)), vel=np.ones((2, 3))))
    msd, vacf, origins = found.results()
    assert origins.tolist() == [1, 0, 0, 0]
    assert (vacf[0, 0] == 1).all()
    assert np.isnan(vacf[0, 1]).all()
    assert np.isnan(msd[1:]).all()
    with pytest.raises(AnalysisError, match="time correlation with window 0"):
        TimeCorrelation(np.zeros(2, np.int32), 1, 0)
    with pytest.raises(AnalysisError, match=r"with 100001 origins of 30000 atoms: more than 2\^31 numbers"):
        TimeCorrelation(np.zeros(30_000, np.int32), 1, 100_000)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_samplers_take_the_arrays_of_a_state(precision):
    """As the engine holds them: sorted arrays that a spatial sort swaps."""
    start()
    atoms = testing.silicon_carbide_512()
    state = State(kinds_of(atoms), atoms.get_masses(), precision)
    state.set("pos", atoms.positions)
    state.set("vel", 0.01 * atoms.positions)
    histogram = RadialHistogram(state.n, 2, 6.0, 100, precision)
    correlation = TimeCorrelation(kinds_of(atoms), 2, 3, precision=precision)
    for _ in range(2):
        histogram.sample(state, atoms.cell[:])
        correlation.sample(state)
    np.testing.assert_array_equal(histogram.counts(), 2 * radial(atoms, 6.0, 100, precision=precision))
    msd, vacf, _ = correlation.results()
    assert (msd[:2] == 0).all()
    expected = (0.01 * atoms.positions[kinds_of(atoms) == 1]) ** 2
    np.testing.assert_allclose(vacf[1, 1], expected.mean(axis=0), rtol=1e-6)
