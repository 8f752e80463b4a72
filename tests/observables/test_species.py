"""Bonds of ReaxFF, the molecules that they make, and `--observe species`."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from gases import mixed_gas
from interrupted import interrupted

from taichimd import BondFile, Engine, LennardJones, ReaxFF, Simulation
from taichimd.app.live import Observations
from taichimd.core.errors import PropertyError
from taichimd.estimators.molecules import count_formulas, molecules
from taichimd.io.analysis_files import read_table
from taichimd.observables import observable
from taichimd.observables.plan import Plan
from taichimd.observables.planning import make_plan

RUN = "run gas.extxyz --potential CHO.ffield --timestep 0.1 --backend cpu --temperature 500 --seed 3 "


def gas():
    """Four molecules of water, two of hydrogen, one of oxygen; all atoms in a mixed order."""
    return mixed_gas("H2O", "O2", "H2O", "H2", "H2O", "H2", "H2O")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    gas().write("gas.extxyz")


def test_formulas_of_bonds_by_hand():
    symbols = ["O", "H", "C", "H", "O", "H", "H", "H", "N", "O", "O", "Ar"]
    bonds = [(0, 1), (0, 3), (2, 4), (4, 5), (5, 2), (6, 7), (9, 9), (10, 8), (10, 9)]
    i, j = np.array(bonds, np.int32).T
    found = molecules(len(symbols), i, j)
    assert [len(set(found[[0, 1, 3]])), len(set(found[[2, 4, 5]])), len(set(found[[8, 9, 10]]))] == [1, 1, 1]
    assert len(set(found)) == 5
    assert count_formulas(symbols, found) == {"H2O": 1, "CHO": 1, "H2": 1, "NO2": 1, "Ar": 1}
    alone = molecules(3, i[:0], j[:0])
    assert count_formulas(["H", "H", "O"], alone) == {"H": 2, "O": 1}


def test_bonds_of_a_gas_are_those_of_its_molecules():
    atoms = gas()
    bonds = Engine(atoms, ReaxFF("CHO.ffield"), backend="cpu").bonds()
    assert (bonds.i <= bonds.j).all()
    assert np.array_equal(np.lexsort((bonds.j, bonds.i)), np.arange(len(bonds.i)))
    distances = atoms.get_all_distances(mic=True)
    np.testing.assert_allclose(bonds.distance, distances[bonds.i, bonds.j], rtol=0, atol=1e-12)
    strong = set(zip(*(side[bonds.order > 0.3].tolist() for side in (bonds.i, bonds.j)), strict=True))
    expected = zip(*np.nonzero(np.triu(distances < 1.3, 1)), strict=True)
    assert strong == {(int(i), int(j)) for i, j in expected}
    assert len(strong) == 4 * 2 + 2 + 1


def test_each_bond_stands_once_through_images_too():
    """A chain of oxygen along x, one atom a cell and two a cell: the same bonds of each atom."""
    forcefield, found = ReaxFF("CHO.ffield"), []
    for n in (1, 2, 6):
        chain = Atoms(
            f"O{n}", positions=[[1.5 * k, 0, 0] for k in range(n)], cell=[1.5 * n, 12, 12], pbc=True
        )
        found.append(Engine(chain, forcefield, backend="cpu").bonds())
        assert len(found[-1].i) == n * len(found[0].i), "each bond once"
        assert (found[-1].i <= found[-1].j).all()
    assert set(found[0].i) == set(found[0].j) == {0}
    assert set(zip(found[1].i.tolist(), found[1].j.tolist(), strict=True)) >= {(0, 1)}
    for bonds in found:
        short = bonds.order[np.isclose(bonds.distance, 1.5)]
        np.testing.assert_allclose(short, short[0], rtol=1e-12)
        assert len(short) == len(bonds.order) // len(found[0].order)


def test_a_run_counts_its_molecules_and_a_restart_goes_on(call, monkeypatch):
    monkeypatch.setattr(observable, "draw", lambda *_: None)
    observe = "--steps 40 --every 20 --observe species --observe-every 5 "
    code, out, err = call(RUN + observe + "--output whole")
    assert (code, err) == (0, "")
    assert "species H2O" in out
    table = read_table(Path("whole/species.csv"))
    assert list(table) == ["time_ps", "H2O", "H2", "O2"]
    assert [set(table[name]) for name in ("H2O", "H2", "O2")] == [{4.0}, {2.0}, {1.0}]
    np.testing.assert_allclose(table["time_ps"], 0.0005 * np.arange(9), atol=1e-12)
    report = json.load(open("whole/run.json"))["observed"]
    assert report["values"]["species_H2O_last"] == {
        "value": 4.0, "error": None, "unit": "1", "status": "ok", "note": "no error: a count of one sample",
    }  # fmt: skip
    assert report["observables"]["species"]["status"] == "ok"
    assert report["plan"]["bond_order"] == 0.3
    with interrupted(monkeypatch, 15):
        assert call(RUN + observe + "--output cut")[0] == 130
    assert not os.path.exists("cut/species.csv")
    assert call("run --restart cut/checkpoint.npz")[0] == 0
    assert open("cut/species.csv").read() == open("whole/species.csv").read()


def test_bonds_of_each_sample_are_a_table_in_which_a_restart_goes_on(call):
    observe = "--every 20 --observe bonds --observe-every 5 --observe-bond-order 0.5 "
    code, _, err = call(RUN + observe + "--steps 40 --output whole")
    assert (code, err) == (0, "")
    assert call(RUN + observe + "--steps 18 --output cut")[0] == 0
    assert call("run --restart cut --steps 22")[0] == 0
    assert Path("cut/bonds.csv").read_bytes() == Path("whole/bonds.csv").read_bytes()
    rows = list(csv.DictReader(Path("whole/bonds.csv").open()))
    atoms = gas()
    assert [int(row["step"]) for row in rows] == [step for step in range(0, 41, 5) for _ in atoms]
    first = rows[: len(atoms)]
    assert [row["element"] for row in first] == list(atoms.symbols)
    near = [list(map(int, row["neighbours"].split())) for row in first]
    distances = atoms.get_all_distances(mic=True)
    assert near == [np.flatnonzero((row < 1.3) & (row > 0)).tolist() for row in distances]
    assert all(i in near[j] for i, ends in enumerate(near) for j in ends)
    assert {len(row["bond_orders"].split()) for row in first} == {1, 2}
    assert abs(sum(float(row["charge"]) for row in first)) < 1e-4
    assert {row["time_ps"] for row in rows[-len(atoms) :]} == {"0.004"}
    pairs = [float(row["lone_pairs"]) for row in first]
    assert min(pair for pair, row in zip(pairs, first, strict=True) if row["element"] == "O") > 1.5


def test_the_limit_is_a_setting_and_samples_are_kept_with_all_formulas(monkeypatch):
    simulation = Simulation(gas(), ReaxFF("CHO.ffield"), timestep=0.1, temperature=500.0, backend="cpu")
    first, second = (
        Observations(simulation.engine, make_plan(("species",), 0, 2, 0.1, 1, bond_order=limit))
        for limit in (0.3, 5.0)
    )
    simulation.run(1, samplers=[first, second])
    copies = [Observations(simulation.engine, one.plan) for one in (first, second)]
    for copy, one in zip(copies, (first, second), strict=True):
        copy.load(one.save())
    simulation.run(1, samplers=copies)
    tables = [one.observables["species"].result().tables[0] for one in copies]
    assert [list(table)[1:] for table in tables] == [["H2O", "H2", "O2"], ["H", "O"]]
    assert tables[1]["H"].tolist() == [12.0] * 3
    copies[0].write(Path("."), "gas")
    assert Path("species.png").stat().st_size > 0


def test_species_that_come_and_go():
    simulation = Simulation(gas(), ReaxFF("CHO.ffield"), timestep=0.1, backend="cpu")
    observations = Observations(simulation.engine, make_plan(("species",), 0, 2, 0.1, 1))
    counts = np.array([[9, *range(1, 9)], [8, *range(8, 0, -1)], [7, *[0] * 8]])
    names = ["H2", *(f"C{k}" for k in range(2, 10))]
    observations.observables["species"].load({"formulas": np.array(names), "counts": counts})
    result = observations.observables["species"].result()
    assert [row[0] for row in result.rows] == ["species H2", *(f"species C{k}" for k in range(2, 8)), ""]
    assert result.rows[0][1] == "9 at the start, 7 at the end, at most 9"
    assert result.rows[-1][1] == "and 2 rarer species in species.csv"
    assert result.tables[0]["C9"].tolist() == [8.0, 1.0, 0.0]


def test_a_force_field_without_bonds_is_refused_before_there_is_an_engine(call, monkeypatch):
    dimer = Atoms("Ar2", positions=[[0, 0, 0], [4, 0, 0]])
    dimer.write("dimer.extxyz")
    engine = Engine(dimer, LennardJones(epsilon=0.0104, sigma=3.4, cutoff=4.0), backend="cpu")
    with pytest.raises(PropertyError, match=r"no table of bonds.*expected a reactive force field"):
        Observations(engine, make_plan(("species",), 0, 10, 1.0, 1))
    monkeypatch.setattr(
        "taichimd.program.engine.Engine.__init__", lambda *_, **__: pytest.fail("an engine was made")
    )
    code, _, err = call("run dimer.extxyz --potential Ar.lj --steps 40 --output o --observe species")
    assert (code, err.count("\n")) == (2, 1)
    assert "Ar.lj has no table of bonds, of which molecules are made; expected a reactive force field" in err
    assert not os.path.exists("o")


def test_a_file_of_bonds_needs_bonds():
    dimer = Atoms("Ar2", positions=[[0, 0, 0], [4, 0, 0]])
    simulation = Simulation(dimer, LennardJones(epsilon=0.0104, sigma=3.4, cutoff=4.0), backend="cpu")
    with pytest.raises(PropertyError, match="no table of bonds"):
        simulation.run(1, observers=[BondFile("bonds.csv")])
    assert not os.path.exists("bonds.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--observe species --observe-bond-order 0", "observe_bond_order = 0.0: expected a number above 0"),
        ("--observe-bond-order 0.5", "nothing is observed; also give observe"),
        ("--observe specie", "did you mean 'species'?"),
    ],
)
def test_mistakes_end_in_one_line(call, options, message):
    code, _, err = call(RUN + f"--steps 40 --output o {options}")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def test_plans_of_earlier_checkpoints_have_the_limit_of_today():
    saved = make_plan(("msd",), 0, 100, 1.0, 10).to_json()
    del saved["bond_order"]
    assert Plan.from_json(saved).bond_order == 0.3
