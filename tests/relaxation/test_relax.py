"""Relaxation of atoms and cells against other optimisers, other routes, and its own promises.

ASE's LBFGS, not BFGS: the dense Hessian of the latter takes a busy machine longer than all forces.
"""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.constraints import FixAtoms, FixBondLengths
from ase.filters import UnitCellFilter
from ase.optimize import LBFGS
from scipy.optimize import minimize_scalar

from taichimd import LennardJones, TaichiMD, relax, testing
from taichimd.core.errors import RelaxationError, SettingsError, StructureError
from taichimd.core.units import GPA
from taichimd.relaxation import kernels as k
from taichimd.relaxation.fire import MAX_MOVE

ARGON = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")


def argon(scale=0.2, a=5.35):
    return testing.rattled(bulk("Ar", cubic=True, a=a).repeat(2), scale, 1)


def carbide():
    """A vacancy, so that the minimum is no lattice."""
    atoms = bulk("SiC", "zincblende", a=4.36, cubic=True).repeat((2, 1, 1))
    del atoms[5]
    return testing.rattled(atoms, 0.03, 2)


def strained(atoms, *, seed=4, size=0.03):
    strain = size * np.random.default_rng(seed).standard_normal((3, 3))
    atoms.set_cell(atoms.cell.array @ (np.eye(3) + strain + strain.T), scale_atoms=True)
    return atoms


def with_calculator(atoms, potential):
    atoms.calc = TaichiMD(potential)
    return atoms


def deformation(before, after):
    return np.linalg.solve(before.cell.array, after.cell.array)


# The atoms.


@pytest.mark.parametrize(
    ("build", "potential"),
    [(argon, ARGON), (testing.silicon_slab, "Si.sw"), (carbide, "SiC_1989.tersoff")],
)
def test_energy_is_that_of_ase(build, potential):
    atoms = build()
    found = relax(atoms, potential, fmax=1e-5)
    other = with_calculator(atoms.copy(), potential)
    LBFGS(other, logfile=None).run(fmax=1e-5)
    assert found.converged
    assert found.fmax <= 1e-5
    assert found.energy / len(atoms) == pytest.approx(other.get_potential_energy() / len(atoms), abs=1e-8)
    assert found.energy < with_calculator(atoms, potential).get_potential_energy() - 0.01


def test_steps_are_those_of_the_algorithm():
    """FIRE 2.0 in NumPy, on forces of the calculator."""
    atoms = with_calculator(argon(0.3), ARGON)
    x, v, dt, alpha, downhill = atoms.positions.copy(), np.zeros((32, 3)), k.FIRST_DT, k.FIRST_ALPHA, 0
    energies, turned = [], 0
    for step in range(60):
        atoms.positions = x
        force = atoms.get_forces()
        energies.append(atoms.get_potential_energy())
        if (force * v).sum() > 0:
            downhill += 1
            if downhill > k.DELAY:
                dt, alpha = min(1.1 * dt, k.MAX_DT), 0.99 * alpha
        else:
            downhill, turned = 0, turned + (step > 0)
            if step >= k.DELAY:
                dt = max(0.5 * dt, k.LEAST_DT)
            alpha = k.FIRST_ALPHA
            x, v = x - 0.5 * dt * v, np.zeros_like(v)
        v = v + dt * force
        v = (1 - alpha) * v + alpha * force * np.linalg.norm(v) / np.linalg.norm(force)
        lengths = dt * np.linalg.norm(v, axis=1, keepdims=True)
        v = v * np.minimum(1.0, MAX_MOVE / lengths)
        x = x + dt * v
    rows = []
    found = relax(argon(0.3), ARGON, fmax=1e-12, steps=59, on_row=rows.append)
    assert turned, "this start must lead uphill once"
    assert [row.energy for row in rows] == pytest.approx([energies[row.step] for row in rows], rel=1e-9)
    np.testing.assert_allclose(found.atoms.positions, atoms.positions, rtol=0, atol=1e-7)


def test_structure_and_what_it_carries_are_kept():
    atoms = argon()
    atoms.set_array("label", np.arange(32))
    atoms.info["name"] = "argon"
    atoms.set_momenta(np.ones((32, 3)))
    before = atoms.copy()
    found = relax(atoms, ARGON)
    np.testing.assert_array_equal(atoms.positions, before.positions)
    np.testing.assert_array_equal(found.atoms.arrays["label"], np.arange(32))
    np.testing.assert_array_equal(found.atoms.get_momenta(), np.ones((32, 3)))
    assert found.atoms.info["name"] == "argon"
    again = with_calculator(found.atoms.copy(), ARGON)
    assert found.atoms.get_potential_energy() == found.energy == again.get_potential_energy()
    np.testing.assert_allclose(found.atoms.get_forces(), again.get_forces(), rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.atoms.get_stress(), again.get_stress(), rtol=0, atol=1e-14)
    assert found.pressure == pytest.approx(-again.get_stress()[:3].mean() / GPA, rel=1e-9)


