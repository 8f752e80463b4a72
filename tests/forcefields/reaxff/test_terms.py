"""Forces of each term of ReaxFF as the derivative of its energy at fixed charges, for all constants."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import reaxff_samples as samples
from peers import path_of
from reaxff_dense import Dense

from taichimd import LennardJones, check_forcefield, load_forcefield
from taichimd.forcefields.reaxff import forcefield
from taichimd.forcefields.reaxff.arrays import TERMS
from taichimd.forcefields.reaxff.evaluator import FIRST_NONBONDED
from taichimd.forcefields.reaxff.options import CONSTANTS
from taichimd.forcefields.reaxff.parameters import ANGLE, ATOM, HYDROGEN, PAIR, TORSION
from taichimd.program.engine import Engine

H = 1e-5
"""angstrom"""
STENCIL = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))
COLUMNS = {"atom": ATOM, "pair": PAIR, "angle": ANGLE, "torsion": TORSION, "hydrogen": HYDROGEN}
SCALES = {
    "bond": "De_s De_p De_pp p_trip1",
    "over and undercoordination": "p_ovun1 p_ovun5",
    "lone pair": "p_lp2 k_c2",
    "angle": "p_val1",
    "penalty": "p_pen1",
    "coalition": "p_coa1",
    "hydrogen bond": "p_hb1",
    "torsion": "V1 V2 V3",
    "conjugation": "p_cot1",
    "van der Waals": "D e_core",
}
"""Parameters to which each term is proportional."""
FILE = "CHON.ffield"


def only(term, parameters):
    """Parameters that leave one term of these, or none."""
    found = replace(parameters, general=dict(parameters.general))
    for table in COLUMNS:
        object.__setattr__(found, table, getattr(parameters, table).copy())
    for other, names in SCALES.items():
        for name in names.split() if other != term else ():
            # The sum of overcoordination is of p_ovun1 De_s: without bonds it keeps its value.
            scale = 1e-30 if (term, name) == ("over and undercoordination", "De_s") else 0.0
            if name in found.general:
                found.general[name] = 0.0
            for table, columns in COLUMNS.items():
                if name in columns:
                    getattr(found, table)[..., columns.index(name)] *= scale
    if term == "over and undercoordination":
        found.pair[..., PAIR.index("p_ovun1")] *= 1e30
    if term in ("penalty", "coalition"):  # below 1e-3 eV/angstrom in this box
        found.angle[..., ANGLE.index(SCALES[term])] *= 1e4
    return found


@functools.cache
def engine_of(term, constants):
    plain = forcefield.tables
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forcefield, "tables", lambda *args: only(term, plain(*args)))
        options = {"constants": constants, "charge_tolerance": 1e-13}
        return Engine(samples.chon(), forcefield.ReaxFF(FILE, **options), backend="cpu")


def slopes(values, positions, directions):
    """Derivatives along directions of what is the sum of `values(positions)`."""
    first = values(positions)
    return [
        # Differences of atoms first: sums of large numbers would cost digits.
        sum(w * (values(positions + k * H * u) - first).sum() for k, w in STENCIL) / H
        for u in directions
    ]


def some_directions(forces):
    """Coordinates of the atoms with the largest forces, and two random directions of all."""
    rng, n = np.random.default_rng(2), len(forces)
    strongest = np.argsort(-np.linalg.norm(forces, axis=1))[:3]
    found = [np.eye(3 * n)[3 * i + abs(forces[i]).argmax()] for i in strongest]
    found += [v / np.linalg.norm(v) for v in rng.standard_normal((2, 3 * n))]
    return [one.reshape(n, 3) for one in found]


@pytest.mark.parametrize("term", SCALES)
def test_forces_of_each_term_are_its_derivative(term):
    forces = {c: engine_of(term, c).forces() - engine_of(None, c).forces() for c in CONSTANTS}
    directions = some_directions(forces["lammps"])
    engine = engine_of(term, "lammps")
    evaluator, positions = engine.device.evaluators[0], engine.positions()

    def values(moved):
        engine.set_state(positions=moved)
        engine.evaluate()
        found = evaluator._bonded.bonds.terms.to_numpy().reshape(len(TERMS), -1)
        rest = np.delete(found[: FIRST_NONBONDED + 1], TERMS.index(term), axis=0)
        assert abs(rest).max() < 1e-20, "another term acts"
        return found[TERMS.index(term), engine.device.state.sorted_of.to_numpy()]

    expected = slopes(values, positions, directions)
    engine.set_state(positions=positions)
    for constants, found in forces.items():
        along = [-(found * u).sum() for u in directions]
        np.testing.assert_allclose(along, expected, rtol=0, atol=1e-7, err_msg=constants)
    assert abs(np.array(expected)).max() > 1e-3


@pytest.mark.parametrize("constants", CONSTANTS)
def test_coulomb_forces_are_its_derivative_at_fixed_charges(constants):
    engine = engine_of(None, constants)
    forces, atoms, q = engine.forces(), samples.chon(), engine.evaluate().charges
    dense = Dense(path_of(FILE), atoms)
    coulomb = CONSTANTS[constants].coulomb / 2
    directions = some_directions(forces)

    def values(positions):
        return coulomb * q * (dense.screening(positions, atoms.cell.array) @ q)

    expected = slopes(values, atoms.positions, directions)
    np.testing.assert_allclose(
        [-(forces * u).sum() for u in directions], expected, rtol=0, atol=1e-7, err_msg=constants
    )
    assert abs(np.array(expected)).max() > 0.1


def test_check_of_a_sum_solves_charges_anew_and_says_so():
    light = LennardJones(pairs={pair: {"epsilon": 0.01, "sigma": 2.0, "cutoff": 6.0} for pair in ("O", "H")})
    found = check_forcefield(load_forcefield(["H2O.ffield", light]), clusters=2)
    assert found.ok
    assert "charges are solved again for each difference, with constants=consistent" in str(found)
    assert "charges" not in str(check_forcefield(light, ["O"], clusters=1))
