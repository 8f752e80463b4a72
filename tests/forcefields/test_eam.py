"""EAM through the engine: LAMMPS, derivatives, heat current, decompositions, own declarations, the end of "
"a table."""

from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, make_supercell

from taichimd import (
    ManyBody,
    each_atom,
    neighbour_sum,
    pair_forces,
    pair_potential,
    table,
    testing,
)
from taichimd.app.notes import beyond_tables
from taichimd.core.errors import MissingParameterError, SettingsError
from taichimd.enumerate.passes import joins
from taichimd.enumerate.terms import EACH_ATOM, NEIGHBOUR_SUM, Pass, Passes
from taichimd.forcefields.load import load_forcefield
from taichimd.lammps.reference import lammps_evaluate
from taichimd.program.check import check_forcefield
from taichimd.program.engine import Engine
from tests.program.test_heat_current import assert_current_is_slope, thermal_cluster
from tests.support.eam_files import COPPER, NICKEL, Layout, funcfl

STYLES = ("eam/alloy", "eam/fs", "eam")


def written(style, folder):
    """The force field of synthetic files, and LAMMPS's pair_coeff lines for the elements Cu, Ni."""
    if style == "eam":
        files = []
        for metal, z in ((COPPER, 29), (NICKEL, 28)):
            files.append(folder / f"{metal.name}.eam")
            files[-1].write_text("\n".join(funcfl(metal, Layout(nr=250 + z), z)) + "\n")
        return load_forcefield([str(file) for file in files]), tuple(
            f"{k + 1} {k + 1} {file}" for k, file in enumerate(files)
        )
    of = Layout(finnis_sinclair=style == "eam/fs")
    path = of.write(folder / ("x.eam.fs" if of.finnis_sinclair else "x.eam.alloy"))
    return load_forcefield(str(path)), (f"* * {path} {{elements}}",)


def structures():
    """Crystal hot, disordered and triclinic, cluster, liquids, dimers inside and beyond the table."""
    rng = np.random.default_rng(3)

    def mixed(atoms, amplitude=0.12):
        atoms.symbols[:] = rng.choice(["Cu", "Ni"], len(atoms))
        atoms.symbols[:2] = ["Cu", "Ni"]
        atoms.positions += amplitude * rng.standard_normal((len(atoms), 3))
        return atoms

    crystal = mixed(bulk("Cu", a=3.6, cubic=True).repeat((2, 1, 1)))
    skewed = mixed(make_supercell(bulk("Cu", a=3.5), [[2, 1, 0], [0, 2, 1], [0, 0, 2]]))
    cluster = mixed(Atoms("Cu12", np.array(list(np.ndindex(2, 2, 3))) * 2.4))
    dimers = [Atoms("CuNi", [(0, 0, 0), (x, 0.3, 0.2)]) for x in (0.01, 2.3, 4.99)]
    dense = mixed(bulk("Cu", a=2.3, cubic=True).repeat((2, 1, 1)))
    liquid = mixed(bulk("Cu", a=3.8, cubic=True).repeat((2, 1, 1)), 0.3)
    return {"crystal": crystal, "skewed": skewed, "cluster": cluster, "dense": dense, "liquid": liquid} | {
        f"dimer {k}": atoms for k, atoms in enumerate(dimers)
    }


@pytest.mark.lammps
@pytest.mark.parametrize("style", STYLES)
def test_all_tables_agree_with_lammps(style, tmp_path):
    forcefield, coefficients = written(style, tmp_path)
    for name, atoms in structures().items():
        ours = Engine(atoms, forcefield, backend="cpu").evaluate()
        theirs = lammps_evaluate(atoms, style, coefficients)
        largest = max(1.0, np.abs(theirs.forces).max())
        # Mixed funcfl files have no last point of F: LAMMPS is flat there, which dense atoms see.
        if style == "eam" and name in ("dense", "dimer 0"):
            continue
        assert ours.energy == pytest.approx(theirs.energy, rel=1e-10, abs=1e-10), name
        np.testing.assert_allclose(ours.forces, theirs.forces, rtol=0, atol=1e-9 * largest, err_msg=name)
        np.testing.assert_allclose(ours.energies, theirs.energies, rtol=0, atol=1e-8, err_msg=name)
        np.testing.assert_allclose(
            ours.virials.sum(axis=0), theirs.virial, rtol=1e-9, atol=1e-8 * largest, err_msg=name
        )