@pytest.mark.both
@pytest.mark.parametrize("cell", ["none", "full"])
def test_bits_do_not_depend_on_the_skin(cell):
    runs = [relax(argon(), ARGON, fmax=1e-4, cell=cell, skin=skin) for skin in (0.05, 0.4, None, 2.0)]
    assert len({run.statistics["rebuilds"] for run in runs}) > 1 or cell == "full"
    for run in runs[1:]:
        np.testing.assert_array_equal(run.atoms.positions, runs[0].atoms.positions)
        np.testing.assert_array_equal(run.atoms.cell.array, runs[0].atoms.cell.array)
        assert (run.steps, run.energy) == (runs[0].steps, runs[0].energy)


def test_step_limit_leaves_the_last_structure():
    rows = []
    found = relax(argon(), ARGON, fmax=1e-6, steps=7, on_row=rows.append)
    assert (found.converged, found.reason, found.steps) == (False, "out of steps", 7)
    assert (rows[0].step, rows[-1].step) == (0, 7)
    assert (
        rows[-1].energy == found.energy == with_calculator(found.atoms.copy(), ARGON).get_potential_energy()
    )
    assert rows[-1].fmax == found.fmax
    assert found.energy < rows[0].energy


@pytest.mark.parametrize("cell", ["none", "isotropic"])
def test_a_stop_leaves_the_structure_so_far(cell):
    rows = []
    found = relax(argon(), ARGON, fmax=1e-6, cell=cell, on_row=rows.append, should_stop=lambda: len(rows) > 1)
    assert (found.converged, found.reason) == (False, "stopped")
    assert 1 < found.steps < 30
    assert rows[-1].step == found.steps
    assert found.energy == with_calculator(found.atoms.copy(), ARGON).get_potential_energy()


def test_minimum_needs_no_step():
    atoms = relax(argon(), ARGON, fmax=1e-4).atoms
    again = relax(atoms, ARGON, fmax=1e-3)
    assert (again.converged, again.steps) == (True, 0)
    np.testing.assert_array_equal(again.atoms.positions, atoms.positions)


def test_overlapping_atoms_move_apart():
    atoms = argon()
    atoms.positions[1] = atoms.positions[0] + (0.4, 0.3, 0.2)
    found = relax(atoms, ARGON, fmax=1e-3)
    assert found.converged
    assert found.atoms.get_distance(0, 1, mic=True) > 3.0


def test_float32():
    found = relax(argon(), ARGON, fmax=1e-3, precision="float32", cell="isotropic")
    assert found.converged
    assert found.energy == pytest.approx(relax(argon(), ARGON, fmax=1e-3, cell="isotropic").energy, rel=1e-4)


def test_all_pairs_go_the_same_way():
    cluster = Atoms("Ar13", positions=argon().positions[:13])
    by_list, by_pairs = (
        relax(cluster, LennardJones(**testing.ARGON, cutoff=9.0, enumeration=kind), fmax=1e-4)
        for kind in ("neighbours", "all-pairs")
    )
    assert by_list.converged
    assert by_list.energy == pytest.approx(by_pairs.energy, rel=1e-12)


# Constraints.


def test_fixed_atoms_stay_and_count_for_nothing():
    atoms = argon()
    atoms.set_constraint(FixAtoms([0, 5, 30]))
    found = relax(atoms, ARGON, fmax=1e-4)
    np.testing.assert_array_equal(found.atoms.positions[[0, 5, 30]], atoms.positions[[0, 5, 30]])
    assert found.converged
    assert np.linalg.norm(found.atoms.get_forces(apply_constraint=False)[5]) > 1e-3
    assert np.linalg.norm(found.atoms.get_forces(), axis=1).max() == pytest.approx(found.fmax)
    other = with_calculator(atoms.copy(), ARGON)
    LBFGS(other, logfile=None).run(fmax=1e-4)
    assert found.energy == pytest.approx(other.get_potential_energy(), abs=1e-5)
    everything = argon()
    everything.set_constraint(FixAtoms(range(32)))
    assert relax(everything, ARGON).steps == 0


def test_fixed_atoms_keep_their_place_in_a_cell_that_relaxes():
    atoms = argon()
    atoms.set_constraint(FixAtoms([0, 5]))
    found = relax(atoms, ARGON, fmax=1e-3, cell="full").atoms
    scaled = [a.cell.scaled_positions(a.positions)[[0, 5]] for a in (atoms, found)]
    np.testing.assert_allclose(scaled[0], scaled[1], rtol=0, atol=1e-12)
    assert abs(found.cell.array - atoms.cell.array).max() > 0.01


