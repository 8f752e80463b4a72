"""The neighbour list of some positions as a set of (i, j, image), and the same by brute force in NumPy."""

import numpy as np

from taichimd.core.runtime import start, ti
from taichimd.neighbours import rows
from taichimd.neighbours.control import Control, control_size
from taichimd.neighbours.verlet_list import LARGEST_ERROR, VerletList
from taichimd.system.frame import make_frame
from taichimd.system.state import State

ALL_PBC = [np.array(np.unravel_index(k, (2, 2, 2)), bool) for k in range(8)]


def brute_force(positions, cell, pbc, radius):
    """{(i, j, image)} of all neighbours within the radius, and those within the search's error of it."""
    frame = make_frame(cell, pbc)
    # Separation of the nearest image along each axis is at most half a cell; so this reaches far enough.
    far = np.where(pbc, np.ceil(radius / frame.heights) + 1, 0).astype(int)
    grid = np.stack(np.meshgrid(*[np.arange(-m, m + 1) for m in far], indexing="ij"), -1).reshape(-1, 3)
    sure, edge = set(), set()
    for i, j in np.ndindex(len(positions), len(positions)):
        d = positions[j] - positions[i]
        images = grid - np.where(pbc, np.round(d @ frame.inverse), 0).astype(int)
        r = np.linalg.norm(d + images @ np.where(pbc[:, None], frame.vectors, 0.0), axis=1)
        for image, distance in zip(images, r, strict=True):
            if i == j and not image.any():
                continue
            if distance < radius + LARGEST_ERROR:
                (sure if distance < radius * (1 - 1e-9) else edge).add((i, j, *image.tolist()))
    return sure, edge


def slots(n, width, layout):
    """(n, width) places of the entries of each atom."""
    i, s = np.indices((n, width))
    if layout == rows.CHUNKED:
        return (s // rows.CHUNK * n + i) * rows.CHUNK + s % rows.CHUNK
    return s * n + i if layout == rows.SLOT_MAJOR else i * width + s


def decoded(entries, count, lists, state, width=None, layout=None):
    """Rows of entries as [[(j, image), ...] per user's atom], in the list's own order."""
    n, width, bits = state.n, width or lists.width, lists.shift_bits
    table_of = entries.to_numpy()[slots(n, width, lists.layout if layout is None else layout)]
    ident = state.ident.to_numpy()
    spans = 2 * lists.most_image + 1
    table: list = [None] * n
    for i, m in enumerate(count.to_numpy()):
        assert m <= width, "a row is longer than its slots"
        entries = table_of[i, :m]
        codes = (entries + np.prod(spans) // 2) & ((1 << bits) - 1)
        images = np.stack(np.unravel_index(codes, spans), -1) - lists.most_image
        table[ident[i]] = [(int(j), *t) for j, t in zip(ident[entries >> bits], images.tolist(), strict=True)]
    return table


def build(positions, cell, pbc, radius, lists=None, state=None):
    start()
    positions = np.asarray(positions, float)
    if state is None:
        state = State(np.zeros(len(positions), np.int32), np.ones(len(positions)), "float64")
    state.set("pos", positions)
    lists = lists or VerletList(state)
    frames, control = (make_frame(cell, pbc),), ti.ndarray(ti.i32, control_size(0))
    lists.build(state, frames, radius, control)
    while lists.unfit(seen := Control(control.to_numpy())):
        lists.grow(state, frames, control, seen)
    return lists, state


def assert_complete(positions, cell, pbc, radius):
    """The list is what brute force finds, each entry once."""
    positions, cell, pbc = np.asarray(positions, float), np.asarray(cell, float), np.asarray(pbc, bool)
    lists, state = build(positions, cell, pbc, radius)
    table = decoded(lists.entries, lists.count, lists, state)
    found = [(i, *entry) for i, row in enumerate(table) for entry in row]
    sure, edge = brute_force(positions, cell, pbc, radius)
    assert len(found) == len(set(found)), "an entry stands twice"
    missing, extra = sure - set(found), set(found) - sure - edge
    assert not missing, f"missing {sorted(missing)[:5]}"
    assert not extra, f"too many {sorted(extra)[:5]}"
    np.testing.assert_array_equal(np.sort(state.ident.to_numpy()), np.arange(len(positions)))
    np.testing.assert_array_equal(
        state.ident.to_numpy()[state.sorted_of.to_numpy()], np.arange(len(positions))
    )
    spans = 2 * lists.most_image + 1
    codes = np.arange(np.prod(spans))
    images = np.stack(np.unravel_index(codes, spans), -1) - lists.most_image
    shifts = lists.shifts.to_numpy()[codes - np.prod(spans) // 2]
    vectors = np.where(pbc[:, None], make_frame(cell, pbc).vectors, 0.0)
    np.testing.assert_allclose(shifts, images @ vectors, rtol=1e-15, atol=1e-12)
    np.testing.assert_array_equal(shifts[::-1], -shifts)
    return lists, found


def scattered(n, cell, seed=0):
    return np.random.default_rng(seed).uniform(0, 1, (n, 3)) @ np.asarray(cell, float)
