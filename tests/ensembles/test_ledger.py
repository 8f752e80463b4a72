"""Energies that a thermostat adds up: the threads of a warp put theirs together first."""

import numpy as np
import pytest
import warps

(ledger,) = warps.emulated("ensembles.thermostats.ledger")


@pytest.mark.parametrize("n", [1, 32, 70, 200])
def test_sums_of_warps_are_those_of_atoms(n):
    """Also in the last warp, of which some threads have no atom."""
    energies = np.random.default_rng(n).normal(size=n)
    slots = np.zeros(ledger.SLOT + 2 * ledger.SLOTS, object)
    functions = ledger.sum_functions(by_slot=True)

    def count(threads):
        for i in range(warps.lane(), threads, warps.WARP):
            if i < n:
                functions.count(i, n, 1, energies[i], slots)

    warps.run(count, -(-n // warps.WARP) * warps.WARP)
    expected = sum(ledger.units_of(energy) for energy in energies)
    assert slots[: ledger.SLOT + ledger.SLOTS].sum() == 0
    assert functions.empty_slots(1, slots) == expected
    assert not slots.any()
