"""Elements of names and masses: an isotope is never its neighbour in the table."""

import numpy as np
import pytest
from ase import Atoms

from taichimd.core.errors import StructureError
from taichimd.io.elements import element_named, element_of, is_element, isotopes_told


@pytest.mark.parametrize(
    ("mass", "name", "symbol"),
    [
        (28.0855, "", "Si"),
        (28.0, "", "Si"),
        (16.0, "anything", "O"),
        (14.003242, "C", "C"),
        (14.003242, "", "N"),
        (17.999, "O", "O"),
        (17.999, "", "O"),
        (29.974, "", "Si"),
        (2.014, "", "H"),
        (2.014, "D", "H"),
        (39.948, "", "Ar"),
        (1.008, "T", "H"),
        (58.693, "", "Ni"),
        (235.0, "U", "U"),
    ],
)
def test_element_of_a_mass(mass, name, symbol):
    found = element_of(mass, name, "a")
    assert (found.symbol, found.mass) == (symbol, mass)


@pytest.mark.parametrize(
    ("mass", "name", "message"),
    [
        (
            17.5,
            "",
            r"a: the mass 17.5 differs by more than 0.3 amu from .* element; .* as in 17.999 # O",
        ),
        (3.016, "", "3.016 differs by more than 0.3"),
        (40.0, "", "the mass 40 lies between Ar and Ca; .* as in 40 # Ar"),
        (12.011, "Co", "Co has the mass 12.011, which is the mass of C"),
        (-1.0, "C", "the mass is -1; expected a number above 0"),
        (float("nan"), "C", "the mass is nan"),
    ],
)
def test_a_mass_that_means_no_element_is_refused(mass, name, message):
    with pytest.raises(StructureError, match=message):
        element_of(mass, name, "a")


def test_deuterium_and_tritium_are_hydrogen():
    assert element_named("D").symbol == element_named("T").symbol == "H"
    assert element_named("D").mass == pytest.approx(2.014, abs=1e-3)
    assert element_named("T").mass == pytest.approx(3.016, abs=1e-3)
    assert [is_element(name) for name in ("D", "Si", "X", "si", "1")] == [True, True, False, False, False]


def test_isotopes_are_told():
    water = Atoms("OHH", positions=np.eye(3))
    assert isotopes_told(water) == []
    water.set_masses([15.9949, 2.014, 2.014])
    assert isotopes_told(water) == [
        "masses of the file that are not the means of their elements are kept: H of 2.014 amu (2)"
    ]
