"""A bond-order term of one's own: the numbers of a shipped file, and mistakes in one line."""

import numpy as np
import pytest
from own_tersoff import PARAMS, angle, cutoff, silicon

from taichimd import bond_order, load_forcefield, testing
from taichimd.core.errors import SettingsError
from taichimd.program.engine import Engine


def test_tersoff_in_three_functions_has_the_forces_of_the_file():
    atoms = testing.silicon_cluster()
    own = Engine(atoms, silicon, backend="cpu").evaluate()
    file = Engine(atoms, load_forcefield("Si_1989.tersoff"), backend="cpu").evaluate()
    assert own.energy == pytest.approx(file.energy, rel=1e-12)
    np.testing.assert_allclose(own.forces, file.forces, rtol=0, atol=1e-11)
    np.testing.assert_allclose(own.virials, file.virials, rtol=0, atol=1e-10)


def energy(r, f, zeta, p):
    return f * p.A


def misspelt(r, f, zeta, p):
    return f * p.a0


WHOLE = {"cutoff": cutoff, "zeta": angle, "bond": energy, "params": PARAMS, "derive": True}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"bond": misspelt}, "p has no 'a0'"),
        ({"zeta": cutoff}, "takes 2 arguments.*expected 4: r_ij, r_ik, cos_jik, p"),
        ({"derive": False}, "returns 1 value, expected z, dz/dr_ij, dz/dr_ik, dz/dcos, or z alone"),
        ({"params": {"cutoff": "Å"}}, "'cutoff' is added by itself"),
    ],
)
def test_mistakes_are_one_line(given, expected):
    with pytest.raises(SettingsError, match=expected) as caught:
        bond_order("mine", **{**WHOLE, **given})
    assert "\n" not in str(caught.value)
