"""sw/mod: LAMMPS where no angle is in between, differences where angles are."""

import numpy as np
import pytest
from ase import Atoms

from taichimd.forcefields.load import load_forcefield
from taichimd.forcefields.sw_mod import StillingerWeberMod
from taichimd.lammps.reference import lammps_evaluate
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine

pytestmark = pytest.mark.once
ROWS = {
    "Si Si Si": "2.0 2.1 1.8 20.0 1.2 0.1 7.0 0.6 4 0 0", "C C C": "1.8 1.9 1.9 15.0 1.1 0.2 6.0 0.7 4 0 0",
    "Si C C": "1.9 2.0 1.85 18.0 1.15 0.15 6.5 0.65 4 0 0", "C Si Si": "1.9 2.0 1.85 16.0 1.15 0.1 6.5 0.65 "
    "4 0 0",
    "Si Si C": "1.7 0 0 14.0 0 0.12 0 0 0 0 0", "Si C Si": "1.7 0 0 14.0 0 0.12 0 0 0 0 0",
    "C C Si": "1.6 0 0 13.0 0 0.08 0 0 0 0 0", "C Si C": "1.6 0 0 13.0 0 0.08 0 0 0 0 0",
}  # fmt: skip


def written(folder):
    path = folder / "x.sw.mod"
    path.write_text("".join(f"{key} {row}\n" for key, row in ROWS.items()))
    return str(path)


def right_angles():
    """Atoms on a cubic lattice: cosines near 0, where C is 1, and near -1, where C is 0."""
    x = np.array(list(np.ndindex(3, 2, 2))) * 2.75
    return Atoms("SiC" * 6, x + 0.02 * np.random.default_rng(1).standard_normal(x.shape))


@pytest.mark.long
@pytest.mark.lammps
def test_it_agrees_with_lammps_where_its_forces_are_a_gradient(tmp_path):
    path, atoms = written(tmp_path), right_angles()
    ours = Engine(atoms, load_forcefield(path), backend="cpu").evaluate()
    theirs = lammps_evaluate(atoms, "sw/mod", (f"* * {path} {{elements}}",))
    assert ours.energy == pytest.approx(theirs.energy, rel=1e-10)
    np.testing.assert_allclose(ours.forces, theirs.forces, rtol=0, atol=1e-9)


@pytest.mark.long
def test_forces_are_the_gradient_everywhere(tmp_path):
    forcefield = StillingerWeberMod(written(tmp_path), maxdelcs=(0.1, 0.6))
    found = check_forcefield(forcefield, ["C", "Si"], clusters=3)
    assert found.ok, str(found)
