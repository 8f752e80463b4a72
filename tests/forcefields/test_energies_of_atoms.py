"""Whose energy it is: energies of atoms against the rule on each force field's page, written out in NumPy."""

from itertools import combinations, permutations

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.tersoff import Tersoff as AseTersoff
from declared import ANGLE_VALUES, MORSE_VALUES, angle, morse
from pages import ROOT

from taichimd import AxilrodTeller, LennardJones, ReaxFF, TaichiMD
from taichimd.forcefields import library
from taichimd.forcefields.formats.sw import read_sw
from taichimd.forcefields.formats.tersoff import read_tersoff
from taichimd.forcefields.formats.vashishta import read_vashishta
from taichimd.forcefields.reaxff.arrays import TERMS
from taichimd.program.engine import Engine

X = np.array([[0.0, 0.0, 0.0], [2.3, 0.1, 0.0], [-0.7, 2.2, 0.3], [1.2, 1.9, 2.1], [4.1, 1.3, 0.4]])
"""Angstrom: a cluster without symmetry, whose atoms have two to four neighbours."""
R = np.linalg.norm(X[:, None] - X[None], axis=-1)


def cosine(i, j, k):
    return (X[j] - X[i]) @ (X[k] - X[i]) / (R[i, j] * R[i, k])


def of(atoms, forcefield):
    atoms.calc = TaichiMD(forcefield)
    return atoms.get_potential_energies()


def energies(forcefield, element="Si"):
    return of(Atoms([element] * len(X), X), forcefield)


def halves(u, cutoff):
    """Each pair belongs to both atoms, in halves."""
    found = np.zeros(len(X))
    for i, j in permutations(range(len(X)), 2):
        if R[i, j] < cutoff:
            found[i] += 0.5 * u(R[i, j])
    return found


def centres(h, cutoff):
    """Each angle belongs to the atom in the middle."""
    found = np.zeros(len(X))
    for i in range(len(X)):
        for j, k in combinations([j for j in range(len(X)) if j != i and R[i, j] < cutoff], 2):
            found[i] += h(R[i, j], R[i, k], cosine(i, j, k))
    return found


def same(found, expected):
    assert np.ptp(expected) > 1e-3 * abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_pairs_of_lennard_jones_in_halves():
    epsilon, sigma = 0.3, 2.1
    found = energies(LennardJones(epsilon=epsilon, sigma=sigma, cutoff=4.0))
    same(found, halves(lambda r: 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6), 4.0))


def tersoff_half_bonds():
    """(n, n): half of the bond i-j's energy, with the bond order of i."""
    p = read_tersoff(library.find("Si.tersoff")).entries["Si", "Si", "Si"]

    def f(r):
        inside = 0.5 - 0.5 * np.sin(0.5 * np.pi * (r - p.R) / p.D)
        return 1.0 if r < p.R - p.D else 0.0 if r > p.R + p.D else inside

    found = np.zeros_like(R)
    for i, j in permutations(range(len(X)), 2):
        zeta = 0.0
        for k in set(range(len(X))) - {i, j}:
            h = cosine(i, j, k) - p.costheta0
            g = p.gamma * (1.0 + p.c**2 / p.d**2 - p.c**2 / (p.d**2 + h * h))
            zeta += f(R[i, k]) * g * np.exp((p.lambda3 * (R[i, j] - R[i, k])) ** p.m)
        b = (1.0 + (p.beta * zeta) ** p.n) ** (-0.5 / p.n)
        pair = p.A * np.exp(-p.lambda1 * R[i, j]) - b * p.B * np.exp(-p.lambda2 * R[i, j])
        found[i, j] = 0.5 * f(R[i, j]) * pair
    return found


def test_half_bonds_of_tersoff_belong_to_the_atom_whose_bond_order_it_is():
    half = tersoff_half_bonds()
    found = energies("Si.tersoff")
    same(found, half.sum(axis=1))

    # ASE and LAMMPS divide each half-bond once more.
    theirs = Atoms("Si5", X, cell=[30, 30, 30], pbc=True)
    theirs.calc = AseTersoff.from_lammps(library.find("Si.tersoff"))
    np.testing.assert_allclose(
        theirs.get_potential_energies(), 0.5 * (half.sum(axis=1) + half.sum(axis=0)), rtol=1e-10
    )
    assert abs(theirs.get_potential_energies() - found).max() > 0.01
    assert theirs.get_potential_energy() == pytest.approx(found.sum(), rel=1e-12)


def test_angles_of_stillinger_and_weber_belong_to_their_centre():
    p = read_sw(library.find("Si.sw")).entries["Si", "Si", "Si"]

    def pair(r):
        s = p.sigma / r
        decay = np.exp(p.sigma / (r - p.a * p.sigma))
        return p.A * p.epsilon * (p.B * s**p.p - s**p.q) * decay

    def body(r, q, cos):
        decay = np.exp(p.gamma * p.sigma * (1 / (r - p.a * p.sigma) + 1 / (q - p.a * p.sigma)))
        return p.lam * p.epsilon * (cos - p.costheta0) ** 2 * decay

    same(energies("Si.sw"), halves(pair, p.end) + centres(body, p.end))


