"""From an ffield file to tables: rules of combination, precedence and units, on a file of two elements."""

from math import sqrt

import ffields
import numpy as np
import pytest
from ase import units
from ffields import angle, atom, bond, hydrogen_bond, off_diagonal, torsion
from published import CASES

from taichimd.core.errors import MissingParameterError, ParameterFileError
from taichimd.forcefields.library import find
from taichimd.forcefields.reaxff.columns import ANGLE, HYDROGEN
from taichimd.forcefields.reaxff.ffield import read_ffield
from taichimd.forcefields.reaxff.parameters import ATOM, PAIR, TORSION, tables
from taichimd.forcefields.reaxff.rules import missing_bonds

KCAL = units.kcal / units.mol
H, SI = 0, 1
HYDROGEN_ATOM = atom(1.0, **ffields.HYDROGEN)
SILICON_ATOM = atom(2.0, **ffields.SILICON)


@pytest.fixture
def make(tmp_path):
    """Tables of the species, hydrogen and silicon by default, of a file with these parts."""

    def tables_of(species=("H", "Si"), **parts):
        path = tmp_path / "a.ffield"
        path.write_text(ffields.text(**parts))
        return tables(read_ffield(path), species)

    return tables_of


def of_atom(found, kind, name):
    return found.atom[kind, ATOM.index(name)]


def of_pair(found, i, j, name):
    assert found.pair[i, j, PAIR.index(name)] == found.pair[j, i, PAIR.index(name)]
    return found.pair[i, j, PAIR.index(name)]


def angles(found, i, j, k):
    kinds = len(found.species)
    at = (i * kinds + j) * kinds + k
    return found.angle[found.angle_first[at] : found.angle_first[at + 1]]


def torsion_of(found, *types):
    kinds = len(found.species)
    row = found.torsion_row[np.ravel_multi_index(types, (kinds,) * 4)]
    return None if row < 0 else found.torsion[row]


def hydrogen_of(found, *types):
    kinds = len(found.species)
    row = found.hydrogen_row[np.ravel_multi_index(types, (kinds,) * 3)]
    return None if row < 0 else found.hydrogen[row]


def atoms(h=(), si=(), lg=False):
    """Both atoms with some numbers changed."""
    return {
        "H": atom(1.0, lg, **(ffields.HYDROGEN | dict(h))),
        "Si": atom(2.0, lg, **(ffields.SILICON | dict(si))),
    }


def test_general_parameters(make):
    found = make().general
    energies = ("k_c2", "p_trip1")
    for name, value in ffields.GENERAL.items():
        if name.startswith("unused") or name == "cutoff":
            assert name not in found
        else:
            assert found[name] == (value * KCAL if name in energies else value)
    assert found["bo_cut"] == 0.01 * 0.1


def test_atoms(make):
    found = make()
    same = ("Val", "Val_e", "Val_ang", "p_ovun2", "p_val3", "p_val5", "chi", "hb", "mass")
    for kind, own in enumerate((HYDROGEN_ATOM, SILICON_ATOM)):
        assert [of_atom(found, kind, name) for name in same] == [own[name] for name in same]
        assert of_atom(found, kind, "eta") == 2.0 * own["eta"]
        for name in ("p_lp2", "p_ovun5"):
            assert of_atom(found, kind, name) == own[name] * KCAL


@pytest.mark.parametrize(
    ("mass", "light", "own_valence"), [(20.999, 1, False), (21.0, 1, True), (21.001, 0, True)]
)
def test_masses_decide_lightness_and_the_boc_valence(make, mass, light, own_valence):
    found = make(atoms=atoms(si={"mass": mass}))
    assert of_atom(found, SI, "light") == light
    assert of_atom(found, SI, "Val_boc") == SILICON_ATOM["Val_boc" if own_valence else "Val_ang"]


