"""`taichimd build`: the lattices, what is written, and what is refused."""

import ase.io
import numpy as np
import pytest
from ase.build import bulk
from ase.neighborlist import neighbor_list

from taichimd.core.errors import SettingsError
from taichimd.system.lattices import LATTICES, build_lattice
from taichimd.system.velocities import degrees_of_freedom


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_silica_is_corner_sharing_tetrahedra():
    """Each Si has four O at sqrt(3)/8 a under tetrahedral angles, each O two Si in line."""
    atoms = build_lattice("silica", 2)
    assert atoms.get_chemical_formula() == "O128Si64"
    assert np.array_equal(atoms.cell.array, 14.32 * np.eye(3))
    bond = 7.16 * np.sqrt(3) / 8
    i, vectors = neighbor_list("iD", atoms, bond + 0.5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), bond, rtol=1e-12)
    for n, (symbol, count, cosine) in enumerate(
        zip(atoms.symbols, np.bincount(i), np.where(atoms.symbols == "Si", -1 / 3, -1.0), strict=True)
    ):
        assert count == {"Si": 4, "O": 2}[symbol]
        around = vectors[i == n] / bond
        cosines = (around @ around.T)[np.triu_indices(count, 1)]
        np.testing.assert_allclose(cosines, cosine, atol=1e-12)
    silicon = atoms[atoms.symbols == "Si"]
    places = {tuple(np.round(p % 14.32, 6)) for p in silicon.positions}
    assert places == {tuple(np.round(p, 6)) for p in bulk("Si", a=7.16, cubic=True).repeat(2).positions}


@pytest.mark.parametrize(
    ("name", "bond", "neighbours"),
    [
        ("silicon", 3**0.5 / 4, 4),
        ("argon", 0.5**0.5, 12),
        ("rocksalt", 0.5, 6),
        ("zincblende", 3**0.5 / 4, 4),
        ("wurtzite", (3 / 8) ** 0.5, 4),
        ("graphene", 3**-0.5, 3),
    ],
)
def test_other_lattices_have_their_nearest_neighbours(name, bond, neighbours):
    lattice = LATTICES[name]
    atoms = build_lattice(name, 3)
    a = lattice.constants[lattice.elements]
    assert len(atoms) == (9 if name == "graphene" else 27) * lattice.atoms
    assert np.array_equal(atoms.pbc, [True, True, name != "graphene"])
    np.testing.assert_allclose(atoms.cell.angles(), 90.0, rtol=1e-14)
    i, j, r = neighbor_list("ijd", atoms, 1.05 * bond * a)
    np.testing.assert_allclose(r, bond * a, rtol=1e-12)
    assert (np.bincount(i) == neighbours).all()
    if name in ("rocksalt", "zincblende", "wurtzite"):
        assert (atoms.numbers[i] != atoms.numbers[j]).all()


def test_command_writes_what_a_run_takes(call):
    code, out, err = call("build silica --cells 2 --out silica.xyz --temperature 300 --seed 4")
    assert (code, err) == (0, "")
    assert out == "silica.xyz: 192 atoms, O128Si64, cell 14.32 x 14.32 x 14.32 Å\n"
    atoms = ase.io.read("silica.xyz")
    assert atoms.pbc.all()
    kinetic = atoms.get_kinetic_energy()
    assert kinetic == pytest.approx(0.5 * degrees_of_freedom(192) * 8.617333262e-5 * 300, rel=1e-5)
    assert abs(atoms.get_momenta().sum(axis=0)).max() < 1e-5
    np.testing.assert_allclose(atoms.positions, build_lattice("silica", 2).positions, atol=1e-8)
    call("build silica --cells 2 --out again.xyz --temperature 300 --seed 4")
    call("build silica --cells 2 --out other.xyz --temperature 300 --seed 5")
    texts = [open(f"{name}.xyz").read() for name in ("silica", "again", "other")]
    assert texts[0] == texts[1] != texts[2]