@pytest.mark.parametrize(("name", "end"), [("SiC_2007.vashishta", "C"), ("SiO2_1990.vashishta", "O")])
def test_angles_of_vashishta_belong_to_their_centre(name, end):
    """The form with C and the form without; pairs are those of dimers."""
    x = np.array([[0, 0, 0], [1.6, 0, 0], [0.5, 1.5, 0.2]])
    symbols = ["Si", end, end]
    found = np.array(of(Atoms(symbols, x), name))
    for i, j in combinations(range(3), 2):
        dimer = of(Atoms([symbols[i], symbols[j]], x[[i, j]]), name)
        assert dimer[0] == pytest.approx(dimer[1], rel=1e-12)
        found[[i, j]] -= dimer

    entries = read_vashishta(library.find(name)).entries
    pair, triple = entries["Si", end, end], entries["Si", end, end]
    r, q = np.linalg.norm(x[1:], axis=1)
    cos = (x[1] @ x[2] / (r * q) - triple.costheta0) ** 2
    decay = np.exp(pair.gamma / (r - pair.r0) + pair.gamma / (q - pair.r0))
    expected = triple.B * cos / (1.0 + triple.C * cos) * decay
    assert expected > 1e-3
    np.testing.assert_allclose(found, [expected, 0.0, 0.0], rtol=1e-10, atol=1e-12)


def test_triples_of_axilrod_and_teller_in_thirds():
    nu = 45.0
    found = np.zeros(len(X))
    for i, j, k in combinations(range(len(X)), 3):
        cosines = cosine(i, j, k) * cosine(j, i, k) * cosine(k, i, j)
        found[[i, j, k]] += nu * (1.0 + 3.0 * cosines) / (R[i, j] * R[i, k] * R[j, k]) ** 3 / 3.0
    same(energies(AxilrodTeller(nu=nu), "Ar"), found)


def test_declared_functions():
    m, a = MORSE_VALUES, ANGLE_VALUES

    def pair(r):
        x = np.exp(-m["width"] * (r - m["r0"]))
        return m["depth"] * (x * x - 2.0 * x)

    def body(r, q, cos):
        decay = np.exp(a["decay"] * (1.0 / (r - a["cutoff"]) + 1.0 / (q - a["cutoff"])))
        return a["strength"] * (cos - a["cos0"]) ** 2 * decay

    same(energies(morse(**m)), halves(pair, m["cutoff"]))
    same(energies(angle(**a)), centres(body, a["cutoff"]))


def reaxff_terms(atoms, file):
    """{term: (n,) eV}"""
    engine = Engine(atoms, ReaxFF(file))
    engine.evaluate()
    (evaluator,) = [one for one in engine.device.evaluators if hasattr(one, "terms")]
    values = evaluator._bonded.bonds.terms.to_numpy().reshape(len(TERMS), len(atoms))
    order = engine.device.state.sorted_of.to_numpy()
    return dict(zip(TERMS, values[:, order], strict=True))


PAIRS = ((0, 1), (0, 2), (1, 2))


@pytest.mark.long
def test_terms_of_reaxff():
    water = Atoms(
        "OHH", [[0, 0, 0], [1.02, 0, 0], [-1.0, 0.3, 0.1]]
    )  # so wide that nearly no bond joins the hydrogens
    found = reaxff_terms(water, "CHO.ffield")
    assert abs(found["angle"][0]) > 1e-3
    assert not found["angle"][1:].any()
    assert found["bond"][0] == pytest.approx(found["bond"][1:].sum(), rel=1e-3)
    # Van der Waals: halves of each of the three pairs.
    pairs = {pair: reaxff_terms(water[list(pair)], "CHO.ffield")["van der Waals"] for pair in PAIRS}
    halves = np.zeros(3)
    for pair, (one, other) in pairs.items():
        assert one == pytest.approx(other, rel=1e-12)
        halves[list(pair)] += one
    np.testing.assert_allclose(found["van der Waals"], halves, rtol=1e-9)
    total = sum(found.values())
    water.calc = TaichiMD("CHO.ffield")
    np.testing.assert_allclose(total, water.get_potential_energies(), rtol=1e-12)

    peroxide = Atoms("HOOH", [[-0.2, 0.9, 0.3], [0, 0, 0], [1.45, 0, 0], [1.65, -0.4, 0.85]])
    torsion = reaxff_terms(peroxide, "CHO.ffield")["torsion"]
    assert abs(torsion[1]) > 1e-4
    # Weak bonds between others than neighbours have torsions of their own, a hundredth of this one.
    assert torsion[1] == pytest.approx(torsion[2], rel=1e-3)
    assert abs(torsion[[0, 3]]).max() < 0.02 * abs(torsion[1])

    dimer = water + Atoms("OHH", [[2.8, 0.1, 0], [3.2, 0.8, 0.3], [3.1, -0.8, 0.2]])
    hydrogen = reaxff_terms(dimer, "CHO.ffield")["hydrogen bond"]
    assert abs(hydrogen[1]) > 1e-4
    assert not hydrogen[[0, 3]].any()


@pytest.mark.parametrize(
    "name", ["axilrod_teller", "lennard_jones", "own", "reaxff", "stillinger_weber", "tersoff", "vashishta"]
)
def test_every_page_says_whose_energy_it_is(name):
    assert "\n## Energies of atoms\n" in (ROOT / "docs" / "forcefields" / f"{name}.md").read_text()
