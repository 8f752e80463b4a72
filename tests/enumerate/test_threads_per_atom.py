"""Several threads for each atom: the same bits as one."""

import numpy as np
import pytest
import warps
from ase import units

from taichimd import testing
from taichimd.core.arguments import ArrayField, kernel, types_of
from taichimd.core.runtime import backend, ti
from taichimd.enumerate import threads_per_atom
from taichimd.enumerate.gather import gather_functions
from taichimd.enumerate.reproducible_sum import FORCE, pair_sums
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.neighbours import rows
from taichimd.neighbours.rows import NearRows, Rows, VerletRows
from taichimd.program.engine import Engine
from taichimd.system.state import Atoms

pytestmark = pytest.mark.both

ARGON = LennardJones(**testing.ARGON, cutoff=6.0)


@pytest.mark.parametrize("stride", [3, 32])
def test_every_entry_belongs_to_one_of_the_threads(stride):
    engine = Engine(testing.argon_256(), ARGON)
    lists = engine.device.lists
    pairs = gather_functions(ARGON.bind(["Ar"])[0].terms, ti.f64, ti.f64, lists.verlet.layout).pairs
    sums = pair_sums(ti.f64)
    types = types_of(ti.f64)

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "kind", "force"),
        near=NearRows.only("width", "count", "entries"),
        verlet=VerletRows.only("shift_bits", "shifts"),
        table=ArrayField("real", "columns", "parameters"),
    )
    def forces(atoms, near, verlet, table):
        rows = Rows(atoms.pos, atoms.kind, near.count, near.entries, verlet.shifts)
        for i in range(atoms.n):
            empty = sums.empty(FORCE)
            total = empty
            for lane in range(stride):
                found = pairs(i, lane, stride, atoms.n, near.width, verlet.shift_bits, rows, table, FORCE)
                total += found - empty
            sums.store(i, total, table, atoms.force, table, FORCE)

    expected = engine.forces()
    near = lists.near[0]
    forces(engine.device.state, near.near, lists.verlet, near.kept.pair_table)
    np.testing.assert_array_equal(engine.device.state.get("force"), expected)


@pytest.mark.parametrize("name", ["argon", "silica"])
def test_a_run_has_the_same_bits(monkeypatch, name):
    if rows.row_layout(backend()) != rows.CHUNKED:
        pytest.skip("threads share an atom on CUDA only, under quadrants")
    found = []
    for number in (1, rows.CHUNK):
        monkeypatch.setattr(threads_per_atom, "threads_for", lambda *_, k=number: k)
        atoms = testing.argon_256() if name == "argon" else testing.silica_192()
        forcefield = ARGON if name == "argon" else load_forcefield("SiO2_1990.vashishta")
        engine = Engine(testing.with_velocities(atoms, 300.0, 1), forcefield)
        engine.advance(50, (4.0 if name == "argon" else 1.0) * units.fs)
        found.append(engine.positions())
    np.testing.assert_array_equal(*found)


threads, exact = warps.emulated("enumerate.threads_per_atom", "enumerate.reproducible_sum")


@pytest.mark.parametrize("lanes", [2, 4, 8, 32])
def test_threads_of_a_warp_add_up_to_the_sum_of_one(lanes):
    """Pairs are dealt to the threads that share an atom; the last atom does nothing."""
    random = np.random.default_rng(lanes)
    atoms = warps.WARP // lanes
    d = random.normal(size=(warps.WARP, 5, 3))
    w = random.normal(size=(warps.WARP, 5)) * 10.0 ** random.integers(-12, 4, (warps.WARP, 5))
    sums, shared = exact.pair_sums(float), threads.atom_sums(float, lanes)
    force = np.full((atoms, 3), np.nan)

    def add(found, thread):
        for k in range(5):
            sums.add(found, d[thread, k], 0.0, w[thread, k], exact.FORCE)

    def store():
        found = sums.empty(exact.FORCE)
        add(found, warps.lane())
        does = warps.lane() // lanes < atoms - 1 or lanes == warps.WARP
        shared.store(warps.lane() // lanes, warps.lane(), does, found, None, force, None)

    warps.run(store)
    for i in range(atoms):
        one = sums.empty(exact.FORCE)
        for thread in reversed(range(i * lanes, (i + 1) * lanes)):
            add(one, thread)
        if i < atoms - 1 or atoms == 1:
            np.testing.assert_array_equal(force[i], sums.results(one, exact.FORCE)[0])
        else:
            assert np.isnan(force[i]).all()


def test_all_threads_of_a_warp_can_have_the_sum():
    """A decision that all take must not come from what `across` leaves to threads other than the first."""
    (row_sums,) = warps.emulated("enumerate.row_sums")
    x = np.random.default_rng(5).normal(size=warps.WARP)

    def total():
        sums = row_sums.empty_sums(1)
        exact.with_term(sums, 1, 0, x[warps.lane()])
        return row_sums.from_first(row_sums.across(sums, 1, warps.WARP)[0])

    found = warps.run(total)
    assert len(set(found)) == 1
    assert found[0] == pytest.approx(x.sum(), rel=1e-14)