def test_the_order_of_species_is_that_of_the_tables(make):
    parts = {"angles": [angle("1 1 2")], "hydrogen_bonds": [hydrogen_bond("2 1 2")]}
    found, turned = make(**parts), make(("Si", "H"), **parts)
    assert turned.species == ("Si", "H")
    assert np.array_equal(turned.atom, found.atom[::-1])
    assert np.array_equal(turned.pair, found.pair[::-1, ::-1])
    assert np.array_equal(angles(turned, 1, 1, 0), angles(found, 0, 0, 1))
    assert hydrogen_of(turned, 0, 1, 0) is not None
    assert make(("Si",), **parts).pair.shape == (1, 1, len(PAIR))


def test_combination_rules(make):
    found = make()
    pair = of_pair(found, H, SI, "D")
    assert pair == sqrt(HYDROGEN_ATOM["D"] * SILICON_ATOM["D"]) * KCAL
    for name in ("alpha", "gamma_w", "r_core", "a_core", "p_boc3", "p_boc4", "p_boc5"):
        assert of_pair(found, H, SI, name) == sqrt(HYDROGEN_ATOM[name] * SILICON_ATOM[name])
    assert of_pair(found, H, SI, "e_core") == sqrt(HYDROGEN_ATOM["e_core"] * SILICON_ATOM["e_core"]) * KCAL
    assert of_pair(found, H, SI, "r_vdW") == 2.0 * sqrt(HYDROGEN_ATOM["r_vdW"] * SILICON_ATOM["r_vdW"])
    assert of_pair(found, SI, SI, "r_vdW") == pytest.approx(2.0 * SILICON_ATOM["r_vdW"], rel=1e-15)
    for name in ("r_sigma", "r_pi", "r_pipi"):
        assert of_pair(found, H, SI, name) == 0.5 * (HYDROGEN_ATOM[name] + SILICON_ATOM[name])
    gamma = HYDROGEN_ATOM["gamma"] * SILICON_ATOM["gamma"]
    assert of_pair(found, H, SI, "gamma3") == pytest.approx(gamma**-1.5, rel=1e-15)
    assert of_pair(found, H, SI, "C_lg") == of_pair(found, H, SI, "R_lg6") == 0.0


def test_bonds_in_either_order_and_the_last_one_counts(make):
    energies = ("De_s", "De_p", "De_pp")
    same = ("p_be1", "p_be2", "p_ovun1", "p_bo1", "p_bo2", "p_bo3", "p_bo4", "p_bo5", "p_bo6")
    bonds = [bond("1 1"), bond("1 2"), bond("2 2"), bond("2 1", De_s=77.0, p_be1=0.25)]
    found, written = make(bonds=bonds), bonds[-1][1]
    assert [of_pair(found, H, SI, name) for name in same] == [written[name] for name in same]
    assert [of_pair(found, H, SI, name) for name in energies] == [written[name] * KCAL for name in energies]
    assert of_pair(found, H, SI, "De_s") == 77.0 * KCAL


@pytest.mark.parametrize(
    ("value", "on"), [(0.0, 0), (0.00099, 0), (0.001, 1), (1.0, 1), (6.0658, 1), (-1.0, 0)]
)
def test_corrections_are_switches_of_their_own(make, value, on):
    for name, other in (("v13corr", "ovcorr"), ("ovcorr", "v13corr")):
        found = make(bonds=[bond("1 1", **{name: value, other: 1.0 - on}), bond("1 2"), bond("2 2")])
        assert (of_pair(found, H, H, name), of_pair(found, H, H, other)) == (on, 1 - on)


def test_off_diagonals_replace_the_rules(make):
    numbers = {"D": 0.3, "r_vdW": 1.7, "alpha": 9.0, "r_sigma": 1.1, "r_pi": 1.2, "r_pipi": 1.3}
    for types in ("1 2", "2 1"):
        found = make(off_diagonals=[off_diagonal("1 2", D=0.9, alpha=7.0), off_diagonal(types, **numbers)])
        assert of_pair(found, H, SI, "D") == 0.3 * KCAL
        assert of_pair(found, H, SI, "r_vdW") == 2.0 * 1.7
        for name in ("alpha", "r_sigma", "r_pi", "r_pipi"):
            assert of_pair(found, H, SI, name) == numbers[name]
        assert of_pair(found, H, H, "alpha") == of_pair(make(), H, H, "alpha")


