"""Axilrod-Teller: all triples and those within a cutoff, against NumPy and LAMMPS; files; what is refused."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from triples import brute_force, trace_form

from taichimd import (
    AxilrodTeller,
    BerendsenNPT,
    Engine,
    LennardJones,
    Simulation,
    check_forcefield,
    load_forcefield,
    relax,
)
from taichimd.core.errors import MissingParameterError, ParameterFileError, SettingsError, StructureError
from taichimd.enumerate import near_triangles
from taichimd.lammps.reference import lammps_evaluate

NU = 45.69
PURE = {"Ar": 45.69, "Kr": 137.6, "Xe": 457.0}
MIXED = {
    triple: float(np.prod([PURE[s] for s in triple]) ** (1 / 3))
    for triple in combinations_with_replacement(sorted(PURE), 3)
}


def cloud(n, length, seed, symbols=("Ar",), least=2.8, pbc=False):
    """Atoms at random places of a cube, none closer than that."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < n:
        x = rng.uniform(0, length, 3)
        gaps = np.array(found).reshape(-1, 3) - x
        if pbc:
            gaps -= length * np.round(gaps / length)
        if not found or np.linalg.norm(gaps, axis=1).min() > least:
            found.append(x)
    return Atoms(rng.choice(symbols, n), found, cell=[length] * 3 if pbc else None, pbc=pbc)


def evaluated(atoms, forcefield, **options):
    return Engine(atoms, forcefield, backend="cpu", **options).evaluate()


def close(found, expected, tol=1e-12):
    """Relative to the largest component."""
    expected = np.asarray(expected)
    assert np.abs(np.asarray(found) - expected).max() <= tol * np.abs(expected).max()


def one(*_):
    return NU


def mixed(*symbols):
    return MIXED[tuple(sorted(symbols))]


def agrees(found, expected, tol=1e-12):
    energy, energies, forces, virials = expected
    close(found.energy, energy, tol)
    close(found.energies, energies, tol)
    close(found.forces, forces, tol)
    if virials is not None:
        close(found.virials, virials, tol)


def test_exact_triples():
    """11/8 nu/r^9 of an equilateral triangle, -2 nu/(r^6 (2r)^3) of a row."""
    r = 3.8
    equilateral = Atoms("Ar3", [[0, 0, 0], [r, 0, 0], [r / 2, r * 3**0.5 / 2, 0]])
    row = Atoms("Ar3", [[0, 0, 0], [r, 0, 0], [2 * r, 0, 0]])
    close(evaluated(equilateral, AxilrodTeller()).energy, 11 / 8 * NU / r**9, 1e-14)
    close(evaluated(row, AxilrodTeller()).energy, -2 * NU / (r**6 * (2 * r) ** 3), 1e-14)


@pytest.mark.parametrize("enumeration", ["all-triples", "direct"])
def test_all_triples_of_several_species(enumeration):
    atoms = cloud(24, 12.0, 2, list(PURE))
    agrees(evaluated(atoms, AxilrodTeller(MIXED, enumeration=enumeration)), brute_force(atoms, mixed))


@pytest.mark.parametrize("enumeration", ["all-triples", "direct"])
def test_all_triples_of_hundreds_of_atoms(enumeration):
    atoms = cloud(150, 25.0, 3)
    found = evaluated(atoms, AxilrodTeller(NU, enumeration=enumeration))
    agrees(found, trace_form(atoms.positions, NU))
    close(np.trace(found.virials.sum(axis=0)), 9 * found.energy)


CELLS = {
    "cluster": (cloud(30, 12.0, 4), 8.0, None),
    "cluster, product": (cloud(30, 12.0, 4), 9.0, 5.5),
    "cube": (cloud(60, 15.0, 5, pbc=True), 6.0, None),
    "cube, product": (cloud(60, 15.0, 5, pbc=True), 7.0, 5.0),
    "beyond half the box": (bulk("Ar", "fcc", a=5.3, cubic=True), 9.0, None),
    "two species": (cloud(50, 14.0, 6, ["Ar", "Kr"], pbc=True), 5.8, None),
}


