"""Chains that exchange configurations keep the distributions of their temperatures."""

import warnings

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import LennardJones
from taichimd.core import units
from taichimd.core.errors import TaichimdWarning
from taichimd.estimators.average import average_of
from taichimd.program.systems import Systems
from taichimd.sampling import tempering
from taichimd.sampling.chain import MonteCarlo
from taichimd.sampling.rates import Rate
from taichimd.sampling.tempering import Chains, exchange, exponent

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


def test_pairs_of_a_round_exchange_independently_of_each_other():
    """Joint detailed balance of a ladder of four: w(x) P(x to y) = w(y) P(y to x) of all configurations."""
    rounds, kts = 2000, (KT, 2 * KT, 3 * KT, 4 * KT)

    def outcomes(levels):
        """How often the first pair, the second pair, both, none of them exchanged."""
        chains, found = [Level(kt) for kt in kts], np.zeros((2, 2))
        for step in range(rounds):
            for one, level in zip(chains, levels, strict=True):
                one.step, one.level = step, level
            exchange(chains, 1)
            found[int(chains[0].level != levels[0]), int(chains[2].level != levels[2])] += 1
        return found / rounds

    def weight(levels):
        return np.exp(-sum(0.03 * level / kt for level, kt in zip(levels, kts, strict=True)))

    for x in ((0, 1, 0, 2), (0, 2, 1, 2)):
        there = outcomes(x)
        for first, second in np.ndindex(2, 2):
            if not (first or second):
                continue
            y = (*(x[1::-1] if first else x[:2]), *(x[:1:-1] if second else x[2:]))
            back = outcomes(y)[first, second]
            ratio = weight(y) / weight(x)
            error = np.sqrt(there[first, second] + ratio**2 * back) / rounds**0.5
            assert there[first, second] == pytest.approx(ratio * back, abs=4 * error)
        assert 0.05 < there[1].sum() < 0.95
        assert 0.05 < there[:, 1].sum() < 0.95
        # What the first pair does says nothing of the second pair.
        both = there[1].sum() * there[:, 1].sum()
        assert there[1, 1] == pytest.approx(both, abs=4 * (both / rounds) ** 0.5)


@pytest.mark.parametrize("pressure", [None, 0.3])
def test_exchanges_compare_enthalpies(pressure):
    """Of chains at the same pressure, whose volumes differ; the unit of the pressure is written out."""
    argon = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=5.0)
    temperatures, sides = (80.0, 130.0), (5.3, 5.9)
    ladder = [
        MonteCarlo(bulk("Ar", cubic=True, a=a) * 2, argon, temperature=t, pressure=pressure, backend="cpu")
        for t, a in zip(temperatures, sides, strict=True)
    ]
    # p V in eV: 1 GPa angstrom^3 is 1e-21 J.
    work = [(pressure or 0.0) * 8 * a**3 * 1e-21 / 1.602176634e-19 for a in sides]
    enthalpies = [one.evaluate().energy + pv for one, pv in zip(ladder, work, strict=True)]
    betas = [1.602176634e-19 / (1.380649e-23 * t) for t in temperatures]
    expected = (betas[0] - betas[1]) * (enthalpies[0] - enthalpies[1])
    assert exponent(*ladder) == pytest.approx(expected, rel=3e-6)
    assert pressure is None or abs(work[0] - work[1]) > 0.1 * abs(enthalpies[0] - enthalpies[1])


def test_chains_with_the_same_noise_are_told(monkeypatch):
    monkeypatch.setattr(tempering, "can_share", lambda chains: False)
    with pytest.warns(TaichimdWarning, match="several chains have the same seed"):
        Chains([Level(KT), Level(2 * KT)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Chains([Level(KT, seed=1), Level(2 * KT, seed=2)])


def test_neighbours_take_turns():
    chains = [Level(KT, 3 - k) for k in range(4)]
    exchange(chains, 1)
    assert [one.exchanges.tried for one in chains] == [1, 0, 1, 0]
    assert [one.level for one in chains] == [2, 3, 0, 1]
    exchange(chains, 2)
    assert [one.exchanges.tried for one in chains] == [1, 1, 1, 0]
    assert [one.level for one in chains] == [2, 0, 3, 1]


@pytest.mark.long
def test_energies_are_those_of_the_temperatures(monkeypatch):
    """Of atoms in a harmonic well."""
    atoms = Atoms("Ar2", positions=np.eye(3)[:2] * 0.2, cell=[13] * 3, pbc=True)
    nothing = LennardJones(epsilon=0.0, sigma=1.0, cutoff=1.0)
    options = {"kind": "all", "move": 0.25, "backend": "cpu"}
    ladder = [MonteCarlo(atoms, nothing, temperature=t, seed=t, **options) for t in (150, 300)]

    def well(self, known=None):
        return [(float(0.15 * (one.positions() ** 2).sum()), None) for one in self.members]

    monkeypatch.setattr(Systems, "energies", well)
    chains, seen = Chains(ladder, exchange=3), []
    for _ in range(1500):
        chains.advance(1)
        seen.append([one.energy for one in ladder])
    for one, energies in zip(ladder, np.transpose(seen), strict=True):
        found = average_of(energies)
        assert abs(found.value - 3 * one.temperature * units.KB) < 4 * found.error
        # Exchanges that are always accepted would be seen.
        assert abs(found.value - 3 * 225 * units.KB) > 2.5 * found.error
    assert 0.3 < ladder[0].exchanges.acceptance < 0.95
