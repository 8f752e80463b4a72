"""Files of bonds and species that LAMMPS itself writes in a hot gas: molecules, species, reactions."""

from collections import Counter

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from peers import path_of

from taichimd import testing
from taichimd.estimators.bond_history import BondHistory, BondRule
from taichimd.estimators.molecules import count_formulas, molecules
from taichimd.estimators.reactions import find_reactions
from taichimd.io.lammps_bonds import BondReader, read_species
from taichimd.lammps.reaxff import lammps_reaxff_nve
from taichimd.lammps.reference import unique_elements

pytestmark = pytest.mark.lammps
STEPS, EVERY, TIMESTEP = 600, 25, 0.1


def hot_gas():
    """Dense hydrogen and oxygen that start with velocities of 12,000 K: molecules react within 0.1 ps."""
    gas = Atoms(cell=[8.0] * 3, pbc=True)
    for k, place in enumerate(np.ndindex(3, 3, 3)):
        one = molecule("O2" if k % 3 == 0 else "H2")
        one.rotate(40.0 * k, "x")
        one.translate(2.66 * np.array(place) + 1.3)
        gas += one
    return testing.with_velocities(gas, 12000.0, 3)


def test_what_lammps_writes_has_the_molecules_that_lammps_counts(tmp_path):
    gas = hot_gas()
    bonds, species = tmp_path / "bonds.reaxff", tmp_path / "species.out"
    elements = " ".join(unique_elements(gas))
    fixes = [
        f"fix bonds all reaxff/bonds 1 {bonds}",
        f"fix species all reaxff/species 1 1 {EVERY} {species} element {elements}",
    ]
    lammps_reaxff_nve(
        gas, path_of("CHO.ffield"), tolerance=1e-6, timestep=TIMESTEP, n_steps=STEPS, every=STEPS, fixes=fixes
    )
    steps, counts = read_species(species)
    reader = BondReader(bonds, "bonds")
    frames = list(reader.frames())
    assert reader.cutoff == 0.3
    assert [frame.step for frame in frames] == [*range(STEPS + 1)]
    theirs = dict(zip(steps, counts, strict=True))
    symbols = gas.get_chemical_symbols()
    history, compared, seen = BondHistory(len(gas), BondRule(0.3, 0.3, 0.0)), 0, Counter()
    for frame in frames:
        history.add(1e-3 * TIMESTEP * frame.step, frame.i, frame.j, frame.order)
        found = count_formulas(symbols, molecules(len(gas), frame.i, frame.j))
        # LAMMPS counts species when atoms have moved and forces are those of the step before.
        if frame.step + 1 in theirs:
            assert +found == +theirs[frame.step + 1]
            compared += 1
        seen |= found
    assert compared == len(steps) - 1 == STEPS // EVERY
    assert len(seen) > 3, "there are products"
    assert len(find_reactions(history, symbols).events) > 3
