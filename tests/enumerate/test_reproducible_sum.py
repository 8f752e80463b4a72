"""Sums that do not depend on their order, and what rests on them."""

from fractions import Fraction

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse

import taichimd.enumerate.gather as gather
import taichimd.program.device
from taichimd import testing
from taichimd.core import units
from taichimd.core.runtime import start, ti
from taichimd.enumerate.reproducible_sum import COARSE, FINE, added, total_of
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.program import compiled, evaluation, forces
from taichimd.program.engine import Engine
from taichimd.program.steps import verlet


def device_sums(rows):
    """Sums of the rows of an array of float64, added on the device from left to right."""
    start()

    @ti.kernel
    def add_up(x: ti.types.ndarray(), totals: ti.types.ndarray()):
        for row in range(x.shape[0]):
            coarse, fine = ti.cast(COARSE, ti.f64), ti.cast(FINE, ti.f64)
            for k in range(x.shape[1]):
                coarse, fine = added(coarse, fine, x[row, k])
            totals[row] = total_of(coarse, fine)

    totals = np.zeros(len(rows))
    add_up(rows, totals)
    return totals


def shuffled(x, times=200):
    rng = np.random.default_rng(3)
    return np.array([rng.permutation(x) for _ in range(times)])


def exact_sum(x):
    """Sum of numbers without any rounding, and with one at its end."""
    return float(sum(map(Fraction, x)))


@pytest.mark.both
def test_a_sum_is_rounded_once():
    """Terms that are multiples of 2^-72, as all above 2e-6 are: their sum is the nearest number."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 90)) * 10.0 ** rng.uniform(-4, 3.0, (400, 90))
    x[np.abs(x) < 2.0**-19] = 0.0
    np.testing.assert_array_equal(device_sums(x), [exact_sum(row) for row in x])
    np.testing.assert_array_equal(device_sums(-x), -device_sums(x))
    assert (np.add.accumulate(x, axis=1)[:, -1] != device_sums(x)).any(), "plain sums must be worse"


def test_smaller_terms_are_rounded_to_the_second_grid():
    x = 10.0 ** np.random.default_rng(1).uniform(-26, -10, (300, 40))
    error = abs(device_sums(x) - [exact_sum(row) for row in x])
    assert (error <= 40 * 2.0**-73 + 2.0**-53 * x.sum(axis=1)).all()


@pytest.mark.both
@pytest.mark.parametrize(
    "kind", ["of all sizes", "halfway on the first grid", "halfway on the second grid", "zeros"]
)
def test_any_order_gives_the_same_sum(kind):
    rng = np.random.default_rng(2)
    x = rng.normal(size=500) * 10.0 ** rng.uniform(-9, 3.0, 500)
    if kind == "halfway on the first grid":
        x = (rng.integers(-(2**46), 2**46, 500) + 0.5) * 2.0**-36
    elif kind == "halfway on the second grid":
        # The first terms have what the sum's last place can show.
        x = np.append(rng.normal(size=20) * 2e-16, (rng.integers(-(2**20), 2**20, 480) + 0.5) * 2.0**-72)
    elif kind == "zeros":
        x[::3] = 0.0
    assert len(set(device_sums(shuffled(x)))) == 1
    plain = set(np.add.accumulate(shuffled(x), axis=1)[:, -1])
    if kind != "halfway on the first grid":
        assert len(plain) > 1, "plain sums must depend on the order, or the test shows nothing"


def test_without_the_last_bit_ties_would_show():
    """What the rule for ties is for: on the second grid, halves go to the even neighbour of the sum."""
    x = np.repeat([0.5, 1.0], 20) * 2.0**-72

    def plain(terms):
        total = FINE
        for term in terms:
            total += term
        return total - FINE

    assert len({plain(row) for row in shuffled(x)}) > 1
    assert len(set(device_sums(shuffled(x)))) == 1


@pytest.mark.parametrize("truncation", ["truncated", "force-shifted"])
def test_numbering_does_not_show_in_pair_forces(truncation):
    """Renumbered atoms have the same energies, forces and virials to the last bit, and momentum is exact."""
    atoms = testing.argon_256()
    order = np.random.default_rng(3).permutation(len(atoms))
    forcefield = LennardJones(**testing.ARGON, cutoff=8.5, truncation=truncation)
    one, other = (Engine(a, forcefield).evaluate() for a in (atoms, atoms[order]))
    for what in ("energies", "forces", "virials"):
        np.testing.assert_array_equal(getattr(one, what)[order], getattr(other, what), err_msg=what)


def crowded():
    """Silicon with vacancies and interstitials: from 2 to 8 neighbours within the cutoff."""
    atoms = bulk("Si", a=5.432, cubic=True) * 3
    atoms.rattle(0.15, seed=4)
    del atoms[[3, 40, 41, 77]]
    atoms += Atoms("Si2", atoms.positions[[10, 100]] + [[1.4, 1.2, 1.3], [1.35, -1.3, 1.3]])
    return atoms


def dense():
    """Silicon under pressure, with 4 to 9 neighbours within the cutoff: loops have to do some atoms."""
    atoms = bulk("Si", a=4.75, cubic=True) * 3
    atoms.rattle(0.1, seed=5)
    return atoms


@pytest.mark.both
@pytest.mark.parametrize(
    ("name", "atoms", "in_arrays"),
    [
        ("Si_1989.tersoff", crowded(), False),
        ("Si.tersoff", dense(), True),
    ],
)
def test_few_neighbours_in_registers_have_the_bits_of_the_loops(name, atoms, in_arrays, monkeypatch):
    """Up to four neighbours in registers; as on a full GPU, up to eight in arrays, in a loop of their own."""
    if in_arrays:
        monkeypatch.setattr(gather, "ATOM_MAJOR", None)
        monkeypatch.setattr(forces, "TWO_LOOPS", ("cpu",))
    monkeypatch.setattr(forces, "gather_functions", gather.gather_functions.__wrapped__)
    monkeypatch.setattr(taichimd.program.device, "step_kernels", verlet.step_kernels.__wrapped__)
    monkeypatch.setattr(verlet, "evaluation_kernels", evaluation.evaluation_kernels.__wrapped__)
    for module in (verlet, evaluation):
        monkeypatch.setattr(module, "compiled_groups", compiled.compiled_groups.__wrapped__)
    forcefield = load_forcefield(name)
    # On a CPU steps use registers, evaluations do not.
    fast = Engine(atoms, forcefield)
    fast.advance(3, 0.2 * units.FS)
    monkeypatch.setattr(gather, "compact_function", lambda *_: None)
    slow = Engine(atoms, forcefield)
    slow.advance(3, 0.2 * units.FS)
    np.testing.assert_array_equal(fast.positions(), slow.positions())
    np.testing.assert_array_equal(fast.velocities(), slow.velocities())


def test_rows_longer_than_a_mask_have_the_bits_of_short_ones():
    """Morse plus angles with rows of 28 and, with a wide skin, of more than 32 entries."""
    atoms = bulk("Si", a=5.432, cubic=True) * 3
    atoms.rattle(0.05, seed=6)
    forcefield = morse(**MORSE_VALUES) + angle(**ANGLE_VALUES)
    engines = [Engine(atoms, forcefield, skin=skin) for skin in (0.1, 2.5)]
    short, long = (engine.evaluate() for engine in engines)
    widths = [engine.device.lists.near[0].near.width for engine in engines]
    assert min(widths) <= 32 < max(widths), f"rows of {widths}: the test must see both"
    for what in ("energies", "forces", "virials"):
        np.testing.assert_array_equal(getattr(short, what), getattr(long, what), err_msg=what)
