"""Many systems in one launch: each has the bits that it has alone."""

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk

from taichimd import AxilrodTeller, Batch, Engine, LennardJones, load_forcefield, testing
from taichimd.core import memory
from taichimd.core.errors import (
    BlowUpError,
    CapacityError,
    MissingParameterError,
    SettingsError,
    StructureError,
)
from taichimd.ensembles.registry import NVE, BerendsenNPT, Bussi, Langevin, NoseHoover
from taichimd.program.totals import Sums

ARGON = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")


def silicon(repeat, seed, temperature=300.0):
    atoms = bulk("Si", cubic=True).repeat(repeat)
    atoms.rattle(0.03, seed=seed)
    return testing.with_velocities(atoms, temperature, seed)


def systems():
    """Of several sizes and cells; one is open along y."""
    found = [silicon(2, 1), silicon(1, 2, 900.0), silicon((3, 2, 1), 3), silicon(1, 4)]
    found[3].pbc = (True, False, True)
    found[3].set_cell(found[3].cell.array @ [[1, 0.1, 0], [0, 1, 0.05], [0.02, 0, 1]], scale_atoms=True)
    return found


def numbers(one):
    """All that can be seen of a system."""
    now, thermo = one.evaluate(), one.thermo()
    stress = np.zeros(6) if thermo.stress is None else thermo.stress
    return [
        one.positions(), one.velocities(), now.forces, now.energies, now.virials, now.energy, thermo.kinetic,
        stress, np.array(thermo.conserved), np.array(one.heat_current()), lent(one),
    ]  # fmt: skip


def lent(one):
    """The sums that a sampler finds on the device, and its atoms in the user's order."""
    found = []

    def take(state, energy, virial):
        found.extend([Sums(state).of(state, "stress", energy, virial)[0, :6], state.get("pos").ravel()])
        found.append(state.kind.to_numpy()[state.sorted_of.to_numpy()])

    one.observe(take)
    return np.concatenate(found)