@pytest.mark.parametrize("keep", [0.0, -1.0])
def test_off_diagonals_that_keep_the_rule(make, keep):
    row = dict.fromkeys(("D", "r_vdW", "alpha", "r_sigma", "r_pi", "r_pipi"), keep)
    assert np.array_equal(make(off_diagonals=[off_diagonal("1 2", **row)]).pair, make().pair)
    # The last off-diagonal counts as a whole, not column by column.
    both = make(off_diagonals=[off_diagonal("1 2", D=0.3), off_diagonal("1 2", alpha=9.0)])
    assert of_pair(both, H, SI, "D") == of_pair(make(), H, SI, "D")


@pytest.mark.parametrize("part", ["r_sigma", "r_pi", "r_pipi"])
@pytest.mark.parametrize("radius", [0.0, -0.1])
def test_a_part_exists_if_both_atoms_have_a_radius(make, part, radius):
    off_diagonals = [off_diagonal("1 2", **{part: 1.5}), off_diagonal("1 1", **{part: 1.5})]
    found = make(atoms=atoms(h={part: radius}), off_diagonals=off_diagonals)
    assert of_pair(found, H, H, part) == of_pair(found, H, SI, part) == 0.0
    assert of_pair(found, SI, SI, part) == SILICON_ATOM[part]


def test_lg(make):
    found = make(lg=True, general={"d_lg": 0.5})
    h, si = (own[SI == at] for at, own in enumerate(((atom(1.0, True),), (None, atom(2.0, True)))))
    assert found.lg
    assert of_pair(found, H, SI, "C_lg") == sqrt(h["C_lg"] * si["C_lg"]) * KCAL
    radius = 0.5 * 2.0 * sqrt(h["R_lg"] * si["R_lg"])
    assert of_pair(found, H, SI, "R_lg6") == pytest.approx(radius**6, rel=1e-14)
    for value, expected in ((3.0, 3.0), (0.0, 0.0), (-1.0, sqrt(h["C_lg"] * si["C_lg"]))):
        found = make(lg=True, off_diagonals=[off_diagonal("1 2", C_lg=value)])
        assert of_pair(found, H, SI, "C_lg") == expected * KCAL
    no_wall = {"r_core": 0.0}
    found = make(atoms=atoms(no_wall, no_wall, lg=True), lg=True)
    assert (found.lg, of_pair(found, H, SI, "C_lg")) == (False, 0.0)


@pytest.mark.parametrize(
    ("switch", "masses", "acts"),
    [
        (0.0, (12.0, 15.999), True),
        (0.0, (15.999, 12.0), True),
        (0.0, (12.011, 15.999), False),
        (0.0, (12.0, 12.0), False),
        (1.99, (1.0, 28.0), False),
        (2.0, (1.0, 28.0), True),
        (2.9, (1.0, 28.0), True),
        (3.0, (1.0, 28.0), False),
    ],
)
def test_triple_bonds(make, switch, masses, acts):
    own = atoms({"mass": masses[0]}, {"mass": masses[1]})
    found = make(general={"triple": switch}, atoms=own)
    assert of_pair(found, H, SI, "triple") == acts
    assert of_pair(make(general={"triple": switch, "p_trip1": 0.0}, atoms=own), H, SI, "triple") == 0.0


@pytest.mark.parametrize(("strength", "acts"), [(0.001, 0), (0.0011, 1)])
def test_the_carbon_correction_is_between_two_carbons(make, strength, acts):
    own = {"c": atom(1.0, **ffields.HYDROGEN), "Si": atom(2.0, **ffields.SILICON)}
    found = make(("C", "Si"), atoms=own, general={"k_c2": strength})
    assert [of_pair(found, *pair, "carbon") for pair in ((0, 0), (0, 1), (1, 1))] == [acts, 0, 0]


