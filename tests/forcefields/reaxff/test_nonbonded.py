"""Nonbonded terms of ReaxFF: energies by their definition, forces and virials as derivatives, bits."""

import numpy as np
import pytest
from reaxff_systems import (
    CONSTANT,
    FACTOR,
    PAIRS,
    PLAIN,
    SHIELDED,
    WALLED,
    WHOLE,
    Box,
    NonbondedBench,
    box,
    energies,
)

from taichimd.core.errors import SettingsError
from taichimd.enumerate.reproducible_sum import FORCE
from taichimd.forcefields.reaxff.nonbonded import Nonbonded
from taichimd.forcefields.reaxff.options import Constants
from taichimd.forcefields.reaxff.pairs import pair_table

FORMS = {"plain": PLAIN, "shielded": SHIELDED, "wall": WALLED, "dispersion": WHOLE}


def evaluated(system, form=WHOLE, **options):
    bench = NonbondedBench(system, form, **options)
    q = bench.charges_of()
    return q, bench.evaluate()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_energies_are_those_of_the_definition(form):
    system = box()
    q, found = evaluated(system, form)
    expected = energies(system, q, form)
    for name, value in zip(("van_der_waals", "coulomb", "polarisation"), expected, strict=True):
        assert getattr(found, name).sum() == pytest.approx(value, rel=1e-13), name
        assert abs(value) > 1e-2, name


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forces_and_virial_are_derivatives_at_fixed_charges(form):
    system, h = box(apart=1.6), 1e-5
    q, found = evaluated(system, form)

    def energy(change_of_positions, cell=system.cell):
        return sum(energies(Box(system.kinds, system.positions + change_of_positions, cell), q, form))

    for i, a in ((0, 0), (3, 1), (8, 2), (13, 0)):
        step = np.zeros((14, 3))
        step[i, a] = h
        slope = (energy(step) - energy(-step)) / (2 * h)
        assert found.forces[i, a] == pytest.approx(-slope, abs=2e-8), (i, a)
    assert abs(found.forces).max() > 0.5
    for a, b in ((0, 0), (1, 2), (2, 1)):
        strain = np.zeros((3, 3))
        strain[a, b] = h
        stretched = [
            energy(s * system.positions @ strain, system.cell @ (np.eye(3) + s * strain)) for s in (1, -1)
        ]
        slope = (stretched[0] - stretched[1]) / (2 * h)
        assert found.virials.sum(0)[a, b] == pytest.approx(-slope, abs=2e-7), (a, b)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_tables_are_as_good_as_their_intervals(form):
    """Mean errors fall with the sixth power of the interval in energies, with the fifth in forces."""
    system = box(60, 9.0, apart=1.4)
    _, exact = evaluated(system, form)

    def error(intervals, name):
        _, found = evaluated(system, form, intervals=intervals)
        return abs(getattr(found, name) - getattr(exact, name)).mean()

    for name, fall, most in (("van_der_waals", 64, 1e-9), ("forces", 32, 1e-7)):
        coarse, fine = error(100, name), error(200, name)
        assert fine < most
        assert 0.6 * fall < coarse / fine < 1.6 * fall


def test_forces_of_tables_are_derivatives_of_their_energy():
    """Also where intervals are long, to the accuracy of central differences."""
    system, h = box(apart=1.6), 1e-5
    _, found = evaluated(system, intervals=100)

    def energy(sign):
        positions = system.positions.copy()
        positions[3, 1] += sign * h
        bench = NonbondedBench(Box(system.kinds, positions, system.cell), intervals=100)
        bench.charges_of()
        bench.charges.charge.from_numpy(q)
        return bench.evaluate().energy

    q = evaluated(system, intervals=100)[0]
    assert found.forces[3, 1] == pytest.approx((energy(-1) - energy(1)) / (2 * h), abs=1e-7)


def test_too_few_intervals_are_refused():
    with pytest.raises(SettingsError, match="20 intervals of tables, expected 100 or more"):
        NonbondedBench(box(), intervals=20)


def test_forces_of_all_atoms_add_up_to_nothing():
    _, found = evaluated(box(60, 9.0))
    assert abs(found.forces.sum(0)).max() < 1e-12 * abs(found.forces).sum()


def test_forces_of_steps_are_those_of_evaluations():
    bench = NonbondedBench(box())
    bench.charges_of()
    forces = bench.evaluate().forces
    bench.nonbonded.results.force.fill(0.0)
    assert (bench.evaluate(FORCE).forces == forces).all()


def test_with_one_set_of_constants_the_energy_is_stationary_in_the_charges():
    """The matrix has 14.4; then forces at re-solved charges are those at fixed ones."""
    system = box(apart=1.1)

    def energy(positions):
        bench = NonbondedBench(Box(system.kinds, positions, system.cell), tolerance=1e-13)
        bench.nonbonded.constants.coulomb, bench.nonbonded.constants.polarisation = 14.4, 1.0
        bench.charges_of()
        return bench.evaluate()

    h, found = 1e-4, energy(system.positions)
    step = np.zeros((14, 3))
    step[5, 1] = h
    slope = (energy(system.positions + step).energy - energy(system.positions - step).energy) / (2 * h)
    assert found.forces[5, 1] == pytest.approx(-slope, abs=1e-6)
    assert CONSTANT != 14.4
    assert FACTOR != 1.0


def test_order_in_memory_and_skin_change_no_bit():
    _, plain = evaluated(box(40, 8.0))
    memory = np.random.default_rng(2).permutation(40)
    for options in ({"skin": 1.1}, {"memory": memory}, {"skin": 0.4, "memory": memory}):
        _, other = evaluated(box(40, 8.0), **options)
        for name, values in vars(plain).items():
            assert (vars(other)[name] == values).all(), name


def test_without_charges_nothing_is_done():
    bench = NonbondedBench(box())
    bench.nonbonded.results.force.fill(7.0)
    bench.control.fill(1)
    bench.charges_of()
    assert (bench.evaluate(FORCE).forces == 7.0).all()


def test_atoms_on_top_of_each_other_do_not_push_and_are_finite():
    system = Box(np.array([0, 1], np.int32), np.zeros((2, 3)), 20.0 * np.eye(3))
    _, found = evaluated(system)
    assert (found.forces == 0.0).all()
    assert np.isfinite(found.energy)


def test_an_exponent_of_zero_is_refused():
    bench = NonbondedBench(box())
    table = pair_table(PAIRS, WHOLE, 1.0)
    with pytest.raises(SettingsError, match=r"p_vdW1.*is 0.0, expected more than 0"):
        Nonbonded(bench.state, bench.charges, table, WHOLE, 0.0, "cpu", Constants(14.4, 1.0))