def structure(name):
    atoms, cutoff, product = CELLS[name]
    atoms = atoms.copy()
    atoms.rattle(0.1, seed=7)
    if name == "cube":
        atoms.set_cell([[15, 0, 0], [4, 15, 0], [-3, 2, 16]], scale_atoms=True)
        atoms.pbc = True, True, False
    return atoms, cutoff, product


@pytest.mark.parametrize("name", CELLS)
def test_triangles_within_a_cutoff(name):
    atoms, cutoff, product = structure(name)
    found = evaluated(atoms, AxilrodTeller(MIXED, cutoff, product))
    agrees(found, brute_force(atoms, mixed, cutoff, product or np.inf))


@pytest.mark.lammps
@pytest.mark.parametrize("name", CELLS)
def test_lammps_agrees(name):
    atoms, cutoff, product = structure(name)
    species = sorted(set(atoms.get_chemical_symbols()))
    coefficients = [
        " ".join(str(species.index(s) + 1) for s in triple) + f" {MIXED[triple]!r}"
        for triple in combinations_with_replacement(species, 3)
    ]
    reference = lammps_evaluate(atoms, f"atm {cutoff} {product or cutoff}", coefficients)
    found = evaluated(atoms, AxilrodTeller(MIXED, cutoff, product))
    close(found.energy, reference.energy, 1e-10)
    close(found.energies, reference.energies, 1e-10)
    close(found.forces, reference.forces, 1e-10)
    close(found.virials.sum(axis=0), reference.virial, 1e-10)


def test_a_large_cutoff_is_none():
    atoms = cloud(30, 12.0, 4)
    everything, near = evaluated(atoms, AxilrodTeller()), evaluated(atoms, AxilrodTeller(cutoff=60.0))
    close(everything.forces, near.forces)
    close(everything.energies, near.energies)


def test_bits_do_not_depend_on_where_atoms_stand():
    """Another skin is another list and another spatial order."""
    atoms = cloud(60, 15.0, 5, pbc=True)
    for cutoff in (6.0, None):
        atoms.pbc = cutoff is not None
        terms = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=6.0) + AxilrodTeller(cutoff=cutoff)
        first, second = evaluated(atoms, terms, skin=0.3), evaluated(atoms, terms, skin=2.0)
        assert np.array_equal(first.forces, second.forces)
        assert np.array_equal(first.virials, second.virials)
        assert first.energy == second.energy


def test_bits_do_not_depend_on_how_threads_share_atoms(monkeypatch):
    """Few atoms are dealt one by one, many in pieces; a row is longer than what is computed side by side."""
    atoms = cloud(203, 24.0, 5, symbols=["Ar", "Kr", "Xe"], least=3.0, pbc=True)
    forcefield = AxilrodTeller(MIXED, 9.0, 7.5)
    few = evaluated(atoms, forcefield)
    near_triangles.near_triangle_kernel.cache_clear()
    monkeypatch.setattr(near_triangles, "FEW", 100)
    many = evaluated(atoms, forcefield)
    near_triangles.near_triangle_kernel.cache_clear()
    for name in ("forces", "energies", "virials"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))


@pytest.mark.parametrize("cutoff", [8.0, None])
def test_restarts_and_pieces_have_the_same_bits(tmp_path, cutoff):
    """Of a run with a moving cell, whose steps need virials, and of an open drop."""
    atoms = bulk("Ar", "fcc", a=5.3, cubic=True).repeat(2)
    atoms.pbc = cutoff is not None
    terms = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=8.0) + AxilrodTeller(cutoff=cutoff)
    ensemble = cutoff and BerendsenNPT(40.0, pressure=0.05, bulk_modulus=2.0)

    def begun():
        return Simulation(
            atoms, terms, timestep=4.0, temperature=40, seed=2, ensemble=ensemble or None, backend="cpu"
        )

    whole, parts = begun(), begun()
    whole.run(60)
    parts.run(23)
    parts.save(tmp_path / "half.npz")
    again = Simulation.load(tmp_path / "half.npz", terms)
    again.run(37)
    assert np.array_equal(whole.positions(), again.positions())
    assert np.array_equal(whole.forces(), again.forces())
    assert whole.energy() == again.energy()


