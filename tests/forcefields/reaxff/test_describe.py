"""What an ffield file defines, in words, and the warnings: few for published files."""

import ffields
import pytest
from ffields import angle, atom, bond, hydrogen_bond, off_diagonal, torsion
from published import CASES

from taichimd.core.errors import MissingParameterError
from taichimd.forcefields.library import find
from taichimd.forcefields.reaxff.describe import describe
from taichimd.forcefields.reaxff.ffield import read_ffield
from taichimd.forcefields.reaxff.suspicious import warnings_of

# Made-up numbers need not be usual ones; these are.
USUAL = {"eta": 8.0, "p_ovun2": -5.0, "alpha": 9.0, "D": 0.1, "gamma": 1.0}
SHIPPED = ("CHO.ffield", "CHON.ffield", "H2O.ffield", "SiO.ffield")


def atoms(h=(), si=()):
    return {
        "H": atom(1.0, **(ffields.HYDROGEN | USUAL | dict(h))),
        "Si": atom(2.0, **(ffields.SILICON | USUAL | dict(si))),
    }


@pytest.fixture
def file(tmp_path):
    def read(**parts):
        path = tmp_path / "a.ffield"
        path.write_text(ffields.text(**({"atoms": atoms()} | parts)))
        return read_ffield(path)

    return read


def test_a_file_without_anything_suspicious(file):
    rows = {"angles": [angle("1 2 1")], "torsions": [torsion("0 1 2 0", p_tor1=-5.0)]}
    assert warnings_of(file(**rows, hydrogen_bonds=[hydrogen_bond("2 1 2")])) == []


BONDS = [bond("1 1"), bond("1 2"), bond("2 2")]


@pytest.mark.parametrize(
    ("parts", "warning"),
    [
        (
            {"bonds": [*BONDS[:2], bond("2 2", p_bo1=0.1)]},
            "line 60: bond order of Si-Si does not fall with the distance: p_bo1 is 0.1 and p_bo2 6, "
            "expected one below and one above 0",
        ),
        (
            {"bonds": [bond("1 1", p_bo4=-7.0), *BONDS[1:]]},
            "line 56: bond order of H-H does not fall with the",
        ),
        ({"bonds": [bond("1 1", p_bo5=0.0), *BONDS[1:]]}, "p_bo5 is 0 and p_bo6 8"),
        (
            {"bonds": [bond("1 1", p_bo1=-0.001, p_bo2=2.0), *BONDS[1:]]},
            "line 56: bond order of H-H is 0.98 at 5 angstrom, where bonds end, above the cutoff 0.001",
        ),
        (
            {"bonds": [bond("1 1", p_be1=-0.5, p_be2=-0.2), *BONDS[1:]]},
            "line 56: energy of bond H-H grows without limit as its order vanishes: p_be1 and p_be2",
        ),
        ({"bonds": [*BONDS, bond("2 1", De_s=9.0)]}, "line 62 replaces bond Si-H of line 58"),
        (
            {"off_diagonals": [off_diagonal("1 2", D=0.2), off_diagonal("2 1", D=0.3)]},
            "line 64 replaces off-diagonal Si-H of line 63",
        ),
        (
            {"torsions": [torsion("1 1 2 2", p_tor1=-5.0), torsion("2 2 1 1", p_tor1=-6.0)]},
            "line 66 replaces torsion Si-Si-H-H of line 65",
        ),
        (
            {"hydrogen_bonds": [hydrogen_bond("2 1 2"), hydrogen_bond("2 1 2", r0=1.9)]},
            "line 67 replaces hydrogen bond Si-H-Si of line 66",
        ),
        (
            {"hydrogen_bonds": [hydrogen_bond("2 1 2", r0=0.0)]},
            "line 66: hydrogen bond Si-H-Si does not act: r0 is 0",
        ),
        (
            {"hydrogen_bonds": [hydrogen_bond("1 2 1")]},
            "line 66: hydrogen bond H-Si-H does not act: expected donor, hydrogen, acceptor",
        ),
        ({"angles": [angle("1 2 3")]}, "line 64: the entry 1 2 3 does not act: the file has 2 atoms"),
        (
            {"angles": [angle("1 2 1", Theta00=-70.0)]},
            "line 64: Theta00 of angle H-Si-H is -70, usual: 0 to 180",
        ),
        ({"atoms": atoms(h={"alpha": 90.0})}, "line 46: alpha of atom H is 90, usual: 3 to 20"),
        ({"atoms": atoms(si={"mass": 30.97})}, "line 50: mass of Si is 30.97, usual: 28.085"),
        (
            {"atoms": atoms(si={"r_core": 0.0})},
            "line 50: the van der Waals term of Si has shielding, that of H has",
        ),
        ({"general": {"cutoff": 10.0}}, "general parameter 30 (cutoff) is 10, usual: 0.001 to 1"),
        ({"general": {"unused_40": 1.0}}, "general parameters 40 to 40 are not used"),
        (
            {
                "atoms": atoms({"r_core": 0.0}, {"r_core": 0.0})
                | {"H": atom(1.0, True, **(ffields.HYDROGEN | USUAL | {"r_core": 0.0}))}
                | {"Si": atom(2.0, True, **(ffields.SILICON | USUAL | {"r_core": 0.0}))},
                "lg": True,
            },
            "the columns of low-gradient dispersion need an inner wall (r_core, a_core): they do not act",
        ),
    ],
)
def test_warnings(file, parts, warning):
    found = warnings_of(file(**parts))
    assert len(found) == 1
    assert warning in found[0]


