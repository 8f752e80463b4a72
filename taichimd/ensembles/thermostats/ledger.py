"""Sums over atoms in the array `ledger`, and ramps of the bath, on the device.

The sum over atoms has no order: each energy is rounded to a multiple of 2^-36 eV and added as an integer. So
a factor has the same bits on any number of threads.
"""

from dataclasses import dataclass
from typing import Any

from taichimd.core.arguments import View, device_helper
from taichimd.core.philox import GLOBAL
from taichimd.core.runtime import WARPS, DeviceFunction, ti
from taichimd.core.warps import sum_of
from taichimd.ensembles.thermostats.layout import (  # fmt: skip
    END,
    ENERGY_BITS,
    RAMP_FIRST,
    RAMP_STEPS,
    SEED,
    SLOT,
    SLOTS,
    START,
)
from taichimd.system.state import LEAST_INVERSE_MASS


class OwnLedger(View):
    """The ledger of one system of a batch, at the compilation of a kernel.

    Attributes:
        array: ledgers of all systems. start: where the system's begins. seed: of its noise.
        whose: in place of an atom's number in noise that belongs to no atom.
    """

    seed: Any
    whose: Any


@ti.func
def _seed_in(ledger: ti.template()):
    return ledger[SEED]


@device_helper
def seed_of(ledger: Any) -> Any:
    """Seed of the noise."""
    return ledger.seed if isinstance(ledger, OwnLedger) else _seed_in(ledger)


@device_helper
def whose_noise(ledger: Any) -> Any:
    """Noise of a bath has this in place of an atom's number: `GLOBAL`, or a number for each group."""
    return ledger.whose if isinstance(ledger, OwnLedger) else GLOBAL


WARP_SLOTS = 16
"""Slots in use if the threads of a warp add up first: one thread then has fewer to collect."""


@ti.func
def along_ramp(step, start: ti.template(), end: ti.template(), bath: ti.template()):
    """A value that goes linearly from one number of the bath to another."""
    part = (ti.cast(step, ti.f64) - bath[RAMP_FIRST]) / bath[RAMP_STEPS]
    part = ti.min(ti.max(part, 0.0), 1.0)
    return bath[start] + part * (bath[end] - bath[start])


@ti.func
def target(step, bath: ti.template()):
    """K T of the bath at a step, eV."""
    return along_ramp(step, START, END, bath)


@ti.func
def units_of(energy):
    """An energy (eV, float64) as a whole number of units of 2^-ENERGY_BITS eV."""
    largest = 2.0**26
    return ti.cast(ti.floor(ti.min(ti.max(energy, -largest), largest) * 2.0**ENERGY_BITS + 0.5), ti.i64)


@ti.func
def kinetic_energy(v, inverse_mass):
    """Return the kinetic energy of an atom, eV, in float64."""
    w = ti.cast(v, ti.f64)
    return 0.5 * w.dot(w) / ti.max(ti.cast(inverse_mass, ti.f64), LEAST_INVERSE_MASS)


@dataclass(frozen=True)
class LedgerFunctions:
    """Device functions of sums over atoms."""

    count: DeviceFunction  # adds to a sum
    empty_slots: DeviceFunction  # a sum, whose slots are then empty
    put: DeviceFunction  # writes a number
    there: DeviceFunction  # reads a number


def sum_functions(by_slot: bool) -> LedgerFunctions:
    """Device functions that add and collect; `by_slot`: neighbouring threads have neighbouring atoms."""
    in_warps = by_slot and WARPS
    used = WARP_SLOTS if in_warps else SLOTS

    @ti.func
    def count(i, n, k: ti.template(), energy, ledger: ti.template()):
        """Add to sum k in the slot of an atom: lanes of a warp, or threads of a CPU, have different ones."""
        units = units_of(energy)
        mine = i % used
        adds = True
        if ti.static(not by_slot):
            mine = ti.cast(ti.cast(i, ti.i64) * SLOTS // n, ti.i32)
        elif ti.static(in_warps):
            # All threads of a warp come here, but those beyond the last atom.
            if i // 32 * 32 + 32 <= n:
                units = sum_of(units, 5)
                mine = i // 32 % used
                adds = i % 32 == 0
        if adds:
            ti.atomic_add(ledger[SLOT + k * SLOTS + mine], units)

    @ti.func
    def empty_slots(k, ledger: ti.template()):
        """Sum k, whose slots are then empty."""
        total = ti.cast(0, ti.i64)
        for a in ti.static(range(8)):
            for b in ti.static(range(used // 8)):  # unrolled: the reads go out together
                total += ledger[SLOT + k * SLOTS + a * (used // 8) + b]
        for a in range(used):
            ledger[SLOT + k * SLOTS + a] = ti.cast(0, ti.i64)
        return total

    @ti.func
    def put(at, value, ledger: ti.template()):
        ledger[at] = value

    @ti.func
    def there(at, ledger: ti.template()):
        """A number of the ledger."""
        return ledger[at]

    return LedgerFunctions(count, empty_slots, put, there)


def batch_sum_functions() -> LedgerFunctions:
    """The same of an `OwnLedger`."""

    @ti.func
    def count(i, n, k: ti.template(), energy, ledger: ti.template()):
        ti.atomic_add(ledger.array[ledger.start + SLOT + k * SLOTS + i % SLOTS], units_of(energy))

    @ti.func
    def empty_slots(k, ledger: ti.template()):
        total = ti.cast(0, ti.i64)
        for a in range(SLOTS):
            at = ledger.start + SLOT + k * SLOTS + a
            total += ledger.array[at]
            ledger.array[at] = ti.cast(0, ti.i64)
        return total

    @ti.func
    def put(at, value, ledger: ti.template()):
        ledger.array[ledger.start + at] = value

    @ti.func
    def there(at, ledger: ti.template()):
        return ledger.array[ledger.start + at]

    return LedgerFunctions(count, empty_slots, put, there)
