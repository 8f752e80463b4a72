"""Several threads for each atom: the same bits as one."""

import numpy as np
import pytest
import structures
from ase import units

from taichimd.engine import Engine
from taichimd.enumerate import lanes
from taichimd.enumerate.exact import FORCE, pair_sums
from taichimd.enumerate.gather import gather_functions
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.neighbours import rows
from taichimd.neighbours.rows import Rows
from taichimd.runtime import backend, ti

ARGON = LennardJones(**structures.ARGON, cutoff=6.0)


@pytest.mark.parametrize("stride", [3, 32])
def test_every_entry_belongs_to_one_of_the_threads(stride):
    engine = Engine(structures.argon_256(), ARGON)
    lists = engine.device.lists
    pairs = gather_functions(ARGON.bind(["Ar"]).terms, ti.f64, ti.f64, lists.verlet.layout).pairs
    sums = pair_sums(ti.f64)
    vecs = ti.types.ndarray(dtype=ti.types.vector(3, ti.f64), ndim=1)
    ints, reals = (ti.types.ndarray(dtype=t, ndim=1) for t in (ti.i32, ti.f64))

    @ti.kernel
    def forces(
        n: ti.i32,
        width: ti.i32,
        shift_bits: ti.i32,
        pos: vecs,
        kind: ints,
        count: ints,
        entries: ints,
        shifts: vecs,
        table: reals,
        force: vecs,
    ):
        rows = Rows(pos, kind, count, entries, shifts)
        for i in range(n):
            empty = sums.empty(FORCE)
            total = empty
            for lane in range(stride):
                found = pairs(i, lane, stride, n, width, shift_bits, rows, table, FORCE)
                total += found - empty
            sums.store(i, total, table, force, table, FORCE)

    expected = engine.forces()
    n, _, width, shift_bits = lists.sizes()
    _, _, shifts, _, _, _, count, entries, *_ = lists.arrays(engine.device._tables)
    state, table = engine.device.state, engine.device._tables[0]
    forces(n, width, shift_bits, state.pos, state.kind, count, entries, shifts, table, state.force)
    np.testing.assert_array_equal(state.get("force"), expected)


@pytest.mark.parametrize("name", ["argon", "silica"])
def test_a_run_has_the_same_bits(monkeypatch, name):
    if rows.row_layout(backend()) != rows.CHUNKED:
        pytest.skip("threads share an atom on CUDA only, under quadrants")
    found = []
    for number in (1, rows.CHUNK):
        monkeypatch.setattr(lanes, "threads_for", lambda *_, k=number: k)
        atoms = structures.argon_256() if name == "argon" else structures.silica_192()
        forcefield = ARGON if name == "argon" else load_forcefield("SiO2_1990.vashishta")
        engine = Engine(structures.with_velocities(atoms, 300.0, 1), forcefield)
        engine.advance(50, (4.0 if name == "argon" else 1.0) * units.fs)
        found.append(engine.positions())
    np.testing.assert_array_equal(*found)
