"""The selection language and groups of atoms: which atoms a text means, and errors with their place."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from taichimd import Group
from taichimd.core.errors import SettingsError
from taichimd.system.groups import Groups, of_runs
from taichimd.system.where import read_where


def wire():
    """Ten atoms along x at 0, 1 ... 9 Å in a periodic cell of 10 Å, silicon and carbon in turn."""
    atoms = Atoms("SiC" * 5, [[x, 0.0, 0.0] for x in range(10)], cell=[10, 8, 8], pbc=True)
    atoms.set_tags([0, 0, 1, 1, 2, 2, 2, 0, 0, 0])
    atoms.set_array("grain", np.array(["left"] * 4 + ["right"] * 6))
    atoms.set_array("marked", np.arange(10) % 3 == 0)
    atoms.set_array("load", np.linspace(0.0, 0.9, 10))
    return atoms


FIXED = np.arange(10) < 2


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0:3", [0, 1, 2]),
        ("index 0 5 7", [0, 5, 7]),
        ("[0, 5], ", None),
        ("[0, 5]", [0, 5]),
        ("0,5,-1", [0, 5, 9]),
        ("index -2:", [8, 9]),
        (":2 or 8::1", [0, 1, 8, 9]),
        ("::4", [0, 4, 8]),
        ("index < 2", [0, 1]),
        ("species C", [1, 3, 5, 7, 9]),
        ("species Si, C and x < 2", [0, 1]),
        ("species == C and x < 2", [1]),
        ("tag == 1", [2, 3]),
        ("tag 1 2", [2, 3, 4, 5, 6]),
        ("1 <= tag < 2", [2, 3]),
        ("array grain == left", [0, 1, 2, 3]),
        ('array "grain" != "left"', [4, 5, 6, 7, 8, 9]),
        ("array marked", [0, 3, 6, 9]),
        ("array marked == false and x < 3", [1, 2]),
        ("array load >= 0.8", [8, 9]),
        ("x < 2", [0, 1]),
        ("2 < x < 5", [3, 4]),
        ("2 <= x <= 5", [2, 3, 4, 5]),
        ("fx >= 0.7", [7, 8, 9]),
        ("5 > x", [0, 1, 2, 3, 4]),
        ("block 2 4 -inf inf 0 8", [2, 3]),
        ("fblock 0.5 0.7 0 1 0 1", [5, 6]),
        ("sphere 0 0 0 1.5", [0, 1, 9]),
        ("sphere 0 0 7.5 1.2", [0, 1, 9]),
        ("fsphere 0.5 0 0 1.5", [4, 5, 6]),
        ("cylinder x 0 0 1", list(range(10))),
        ("cylinder z 3 8 1.5 0 4", [2, 3, 4]),
        ("fcylinder y 0 0 1.5", [0, 1, 9]),
        ("all", list(range(10))),
        ("fixed", [0, 1]),
        ("mobile and not x > 3", [2, 3]),
        ("not (x < 8 or x >= 9)", [8]),
        ("x < 1 or x > 8 and species C", [0, 9]),
        ("left or x == 9", [0, 1, 2, 3, 9]),
    ],
)
def test_a_selection_means_these_atoms(text, numbers):
    groups = Groups(wire(), {"left": "array grain == left"}, FIXED)
    if numbers is None:
        with pytest.raises(SettingsError):
            groups.atoms_of(text, "it")
    else:
        assert groups.atoms_of(text, "it").tolist() == numbers


def test_positions_are_wrapped_for_the_question_and_round_off_decides_nothing():
    atoms = wire()
    atoms.positions[:, 0] += 10.0 * np.arange(10) - 30.0
    atoms.positions[[0, 5], 0] -= 1e-12
    before = atoms.positions.copy()
    groups = Groups(atoms, {"low": "x < 5", "high": "fx >= 0.5"})
    assert groups["low"].tolist() == [0, 1, 2, 3, 4]
    assert groups["high"].tolist() == [5, 6, 7, 8, 9]
    assert (atoms.positions == before).all()
    atoms.pbc = False
    assert len(Groups(atoms, {"low": "x < 5"})["low"]) == 4


@pytest.mark.parametrize("shape", [np.eye(3), [[1, 0, 0], [0.4, 1, 0], [0.3, -0.2, 1]]])
def test_spheres_take_the_nearest_image_in_any_cell(shape):
    atoms = bulk("Ar", cubic=True, a=5.3).repeat(3)
    atoms.set_cell(atoms.cell.array @ np.array(shape), scale_atoms=True)
    found = Group("fsphere 0.05 0.9 0.5 4.2").mask(Groups(atoms)._asked)
    images = np.array(list(np.ndindex(5, 5, 5))) - 2
    away = atoms.positions[:, None] - (np.array([0.05, 0.9, 0.5]) + images) @ atoms.cell.array
    assert (found == (np.linalg.norm(away, axis=2).min(axis=1) < 4.2)).all()
    assert 0 < found.sum() < 30


def test_regions_side_by_side_share_no_atom():
    groups = Groups(wire(), {"a": "block 0 5 -inf inf -inf inf", "b": "block 5 10 -inf inf -inf inf"})
    assert sorted([*groups["a"], *groups["b"]]) == list(range(10))
    assert of_runs(groups.runs()["b"]).tolist() == [5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5 < q < 15", "5 < q < 15: 'q' at character 5 is not expected; expected a condition"),
        ("x < ", "the end at character 5"),
        (" ", "the text is empty; expected a condition such as x < 20"),
        ("x = 2", "'=' at character 3 is not understood; write == for equal"),
        ("(x < 2", "the end at character 7 is not expected; expected )"),
        ("x < 2 y > 3", "'y' at character 7 is not expected; expected and, or, or the end"),
        ("species Sj", "'Sj' at character 9 is not a chemical symbol"),
        ("sphere 1 2 3", "'1' at character 8 begins 3 numbers; sphere needs 4"),
        ("sphere 1 2 3 0", "without a radius above 0"),
        ("cylinder 1 2 3", "'1' at character 10 is not expected; expected the axis x, y or z"),
        ("block 0 1 3 2 0 1", "along y it is from 3 to 2"),
        ("index 1.5", "'1.5' at character 7 is not a whole number"),
        ("0:5:0", "is not a step"),
        ("index 40", "there is no atom 40 among 10 (character 7); numbers begin at 0"),
        ("array grian == 1", "no array 'grian'; did you mean 'grain'?"),
        ("array grain > 3", "compares a text with a number"),
        ("array grain", "it compares nothing"),
        ("Si", "there is no group 'Si'"),
        ("x < 3 and Si", "there is no group 'Si' (character 11); write species Si"),
        ("x < -5", "it (x < -5) is empty: it has no atom"),
        ("", "the text is empty; expected a condition"),
        ("and", "'and' at character 1 is not expected"),
        ("x < 3 # tip", "'#' at character 7 is not understood"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text, words):
    with pytest.raises(SettingsError) as caught:
        Groups(wire()).atoms_of(text, "it")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_array_of_vectors_and_a_missing_cell_are_no_quantities():
    atoms = wire()
    with pytest.raises(SettingsError, match="3 values for each atom"):
        Groups(atoms).atoms_of("array positions == 0", "it")
    atoms.set_cell(None)
    with pytest.raises(SettingsError, match="fx needs a cell vector a"):
        Groups(atoms).atoms_of("fx < 0.5", "it")
    assert len(Groups(atoms).atoms_of("x < 5", "it")) == 5


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"hot": "x < -3"}, "group hot (x < -3) is empty"),
        ({"all": "x < 3"}, "the name of a built-in group"),
        ({"sphere": "x < 3"}, "a word of selections"),
        ({"hot": "not cold", "cold": "not hot"}, "is made of itself"),
        ({"hot": "worm"}, "there is no group 'worm'"),
        ({"hot": 5}, "expected a selection"),
        (["x < 3"], "expected groups by name"),
    ],
)
def test_wrong_groups_are_refused(groups, words):
    with pytest.raises(SettingsError) as caught:
        Groups(wire(), groups)
    assert words in str(caught.value)


def test_groups_combine_in_python():
    left, ends = Group("x < 3"), Group([0, -1])
    atoms = wire()
    assert (left & ~ends).numbers(atoms).tolist() == [1, 2]
    assert (left | ends).numbers(atoms).tolist() == [0, 1, 2, 9]
    assert Group("middle and not ends").numbers(atoms, {"middle": "x < 3", "ends": ends}).tolist() == [1, 2]
    assert repr(left & ~ends) == "(Group('x < 3') & ~Group([0, -1]))"
    assert read_where("x < 3").text == "x < 3"
