"""Energies, forces, stress and a short trajectory against LAMMPS, on structures without symmetry."""

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk, make_supercell

from taichimd import testing
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.forcefields.library import shipped
from taichimd.forcefields.load import load_forcefield
from taichimd.lammps.reference import lammps_evaluate, lammps_nve
from taichimd.program.engine import Engine

pytestmark = pytest.mark.lammps

ENERGY_RELATIVE = 1e-10
FORCE = 1e-8
"""eV/angstrom"""
STRESS = 1e-10
"""eV/angstrom^3"""
VIRIAL = 1e-8
"""eV"""

CUTOFF = 8.5
LAMMPS_TRUNCATION = {
    "truncated": (f"lj/cut {CUTOFF}", ()),
    "energy-shifted": (f"lj/cut {CUTOFF}", ("shift yes",)),
    "force-shifted": (f"lj/smooth/linear {CUTOFF}", ()),
}
ARGON_COEFF = f"1 1 {testing.ARGON['epsilon']!r} {testing.ARGON['sigma']!r}"
TRIPLE_FILES = [file for file in shipped() if file.kind in ("tersoff", "sw", "vashishta")]


def _assert_agrees(atoms, forcefield, reference, *, per_atom=False):
    """One evaluation against LAMMPS.

    Per-atom energies are compared for pairs only: LAMMPS gives half of the Tersoff bond energy seen from i
    to its partner j, we leave it at i, and b_ij is not b_ji.
    """
    found = Engine(atoms, forcefield, backend="cpu").evaluate()
    assert found.energy == pytest.approx(reference.energy, rel=ENERGY_RELATIVE), "energy"
    np.testing.assert_allclose(found.forces, reference.forces, rtol=0, atol=FORCE, err_msg="forces")
    assert found.energies.sum() == pytest.approx(found.energy, rel=1e-12), "per-atom energies do not add up"
    if per_atom:
        np.testing.assert_allclose(found.energies, reference.energies, rtol=0, atol=FORCE, err_msg="energies")
    virial = found.virials.sum(axis=0)
    virial = 0.5 * (virial + virial.T)
    np.testing.assert_allclose(virial, reference.virial, rtol=1e-10, atol=VIRIAL, err_msg="virial")
    if reference.stress is not None:
        np.testing.assert_allclose(found.stress, reference.stress, rtol=0, atol=STRESS, err_msg="stress")
    return found


def _from_file(name):
    """A force field of ours, and LAMMPS's of the same file."""
    forcefield = load_forcefield(name)
    style = forcefield.source.rsplit(".", 1)[1]
    return forcefield, (style, (f'* * "{forcefield.source}" {{elements}}',))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (testing.silicon_216, "Si.tersoff"),
        (testing.silicon_carbide_512, "SiC_1989.tersoff"),
        (testing.silicon_triclinic, "Si.tersoff"),
        (testing.silicon_cluster, "Si.tersoff"),
        (testing.silicon_slab, "Si.tersoff"),
        (testing.silicon_primitive_displaced, "Si.tersoff"),
        (testing.silicon_216, "Si.sw"),
        (testing.silicon_triclinic, "Si.sw"),
        (testing.silicon_cluster, "Si.sw"),
        (testing.silicon_slab, "Si.sw"),
        (testing.silicon_primitive_displaced, "Si.sw"),
        (testing.gallium_nitride_wurtzite, "GaN_2006.sw"),
        (testing.silica_192, "SiO2_1990.vashishta"),
        (testing.silica_hot, "SiO2_1990.vashishta"),
        (testing.silica_triclinic, "SiO2_1990.vashishta"),
        (testing.silica_cluster, "SiO2_1990.vashishta"),
        (testing.silicon_carbide_512, "SiC_2007.vashishta"),
        (testing.indium_phosphide, "InP_2009.vashishta"),
    ],
)
def test_many_body_potential_agrees_with_lammps(build, name):
    atoms = build()
    forcefield, lammps = _from_file(name)
    _assert_agrees(atoms, forcefield, lammps_evaluate(atoms, *lammps))


def _alloy(elements, a=4.6):
    """A random alloy of all these elements, displaced."""
    atoms = bulk("C", "diamond", a=a, cubic=True).repeat(2)
    rng = np.random.default_rng(11)
    atoms.symbols[:] = rng.choice(elements, len(atoms))
    atoms.symbols[: len(elements)] = list(elements)
    atoms.positions += 0.1 * rng.standard_normal((len(atoms), 3))
    return atoms