def test_angles_serve_both_directions_and_all_entries_count(make):
    rows = [
        angle("1 2 2"),
        angle("2 2 1", p_val1=-7.0),
        angle("1 2 1", p_val4=9.0),
        angle("1 1 2", p_val1=0.001),
    ]
    found = make(angles=rows)
    scale = np.array([KCAL if name in ("p_val1", "p_coa1", "p_pen1") else 1.0 for name in ANGLE])
    expected = [np.array(list(own.values())) * scale for _, own, _ in rows]
    for ends in ((H, SI), (SI, H)):
        assert np.array_equal(angles(found, ends[0], SI, ends[1]), expected[:2])
    assert np.array_equal(angles(found, H, SI, H), expected[2:3])
    assert found.angle_first[-1] == len(found.angle) == 5
    assert len(angles(found, H, H, SI)) == len(angles(found, SI, SI, SI)) == 0
    assert make().angle.shape == (0, len(ANGLE))


def numbers(row):
    return [value * (1.0 if name == "p_tor1" else KCAL) for name, value in row[1].items() if name in TORSION]


@pytest.mark.parametrize("wild", ["0 1 2 0", "0 1 2 2", "1 2 1 0"])
@pytest.mark.parametrize("first", [True, False])
def test_four_atoms_come_before_any_atom(make, wild, first):
    own, other = torsion("1 1 2 2", V1=1.0), torsion(wild, V1=2.0)
    found = make(torsions=[own, other] if first else [other, own])
    assert (
        torsion_of(found, H, H, SI, SI).tolist() == torsion_of(found, SI, SI, H, H).tolist() == numbers(own)
    )
    for ends in ((H, H), (SI, H), (SI, SI)):
        assert torsion_of(found, ends[0], H, SI, ends[1]).tolist() == numbers(other)
    assert torsion_of(found, H, H, H, H) is None


def test_the_last_torsion_counts_and_zeros_switch_off(make):
    rows = [torsion("1 1 2 2", V1=1.0), torsion("2 2 1 1", V1=2.0), torsion("0 1 2 0", V2=3.0)]
    assert torsion_of(make(torsions=rows), H, H, SI, SI).tolist() == numbers(rows[1])
    rows[2:] = [torsion("0 1 2 0"), torsion("0 2 1 0", V2=4.0)]
    assert torsion_of(make(torsions=rows), H, H, SI, H).tolist() == numbers(rows[-1])
    off = torsion("1 1 2 2", V1=0.0, V2=0.0, V3=0.0, p_cot1=0.0)
    assert torsion_of(make(torsions=[*rows, off]), H, H, SI, SI) is None


def test_hydrogen_bonds_have_a_direction(make):
    own = {
        "H": atom(1.0, **ffields.HYDROGEN),
        "Si": atom(2.0, **ffields.SILICON),
        "O": atom(3.0, mass=15.999, hb=2.0),
    }
    bonds = [bond(f"{i} {j}") for i in (1, 2, 3) for j in range(i, 4)]
    rows = [hydrogen_bond("2 1 3", r0=1.0), hydrogen_bond("2 1 3", r0=2.0), hydrogen_bond("3 1 3", r0=0.0)]
    found = make(("H", "Si", "O"), atoms=own, bonds=bonds, hydrogen_bonds=[*rows, hydrogen_bond("2 3 2")])
    expected = [v * (KCAL if k == "p_hb1" else 1.0) for k, v in rows[1][1].items()]
    assert hydrogen_of(found, 1, 0, 2).tolist() == expected
    assert len(HYDROGEN) == len(expected)
    # Not the other way; r0 of 0 switches off; the middle must be hydrogen by the column hb.
    for types in ((2, 0, 1), (2, 0, 2), (1, 2, 1)):
        assert hydrogen_of(found, *types) is None
    assert len(found.hydrogen) == 1


def test_entries_of_atoms_that_the_file_has_not_act_on_nothing(make):
    found = make(
        angles=[angle("1 2 3")], torsions=[torsion("1 1 2 3")], hydrogen_bonds=[hydrogen_bond("2 1 3")]
    )
    assert len(found.angle) == len(found.torsion) == len(found.hydrogen) == 0


WALL = {"r_core": 1.0, "a_core": 1.0}
NO_WALL = {"r_core": 0.01, "a_core": 1.0}
SHIELDED, BARE = {"gamma_w": 0.51}, {"gamma_w": 0.5}


