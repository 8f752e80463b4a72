"""Tersoff/mod, Tersoff/mod/c and Tersoff/ZBL: files written here, against LAMMPS and by differences."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, make_supercell

from taichimd import testing
from taichimd.core.errors import ParameterFileError
from taichimd.forcefields.load import load_forcefield
from taichimd.lammps.reference import lammps_evaluate
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine
from tests.program.test_heat_current import assert_current_is_slope
from tests.support.bond_order_files import STYLES, tersoff_file


def structures(scale=1.0):
    """Crystal hot, alloy triclinic, cluster, dimers inside and outside the cutoff, dense random."""
    rng = np.random.default_rng(8)
    crystal = bulk("Si", "diamond", a=5.4 * scale, cubic=True)
    crystal.symbols[:] = rng.choice(["Si", "C"], 8)
    crystal.positions += 0.12 * rng.standard_normal((8, 3))
    skewed = make_supercell(bulk("Si", "diamond", a=5.2 * scale), [[2, 1, 0], [0, 2, 1], [0, 0, 2]])
    skewed.symbols[:] = rng.choice(["Si", "C"], len(skewed))
    skewed.positions += 0.1 * rng.standard_normal((len(skewed), 3))
    cluster = Atoms("SiC2SiC", [(0, 0, 0), (2.3, 0.1, 0), (-0.6, 2.2, 0.2), (0.4, -0.7, 2.25), (1.9, 2, 0.9)])
    cluster.positions *= scale
    dense = Atoms("SiC" * 4, rng.uniform(0, 5.2, (8, 3)), cell=[5.2] * 3, pbc=True)
    dimers = [Atoms("SiC", [(0, 0, 0), (x, 0.4, 0.3)]) for x in (1.9, 3.7)]
    return [crystal, skewed, cluster, *dimers, dense]


@pytest.mark.lammps
@pytest.mark.parametrize("style", STYLES)
def test_every_column_agrees_with_lammps(style, tmp_path):
    path = tersoff_file(style, tmp_path)
    forcefield = load_forcefield(str(path))
    for atoms in structures():
        ours = Engine(atoms, forcefield, backend="cpu").evaluate()
        theirs = lammps_evaluate(atoms, style, (f'* * "{path}" {{elements}}',))
        assert ours.energy == pytest.approx(theirs.energy, rel=1e-10, abs=1e-13)
        largest = max(1.0, np.abs(theirs.forces).max())
        np.testing.assert_allclose(ours.forces, theirs.forces, rtol=0, atol=1e-10 * largest)
        virial = ours.virials.sum(axis=0)
        np.testing.assert_allclose(0.5 * (virial + virial.T), theirs.virial, rtol=1e-9, atol=1e-8 * largest)


@pytest.mark.long
@pytest.mark.parametrize("style", STYLES)
def test_the_heat_current_is_the_slope_of_the_energy_moment(style, tmp_path):
    forcefield = load_forcefield(str(tersoff_file(style, tmp_path)))
    cluster = structures()[2]
    assert_current_is_slope(forcefield, testing.with_velocities(cluster, 1200.0, seed=1))


@pytest.mark.long
@pytest.mark.parametrize("style", STYLES)
def test_tuple_decomposition_has_the_bits_of_particle_decomposition(style, tmp_path):
    forcefield = load_forcefield(str(tersoff_file(style, tmp_path)))
    for atoms in structures()[:3]:
        one, other = (
            Engine(atoms, forcefield, backend="cpu", decomposition=how).evaluate()
            for how in ("particle", "tuple")
        )
        assert np.ptp(one.energies) > 0.1
        for what in ("energies", "forces", "virials"):
            assert np.array_equal(getattr(one, what), getattr(other, what)), what


@pytest.mark.long
@pytest.mark.parametrize("style", STYLES)
def test_derivatives(style, tmp_path):
    report = check_forcefield(load_forcefield(str(tersoff_file(style, tmp_path))), ["C", "Si"], clusters=2)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("style", "column", "value", "expected"),
    [
        ("tersoff/mod", 0, 2, "field 'beta' of entry \\(Si, Si, Si\\) is 2, expected 1 or 3"),
        ("tersoff/mod", 4, 0.5, "beta_ters"),
        ("tersoff/mod", 11, 0, "the bond order has the exponent"),
        ("tersoff/zbl", 16, -1, "field 'ZBLcut'.*expected a positive number"),
        ("tersoff/zbl", 4, 0, "field 'd'"),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(style, column, value, expected, tmp_path):
    name, numbers, _, _ = STYLES[style]
    row = [*numbers]
    row[column] = value
    (tmp_path / name).write_text("Si Si Si " + " ".join(map(str, row)))
    with pytest.raises(ParameterFileError, match=f"line 1: .*{expected}"):
        load_forcefield(str(tmp_path / name))


def test_two_halves_of_a_bond_with_different_numbers_are_refused(tmp_path):
    name, numbers, _, _ = STYLES["tersoff/mod"]
    other = [*numbers[:10], 2000.0, *numbers[11:]]
    rows = {"Si Si Si": numbers, "C C C": numbers, "Si C C": numbers, "C Si Si": other}
    (tmp_path / name).write_text("\n".join(f"{key} {' '.join(map(str, row))}" for key, row in rows.items()))
    with pytest.raises(
        ParameterFileError, match=r"line 4: field 'A' of entry \(C, Si, Si\) is 2000, but 2100"
    ):
        load_forcefield(str(tmp_path / name))


def test_a_file_of_another_variant_is_one_line(tmp_path):
    (tmp_path / "x.tersoff.mod").write_text("Si Si Si " + " ".join(map(str, STYLES["tersoff/mod/c"][1])))
    with pytest.raises(ParameterFileError, match=r"one word too many.*\.tersoff\.modc"):
        load_forcefield(str(tmp_path / "x.tersoff.mod"))
