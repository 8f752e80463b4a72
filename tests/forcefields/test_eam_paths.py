"""EAM from files takes the path of every potential: restarts, batches, barostats, LAMMPS and more."""

import json
import pickle
import subprocess
import sys
from itertools import pairwise

import ase.io
import numpy as np
import pytest
from ase import units
from ase.build import bulk
from ase.neighborlist import neighbor_list

from taichimd import Batch, LennardJones, Simulation, TaichiMD, testing
from taichimd.ensembles.registry import Langevin
from taichimd.forcefields.load import load_forcefield
from taichimd.io.checkpoint import read_checkpoint
from taichimd.program.engine import Engine
from taichimd.sampling.best_moves import best_moves
from taichimd.sampling.chain import MonteCarlo
from tests.support.eam_files import COPPER, NICKEL, Layout, alloy, funcfl
from tests.support.whole_path import (
    assert_bits_of_pieces_and_batches,
    assert_steps_under_lammps,
    numbers,
    same,
)

FS = units.fs


def funcfl_files(folder):
    """Two files of one element each, which are one potential."""
    found = []
    for metal, z in ((COPPER, 29), (NICKEL, 28)):
        found.append(str(folder / f"{metal.name}.eam"))
        (folder / f"{metal.name}.eam").write_text("\n".join(funcfl(metal, z=z)) + "\n")
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Of Finnis-Sinclair form: densities of a pair differ in its two directions."""
    return Layout(finnis_sinclair=True).write(tmp_path_factory.mktemp("eam") / "CuNi.eam.fs")


@pytest.fixture(scope="module")
def eam(path):
    return load_forcefield(str(path))


def dense(seed=1):
    """Atoms so close that densities are beyond the table."""
    atoms = testing.rattled(bulk("Cu", a=2.7, cubic=True), 0.02, seed=seed)
    atoms.symbols[1] = "Ni"
    return atoms


@pytest.mark.long
def test_parts_of_a_run_and_systems_of_a_batch_have_the_bits_of_one_run(eam):
    given = [alloy(), alloy(2, (2, 1, 1)), alloy(3, (1, 1, 1))]
    assert_bits_of_pieces_and_batches(eam, given, 2.0 * FS)


def test_densities_beyond_the_table_are_counted_once_an_evaluation_in_batches_too(eam):
    counts = []
    for steps in ((8,), (3, 5), (1,) * 8):
        engine = Engine(dense(), eam, backend="cpu")
        for some in steps:
            engine.advance(some, 0.1 * FS)
            engine.evaluate()
        counts.append(engine.statistics()["beyond_tables"])
    assert counts == [4 * 9] * 3
    batch = Batch([dense(), alloy(1, (1, 1, 1)), dense(2)], eam, backend="cpu")
    batch.advance(8, 0.1 * FS)
    assert batch.statistics()["beyond_tables"] == 2 * 4 * 9


@pytest.mark.long
def test_a_restart_of_two_files_has_the_bits_of_one_run_and_its_count(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    funcfl_files(tmp_path)
    potential = "--potential Cu.eam --potential Ni.eam"
    ase.io.write("x.extxyz", dense())
    run = f"run x.extxyz {potential} --temperature 300 --ensemble nvt-langevin --timestep 0.1 --every 4 "
    assert call(run + "--steps 20 --output straight")[0] == 0
    assert call(run + "--steps 8 --output cut")[0] == 0
    code, out, err = call("run --restart cut/checkpoint.npz --steps 12")
    assert (code, err) == (0, "")
    assert "beyond the table of the embedding energy" in " ".join(out.split())
    one, other = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("straight", "cut"))
    for name in ("positions", "velocities", "forces"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    for file in ("thermo.csv", "trajectory.extxyz"):
        assert (tmp_path / "straight" / file).read_bytes() == (tmp_path / "cut" / file).read_bytes()
    straight, cut = (json.loads(open(f"{name}/run.json").read()) for name in ("straight", "cut"))
    assert straight["statistics"]["beyond_tables"] == 4 * 21
    assert cut["statistics"]["beyond_tables"] == 4 * 13, "of the last part, and the evaluation at its start"


@pytest.mark.long
def test_precisions(eam):
    atoms = alloy()
    exact = Engine(atoms, eam, backend="cpu").evaluate()
    size = np.sqrt((exact.forces**2).mean())
    for precision, largest in (("mixed", 3e-5), ("float32", 2e-4)):
        found = Engine(atoms, eam, backend="cpu", precision=precision).evaluate()
        assert 1e-9 < np.abs(found.forces - exact.forces).max() / size < largest
        assert abs(found.energy / exact.energy - 1.0) < 1e-5


PAIRS = LennardJones(epsilon=0.01, sigma=2.2, cutoff=4.5, truncation="force-shifted")


@pytest.mark.long
def test_sums_and_both_decompositions(eam):
    atoms = alloy()
    parts = [Engine(atoms, one, backend="cpu").evaluate() for one in (eam, PAIRS)]
    for decomposition in ("particle", "tuple"):
        engine = Engine(atoms, eam + PAIRS, backend="cpu", decomposition=decomposition)
        found = engine.evaluate()
        assert engine.decomposition == decomposition
        for what in ("forces", "energies", "virials"):
            expected = sum(getattr(part, what) for part in parts)
            np.testing.assert_allclose(getattr(found, what), expected, rtol=0, atol=1e-11, err_msg=what)


def test_tuple_decomposition_has_the_bits_of_particle_decomposition(eam):
    """Also in a cell where atoms have images of themselves as neighbours."""
    for atoms in (alloy(), alloy(2, (1, 1, 1))):
        found = []
        for decomposition in ("particle", "tuple"):
            engine = Engine(atoms, eam, backend="cpu", decomposition=decomposition)
            engine.advance(12, 2.0 * FS)
            assert engine.decomposition == decomposition
            found.append(numbers(engine))
        same(*found)
        atoms.positions = engine.positions()
        both_ends = len(neighbor_list("i", atoms, eam.cutoff))
        assert both_ends // 2 <= engine.statistics()["pairs"] < both_ends, "each pair is listed once"


@pytest.mark.long
@pytest.mark.parametrize(
    ("repeat", "kind", "pressure"),
    [
        ((2, 1, 1), "single", None),
        ((2, 1, 1), "all", 0.5),
        ((2, 2, 2), "single", 0.5),
        ((6, 2, 2), "single", None),
    ],
)
def test_energies_of_monte_carlo_are_those_of_full_evaluations(eam, repeat, kind, pressure):
    """Full evaluations in a narrow cell; local changes with images of a neighbour, and in several cells."""
    atoms = alloy(2, repeat)
    assert best_moves(eam, atoms, None)[0] == ("all" if repeat == (2, 1, 1) else "single")
    chain = MonteCarlo(atoms, eam, temperature=900.0, kind=kind, pressure=pressure, backend="cpu", seed=4)
    energies = []
    for _ in range(4):
        chain.advance(5)
        now = atoms.copy()
        now.set_cell(chain.cell)
        now.positions = chain.positions()
        energies.append(chain.energy)
        expected = Engine(now, eam, backend="cpu").evaluate().energy
        assert chain.energy == pytest.approx(expected, abs=1e-9)
    assert chain.moves.accepted > 0
    assert all(one != other for one, other in pairwise(energies))


@pytest.mark.long
@pytest.mark.lammps
def test_steps_under_lammps_are_those_of_its_pair_style(path, eam):
    atoms = alloy(1, (3, 2, 2))
    atoms.set_masses([60.0] * len(atoms))  # of the file, which the pair style takes
    assert_steps_under_lammps(atoms, path, eam, "eam/fs", (f"* * {path} {{elements}}",))


def test_it_pickles_and_ase_has_its_stress(path, eam, tmp_path):
    for made in (eam, load_forcefield(funcfl_files(tmp_path)), eam + PAIRS):
        data = pickle.dumps(made)
        assert pickle.loads(data).fingerprint(["Cu", "Ni"]) == made.fingerprint(["Cu", "Ni"])
        assert pickle.loads(data).terms[0].function is made.terms[0].function
    script = f"import pickle; print(pickle.loads({data!r}).fingerprint(['Cu', 'Ni']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == made.fingerprint(["Cu", "Ni"])

    atoms = alloy(1, (1, 1, 1))
    atoms.calc = pickle.loads(pickle.dumps(TaichiMD(str(path), backend="cpu")))
    now = Engine(atoms, eam, backend="cpu").evaluate()
    assert atoms.get_potential_energy() == now.energy
    np.testing.assert_array_equal(atoms.get_forces(), now.forces)
    stress, moved = atoms.get_stress(), []
    for strain in (-1e-5, 1e-5):
        twin = atoms.copy()
        twin.calc = atoms.calc
        twin.set_cell(atoms.cell[:] @ (np.eye(3) + strain * np.eye(3)[0][:, None] * np.eye(3)[1]), True)
        moved.append(twin.get_potential_energy())
    assert stress[5] == pytest.approx((moved[1] - moved[0]) / 2e-5 / atoms.get_volume(), abs=1e-6)


def test_a_simulation_goes_on_from_its_checkpoint(eam, tmp_path):
    def simulation(atoms):
        bath = Langevin(500.0, coupling_time=50.0, seed=2)
        return Simulation(atoms, eam, backend="cpu", ensemble=bath, timestep=2.0)

    whole = simulation(alloy(2, (1, 1, 1)))
    whole.run(20)
    first = simulation(alloy(2, (1, 1, 1)))
    first.run(9)
    first.save(tmp_path / "x.npz")
    second = Simulation.load(tmp_path / "x.npz", eam, backend="cpu")
    second.run(11)
    same(numbers(second.engine), numbers(whole.engine))