@pytest.mark.long
@pytest.mark.lammps
def test_a_file_of_one_element_agrees_with_lammps(tmp_path):
    path = Layout(metals=(COPPER,)).write(tmp_path / "Cu.eam.alloy")
    atoms = testing.rattled(bulk("Cu", a=3.55, cubic=True).repeat((2, 1, 1)))
    ours = Engine(atoms, load_forcefield(str(path)), backend="cpu").evaluate()
    theirs = lammps_evaluate(atoms, "eam/alloy", (f"* * {path} {{elements}}",))
    assert ours.energy == pytest.approx(theirs.energy, rel=1e-12)
    np.testing.assert_allclose(ours.forces, theirs.forces, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours.virials.sum(axis=0), theirs.virial, rtol=1e-10, atol=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("style", ["eam/alloy", "eam/fs"])
def test_derivatives_and_ends(style, tmp_path):
    found = check_forcefield(written(style, tmp_path)[0], ["Cu", "Ni"], clusters=2)
    assert found.ok, str(found)


@pytest.mark.long
@pytest.mark.parametrize("elements", [2, 1])
def test_the_heat_current_is_the_slope_of_the_energy_moment(elements, tmp_path):
    forcefield = written("eam/fs", tmp_path)[0]
    if elements == 1:
        forcefield = load_forcefield(str(Layout(metals=(COPPER,)).write(tmp_path / "Cu.eam.alloy")))
    # The difference steps over points of the tables, where second derivatives jump.
    assert_current_is_slope(forcefield, thermal_cluster(forcefield, n_side=2), error=1e-5)


def test_a_run_counts_densities_beyond_the_table(tmp_path):
    forcefield = written("eam/alloy", tmp_path)[0]
    atoms = testing.rattled(bulk("Cu", a=2.7, cubic=True), 0.02)
    engine = Engine(atoms, forcefield, backend="cpu")
    engine.advance(2, 0.01)
    report = {"statistics": engine.statistics()}
    assert report["statistics"]["beyond_tables"] >= 4
    assert "beyond the table of the embedding energy" in beyond_tables(report)[0]
    loose = Engine(testing.rattled(bulk("Cu", a=3.6, cubic=True)), forcefield, backend="cpu")
    loose.advance(2, 0.01)
    assert "beyond_tables" not in loose.statistics()


@neighbour_sum("density")
def density(r, p, mine, theirs):
    f, _ = p.f(r)
    return f


@each_atom("slope")
def embedding(mine, p):
    return -p.depth * mine.density, -p.depth + 0.0 * mine.density


@pair_forces
def bonds(r, p, mine, theirs):
    u, du = p.phi(r)
    _, here = p.f(r)
    _, there = p.f_back(r)
    return 0.5 * u, 0.5 * du + mine.slope * here, 0.5 * du + theirs.slope * there


OWN = ManyBody(
    "own", [density, embedding, bonds], arrays=("density", "slope"), params={"depth": "eV"},
    tables={"f": "1", "phi": "eV"}, of_atoms=("depth",), ordered=("f",),
)  # fmt: skip


def _curve(name, strength):
    return table(name, np.linspace(0.0, 4.0, 401), lambda r: strength * (1.0 - r / 4.0) ** 3)


def own_rows():
    phi = {("Cu", "Cu"): 2.0, ("Cu", "Ni"): 3.0, ("Ni", "Cu"): 3.0, ("Ni", "Ni"): 4.0}
    f = {("Cu", "Cu"): 1.0, ("Cu", "Ni"): 0.7, ("Ni", "Cu"): 1.6, ("Ni", "Ni"): 2.0}
    rows = {key: {"phi": _curve("phi", phi[key]), "f": _curve("f", f[key])} for key in phi}
    rows["Cu", "Cu"]["depth"], rows["Ni", "Ni"]["depth"] = 0.3, 0.5
    return rows


def test_own_terms_have_curves_parameters_of_elements_and_ordered_pairs():
    forcefield = OWN(table=own_rows(), cutoff=4.0)
    atoms = Atoms("CuNi", [(0, 0, 0), (2.0, 0, 0)])
    # (1 - 2/4)^3 = 1/8, its slope -3/4 (1/2)^2: phi 3/8, densities 0.7/8 at Cu and 1.6/8 at Ni.
    found = Engine(atoms, forcefield, backend="cpu").evaluate()
    assert found.energies == pytest.approx([3 / 16 - 0.3 * 0.7 / 8, 3 / 16 - 0.5 * 1.6 / 8], abs=1e-7)
    slope = -0.1875 * (3.0 - 0.3 * 0.7 - 0.5 * 1.6)
    assert found.forces[0, 0] == pytest.approx(slope, abs=1e-6)
    # What a pair adds to the virial of an atom is the slope of the other atom's energy.
    assert found.virials[0, 0, 0] == pytest.approx(-2.0 * -0.1875 * (1.5 - 0.5 * 1.6), abs=1e-6)


@each_atom("weight")
def weight(mine, p):
    return 0.0, p.depth


@pair_forces
def unequal(r, p, mine, theirs):
    """The atoms of a pair have unequal parts of its energy."""
    u, du = p.phi(r)
    return mine.weight * u, mine.weight * du, theirs.weight * du


UNEQUAL = ManyBody(
    "unequal", [weight, unequal], arrays=("weight",), params={"depth": "eV"}, tables={"phi": "1"},
    of_atoms=("depth",),
)  # fmt: skip


@pytest.mark.parametrize("made", [OWN, UNEQUAL])
def test_own_terms_agree_by_particle_and_by_tuple(made):
    rows = own_rows()
    if made is UNEQUAL:
        rows = {key: {name: one for name, one in row.items() if name != "f"} for key, row in rows.items()}
    atoms = testing.rattled(bulk("Cu", a=3.2, cubic=True).repeat((2, 1, 1)), 0.1, seed=3)
    atoms.symbols[::3] = "Ni"
    one, other = (
        Engine(atoms, made(table=rows, cutoff=4.0), backend="cpu", decomposition=how).evaluate()
        for how in ("particle", "tuple")
    )
    assert np.ptp(one.energies) > 0.1
    for what in ("energies", "forces", "virials"):
        np.testing.assert_allclose(getattr(other, what), getattr(one, what), rtol=0, atol=1e-12)


@pair_potential(params={"k": "1"}, tables={"u": "eV"})
def tabulated(r, p):
    u, du = p.u(r)
    return p.k * u, p.k * du


def test_a_pair_potential_has_curves_and_any_end():
    atoms = Atoms("Cu2", [(0, 0, 0), (2.0, 0, 0)])
    curve = table("u", np.linspace(0.5, 5.0, 901), lambda r: np.exp(-r))
    forcefield = tabulated(k=2.0, u=curve, cutoff=4.0, truncation="energy-shifted")
    found = Engine(atoms, forcefield, backend="cpu").evaluate()
    assert found.energy == pytest.approx(2.0 * (np.exp(-2.0) - np.exp(-4.0)), abs=1e-9)
    assert found.forces[1, 0] == pytest.approx(2.0 * np.exp(-2.0), abs=1e-7)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda rows: rows["Ni", "Ni"].pop("depth"), "parameter 'depth' is missing"),
        (lambda rows: rows.pop(("Ni", "Cu")), r"no pair \(Ni, Cu\)"),
        (lambda rows: rows["Ni", "Cu"].update(phi=_curve("phi", 9.0)), "differ in more than f"),
        (lambda rows: rows["Ni", "Cu"].update(phi=3.0), r"phi = '3.0', expected a curve.*taichimd\.table"),
        (lambda rows: rows["Ni", "Ni"].update(depth=_curve("x", 1.0)), "depth = .*expected a number"),
    ],
)
def test_mistakes_in_rows(change, expected):
    rows = own_rows()
    change(rows)
    with pytest.raises((SettingsError, MissingParameterError), match=expected):
        OWN(table=rows, cutoff=4.0).bind(["Cu", "Ni"])


