"""EDIP takes the path of every potential: pieces, batches, sums, restarts, barostats, LAMMPS, Monte Carlo."""

import pickle
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import units
from edip_files import alloy, edip_file
from ghost_atoms import ghosts
from whole_path import assert_bits_of_pieces_and_batches, assert_steps_under_lammps

from taichimd import LennardJones, ManyBody, each_atom
from taichimd.core.errors import TaichimdWarning
from taichimd.forcefields.load import load_forcefield
from taichimd.io.checkpoint import read_checkpoint
from taichimd.lammps.styles import style_of
from taichimd.program.engine import Engine
from taichimd.program.ghosts import GhostForces
from taichimd.sampling.chain import MonteCarlo

FS = units.fs
PAIRS = LennardJones(epsilon=0.01, sigma=2.2, cutoff=4.5, truncation="force-shifted")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return edip_file(tmp_path_factory.mktemp("edip"))


@pytest.fixture(scope="module")
def edip(path):
    return load_forcefield(str(path))


@pytest.mark.long
def test_parts_of_a_run_and_systems_of_a_batch_have_the_bits_of_one_run(edip):
    given = [alloy(), alloy(2, (2, 1, 1)), alloy(3, (1, 1, 1))]
    assert_bits_of_pieces_and_batches(edip, given, FS)


@pytest.mark.long
def test_a_restart_has_the_bits_of_one_run(path, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ase.io.write("x.extxyz", alloy(repeat=(1, 1, 1)))
    run = f"run x.extxyz --potential {path} --temperature 300 --ensemble nvt-langevin --every 4 "
    assert call(run + "--steps 20 --output straight")[0] == 0
    assert call(run + "--steps 8 --output cut")[0] == 0
    assert call("run --restart cut/checkpoint.npz --steps 12")[0] == 0
    one, other = (read_checkpoint(f"{name}/checkpoint.npz") for name in ("straight", "cut"))
    for name in ("positions", "velocities", "forces"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    for file in ("thermo.csv", "trajectory.extxyz"):
        assert Path("straight", file).read_bytes() == Path("cut", file).read_bytes()


@pytest.mark.long
def test_energy_is_conserved_to_the_square_of_the_time_step(edip):
    spread = []
    for timestep in (1.0, 0.5):
        engine = Engine(alloy(), edip, backend="cpu")
        totals = []
        for _ in range(30):
            engine.advance(round(4 / timestep), timestep * FS)
            now = engine.thermo()
            totals.append(now.potential + now.kinetic)
        spread.append(np.std(totals))
    assert spread[0] < 1e-3 * 32
    assert spread[1] < 0.4 * spread[0]


@pytest.mark.long
def test_precisions(edip):
    atoms = alloy()
    exact = Engine(atoms, edip, backend="cpu").evaluate()
    size = np.sqrt((exact.forces**2).mean())
    for precision, largest in (("mixed", 3e-5), ("float32", 2e-4)):
        found = Engine(atoms, edip, backend="cpu", precision=precision).evaluate()
        assert 1e-9 < np.abs(found.forces - exact.forces).max() / size < largest
        assert abs(found.energy / exact.energy - 1.0) < 1e-5


@pytest.mark.long
def test_sums_and_both_decompositions(edip):
    atoms = alloy()
    parts = [Engine(atoms, one, backend="cpu").evaluate() for one in (edip, PAIRS)]
    for decomposition in ("particle", "tuple"):
        for total in (edip + PAIRS, PAIRS + edip):
            found = Engine(atoms, total, backend="cpu", decomposition=decomposition).evaluate()
            for what in ("forces", "energies", "virials"):
                expected = sum(getattr(part, what) for part in parts)
                np.testing.assert_allclose(getattr(found, what), expected, rtol=0, atol=1e-11, err_msg=what)


@pytest.mark.long
def test_tuple_decomposition_has_the_bits_of_particle_decomposition(edip, tmp_path):
    """Two elements and one, also in a cell where atoms have images of themselves as neighbours."""
    silicon = load_forcefield(str(edip_file(tmp_path, ("Si",))))
    for forcefield, atoms in ((edip, alloy()), (edip, alloy(2, (1, 1, 1))), (silicon, alloy())):
        if forcefield is silicon:
            atoms.symbols[:] = "Si"
        found = []
        for decomposition in ("particle", "tuple"):
            engine = Engine(atoms, forcefield, backend="cpu", decomposition=decomposition)
            engine.advance(12, FS)
            assert engine.decomposition == decomposition
            now = engine.evaluate()
            found.append([now.energy, now.energies, now.forces, now.virials, engine.velocities()])
        assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))
        assert engine.statistics()["triplets"] > len(atoms)


def test_a_note_says_that_tuples_change_no_term_of_atoms_alone():
    @each_atom("x")
    def site(mine):
        return 1.0, 1.0

    alone = ManyBody("site", [site], arrays=("x",), params={})(cutoff=3.0)
    with pytest.warns(TaichimdWarning, match='decomposition "tuple" does not change site'):
        engine = Engine(alloy(repeat=(1, 1, 1)), alone, backend="cpu", decomposition="tuple")
    assert engine.decomposition == "particle"


@pytest.mark.long
def test_energies_of_monte_carlo_are_those_of_full_evaluations(edip):
    atoms = alloy(2, (1, 1, 1))
    chain = MonteCarlo(atoms, edip, temperature=900.0, kind="single", backend="cpu", seed=4)
    for _ in range(3):
        chain.advance(5)
        now = atoms.copy()
        now.positions = chain.positions()
        assert chain.energy == pytest.approx(Engine(now, edip, backend="cpu").evaluate().energy, abs=1e-9)
    assert chain.moves.accepted > 0


@pytest.mark.long
def test_local_atoms_among_ghosts_have_the_periodic_result(edip):
    atoms = alloy()
    expected = Engine(atoms, edip, backend="cpu").evaluate()
    symbols = np.array(atoms.get_chemical_symbols())
    species = ["Si", "C"]
    forces = GhostForces(edip, species)
    x, owner = ghosts(atoms, forces.reach)
    forces.set_atoms(np.array([species.index(one) for one in symbols[owner]]), x, len(atoms))
    found = forces.forces(x)
    np.testing.assert_allclose(found, expected.forces, rtol=0, atol=1e-11)
    assert forces.totals()[0] == pytest.approx(expected.energy, rel=1e-12)


@pytest.mark.long
@pytest.mark.lammps
def test_steps_under_lammps_are_those_of_its_pair_style(path, edip):
    style = style_of(edip, ["Si", "C"])
    assert style.pair_style == "edip/multi"
    assert_steps_under_lammps(alloy(1, (2, 2, 2)), path, edip, style.pair_style, style.pair_coeff)


def test_it_pickles(edip):
    again = pickle.loads(pickle.dumps(edip + PAIRS))
    assert again.fingerprint(["Si", "C"]) == (edip + PAIRS).fingerprint(["Si", "C"])
    assert again.terms[0].function is edip.terms[0].function
