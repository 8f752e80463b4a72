"""Baths of groups beside barostats and deformations: no-op, energy, bits, what is refused."""

from dataclasses import replace

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

FORCEFIELD, DT = LennardJones(**SMOOTH), 2.0 * units.fs
LEFT, RIGHT, ALL, MIDDLE = np.arange(0, 40), np.arange(60, 100), np.arange(108), np.arange(45, 55)
SIDES = BerendsenCell(
    control="orthorhombic", axes="yz", pressure_coupling_time=300.0, bulk_modulus=3.0, period=5
)
SHEARED = Deform(xy=2e11)


def baths(*acting):
    return group_baths(acting, Groups(argon()))[0]


def mixed(left=LEFT, right=RIGHT):
    """Baths of all kinds: two that rescale, one of each atom, and constant power."""
    return baths(
        Bussi(60.0, 200.0, on=left, seed=1), Langevin(120.0, 200.0, on=right, seed=2),
        NoseHoover(90.0, 200.0, on=[40, 41, 42, 43]), Source(0.05, on=MIDDLE, correction=False),
    )  # fmt: skip


def started(ensemble, acting=None):
    return Engine(argon(shear=False), FORCEFIELD, ensemble=ensemble, acting=acting)


def assert_same(one, other):
    np.testing.assert_array_equal(one.positions(), other.positions())
    np.testing.assert_array_equal(one.velocities(), other.velocities())
    np.testing.assert_array_equal(one.cell, other.cell)


@pytest.mark.long
def test_a_bath_of_all_atoms_in_a_group_has_the_bits_of_the_bath_of_the_system():
    motion = SIDES, Deform(x=3e10)
    bath = {"temperature": 90.0, "coupling_time": 200.0, "seed": 7}
    whole = started(combine(Langevin(**bath), *motion))
    group = started(combine(None, *motion), baths(Langevin(**bath, on=ALL)))
    for one in (whole, group):
        one.advance(60, DT)
    assert_same(whole, group)
    assert sum(group.heats().values()) != 0.0
    assert group.thermo().conserved == pytest.approx(whole.thermo().conserved, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("bath", "motion"),
    [
        (NoseHoover(90.0, 200.0), (Deform(x=5e10, xy=5e10, remap="positions", period=5),)),
        (Berendsen(90.0, 200.0), (SIDES, Deform(x=3e10))),
    ],
)
def test_a_bath_of_all_atoms_in_a_group_rescales_as_the_bath_of_the_system(bath, motion):
    whole = started(combine(bath, *motion))
    group = started(combine(None, *motion), baths(replace(bath, on=ALL)))
    for one in (whole, group):
        one.advance(60, DT)
    np.testing.assert_allclose(group.positions(), whole.positions(), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(group.velocities(), whole.velocities(), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(group.cell, whole.cell, rtol=0.0, atol=1e-9)
    (heat,) = group.heats().values()
    assert abs(heat) > 0.04
    if whole.thermo().conserved is not None:
        assert group.thermo().conserved == pytest.approx(whole.thermo().conserved, abs=1e-8)


@pytest.mark.long
def test_baths_beside_a_deformation_conserve_energy_and_a_restart_has_the_bits():
    ensemble = combine(None, SHEARED)
    whole = started(ensemble, mixed())
    kept = [whole.thermo().conserved]
    for _ in range(10):
        whole.advance(20, DT)
        kept.append(whole.thermo().conserved)
    heats = np.abs(list(whole.heats().values()))
    assert heats.max() > 0.1
    assert np.ptp(kept) < 0.05 * heats.max()
    part, again = started(ensemble, mixed()), started(ensemble, mixed())
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
    acting = [mixed(), mixed(RIGHT, LEFT)]
    batch = Batch([argon(shear=False)] * 2, FORCEFIELD, ensembles=ensemble, acting=acting)
    batch.advance(60, DT)
    for own, member in zip(acting, batch.members, strict=True):
        alone = started(ensemble, own)
        alone.advance(60, DT)
        assert_same(member, alone)
        assert member.heats() == alone.heats()


def test_what_does_not_go_together_is_said():
    motions = {
        "the ensemble nph-berendsen": (SIDES,),
        "a deformation": (SHEARED,),
        "a deformation ": (SIDES, Deform(x=3e10)),
    }
    for name, motion in motions.items():
        with pytest.raises(SettingsError) as caught:
            started(combine(None, *motion), baths(Source(0.1, on=LEFT)))
        assert str(caught.value) == (
            f"the source group1 corrects positions (eHEX) for a cell at rest, and {name.strip()} moves the "
            "cell; give correction=False"
        )
    held = np.zeros((108, 3), bool)
    held[60, 0] = True
    sheared = {"ensemble": combine(None, SHEARED), "acting": baths(Bussi(90.0, on=LEFT))}
    with pytest.raises(
        SettingsError, match=r"^the bath group1 rescales velocities, the cell is sheared, and "
    ):
        Engine(argon(shear=False), FORCEFIELD, fixed=held, **sheared)
    slow = started(combine(None, Deform(x=1e10, period=20)), baths(Bussi(90.0, 30.0, on=LEFT)))
    with pytest.raises(
        SettingsError, match=r"group1 acts with the cell every 20 steps, 40 fs, .*coupling_time = 30"
    ):
        slow.advance(1, DT)
    with pytest.raises(SettingsError, match=r"has a thermostat of all atoms.*choose nve$"):
        started(combine(Bussi(90.0), SHEARED), baths(Langevin(90.0, on=LEFT)))
    with pytest.raises(SettingsError, match=r"has a thermostat of all atoms.*choose nph-berendsen"):
        started(combine(Bussi(90.0), SIDES), baths(Langevin(90.0, on=LEFT)))
