"""Likewise (`bit_runs`): charges, Markov chains, batches and triples."""

import numpy as np
from ase import units
from ase.build import bulk

from taichimd import testing
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.engine import Engine


def reaxff():
    """Charges from a cold and from a warm start, and nonbonded terms, of 14 atoms in a small cell."""
    from reaxff_systems import NonbondedBench, box

    bench = NonbondedBench(box())
    found = [bench.charges_of(stepping) for stepping in (False, True)]
    bench.move(0.01)
    found += [bench.charges_of(True), *vars(bench.evaluate()).values()]
    tabulated = NonbondedBench(box(), intervals=1000)
    tabulated.charges_of()
    return [*found, *vars(tabulated.evaluate()).values()]


def reaxff_steps():
    """Hot Si, O and H with all terms of ReaxFF, three steps; rows of bonds grow at the start."""
    from reaxff_samples import silica_with_hydrogen

    from taichimd.forcefields.reaxff.forcefield import ReaxFF

    engine = Engine(silica_with_hydrogen(), ReaxFF("SiO.ffield"), backend="cpu")
    engine.advance(3, 0.1 * units.fs)
    found = engine.evaluate()
    return [engine.positions(), engine.velocities(), found.forces, found.energies, found.virials]


SINGLE, ALL, WITHOUT_CUTOFF = (5, "single", 0.3, 5.0), (5, "all", 0.01, 5.0), (3, "all", 0.01, None)
ONE_BY_ONE = 3, "single", 0.3, None


def monte_carlo(*chains, enumeration="all-triples"):
    """Moves of single atoms, of all atoms and of the volume, of argon with triples, and with all triples."""
    from taichimd import AxilrodTeller
    from taichimd.sampling.chain import MonteCarlo

    pairs, found = LennardJones(**testing.ARGON, cutoff=6.0), []
    for cells, kind, move, cutoff in chains:
        atoms = bulk("Ar", cubic=True, a=5.6).repeat(cells)
        atoms.rattle(0.3, seed=2)
        atoms.pbc = cutoff is not None
        chain = MonteCarlo(
            atoms, pairs + AxilrodTeller(nu=45.69, cutoff=cutoff, enumeration=enumeration), temperature=90.0,
            pressure=None if cutoff is None else 0.01, kind=kind, move=move, backend="cpu",
        )  # fmt: skip
        chain.advance(20)
        found += [chain.positions(), chain.cell, np.array([chain.energy, chain.moves.accepted])]
    return found


def single_moves_together():
    """Moves of single atoms of two chains in one launch: among all triples, and on boards."""
    from taichimd import AxilrodTeller
    from taichimd.sampling.chain import MonteCarlo
    from taichimd.sampling.tempering import Chains

    pairs, found = LennardJones(**testing.ARGON, cutoff=5.0), []
    for cutoff in (None, 5.0):
        chains = []
        for k, cells in enumerate(((1, 2, 2), (2, 2, 3))):
            atoms = bulk("Ar", cubic=True, a=5.6).repeat(cells)
            atoms.rattle(0.3, seed=2)
            atoms.pbc = cutoff is not None
            forcefield = pairs + AxilrodTeller(nu=45.69, cutoff=cutoff, enumeration="direct")
            options = {"temperature": 90.0 + 90.0 * k, "kind": "single", "move": 0.3, "seed": k}
            chains.append(MonteCarlo(atoms, forcefield, **options, backend="cpu"))
        Chains(chains).advance(5)
        found += [a for one in chains for a in (one.positions(), np.array([one.energy, one.moves.accepted]))]
    return found


def batch():
    """Hot argon and a thin cell of it, each with a thermostat, in one launch."""
    from taichimd.program.batch import Batch

    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    systems = [testing.argon_256(), bulk("Ar", cubic=True, a=5.5)]
    systems = [testing.with_velocities(atoms, 600.0, seed) for seed, atoms in enumerate(systems)]
    many = Batch(systems, forcefield, backend="cpu")
    many.advance(100, 4.0 * units.fs)
    return [a for one in many.members for a in (one.positions(), one.velocities(), one.forces())]


def triangles():
    """Triples within a cutoff: rows of more than 32 entries, and atoms that meet their own images."""
    from taichimd import AxilrodTeller

    nu, found = {"Ar": 45.7, "Kr": 137.6, ("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.0}, []
    pairs = LennardJones(cutoff=6.0, pairs={name: {"epsilon": 0.0104, "sigma": 3.4} for name in ("Ar", "Kr")})
    for cells, limits in ((3, {"cutoff": 9.0}), (1, {"cutoff": 7.0, "product_cutoff": 6.0})):
        atoms = bulk("Ar", cubic=True, a=5.4).repeat(cells)
        atoms.rattle(0.1, seed=6)
        atoms.symbols[::3] = "Kr"
        moving = testing.with_velocities(atoms, 100.0, 6)
        engine = Engine(moving, pairs + AxilrodTeller(nu, **limits), backend="cpu")
        engine.advance(20, 4.0 * units.fs)
        alone = np.array([engine.systems.energies()[0][0]])
        now = engine.evaluate()
        found += [engine.positions(), now.forces, now.energies, now.virials, alone]
    return found


def batch_npt():
    """Argon in two cells of other shapes, each with a barostat; lists are built between."""
    from taichimd.ensembles.registry import StochasticCellRescaling
    from taichimd.program.batch import Batch

    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    systems = [bulk("Ar", cubic=True, a=5.5).repeat(cells) for cells in ((3, 3, 3), (1, 1, 2))]
    systems = [testing.with_velocities(atoms, 300.0, seed) for seed, atoms in enumerate(systems)]
    baths = [
        StochasticCellRescaling(
            300.0, coupling_time=50.0, pressure=0.2 * k, pressure_coupling_time=300.0, bulk_modulus=3.0,
            control="triclinic", period=2, seed=k + 1,
        )
        for k in range(2)
    ]  # fmt: skip
    many = Batch(systems, forcefield, backend="cpu", ensembles=baths)
    many.advance(100, 4.0 * units.fs)
    return [a for one in many.members for a in (one.positions(), one.velocities(), one.forces(), one.cell)]


def all_triples():
    """Energy, forces and virials of Axilrod-Teller over all triples of 72 atoms."""
    from taichimd import AxilrodTeller, triple_energy

    atoms = bulk("Ar", cubic=True, a=5.4).repeat((3, 3, 2))
    atoms.rattle(0.2, seed=4)
    atoms.pbc = False
    found = Engine(atoms, AxilrodTeller(nu=45.69), backend="cpu").evaluate()
    energy = triple_energy(atoms, AxilrodTeller(nu=45.69), backend="cpu")
    return [np.array([energy, found.energy]), found.forces, found.virials]
