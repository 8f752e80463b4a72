"""Per-atom virials and the heat current, of every force field, against derivatives of per-atom energies."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from every_forcefield import FORCEFIELDS, PERIODIC
from lammps_heat import lammps_heat

from taichimd import TaichiMD, testing
from taichimd.core.errors import StructureError
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.program.across import Between
from taichimd.program.engine import Engine
from taichimd.program.heat import heat_current

FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
"""Weights of nine equidistant values in the first derivative at the middle one; the error is of order 8."""
TEMPERATURE = 1200.0
"""K"""


STEP = 4e-4
"""Internal time (4e-3 fs) between two values."""


def thermal_cluster(forcefield, seed=0, n_side=3):
    """A loose cube of all elements of a force field, in motion, no pair about to cross a cutoff."""
    rng = np.random.default_rng(seed)
    species = list(forcefield.elements or ["Ar"])
    spacing = max(0.6 * forcefield.body_cutoff, 2.1)
    corners = np.array(list(np.ndindex(n_side, n_side, n_side))) * spacing
    symbols = [species[k % len(species)] for k in rng.permutation(len(corners))]
    while True:
        x = corners + rng.uniform(-0.12, 0.12, corners.shape) * spacing
        r = np.linalg.norm(x[:, None] - x[None], axis=-1)[np.triu_indices(len(x), 1)]
        if abs(r[:, None] - forcefield.cutoffs).min() > 5e-3:
            return testing.with_velocities(Atoms(symbols, x), TEMPERATURE, seed=seed + 1)


def energy_moment(engine, masses, of=None):
    """sum_i r_i E_i, (3,), at the present positions and velocities; `of` some atoms their sum_i E_i."""
    v = engine.velocities()
    energies = engine.evaluate().energies + 0.5 * masses * (v * v).sum(axis=1)
    return energies @ engine.positions() if of is None else energies[of].sum()


def moment_slope(engine, masses):
    """d/dt sum_i r_i E_i and the engine's heat current, each with a heat flow behind.

    The derivative depends on velocities and accelerations alone: positions and velocities follow straight
    lines, and no step is compiled. The flow is -dE_A/dt of the half A of the atoms, and that of `Between`.
    """
    n, moments = len(masses), []
    x, v = engine.positions(), engine.velocities()
    a = engine.evaluate().forces / masses[:, None]
    half = np.arange(n) % 3 != 1
    flow = None
    if engine.forcefield.enumeration == "neighbours":
        flow = Between(engine, np.flatnonzero(half), np.flatnonzero(~half))
    for k in range(-4, 5):
        engine.set_state(positions=x + k * STEP * v, velocities=v + k * STEP * a)
        moments.append([*energy_moment(engine, masses), -energy_moment(engine, masses, half)])
        if k == 0:
            current, between = engine.heat_current(), np.nan
            if flow is not None:
                flow.update()
                between = (flow.work.to_numpy().reshape(n, 3) * engine.velocities()).sum()
    slope = FIRST @ np.array(moments) / STEP
    return slope[:3], current, slope[3], between


def assert_current_is_slope(forcefield, atoms, error=1e-8):
    """The heat current of a moving cluster, and the heat flow between two halves of its atoms."""
    engine = Engine(atoms, forcefield, backend="cpu")
    slope, current, lost, between = moment_slope(engine, atoms.get_masses())
    size = np.abs(slope).max()
    assert min(np.abs(part).max() for part in current) > 0.01 * size
    assert between == pytest.approx(lost, rel=1e-6)
    np.testing.assert_allclose(current.total, slope, rtol=0, atol=error * size)


BY_TUPLE = ["lj-mixture", "Si.sw", "SiO2_1990.vashishta", "SiC_1989.tersoff"]


@pytest.mark.parametrize(
    ("name", "decomposition"),
    [*((name, "auto") for name in FORCEFIELDS), *((name, "tuple") for name in BY_TUPLE)],
)
def test_heat_current_is_the_slope_of_the_energy_moment(name, decomposition):
    """The definition, in an isolated cluster; the heat flow between two sets of atoms likewise."""
    forcefield = FORCEFIELDS[name]()
    atoms = thermal_cluster(forcefield)
    engine = Engine(atoms, forcefield, decomposition=decomposition)
    slope, current, lost, between = moment_slope(engine, atoms.get_masses())
    size = np.linalg.norm(current.total)
    if name != "lj-all-pairs":
        assert between == pytest.approx(lost, rel=1e-7)
    for part in current:
        assert np.linalg.norm(part) > 0.01 * size, "both parts must matter, or the test would not see them"
    assert np.linalg.norm(slope - current.total) < 1e-7 * size


@pytest.mark.parametrize("name", FORCEFIELDS)
def test_virial_is_made_of_derivatives_of_the_others_energies(name):
    """W_i = sum_j (r_j - r_i) (x) dU_j/dr_i, all nine components of some atoms, by five-point differences."""
    forcefield = FORCEFIELDS[name]()
    atoms = thermal_cluster(forcefield)
    engine = Engine(atoms, forcefield)
    x, virials = atoms.positions, engine.evaluate().virials
    h = 2e-4
    for i in (0, 13, 22):
        expected = np.zeros((3, 3))
        for b in range(3):
            moved = []
            for k in (-2, -1, 1, 2):
                shifted = x.copy()
                shifted[i, b] += k * h
                engine.set_state(positions=shifted)
                moved.append(engine.evaluate().energies)
            slopes = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h)
            expected[:, b] = slopes @ (x - x[i])
        np.testing.assert_allclose(virials[i], expected, rtol=0, atol=1e-7 * abs(expected).max())


@pytest.mark.parametrize("name", PERIODIC)
def test_virials_add_up_to_the_stress_and_repeat_with_the_cell(name):
    """In cells thinner than the cutoff, too: -stress * volume to 1e-12, and every copy of an atom its own."""
    atoms = PERIODIC[name]()
    atoms.calc = TaichiMD(FORCEFIELDS[name]())
    virials = atoms.calc.get_per_atom_virial(atoms)
    total = -atoms.get_stress(voigt=False) * atoms.get_volume()
    np.testing.assert_allclose(virials.sum(axis=0), total, rtol=0, atol=1e-12 * abs(total).max())
    symmetric = 0.5 * (virials + virials.transpose(0, 2, 1)) / -atoms.get_volume()
    np.testing.assert_allclose(atoms.get_stresses(voigt=False), symmetric, rtol=0, atol=1e-15)
    large = atoms.repeat((2, 1, 2))
    large.calc = atoms.calc
    many = atoms.calc.get_per_atom_virial(large)
    np.testing.assert_allclose(many, np.tile(virials, (4, 1, 1)), rtol=0, atol=1e-11 * abs(virials).max())


@pytest.mark.parametrize(
    ("name", "symmetric"), [("lj-truncated", True), ("Si.sw", False), ("Si.tersoff", False)]
)
def test_three_bodies_make_the_virial_of_an_atom_asymmetric(name, symmetric):
    forcefield = FORCEFIELDS[name]()
    atoms = testing.argon_256() if symmetric else testing.silicon_216()
    virials = Engine(atoms, forcefield).evaluate().virials
    skew = abs(virials - virials.transpose(0, 2, 1)).max() / abs(virials).max()
    assert skew < 1e-15 if symmetric else skew > 0.05


def test_flows_through_the_planes_of_a_crystal_add_up_to_its_heat_current():
    """J_x is the sum of the flows through all planes times their distance if atoms are on planes and move."""
    atoms = testing.with_velocities(bulk("Si", cubic=True).repeat((4, 1, 1)), TEMPERATURE, seed=3)
    engine = Engine(atoms, FORCEFIELDS["Si.tersoff"](), backend="cpu")
    engine.evaluate()
    plane = np.rint(4.0 * atoms.positions[:, 0] / 5.43).astype(int)
    v, flows = engine.velocities(), []
    for k in range(16):
        before, behind = np.flatnonzero((plane - k) % 16 >= 13), np.flatnonzero((plane - k) % 16 < 3)
        flow = Between(engine, before, behind)
        flow.update()
        flows.append((flow.work.to_numpy().reshape(-1, 3) * v).sum())
    current = engine.heat_current().potential[0]
    assert np.std(flows) > 0.1 * abs(current)
    assert 5.43 / 4.0 * sum(flows) == pytest.approx(current, rel=1e-11)


@pytest.mark.parametrize("name", ["lj-mixture", "lj-all-pairs", "Si.sw", "SiC_1989.tersoff", "morse+angle"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_calculator_and_engine_find_the_same_current(name, precision):
    forcefield = FORCEFIELDS[name]()
    atoms = thermal_cluster(forcefield)
    engine = Engine(atoms, forcefield, precision=precision)
    current, found = engine.heat_current(), engine.evaluate()
    host = heat_current(found.energies, found.virials, engine.velocities(), atoms.get_masses())
    size = np.linalg.norm(current.total)
    np.testing.assert_allclose(current, host, rtol=0, atol=(1e-14 if precision == "float64" else 1e-6) * size)
    atoms.calc = TaichiMD(forcefield, precision=precision)
    np.testing.assert_allclose(atoms.calc.get_heat_current(atoms), host.total, rtol=0, atol=2e-6 * size)
    if precision == "float32":
        double = Engine(atoms, forcefield).heat_current()
        np.testing.assert_allclose(current, double, rtol=0, atol=1e-5 * size)


def test_heat_current_belongs_to_whole_steps_and_present_velocities():
    """After `advance` and after `set_state` as for a fresh engine, bit for bit; asking changes no bit."""
    forcefield = FORCEFIELDS["Si.tersoff"]()
    atoms = testing.with_velocities(testing.silicon_216(), TEMPERATURE, seed=3)
    asked, silent = Engine(atoms, forcefield), Engine(atoms, forcefield, skin=0.4)
    for _ in range(4):
        asked.advance(5, 0.1)
        current = asked.heat_current()
    silent.advance(20, 0.1)
    np.testing.assert_array_equal(silent.heat_current(), current)
    np.testing.assert_array_equal(asked.positions(), silent.positions())
    there = Atoms(atoms.symbols, silent.positions(), cell=atoms.cell, pbc=True)
    fresh = Engine(there, forcefield)
    fresh.set_state(velocities=silent.velocities())
    np.testing.assert_array_equal(fresh.heat_current(), current)
    silent.set_state(velocities=-silent.velocities())
    np.testing.assert_array_equal(silent.heat_current(), [-part for part in current])


def test_calculator_takes_velocities_and_masses_of_the_atoms(monkeypatch):
    """New velocities or masses give a new current without a new evaluation."""
    atoms = testing.with_velocities(testing.argon_256(), 80.0, seed=1)
    atoms.calc = TaichiMD(LennardJones(**testing.ARGON, cutoff=8.5))
    first = atoms.calc.get_heat_current(atoms)
    assert first.shape == (3,)
    monkeypatch.setattr(Engine, "evaluate", None)
    np.testing.assert_array_equal(atoms.calc.get_heat_current(), first)
    atoms.set_velocities(-atoms.get_velocities())
    np.testing.assert_array_equal(atoms.calc.get_heat_current(atoms), -first)
    velocities = atoms.get_velocities()
    atoms.set_masses([36.0] * len(atoms))
    atoms.set_velocities(velocities)
    lighter = atoms.calc.get_heat_current(atoms)
    assert 1e-6 < np.linalg.norm(lighter + first) / np.linalg.norm(first) < 0.5
    atoms.set_momenta(np.zeros_like(velocities))
    assert not atoms.calc.get_heat_current(atoms).any()
    atoms.arrays["momenta"][7, 1] = np.nan
    refused = pytest.raises(StructureError, match=r"atom 7 .*needs finite velocities and positive masses")
    with refused:
        atoms.calc.get_heat_current(atoms)
    atoms.set_momenta(np.zeros_like(velocities))
    atoms.set_masses(np.where(np.arange(len(atoms)) == 7, 0.0, 36.0))
    with refused:
        atoms.calc.get_heat_current(atoms)


def test_order_of_atoms_changes_no_bit_of_the_host_sum():
    rng = np.random.default_rng(0)
    energies, masses = rng.normal(size=400), rng.uniform(1, 200, 400)
    virials, velocities = rng.normal(size=(400, 3, 3)), rng.normal(size=(400, 3))
    order = rng.permutation(400)
    one = heat_current(energies, virials, velocities, masses)
    other = heat_current(energies[order], virials[order], velocities[order], masses[order])
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(one.potential, np.einsum("nab,nb->a", virials, velocities), rtol=1e-12)


@pytest.mark.lammps
def test_pairs_have_the_current_of_lammps():
    """For pairs `compute heat/flux` is right; of three bodies see validation/physics/heat_current.py."""
    atoms = testing.argon_256()
    atoms = testing.with_velocities(Atoms(atoms.symbols, atoms.positions), 100.0, seed=2)
    epsilon, sigma = testing.ARGON.values()
    (theirs,), _ = lammps_heat(atoms, "lj/cut 8.5", (f"1 1 {epsilon!r} {sigma!r}",))
    atoms.calc = TaichiMD(LennardJones(**testing.ARGON, cutoff=8.5))
    ours = atoms.calc.get_heat_current(atoms)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * np.linalg.norm(theirs))
