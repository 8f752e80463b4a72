"""The shipped parameter files: complete headers, numbers that agree with the papers and other programs."""

import re
from importlib.util import find_spec
from math import exp, sqrt
from pathlib import Path

import pytest
from ase import Atoms
from ase.build import bulk, graphene
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.lj import LennardJones
from ase.calculators.tersoff import Tersoff
from peers import require_lammps

from taichimd import load_forcefield
from taichimd.forcefields.formats import sw, tersoff, vashishta
from taichimd.forcefields.formats.atm import read_atm
from taichimd.forcefields.formats.lj import read_lj
from taichimd.forcefields.formats.sw import read_sw
from taichimd.forcefields.formats.tersoff import read_tersoff
from taichimd.forcefields.formats.triples import TripleFile
from taichimd.forcefields.formats.vashishta import read_vashishta
from taichimd.forcefields.library import find, shipped
from taichimd.lammps.reference import lammps_evaluate
from taichimd.system.lattices import build_lattice

CLASSICAL = [file for file in shipped() if file.kind != "reaxff"]  # tests/forcefields/reaxff has those
NAMES = [file.name for file in CLASSICAL]
READERS = {
    ".tersoff": read_tersoff,
    ".sw": read_sw,
    ".vashishta": read_vashishta,
    ".lj": read_lj,
    ".atm": read_atm,
}
README = find("Si.tersoff").parent / "README.md"


def lammps_files() -> Path | None:
    spec = find_spec("lammps")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "share" / "lammps" / "potentials"
    return folder if folder.is_dir() else None


LAMMPS = lammps_files()
KINDS = ("*.tersoff", "*.sw", "*.vashishta")
LAMMPS_NAMES = sorted(f.name for kind in KINDS for f in LAMMPS.glob(kind)) if LAMMPS else []


