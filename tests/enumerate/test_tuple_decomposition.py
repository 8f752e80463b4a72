"""Tuple decomposition: the same sums as particle decomposition, over lists made on the device."""

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse

from taichimd import Vashishta, testing
from taichimd.core import memory, runtime
from taichimd.core.errors import CapacityError, SettingsError
from taichimd.ensembles.registry import BerendsenNPT, Bussi, Langevin
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.load import load_forcefield
from taichimd.neighbours.tuple_room import TupleRoom
from taichimd.program.decomposition import DECOMPOSITIONS, TUPLE_PAIRS
from taichimd.program.engine import Engine
from taichimd.system.state import State

ARGON = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
SHORT = {**ANGLE_VALUES, "cutoff": 3.0}
"""Ends so much before the pair term that it has lists of its own."""
BOTH = morse(**MORSE_VALUES) + angle(**SHORT)
FORCEFIELDS = {
    "pairs": lambda: ARGON,
    "triplets": lambda: angle(**ANGLE_VALUES),
    "pairs and short triplets": lambda: BOTH,
    "pairs and triplets": lambda: morse(**{**MORSE_VALUES, "cutoff": 4.0}) + angle(**ANGLE_VALUES),
    "tersoff": lambda: load_forcefield("Si_1989.tersoff"),
    "tersoff, two elements": lambda: load_forcefield("SiC_1989.tersoff"),
    "stillinger-weber": lambda: load_forcefield("Si.sw"),
    "silica": lambda: Vashishta("SiO2_1990.vashishta"),
    "carbide": lambda: Vashishta("SiC_2007.vashishta"),
}
SAME_BITS = (
    "pairs", "triplets", "pairs and short triplets", "tersoff", "tersoff, two elements", "carbide",
)  # fmt: skip
"""Of the others, particle decomposition adds up differently: moments; pair and triplets in one force."""


def argon():
    return testing.with_velocities(bulk("Ar", cubic=True, a=5.5).repeat(3), 300.0, 1)


STRUCTURES = {
    "pairs": (argon,),
    "tersoff, two elements": (testing.silicon_carbide_512,),
    "carbide": (testing.silicon_carbide_512,),
    "silica": (testing.silica_hot, testing.silica_triclinic, testing.silica_cluster),
}
SILICON = (
    testing.silicon_216, testing.silicon_triclinic, testing.silicon_cluster, testing.silicon_slab,
    testing.silicon_primitive_displaced,
)  # fmt: skip


def both(atoms, forcefield, **settings):
    return [Engine(atoms, forcefield, decomposition=d, **settings) for d in ("particle", "tuple")]


@pytest.mark.parametrize("name", FORCEFIELDS)
def test_energies_forces_and_virials_are_those_of_particle_decomposition(name):
    for structure in STRUCTURES.get(name, SILICON):
        particle, tuple_ = (engine.evaluate() for engine in both(structure(), FORCEFIELDS[name]()))
        for what in ("energy", "energies", "forces", "virials"):
            one, other = np.asarray(getattr(particle, what)), np.asarray(getattr(tuple_, what))
            if name in SAME_BITS:
                assert np.array_equal(one, other), (structure.__name__, what)
            else:
                assert one == pytest.approx(other, rel=1e-12, abs=1e-12 * np.abs(one).max())


ENSEMBLES = {
    "nve": None,
    "langevin": Langevin(300.0, coupling_time=50.0, seed=3),
    "bussi": Bussi(300.0, coupling_time=50.0, seed=3),
    "berendsen": BerendsenNPT(300.0, coupling_time=50.0, pressure=0.3, bulk_modulus=3.0, period=7),
}


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("pairs", "nve"),
        ("pairs", "bussi"),
        ("pairs and short triplets", "langevin"),
        ("pairs and short triplets", "berendsen"),
    ],
)
def test_steps_have_the_bits_of_particle_decomposition(case, name):
    atoms = argon() if case == "pairs" else testing.with_velocities(testing.silicon_216(), 900.0, 2)
    engines = both(atoms, FORCEFIELDS[case](), ensemble=ENSEMBLES[name])
    for engine in engines:
        engine.advance(60, 2.0 * units.fs)
        engine.advance(1, 2.0 * units.fs)
    one, other = ([e.positions(), e.velocities(), e.forces(), e.cell] for e in engines)
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert np.abs(one[0] - atoms.positions).max() > 0.3


@pytest.mark.parametrize("name", ["stillinger-weber", "silica"])
def test_bits_depend_neither_on_lists_nor_on_calls(name):
    atoms = testing.silicon_216() if name != "silica" else testing.silica_192()
    testing.with_velocities(atoms, 1500.0, 4)
    found = []
    for skin, calls in ((None, [40]), (0.3, [40]), (1.5, [1, 2, 37])):
        engine = Engine(atoms, FORCEFIELDS[name](), skin=skin, decomposition="tuple")
        for steps in calls:
            engine.advance(steps, units.fs)
        found.append([engine.positions(), engine.velocities(), engine.forces()])
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_single_precision_takes_the_same_way(precision):
    atoms = testing.silica_192()
    one, other = (e.evaluate() for e in both(atoms, FORCEFIELDS["silica"](), precision=precision))
    assert np.abs(one.forces - other.forces).max() < 1e-4 * np.abs(one.forces).max()
    double = Engine(atoms, FORCEFIELDS["silica"](), decomposition="tuple").evaluate()
    assert 0.0 < np.abs(double.forces - other.forces).max() < 1e-3 * np.abs(double.forces).max()


