"""Radial distributions, coordination numbers and bond angles of structures that are known exactly."""

import numpy as np
import pytest
from ase.build import bulk
from ase.neighborlist import neighbor_list
from processes import covers

from taichimd.core.errors import AnalysisError
from taichimd.estimators.structure import coordination_number, count_angles, radial_distribution


def angles(*bonds, bins=180, **options):
    """Middle of each bin, degrees, and how probable an angle is there."""
    counts = count_angles(*bonds, bins, **options)
    return (np.arange(bins) + 0.5) * 180.0 / bins, counts / max(counts.sum(), 1.0)


def test_ideal_gas_has_no_structure_and_honest_errors():
    rng, n, box, r_max, bins, samples = np.random.default_rng(0), 60, 10.0, 5.0, 10, 10
    z = []
    for _ in range(40):
        counts = np.zeros((samples, bins))
        for s in range(samples):
            x = rng.uniform(0, box, (n, 3))
            d = x[:, None] - x
            d -= box * np.round(d / box)
            r = np.linalg.norm(d, axis=2)[~np.eye(n, dtype=bool)]
            counts[s] = np.histogram(r, bins, (0, r_max))[0]
        found = radial_distribution(counts, 1, r_max, n, n, box**3)
        z.append((found.g.value - (1 - 1 / n))[2:] / found.g.error[2:])
    assert covers(np.concatenate(z), samples)
    assert found.coordination.value[-1] == pytest.approx(counts.sum() / n / samples)


def test_neighbours_of_diamond():
    silicon = bulk("Si", cubic=True, a=5.43)
    r = neighbor_list("d", silicon, 6.0)
    counts, _ = np.histogram(r, 600, (0, 6.0))
    found = radial_distribution(counts, 1, 6.0, 8, 8, silicon.get_volume())
    for radius, number in ((2.0, 0), (3.0, 4), (4.2, 16), (5.0, 28), (5.6, 34), (6.0, 46)):
        assert coordination_number(found, radius).value == pytest.approx(number), radius
    assert np.isnan(found.g.error).all()
    shell = np.flatnonzero(counts)[0]
    by_hand = 4 / (8 / 5.43**3 * 4 / 3 * np.pi * (found.edges[shell + 1] ** 3 - found.edges[shell] ** 3))
    assert found.g.value[shell] == pytest.approx(by_hand)


def test_two_species_and_frames_of_different_samples():
    found = radial_distribution([[20, 0], [40, 0]], [1, 2], 2.0, 10, 5, 100.0)
    assert found.coordination.value[-1] == 2.0
    assert found.g.value[0] == pytest.approx(2.0 / (5 / 100.0 * 4 / 3 * np.pi))
    assert found.g.error[0] == 0.0


def test_angles_of_diamond_and_of_two_species():
    i, d = neighbor_list("iD", bulk("Si", cubic=True), 2.6)
    middle, density = angles(i, d)
    assert density.sum() == pytest.approx(1.0)
    assert middle[density.argmax()] == 109.5
    assert density.max() == pytest.approx(1.0)
    salt = bulk("NaCl", "rocksalt", a=5.64) * 2
    i, j, d = neighbor_list("ijD", salt, 4.1)
    sodium = salt.numbers == 11
    keep = sodium[i]
    middle, density = angles(i[keep], d[keep], bins=60, ends=(sodium[j][keep], ~sodium[j][keep]))
    assert set(middle[density > 0]) <= {43.5, 46.5, 88.5, 91.5, 133.5, 136.5}


def test_random_directions_give_the_sine():
    rng = np.random.default_rng(1)
    middle, density = angles(np.repeat(np.arange(4000), 6), rng.standard_normal((24_000, 3)), bins=18)
    np.testing.assert_allclose(density / 10.0, 0.5 * np.radians(1.0) * np.sin(np.radians(middle)), atol=4e-4)


def test_no_angle_at_all():
    assert (count_angles(np.array([0, 1]), [[1, 0, 0], [0, 1, 0]]) == 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: radial_distribution([1, 2], 1, 5.0, 4, 0, 10.0), "n_b = 0: expected a number above 0"),
        (lambda: radial_distribution([1, 2], 0, 5.0, 4, 4, 10.0), "frames = 0.0: expected"),
        (
            lambda: coordination_number(radial_distribution([1, 2], 1, 5.0, 4, 4, 10.0), 6.0),
            "radius 6 Å: expected above 0 and at most 5 Å",
        ),
        (lambda: count_angles(np.array([0, 0]), [[1, 0, 0], [0, 0, 0]]), "a bond has no length"),
        (lambda: count_angles(np.array([0]), [[1, 0, 0], [0, 0, 1]]), r"shape \(2, 3\), expected \(1, 3\)"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(AnalysisError, match=message):
        call()