def assert_same(member, engine):
    for found, expected in zip(numbers(member), numbers(engine), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert member.bath_state() == engine.bath_state()


ENSEMBLES = {
    "langevin": lambda k: Langevin(300.0 + 100.0 * k, coupling_time=50.0, seed=k + 3),
    "bussi": lambda k: Bussi(300.0 + 100.0 * k, coupling_time=50.0, seed=k + 3),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_each_system_has_the_bits_that_it_has_alone(name):
    given, forcefield = systems(), load_forcefield("Si.sw")
    baths = [ENSEMBLES[name](k) for k in range(len(given))]
    batch = Batch(given, forcefield, ensembles=baths)
    batch.advance(17, units.fs)
    batch.advance(23, units.fs)
    for member, atoms, bath in zip(batch.members, given, baths, strict=True):
        alone = Engine(atoms, forcefield, ensemble=bath)
        alone.advance(40, units.fs)
        assert_same(member, alone)


@pytest.mark.parametrize(
    "options", [{}, {"precision": "mixed"}, {"decomposition": "tuple"}, {"skin": 0.5}], ids=str
)
def test_pairs_in_all_ways(options):
    given = [testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(k), 200.0, k) for k in (1, 2, 3)]
    far = given[1].copy()
    far.positions += [100.0, -333.0, 71.0]
    given.append(far)
    batch = Batch(given, ARGON, **options)
    batch.advance(60, 4.0 * units.fs)
    for member, atoms in zip(batch.members, given, strict=True):
        alone = Engine(atoms, ARGON, **options)
        alone.advance(60, 4.0 * units.fs)
        assert_same(member, alone)


def test_systems_of_other_elements_and_thermostats_with_inertia():
    forcefield = load_forcefield("SiC_1989.tersoff")
    carbon = testing.with_velocities(bulk("C", "diamond", a=3.57, cubic=True), 300.0, 1)
    carbide = testing.with_velocities(bulk("SiC", "zincblende", a=4.36, cubic=True), 900.0, 2)
    given, baths = (
        [silicon(1, 1), carbon, carbide],
        [NoseHoover(300.0 + k, coupling_time=50.0) for k in range(3)],
    )
    batch = Batch(given, forcefield, ensembles=baths)
    batch.advance(20, units.fs)
    for member, atoms, bath in zip(batch.members, given, baths, strict=True):
        alone = Engine(atoms, forcefield, ensemble=bath)
        alone.advance(20, units.fs)
        assert_same(member, alone)


@pytest.mark.long
def test_fixed_atoms_stay():
    given, forcefield = [silicon(1, 1), silicon(1, 2)], load_forcefield("Si.sw")
    held = np.arange(8) < 3
    batch = Batch(given, forcefield, fixed=[None, held])
    batch.advance(20, units.fs)
    np.testing.assert_array_equal(batch.members[1].positions()[held], given[1].positions[held])
    for member, atoms, fixed in zip(batch.members, given, (None, held), strict=True):
        alone = Engine(atoms, forcefield, fixed=fixed)
        alone.advance(20, units.fs)
        assert_same(member, alone)


def test_a_member_can_be_set_anew():
    given, forcefield = [silicon(1, 1), silicon(1, 2)], load_forcefield("Si.sw")
    batch = Batch(given, forcefield)
    batch.advance(5, units.fs)
    cell = given[0].cell.array * 1.01
    batch.members[0].set_state(positions=given[0].positions * 1.01, cell=cell, velocities=np.zeros((8, 3)))
    other = given[0].copy()
    other.set_cell(cell, scale_atoms=True)
    other.positions = given[0].positions * 1.01
    other.set_velocities(np.zeros((8, 3)))
    batch.advance(10, units.fs)
    for member, atoms, steps in ((batch.members[0], other, 10), (batch.members[1], given[1], 15)):
        alone = Engine(atoms, forcefield)
        alone.advance(steps, units.fs)
        assert_same(member, alone)


@pytest.mark.parametrize("ensemble", [NVE(), Langevin(300.0)], ids=["nve", "langevin"])
def test_a_system_that_explodes_stops_and_the_others_go_on(ensemble):
    forcefield = load_forcefield("Si.sw")
    hot, close = silicon(1, 5), silicon(1, 6)
    hot.set_velocities(500.0 * hot.get_velocities())
    close.set_velocities(np.zeros((8, 3)))
    close.positions[0] += [1.2, 1.2, 1.2]
    given = [silicon(1, 1), hot, silicon(2, 2), close]
    batch = Batch(given, forcefield, ensembles=ensemble)
    batch.advance(40, units.fs)
    assert 1 not in batch.alive
    assert {0, 2} <= set(batch.alive)
    for number, (member, atoms) in enumerate(zip(batch.members, given, strict=True)):
        alone = Engine(atoms, forcefield, ensemble=ensemble)
        if number in batch.alive:
            alone.advance(40, units.fs)
            assert_same(member, alone)
            continue
        with pytest.raises(BlowUpError) as caught:
            alone.advance(40, units.fs)
        assert str(member.error) == f"system {number} (counted from 0): {caught.value}"
        assert (member.step, member.error.atom) == (caught.value.step, caught.value.atom)
        np.testing.assert_array_equal(member.positions(), alone.positions())
        with pytest.raises(BlowUpError, match=f"system {number}"):
            member.thermo()


def test_bad_batches_are_refused_in_one_sentence(monkeypatch):
    forcefield, one = load_forcefield("Si.sw"), silicon(1, 1)
    with pytest.raises(MissingParameterError, match=r"system 1 \(counted from 0\): .*Ge"):
        Batch([one, bulk("Ge", cubic=True)], forcefield)
    with pytest.raises(SettingsError, match="no systems"):
        Batch([], forcefield)
    double = one.copy()
    double.positions[1] = double.positions[0]
    with pytest.raises(StructureError, match=r"system 1 .*atoms 0 and 1"):
        Batch([one, double], forcefield)
    with pytest.raises(SettingsError, match="must have one ensemble"):
        Batch([one, one], forcefield, ensembles=[NVE(), Bussi(300.0)])
    with pytest.raises(SettingsError, match="barostats of one batch must have the same control"):
        Batch([one, one], forcefield, ensembles=[BerendsenNPT(300.0), BerendsenNPT(300.0, period=3)])
    with pytest.raises(SettingsError, match="ensemble = 'npt-scr': expected an object, such as Bussi"):
        Batch([one, one], forcefield, ensembles="npt-scr")
    for given in ({"ensembles": [NVE()]}, {"fixed": [None, None, None]}):
        with pytest.raises(SettingsError, match=r"expected one of each of the 2 systems, got a list of [13]"):
            Batch([one, one], forcefield, **given)
    with pytest.raises(SettingsError, match="all-pairs"):
        Batch([one], LennardJones(**testing.ARGON, cutoff=6.0, enumeration="all-pairs"))
    monkeypatch.setattr(memory, "_free_host", lambda: 10_000)
    monkeypatch.setattr(memory, "free_bytes", lambda: 10_000)
    with pytest.raises(CapacityError, match=r"a batch of 99 systems, 792 atoms .*; about \d+ systems"):
        Batch([one] * 99, forcefield)


def test_triples_of_one_system_only():
    """Products of matrices join atoms of two systems, with a cutoff, too; each system needs three atoms."""
    three = Atoms("Ar3", [(0, 0, 0), (4, 0, 0), (2, 3, 0)])
    for cutoff in (None, 8.0):
        with pytest.raises(SettingsError, match="Axilrod-Teller would join the systems, and has no batches"):
            Batch([three, three], AxilrodTeller(nu=45.69, cutoff=cutoff, enumeration="matrix"))
    with pytest.raises(StructureError, match=r"system 1 \(counted from 0\): the structure has 2 atoms"):
        Batch([three, three[:2]], AxilrodTeller(nu=45.69, cutoff=8.0))


@pytest.mark.parametrize(
    "options", [{}, {"enumeration": "direct"}, {"cutoff": 7.0}], ids=["tiles", "direct", "cutoff"]
)
def test_all_triples_of_each_system(options):
    """Of systems of one tile and of several, in the places of the others: steps and the energy alone."""
    systems = []
    for n in (3, 70, 5, 150):
        points = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), -1).reshape(-1, 3)[:n]
        random = np.random.default_rng(n)
        atoms = Atoms(f"Ar{n}", 3.9 * points + random.uniform(-0.2, 0.2, (n, 3)))
        atoms.symbols[::3] = "Kr"
        systems.append(testing.with_velocities(atoms, 100.0, n))
    pairs = {"Ar": {"epsilon": 0.0104, "sigma": 3.4}, "Kr": {"epsilon": 0.014, "sigma": 3.6}}
    nu = {"Ar": 45.7, "Kr": 137.6, ("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.0}
    forcefield = LennardJones(cutoff=6.0, pairs=pairs) + AxilrodTeller(nu, **options)
    batch = Batch(systems, forcefield, backend="cpu")
    found = batch.energies()
    batch.advance(4, 4.0 * units.fs)
    for k, (member, atoms) in enumerate(zip(batch.members, systems, strict=True)):
        alone = Engine(atoms, forcefield, backend="cpu")
        assert found[k] == alone.systems.energies()[0]
        alone.advance(4, 4.0 * units.fs)
        np.testing.assert_array_equal(member.positions(), alone.positions())
        np.testing.assert_array_equal(member.forces(), alone.forces())
        one, other = member.evaluate(), alone.evaluate()
        assert one.energy == other.energy
        np.testing.assert_array_equal(one.virials, other.virials)