# The cell.


def test_lattice_constant_is_where_the_energy_is_least():
    calculator = TaichiMD("Si.sw")

    def energy(a):
        atoms = bulk("Si", a=a)
        atoms.calc = calculator
        return atoms.get_potential_energy()

    least = minimize_scalar(energy, bracket=(5.3, 5.5), tol=1e-10)
    found = relax(bulk("Si", a=5.6), "Si.sw", cell="isotropic", smax=1e-5)
    assert found.converged
    assert found.atoms.cell.lengths()[0] * np.sqrt(2) == pytest.approx(least.x, abs=1e-5)
    assert found.energy == pytest.approx(least.fun, abs=1e-9)


def test_sheared_carbide_relaxes_as_with_ase():
    atoms = strained(testing.rattled(bulk("SiC", "zincblende", a=4.36, cubic=True), 0.03, 2))
    found = relax(atoms, "SiC_1989.tersoff", cell="full", fmax=1e-4, smax=1e-3)
    other = with_calculator(atoms.copy(), "SiC_1989.tersoff")
    LBFGS(UnitCellFilter(other), logfile=None).run(fmax=1e-4)
    assert found.converged
    assert found.energy / len(atoms) == pytest.approx(other.get_potential_energy() / len(atoms), abs=1e-7)
    np.testing.assert_allclose(found.atoms.cell.cellpar(), other.cell.cellpar(), atol=2e-3)


def test_skewed_supercell_becomes_the_crystal():
    atoms = testing.silicon_triclinic()
    found = relax(atoms, "Si.sw", cell="full", fmax=1e-5, smax=1e-5)
    a = relax(bulk("Si"), "Si.sw", cell="isotropic", smax=1e-6).atoms.cell.lengths()[0] * np.sqrt(2)
    np.testing.assert_allclose(
        found.atoms.cell.cellpar(), bulk("Si", a=a).repeat((3, 3, 4)).cell.cellpar(), atol=1e-4
    )
    assert np.linalg.norm(found.atoms.positions - atoms.positions, axis=1).max() < 3.0, "no atom was wrapped"
    f = deformation(atoms, found.atoms)
    np.testing.assert_allclose(f, f.T, rtol=0, atol=1e-12, err_msg="the cell was turned")


@pytest.mark.parametrize("cell", ["isotropic", "orthorhombic", "full"])
def test_pressure_is_reached(cell):
    found = relax(strained(bulk("Si")), "Si.sw", cell=cell, pressure=8.0, smax=1e-3)
    atoms, stress = found.atoms, found.atoms.get_stress() / GPA
    assert found.converged
    assert found.pressure == pytest.approx(8.0, abs=1e-3)
    relaxed = {"isotropic": [], "orthorhombic": [0, 1, 2], "full": range(6)}[cell]
    np.testing.assert_allclose(
        stress[list(relaxed)], np.array([-8.0] * 3 + [0.0] * 3)[list(relaxed)], atol=1e-3
    )
    assert cell == "full" or abs(stress[3:]).max() > 0.1, "shear must not have relaxed"
    # By energies alone: dE/dV = -p.
    energies, volumes = [], []
    for factor in (1 - 1e-4, 1 + 1e-4):
        other = with_calculator(atoms.copy(), "Si.sw")
        other.set_cell(atoms.cell.array * factor, scale_atoms=True)
        energies.append(other.get_potential_energy())
        volumes.append(other.get_volume())
    assert -np.diff(energies)[0] / np.diff(volumes)[0] / GPA == pytest.approx(8.0, abs=5e-3)


@pytest.mark.parametrize(
    ("cell", "axes", "moving"), [("orthorhombic", "z", "z"), ("full", "xy", "xy"), ("isotropic", "xz", "xz")]
)
def test_only_the_axes_asked_for_change(cell, axes, moving):
    atoms = strained(argon(0.05, a=5.5), size=0.01)
    found = relax(atoms, ARGON, cell=cell, axes=axes, fmax=1e-4, smax=1e-3)
    change, stress = deformation(atoms, found.atoms) - np.eye(3), found.atoms.get_stress(voigt=False) / GPA
    held = [a for a in range(3) if "xyz"[a] not in moving]
    assert found.converged
    np.testing.assert_allclose(change[held], 0, atol=1e-12)
    assert abs(stress[held, held]).max() > 0.01
    free = [a for a in range(3) if a not in held]
    assert abs(stress[free, free].mean()) < 1e-3
    if cell == "isotropic":
        assert change[0, 0] == pytest.approx(change[2, 2], abs=1e-12)
        assert abs(change[0, 0]) > 1e-3
    else:
        assert abs(stress[free, free]).max() < 1e-3