@pytest.mark.parametrize("cutoff", [7.0, None])
def test_energy_is_conserved(cutoff):
    """Of a drop of argon: a wrong force would heat it; steps and evaluations use the same forces."""
    drop = bulk("Ar", "fcc", a=5.3, cubic=True).repeat(2)
    drop.pbc = False
    terms = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=30.0) + AxilrodTeller(cutoff=cutoff and 30.0)
    simulation = Simulation(drop, terms, timestep=2.0, temperature=20, backend="cpu")
    before = simulation.thermo()
    simulation.run(200)
    after = simulation.thermo()
    total = [one.potential + one.kinetic for one in (before, after)]
    assert abs(before.kinetic - after.kinetic) > 1e-3
    assert abs(total[1] - total[0]) < 2e-4 * before.kinetic


@pytest.mark.parametrize(("precision", "tol"), [("float32", 2e-5), ("mixed", 1e-12)])
@pytest.mark.parametrize("cutoff", [8.0, None])
def test_precisions(precision, tol, cutoff):
    atoms = cloud(30, 12.0, 4)
    exact = evaluated(atoms, AxilrodTeller(cutoff=cutoff))
    found = evaluated(atoms, AxilrodTeller(cutoff=cutoff), precision=precision)
    close(found.energy, exact.energy, tol)
    close(found.forces, exact.forces, tol)


def test_alone_it_is_not_run():
    trimer = Atoms("Ar3", [[0, 0, 0], [4, 0, 0], [0, 4, 0]])
    assert evaluated(trimer, AxilrodTeller()).energy > 0
    with pytest.raises(SettingsError, match="alone is unbounded below: three atoms in a row"):
        Simulation(trimer, AxilrodTeller(), backend="cpu")
    with pytest.raises(SettingsError, match="alone is unbounded below"):
        Engine(trimer, AxilrodTeller(), backend="cpu").advance(1, 0.1)
    with pytest.raises(SettingsError, match="alone is unbounded below"):
        relax(trimer, AxilrodTeller(), backend="cpu")


def test_days_are_told():
    """Before they begin: of a run, and of an energy."""
    argon = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=8.5) + AxilrodTeller()
    assert argon.remarks_on_time(1000, 1000, "cuda") == argon.remarks_on_time(1000, 100, "cpu") == []
    (run,) = argon.remarks_on_time(8000, 1_000_000, "cuda")
    assert "all triples of 8,000 atoms, 1,000,000 times, would take about 9.9 days on cuda; use fewer" in run
    assert len(argon.remarks_on_time(30_000, 1, "cpu")) == 1
    assert AxilrodTeller(cutoff=8.5).remarks_on_time(10**6, 10**6, "cpu") == []


def test_mistakes():
    with pytest.raises(StructureError, match="has 2 atoms; a triple has three: give it more atoms"):
        evaluated(Atoms("Ar2", [[0, 0, 0], [4, 0, 0]]), AxilrodTeller())
    with pytest.raises(SettingsError, match=r"periodic cell has infinitely many; give it a cutoff"):
        evaluated(bulk("Ar", "fcc", a=5.3, cubic=True), AxilrodTeller())
    with pytest.raises(StructureError, match="atoms 0 and 2"):
        evaluated(Atoms("Ar3", [[0, 0, 0], [4, 0, 0], [0, 0, 0]]), AxilrodTeller())
    with pytest.raises(MissingParameterError, match=r"no triple .*\(Ar, Ar, Kr\).*defines: \(Ar, Ar, Ar\)"):
        evaluated(Atoms("Ar2Kr", [[0, 0, 0], [4, 0, 0], [0, 4, 0]]), AxilrodTeller({"Ar": 45.0, "Kr": 137.0}))
    for options, told in [
        ({"nu": float("nan")}, "nu is nan, expected a finite number"),
        ({"cutoff": -1.0}, "cutoff is -1.0 angstrom, expected a positive length"),
        ({"product_cutoff": 5.0}, "product_cutoff without a cutoff"),
        ({"nu": {("Ar", "Kr"): 1.0}}, "expected an element or three"),
        ({"nu": {("Ar", "Ar", "Kr"): 1.0, ("Kr", "Ar", "Ar"): 2.0}}, "two numbers for the triple"),
        ({"nu": {}}, "has no triple"),
    ]:  # fmt: skip
        with pytest.raises(SettingsError, match=told):
            AxilrodTeller(**options)


