"""Images that are evaluated in one launch, through ASE."""

import copy

import numpy as np
import pytest
from ase.build import bulk
from ase.mep import NEB
from ase.optimize import FIRE

from taichimd import BatchCalculators, TaichiMD, evaluate_many
from taichimd.core.errors import StructureError


def path(n):
    """A vacancy in silicon that moves to a neighbour's place."""
    crystal = bulk("Si", cubic=True).repeat(2)
    start, end = crystal.copy(), crystal.copy()
    del start[0]
    end.positions[1] = crystal.positions[0]
    del end[0]
    images = [start, *(start.copy() for _ in range(n - 2)), end]
    neb = NEB(images, method="improvedtangent")
    neb.interpolate()
    return neb


def test_a_neb_takes_one_launch_a_step_and_has_the_bits_of_single_calculators():
    one_by_one, together = path(5), path(5)
    for image in one_by_one.images:
        image.calc = TaichiMD("Si.sw")
    batch = BatchCalculators(together.images, "Si.sw")
    for neb in (one_by_one, together):
        with FIRE(neb, logfile=None) as optimizer:
            optimizer.run(fmax=1e-9, steps=4)
    assert batch.launches <= 6
    for one, other in zip(one_by_one.images, together.images, strict=True):
        np.testing.assert_array_equal(one.positions, other.positions)
        np.testing.assert_array_equal(one.get_forces(), other.get_forces())
        np.testing.assert_array_equal(one.get_stress(), other.get_stress())


def test_cells_copies_and_broken_images():
    images = [bulk("Si", a=a) for a in (5.3, 5.4, 5.5)]
    batch = BatchCalculators(images, "Si.sw")
    energies = [image.get_potential_energy() for image in images]
    assert energies == [one.energy for one in evaluate_many(images, "Si.sw")]
    images[1].set_cell(images[0].cell, scale_atoms=True)
    assert images[1].get_potential_energy() == energies[0]
    assert images[2].get_potential_energy() == energies[2]
    assert batch.launches == 2
    alone = copy.deepcopy(images[1].calc)
    other = images[2].copy()
    other.calc = alone
    assert other.get_potential_energy() == energies[2]
    assert batch.launches == 2
    images[0].positions[0] = np.nan
    with pytest.raises(StructureError, match=r"system 0 \(counted from 0\): the position of atom 0"):
        images[0].get_potential_energy()
    images[0].positions[0] = 0.0
    assert images[0].get_potential_energy() == energies[0]