def value_alone(r, p):
    return p.u(r)


def test_mistakes_in_declarations():
    with pytest.raises(SettingsError, match="of_atoms names 'F'"):
        ManyBody("x", [density, bonds], arrays=("density",), params={}, of_atoms=("F",))
    with pytest.raises(SettingsError, match="derive=True cannot differentiate a table"):
        pair_potential(params={}, tables={"u": "eV"}, derive=True)(value_alone)


def test_a_pass_over_atoms_joins_the_sum_before_it_unless_other_sums_read_what_it_writes():
    ending = Pass(EACH_ATOM, None, ("slope",))
    alone = Passes((Pass(NEIGHBOUR_SUM, None, ("density",)), ending), ("density", "slope"))
    assert joins(alone, 1)
    assert not joins(alone, 0)
    assert not joins(replace(alone, state=("slope",)), 1)
    assert not joins(replace(alone, passes=(alone.passes[0], replace(ending, writes=("density",)))), 1)
    assert not joins(replace(alone, passes=(alone.passes[0], replace(ending, each_step=True))), 1)


def test_fingerprints_know_the_values_of_curves():
    one, same = (OWN(table=own_rows(), cutoff=4.0).fingerprint(["Cu", "Ni"]) for _ in range(2))
    rows = own_rows()
    rows["Ni", "Ni"]["f"] = _curve("f", 2.0000001)
    assert one == same
    assert one != OWN(table=rows, cutoff=4.0).fingerprint(["Cu", "Ni"])