@pytest.mark.parametrize(("factor", "warned"), [(-1.35, True), (-1.40, False)])
def test_bond_orders_that_end_with_a_step(file, factor, warned):
    """exp(-1.35 x 5) is 0.0012 and exp(-1.4 x 5) 0.0009; bonds end at 0.001."""
    found = warnings_of(file(bonds=[bond("1 1", p_bo1=factor, p_bo2=1.0), *BONDS[1:]]))
    assert len(found) == warned


def test_masses_of_the_triple_bond(file):
    own = {
        "C": atom(1.0, **(USUAL | {"mass": 12.011, "hb": 0.0})),
        "O": atom(2.0, **(USUAL | {"mass": 15.999, "hb": 2.0})),
    }
    assert warnings_of(file(atoms=own)) == [
        "masses of C and O are 12.011 and 15.999: C-O has no triple-bond term, for which they must be 12 and "
        "15.999"
    ]
    assert warnings_of(file(atoms=own, general={"triple": 2.0})) == []
    assert warnings_of(file(atoms=own, general={"p_trip1": 0.0})) == []


def test_equal_entries_and_several_angles_are_no_mistake(file):
    rows = {"angles": [angle("1 2 1"), angle("1 2 1", p_val1=9.0)], "bonds": [*BONDS, bond("1 2")]}
    assert warnings_of(file(**rows)) == []


def test_warnings_are_of_the_species_asked_for(file):
    found = file(bonds=[bond("1 1", p_bo1=0.1), *BONDS[1:]], angles=[angle("1 2 3")])
    assert len(warnings_of(found)) == 2
    assert warnings_of(found, ["Si"]) == []
    assert len(warnings_of(found, ["H"])) == 1


def test_the_numbers_of_a_label_mean_nothing(file):
    own = atoms() | {"X": atom(2.0, **(USUAL | {"mass": 1.008, "alpha": 90.0}))}
    assert warnings_of(file(atoms=own)) == []


PUBLISHED = {
    "ffield.reax.Fe_O_C_H": ("line 156 replaces torsion", "line 157 replaces", "line 158 replaces"),
    "ffield.reax.rdx": ("line 128: the entry 1 2 5 does not act",),
}


@pytest.mark.lammps
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_published_files_give_few_warnings(path):
    found = warnings_of(read_ffield(path))
    expected = PUBLISHED.get(path.name, ())
    assert len(found) == len(expected)
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_files_give_none_and_lack_no_pair(name):
    file = read_ffield(find(name))
    assert warnings_of(file) == []
    assert "missing" not in describe(file)


def test_description(file):
    rows = {
        "off_diagonals": [off_diagonal("1 2", D=0.3)],
        "angles": [angle("1 2 1"), angle("1 2 1"), angle("2 2 1"), angle("1 1 1", p_val1=0.0)],
        "torsions": [torsion("1 2 2 1", p_tor1=-5.0), torsion("0 1 2 0", p_tor1=-5.0)],
        "hydrogen_bonds": [hydrogen_bond("2 1 2", r0=0.0)],
        "bonds": BONDS[1:],
    }
    assert describe(file(**rows)) == (
        "file            a.ffield: ReaxFF, two elements\n"
        "atoms           H Si (of H Si)\n"
        "van der Waals   inner wall and shielding, to 10 angstrom\n"
        "bond orders     above 0.001\n"
        "bonds           H-Si, Si-Si\n"
        "                missing: H-H; structures with such a pair are refused\n"
        "off-diagonals   H-Si\n"
        "                by the combination rules: Si-Si\n"
        "angles          H-Si-H, H-Si-Si\n"
        "                several entries, which add up: H-Si-H\n"
        "                without: H-H-H, H-H-Si, Si-H-Si, Si-Si-Si\n"
        "torsions        H-Si-Si-H\n"
        "                of any ends: *-H-Si-*\n"
        "                without: H-H-H-H, H-H-H-Si, H-Si-Si-Si, Si-H-H-Si, Si-Si-Si-Si\n"
        "hydrogen bonds  none\n"
        "warning         line 71: hydrogen bond Si-H-Si does not act: r0 is 0"
    )


def test_description_of_some_species(file):
    text = describe(file(bonds=[BONDS[2]]), ["Si"])
    assert "atoms           Si (of H Si)" in text
    assert "missing" not in text
    with pytest.raises(MissingParameterError, match="no parameters for Fe"):
        describe(file(), ["Fe"])


def test_the_command(call, tmp_path):
    code, out, _ = call("check H2O.ffield --elements H,O")
    assert code == 0
    assert "angles          H-H-H, H-H-O, H-O-H, H-O-O, O-H-O, O-O-O\n" in out
    assert "hydrogen bonds  O-H-O\n" in out
    code, _, err = call("check H2O.ffield --elements H,Fe")
    assert code == 2
    assert "H2O.ffield has no parameters for Fe; it defines: H, O" in err
    path = tmp_path / "ffield.mine"
    path.write_text("\n".join(ffields.text().split("\n")[:50]))
    code, _, err = call(f"check {path}")
    assert code == 2
    assert "the file is cut off or a section is missing" in err
