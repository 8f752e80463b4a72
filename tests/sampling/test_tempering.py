"""Chains that exchange configurations keep the distributions of their temperatures."""

import numpy as np
import pytest
from ase import Atoms

from taichimd import LennardJones
from taichimd.core import units
from taichimd.observables.estimators.series import block_means, mean_of
from taichimd.sampling.chain import MonteCarlo, Rate
from taichimd.sampling.tempering import Chains, exchange

pytestmark = pytest.mark.runtime("quadrants")

KT = 0.02


class Level:
    """A chain that stands on one of some levels of energy."""

    def __init__(self, kt, level=0, seed=5):
        self.temperature, self.level, self.seed, self.step = kt / units.KB, level, seed, 0
        self.exchanges = Rate(0.0)

    @property
    def enthalpy(self):
        return 0.03 * self.level

    def swap(self, other):
        self.level, other.level = other.level, self.level


def test_exchanges_obey_detailed_balance():
    def probability(low, high):
        """Of an exchange of a cold chain on level `low` and a warm one on level `high`."""
        chains = [Level(KT, low), Level(2 * KT, high)]
        for step in range(800):
            for one, level in zip(chains, (low, high), strict=True):
                one.step, one.level = step, level
            exchange(chains, 1)
        return chains[0].exchanges.accepted / chains[0].exchanges.tried

    weights = np.exp(-0.03 * np.arange(3) / KT), np.exp(-0.03 * np.arange(3) / (2 * KT))
    for low, high in ((0, 1), (0, 2), (1, 2)):
        # The cold chain always takes the lower level.
        assert probability(high, low) == 1.0
        back = weights[0][high] * weights[1][low] / (weights[0][low] * weights[1][high])
        assert probability(low, high) == pytest.approx(back, abs=4 * (back * (1 - back) / 800) ** 0.5)


def test_neighbours_take_turns():
    chains = [Level(KT, 3 - k) for k in range(4)]
    exchange(chains, 1)
    assert [one.exchanges.tried for one in chains] == [1, 0, 1, 0]
    assert [one.level for one in chains] == [2, 3, 0, 1]
    exchange(chains, 2)
    assert [one.exchanges.tried for one in chains] == [1, 1, 1, 0]
    assert [one.level for one in chains] == [2, 0, 3, 1]


class Well(MonteCarlo):
    """Atoms in a harmonic well."""

    def energies(self, known=None):
        return [(float(0.15 * (self.positions() ** 2).sum()), None)]


@pytest.mark.long
def test_energies_are_those_of_the_temperatures():
    atoms = Atoms("Ar2", positions=np.eye(3)[:2] * 0.2, cell=[13] * 3, pbc=True)
    nothing = LennardJones(epsilon=0.0, sigma=1.0, cutoff=1.0)
    options = {"move": 0.25, "backend": "cpu"}
    ladder = [Well(atoms, nothing, temperature=t, seed=t, **options) for t in (150, 300)]
    chains, seen = Chains(ladder, exchange=3), []
    for _ in range(1500):
        chains.advance(1)
        seen.append([one.energy for one in ladder])
    for one, energies in zip(ladder, np.transpose(seen), strict=True):
        found = mean_of(block_means(energies, 20))
        assert abs(found.value - 3 * one.temperature * units.KB) < 4 * found.error
        # Exchanges that are always accepted would be seen.
        assert abs(found.value - 3 * 225 * units.KB) > 3 * found.error
    assert 0.3 < ladder[0].exchanges.acceptance < 0.95