@pytest.mark.parametrize("file", TRIPLE_FILES, ids=lambda file: file.name)
def test_lammps_reads_every_shipped_file_of_triples(file):
    """Every triple of elements of every file: a random alloy of all its elements, in both programs."""
    atoms = _alloy(file.elements)
    forcefield, lammps = _from_file(file.name)
    _assert_agrees(atoms, forcefield, lammps_evaluate(atoms, *lammps))


SW = "Si Si Si  2.1683 2.0951 1.8 21 {gamma} -0.333333333333 7.049556277 0.6022245584 {p} {q} {tol}\n"
SW_VARIANTS = {
    "other powers": {"p": 5.5, "q": 1.25},
    "another p": {"p": 6},
    "tol": {"tol": 1e-3},
    "tol of a slow angle": {"tol": 2e-6, "gamma": 0.6},
    "tol beyond its limit": {"tol": 0.3},
}


@pytest.mark.parametrize("name", SW_VARIANTS)
def test_stillinger_weber_of_every_column_agrees_with_lammps(name, tmp_path):
    """What no shipped file has; atoms stand close enough for terms to end between them."""
    file = tmp_path / f"{name}.sw"
    file.write_text(SW.format(**{"gamma": 1.2, "p": 4, "q": 0, "tol": 0} | SW_VARIANTS[name]))
    atoms = testing.silicon_cluster()
    atoms.positions *= 0.88
    forcefield, lammps = _from_file(file)
    gaps = forcefield.cutoff - atoms.get_all_distances()
    assert ((gaps > 0) & (gaps < 0.2)).sum() > 20
    assert ((gaps < 0) & (gaps > -0.2)).sum() > 20
    _assert_agrees(atoms, forcefield, lammps_evaluate(atoms, *lammps))


def test_stillinger_weber_with_angles_and_pairs_left_out(tmp_path):
    """Zeros switch terms off: angles (lambda, epsilon), a pair (A), all of a pair (sigma); no gap shows."""
    rows = {
        "Si Si Si": "2.1683 2.0951 1.8 21 1.2 -0.3333 7.0496 0.6022",
        "C C C": "1.9 1.5 1.9 0 1.1 -0.3 6.1 0.61",
        "Si C C": "2.0 1.7 1.85 18 1.15 -0.4 0 0.6",
        "C Si Si": "2.0 1.7 1.85 0 1.3 -0.3333 0 0.6",
        "Si Si C": "0 0 0 1 0 0.5 0 0",
        "Si C Si": "1 0 0 0 0 -0.5 0 0",
        "C Si C": "1.1 0 0 11 0 -0.2 0 0",
        "C C Si": "2.2 0 0 5.5 0 -0.2 0 0",
    }
    rows |= dict.fromkeys(("Ge Ge Ge", "Ge C C", "C Ge Ge"), "0 0 0 1 1 0 0 0")
    rows |= {"Ge Si Si": "1.9 2.1 1.8 20 1.2 -0.3 7.0 0.6", "Si Ge Ge": "1.9 2.1 1.8 21 1.1 -0.3 7.0 0.6"}
    elements = ("C", "Ge", "Si")
    for i, j, k in np.ndindex(3, 3, 3):
        rows.setdefault(f"{elements[i]} {elements[j]} {elements[k]}", "1.5 0 0 9 0 -0.3 0 0")
    file = tmp_path / "SiGeC.sw"
    file.write_text("".join(f"{key}  {row} 4 0 0\n" for key, row in rows.items()))
    atoms = _alloy(("Si", "C", "Ge"), a=4.9)
    forcefield, lammps = _from_file(file)
    _assert_agrees(atoms, forcefield, lammps_evaluate(atoms, *lammps))
    small = _alloy(("C", "Ge"), a=4.9)
    _assert_agrees(small, forcefield, lammps_evaluate(small, *lammps))


