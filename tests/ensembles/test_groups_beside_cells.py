"""Langevin baths of groups beside barostats and deformations: no-op, energy, bits, what is refused."""

import numpy as np
import pytest
from ase import units
from barostat_engines import SMOOTH, argon

from taichimd import (
    Batch,
    Berendsen,
    BerendsenCell,
    Bussi,
    Deform,
    Engine,
    Langevin,
    LennardJones,
    NoseHoover,
    Source,
    combine,
)
from taichimd.core.errors import SettingsError
from taichimd.ensembles.groups.given import group_baths
from taichimd.system.groups import Groups

pytestmark = pytest.mark.once

FORCEFIELD, DT = LennardJones(**SMOOTH), 2.0 * units.fs
LEFT, RIGHT, ALL = np.arange(0, 40), np.arange(60, 100), np.arange(108)
SIDES = BerendsenCell(
    control="orthorhombic", axes="yz", pressure_coupling_time=300.0, bulk_modulus=3.0, period=5
)
SHEARED = Deform(xy=2e11)


def baths(*acting):
    return group_baths(acting, Groups(argon()))[0]


def two(first=60.0):
    return baths(Langevin(first, 200.0, on=LEFT, seed=1), Langevin(120.0, 200.0, on=RIGHT, seed=2))


def started(ensemble, acting=None):
    return Engine(argon(shear=False), FORCEFIELD, ensemble=ensemble, acting=acting)


def assert_same(one, other):
    np.testing.assert_array_equal(one.positions(), other.positions())
    np.testing.assert_array_equal(one.velocities(), other.velocities())
    np.testing.assert_array_equal(one.cell, other.cell)


@pytest.mark.long
@pytest.mark.parametrize("motion", [(SIDES, Deform(x=3e10)), (SHEARED,)])
def test_a_bath_of_all_atoms_in_a_group_has_the_bits_of_the_bath_of_the_system(motion):
    bath = {"temperature": 90.0, "coupling_time": 200.0, "seed": 7}
    whole = started(combine(Langevin(**bath), *motion))
    group = started(combine(None, *motion), baths(Langevin(**bath, on=ALL)))
    for one in (whole, group):
        one.advance(60, DT)
    assert_same(whole, group)
    assert sum(group.heats().values()) != 0.0
    assert group.thermo().conserved == pytest.approx(whole.thermo().conserved, abs=1e-9)


@pytest.mark.long
def test_two_baths_beside_a_deformation_conserve_energy_and_a_restart_has_the_bits():
    ensemble = combine(None, Deform(x=5e10, xy=5e10, remap="positions", period=5))
    whole = started(ensemble, two())
    kept = [whole.thermo().conserved]
    for _ in range(10):
        whole.advance(20, DT)
        kept.append(whole.thermo().conserved)
    heats = np.abs(list(whole.heats().values()))
    assert heats.max() > 0.1
    assert heats.min() > 0.01
    assert np.ptp(kept) < 0.05 * heats.max()
    part, again = started(ensemble, two()), started(ensemble, two())
    part.advance(87, DT)
    again.set_state(
        positions=part.folded_positions(), turns=part.turns, velocities=part.velocities(),
        forces=part.forces(), step=part.step, bath=part.bath_state(),
    )  # fmt: skip
    again.advance(113, DT)
    assert_same(again, whole)
    assert again.bath_state() == whole.bath_state()


@pytest.mark.long
def test_each_system_of_a_batch_has_its_own_groups_and_the_bits_that_it_has_alone():
    ensemble = combine(None, SIDES, Deform(x=3e10))
    acting = [two(), baths(Langevin(90.0, 200.0, on=RIGHT, seed=3))]
    batch = Batch([argon(shear=False)] * 2, FORCEFIELD, ensembles=ensemble, acting=acting)
    batch.advance(60, DT)
    for own, member in zip(acting, batch.members, strict=True):
        alone = started(ensemble, own)
        alone.advance(60, DT)
        assert_same(member, alone)
        assert member.heats() == alone.heats()


def test_what_does_not_go_together_is_said():
    rescaling = [kind(90.0, on=LEFT) for kind in (Bussi, Berendsen, NoseHoover)] + [Source(0.1, on=LEFT)]
    motions = {
        "the ensemble nph-berendsen": (SIDES,),
        "a deformation": (SHEARED,),
        "a deformation ": (SIDES, Deform(x=3e10)),
    }
    for one in rescaling:
        for name, motion in motions.items():
            with pytest.raises(SettingsError) as caught:
                started(combine(None, *motion), baths(one))
            assert str(caught.value) == (
                f"the bath group1 rescales velocities, and {name.strip()} moves the cell with the kinetic "
                "energy of the same moment; give groups Langevin baths beside a barostat or a deformation"
            )
    with pytest.raises(SettingsError, match=r"has a thermostat of all atoms.*choose nve$"):
        started(combine(Bussi(90.0), SHEARED), baths(Langevin(90.0, on=LEFT)))
    with pytest.raises(SettingsError, match=r"has a thermostat of all atoms.*choose nph-berendsen"):
        started(combine(Bussi(90.0), SIDES), baths(Langevin(90.0, on=LEFT)))
