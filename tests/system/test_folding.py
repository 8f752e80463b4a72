"""Far atoms are folded into the cell, and nothing but last digits shows it."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import Batch, Engine, Langevin, NoseHoover, Simulation, StochasticCellRescaling
from taichimd.core.units import FS
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.observables.samplers.time_correlation import TimeCorrelation
from taichimd.system import folding
from taichimd.system.frame import make_frame
from taichimd.system.velocities import set_temperature

GAS = LennardJones(epsilon=0.01, sigma=3.4, cutoff=6.0)


def gas(number=0):
    """Atoms that leave their small cell within some steps."""
    atoms = bulk("Ar", "fcc", a=6.0, cubic=True).repeat((2, 1, 1))
    set_temperature(atoms, 3000.0, 7 + number)
    return atoms


@pytest.fixture
def often(monkeypatch):
    """Looks come every 20 steps, and no atom may leave the first cell."""
    monkeypatch.setattr(folding, "EVERY", 20)
    monkeypatch.setattr(folding, "CELLS", ((10**9, 0),))


def never(monkeypatch):
    monkeypatch.setattr(folding, "EVERY", 10**9)


def state(engine):
    turns = engine.turns
    return engine.folded_positions(), engine.velocities(), np.zeros(0) if turns is None else turns


def assert_same_bits(one, other):
    for found, expected in zip(state(one), state(other), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_far_atoms_go_back_by_whole_cell_vectors():
    cell = np.array([[10.0, 0.0, 0.0], [3.0, 8.0, 0.0], [0.0, 1.0, 6.0]])
    frame = make_frame(cell, np.array([True, True, False]))
    near = np.array([[0.1, 0.9, 70.0], [3.9, -3.9, -50.0]]) @ frame.vectors
    assert folding.folded(near, frame) is None
    far = np.vstack([near, np.array([[4.25, -1.5, 3.0]]) @ frame.vectors])
    x, turns = folding.folded(far, frame)
    assert turns.tolist() == [[0, 0, 0], [0, 0, 0], [4, -2, 0]]
    np.testing.assert_array_equal(x[:2], near)
    np.testing.assert_allclose(x[2] @ frame.inverse, [0.25, 0.5, 3.0], atol=1e-12)
    np.testing.assert_allclose(x + folding.shifts(turns, cell), far, atol=1e-12)


def test_entries_have_room_for_the_images_that_atoms_need():
    for n in (2, 2**17, 2**17 + 1, 2**20, 2**20 + 1, 2**22):
        images = 2 * folding.cells_allowed(n) + 1
        codes = (2 * images + 1) ** 3
        assert n <= 2 ** (31 - (codes - 1).bit_length())


@pytest.mark.parametrize("ensemble", ["nve", "npt"])
def test_positions_msd_and_sums_are_those_of_a_run_without_folding(often, monkeypatch, ensemble):
    found = []
    for folds in (True, False):
        if not folds:
            never(monkeypatch)
        npt = StochasticCellRescaling(3000.0, seed=3, pressure=0.5, bulk_modulus=50.0)
        engine = Engine(gas(), GAS, ensemble=npt if ensemble == "npt" else None)
        msd = TimeCorrelation(np.zeros(8, np.int32), 1, 8)
        for _ in range(9):
            engine.observe(lambda s, energies, virials, msd=msd: msd.sample(s))
            engine.advance(10, 1.0 * FS)
        assert (engine.turns is not None) == folds
        if folds:
            inside = engine.folded_positions() @ engine.frame.inverse
            # Since the last look atoms have gone on.
            assert inside.min() > -0.5
            assert inside.max() < 1.5
        found.append(
            (engine.positions(), engine.velocities(), engine.cell, engine.evaluate().virials,
             engine.heat_current().total, msd.results()[0])
        )  # fmt: skip
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)
    assert not np.array_equal(found[0][0], found[1][0])


def test_bits_do_not_depend_on_pieces_restarts_or_other_systems(often, tmp_path):
    def begun(number=0):
        return Simulation(gas(number), GAS, ensemble=Langevin(3000.0, seed=5 + number), timestep=1.0)

    whole, parts = begun(), begun()
    whole.run(90)
    for steps in (7, 13, 20, 5, 35):
        parts.run(steps)
        parts.save(tmp_path / "checkpoint.npz")
        parts = Simulation.load(tmp_path / "checkpoint.npz", GAS)
    parts.run(10)
    assert whole.engine.turns is not None
    assert_same_bits(whole.engine, parts.engine)
    np.testing.assert_array_equal(parts.positions(), whole.positions())
    several = Batch([gas(), gas(1)], GAS, ensembles=[Langevin(3000.0, seed=5), Langevin(3000.0, seed=6)])
    several.advance(90, 1.0 * FS)
    assert_same_bits(several.members[0], whole.engine)


def test_a_checkpoint_for_others_has_positions_that_are_not_wrapped(often, tmp_path):
    from ase.io import read

    simulation = Simulation(gas(), GAS, ensemble=NoseHoover(3000.0), timestep=1.0)
    simulation.run(70)
    simulation.save(tmp_path / "checkpoint.npz")
    read_again = read(tmp_path / "checkpoint.npz", format="taichimd-checkpoint")
    np.testing.assert_array_equal(read_again.positions, simulation.positions())
    np.testing.assert_array_equal(simulation.atoms().positions, simulation.positions())


def test_positions_and_cells_that_are_set_are_not_folded(often):
    engine = Engine(gas(), GAS)
    engine.advance(70, 1.0 * FS)
    before = engine.positions()
    engine.set_state(cell=1.01 * engine.cell)
    np.testing.assert_array_equal(engine.positions(), before)
    assert engine.turns is None
    engine.set_state(positions=before + 0.1)
    np.testing.assert_array_equal(engine.positions(), before + 0.1)
