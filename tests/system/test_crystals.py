"""Every shipped parameter file has a crystal that `taichimd build` makes, and that it holds together."""

import re

import ase.io
import numpy as np
import pytest

from taichimd import load_forcefield
from taichimd.forcefields.library import find, shipped
from taichimd.program.engine import Engine

LATTICES = {
    "fcc": "argon", "diamond": "silicon", "zincblende": "zincblende", "sheet": "graphene",
    "cristobalite": "silica",
}  # fmt: skip
"""Names in the table of potentials/README.md, and what `build` calls them."""
OTHERS = {"GaN_2006.sw": "wurtzite", "SiC_2005.tersoff": "wurtzite"}


def crystals():
    """(file, lattice, elements, energy per atom of its best crystal in eV) of each row of the table."""
    text = (find("Si.tersoff").parent / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.+?)\]\(.+\| (\w+) (\w+) \| [\d.]+ \| (-[\d.]+) \|$", text, flags=re.MULTILINE)
    for file, kind, formula, energy in rows:
        elements = ["Si", "O"] if formula == "SiO2" else re.findall("[A-Z][a-z]?", formula)
        yield file, LATTICES[kind], ",".join(elements), float(energy)
        if file in OTHERS:
            yield file, OTHERS[file], ",".join(elements), float(energy)


def test_no_file_is_left_out():
    """ReaxFF's sets are of molecules, too; Axilrod-Teller holds no crystal."""
    others = {file.name for file in shipped() if file.kind not in ("reaxff", "atm")}
    assert {file for file, *_ in crystals()} == others


@pytest.mark.parametrize(
    ("file", "lattice", "elements", "energy"), list(crystals()), ids=lambda value: str(value)
)
def test_a_shipped_potential_holds_its_crystal(call, tmp_path, file, lattice, elements, energy):
    """With the known lattice constant, so the energy is near that of the best one, and forces vanish."""
    path = tmp_path / "crystal.traj"
    code, _, err = call(f"build {lattice} --cells 2 --elements {elements} --out {path}")
    assert (code, err) == (0, "")
    atoms = ase.io.read(path)
    found = Engine(atoms, load_forcefield(file)).evaluate()
    assert np.isfinite(found.energies).all()
    assert found.energy / len(atoms) == pytest.approx(energy, rel=0.02)
    assert abs(found.forces).max() < (1e-10 if lattice != "graphene" else 0.5)
