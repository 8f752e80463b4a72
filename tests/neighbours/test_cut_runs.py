"""The cut of near lists on a CPU: what is kept, and rows that are exactly full."""

import numpy as np
import pytest
from listed import decoded
from row_places import places_of

from taichimd import testing
from taichimd.core.runtime import backend
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.neighbours.control import Control
from taichimd.neighbours.rows import ATOM_MAJOR, row_layout
from taichimd.program.engine import Engine

pytestmark = [
    pytest.mark.skipif(row_layout(backend()) != ATOM_MAJOR, reason="rows of a CPU"),
]


def engine_of(name):
    if name == "argon":
        forcefield = LennardJones(**testing.ARGON, cutoff=6.0)
        return Engine(testing.with_velocities(testing.argon_256(), 300.0, 1), forcefield)
    atoms = testing.silica_192() if name == "silica" else testing.silicon_216()
    forcefield = load_forcefield("SiO2_1990.vashishta" if name == "silica" else "Si.sw")
    return Engine(atoms, forcefield, decomposition="particle")


def cut(engine):
    """Cut the near lists again; what the device says then."""
    control = engine.device.lists.control
    values = control.to_numpy()
    values[Control.stale], values[Control.longest_near] = 1, 0
    control.from_numpy(values)
    engine.device.call(engine.device._run.cut_lists, engine.device.system())
    return engine.device.lists.look()


def rows_of(engine, entries, count, width):
    device = engine.device
    return decoded(entries, count, device.lists.verlet, device.state, width, ATOM_MAJOR)


@pytest.mark.parametrize("name", ["argon", pytest.param("silica", marks=pytest.mark.long), "silicon"])
def test_rows_have_what_is_near(name):
    engine = engine_of(name)
    engine.evaluate()
    device = engine.device
    lists, state, near = device.lists, device.state, device.lists.near[0]
    assert not cut(engine).rebuild
    n, verlet = state.n, lists.verlet
    tables = [(near.near.entries, near.near.count, near.near.width, near._cutoffs)]
    if name == "silica":
        rows = near.tuples
        tables.append((rows.tuples, rows.firsts, rows.tuples.shape[0] // n, near._pair_cutoffs))
    x, kind, shifts = state.pos.to_numpy(), state.kind.to_numpy(), verlet.shifts.to_numpy()
    all_of_list = verlet.entries.to_numpy()[places_of(n, verlet.width, ATOM_MAJOR)]
    mask = (1 << verlet.shift_bits) - 1
    for entries, count, width, cutoffs in tables:
        found = entries.to_numpy()[places_of(n, width, ATOM_MAJOR)]
        for i, m in enumerate(count.to_numpy()[:n]):
            row = all_of_list[i, : verlet.count.to_numpy()[i]]
            j = row >> verlet.shift_bits
            distance = np.linalg.norm(x[j] - x[i] + shifts[row & mask], axis=1)
            beyond = distance - cutoffs[kind[i], kind[j]] - lists.skins.inner
            kept = set(found[i, :m].tolist())
            assert len(kept) == m
            assert set(row[beyond < 0.0].tolist()) <= kept <= set(row[beyond < 0.02].tolist())


@pytest.mark.parametrize("name", ["argon", "silicon"])
def test_a_row_that_is_exactly_full_is_whole(name):
    """What follows in the Verlet list is not near, and must not replace the last entry."""
    engine = engine_of(name)
    engine.evaluate()
    near = engine.device.lists.near[0]
    assert not cut(engine).rebuild
    expected = rows_of(engine, near.near.entries, near.near.count, near.near.width)
    need = max(map(len, expected))
    near.near.width = need
    near._reserve()
    assert not cut(engine).rebuild
    found = rows_of(engine, near.near.entries, near.near.count, need)
    assert found == expected
    near.near.width = need - 1
    near._reserve()
    seen = cut(engine)
    assert seen.rebuild
    assert seen.longest_near[0] == need
