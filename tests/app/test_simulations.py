"""Many systems in one `Simulation`: each with the bits, seeds and reports that it has alone."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import Langevin, NoseHoover, Sampler, Simulation, ThermoTable
from taichimd.app.progress import ProgressObserver
from taichimd.core.errors import BlowUpError, SettingsError, StructureError
from taichimd.core.seeds import derived_seed


def silicon(repeat=1, seed=1):
    atoms = bulk("Si", cubic=True).repeat(repeat)
    atoms.rattle(0.03, seed=seed)
    return atoms


class Currents(Sampler):
    every = 5

    def __init__(self):
        self.found = []

    def sample(self, simulation):
        self.found.append(simulation.engine.heat_current().total)


def test_each_has_the_bits_files_and_samples_that_it_has_alone(tmp_path):
    given, temperatures, seeds = [silicon(), silicon((2, 1, 1), 2)], [300.0, 700.0], [5, 9]
    bath = Langevin(100.0, coupling_time=50.0)
    together = Simulation(given, "Si.sw", temperature=temperatures, seed=seeds, ensemble=bath)
    tables = [[ThermoTable(tmp_path / f"{k}.csv", every=10)] for k in range(2)]
    currents = [[Currents()] for _ in given]
    assert together.run(25, observers=tables, samplers=currents).finished
    for k, atoms in enumerate(given):
        own = Langevin(temperatures[k], coupling_time=50.0, seed=seeds[k])
        alone = Simulation(atoms, "Si.sw", temperature=temperatures[k], seed=seeds[k], ensemble=own)
        table, current = ThermoTable(tmp_path / f"alone{k}.csv", every=10), Currents()
        alone.run(25, observers=[table], samplers=[current])
        np.testing.assert_array_equal(together[k].positions(), alone.positions())
        np.testing.assert_array_equal(together[k].forces(), alone.forces())
        np.testing.assert_array_equal(currents[k][0].found, current.found)
        assert (tmp_path / f"{k}.csv").read_bytes() == (tmp_path / f"alone{k}.csv").read_bytes()
        together[k].save(tmp_path / "k.npz")
        again = Simulation.load(tmp_path / "k.npz")
        again.run(10), alone.run(10)
        np.testing.assert_array_equal(again.velocities(), alone.velocities())


def test_it_is_a_list_whose_seeds_are_derived():
    three = Simulation([silicon()] * 3, "Si.sw", seed=4)
    assert len(three) == 3
    assert [one.step for one in three[1:]] == [0, 0]
    alone = Simulation(silicon(), "Si.sw", seed=derived_seed(4, {"system": 2}))
    np.testing.assert_array_equal(three[2].velocities(), alone.velocities())
    assert three[0].atoms().get_potential_energy() == three[0].energy()


def test_progress_is_of_all_and_one_that_explodes_is_named(capsys):
    wild = silicon()
    wild.set_velocities(np.full((8, 3), 40.0) * np.where(np.arange(8) == 3, 1, 0)[:, None])
    two = Simulation([wild, silicon()], "Si.sw")
    with ProgressObserver() as progress, pytest.warns(UserWarning, match=r"system 0 .*; the other systems"):
        two.run(20, progress=progress)
    assert list(two.errors) == [0]
    assert two[1].step == 20
    alone = Simulation(silicon(), "Si.sw", seed=derived_seed(1, {"system": 1}))
    alone.run(20)
    np.testing.assert_array_equal(two[1].positions(), alone.positions())
    assert "100%" in capsys.readouterr().out
    with pytest.raises(BlowUpError, match="system 0"):
        Simulation([wild], "Si.sw").run(20)


def test_mistakes_are_named():
    with pytest.raises(SettingsError, match=r"seed: expected one of each of the 2 systems, got a list of 3"):
        Simulation([silicon()] * 2, "Si.sw", seed=[1, 2, 3])
    with pytest.raises(SettingsError, match="a batch of no systems"):
        Simulation([], "Si.sw")
    with pytest.raises(SettingsError, match="must have one ensemble"):
        Simulation([silicon()] * 2, "Si.sw", ensemble=[Langevin(300.0), NoseHoover(300.0)])
    with pytest.raises(SettingsError, match="systems of a batch step together"):
        Simulation([silicon()] * 2, "Si.sw")[0].run(3)
    with pytest.raises(StructureError, match=r"system 1 \(counted from 0\).*"):
        Simulation([silicon(), "Si"], "Si.sw")
    with pytest.raises(StructureError, match=r"system 1 \(counted from 0\).*"):
        Simulation([silicon(), Atoms("Si2", positions=np.zeros((2, 3)))], "Si.sw")
