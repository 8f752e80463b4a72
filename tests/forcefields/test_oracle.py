"""The oracle itself: its boxes, rotations, atom order and signs, against ASE's own Lennard-Jones."""

import numpy as np
import peers
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones

from taichimd import testing
from taichimd.lammps import reference
from taichimd.lammps.reference import lammps_box, lammps_evaluate, lammps_nve

CUTOFF = 8.5
PAIR_STYLE = f"lj/cut {CUTOFF}"
PAIR_COEFF = (f"1 1 {testing.ARGON['epsilon']} {testing.ARGON['sigma']}",)


def _skewed_argon() -> Atoms:
    atoms = testing.argon_256()
    strain = np.array([[1.0, 0.1, 0.2], [-0.1, 1.0, 0.3], [0.05, 0.0, 1.0]])
    atoms.set_cell(atoms.cell[:] @ strain, scale_atoms=True)
    atoms.rotate(30, (1, 2, 3), rotate_cell=True)
    return atoms


def _left_handed_argon() -> Atoms:
    atoms = _skewed_argon()
    atoms.set_cell(atoms.cell[[1, 0, 2]])
    return atoms


def _free_argon() -> Atoms:
    atoms = testing.argon_256()
    return Atoms(atoms.symbols, atoms.positions)


def _argon_slab() -> Atoms:
    """Periodic along the first and the last cell vector only, which are not at right angles."""
    atoms = _skewed_argon()
    atoms.pbc = (True, False, True)
    return atoms


@pytest.mark.lammps
@pytest.mark.parametrize(
    "build", [testing.argon_256, _skewed_argon, _left_handed_argon, _free_argon, _argon_slab]
)
def test_oracle_equals_ase_lennard_jones(build):
    atoms = build()
    found = lammps_evaluate(atoms, PAIR_STYLE, PAIR_COEFF, pair_modify=("shift yes",))
    atoms.calc = LennardJones(rc=CUTOFF, **testing.ARGON)
    assert found.energy == pytest.approx(atoms.get_potential_energy(), rel=1e-12), "energy"
    np.testing.assert_allclose(found.forces, atoms.get_forces(), atol=1e-11, err_msg="forces")
    np.testing.assert_allclose(found.energies, atoms.get_potential_energies(), atol=1e-12, err_msg="per atom")
    if atoms.pbc.all():
        np.testing.assert_allclose(found.stress, atoms.get_stress(), atol=1e-13, err_msg="stress")
    else:
        assert found.stress is None, "no stress without a volume"


@pytest.mark.lammps
def test_oracle_keeps_order_and_unfolded_positions():
    atoms = testing.silicon_triclinic()
    atoms.symbols[:] = "Ar"
    atoms.set_cell(atoms.cell[:] * 1.7, scale_atoms=True)
    found = lammps_nve(atoms, PAIR_STYLE, PAIR_COEFF, n_steps=0, timestep=0.1)
    np.testing.assert_allclose(found.positions, atoms.positions, atol=1e-12, err_msg="positions moved")


@pytest.mark.parametrize("pbc", [(1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (0, 0, 1), (1, 0, 0), (0, 0, 0)])
def test_box_keeps_the_periodic_lattice(pbc):
    """Needs no LAMMPS: lengths and angles stay, and no tilt points along a free direction."""
    atoms = _skewed_argon()
    atoms.pbc = pbc
    box = lammps_box(atoms)
    np.testing.assert_allclose(box.rotation @ box.rotation.T, np.eye(3), atol=1e-13)
    kept = np.flatnonzero(pbc)
    np.testing.assert_allclose((atoms.cell[:] @ box.rotation.T)[kept], box.cell[kept], atol=1e-12)
    assert np.all(np.diag(box.cell) > 0), "extents must be positive"
    for row, column in ((1, 0), (2, 0), (2, 1)):
        if not pbc[row]:
            assert abs(box.cell[row, column]) < 1e-12, "a free direction must be normal to the others"


@pytest.mark.parametrize(("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_without_lammps_a_test_is_skipped_or_fails(monkeypatch, required, outcome):
    monkeypatch.setattr(reference, "lammps_reason", lambda: "not installed")
    monkeypatch.setenv(peers.REQUIRE_LAMMPS, required)
    with pytest.raises(outcome, match="no LAMMPS to compare with: not installed"):
        peers.require_lammps()


@pytest.mark.parametrize(("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_without_mdtraj_a_test_is_skipped_or_fails(monkeypatch, required, outcome):
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv(peers.REQUIRE_MDTRAJ, required)
    with pytest.raises(outcome, match="no mdtraj to find labels of structures: it is not installed"):
        peers.require_mdtraj()