def brute_force(atoms, forcefield):
    """Pairs within the cutoff, each once, and triplets of a centre within that of the angles."""
    reach, rows = forcefield.cutoff, forcefield.terms[-1].table.rows
    images = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 3, indexing="ij"), -1).reshape(-1, 3) @ atoms.cell[:]
    pairs = triplets = 0
    for i in range(len(atoms)):
        d = (atoms.positions - atoms.positions[i])[:, None, :] + images[None]
        r = np.linalg.norm(d, axis=2)
        pairs += int(((r > 0) & (r < reach)).sum())
        near = [(atoms.symbols[j], r[j, t]) for j, t in zip(*np.nonzero((r > 0) & (r < 3.0)), strict=True)]
        for a in range(len(near)):
            for (b, r_b), (c, r_c) in ((near[a], other) for other in near[a + 1 :]):
                ends = rows[atoms.symbols[i], b, c]["cutoff"], rows[atoms.symbols[i], c, b]["cutoff"]
                triplets += r_b < ends[0] and r_c < ends[1]
    return pairs // 2, triplets


def test_lists_hold_each_tuple_once():
    atoms = testing.silica_triclinic()
    forcefield = FORCEFIELDS["silica"]()
    engine = Engine(atoms, forcefield, skin=0.005, decomposition="tuple")
    engine.evaluate()
    found = engine.statistics()
    pairs, triplets = brute_force(atoms, forcefield)
    assert triplets > 20
    assert (found["pairs"], found["triplets"]) == (pairs, triplets)
    assert found["tuple_memory_bytes"] > 36 * pairs


def test_lists_grow_in_the_middle_of_a_run():
    """A cluster that is squeezed: many more pairs within the cutoff than when room was made."""
    crystal = bulk("Ar", cubic=True, a=7.0).repeat(3)
    atoms = Atoms(crystal.symbols, crystal.positions - crystal.positions.mean(axis=0))
    atoms.set_velocities(-0.006 * atoms.positions)
    engines = both(atoms, ARGON)
    before = 0
    for engine in engines:
        engine.evaluate()
        before = engine.statistics().get("pairs")
        engine.advance(250, 2.0 * units.fs)
    assert engines[1].statistics()["pairs"] > 1.5 * before
    assert np.array_equal(engines[0].positions(), engines[1].positions())


def test_a_list_that_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 2**20)
    with pytest.raises(
        CapacityError, match=r"a list of \d+ pairs and \d+ triplets of 192 atoms .*does not fit"
    ) as error:
        Engine(testing.silica_192(), FORCEFIELDS["silica"](), decomposition="tuple").evaluate()
    assert "use decomposition 'particle'" in str(error.value)


def test_counts_beyond_32_bits_are_known():
    runtime.start()
    state = State(np.zeros(3, np.int32), np.ones(3), "float64")
    room = TupleRoom(state, present=True)
    counts = np.array([7, 0, 5, 14, 0, 10, 2**31 - 9, 2**31 - 5, 11])
    sums = np.concatenate([[0], np.cumsum(counts)]) % 2**32
    firsts = room.firsts.to_numpy()
    firsts[: len(sums)] = sums.astype(np.uint32).view(np.int32)
    room.firsts.from_numpy(firsts)
    assert room.counts() == (12, counts[6:].sum())
    with pytest.raises(CapacityError, match="12 pairs and 4294967293 triplets"):
        room.grow()


def test_wrong_decompositions_are_refused():
    with pytest.raises(
        SettingsError, match="decomposition is 'atoms', expected one of particle, tuple, auto"
    ):
        Engine(argon(), ARGON, decomposition="atoms")
    pairs = LennardJones(**testing.ARGON, cutoff=6.0, enumeration="all-pairs")
    with pytest.raises(SettingsError, match="needs neighbour lists"):
        Engine(argon(), pairs, decomposition="tuple")
    assert Engine(argon(), pairs).decomposition == "particle"


def test_the_default_has_the_bits_of_particle_decomposition():
    """Whatever it chooses on this backend: else backends would differ."""
    atoms = testing.with_velocities(testing.silica_192(), 1500.0, 4)
    engines = [Engine(atoms, FORCEFIELDS["silica"](), decomposition=d) for d in ("auto", "particle")]
    for engine in engines:
        engine.advance(30, units.fs)
    assert [engine.decomposition for engine in engines] == [TUPLE_PAIRS, "particle"]
    assert np.array_equal(engines[0].positions(), engines[1].positions())
    assert engines[0].statistics()["pairs"] > 0 == engines[0].statistics()["triplets"]


@pytest.mark.parametrize("decomposition", DECOMPOSITIONS)
def test_one_atom_has_no_tuples(decomposition):
    found = Engine(Atoms("Ar"), ARGON, decomposition=decomposition).evaluate()
    assert found.energy == 0.0
    assert not found.forces.any()
