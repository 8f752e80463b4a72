"""Chains whose systems share a device: each has the bits that it has in a group of one."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import AxilrodTeller, LennardJones, load_forcefield, testing
from taichimd.core.errors import CapacityError
from taichimd.sampling.chain import MonteCarlo
from taichimd.sampling.sweep import ChainGroup
from taichimd.sampling.tempering import Chains, can_share, share

ARGON = LennardJones(**testing.ARGON, cutoff=6.0)
PAIRS = {"Ar": {"epsilon": 0.0104, "sigma": 3.4}, "Kr": {"epsilon": 0.014, "sigma": 3.6}}
MIXED = {"Ar": 45.7, "Kr": 137.6, ("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.0}
"""Of argon and krypton: of pairs, and strengths of triples."""
TEMPERATURES = (80.0, 120.0, 300.0)


def argon():
    atoms = bulk("Ar", cubic=True, a=5.5).repeat(2)
    atoms.rattle(0.1, seed=1)
    return atoms


def ladder(atoms, potential, **options):
    given = {"kind": "all", "move": 0.05, "volume_move": 0.02, "equilibration": 30, **options}
    return [
        MonteCarlo(atoms, potential, temperature=t, seed=k + 5, **given) for k, t in enumerate(TEMPERATURES)
    ]


def assert_same(found, expected):
    np.testing.assert_array_equal(found.positions(), expected.positions())
    np.testing.assert_array_equal(found.cell, expected.cell)
    assert found.bath_state() == expected.bath_state()
    assert found.step == expected.step
    assert found.thermo().pressure == expected.thermo().pressure


@pytest.mark.parametrize("pressure", [None, 0.05])
def test_each_chain_has_the_bits_that_it_has_alone(pressure):
    together, alone = (ladder(argon(), ARGON, pressure=pressure) for _ in range(2))
    assert can_share(together)
    chains = Chains(together)
    for sweeps in (33, 28):
        chains.advance(sweeps)
        for one in alone:
            one.advance(sweeps)
    for found, expected in zip(together, alone, strict=True):
        assert 0 < found.moves.accepted < found.moves.tried
        assert pressure is None or 0 < found.volume_moves.accepted < found.volume_moves.tried
        assert_same(found, expected)


@pytest.mark.parametrize("precision", ["float64", "mixed", "float32"])
def test_exchanges_and_states_from_outside(precision, monkeypatch):
    """Configurations that change between sweeps of all are those that the next ones start from."""
    found = []
    for together in (True, False):
        monkeypatch.setattr("taichimd.sampling.tempering.can_share", lambda chains, yes=together: yes)
        rungs = ladder(argon(), ARGON, pressure=0.05, precision=precision)
        chains = Chains(rungs, exchange=4)
        chains.advance(18)
        rungs[1].set_state(positions=rungs[0].positions(), cell=rungs[0].cell)
        chains.advance(13)
        found.append(rungs)
    assert sum(one.exchanges.accepted for one in found[0]) > 0
    for together, alone in zip(*found, strict=True):
        assert_same(together, alone)


def test_trials_that_leave_the_walls():
    """Of a cell that is not periodic, whose faces are walls."""
    atoms = bulk("Si", cubic=True)
    atoms.positions += 0.5
    atoms.pbc = False
    potential, options = load_forcefield("Si.sw"), {"pressure": 1.0, "move": 0.2, "volume_move": 0.1}
    together, alone = (ladder(atoms, potential, **options) for _ in range(2))
    Chains(together).advance(60)
    for found, expected in zip(together, alone, strict=True):
        expected.advance(60)
        assert_same(found, expected)


def drop(n, side=15.0):
    """Atoms near the points of a lattice, between walls."""
    points = np.stack(np.meshgrid(*[np.arange(side // 4)] * 3, indexing="ij"), -1).reshape(-1, 3)[:n]
    return Atoms(f"Ar{n}", 3.7 * points + 2.0, cell=[side] * 3)


TRIPLES = {
    "cutoff": (argon, {"cutoff": 5.0}, {"pressure": 0.05}),
    "all": (lambda: drop(27), {}, {"pressure": 0.05, "volume_move": 0.2}),
    "direct": (lambda: drop(27), {"enumeration": "direct"}, {}),
}


@pytest.mark.parametrize("case", TRIPLES)
def test_axilrod_teller_has_the_bits_that_it_has_alone(case):
    """With exchanges of positions, cells, energies and their homogeneous part, and with a restart."""
    structure, limits, options = TRIPLES[case]
    forcefield, found = ARGON + AxilrodTeller(nu=45.69, **limits), []
    for together in (True, False):
        rungs = ladder(structure(), forcefield, **options)
        assert can_share(rungs)
        chains = Chains(rungs, exchange=4)
        chains._one_group = together
        chains.advance(10)
        if together:
            states = [
                {"positions": one.positions(), "cell": one.cell, "step": one.step, "bath": one.bath_state()}
                for one in rungs
            ]
            rungs = ladder(structure(), forcefield, **options)
            for one, state in zip(rungs, states, strict=True):
                one.set_state(**state)
            chains = Chains(rungs, exchange=4)
        chains.advance(15)
        found.append(rungs)
    assert sum(one.moves.accepted for one in found[0]) > 0
    for together, alone in zip(*found, strict=True):
        assert_same(together, alone)


def test_chains_of_other_sizes():
    """Of one tile and of two, with other temperatures, step sizes and seeds."""
    forcefield, found = ARGON + AxilrodTeller(nu=45.69), []
    for _ in range(2):
        found.append(
            [
                MonteCarlo(drop(n, 20.0), forcefield, temperature=t, seed=n, kind="all", move=0.3 / n)
                for n, t in ((20, 80.0), (90, 300.0), (3, 150.0))
            ]
        )
    assert can_share(found[0])
    Chains(found[0]).advance(12)
    for together, alone in zip(*found, strict=True):
        alone.advance(12)
        assert 0 < alone.moves.accepted
        assert_same(together, alone)


@pytest.mark.parametrize("mixed", [False, True])
def test_single_moves_in_sequence_have_the_bits_that_they_have_alone(mixed):
    """Of several sizes, with fixed atoms, exchanges of two chains and a restart of all."""
    forcefield, sizes = ARGON + AxilrodTeller(nu=45.69), (3, 40, 40, 21)
    if mixed:
        forcefield = LennardJones(cutoff=6.0, pairs=PAIRS) + AxilrodTeller(MIXED)

    def made():
        for k, n in enumerate(sizes):
            atoms = drop(n, 20.0)
            if mixed:
                atoms.symbols[::3] = "Kr"
            yield MonteCarlo(
                atoms, forcefield, temperature=90.0 + 60.0 * k, seed=k + 3, kind="single", move=0.3 + 0.1 * k,
                equilibration=10, fixed=np.arange(n) % 7 == 1 if n == 40 else None,
            )  # fmt: skip

    together, alone = list(made()), list(made())
    assert can_share(together)
    Chains(together).advance(6)
    states = [{"positions": one.positions(), "step": one.step, "bath": one.bath_state()} for one in together]
    together = list(made())
    for one, state in zip(together, states, strict=True):
        one.set_state(**state)
    chains = Chains(together)
    for one in alone:
        one.advance(6)
    for rungs in (together, alone):
        rungs[1].swap(rungs[2])
    chains.advance(7)
    for found, expected in zip(together, alone, strict=True):
        expected.advance(7)
        assert 0 < expected.moves.accepted < expected.moves.tried
        assert_same(found, expected)


def slab():
    atoms = bulk("Ar", cubic=True, a=5.5).repeat((3, 2, 2))
    atoms.pbc = (True, False, True)
    return atoms


def mixture():
    atoms = argon()
    atoms.symbols[::3] = "Kr"
    return atoms


BOARDS = {
    "pressure": ([argon, lambda: bulk("Ar", cubic=True, a=5.5).repeat((2, 3, 5))], ARGON, {"pressure": 0.05}),
    "open": ([lambda: drop(60, 20.0), slab, argon], ARGON, {}),
    "triples": (
        [mixture, lambda: mixture().repeat((2, 1, 1))],
        LennardJones(cutoff=5.0, pairs=PAIRS) + AxilrodTeller(MIXED, cutoff=5.0, product_cutoff=4.8),
        {"precision": "mixed"},
    ),
    # The first atom sees its own image, and has a full evaluation for each move.
    "narrow": ([lambda: bulk("Ar", cubic=True, a=5.5), argon], ARGON, {"pressure": 0.05}),
}


@pytest.mark.parametrize("case", BOARDS)
def test_single_moves_on_boards_have_the_bits_that_they_have_alone(case):
    """Of several sizes and cells, temperatures and step sizes; with a restart."""
    structures, forcefield, options = BOARDS[case]

    def made():
        return [
            MonteCarlo(
                structure(), forcefield, temperature=90.0 + 60.0 * k, seed=k + 3, kind="single",
                move=0.3 + 0.1 * k, volume_move=0.02, equilibration=8, **options,
            )
            for k, structure in enumerate(structures)
        ]  # fmt: skip

    together, alone = made(), made()
    assert can_share(together)
    Chains(together).advance(5)
    again = made()
    for one, other in zip(again, together, strict=True):
        state = {"positions": other.positions(), "cell": other.cell, "bath": other.bath_state()}
        one.set_state(**state, step=other.step)
    Chains(again).advance(6)
    for found, expected in zip(again, alone, strict=True):
        expected.advance(11)
        assert 0 < expected.moves.accepted < expected.moves.tried
        assert_same(found, expected)


def test_single_moves_out_of_a_rough_start():
    """Where sums are out of range, only an evaluation tells the energy."""
    close = Atoms("Ar4", positions=[[0, 0, 0], [0.5, 0, 0], [4, 0, 0], [0, 4, 0]])
    forcefield, options = ARGON + AxilrodTeller(nu=45.69), {"kind": "single", "move": 2.0, "seed": 4}
    together, alone = (
        [MonteCarlo(atoms, forcefield, temperature=80.0, **options) for atoms in (drop(5), close)]
        for _ in range(2)
    )
    assert alone[1].energy > 1e6
    Chains(together).advance(30)
    for found, expected in zip(together, alone, strict=True):
        expected.advance(30)
        assert expected.energy < 1.0
        assert_same(found, expected)


def test_atoms_that_do_not_repel_each_other_are_evaluated_of_their_chain_alone():
    """Where an energy of triples is out of range, as it is alone."""
    close = drop(27)
    close.positions[1:3] = close.positions[0] + [[0.05, 0.0, 0.0], [0.0, 0.05, 0.0]]
    forcefield = ARGON + AxilrodTeller(nu=45.69)
    together, alone = (
        [
            MonteCarlo(atoms, forcefield, temperature=80.0, kind="all", move=0.01)
            for atoms in (drop(27), close)
        ]
        for _ in range(2)
    )
    assert abs(alone[1].energy) > 1e6
    Chains(together).advance(4)
    for found, expected in zip(together, alone, strict=True):
        expected.advance(4)
        assert_same(found, expected)


def test_which_chains_can_share_a_device():
    pairs = ladder(argon(), ARGON)
    assert not can_share(pairs[:1])
    assert not can_share([pairs[0], MonteCarlo(argon(), ARGON, temperature=80.0, kind="single")])
    assert not can_share([pairs[0], MonteCarlo(argon(), ARGON, temperature=80.0, kind="all", pressure=0.1)])
    other = LennardJones(**testing.ARGON, cutoff=5.9)
    assert not can_share([pairs[0], MonteCarlo(argon(), other, temperature=80.0, kind="all")])
    by_products = AxilrodTeller(nu=45.69, enumeration="matrix")
    assert not can_share(ladder(drop(27), ARGON + by_products))


def test_atoms_on_top_of_each_other_are_refused_of_their_chain_alone():
    chains = ladder(argon(), ARGON)
    share(chains)
    sweep, batch = chains[0].group, chains[0].group.systems
    before = [member.positions() for member in batch.members]
    sweep._propose(sweep.kernels.displace, 0, -1)
    close = before[1].copy()
    close[3] = close[0] + [1e-3, 0.0, 0.0]
    batch.set_vectors("pos", {**dict(enumerate(before)), 1: close})
    found = sweep._trial_energies((), [None] * 3, {})
    assert [np.isinf(energy) for energy, _ in found] == [False, True, False]
    assert (found[0][0], found[2][0]) == (chains[0].energy, chains[2].energy)
    np.testing.assert_array_equal(batch.members[1].positions(), before[1])


def test_after_an_error_chains_are_where_they_were(monkeypatch):
    """And continue from there with the bits of chains without one."""
    together, alone = (ladder(argon(), ARGON, pressure=0.05) for _ in range(2))
    chains, left = Chains(together), iter(range(30))
    chains.advance(9)
    fine = ChainGroup._trial_energies

    def failing(self, *given):
        if next(left) == 15:
            raise MemoryError
        return fine(self, *given)

    with monkeypatch.context() as full:
        full.setattr(ChainGroup, "_trial_energies", failing)
        with pytest.raises(MemoryError):
            chains.advance(20)
    assert [one.step for one in together] == [9, 9, 9]
    chains.advance(20)
    for found, expected in zip(together, alone, strict=True):
        expected.advance(29)
        assert_same(found, expected)


def test_chains_that_do_not_fit_together_go_on_one_after_the_other(monkeypatch):
    def too_many(chains):
        raise CapacityError("a batch of 3 systems does not fit")

    together, alone = (ladder(argon(), ARGON) for _ in range(2))
    monkeypatch.setattr("taichimd.sampling.tempering.share", too_many)
    Chains(together).advance(5)
    for found, expected in zip(together, alone, strict=True):
        expected.advance(5)
        assert_same(found, expected)


def test_a_chain_leaves_its_group_and_comes_back():
    """Calls of a chain between calls of all."""
    together, alone = (ladder(argon(), ARGON, pressure=0.05) for _ in range(2))
    chains = Chains(together)
    for one in together:
        one.set_state(velocities=np.arange(96.0).reshape(32, 3))
    chains.advance(5)
    for one in together:
        one.advance(3)
    chains.advance(4)
    assert len({one.group for one in together}) == 1
    for found, expected in zip(together, alone, strict=True):
        expected.advance(12)
        assert_same(found, expected)
        np.testing.assert_array_equal(found.velocities(), np.arange(96.0).reshape(32, 3))


def test_single_moves_with_full_evaluations():
    """Of chains of several sizes."""
    silicon = bulk("Si", cubic=True)
    structures = silicon, silicon.repeat((2, 1, 1))
    held = np.arange(8) == 2, None
    together, alone = (
        [
            MonteCarlo(atoms, "Si.sw", temperature=600.0, kind="single", move=0.1, fixed=fixed, seed=3)
            for atoms, fixed in zip(structures, held, strict=True)
        ]
        for _ in range(2)
    )
    Chains(together).advance(2)
    for found, expected in zip(together, alone, strict=True):
        expected.advance(2)
        assert 0 < expected.moves.accepted
        assert_same(found, expected)
