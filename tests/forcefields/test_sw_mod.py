"""sw/mod: LAMMPS where no angle is in between, differences where angles are."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import make_supercell

from taichimd import testing
from taichimd.forcefields.load import load_forcefield
from taichimd.forcefields.sw_mod import StillingerWeberMod
from taichimd.lammps.reference import lammps_evaluate
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine
from tests.program.test_heat_current import assert_current_is_slope
from tests.support.bond_order_files import sw_mod_file


def right_angles():
    """Atoms on a cubic lattice: cosines near 0, where C is 1, and near -1, where C is 0."""
    rng = np.random.default_rng(1)

    def displaced(atoms, a, by=0.01):
        atoms.set_cell(atoms.cell * a, scale_atoms=True)
        atoms.positions += by * rng.standard_normal((len(atoms), 3))
        return atoms

    lattice = Atoms("SiC", [(0, 0, 0), (1, 0, 0)], cell=[2, 1, 1], pbc=True)
    cluster = lattice.repeat((2, 2, 2))
    cluster.pbc = False
    return {
        "crystal": displaced(lattice.repeat((2, 4, 4)), 2.75),
        "wide": displaced(lattice.repeat((2, 4, 4)), 2.95),
        "triclinic": displaced(make_supercell(lattice, [[2, 1, 0], [0, 4, 1], [0, 0, 4]]), 2.75),
        "dense": displaced(lattice.repeat((2, 4, 4)), 2.69, 0.003),
        "cluster": displaced(cluster, 2.75, 0.02),
        "dimer inside": Atoms("SiC", [(0, 0, 0), (1.9, 0.4, 0.3)]),
        "dimer outside": Atoms("SiC", [(0, 0, 0), (3.7, 0.4, 0.9)]),
    }


@pytest.mark.long
@pytest.mark.lammps
def test_it_agrees_with_lammps_where_its_forces_are_a_gradient(tmp_path):
    path = sw_mod_file(tmp_path)
    forcefield = load_forcefield(path)
    for name, atoms in right_angles().items():
        ours = Engine(atoms, forcefield, backend="cpu").evaluate()
        theirs = lammps_evaluate(atoms, "sw/mod", (f"* * {path} {{elements}}",))
        assert (ours.energy != 0.0) == (name != "dimer outside")
        assert ours.energy == pytest.approx(theirs.energy, rel=1e-10, abs=1e-13), name
        np.testing.assert_allclose(ours.forces, theirs.forces, rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.lammps
@pytest.mark.parametrize(("angle", "gradient"), [(87.0, True), (66.0, False), (60.0, True)])
def test_forces_of_lammps_are_a_gradient_unless_an_angle_is_in_between(angle, gradient, tmp_path):
    """Differences of the energy decide; at 60 degrees, C is 0."""
    path = sw_mod_file(tmp_path)
    style = ("sw/mod", (f"* * {path} {{elements}}",))
    x, y = 2.4 * np.cos(np.radians(angle)), 2.4 * np.sin(np.radians(angle))
    atoms = Atoms("Si3", [(0, 0, 0), (2.5, 0, 0), (x, y, 0)])
    ours = Engine(atoms, load_forcefield(path), backend="cpu").evaluate()
    theirs, h, energies = lammps_evaluate(atoms, *style), 1e-3, []
    assert ours.energy == pytest.approx(theirs.energy, rel=1e-12)
    for k in (-2, -1, 1, 2):
        moved = atoms.copy()
        moved.positions[2, 0] += k * h
        energies.append(lammps_evaluate(moved, *style).energy)
    force = -np.array([1, -8, 8, -1]) @ energies / (12 * h)
    assert ours.forces[2, 0] == pytest.approx(force, abs=1e-7)
    off = abs(theirs.forces[2, 0] - force)
    assert off < 1e-7 if gradient else off > 0.1


@pytest.mark.long
def test_the_heat_current_is_the_slope_of_the_energy_moment(tmp_path):
    forcefield = StillingerWeberMod(sw_mod_file(tmp_path), maxdelcs=(0.1, 0.6))
    cluster = right_angles()["cluster"]
    cluster.positions += 0.1 * np.random.default_rng(2).standard_normal((16, 3))
    assert_current_is_slope(forcefield, testing.with_velocities(cluster, 1200.0, seed=1))


@pytest.mark.long
def test_tuple_decomposition_has_the_numbers_of_particle_decomposition(tmp_path):
    forcefield = StillingerWeberMod(sw_mod_file(tmp_path), maxdelcs=(0.1, 0.6))
    for name in ("triclinic", "cluster"):
        atoms = right_angles()[name]
        atoms.positions += 0.1 * np.random.default_rng(2).standard_normal(atoms.positions.shape)
        one, other = (
            Engine(atoms, forcefield, backend="cpu", decomposition=how).evaluate()
            for how in ("particle", "tuple")
        )
        assert np.ptp(one.energies) > 0.1
        for what in ("energies", "forces", "virials"):
            largest = np.abs(getattr(one, what)).max()
            np.testing.assert_allclose(
                getattr(other, what), getattr(one, what), rtol=0, atol=1e-12 * largest, err_msg=what
            )


@pytest.mark.long
def test_forces_are_the_gradient_everywhere(tmp_path):
    forcefield = StillingerWeberMod(sw_mod_file(tmp_path), maxdelcs=(0.1, 0.6))
    found = check_forcefield(forcefield, ["C", "Si"], clusters=3)
    assert found.ok, str(found)