@pytest.mark.parametrize(
    ("core", "wall"), [(WALL, True), (NO_WALL, False), ({"r_core": 1.0, "a_core": 0.01}, False)]
)
@pytest.mark.parametrize(("width", "shielded"), [(SHIELDED, True), (BARE, False)])
def test_van_der_waals_forms(make, core, wall, width, shielded):
    own = atoms(core | width, core | width)
    if not wall and not shielded:
        with pytest.raises(
            ParameterFileError, match=r"line 46: .* of H has neither inner wall nor shielding, expec"
        ):
            make(atoms=own)
    else:
        found = make(atoms=own)
        assert (found.wall, found.shielded) == (wall, shielded)


def test_van_der_waals_forms_must_agree(make):
    mixed = atoms(WALL | SHIELDED, NO_WALL | SHIELDED)
    with pytest.raises(
        ParameterFileError,
        match=r"line 50: the van der Waals term of Si has shielding, that of H, the first atom, has inner",
    ):
        make(atoms=mixed)
    assert make(("H",), atoms=mixed).wall


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"general": {"p_boc2": 0.0}}, r"general parameter 2 \(p_boc2\) is 0, expected not 0"),
        ({"general": {"p_vdW1": 0.0}}, r"general parameter 29 \(p_vdW1\) is 0, expected above 0"),
        ({"general": {"cutoff": 0.0}}, r"general parameter 30 \(cutoff\) is 0, expected above 0"),
        ({"general": {"swb": 0.0}}, r"general parameter 13 \(swb\) is 0, expected above swa"),
        ({"general": {"swa": -1.0}}, r"general parameter 12 \(swa\) is -1, expected 0 or above"),
        ({"atoms": atoms(si={"gamma": 0.0})}, "line 50: gamma of Si is 0, expected above 0"),
        ({"atoms": atoms(si={"r_vdW": -2.0})}, "line 50: r_vdW of Si is -2, expected above 0"),
        ({"atoms": atoms(h={"eta": 0.0})}, "line 46: eta of H is 0, expected above 0"),
        ({"atoms": atoms(h={"mass": 0.0})}, "line 46: mass of H is 0, expected above 0"),
    ],
)
def test_numbers_that_the_formulas_cannot_take(make, parts, message):
    with pytest.raises(ParameterFileError, match=message):
        make(**parts)


def test_what_is_missing(make):
    with pytest.raises(MissingParameterError, match="no parameters for Fe, Xe; it defines: H, Si"):
        make(("H", "Fe", "Xe"))
    bonds = [bond("1 1"), bond("2 2")]
    with pytest.raises(
        MissingParameterError, match="no bond for H-Si; a structure of H, Si needs one for every pair"
    ):
        make(bonds=bonds)
    assert make(("Si",), bonds=bonds).species == ("Si",)


@pytest.mark.lammps
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_published_files_have_finite_tables(path):
    file = read_ffield(path)
    alone = [name for name in file.names if name != "X" and not missing_bonds(file, [name])]
    assert alone
    for name in alone:
        found = tables(file, [name])
        for table in (found.atom, found.pair, found.angle, found.torsion, found.hydrogen):
            assert np.isfinite(table).all()


def test_the_shipped_water(make):
    """Some numbers of the file, worked out by hand."""
    found = tables(read_ffield(find("H2O.ffield")), ("H", "O"))
    oxygen = 1
    assert (found.wall, found.shielded, found.lg) == (False, True, False)
    assert of_atom(found, oxygen, "eta") == 2.0 * 8.3122
    assert of_pair(found, 0, 1, "De_s") == 160.0 * KCAL
    assert of_pair(found, 0, 1, "r_vdW") == 2.0 * 1.2885
    assert of_pair(found, 0, 1, "r_sigma") == 0.9215
    assert of_pair(found, 0, 1, "r_pi") == 0.0
    assert of_pair(found, 1, 1, "r_pi") == 1.0548
    assert angles(found, 0, oxygen, 0)[0, 0] == 85.8
    assert hydrogen_of(found, oxygen, 0, oxygen)[0] == 2.12
    assert found.general["bo_cut"] == pytest.approx(0.001, rel=1e-15)