def test_slab_relaxes_in_its_plane():
    atoms = testing.silicon_slab()
    found = relax(atoms, "Si.sw", cell="full", fmax=1e-4)
    change = deformation(atoms, found.atoms) - np.eye(3)
    assert found.converged
    assert found.pressure is None
    np.testing.assert_allclose(change[2], 0, atol=1e-12)
    assert abs(change[:2, :2]).max() > 1e-4
    other = with_calculator(atoms.copy(), "Si.sw")
    LBFGS(UnitCellFilter(other, mask=[1, 1, 0, 0, 0, 1]), logfile=None).run(fmax=1e-4)
    assert found.energy / len(atoms) == pytest.approx(other.get_potential_energy() / len(atoms), abs=1e-7)


def test_wire_along_no_axis_relaxes_its_length():
    atoms = Atoms("Ar3", positions=[[0, 0, 0], [1.0, 3.5, 0.2], [2.0, 1.5, 3.0]], pbc=(True, False, False))
    atoms.cell[0] = (3.6, 0.4, 0.1)
    found = relax(atoms, ARGON, cell="full", fmax=1e-5)
    ratio = found.atoms.cell[0] / atoms.cell[0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)
    energies = []
    for factor in (1 - 1e-4, 1 + 1e-4):
        other = with_calculator(found.atoms.copy(), ARGON)
        along = found.atoms.cell[0] / np.linalg.norm(found.atoms.cell[0])
        other.positions += (factor - 1) * (other.positions @ along)[:, None] * along
        other.cell[0] *= factor
        energies.append(other.get_potential_energy())
    assert abs(np.diff(energies)[0] / 2e-4) < 1e-3
    with pytest.raises(SettingsError, match="axes = 'x': x is not along the periodic directions"):
        relax(atoms, ARGON, cell="full", axes="x")


# What cannot be.


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fmax": 0.0}, r"fmax = 0.0: expected a number above 0 \(eV/Å\)"),
        ({"fmax": -1.0}, "fmax = -1.0"),
        ({"fmax": np.nan}, "fmax = nan"),
        ({"fmax": "small"}, "fmax = 'small'"),
        ({"steps": 0}, "steps = 0: expected a whole number above 0"),
        ({"steps": 2.5}, "steps = 2.5"),
        ({"cell": "cubic"}, "cell = 'cubic': expected none, isotropic, orthorhombic or full"),
        ({"cell": "full", "smax": 0.0}, r"smax = 0.0: expected a number above 0 \(GPa\)"),
        ({"cell": "full", "pressure": np.inf}, r"pressure = inf: expected a number \(GPa\)"),
        ({"cell": "full", "axes": "xw"}, "axes = 'xw': expected some of xyz"),
        ({"cell": "full", "axes": "xx"}, "axes = 'xx': expected some of xyz"),
        ({"cell": "full", "axes": ""}, "axes = '': expected some of xyz"),
        ({"axes": "xy"}, "axes = xy: the cell does not relax"),
        ({"pressure": 1.0}, "pressure = 1.0: the cell does not relax"),
        ({"precision": "half"}, "precision is 'half'"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(SettingsError, match=words):
        relax(argon(), ARGON, **settings)


def test_cells_that_cannot_relax():
    slab = testing.silicon_slab()
    with pytest.raises(
        SettingsError, match="pressure = 2 GPa: a pressure needs a cell that is periodic in three"
    ):
        relax(slab, "Si.sw", cell="full", pressure=2.0)
    with pytest.raises(SettingsError, match="axes = 'xz': z is not along the periodic directions"):
        relax(slab, "Si.sw", cell="orthorhombic", axes="xz")
    with pytest.raises(SettingsError, match="periodic in no direction"):
        relax(testing.silicon_cluster(), "Si.sw", cell="isotropic")


def test_structures_that_cannot_relax():
    atoms = argon()
    atoms.positions[3, 1] = np.nan
    with pytest.raises(StructureError, match="the position of atom 3"):
        relax(atoms, ARGON)
    atoms = argon()
    atoms.positions[3] = atoms.positions[4]
    with pytest.raises(StructureError, match="atoms 3 and 4"):
        relax(atoms, ARGON)
    atoms = argon()
    atoms.set_constraint(FixBondLengths([(0, 1)]))
    with pytest.raises(SettingsError, match="constraint FixBondLengths"):
        relax(atoms, ARGON)


@pytest.mark.parametrize(
    ("pressure", "words"),
    [(-5.0, "the cell has exploded: a length is 3"), (1e9, "the cell has collapsed: a length is 0.")],
)
def test_a_cell_out_of_bounds_stops(pressure, words):
    with pytest.raises(RelaxationError, match=words):
        relax(argon(0.01), ARGON, cell="isotropic", pressure=pressure)