def readme_rows() -> list[tuple[str, str, str, float, float]]:
    pattern = (
        r"^\| \[(.+?)\]\(.+?\) \| (.+?) \| .*\[(.+?)\]\(https.* \| (\w+ \w+) \| ([\d.]+) \| (-[\d.]+) \|$"
    )
    rows = re.findall(pattern, README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [(name, elements, doi, crystal, float(a), float(e)) for name, elements, doi, crystal, a, e in rows]


@pytest.mark.parametrize("name", NAMES)
def test_header_is_complete_and_names_the_elements_of_the_file(name):
    file = next(file for file in CLASSICAL if file.name == name)
    read = READERS[file.path.suffix](file.path)
    assert file.elements == read.elements
    assert read.header == file.header
    assert all([file.header.date, file.header.contributor, file.header.citation, file.header.fitted_to])
    assert file.header.units == "metal"
    assert re.fullmatch(r"10\.\d{4}/\S+", file.header.doi)
    assert file.path.read_text(encoding="utf-8").startswith("# DATE: 2026-")
    assert load_forcefield(file.path).bind(read.elements)


def test_readme_lists_every_file_with_its_elements_and_doi():
    pattern = r"^\| \[(\S+?)\]\(.+?\) \| (.+?) \| .*\[(10\.\S+?)\]\(https"
    found = re.findall(pattern, README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    rows = {name: (elements, doi) for name, elements, doi in found if Path(name).suffix in READERS}
    with_crystal = {row[0] for row in readme_rows()}
    assert with_crystal == {name for name in NAMES if not name.endswith(".atm")}
    assert rows == {file.name: (" ".join(file.elements), file.header.doi) for file in CLASSICAL}


def crystal(kind: str, formula: str, a: float) -> Atoms:
    if kind == "sheet":
        atoms = graphene(formula, a=a, vacuum=8.0) * (2, 2, 1)
        atoms.pbc = True
        return atoms
    if kind == "cristobalite":
        return build_lattice("silica", 1, a=a)
    return bulk(formula, kind, a=a, cubic=True)


class Lammps(Calculator):
    """LAMMPS's energy."""

    implemented_properties = ("energy",)

    def __init__(self, style: str, file: Path) -> None:
        super().__init__()
        self.potential = (style, (f'* * "{file}" {{elements}}',))

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results = {"energy": lammps_evaluate(atoms, *self.potential).energy}


def other_program(name: str) -> Calculator:
    """ASE's implementation of the same formulas; what it has none of, LAMMPS has."""
    if name.endswith((".sw", ".vashishta")):
        require_lammps()
        return Lammps(name.rsplit(".", 1)[1], find(name))
    if name.endswith(".tersoff"):
        return Tersoff.from_lammps(find(name))
    file = read_lj(find(name))
    entry = file.pairs[file.elements * 2]
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
    entry = read_lj(find("Ar.lj")).pairs["Ar", "Ar"]
    assert entry.epsilon == pytest.approx(120 * 8.617333262e-5, rel=1e-5)
    assert (entry.sigma, entry.cutoff) == (3.4, 8.5)


@pytest.mark.parametrize("name", ["GaN_2006.sw", "CdTe_1989.sw"])
def test_angles_of_unlike_pairs_are_geometric_means(name):
    """lambda epsilon of i j k is the mean of those of its pairs, whose parameters the papers give."""
    entries = read_sw(find(name)).entries
    for (i, j, k), entry in entries.items():
        pairs = [entries[i, end, end] for end in (j, k)]
        mean = sqrt(pairs[0].lam * pairs[0].epsilon * pairs[1].lam * pairs[1].epsilon)
        assert entry.lam * entry.epsilon == pytest.approx(mean, rel=1e-7)
        assert entry.costheta0 == pytest.approx(-1 / 3, abs=1e-12)


@pytest.mark.lammps
@pytest.mark.parametrize("name", LAMMPS_NAMES or ["none"])
def test_lammps_own_files_are_read(name):
    file = READERS[Path(name).suffix](LAMMPS / name)
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
    ("Si.sw", "Si.sw", {}, 0.0),
    ("GaN_2006.sw", "GaN.sw", {}, 0.0),
    ("CdTe_1989.sw", "CdTe.sw", {}, 0.0),
    ("SiO2_1990.vashishta", "SiO.1990.vashishta", {}, 0.0),
    ("SiC_2007.vashishta", "SiC.vashishta", {}, 0.0),
    ("InP_2009.vashishta", "InP.vashishta", {}, 0.0),
]
NOT_COMPARED = {"Ge_1986.sw", "Ar.lj", "Ar.atm"}


@pytest.mark.lammps
@pytest.mark.parametrize(("ours", "theirs", "labels", "rounding"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_numbers_agree_with_lammps_files(ours, theirs, labels, rounding):
    read = READERS[Path(ours).suffix]
    assert_same_numbers(read(find(ours)), read(LAMMPS / theirs), labels, rounding)


def test_every_file_is_compared():
    assert {pair[0] for pair in PAIRS} == set(NAMES) - NOT_COMPARED


def assert_same_numbers(
    ours: TripleFile, theirs: TripleFile, labels: dict[str, str], rounding: float
) -> None:
    """Compare the numbers that count."""
    unlike = {*sw.ANGLE_FIELDS, *vashishta.ANGLE_FIELDS} | (
        set(tersoff.FIELDS) - {"n", "beta", "lambda2", "B", "lambda1", "A"}
    )
    for triple, entry in ours.entries.items():
        other = theirs.entries[tuple(labels.get(element, element) for element in triple)]
        for field in vars(entry):
            if triple[1] == triple[2] or {"lam": "lambda"}.get(field, field) in unlike:
                value, expected = getattr(entry, field), getattr(other, field)
                assert value == pytest.approx(expected, rel=rounding, abs=0.0), (triple, field)


def test_germanium_is_silicon_with_three_numbers_of_its_own():
    ours, silicon = (
        vars(read_sw(find(name)).entries[e, e, e]) for name, e in (("Ge_1986.sw", "Ge"), ("Si.sw", "Si"))
    )
    assert {k: v for k, v in ours.items() if v != silicon[k]} == {
        "epsilon": 1.93,
        "sigma": 2.181,
        "lam": 31.0,
    }