@pytest.mark.parametrize("name", ["Si.tersoff", "Si.sw"])
@pytest.mark.parametrize(
    "build",
    [lambda: bulk("Si"), testing.silicon_primitive_displaced],
    ids=["perfect", "displaced"],
)
def test_primitive_cell_equals_its_supercell(build, name):
    """Two atoms and their images are the same crystal as 128 atoms: a minimum-image code fails here."""
    small, large = build(), make_supercell(build(), 4 * np.eye(3, dtype=int))
    forcefield, lammps = _from_file(name)
    one = Engine(small, forcefield, backend="cpu").evaluate()
    many = _assert_agrees(large, forcefield, lammps_evaluate(large, *lammps))
    assert one.energy / 2 == pytest.approx(many.energy / 128, rel=1e-13)
    np.testing.assert_allclose(
        np.sort(np.tile(one.forces, (64, 1)), axis=0), np.sort(many.forces, axis=0), atol=1e-12
    )
    np.testing.assert_allclose(one.stress, many.stress, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "a", "energy", "digits"),
    [("Si.tersoff", 5.43, -4.630, 5e-4), ("Si.sw", 5.432, -4.33659787, 5e-9)],
)
def test_primitive_cell_has_the_published_energy(name, a, energy, digits):
    found = Engine(bulk("Si", a=a), load_forcefield(name), backend="cpu").evaluate()
    assert found.energy / 2 == pytest.approx(energy, abs=digits)


@pytest.mark.parametrize("truncation", LAMMPS_TRUNCATION)
def test_lennard_jones_agrees_with_lammps(truncation):
    atoms = testing.argon_256()
    style, modify = LAMMPS_TRUNCATION[truncation]
    reference = lammps_evaluate(atoms, style, (ARGON_COEFF,), pair_modify=modify)
    forcefield = LennardJones(**testing.ARGON, cutoff=CUTOFF, truncation=truncation)
    _assert_agrees(atoms, forcefield, reference, per_atom=True)


@pytest.mark.parametrize("enumeration", ["neighbours", "all-pairs"])
def test_free_argon_agrees_with_lammps(enumeration):
    atoms = testing.argon_256()
    atoms = Atoms(atoms.symbols, atoms.positions)
    forcefield = LennardJones(**testing.ARGON, cutoff=CUTOFF, enumeration=enumeration)
    _assert_agrees(
        atoms, forcefield, lammps_evaluate(atoms, f"lj/cut {CUTOFF}", (ARGON_COEFF,)), per_atom=True
    )


@pytest.mark.parametrize(
    ("mixing", "lammps_mixing"), [("lorentz-berthelot", "arithmetic"), ("geometric", "geometric")]
)
def test_lennard_jones_mixture_agrees_with_lammps(mixing, lammps_mixing):
    """Different sigma, epsilon and cutoff: all three are mixed."""
    atoms = testing.argon_krypton_108()
    rows = {
        "Ar": {"epsilon": 0.0104, "sigma": 3.40, "cutoff": 8.0},
        "Kr": {"epsilon": 0.0140, "sigma": 3.65, "cutoff": 9.1},
    }
    coefficients = [
        f"{n} {n} {r['epsilon']} {r['sigma']} {r['cutoff']}" for n, r in enumerate(rows.values(), 1)
    ]
    modify = (f"mix {lammps_mixing}", "shift yes")
    reference = lammps_evaluate(atoms, "lj/cut 10.0", coefficients, pair_modify=modify)
    forcefield = LennardJones(pairs=rows, mixing=mixing, truncation="energy-shifted")
    _assert_agrees(atoms, forcefield, reference, per_atom=True)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (testing.silicon_216, "Si.tersoff"),
        (testing.silicon_cluster, "Si.tersoff"),
        (testing.silicon_216, "Si.sw"),
        (testing.silica_192, "SiO2_1990.vashishta"),
    ],
)
def test_twenty_steps_agree_with_lammps(build, name):
    """Same positions after 20 steps: constants of LAMMPS's units cancel, see `lammps_nve`."""
    atoms = testing.with_velocities(build(), 900.0, seed=12)
    forcefield, lammps = _from_file(name)
    timestep = 1.0 * units.fs
    reference = lammps_nve(atoms, *lammps, n_steps=20, timestep=timestep)
    engine = Engine(atoms, forcefield, backend="cpu")
    engine.advance(20, timestep)
    assert np.abs(engine.positions() - atoms.positions).max() > 0.05, (
        "nothing moved: the test would prove nothing"
    )
    np.testing.assert_allclose(
        engine.positions(), reference.positions, rtol=0, atol=1e-11, err_msg="positions"
    )
    np.testing.assert_allclose(
        engine.velocities(), reference.velocities, rtol=0, atol=1e-10, err_msg="velocities"
    )
    np.testing.assert_allclose(engine.forces(), reference.forces, rtol=0, atol=FORCE, err_msg="forces")
