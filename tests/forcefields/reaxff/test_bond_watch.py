"""Changes of bonds that the device finds are those of whole tables."""

from types import SimpleNamespace

import numpy as np
import pytest

from taichimd.core.runtime import start, ti
from taichimd.estimators.bond_history import BondHistory, BondRule
from taichimd.forcefields.reaxff.arrays import HALF, Bonds, H
from taichimd.forcefields.reaxff.bond_watch import BondWatch

pytestmark = pytest.mark.both

SHIFT_BITS = 4
SIZES = 9, 14
RULE = BondRule(0.6, 0.4, 0.001)


def random_bonds(rng, first, n, degree):
    """(i, j, image, order) of pairs i < j of a system; some pairs have bonds through two images."""
    pairs = {(i, (i + step) % n) for i in range(n) for step in range(1, degree + 1) if rng.random() < 0.8}
    pairs = {(min(pair), max(pair)) for pair in pairs}
    return [
        (first + i, first + j, image, rng.random())
        for i, j in sorted(pairs)
        for image in range(1 + (i % 3 == 0))
    ]


def on_device(ident, bonds, width):
    """Rows of half-bonds, in the order of the user's numbers and images; atom i is at a place in memory."""
    n, place = len(ident), np.argsort(ident)
    rows = [[] for _ in range(n)]
    for i, j, image, order in bonds:
        rows[place[i]].append((j, image, order))
        rows[place[j]].append((i, image, order))
    count, partner = np.array([len(row) for row in rows], np.int32), np.zeros((n, width), np.int32)
    half = np.zeros((len(HALF), n, width))
    for at, row in enumerate(rows):
        for s, (j, image, order) in enumerate(sorted(row)):
            partner[at, s] = place[j] << SHIFT_BITS | image
            half[H.BO, at, s] = order
    found = Bonds(width=width, places=n * width, count=ti.ndarray(ti.i32, n))
    found.partner, found.half = ti.ndarray(ti.i32, n * width), ti.ndarray(ti.f64, half.size)
    for array, values in ((found.count, count), (found.partner, partner), (found.half, half)):
        array.from_numpy(values.reshape(-1))
    return found


@pytest.mark.parametrize("most", [4096, 8])
def test_changes_are_those_of_whole_tables(most):
    """Of two systems, with other orders in memory, rows that become longer, and more changes than room."""
    start("cpu")
    rng, firsts = np.random.default_rng(3), (0, SIZES[0])
    watches = [
        BondWatch(slice(first, first + n), RULE.formed, RULE.broken, "cpu", most=most)
        for first, n in zip(firsts, SIZES, strict=True)
    ]
    whole, changes = ([BondHistory(n, RULE) for n in SIZES] for _ in range(2))
    tables = 0
    for k in range(30):
        degree = 1 + (k > 10)
        of_each = [random_bonds(rng, *system, degree) for system in zip(firsts, SIZES, strict=True)]
        ident = np.concatenate([f + rng.permutation(n) for f, n in zip(firsts, SIZES, strict=True)])
        state = SimpleNamespace(ident=ti.ndarray(ti.i32, len(ident)))
        state.ident.from_numpy(ident.astype(np.int32))
        device = on_device(ident, [bond for own in of_each for bond in own], 4 * degree)
        for first, own, watch, one, other in zip(firsts, of_each, watches, whole, changes, strict=True):
            i, j, _, order = (np.array(column) for column in zip(*own, strict=True))
            one.add(0.01 * k, i - first, j - first, order)
            found = None
            if k:
                call = lambda kernel, *given: kernel(*given)  # noqa: E731
                found = watch.look(call, state, SHIFT_BITS, device, other.present)
            if found is None:
                tables += 1
                other.add(0.01 * k, i - first, j - first, order)
            else:
                other.change(0.01 * k, found)
            for name, value in one.save().items():
                np.testing.assert_array_equal(other.save()[name], value, err_msg=name)
    assert min(len(one.save()["keys"]) for one in whole) > 100
    assert tables == 2 if most > 8 else 10 < tables < 50
