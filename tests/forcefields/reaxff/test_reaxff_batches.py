"""Several reactive systems in one launch: each has the bits that it has alone; one that fails is named."""

import numpy as np
import pytest
from batch_runs import command, same
from reaxff_doors import hydroxyl, soft_oxygen, water

from taichimd import (
    Batch,
    BatchCalculators,
    Engine,
    Langevin,
    ReaxFF,
    Simulation,
    TaichiMD,
    evaluate_many,
    load_forcefield,
    relax,
    testing,
)
from taichimd.core.errors import BlowUpError, ChargeError
from taichimd.core.units import FS
from taichimd.ensembles.registry import StochasticCellRescaling
from taichimd.forcefields.reaxff.batched import LANES, PIECES, READ, size_of_piece, tables_of


def several():
    """Two periodic systems of different sizes, with velocities, and a molecule without a cell."""
    found = [water(), water((2, 2, 1), seed=4), water((1, 1, 1), seed=5)]
    found[2].pbc = False
    return [testing.with_velocities(atoms, 600.0, k) for k, atoms in enumerate(found)]


def assert_same(member, engine):
    """State, results and reports are bitwise the same."""
    one, other = member.evaluate(), engine.evaluate()
    for name in ("energies", "forces", "virials", "charges"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(member.positions(), engine.positions())
    np.testing.assert_array_equal(member.velocities(), engine.velocities())
    np.testing.assert_array_equal(member.cell, engine.cell)
    assert member.energy_terms() == engine.energy_terms()
    assert member.thermo().charge_iterations == engine.thermo().charge_iterations
    assert member.thermo().potential == engine.thermo().potential
    assert member.bath_state() == engine.bath_state()
    np.testing.assert_equal(member.atom_states(), engine.atom_states())
    np.testing.assert_equal(vars(member.bonds()), vars(engine.bonds()))


def test_pieces_are_those_of_a_system_alone():
    sizes = [300, 1, 40, 5000]
    tables = tables_of(sizes, 128)
    first = 0
    for k, n in enumerate(sizes):
        begin, end = tables.of_systems[k]
        assert (end - begin) % READ == 0
        piece = -(-n // (PIECES * LANES)) * LANES
        assert size_of_piece(n) == piece
        alone = [(first + at, first + min(at + piece, n), k) for at in range(0, n, piece)]
        rows = tables.of_pieces[begin:end].tolist()
        assert rows[: len(alone)] == [list(one) for one in alone]
        assert all(a == b for a, b, _ in rows[len(alone) :])
        chunks = tables.of_chunks[tables.of_chunks[:, 2] == k].tolist()
        assert [c[:2] for c in chunks] == [
            [at, min(at + 128, first + n)] for at in range(first, first + n, 128)
        ]
        first += n


@pytest.mark.long
def test_a_run_has_the_bits_of_each_system_alone_and_continues_from_its_state():
    systems, forcefield = several(), ReaxFF("H2O.ffield")
    baths = [Langevin(500.0, coupling_time=20.0, seed=k) for k in range(3)]
    engines = [Engine(a, forcefield, backend="cpu", ensemble=b) for a, b in zip(systems, baths, strict=True)]
    batch = Batch(systems, forcefield, backend="cpu", ensembles=baths)
    for steps in (9, 4):
        for one in (batch, *engines):
            one.advance(steps, 0.25 * FS)
    iterations = set()
    for member, engine in zip(batch.members, engines, strict=True):
        assert_same(member, engine)
        iterations.add(member.thermo().charge_iterations)
    assert len(iterations) > 1  # systems that are solved wait for others
    # One that is put elsewhere forgets its history, the others do not.
    moved = systems[1].positions
    for one in (batch.members[1], engines[1]):
        one.set_state(positions=moved)
    for one in (batch, *engines):
        one.advance(3, 0.25 * FS)
    for member, engine in zip(batch.members, engines, strict=True):
        assert_same(member, engine)
    again = Batch(systems, forcefield, backend="cpu", ensembles=baths)
    for new, old in zip(again.members, batch.members, strict=True):
        new.set_state(
            positions=old.folded_positions(), turns=old.turns, velocities=old.velocities(), step=old.step,
            cell=old.cell, bath=old.bath_state(),
        )  # fmt: skip
        new.set_atom_states(old.atom_states())
    for one in (again, *engines):
        one.advance(3, 0.25 * FS)
    for member, engine in zip(again.members, engines, strict=True):
        assert_same(member, engine)


def test_calculators_of_images_have_the_bits_of_each_image_alone():
    """Also where some images stand still."""
    images, alone = several()[:2], several()[:2]
    BatchCalculators(images, "H2O.ffield", backend="cpu")
    for atoms in alone:
        atoms.calc = TaichiMD("H2O.ffield", backend="cpu")
    for move in ((0.01, 0.01), (0.0, 0.02), (0.02, 0.0), (0.01, 0.01)):
        for k, size in enumerate(move):
            for atoms in (images[k], alone[k]):
                atoms.positions[0] += size
        for one, other in zip(images, alone, strict=True):
            np.testing.assert_array_equal(one.get_forces(), other.get_forces())
            np.testing.assert_array_equal(one.get_charges(), other.get_charges())
            assert one.get_potential_energy() == other.get_potential_energy()


def test_relaxations_have_the_bits_of_each_system_alone():
    """They end at different steps."""
    systems = several()[:2]
    found = relax(systems, "H2O.ffield", fmax=0.3, backend="cpu")
    assert len({one.steps for one in found}) == 2
    for one, atoms in zip(found, systems, strict=True):
        alone = relax(atoms, "H2O.ffield", fmax=0.3, backend="cpu")
        assert one.converged
        assert (one.steps, one.energy) == (alone.steps, alone.energy)
        np.testing.assert_array_equal(one.atoms.positions, alone.atoms.positions)
        np.testing.assert_array_equal(one.atoms.get_charges(), alone.atoms.get_charges())


@pytest.mark.long
def test_relaxations_with_cells_have_the_bits_of_each_system_alone():
    systems = several()[:2]
    options = {"cell": "full", "pressure": 0.5, "fmax": 0.3, "smax": 0.5, "steps": 60, "backend": "cpu"}
    found = relax(systems, "H2O.ffield", **options)
    for one, atoms in zip(found, systems, strict=True):
        alone = relax(atoms, "H2O.ffield", **options)
        assert (one.steps, one.energy, one.converged) == (alone.steps, alone.energy, alone.converged)
        np.testing.assert_array_equal(one.atoms.positions, alone.atoms.positions)
        np.testing.assert_array_equal(one.atoms.cell.array, alone.atoms.cell.array)
        np.testing.assert_array_equal(one.atoms.get_charges(), alone.atoms.get_charges())
        assert abs(one.atoms.cell.array - atoms.cell.array).max() > 1e-3


def test_one_without_charges_or_that_explodes_is_named_and_the_others_continue(tmp_path):
    forcefield = load_forcefield(soft_oxygen(tmp_path))
    systems = [hydroxyl(3.6), hydroxyl(1.6, speed=0.06), hydroxyl(4.1), hydroxyl(3.0, speed=-40.0)]
    engines = [Engine(systems[k], forcefield, backend="cpu") for k in (0, 2)]
    batch = Batch(systems, forcefield, backend="cpu", names=list("abcd"))
    for one in (batch, *engines):
        one.advance(100, 0.25 * FS)
    assert batch.alive == [0, 2]
    assert isinstance(batch.members[1].error, ChargeError)
    assert str(batch.members[1].error).startswith("b: the charge matrix is not positive definite")
    assert isinstance(batch.members[3].error, BlowUpError)
    assert str(batch.members[3].error).startswith("d: ")
    for member, engine in zip((batch.members[0], batch.members[2]), engines, strict=True):
        assert_same(member, engine)
    with pytest.raises(ChargeError, match=r"^system 1 \(counted from 0\): the charge matrix is not positive"):
        evaluate_many([hydroxyl(3.6), hydroxyl(0.1)], forcefield, backend="cpu")


def test_a_relaxation_without_charges_is_named_and_the_others_continue(tmp_path):
    file = soft_oxygen(tmp_path)
    systems = [hydroxyl(1.4), hydroxyl(4.5)]
    found = relax(systems, file, fmax=0.01, steps=20, backend="cpu")
    assert "charge matrix is not positive definite" in found[0].reason
    alone = relax(systems[1], file, fmax=0.01, steps=20, backend="cpu")
    assert (found[1].energy, found[1].steps, found[1].reason) == (alone.energy, alone.steps, alone.reason)
    np.testing.assert_array_equal(found[1].atoms.positions, alone.atoms.positions)


@pytest.mark.long
def test_ensembles_have_the_bits_of_each_system_alone():
    systems, forcefield = several()[:2], ReaxFF("H2O.ffield")
    motion = {"pressure_coupling_time": 100.0, "bulk_modulus": 2.0}
    baths = [StochasticCellRescaling(400.0, coupling_time=20.0, **motion, seed=k) for k in range(2)]
    engines = [Engine(a, forcefield, backend="cpu", ensemble=b) for a, b in zip(systems, baths, strict=True)]
    batch = Batch(systems, forcefield, backend="cpu", ensembles=baths)
    for steps in (12, 5):
        for one in (batch, *engines):
            one.advance(steps, 0.25 * FS)
    for member, engine in zip(batch.members, engines, strict=True):
        assert_same(member, engine)


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [{"charges": "extended-lagrangian"}, {"matrix_precision": "float32"}, {"charge_tolerance": 1e-12}],
)
def test_options_have_the_bits_of_each_system_alone(options):
    systems, forcefield = several(), ReaxFF("H2O.ffield", **options)
    batch = Batch(systems, forcefield, backend="cpu")
    batch.advance(15, 0.25 * FS)
    for member, atoms in zip(batch.members, systems, strict=True):
        engine = Engine(atoms, forcefield, backend="cpu")
        engine.advance(15, 0.25 * FS)
        assert_same(member, engine)


@pytest.mark.long
def test_simulations_of_other_elements_than_those_of_the_batch():
    """Each has fewer species alone."""
    oxygen = hydroxyl(1.2)
    oxygen.symbols[:] = "O"
    systems = [testing.with_velocities(atoms, 300.0, 1) for atoms in (several()[0], oxygen)]
    several_at_once = Simulation(systems, "H2O.ffield", backend="cpu", timestep=0.25)
    several_at_once.run(8)
    for one, atoms in zip(several_at_once, systems, strict=True):
        alone = Simulation(atoms, "H2O.ffield", backend="cpu", timestep=0.25)
        alone.run(8)
        np.testing.assert_array_equal(one.engine.positions(), alone.engine.positions())
        np.testing.assert_array_equal(one.engine.evaluate().charges, alone.engine.evaluate().charges)


@pytest.mark.long
def test_folders_are_those_of_runs_alone_with_bonds_species_and_charges(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    water((2, 2, 1)).write("water.extxyz")
    more = [
        "water.extxyz", "--potential", "H2O.ffield", "--steps", "30", "--every", "10", "--frames-every", "10",
        "--terms", "--observe", "bonds,species,reactions", "--observe-every", "10", "--backend", "cpu",
        "--ensemble", "nvt-langevin",
    ]  # fmt: skip
    assert command("run", *more, "--replicas", "2", "--output", "out") == 0
    assert "2 of 12 atoms, 24 in all, in one launch" in " ".join(capsys.readouterr().out.split())
    assert command("run", *more, "--seed", "2", "--output", "alone") == 0
    same("out/001-seed2", "alone")
    for name in ("bonds.csv", "species.csv", "lifetimes.csv", "thermo.csv"):
        assert (tmp_path / "out/001-seed2" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    assert command("run", "--restart", "out", "--steps", "10", "--quiet") == 0
    assert command("run", "--restart", "alone", "--steps", "10", "--quiet") == 0
    same("out/001-seed2", "alone")