def test_options_and_other_formats(call):
    assert call("build argon --cells 2")[0] == 0
    assert len(ase.io.read("argon.extxyz")) == 32
    code, _, err = call("build rocksalt --cells 2 --elements Mg,O --lattice-constant 4.212 --out mgo.cif")
    assert (code, err) == (0, "")
    atoms = ase.io.read("mgo.cif")
    assert atoms.get_chemical_formula() == "Mg32O32"
    assert atoms.get_volume() == pytest.approx(8 * 4.212**3)
    assert call("build silicon --cells 1 --elements Ge --out ge.extxyz")[0] == 0
    germanium = ase.io.read("ge.extxyz")
    assert not germanium.has("momenta")
    assert germanium.cell[0, 0] == 5.658


def test_elements_have_their_lattice_constants_in_either_order(call):
    for elements, a in (("Si,C", 4.36), ("P,In", 5.869), ("Ga,N", 4.5)):
        assert call(f"build zincblende --cells 1 --elements {elements} --out a.xyz --overwrite")[0] == 0
        assert ase.io.read("a.xyz").cell[0, 0] == a
    assert call("build graphene --elements C --out c.xyz")[0] == 0
    sheet = ase.io.read("c.xyz")
    assert sheet.get_chemical_formula() == "C64"
    np.testing.assert_allclose(sheet.cell.lengths(), [4 * 2.46, 4 * 3**0.5 * 2.46, 20.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("build quartz --cells 2 --out a.xyz", "no lattice 'quartz', expected one of silica, silicon, argon"),
        ("build silica --cells 0 --out a.xyz", "cells is 0, expected 1 to 177 in each direction"),
        ("build silica --cells 999 --out a.xyz", "cells is 999, expected 1 to 177 in each direction"),
        (
            "build zincblende --elements Ga,As --out a.xyz",
            "no lattice constant of zincblende is known for Ga,As; give --lattice-constant, angstrom",
        ),
        ("build graphene --elements B,C,N --out a.xyz", "elements are B, C, N, expected 2 for graphene"),
        ("build graphene --cells 9999 --out a.xyz", "cells is 9999, expected 1 to 5792 in each direction"),
        (
            "build argon --cells 2 --lattice-constant -5 --out a.xyz",
            "lattice constant is -5.0 angstrom, expected a positive length",
        ),
        ("build argon --cells 2 --lattice-constant nan --out a.xyz", "lattice constant is nan angstrom"),
        ("build rocksalt --cells 2 --elements Na --out a.xyz", "elements are Na, expected 2 for rocksalt"),
        ("build rocksalt --cells 2 --elements Na,Qq --out a.xyz", "no element 'Qq'; expected symbols"),
        ("build argon --cells 2 --temperature -1 --out a.xyz", "temperature is -1.0 K, expected a number"),
        ("build argon --cells 2 --temperature 9 --seed -1 --out a.xyz", "seed is -1, expected a whole"),
        ("build argon --cells 2 --temperature 9 --out a.cif", "a.cif: velocities need a file named *.xyz"),
        ("build argon --cells 2 --out a.what", "a.what cannot be written: "),
        ("build argon --cells 2 --out no/such/a.xyz", "cannot write no/such/a.xyz: No such file"),
        ("build argon --cells 2 --out there.xyz", "there.xyz already exists; give --overwrite"),
    ],
)
def test_mistakes_are_one_line(call, line, message):
    call("build argon --cells 1 --out there.xyz")
    code, _, err = call(line)
    assert code == 2
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1
    assert len(ase.io.read("there.xyz")) == 4


def test_quiet_prints_nothing(call):
    assert call("build argon --cells 1 --out a.xyz --quiet") == (0, "", "")
    assert len(ase.io.read("a.xyz")) == 4


def test_overwrite(call):
    for cells, option in ((1, ""), (2, " --overwrite")):
        assert call(f"build argon --cells {cells} --out a.xyz{option}")[0] == 0
    assert len(ase.io.read("a.xyz")) == 32


def test_in_python_a_mistake_is_our_error():
    with pytest.raises(SettingsError, match="no lattice"):
        build_lattice("quartz", 1)