@pytest.mark.parametrize("cutoff", [8.0, None])
def test_forces_are_derivatives(cutoff):
    found = check_forcefield(AxilrodTeller(MIXED, cutoff), ["Ar", "Kr"], clusters=2)
    assert found.ok, str(found)


def written(tmp_path, text):
    path = tmp_path / "mine.atm"
    path.write_text(text)
    return path


def test_file(tmp_path):
    path = written(
        tmp_path,
        "# UNITS: metal\ncutoff 8 # A\nproduct_cutoff 6\nKr Ar Ar 66.0\nAr Ar Ar 45.0\nKr Kr Kr 137\n",
    )
    term = load_forcefield(path).terms[0]
    limits = {"cutoff": 8.0, "product_cutoff": 6.0}
    rows = {"Ar Ar Kr": 66.0, "Ar Ar Ar": 45.0, "Kr Kr Kr": 137.0}
    assert term.table.rows == {tuple(key.split()): {"nu": nu, **limits} for key, nu in rows.items()}
    with pytest.raises(MissingParameterError, match=r"mine\.atm has no triple .*\(Ar, Kr, Kr\)"):
        load_forcefield(path).bind(["Ar", "Kr"])
    shipped = load_forcefield("Ar.atm")
    assert (shipped.cutoff, shipped.terms[0].table.rows["Ar", "Ar", "Ar"]["nu"]) == (8.5, 45.6878)
    record = load_forcefield(written(tmp_path, "cutoff none\nAr Ar Ar 45.0\n")).describe(["Ar"])
    assert record["cutoff_A"] is None
    assert record["terms"][0]["parameters"]["Ar-Ar-Ar"] == {
        "nu": 45.0,
        "cutoff": None,
        "product_cutoff": None,
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cutoff 8\n", "has no row, expected one or more: element element element nu"),
        ("Ar Ar Ar 45\n", "has no cutoff line, expected: cutoff LENGTH"),
        ("cutoff 8\nAr Ar Ar\n", "line 2: 3 words, expected 4: element element element nu"),
        ("cutoff 8\nAr Ar Ar x\n", "line 2: field 'nu' is 'x', expected a number"),
        ("cutoff 8\nAr Ar Q 45\n", "line 2: field 'element 3' is 'Q', expected a chemical symbol"),
        ("cutoff 8\nAr Ar Kr 1\nKr Ar Ar 2\n", "line 3: second row for Ar-Ar-Kr, the first is on line 2"),
        ("cutoff 8\ncutoff 9\nAr Ar Ar 45\n", "line 2: second row for cutoff, the first is on line 1"),
        ("cutoff -8\nAr Ar Ar 45\n", "line 1: field 'cutoff' is -8, expected a positive length"),
        ("cutof 8\nAr Ar Ar 45\n", "line 1: 'cutof' is unknown, did you mean 'cutoff'?"),
        ("cutoff 8 9\nAr Ar Ar 45\n", "line 1: cutoff has 2 values, expected a length in angstrom, or none"),
        ("cutoff none\nproduct_cutoff 5\nAr Ar Ar 45\n", "line 2: product_cutoff without a cutoff"),
    ],
)  # fmt: skip
def test_bad_files(tmp_path, text, told):
    with pytest.raises(ParameterFileError) as caught:
        load_forcefield(written(tmp_path, text))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_command_line(tmp_path, call):
    """Files are added up; alone, an energy is told and a run refused before it writes anything."""
    from ase.io import write

    structure, output = tmp_path / "argon.xyz", tmp_path / "out"
    write(structure, bulk("Ar", "fcc", a=5.3, cubic=True).repeat(2), format="extxyz")
    code, out, _ = call(f"energy {structure} --potential Ar.atm --backend cpu")
    assert (code, out.startswith("energy")) == (0, True)
    options = f"--steps 5 --temperature 20 --output {output} --backend cpu"
    code, _, err = call(f"run {structure} --potential Ar.atm {options}")
    assert (code, output.exists()) == (2, False)
    assert "alone is unbounded below" in err
    code, out, err = call(f"run {structure} --potential Ar.lj --potential Ar.atm {options}")
    assert code == 0, err
    assert "Ar.lj + Ar.atm" in out
