"""The shipped parameter sets: complete titles, numbers of LAMMPS's files."""

import re

import pytest
from published import FILES

from taichimd.forcefields.library import find
from taichimd.forcefields.reaxff.ffield import read_ffield
from validation.reaxff.parameter_files import SETS, compare

LAMMPS = {path.name: path for path in FILES}


@pytest.mark.parametrize("name", SETS)
def test_the_title_is_complete(name):
    file, elements = read_ffield(find(name)), SETS[name].elements
    header = file.header
    assert header.elements == file.names == elements
    assert re.fullmatch(r"2026-\d\d-\d\d", header.date)
    assert header.units == "real"
    assert all([header.contributor, header.citation, header.fitted_to, header.valid_range])
    assert re.fullmatch(r"10\.\d{4}/\S+", header.doi)


@pytest.mark.lammps
@pytest.mark.parametrize(
    ("name", "copy", "numbers"),
    [("CHO.ffield", "ffield.reax.cho", 561), ("CHON.ffield", "ffield.reax.rdx", 785)],
)
def test_numbers_are_those_of_lammps(name, copy, numbers):
    found = compare(read_ffield(find(name)), read_ffield(LAMMPS[copy]), SETS[name].elements)
    assert found["numbers"] == numbers
    assert found["differences"] == found["entries_in_one"] == []


@pytest.mark.lammps
def test_water_differs_from_lammps_in_what_other_charges_use():
    name = "H2O.ffield"
    found = compare(read_ffield(find(name)), read_ffield(LAMMPS["acks2_ff.water"]), SETS[name].elements)
    assert found["numbers"] == 245
    assert [(one["entry"], one["column"]) for one in found["differences"]] == [
        ("atoms H", "unused_3_7"),
        ("general", "unused_35"),
    ]


def test_a_changed_digit_is_found(tmp_path):
    text = find("H2O.ffield").read_text(encoding="utf-8")
    path = tmp_path / "changed.ffield"
    path.write_text(text.replace("153.3934", "153.3935"), encoding="utf-8")
    found = compare(read_ffield(find("H2O.ffield")), read_ffield(path), ("H", "O"))
    assert found["differing"] == 1
    assert found["differences"] == [
        {"entry": "bonds H H", "column": "De_s", "shipped": 153.3934, "copy": 153.3935}
    ]
