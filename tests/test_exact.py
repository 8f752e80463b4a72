"""Sums that do not depend on their order, and what rests on them."""

import numpy as np
import pytest
import structures
from ase import Atoms
from ase.build import bulk
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse

import taichimd.device
import taichimd.enumerate.gather as gather
from taichimd.dynamics import forces, verlet
from taichimd.engine import Engine
from taichimd.enumerate.exact import in_parts, on_grid
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.runtime import start, ti


def parts_of(x):
    """Device results of `on_grid` and `in_parts` for numbers of float64."""
    start()

    @ti.kernel
    def split(n: ti.i32, x: ti.types.ndarray(), coarse: ti.types.ndarray(), rest: ti.types.ndarray()):
        for i in range(n):
            coarse[i] = on_grid(x[i])
            c, rest[i] = in_parts(x[i])
            if c != coarse[i]:
                rest[i] = 1e9

    coarse, rest = np.zeros_like(x), np.zeros_like(x)
    split(len(x), x, coarse, rest)
    return coarse, rest


def test_parts_are_on_their_grids_and_keep_all_that_matters():
    x = np.random.default_rng(0).normal(size=4000) * 10.0 ** np.random.default_rng(1).uniform(-14, 2, 4000)
    coarse, rest = parts_of(x)
    assert (coarse * 2.0**42 == np.round(coarse * 2.0**42)).all()
    assert (rest * 2.0**84 == np.round(rest * 2.0**84)).all()
    assert abs(x - coarse).max() <= 2.0**-43
    assert abs((x - coarse) - rest).max() <= 2.0**-85
    mirrored = parts_of(-x)
    np.testing.assert_array_equal(mirrored[0], -coarse)
    np.testing.assert_array_equal(mirrored[1], -rest)


def test_any_order_gives_the_same_sum():
    rng = np.random.default_rng(2)
    x = rng.normal(size=500) * 10.0 ** rng.uniform(-9, 1.5, 500)
    sums = set()
    for _ in range(50):
        rng.shuffle(x)
        coarse, rest = parts_of(x)
        sums.add((float(np.add.accumulate(coarse)[-1]), float(np.add.accumulate(rest)[-1])))
    assert len(sums) == 1
    assert len({float(np.add.accumulate(rng.permutation(x))[-1]) for _ in range(50)}) > 1, (
        "plain sums must depend on the order, or the test shows nothing"
    )


@pytest.mark.parametrize("truncation", ["truncated", "force-shifted"])
def test_numbering_does_not_show_in_pair_forces(truncation):
    """Renumbered atoms have the same energies, forces and virials to the last bit, and momentum is exact."""
    atoms = structures.argon_256()
    order = np.random.default_rng(3).permutation(len(atoms))
    forcefield = LennardJones(**structures.ARGON, cutoff=8.5, truncation=truncation)
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


@pytest.mark.parametrize(
    ("name", "atoms"),
    [
        ("Si.tersoff", crowded()),
        ("Si_1989.tersoff", crowded()),
    ],
)
def test_few_neighbours_in_registers_have_the_bits_of_the_loops(name, atoms, monkeypatch):
    forcefield = load_forcefield(name)
    fast = Engine(atoms, forcefield).evaluate()
    monkeypatch.setattr(gather, "compact_function", lambda *_: None)
    monkeypatch.setattr(forces, "gather_functions", gather.gather_functions.__wrapped__)
    monkeypatch.setattr(taichimd.device, "step_kernels", verlet.step_kernels.__wrapped__)
    slow = Engine(atoms, forcefield).evaluate()
    for what in ("energies", "forces", "virials"):
        np.testing.assert_array_equal(getattr(fast, what), getattr(slow, what), err_msg=what)


def test_rows_longer_than_a_mask_have_the_bits_of_short_ones():
    """Morse plus angles with rows of 28 and, with a wide skin, of more than 32 entries."""
    atoms = bulk("Si", a=5.432, cubic=True) * 3
    atoms.rattle(0.05, seed=6)
    forcefield = morse(**MORSE_VALUES) + angle(**ANGLE_VALUES)
    engines = [Engine(atoms, forcefield, skin=skin) for skin in (0.1, 2.5)]
    short, long = (engine.evaluate() for engine in engines)
    widths = [engine.device.lists.sizes()[2] for engine in engines]
    assert min(widths) <= 32 < max(widths), f"rows of {widths}: the test must see both"
    for what in ("energies", "forces", "virials"):
        np.testing.assert_array_equal(getattr(short, what), getattr(long, what), err_msg=what)
